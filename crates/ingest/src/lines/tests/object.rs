//! Objects that others keep in an entry: what is taken comes back as it was.

use jiter::Jiter;
use proptest::prelude::*;
use timestrata_logs::FieldValue;

use crate::lines::{JsonFlaw, Members, read_object};

/// Lists and objects in each other, at most, in a value: the object that it is in is one more.
const DEPTH_MAX: usize = 127;

/// The CBOR item of a value, or why it is not taken.
fn item(text: &str) -> Result<Vec<u8>, String> {
    let refused = |flaw: JsonFlaw| match flaw {
        JsonFlaw::Malformed(error) => error.error_type.to_string(),
        other => format!("{other:?}"),
    };
    let object = format!("{{\"x\":{text}}}");
    let mut json = Jiter::new(object.as_bytes());
    let mut members = Members::default();
    read_object(&mut json, &mut members).map_err(refused)?;
    json.finish().map_err(|error| refused(error.into()))?;
    match members.iter().collect::<Vec<_>>()[..] {
        [item] => Ok(item.value.to_vec()),
        _ => Err("it ends the object around it".to_owned()),
    }
}

/// A text that was taken in, written again.
fn again(text: &str) -> String {
    let item = item(text).unwrap();
    minicbor::decode::Decoder::new(&item).skip().unwrap();
    let mut out = String::new();
    FieldValue::Item(&item).write_json(&mut out);
    out
}

#[test]
fn values_come_back_as_they_were() {
    let long = format!("[{}0]", "1,".repeat(300));
    let wide: Vec<_> = (0..300).map(|name| format!("\"{name}\":[]")).collect();
    let wide = format!("{{{}}}", wide.join(","));
    for text in [
        "{}",
        "[]",
        "null",
        r#"{"a":[1,"x",{"b":null}],"c":true,"d":false,"":"\n\"\u0001"}"#,
        "[0,-1,9223372036854775807,-9223372036854775808,18446744073709551615]",
        "[-18446744073709551616,18446744073709551616,-18446744073709551617]",
        "[123456789012345678901234567890123456789012345678901234567890]",
        "[-123456789012345678901234567890123456789012345678901234567890]",
        "[1.0,0.1,1e300,-0.0,5e-324]",
        &long,
        &wide,
    ] {
        assert_eq!(again(text), text);
    }
    assert_eq!(again("-0"), "-0.0");
    assert_eq!(again(" [ 1E2 , \"\\u00fc\\ud83d\\ude00\" ] "), "[100.0,\"ü😀\"]");
    let digits = "9".repeat(4_300);
    assert_eq!(again(&digits), digits);
}

/// Kept as it came, an object within metadata could not be read by Python any more: no map of CBOR
/// may have a name twice.
#[test]
fn of_a_name_that_is_there_twice_the_last_value_counts_at_any_depth() {
    for (text, expected) in [
        (r#"{"a":1,"a":2}"#, r#"{"a":2}"#),
        (r#"{"a":{"b":1,"c":[],"b":{}},"d":0}"#, r#"{"a":{"c":[],"b":{}},"d":0}"#),
        (r#"[{"x":1,"\u0078":[2,{"x":1,"x":2}]},3]"#, r#"[{"x":[2,{"x":2}]},3]"#),
        (r#"{"":1,"a":1,"a":2,"":2,"a":3}"#, r#"{"":2,"a":3}"#),
    ] {
        assert_eq!(again(text), expected);
    }
    for count in [15, 16, 17, 300] {
        let names = |from: usize| (from..count).map(|name| format!("\"{name}\":{name}"));
        let twice = names(0).chain(["\"7\":\"last\"".to_owned()]).collect::<Vec<_>>().join(",");
        let value: serde_json::Value =
            serde_json::from_str(&again(&format!("{{{twice}}}"))).unwrap();
        assert_eq!((value.as_object().unwrap().len(), &value["7"]), (count, &"last".into()));
    }
}

#[test]
fn what_can_not_be_kept_is_refused() {
    let refused = |text: &str| item(text).unwrap_err();
    assert_eq!(refused("1e400"), "NumberOutOfRange");
    assert_eq!(refused(&"9".repeat(4_301)), "number out of range");
    let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    assert!(item(&nested(DEPTH_MAX)).is_ok());
    assert_eq!(refused(&nested(DEPTH_MAX + 1)), "TooDeep");
    assert_eq!(refused(&"[".repeat(1 << 20)), "TooDeep");
    for text in ["", "{", "[1,]", "{\"a\" 1}", "{1:2}", "nul", "NaN", "-", "01", "1.", "'a'"] {
        assert!(item(text).is_err(), "{text}");
    }
    for text in ["\"\\ud800\"", "\"a", "\"\n\"", "\"\\x\""] {
        assert!(item(text).is_err(), "{text}");
    }
}

proptest! {
    #[test]
    fn any_text_is_read_without_a_panic(text in r#"[\[\]{},:"\\0-9a-fnrtul.eE+ -]{0,40}"#) {
        if let Ok(item) = item(&text) {
            minicbor::decode::Decoder::new(&item).skip().unwrap();
            let known: serde_json::Value = serde_json::from_str(&text).unwrap();
            let mut out = String::new();
            FieldValue::Item(&item).write_json(&mut out);
            let own: serde_json::Value = serde_json::from_str(&out).unwrap();
            prop_assert_eq!(own, known);
        }
    }
}
