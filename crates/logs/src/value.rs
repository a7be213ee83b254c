//! Values of fields, as they are read: found by a path, compared, and written as JSON.

use std::fmt::Write as _;

use minicbor::Decoder;
use minicbor::data::Type;
use num_bigint::BigInt;
use timestrata_values::cbor::{self, goes_on, tagged_whole, write_text};

use super::Scalar;

type CborResult<T> = Result<T, minicbor::decode::Error>;

/// A field's value, as it lies in an entry.
///
/// ```
/// use timestrata_engine::{Settings, Store};
/// use timestrata_logs::{FieldValue, Logs, LogsOptions, NewEntry, Query, Scalar};
///
/// # fn main() -> timestrata_engine::Result<()> {
/// # let store = Store::memory(Settings::default())?;
/// # let app = Logs::create(&store, "app", &LogsOptions::default())?;
/// let mut entry = NewEntry::new("request");
/// entry.fields.int("status", 200);
/// app.write(&entry)?;
/// for entries in app.search(&Query::default())? {
///     let entries = entries?;
///     let status = entries.get(0).and_then(|entry| entry.field("status"));
///     assert_eq!(status, Some(FieldValue::Scalar(Scalar::Int(200))));
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum FieldValue<'a> {
    /// Text, a number or a truth value.
    Scalar(Scalar<'a>),
    /// A CBOR item of another kind: null, a list, a map, a whole number of more than 64 bits, bytes.
    Item(&'a [u8]),
}

impl<'a> FieldValue<'a> {
    /// The value of a CBOR item.
    pub(super) fn of_item(item: &'a [u8]) -> Self {
        Scalar::of_item(item).map_or(Self::Item(item), Self::Scalar)
    }

    /// Appends it as JSON. Bytes are base64 text; numbers that aren't finite are null.
    pub fn write_json(&self, out: &mut String) {
        match self {
            Self::Scalar(scalar) => write_scalar(*scalar, out),
            Self::Item(item) => {
                if cbor::write_json(item, out).is_err() {
                    out.push_str("null");
                }
            }
        }
    }

    /// Whether it is null.
    pub fn is_null(&self) -> bool {
        matches!(self, Self::Item(item) if matches!(item.first(), Some(0xf6 | 0xf7)))
    }

    /// Its text: that of a text itself, else its JSON.
    pub fn to_text(&self) -> String {
        match self {
            Self::Scalar(Scalar::Text(text)) => (*text).to_owned(),
            _ => {
                let mut out = String::new();
                self.write_json(&mut out);
                out
            }
        }
    }

    /// The number, if it is a whole one that no scalar holds.
    pub(super) fn whole(&self) -> Option<BigInt> {
        let Self::Item(item) = self else { return None };
        let mut decoder = Decoder::new(item);
        match decoder.datatype().ok()? {
            Type::Int => Some(BigInt::from(i128::from(decoder.int().ok()?))),
            Type::Tag => tagged_whole(&mut decoder).ok()?,
            _ => None,
        }
    }

    /// Calls `test` with the scalar or the whole number that it is or, if it is a list, with each that it
    /// has; until one passes.
    pub(super) fn any_single(&self, test: &mut impl FnMut(FieldValue<'_>) -> bool) -> bool {
        match self {
            Self::Item(item) if self.whole().is_none() => any_of_list(item, test).unwrap_or(false),
            single => test(*single),
        }
    }
}

fn any_of_list(item: &[u8], test: &mut impl FnMut(FieldValue<'_>) -> bool) -> CborResult<bool> {
    let mut decoder = Decoder::new(item);
    if !matches!(decoder.datatype()?, Type::Array | Type::ArrayIndef) {
        return Ok(false);
    }
    let mut left = decoder.array()?;
    while goes_on(&mut decoder, &mut left)? {
        let start = decoder.position();
        decoder.skip()?;
        let one = FieldValue::of_item(item.get(start..decoder.position()).unwrap_or_default());
        let is_single = matches!(one, FieldValue::Scalar(_)) || one.whole().is_some();
        if is_single && test(one) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Calls `take` with each name and value item of a CBOR map, until it says that this is enough.
pub(super) fn each_field<'a>(
    map: &'a [u8],
    mut take: impl FnMut(&'a str, &'a [u8]) -> bool,
) -> CborResult<()> {
    let mut decoder = Decoder::new(map);
    let mut left = decoder.map()?;
    while goes_on(&mut decoder, &mut left)? {
        let name = decoder.str()?;
        let start = decoder.position();
        decoder.skip()?;
        let item = map.get(start..decoder.position()).unwrap_or_default();
        if take(name, item) {
            break;
        }
    }
    Ok(())
}

/// The value of a name in a CBOR map: that of the name as it is, else what it leads to, piece by
/// piece between its dots.
pub(super) fn find<'a>(map: &'a [u8], name: &str) -> Option<FieldValue<'a>> {
    let mut found = None;
    let mut nested = None;
    // What is damaged ends the search as if it ended there.
    let _ = each_field(map, |known, item| {
        if known == name {
            found = Some(item);
        } else if nested.is_none()
            && let Some(rest) = name.strip_prefix(known).and_then(|rest| rest.strip_prefix('.'))
        {
            nested = Some((rest, item));
        }
        found.is_some()
    });
    match (found, nested) {
        (Some(item), _) => Some(FieldValue::of_item(item)),
        (None, Some((rest, item))) => find(item, rest),
        (None, None) => None,
    }
}

fn write_scalar(scalar: Scalar<'_>, out: &mut String) {
    // Memory takes what is written to it.
    let _ = match scalar {
        Scalar::Bool(value) => write!(out, "{value}"),
        Scalar::Int(value) => write!(out, "{value}"),
        Scalar::UInt(value) => write!(out, "{value}"),
        Scalar::Float(value) => {
            cbor::write_float(value, out);
            Ok(())
        }
        Scalar::Text(text) => {
            write_text(text, out);
            Ok(())
        }
    };
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    // {"a": {"b": [1, "x"], "c.d": 2.5}, "a.e": null, "n": 2(0x010000000000000000)}
    const MAP: &[u8] = b"\xa3\x61a\xa2\x61b\x82\x01\x61x\x63c.d\xf9\x41\x00\x63a.e\xf6\x61n\xc2\x49\x01\x00\x00\x00\x00\x00\x00\x00\x00";

    fn json(item: &[u8]) -> String {
        let mut out = String::new();
        FieldValue::of_item(item).write_json(&mut out);
        out
    }

    #[test]
    fn values_are_written_as_json() {
        let expected = r#"{"a":{"b":[1,"x"],"c.d":2.5},"a.e":null,"n":18446744073709551616}"#;
        assert_eq!(json(MAP), expected);
        assert_eq!(json(b"\xc3\x49\x01\x00\x00\x00\x00\x00\x00\x00\x00"), "-18446744073709551617");
        assert_eq!(json(b"\x3b\xff\xff\xff\xff\xff\xff\xff\xff"), "-18446744073709551616");
        assert_eq!(
            json(b"\x9f\xf5\xfb\x7f\xf0\x00\x00\x00\x00\x00\x00\x42ab\xff"),
            r#"[true,null,"YWI="]"#
        );
        assert_eq!(json(b"\x63\"\x01\n"), r#""\"\u0001\n""#);
        assert_eq!(json(&[0x81; 100_000]), "null");
    }

    #[test]
    fn values_are_found_by_name_and_by_path() {
        let text = |name: &str| find(MAP, name).map(|value| value.to_text());
        assert_eq!(text("a.b").as_deref(), Some(r#"[1,"x"]"#));
        assert_eq!(text("a.c.d").as_deref(), Some("2.5"));
        assert!(find(MAP, "a.e").unwrap().is_null());
        assert_eq!(text("a.x"), None);
        assert_eq!(text("b"), None);
        let mut seen = Vec::new();
        let list = find(MAP, "a.b").unwrap();
        list.any_single(&mut |single| {
            seen.push(format!("{single:?}"));
            false
        });
        assert_eq!(seen, ["Scalar(Int(1))", "Scalar(Text(\"x\"))"]);
        assert_eq!(find(MAP, "n").unwrap().whole(), Some(BigInt::from(1_u128 << 64)));
        assert_eq!(find(MAP, "a").unwrap().whole(), None);
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_without_a_panic(bytes: Vec<u8>, name in "[a-c.]{0,5}") {
            let _ = json(&bytes);
            let _ = find(&bytes, &name);
        }
    }
}
