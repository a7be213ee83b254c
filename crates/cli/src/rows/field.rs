//! What a field of CSV says: CSV has text only, so each value's type is read off its shape.

use serde::Serialize;
use serde::de::IgnoredAny;

/// A field with a type.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(untagged)]
pub(super) enum Field<'a> {
    Null,
    Bool(bool),
    Int(i64),
    UInt(u64),
    Float(f64),
    Text(&'a str),
}

impl<'a> Field<'a> {
    /// Types a field: empty is null; `true` and `false` are booleans; what is written as
    /// JSON writes numbers is a number. All else is text, so that `007`, `+49` and `1e999`
    /// lose nothing.
    pub(super) fn infer(text: &'a str) -> Self {
        match text {
            "" => return Self::Null,
            "true" | "True" | "TRUE" => return Self::Bool(true),
            "false" | "False" | "FALSE" => return Self::Bool(false),
            _ => {}
        }
        if !is_number(text) {
            return Self::Text(text);
        }
        // "-0" is a real: an integer would lose its sign.
        let is_whole = text != "-0" && text.bytes().skip(1).all(|byte| byte.is_ascii_digit());
        let parsed = match is_whole {
            true => text.parse().map(Self::Int).or_else(|_| text.parse().map(Self::UInt)).ok(),
            false => text.parse().ok().filter(|real: &f64| real.is_finite()).map(Self::Float),
        };
        parsed.unwrap_or(Self::Text(text))
    }
}

/// Whether `text` is a number by JSON's grammar, without the spaces that its reader takes around one.
fn is_number(text: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_digit() || first == '-')
        && text.ends_with(|last: char| last.is_ascii_digit())
        && serde_json::from_str::<IgnoredAny>(text).is_ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn each_value_has_the_type_of_its_shape() {
        let cases = [
            ("", Field::Null),
            ("TRUE", Field::Bool(true)),
            ("false", Field::Bool(false)),
            ("0", Field::Int(0)),
            ("-17", Field::Int(-17)),
            ("9223372036854775807", Field::Int(i64::MAX)),
            ("18446744073709551615", Field::UInt(u64::MAX)),
            ("39.02", Field::Float(39.02)),
            ("1e-3", Field::Float(0.001)),
            ("-0", Field::Float(-0.0)),
        ];
        for (text, field) in cases {
            assert_eq!(Field::infer(text), field, "{text}");
        }
    }

    #[test]
    fn what_a_number_would_spoil_stays_text() {
        for text in [
            "007",
            "+49",
            "1.",
            ".5",
            "1e",
            "1e+",
            "1e999",
            "NaN",
            "inf",
            "0x10",
            "1_000",
            "--1",
            "-",
            "99999999999999999999",
            "NA",
            "tRUE",
            " 1",
            "00.5",
        ] {
            assert_eq!(Field::infer(text), Field::Text(text), "{text}");
        }
    }

    proptest! {
        #[test]
        fn numbers_keep_their_value(integer in any::<i64>(), float in any::<f64>()) {
            let text = integer.to_string();
            prop_assert_eq!(Field::infer(&text), Field::Int(integer));
            prop_assume!(float.is_finite());
            let text = format!("{float:?}");
            prop_assert_eq!(Field::infer(&text), Field::Float(float));
        }

        #[test]
        fn no_text_makes_it_panic(text in "\\PC{0,20}") {
            let _ = Field::infer(&text);
        }
    }
}
