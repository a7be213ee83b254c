//! Entries of logs as JSON that says no number inexactly.

use serde_json::{Map, Value};
use timestrata::logs::{Clock, EntryRef, FieldValue, Scalar};
use timestrata::table::time_text;

/// Digits that each decimal number keeps when it is read.
const DIGITS_EXACT: usize = 15;

/// An entry with all that it has; its place in the order of a clock.
pub(crate) fn entry_json(entry: &EntryRef<'_>, by: Clock) -> Value {
    let mut members = Map::new();
    let mut set = |name: &str, value: Value| {
        members.insert(name.to_owned(), value);
    };
    set("timestamp", time_text(entry.timestamp()).into());
    if let Some(time) = entry.source_time() {
        set("source_time", time_text(time).into());
    }
    if let Some(level) = entry.level() {
        set("level", level.name().into());
    }
    set("message", entry.message().into());
    if let Some(labels) = entry.labels_json().and_then(|text| serde_json::from_str(text).ok()) {
        set("labels", labels);
    }
    let mut fields = Map::new();
    entry.each_field(|name, value| {
        fields.insert(name.to_owned(), field_json(&value));
    });
    if !fields.is_empty() {
        set("fields", fields.into());
    }
    set("position", entry.position(by).to_string().into());
    Value::Object(members)
}

fn field_json(value: &FieldValue<'_>) -> Value {
    match *value {
        FieldValue::Scalar(Scalar::Bool(value)) => value.into(),
        FieldValue::Scalar(Scalar::Int(value)) => value.into(),
        FieldValue::Scalar(Scalar::UInt(value)) => value.into(),
        FieldValue::Scalar(Scalar::Float(value)) => value.into(),
        FieldValue::Scalar(Scalar::Text(value)) => value.into(),
        FieldValue::Item(_) => exactly(value.to_text()),
    }
}

/// A JSON text as what it says, or as it is where reading it would round a number.
fn exactly(text: String) -> Value {
    match has_exact_numbers(&text) {
        true => serde_json::from_str(&text).unwrap_or(Value::String(text)),
        false => Value::String(text),
    }
}

fn has_exact_numbers(json: &str) -> bool {
    let mut is_in_text = false;
    let mut is_escaped = false;
    let outside = json.split(|letter: char| {
        let was_in_text = is_in_text;
        match letter {
            _ if is_escaped => is_escaped = false,
            '\\' if is_in_text => is_escaped = true,
            '"' => is_in_text = !is_in_text,
            _ => {}
        }
        let is_of_number = letter.is_ascii_digit() || matches!(letter, '-' | '+' | '.' | 'e' | 'E');
        was_in_text || !is_of_number
    });
    outside
        .filter(|token| token.len() > DIGITS_EXACT)
        .all(|token| token.parse::<i64>().is_ok() || token.parse::<u64>().is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_number_that_would_be_rounded_stays_text() {
        let same = |text: &str| exactly(text.to_owned());
        assert_eq!(same(r#"{"a":[1,2.5,"x"]}"#), json!({"a": [1, 2.5, "x"]}));
        assert_eq!(same("[18446744073709551615]"), json!([u64::MAX]));
        for text in
            ["36893488147419103232", "[0.30000000000000004]", r#"{"a":-1.2345678901234567e-9}"#]
        {
            assert_eq!(same(text), json!(text));
        }
        let digits_in_text = r#"["say \"36893488147419103232\" twice"]"#;
        assert_eq!(same(digits_in_text), json!(["say \"36893488147419103232\" twice"]));
    }
}
