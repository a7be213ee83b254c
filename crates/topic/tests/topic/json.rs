//! Records in JSON: what is read at once is what is read by a tree, or is left to it.

use serde_json::{Value, json};
use timestrata_topic::{ClaimedPlace, OwnedRecord, PlainRecord, Record};

#[test]
fn a_plain_record_is_the_one_that_its_tree_says() {
    for text in [
        "{}",
        r#"{"key":"door","value":"opened"}"#,
        r#"{"key":null,"value":"a\n\"b\" \u00e9 \ud83d\ude00","timestamp":-5}"#,
        r#" {"value":"","headers":[["a","1"],["a","2"]],"topic":"t","partition":3,"offset":7} "#,
        r#"{"headers":[],"timestamp":9223372036854775807,"offset":18446744073709551615}"#,
    ] {
        let (record, place) = serde_json::from_str::<PlainRecord>(text).unwrap().into_parts();
        let tree: Value = serde_json::from_str(text).unwrap();
        assert_eq!(record, OwnedRecord::of_json(&tree).unwrap(), "{text}");
        assert_eq!(place, ClaimedPlace::of_json(&tree).unwrap(), "{text}");
    }
}

#[test]
fn what_is_no_plain_record_is_left_to_the_tree() {
    for text in [
        r#"["door","opened"]"#,
        r#""opened""#,
        "7",
        "null",
        r#"{"value":7}"#,
        r#"{"value":{"base64":"AA=="}}"#,
        r#"{"headers":{"a":"1"}}"#,
        r#"{"headers":[["a",null]]}"#,
        r#"{"timestamp":1.5}"#,
        r#"{"timestamp":"2024-05-01"}"#,
        r#"{"valeu":"a"}"#,
        r#"{"value":"a","value":"b"}"#,
        r#"{"partition":4294967296}"#,
        r#"{"offset":-1}"#,
        r#"{"value":"a"} {}"#,
    ] {
        assert!(serde_json::from_str::<PlainRecord>(text).is_err(), "{text}");
    }
    assert!(serde_json::from_str::<Vec<PlainRecord>>(r#"[["door","opened"]]"#).is_err());
}

#[test]
fn a_record_is_written_as_its_tree_is() {
    let record = Record {
        key: Some(b"\xff\x00"),
        value: Some("\u{1F600}\"\\\n".as_bytes()),
        headers: vec![("a", b"1".as_slice()), ("a", b"\xfe")],
        timestamp_ns: Some(-5),
        ..Record::default()
    };
    let tree = json!({
        "topic": "t", "partition": 3, "offset": 7, "timestamp": -5,
        "key": {"base64": "/wA="}, "value": "\u{1F600}\"\\\n",
        "headers": [["a", "1"], ["a", {"base64": "/g=="}]],
    });
    assert_eq!(record.to_json("t", 3, 7), tree);
    let text = serde_json::to_string(&record.in_json("t", 3, 7)).unwrap();
    assert_eq!(text, tree.to_string());
    let none = Record::default().to_json("t", 0, 0);
    assert_eq!((&none["key"], &none["value"]), (&Value::Null, &Value::Null));
}

/// The story: a value that was an object had to be quoted first, in every shell and every program.
#[test]
fn a_value_may_be_an_object_or_a_list_and_is_kept_digit_by_digit() {
    let value = |text: &str| OwnedRecord::of_json_text(text).map(|(record, _)| record.value);
    for text in [r#"{"a": 1.10, "n": 123456789012345678901234567890}"#, "[1, [2]]", "{}", "[]"] {
        let record = format!(r#"{{"value": {text} , "key": "k", "partition": 3}}"#);
        assert_eq!(value(&record).unwrap().as_deref(), Some(text.as_bytes()), "{text}");
        let (read, place) = OwnedRecord::of_json_text(&record).unwrap();
        assert_eq!((read.key.as_deref(), place.partition), (Some(&b"k"[..]), Some(3)));
    }
    assert_eq!(value(r#"{"value": {"base64": "/w=="}}"#).unwrap(), Some(vec![0xff]));
    let odd = r#"{"value": {"base64": "/w==", "more": 1}}"#;
    assert_eq!(value(odd).unwrap().as_deref(), Some(&br#"{"base64": "/w==", "more": 1}"#[..]));
    assert_eq!(value(r#"{"value": null}"#).unwrap(), None);
    assert_eq!(value(r#"{"value": "text"}"#).unwrap().as_deref(), Some(&b"text"[..]));
    for wrong in [
        r#"{"value": 5}"#,
        r#"{"value": true}"#,
        r#"{"key": {"a": 1}}"#,
        r#"{"value": {"base64": "?"}}"#,
        r#"[{"value": "x"}]"#,
        r#"{"value": {"a": }}"#,
        "",
    ] {
        assert!(value(wrong).is_err(), "{wrong}");
    }
}
