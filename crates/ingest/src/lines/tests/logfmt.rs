//! Lines of `key=value`.

use proptest::prelude::*;
use timestrata_logs::{Level, Scalar};

use super::*;

fn logfmt(line: &str) -> NewEntry {
    read(Format::Logfmt, line)
}

#[test]
fn pairs_are_fields_and_some_have_a_role() {
    let entry = logfmt(
        r#"ts=2026-11-23T13:09:20.5Z level=error  msg="disk \"sda\" is full" free=0 ok=false retry"#,
    );
    assert_eq!(entry.source_time, Some(at("2026-11-23T13:09:20.5Z")));
    assert_eq!((entry.level, entry.message.as_str()), (Some(Level::Error), "disk \"sda\" is full"));
    assert_eq!(fields(&entry), "free=0 ok=false retry=true");
    let entry = logfmt("time=1446249499.322041702 level=30 msg=done");
    assert_eq!(entry.source_time, Some(at("2015-10-30T23:58:19.322041702Z")));
    assert_eq!((entry.level, entry.message.as_str()), (Some(Level::Warn), "done"));
}

#[test]
fn escapes_stand_for_what_they_do_in_go() {
    let entry = logfmt(r#"msg="a\\b\n\r\t\u00e9\"" x="\q\u12\ud800é\u" y="\\" z="""#);
    assert_eq!(entry.message, "a\\b\n\r\té\"");
    assert_eq!(fields(&entry), r#"x="\\q\\u12\\ud800é\\u" y="\\" z="""#);
}

#[test]
fn values_without_quotes_are_numbers_only_if_that_changes_nothing() {
    for (value, is_number) in [
        ("0", true),
        ("-5", true),
        ("9223372036854775807", true),
        ("18446744073709551615", true),
        ("0.5", true),
        ("1.0", true),
        ("1e-7", true),
        ("-0.0", true),
        ("18446744073709551616", false),
        ("007", false),
        ("+5", false),
        ("-0", false),
        ("1.10", false),
        ("1.", false),
        (".5", false),
        ("1e5", false),
        ("1e999", false),
        ("NaN", false),
        ("inf", false),
        ("0x10", false),
        ("1.2.3", false),
        ("True", false),
        ("null", false),
        ("", false),
        ("http://x/?a=b", false),
    ] {
        let entry = logfmt(&format!("v={value} w=1"));
        let item = entry.fields.get("v").and_then(Scalar::of_item).unwrap();
        assert_eq!(matches!(item, Scalar::Text(_)), !is_number, "{value}");
        if let Scalar::Text(text) = item {
            assert_eq!(text, value);
        }
    }
    assert_eq!(fields(&logfmt("a=\"1\" b=true c=\"true\"")), "a=\"1\" b=true c=\"true\"");
}

#[test]
fn what_is_malformed_is_kept_and_told() {
    for (line, flaw) in [
        ("hello world", "no key=value"),
        ("=1", "a value without a key"),
        ("a=1 =", "a value without a key"),
        ("a=\"x", "a quote that does not end"),
        ("a=\"x\"y", "no space behind the value of \"a\""),
        ("a\"b=1", "a quote behind the key \"a\""),
        ("\"a\"=1", "a value without a key"),
    ] {
        assert_eq!(flaw_of(Format::Logfmt, line), flaw, "{line}");
    }
    assert!(flaw_of(Format::Logfmt, &format!("{}\"", "ä".repeat(5_000))).len() < 200);
}

#[test]
fn of_repeated_keys_the_last_counts_and_the_line_is_kept() {
    let (entry, flaw) = read_flawed(Format::Logfmt, "a=1 msg=x a=2");
    assert_eq!(flaw, "key \"a\" is there more than once: its last value counts");
    assert!(fields(&entry).starts_with("a=2 original=\"a=1 msg=x a=2\" "));
}

proptest! {
    #[test]
    fn a_number_is_written_as_it_was_read(value in any::<f64>(), whole in any::<i64>()) {
        let entry = logfmt(&format!("f={value:?} i={whole}"));
        let item = |name| entry.fields.get(name).and_then(Scalar::of_item);
        prop_assert_eq!(item("i"), Some(Scalar::Int(whole)));
        match item("f").unwrap() {
            Scalar::Float(read) => prop_assert_eq!(read.to_bits(), value.to_bits()),
            Scalar::Text(text) => prop_assert_eq!(text, format!("{value:?}")),
            other => prop_assert!(false, "{other:?}"),
        }
    }

    #[test]
    fn quoted_text_is_read_as_json_writes_it(text in "[ -~\\n\\r\\t\u{1}é€𝄞]{0,20}") {
        let entry = logfmt(&format!("k={} w=1", serde_json::to_string(&text).unwrap()));
        prop_assert_eq!(entry.fields.get("k").and_then(Scalar::of_item), Some(Scalar::Text(&text)));
    }
}
