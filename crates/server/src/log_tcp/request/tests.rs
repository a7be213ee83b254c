use proptest::prelude::*;
use serde_json::json;
use timestrata_engine::{Settings, Store};
use timestrata_logs::{Level, Logs, LogsOptions, Query};

use super::super::metadata::write_row;
use super::*;

const BYTES_MAX: usize = 1 << 20;

fn ask(line: &str) -> Result<Request, Refusal> {
    parse(line.as_bytes(), BYTES_MAX, &mut Metadata::default(), &mut NewEntry::default())
}

/// The entry that a line asks to keep.
fn entry(line: &str) -> NewEntry {
    let mut entry = NewEntry::default();
    let asked = parse(line.as_bytes(), BYTES_MAX, &mut Metadata::default(), &mut entry);
    assert_eq!(asked, Ok(Request::Write), "{line}");
    entry
}

/// The row that an entry is read as.
fn row(entry: &NewEntry) -> String {
    let store = Store::memory(Settings::default()).unwrap();
    let logs = Logs::create(&store, "t", &LogsOptions::default()).unwrap();
    logs.write(entry).unwrap();
    let found = logs.search(&Query::default()).unwrap().next().unwrap().unwrap();
    let mut out = String::new();
    write_row(found.get(0).unwrap(), &mut out);
    out
}

/// The metadata that a row has after it was written with this.
fn metadata_again(metadata: &str) -> String {
    let line = format!(r#"{{"action":"write","source_ts":5,"message":"m","metadata":{metadata}}}"#);
    let row = row(&entry(&line));
    let (_, rest) = row.split_once(r#""message":"m","metadata":"#).unwrap();
    rest.strip_suffix(r#","version":1}"#).unwrap().to_owned()
}

#[test]
fn what_is_missing_or_wrong_has_a_code_of_its_own() {
    use Refusal::*;
    let write = |rest: &str| ask(&format!(r#"{{"action":"write"{rest}}}"#));
    let read = |rest: &str| ask(&format!(r#"{{"action":"read"{rest}}}"#));
    assert_eq!(ask("{}"), Err(MissingAction));
    assert_eq!(ask(r#"{"action":null}"#), Err(MissingAction));
    assert_eq!(ask(r#"{"action":"Write"}"#), Err(UnknownAction("Write".into())));
    assert_eq!(write(""), Err(MissingSourceTs));
    assert_eq!(write(r#","message":"m""#), Err(MissingSourceTs));
    assert_eq!(write(r#","source_ts":1"#), Err(MissingMessage));
    assert_eq!(write(r#","source_ts":1,"message":null"#), Err(MissingMessage));
    assert_eq!(read(""), Err(MissingStartTs));
    assert_eq!(read(r#","start_ts":1"#), Err(MissingEndTs));
    for wrong in [
        "1.0",
        "1e3",
        "-1",
        "\"-1\"",
        "\"\"",
        "\" 1\"",
        "\"1.5\"",
        "\"0x1\"",
        "true",
        "[1]",
        "18446744073709551616",
        "\"18446744073709551616\"",
        "{\"a\":[1]}",
    ] {
        assert_eq!(write(&format!(r#","source_ts":{wrong},"message":"m""#)), Err(InvalidSourceTs));
        let (start, end) = (format!(r#","start_ts":{wrong}"#), format!(r#","end_ts":{wrong}"#));
        assert_eq!(read(&format!(r#"{start},"end_ts":1"#)), Err(InvalidStartTs));
        assert_eq!(read(&format!(r#"{end},"start_ts":1"#)), Err(InvalidEndTs));
    }
    let range = |start, end| Ok(Request::Read { start, end });
    assert_eq!(read(r#","start_ts":"7","end_ts":18446744073709551615"#), range(7, u64::MAX));
    assert_eq!(read(r#","end_ts":"18446744073709551615","start_ts":0"#), range(0, u64::MAX));
}

#[test]
fn what_is_no_object_of_the_right_kinds_is_no_json_of_a_request() {
    let why = |line: &str| match ask(line) {
        Err(Refusal::InvalidJson(why)) => why,
        other => panic!("{line}: {other:?}"),
    };
    for line in ["[1,2]", "7", "\"text\"", "null", "true"] {
        assert_eq!(why(line), "a request must be an object");
    }
    assert_eq!(why(r#"{"action":1}"#), "action must be a string");
    assert_eq!(why(r#"{"action":["write"]}"#), "action must be a string");
    let write = r#"{"action":"write","source_ts":1,"message":"#;
    assert_eq!(why(&format!("{write}5}}")), "message must be a string");
    assert_eq!(why(&format!(r#"{write}"m","metadata":[]}}"#)), "metadata must be an object");
    assert_eq!(why(&format!(r#"{write}"m","metadata":"x"}}"#)), "metadata must be an object");
    assert!(why(r#"{"action":"write",}"#).contains("trailing comma at line 1 column 19"));
    for line in ["{", "nonsense", "{} {}", "{\"action\":\"wri", "\u{1}", "{'action':1}"] {
        assert!(!why(line).is_empty());
    }
}

#[test]
fn the_longest_message_is_taken_and_one_byte_more_is_not() {
    let line = |bytes: usize| {
        format!(r#"{{"action":"write","source_ts":1,"message":"{}"}}"#, "x".repeat(bytes))
    };
    assert_eq!(entry(&line(BYTES_MAX)).message.len(), BYTES_MAX);
    let refused = Err(Refusal::MessageTooLarge { bytes_max: BYTES_MAX });
    assert_eq!(ask(&line(BYTES_MAX + 1)), refused);
    // What counts is what a message has, not how it is written.
    let escaped =
        format!(r#"{{"action":"write","source_ts":1,"message":"{}"}}"#, "\\u0041".repeat(9));
    let mut short = NewEntry::default();
    assert!(parse(escaped.as_bytes(), 9, &mut Metadata::default(), &mut short).is_ok());
    assert_eq!(short.message, "AAAAAAAAA");
}

#[test]
fn metadata_comes_back_as_it_was_sent() {
    let wide: Vec<_> = (0..1_200).map(|index| format!("\"k{index}\":{index}")).collect();
    let wide = format!("{{{}}}", wide.join(","));
    for metadata in [
        "{}",
        r#"{"level":"loud","n":-0.5}"#,
        r#"{"level":7}"#,
        r#"{"level":{"is":"an object"}}"#,
        r#"{"a":{"b":[1,null,{"c":"ü"}]},"":true,"message":"other","timestamp":1}"#,
        r#"{"big":18446744073709551615,"bigger":340282366920938463463374607431768211456}"#,
        r#"{"__sent":{"metadata":1},"b":2}"#,
        r#"{"__sent.source_ts":9}"#,
        &wide,
    ] {
        assert_eq!(metadata_again(metadata), metadata);
    }
    assert_eq!(metadata_again("null"), "null");
    // Each name once, with its last value.
    assert_eq!(metadata_again(r#"{"a":1,"b":2,"a":3}"#), r#"{"b":2,"a":3}"#);
    let kept_whole = r#"{"__sent":0,"a":1,"b":{"c":1,"c":2},"a":3}"#;
    assert_eq!(metadata_again(kept_whole), r#"{"__sent":0,"b":{"c":2},"a":3}"#);
}

#[test]
fn a_level_that_is_text_is_the_entrys_too() {
    let level = |metadata: &str| {
        let line =
            format!(r#"{{"action":"write","source_ts":1,"message":"m","metadata":{metadata}}}"#);
        entry(&line).level
    };
    assert_eq!(level(r#"{"level":"Warning"}"#), Some(Level::Warn));
    assert_eq!(level(r#"{"level":"loud"}"#), None);
    assert_eq!(level(r#"{"level":3}"#), None);
    assert_eq!(level(r#"{"a":{"level":"error"}}"#), None);
    assert_eq!(level(r#"{"level":"error","level":null}"#), None);
}

#[test]
fn a_senders_time_comes_back_though_nanoseconds_can_not_hold_it() {
    let source_ts = |number: &str, metadata: &str| {
        let line = format!(
            r#"{{"action":"write","source_ts":{number},"message":"m","metadata":{metadata}}}"#
        );
        let entry = entry(&line);
        let row: serde_json::Value = serde_json::from_str(&row(&entry)).unwrap();
        assert_eq!(row["metadata"], serde_json::from_str::<serde_json::Value>(metadata).unwrap());
        (entry.source_time, row["source_ts"].clone())
    };
    let last = i64::MAX / 1_000_000;
    assert_eq!(source_ts("0", "null"), (Some(0), json!(0)));
    assert_eq!(source_ts("\"1700000000123\"", "null").1, json!(1_700_000_000_123_u64));
    assert_eq!(source_ts(&last.to_string(), "{}"), (Some(last * 1_000_000), json!(last)));
    for metadata in ["null", "{}", r#"{"a":1}"#, r#"{"__sent":2}"#] {
        assert_eq!(source_ts(&(last + 1).to_string(), metadata), (None, json!(last + 1)));
        assert_eq!(source_ts("\"18446744073709551615\"", metadata), (None, json!(u64::MAX)));
    }
}

#[test]
fn entries_that_came_by_other_ways_are_rows_too() {
    let mut entry = NewEntry::new("by hand");
    entry.source_time = Some(-1);
    let read: serde_json::Value = serde_json::from_str(&row(&entry)).unwrap();
    assert_eq!(read["source_ts"], -1);
    entry.source_time = None;
    let read: serde_json::Value = serde_json::from_str(&row(&entry)).unwrap();
    assert_eq!((&read["source_ts"], &read["metadata"]), (&json!(null), &json!(null)));
}

proptest! {
    #[test]
    fn any_line_is_answered_without_a_panic(
        line in r#"\{("(action|message|metadata|source_ts|start_ts|end_ts)":("write"|"read"|1|-1|"1"|\{\}|\{"__sent":1\}|\[\]|null),?){0,6}\}?"#,
        noise in prop::collection::vec(any::<u8>(), 0..20),
        at in 0_usize..100,
    ) {
        let mut bytes = line.into_bytes();
        let at = at.min(bytes.len());
        let _ = parse(&bytes, 10, &mut Metadata::default(), &mut NewEntry::default());
        bytes.splice(at..at, noise);
        let _ = parse(&bytes, 10, &mut Metadata::default(), &mut NewEntry::default());
    }
}
