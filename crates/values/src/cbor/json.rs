//! CBOR items as JSON text, and what lies in them by its name or place.
//!
//! JSON has less than CBOR: bytes become base64 text, numbers that aren't finite and what has no value become null, keys that
//! aren't text become the text of their JSON. What tags make of their content is in `tags`; of those that are not there
//! the content is all that is told.

use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use minicbor::Decoder;
use minicbor::data::{IanaTag, Type};
use minicbor::decode::Error;
use num_bigint::{BigInt, Sign};

use super::tags;

/// How deep values are read. Those that are taken in are less deep.
const DEPTH_MAX: usize = 256;

/// Appends a CBOR item, which must take all of `item`, as JSON text. After an error `out` is as it was.
///
/// ```
/// let mut out = String::new();
/// let item = b"\xa1\x61a\x82\x01\xfb\x3f\xf8\0\0\0\0\0\0";
/// assert!(timestrata_values::cbor::write_json(item, &mut out).is_ok());
/// assert_eq!(out, r#"{"a":[1,1.5]}"#);
/// assert!(timestrata_values::cbor::write_json(b"\x01\x02", &mut out).is_err());
/// ```
///
/// # Errors
/// For what is no CBOR item, and for one that nests more than 256 deep.
pub fn write_json(item: &[u8], out: &mut String) -> Result<(), Error> {
    let start = out.len();
    let mut decoder = Decoder::new(item);
    let written = write_item(&mut decoder, 0, out).and_then(|()| match decoder.position() {
        end if end == item.len() => Ok(()),
        _ => Err(Error::message("something follows the item")),
    });
    written.inspect_err(|_| out.truncate(start))
}

pub(super) fn write_item(
    decoder: &mut Decoder<'_>,
    depth: usize,
    out: &mut String,
) -> Result<(), Error> {
    if depth > DEPTH_MAX {
        return Err(Error::message("too deep"));
    }
    // Memory takes what is written to it.
    let _ = match decoder.datatype()? {
        Type::Array | Type::ArrayIndef => return write_list(decoder, depth, out),
        Type::Map | Type::MapIndef => return write_map(decoder, depth, out),
        Type::Tag => return tags::write_tagged(decoder, depth + 1, out),
        Type::Bytes => {
            write_text(&STANDARD.encode(decoder.bytes()?), out);
            Ok(())
        }
        Type::BytesIndef => {
            let pieces = decoder.bytes_iter()?.collect::<Result<Vec<_>, _>>()?;
            write_text(&STANDARD.encode(pieces.concat()), out);
            Ok(())
        }
        Type::String => {
            write_text(decoder.str()?, out);
            Ok(())
        }
        Type::StringIndef => {
            let text: String = decoder.str_iter()?.collect::<Result<_, _>>()?;
            write_text(&text, out);
            Ok(())
        }
        Type::Bool => write!(out, "{}", decoder.bool()?),
        Type::F16 | Type::F32 | Type::F64 => {
            write_float(float(decoder)?, out);
            Ok(())
        }
        // Of up to 65 bits.
        Type::U8
        | Type::U16
        | Type::U32
        | Type::U64
        | Type::I8
        | Type::I16
        | Type::I32
        | Type::I64
        | Type::Int => write!(out, "{}", decoder.int()?),
        _ => {
            decoder.skip()?;
            write!(out, "null")
        }
    };
    Ok(())
}

fn float(decoder: &mut Decoder<'_>) -> Result<f64, Error> {
    match decoder.datatype()? {
        Type::F16 => decoder.f16().map(f64::from),
        Type::F32 => decoder.f32().map(f64::from),
        _ => decoder.f64(),
    }
}

fn write_list(decoder: &mut Decoder<'_>, depth: usize, out: &mut String) -> Result<(), Error> {
    let mut left = decoder.array()?;
    out.push('[');
    let mut is_first = true;
    while goes_on(decoder, &mut left)? {
        comma(&mut is_first, out);
        write_item(decoder, depth + 1, out)?;
    }
    out.push(']');
    Ok(())
}

fn write_map(decoder: &mut Decoder<'_>, depth: usize, out: &mut String) -> Result<(), Error> {
    let mut left = decoder.map()?;
    out.push('{');
    let mut is_first = true;
    while goes_on(decoder, &mut left)? {
        comma(&mut is_first, out);
        match decoder.datatype()? {
            Type::String => write_text(decoder.str()?, out),
            _ => {
                let mut key = String::new();
                write_item(decoder, depth + 1, &mut key)?;
                match key.starts_with('"') {
                    true => out.push_str(&key),
                    false => write_text(&key, out),
                }
            }
        }
        out.push(':');
        write_item(decoder, depth + 1, out)?;
    }
    out.push('}');
    Ok(())
}

/// The value of a key in a CBOR map, as [`write_json`] writes keys; of several the first. `None` for what is no map, and where
/// there is no such key before damage.
///
/// ```
/// use timestrata_values::cbor::{element, member};
///
/// let item = b"\xa1\x61a\x82\x01\x61x";
/// let list = member(item, "a");
/// assert_eq!(list.and_then(|list| element(list, -1)), Some(&b"\x61x"[..]));
/// assert_eq!(member(item, "b"), None);
/// ```
pub fn member<'a>(item: &'a [u8], name: &str) -> Option<&'a [u8]> {
    let mut decoder = behind_tags(item)?;
    if !matches!(decoder.datatype().ok()?, Type::Map | Type::MapIndef) {
        return None;
    }
    let mut left = decoder.map().ok()?;
    while goes_on(&mut decoder, &mut left).ok()? {
        let is_it = match decoder.datatype().ok()? {
            Type::String => decoder.str().ok()? == name,
            _ => is_called(next_item(item, &mut decoder)?, name),
        };
        let value = next_item(item, &mut decoder)?;
        if is_it {
            return Some(value);
        }
    }
    None
}

/// Whether a key that isn't one piece of text is written so.
fn is_called(key: &[u8], name: &str) -> bool {
    let (mut written, mut wanted) = (String::new(), String::new());
    if write_json(key, &mut written).is_err() {
        return false;
    }
    match written.starts_with('"') {
        true => write_text(name, &mut wanted),
        false => wanted.push_str(name),
    }
    written == wanted
}

/// An element of a CBOR list, counted from 0, or from -1 back from its end. `None` for what is no list.
pub fn element(item: &[u8], index: i64) -> Option<&[u8]> {
    let place = match usize::try_from(index) {
        Ok(place) => place,
        Err(_) => length(item)?.checked_sub(usize::try_from(index.unsigned_abs()).ok()?)?,
    };
    let mut decoder = behind_tags(item)?;
    if !matches!(decoder.datatype().ok()?, Type::Array | Type::ArrayIndef) {
        return None;
    }
    let mut left = decoder.array().ok()?;
    for _ in 0..place {
        if !goes_on(&mut decoder, &mut left).ok()? {
            return None;
        }
        decoder.skip().ok()?;
    }
    goes_on(&mut decoder, &mut left).ok()?.then(|| next_item(item, &mut decoder)).flatten()
}

/// How many elements a CBOR list has.
fn length(item: &[u8]) -> Option<usize> {
    let mut decoder = behind_tags(item)?;
    if !matches!(decoder.datatype().ok()?, Type::Array | Type::ArrayIndef) {
        return None;
    }
    let mut left = decoder.array().ok()?;
    let mut length = 0;
    while goes_on(&mut decoder, &mut left).ok()? {
        decoder.skip().ok()?;
        length += 1;
    }
    Some(length)
}

fn behind_tags(item: &[u8]) -> Option<Decoder<'_>> {
    let mut decoder = Decoder::new(item);
    while decoder.datatype().ok()? == Type::Tag {
        if decoder.tag().ok()?.as_u64() == tags::OBJECT {
            // What an object is made of stands behind its name.
            decoder.array().ok()?;
            decoder.skip().ok()?;
        }
    }
    Some(decoder)
}

/// The bytes of what comes next, which is passed over.
fn next_item<'a>(item: &'a [u8], decoder: &mut Decoder<'_>) -> Option<&'a [u8]> {
    let start = decoder.position();
    decoder.skip().ok()?;
    item.get(start..decoder.position())
}

/// Whether a list or map that is being read has one more, and past the mark at its end. `left` is what it said when it began.
///
/// # Errors
/// For what is no CBOR.
pub fn goes_on(decoder: &mut Decoder<'_>, left: &mut Option<u64>) -> Result<bool, Error> {
    match left {
        Some(0) => Ok(false),
        Some(left) => {
            *left -= 1;
            Ok(true)
        }
        None => {
            let goes_on = decoder.datatype()? != Type::Break;
            if !goes_on {
                decoder.set_position(decoder.position() + 1);
            }
            Ok(goes_on)
        }
    }
}

/// The whole number of any size behind a tag. `None`: the tag, which has been read, is another one.
///
/// # Errors
/// For what is no CBOR.
pub fn tagged_whole(decoder: &mut Decoder<'_>) -> Result<Option<BigInt>, Error> {
    let tag = decoder.tag()?;
    let mut bytes = || -> Result<_, Error> {
        let whole = BigInt::from_bytes_be(Sign::Plus, decoder.bytes()?);
        Ok(whole)
    };
    Ok(match IanaTag::try_from(tag) {
        Ok(IanaTag::PosBignum) => Some(bytes()?),
        Ok(IanaTag::NegBignum) => Some(BigInt::from(-1) - bytes()?),
        _ => None,
    })
}

/// Appends a comma, but for the first time.
pub fn comma(is_first: &mut bool, out: &mut String) {
    if !std::mem::take(is_first) {
        out.push(',');
    }
}

/// Appends a number as JSON: with a point or an exponent, so that it stays one with a fraction; null, if it isn't finite.
pub fn write_float(value: f64, out: &mut String) {
    // Memory takes what is written to it.
    let _ = match value.is_finite() {
        true => write!(out, "{value:?}"),
        false => write!(out, "null"),
    };
}

/// Appends a text as a JSON string.
pub fn write_text(text: &str, out: &mut String) {
    out.push('"');
    let mut from = 0;
    for (at, byte) in text.bytes().enumerate() {
        let escaped = match byte {
            b'"' => "\\\"",
            b'\\' => "\\\\",
            b'\n' => "\\n",
            b'\r' => "\\r",
            b'\t' => "\\t",
            0..0x20 => "",
            _ => continue,
        };
        // Only ASCII is escaped, so these are ends of characters.
        out.push_str(text.get(from..at).unwrap_or_default());
        match escaped {
            "" => {
                let _ = write!(out, "\\u{byte:04x}");
            }
            _ => out.push_str(escaped),
        }
        from = at + 1;
    }
    out.push_str(text.get(from..).unwrap_or_default());
    out.push('"');
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    // {"a": {"b": [1, "x"], 2: 2.5}, -1: null, [1]: true}
    const MAP: &[u8] = b"\xa3\x61a\xa2\x61b\x82\x01\x61x\x02\xf9\x41\x00\x20\xf6\x81\x01\xf5";

    fn json(item: &[u8]) -> Option<String> {
        let mut out = String::new();
        write_json(item, &mut out).ok().map(|()| out)
    }

    #[test]
    fn keys_that_are_no_text_are_written_and_found_as_the_text_of_their_json() {
        let expected = r#"{"a":{"b":[1,"x"],"2":2.5},"-1":null,"[1]":true}"#;
        assert_eq!(json(MAP).as_deref(), Some(expected));
        assert_eq!(member(MAP, "-1"), Some(&b"\xf6"[..]));
        assert_eq!(member(MAP, "[1]"), Some(&b"\xf5"[..]));
        let inner = |name| member(MAP, "a").and_then(|inner| member(inner, name)).and_then(json);
        assert_eq!(inner("2").as_deref(), Some("2.5"));
        assert_eq!(inner("1"), None);
    }

    #[test]
    fn elements_count_from_either_end() {
        let list = b"\x9f\x01\x02\x03\xff";
        let at = |index| element(list, index).and_then(json);
        assert_eq!([0, 2, -1, -3].map(at), ["1", "3", "3", "1"].map(|n| Some(n.to_owned())));
        assert_eq!([3, -4, i64::MIN].map(at), [None, None, None]);
        assert_eq!(element(MAP, 0), None);
        // The mark that says "this is CBOR" is passed over.
        assert_eq!(element(b"\xd9\xd9\xf7\x81\x07", 0), Some(&b"\x07"[..]));
    }

    #[test]
    fn what_is_no_single_item_is_refused() {
        for item in [&b""[..], b"\x01\x01", b"\x82\x01", b"\x61", &[0x81; 100_000]] {
            assert_eq!(json(item), None);
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_without_a_panic(bytes: Vec<u8>, name in "[a-c.]{0,3}", index: i64) {
            let _ = json(&bytes);
            let _ = member(&bytes, &name);
            let _ = element(&bytes, index);
        }
    }
}
