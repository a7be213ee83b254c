//! One value as text or as JSON.

use ciborium::Value;
use num_bigint::BigUint;
use serde::{Serialize, Serializer};
use timestrata::values::cbor::write_json;

/// Tags of whole numbers of any size (RFC 8949, 3.4.3).
const POSITIVE_BIGNUM: u64 = 2;
const NEGATIVE_BIGNUM: u64 = 3;

/// A value as bare text: what a table and CSV show. Null is empty; lists and maps are JSON.
pub(crate) fn text(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::Text(text) => text.clone(),
        Value::Bytes(bytes) => bytes_text(bytes),
        Value::Bool(value) => value.to_string(),
        Value::Integer(value) => i128::from(*value).to_string(),
        Value::Float(value) if !value.is_finite() => value.to_string(),
        Value::Tag(tag, inner) => match digits(*tag, inner) {
            Some(digits) => digits,
            None => match meaning(*tag, value) {
                // What is text is bare, and what is none is as exact as it is there.
                Some(json) => serde_json::from_str(&json).unwrap_or(json),
                None => text(inner),
            },
        },
        other => serde_json::to_string(&AsJson(other)).unwrap_or_else(|cause| cause.to_string()),
    }
}

/// A whole number of more bits than an integer of CBOR has, if that is what is tagged.
fn digits(tag: u64, value: &Value) -> Option<String> {
    let Value::Bytes(bytes) = value else { return None };
    let number = || BigUint::from_bytes_be(bytes);
    match tag {
        POSITIVE_BIGNUM => Some(number().to_string()),
        // They count from -1 on.
        NEGATIVE_BIGNUM => Some(format!("-{}", number() + 1_u32)),
        _ => None,
    }
}

/// What a tag makes of its content, as JSON text; `None` where it adds nothing to it.
fn meaning(tag: u64, value: &Value) -> Option<String> {
    // Decimals, objects of a name, fractions, UUIDs, arrays, addresses, times and durations.
    if !matches!(tag, 4 | 27 | 30 | 37 | 40 | 52 | 54 | 64..=87 | 1001 | 1002) {
        return None;
    }
    let (mut item, mut json) = (Vec::new(), String::new());
    ciborium::into_writer(value, &mut item).ok()?;
    write_json(&item, &mut json).ok().map(|()| json)
}

/// Bytes as text where they are UTF-8, else as hexadecimal digits.
fn bytes_text(bytes: &[u8]) -> String {
    match std::str::from_utf8(bytes) {
        Ok(text) => text.to_owned(),
        Err(_) => {
            let mut text = String::with_capacity(2 + 2 * bytes.len());
            text.push_str("0x");
            for byte in bytes {
                for digit in [byte >> 4, byte & 15] {
                    text.extend(char::from_digit(u32::from(digit), 16));
                }
            }
            text
        }
    }
}

/// A CBOR value as JSON: tags give way to what they tag, bytes to text, keys to text.
pub(crate) struct AsJson<'a>(pub(crate) &'a Value);

impl Serialize for AsJson<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Value::Bool(value) => serializer.serialize_bool(*value),
            Value::Integer(value) => match i64::try_from(*value) {
                Ok(value) => serializer.serialize_i64(value),
                Err(_) => match u64::try_from(*value) {
                    Ok(value) => serializer.serialize_u64(value),
                    Err(_) => serializer.serialize_str(&i128::from(*value).to_string()),
                },
            },
            Value::Float(value) => serializer.serialize_f64(*value),
            Value::Text(text) => serializer.serialize_str(text),
            Value::Bytes(bytes) => serializer.serialize_str(&bytes_text(bytes)),
            Value::Tag(tag, inner) => {
                let meant = || -> Option<serde_json::Value> {
                    serde_json::from_str(&meaning(*tag, self.0)?).ok()
                };
                match (digits(*tag, inner), meant()) {
                    (Some(digits), _) => serializer.serialize_str(&digits),
                    (None, Some(meant)) => meant.serialize(serializer),
                    (None, None) => AsJson(inner).serialize(serializer),
                }
            }
            Value::Array(values) => serializer.collect_seq(values.iter().map(AsJson)),
            Value::Map(fields) => serializer
                .collect_map(fields.iter().map(|(name, value)| (text(name), AsJson(value)))),
            _ => serializer.serialize_none(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bignum(tag: u64, bytes: &[u8]) -> Value {
        Value::Tag(tag, Box::new(Value::Bytes(bytes.to_vec())))
    }

    fn pair(one: i64, other: i64) -> Value {
        Value::Array(vec![one.into(), other.into()])
    }

    fn object(name: &str, made_of: Value) -> Value {
        Value::Tag(27, Box::new(Value::Array(vec![Value::Text(name.to_owned()), made_of])))
    }

    /// Those of more than 64 bits were shown as the bytes that they are kept as.
    #[test]
    fn values_are_shown_as_people_write_them() {
        let list = Value::Array(vec![Value::Integer(1.into()), Value::Null]);
        let cases = [
            (Value::Null, ""),
            (Value::Text("a \"b\"".to_owned()), "a \"b\""),
            (Value::Bytes(vec![0xff, 0x0a]), "0xff0a"),
            (Value::Bytes(b"plain".to_vec()), "plain"),
            (Value::Float(0.5), "0.5"),
            (Value::Float(f64::NAN), "NaN"),
            (Value::Integer(u64::MAX.into()), "18446744073709551615"),
            (Value::Tag(0, Box::new(Value::Text("2013-01-01".to_owned()))), "2013-01-01"),
            (list, "[1,null]"),
            (Value::Tag(4, Box::new(pair(-20, 15))), "0.00000000000000000015"),
            (Value::Tag(1002, Box::new(Value::Map(vec![(1.into(), 90.into())]))), "90"),
            (object("path", Value::Text("/tmp/a".to_owned())), "/tmp/a"),
            (Value::Array(vec![object("tuple", pair(1, 2))]), "[[1,2]]"),
            (bignum(2, b"\x01\0\0\0\0\0\0\0\0"), "18446744073709551616"),
            (bignum(3, b"\x01\0\0\0\0\0\0\0\0"), "-18446744073709551617"),
            (Value::Array(vec![bignum(2, b"123456789")]), "[\"907507751940624169017\"]"),
        ];
        for (value, shown) in cases {
            assert_eq!(text(&value), shown);
        }
    }

    #[test]
    fn maps_whose_keys_are_not_text_still_make_json() {
        let map = Value::Map(vec![(Value::Integer(1.into()), Value::Bool(true))]);
        assert_eq!(text(&map), "{\"1\":true}");
    }
}
