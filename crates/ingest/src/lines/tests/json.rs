//! JSON lines.

use proptest::prelude::*;
use serde_json::{Map, Value, json};
use timestrata_logs::Level;

use super::*;

fn json(line: &str) -> NewEntry {
    read(Format::Json, line)
}

#[test]
fn an_object_has_a_message_a_time_a_level_and_fields() {
    let entry = json(
        r#" {"time":"2026-11-23T13:09:20.5+01:00", "level":"WARN", "msg":"a \"b\" \u00e9", "n": 1, "x": {"y": [true, null, -1.5, {}, []]}} "#,
    );
    assert_eq!(entry.source_time, Some(at("2026-11-23T12:09:20.5Z")));
    assert_eq!((entry.level, entry.message.as_str()), (Some(Level::Warn), "a \"b\" é"));
    assert_eq!(fields(&entry), r#"n=1 x={"y": [true, null, -1.5, {}, []]}"#);
}

#[test]
fn the_first_key_by_rank_has_the_role_and_the_others_are_fields() {
    let entry = json(r#"{"body":"b","msg":"m","log":{},"ts":1446249499,"time":"noon","lvl":3}"#);
    assert_eq!((entry.message.as_str(), entry.level), ("m", Some(Level::Error)));
    assert_eq!(entry.source_time, Some(1_446_249_499_000_000_000));
    assert_eq!(fields(&entry), r#"body="b" log={} time="noon""#);
}

#[test]
fn a_message_that_is_no_text_stays_a_field() {
    let entry = json(r#"{"message":{"a":1},"event":"e"}"#);
    assert_eq!((entry.message.as_str(), fields(&entry).as_str()), ("e", r#"message={"a": 1}"#));
    let entry = json(r#"{"message":5}"#);
    assert_eq!((entry.message.as_str(), fields(&entry).as_str()), ("", "message=5"));
}

#[test]
fn an_object_without_anything_to_search_is_its_own_message() {
    for line in ["{}", r#"{"level":"info","ts":1446249499}"#] {
        let entry = json(line);
        assert_eq!((entry.message.as_str(), entry.fields.len()), (line, 0));
    }
    assert_eq!(json(r#"{"msg":""}"#).message, "");
}

/// The story: where three of five lines had `NaN`, as Python's `json` writes it, all of them were taken for text.
#[test]
fn numbers_that_json_has_no_word_for_are_kept_as_words() {
    let entry = json(r#"{"msg":"m","level":"warn","loss":NaN,"x":[Infinity,-Infinity],"ts":NaN}"#);
    assert_eq!((entry.message.as_str(), entry.level), ("m", Some(Level::Warn)));
    assert_eq!(fields(&entry), r#"loss="NaN" x=["Infinity", "-Infinity"] ts="NaN""#);
}

#[test]
fn numbers_are_times_by_their_size() {
    let expected = at("2015-10-30T23:58:19.322Z");
    for (text, ns) in [
        ("1446249499", at("2015-10-30T23:58:19Z")),
        ("1446249499.322", expected),
        ("1446249499.322041702", expected + 41_702),
        ("1446249499322", expected),
        ("1446249499322.5", expected + 500_000),
        ("1446249499322000", expected),
        ("1446249499322000000", expected),
        ("\"1446249499322\"", expected),
        ("631152000", at("1990-01-01T00:00:00Z")),
        ("631152000000", at("1990-01-01T00:00:00Z")),
        ("9223372036854775807", i64::MAX),
    ] {
        let entry = json(&format!(r#"{{"ts":{text},"msg":"m"}}"#));
        assert_eq!((entry.source_time, fields(&entry).as_str()), (Some(ns), ""), "{text}");
    }
}

#[test]
fn text_is_a_time_in_the_usual_forms() {
    for (text, expected) in [
        ("2026-11-23T13:09:20Z", "2026-11-23T13:09:20Z"),
        ("2026-11-23 13:09:20", "2026-11-23T13:09:20Z"),
        ("2026-11-23 13:09:20,210", "2026-11-23T13:09:20.21Z"),
        ("2026-11-23T13:09:20.123456789-02:30", "2026-11-23T15:39:20.123456789Z"),
        ("2026/11/23 13:09", "2026-11-23T13:09:00Z"),
    ] {
        let entry = json(&format!(r#"{{"@timestamp":"{text}","msg":"m"}}"#));
        assert_eq!(
            (entry.source_time, fields(&entry).as_str()),
            (Some(at(expected)), ""),
            "{text}"
        );
    }
}

/// What collectors and loggers have at other names, or deeper. The lines are made up, in the form that they write.
#[test]
fn messages_times_and_levels_are_found_where_collectors_and_loggers_have_them() {
    let second = "2026-10-18T18:01:47Z";
    for (line, level, message) in [
        (r#"{"@timestamp":"2026-10-18T18:01:47Z","log.level":"WARN","message":"m"}"#, "warn", "m"),
        (
            r#"{"@timestamp":"2026-10-18T18:01:47Z","log":{"level":"error","logger":"x"},"message":"m"}"#,
            "error",
            "m",
        ),
        (
            r#"{"@t":"2026-10-18T18:01:47Z","@mt":"said {n}","@l":"Warning","n":3}"#,
            "warn",
            "said {n}",
        ),
        (r#"{"@timestamp":"2026-10-18T18:01:47Z","@level":"debug","@message":"m"}"#, "debug", "m"),
        (
            r#"{"timestamp":"2026-10-18T18:01:47Z","level":"INFO","fields":{"message":"m","n":1},"target":"a::b"}"#,
            "info",
            "m",
        ),
        (
            r#"{"timestamp":"2026-10-18T18:01:47Z","severity":"ERROR","textPayload":"m"}"#,
            "error",
            "m",
        ),
        (
            r#"{"timestamp":"2026-10-18T18:01:47Z","severity":"ERROR","jsonPayload":{"n":1,"message":"m"}}"#,
            "error",
            "m",
        ),
        (
            r#"{"timeUnixNano":"1792346507000000000","severityText":"WARN","body":{"stringValue":"m"},"attributes":[]}"#,
            "warn",
            "m",
        ),
        (
            r#"{"t":{"$date":"2026-10-18T20:01:47.000+02:00"},"s":"W","c":"NETWORK","id":22943,"ctx":"listener","msg":"m"}"#,
            "warn",
            "m",
        ),
    ] {
        let entry = read(Format::Json, line);
        assert_eq!(entry.source_time, Some(at(second)), "{line}");
        let told = entry.level.map(|level| level.to_string());
        assert_eq!((told.as_deref(), entry.message.as_str()), (Some(level), message), "{line}");
    }
    // A letter that is called so may be anything.
    assert_eq!(read(Format::Json, r#"{"s":"W","msg":"m"}"#).level, None);
}

#[test]
fn lines_of_programs_in_containers_are_taken_out_of_those_of_the_runtime() {
    let docker = |log: &str| {
        let text = serde_json::to_string(&format!("{log}\n")).unwrap();
        read(
            Format::Json,
            format!(r#"{{"log":{text},"stream":"stderr","time":"2026-10-18T18:01:47.5Z"}}"#),
        )
    };
    let cri =
        |log: &str| read("cri".parse().unwrap(), format!("2026-10-18T18:01:47.5Z stderr F {log}"));
    for (is_cri, read_in) in [(false, &docker as &dyn Fn(&str) -> NewEntry), (true, &cri)] {
        let tag = if is_cri { r#" tag="F""# } else { "" };
        let entry = read_in("started");
        assert_eq!(
            (entry.source_time, entry.message.as_str()),
            (Some(at("2026-10-18T18:01:47.5Z")), "started")
        );
        let entry = read_in("2026-10-18 18:01:46 [error] no route");
        assert_eq!(entry.source_time, Some(at("2026-10-18T18:01:46Z")));
        assert_eq!(
            (entry.level.map(|level| level.to_string()).as_deref(), entry.message.as_str()),
            (Some("error"), "no route")
        );
        let entry = read_in(r#"{"level":"warn","msg":"slow","ms":12,"stream":"own"}"#);
        assert_eq!(entry.source_time, Some(at("2026-10-18T18:01:47.5Z")));
        assert_eq!(
            (entry.level.map(|level| level.to_string()).as_deref(), entry.message.as_str()),
            (Some("warn"), "slow")
        );
        assert_eq!(fields(&entry), format!(r#"stream="stderr"{tag} ms=12 log_stream="own""#));
        let entry = read_in("{no json");
        assert_eq!((entry.level, entry.message.as_str()), (None, "{no json"));
    }
    // A program's own line that has such a field.
    let own = read(
        Format::Json,
        r#"{"msg":"2026-10-18 18:01:46 x","stream":"stdout","time":"2026-10-18T18:01:47Z"}"#,
    );
    assert_eq!(own.message, "2026-10-18 18:01:46 x");
}

#[test]
fn odd_zones_and_years_are_taken_as_they_are_or_kept_as_text() {
    for (text, expected) in [
        ("2026-11-23T13:09:20+05:45", "2026-11-23T07:24:20Z"),
        ("2026-11-23T13:09:20-00:00", "2026-11-23T13:09:20Z"),
        ("2026-11-23T13:09:20z", "2026-11-23T13:09:20Z"),
        ("2026-11-23T13:09:20+14:00", "2026-11-22T23:09:20Z"),
        ("2026-11-23T13:09:20 UTC", "2026-11-23T13:09:20Z"),
        ("2016-12-31T23:59:60Z", "2017-01-01T00:00:00Z"),
        ("2016-12-31T23:59:60.5+00:00", "2017-01-01T00:00:00.5Z"),
        ("2024-02-29T23:59:59-12:00", "2024-03-01T11:59:59Z"),
        ("1677-09-21T00:12:44Z", "1677-09-21T00:12:44Z"),
    ] {
        assert_eq!(
            json(&format!(r#"{{"time":"{text}","msg":"m"}}"#)).source_time,
            Some(at(expected))
        );
    }
    for text in [
        "0000-01-01T00:00:00Z",
        "0001-01-01T00:00:00Z",
        "1677-09-21T00:12:43Z",
        "2262-04-11T23:47:17Z",
        "9999-12-31T23:59:59Z",
        "10000-01-01T00:00:00Z",
        "+10000-01-01T00:00:00Z",
        "-0001-01-01T00:00:00Z",
        "2026-11-23T13:09:20+24:00",
        "2026-11-23T13:09:20+05:60",
        "2026-11-23T13:09:20 CET",
        "2026-11-23T13:09:20[Europe/Berlin]",
        "2026-11-23T13:09:20+01:00[Europe/Berlin]",
        "2026-11-23T13:09:61Z",
        "2023-02-29T00:00:00Z",
    ] {
        let entry = json(&format!(r#"{{"time":"{text}","msg":"m"}}"#));
        assert_eq!((entry.source_time, fields(&entry)), (None, format!("time={text:?}")));
    }
}

#[test]
fn what_is_no_time_stays_a_field() {
    for text in [
        "0.25",
        "631151999",
        "202611231309",
        "-1446249499",
        "1e9",
        "9223372036854775808",
        "1446249499.3220417021",
        "\"2026-11-23\"",
        "\"13:09:20\"",
        "\"2300-01-01T00:00:00Z\"",
        "\"2026-02-30T00:00:00Z\"",
        "\"2026-11-23 13:09:20,\"",
        "\"soon\"",
        "null",
    ] {
        let entry = json(&format!(r#"{{"time":{text},"msg":"m"}}"#));
        assert_eq!(entry.source_time, None, "{text}");
        assert_eq!(entry.fields.len(), 1, "{text}");
    }
}

#[test]
fn levels_are_names_and_numbers() {
    for (value, level) in [
        ("\"warning\"", Some(Level::Warn)),
        ("\"Information\"", Some(Level::Info)),
        ("40", Some(Level::Error)),
        ("\"3\"", Some(Level::Error)),
        ("\"loud\"", None),
        ("8", None),
        ("true", None),
        ("2.5", None),
    ] {
        let entry = json(&format!(r#"{{"level":{value},"msg":"m"}}"#));
        assert_eq!((entry.level, entry.fields.is_empty()), (level, level.is_some()), "{value}");
    }
}

/// An info of pino's was a warning: its 30 is Python's 20.
#[test]
fn numbers_of_pino_and_bunyan_are_levels_of_their_own_scale() {
    let levels = Level::ALL.into_iter().zip([10, 20, 30, 40, 50, 60]);
    for (level, number) in levels.chain([(Level::Info, 35), (Level::Error, 3)]) {
        let members = format!(r#""level":{number},"time":1531171074631"#);
        let theirs = json(&format!(r#"{{{members},"pid":657,"hostname":"box","msg":"hi"}}"#));
        assert_eq!((theirs.level, theirs.message.as_str()), (Some(level), "hi"), "{number}");
        for whose in [r#""pid":657"#, r#""hostname":"box""#, r#""pid":"657","hostname":"box""#] {
            let other = json(&format!("{{{members},{whose}}}"));
            assert_eq!(other.level, Level::of_number(number), "{number} {whose}");
        }
    }
}

#[test]
fn the_journal_as_json_has_its_own_names() {
    let entry = json(
        r#"{"__REALTIME_TIMESTAMP":"1795439360123456","PRIORITY":"4","MESSAGE":"m","_PID":"1"}"#,
    );
    assert_eq!(entry.source_time, Some(1_795_439_360_123_456_000));
    assert_eq!((entry.level, entry.message.as_str()), (Some(Level::Warn), "m"));
    assert_eq!(fields(&entry), r#"_PID="1""#);
}

#[test]
fn whole_numbers_are_exact_whatever_their_size() {
    for (text, expected) in [
        ("-0", "0"),
        ("9223372036854775807", "9223372036854775807"),
        ("-9223372036854775808", "-9223372036854775808"),
        ("9223372036854775808", "9223372036854775808"),
        ("18446744073709551615", "18446744073709551615"),
        ("-9223372036854775809", "-9223372036854775809"),
        ("-18446744073709551616", "-18446744073709551616"),
        ("18446744073709551616", "2(010000000000000000)"),
        ("-18446744073709551617", "3(010000000000000000)"),
        ("340282366920938463463374607431768211456", "2(0100000000000000000000000000000000)"),
        ("-340282366920938463463374607431768211457", "3(0100000000000000000000000000000000)"),
        ("100000000000000000000", "2(056bc75e2d63100000)"),
    ] {
        let entry = json(&format!(r#"{{"n":{text}}}"#));
        assert_eq!(fields(&entry), format!("n={expected}"), "{text}");
    }
}

#[test]
fn fractions_are_the_nearest_float_to_what_is_written() {
    for text in
        ["0.1", "1e-7", "5e-324", "1.7976931348623157e308", "0.30000000000000004", "1E+2", "-0.0"]
            .into_iter()
            .chain(["9007199254740993.0", "2.2250738585072011e-308", "123456789.123456789"])
    {
        let entry = json(&format!(r#"{{"n":{text}}}"#));
        let item = entry.fields.get("n").unwrap();
        let value = minicbor::Decoder::new(item).f64().unwrap();
        assert_eq!(value.to_bits(), text.parse::<f64>().unwrap().to_bits(), "{text}");
    }
}

#[test]
fn what_is_no_json_object_is_kept_and_told() {
    for (line, flaw) in [
        ("[1]", "not a JSON object"),
        ("\"text\"", "not a JSON object"),
        ("5", "not a JSON object"),
        ("Killed", "not a JSON object"),
        ("   ", "not JSON: EOF while parsing a value at byte 3"),
        ("{\"a\":1", "not JSON: EOF while parsing an object at byte 6"),
        ("{\"a\":1} {}", "not JSON: trailing characters at byte 8"),
        ("{\"a\":1,}", "not JSON: trailing comma at byte 7"),
        ("{\"a\":nan}", "not JSON: expected ident at byte 6"),
        ("{\"a\":01}", "not JSON: invalid number at byte 6"),
        ("{\"a\":1e999}", "a number beyond those of 64 bits"),
        ("{\"a\":\"\\ud800\"}", "not JSON: unexpected end of hex escape at byte 12"),
        (
            "{\"a\":\"\t\"}",
            "not JSON: control character (\\u0000-\\u001F) found while parsing a string at byte 6",
        ),
    ] {
        assert_eq!(flaw_of(Format::Json, line), flaw, "{line}");
    }
}

#[test]
fn depth_is_bounded() {
    for (open, inner, close) in [("[", "1", "]"), ("{\"a\":", "1", "}")] {
        let line = |depth: usize| {
            format!("{{\"a\":{}{inner}{}}}", open.repeat(depth - 1), close.repeat(depth - 1))
        };
        assert_eq!(json(&line(128)).fields.len(), 1);
        let flaw = flaw_of(Format::Json, &line(129));
        assert_eq!(flaw, "more than 128 objects and lists in each other");
        flaw_of(Format::Json, &line(1_000_000));
    }
}

#[test]
fn of_repeated_keys_the_last_counts_and_the_line_is_kept() {
    for (line, name, expected) in [
        (r#"{"a":1,"b":2,"a":"x"}"#, "a", r#"b=2 a="x""#),
        (r#"{"x":{"a":1,"b":{},"a":[2]}}"#, "a", r#"x={"b": {}, "a": [2]}"#),
        (r#"{"x":[{"\u0061":1,"a":2}],"y":0}"#, "a", r#"x=[{"a": 2}] y=0"#),
        (r#"{"a":1,"a":2,"b":1,"b":2}"#, "b", "a=2 b=2"),
    ] {
        let (entry, flaw) = read_flawed(Format::Json, line);
        assert!(flaw.ends_with("is there more than once: its last value counts"), "{flaw}");
        assert!(flaw.contains(&format!("key {name:?}")) || flaw.contains("key \"a\""), "{flaw}");
        assert!(fields(&entry).starts_with(&format!("{expected} original=")), "{}", fields(&entry));
        let original = minicbor::Decoder::new(entry.fields.get("original").unwrap());
        assert_eq!(original.clone().str().unwrap(), line);
    }
}

#[test]
fn of_a_repeated_message_time_or_level_the_last_counts() {
    let (entry, _) = read_flawed(
        Format::Json,
        r#"{"msg":"a","level":"info","ts":1446249499,"msg":"b","level":3,"ts":"never"}"#,
    );
    assert_eq!((entry.message.as_str(), entry.level), ("b", Some(Level::Error)));
    assert_eq!(entry.source_time, None);
    assert!(fields(&entry).starts_with("ts=\"never\" original="));
}

/// Objects of many keys are looked through for repeated ones in another way than those of few.
#[test]
fn a_repeated_key_is_found_among_many() {
    for many in [23, 24, 25, 26, 300] {
        let mut members: Vec<String> = (0..many).map(|key| format!("\"k{key}\":{key}")).collect();
        let line = |members: &[String]| format!("{{\"x\":{{{}}}}}", members.join(","));
        let entry = json(&line(&members));
        let value: Value = ciborium::from_reader(entry.fields.get("x").unwrap()).unwrap();
        assert_eq!(value.as_object().unwrap().len(), many);
        members.push("\"k7\":\"last\"".to_owned());
        let (entry, flaw) = read_flawed(Format::Json, line(&members));
        assert!(flaw.contains("\"k7\""), "{flaw}");
        let value: Value = ciborium::from_reader(entry.fields.get("x").unwrap()).unwrap();
        assert_eq!((value.as_object().unwrap().len(), &value["k7"]), (many, &json!("last")));
    }
}

/// A line of nothing but keys took minutes while each was compared with all before it.
#[test]
fn a_million_keys_are_read_as_fast_as_a_million_values() {
    let members: Vec<String> = (0..200_000).map(|key| format!("\"{key:x}\":1")).collect();
    let entry = json(&format!("{{{}}}", members.join(",")));
    assert_eq!(entry.fields.len(), 200_000);
}

#[test]
fn invalid_utf8_is_replaced_and_the_bytes_are_kept() {
    let entry = read(Format::Json, b"{\"msg\":\"a\xff\xfe\",\"\xc3\":\"\xe2\x82\"}");
    assert_eq!(entry.message, "a\u{fffd}\u{fffd}");
    assert_eq!(
        fields(&entry),
        "\u{fffd}=\"\u{fffd}\" original_base64=\"eyJtc2ciOiJh//4iLCLDIjoi4oIifQ==\""
    );
}

fn any_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>()
            .prop_filter("JSON has no others", |value| value.is_finite())
            .prop_map(Value::from),
        "\\PC{0,12}".prop_map(Value::from),
        any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(6, 64, 40, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..40).prop_map(Value::from),
            any_object(inner).prop_map(Value::from),
        ]
    })
}

fn any_object(value: impl Strategy<Value = Value>) -> impl Strategy<Value = Map<String, Value>> {
    let members = prop::collection::btree_map("\\PC{0,6}", value, 0..40);
    members.prop_map(|members| members.into_iter().collect())
}

proptest! {
    #[test]
    fn any_object_is_read_as_it_was_written(object in any_object(any_value())) {
        let entry = json(&serde_json::to_string(&object).unwrap());
        let mut read = Map::new();
        for (name, item) in entry.fields.iter() {
            read.insert(name.to_owned(), ciborium::from_reader(item).unwrap());
        }
        if !object.is_empty() {
            prop_assert_eq!(read, object);
        }
    }

    #[test]
    fn whole_numbers_of_128_bits_are_read_exactly(number in any::<i128>()) {
        let entry = json(&format!("{{\"n\":{number}}}"));
        let item = entry.fields.get("n").unwrap();
        let value: ciborium::Value = ciborium::from_reader(item).unwrap();
        let read = value.as_integer().map_or_else(|| bignum(item), i128::from);
        prop_assert_eq!(read, number);
    }
}

/// The value of a bignum of 128 bits.
fn bignum(item: &[u8]) -> i128 {
    let mut decoder = minicbor::Decoder::new(item);
    let tag = decoder.tag().unwrap().as_u64();
    let value =
        decoder.bytes().unwrap().iter().fold(0, |value, byte| value << 8 | i128::from(*byte));
    if tag == 2 { value } else { -1 - value }
}
