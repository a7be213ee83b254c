//! What lies in JSON and CBOR, by operators, subscripts and functions.

use std::collections::BTreeMap;

use timestrata_engine::{Durability, ErrorKind, Settings, Store};
use timestrata_logs::{Level, Logs, LogsOptions, NewEntry};
use timestrata_sql::{Params, Sql};
use timestrata_timelog::{Codec, Timelog, TimelogOptions, ValueColumns};
use timestrata_topic::{Record, SendOptions, Topic, TopicOptions};

use crate::support::{answer, ask, lines, plan, sql};

fn one(sql: &Sql, expression: &str) -> String {
    let found = answer(sql, &format!("SELECT {expression}"));
    found.into_iter().next().unwrap_or_default()
}

#[test]
fn values_are_read_from_json_text_by_operators_subscripts_and_functions() {
    let sql = sql(&Store::memory(Settings::default()).unwrap());
    let document = r#"'{"a": {"b": [1, "x", {"c": null}], "t": "q\"\u00e9"}, "n": 1.50, "w": 2e3, "ok": true}'"#;
    for (expression, expected) in [
        ("$->'a'->'b'", r#"[1, "x", {"c": null}]"#),
        ("$->'a'->'b'->1", r#""x""#),
        ("$->'a'->'b'->>1", "x"),
        ("$->'a'->'b'->>-3", "1"),
        ("$['a']['b'][1]", "x"),
        ("$['a']['t']", "q\"é"),
        ("$->'a'->>'t'", "q\"é"),
        ("$->>'n'", "1.50"),
        ("$->>'ok'", "true"),
        ("$->'a'->'b'->2->'c'", "null"),
        ("$->'a'->'b'->2->>'c'", "NULL"),
        ("$->>'absent'", "NULL"),
        ("$->'a'->>'b'->>0", "1"),
        ("$->>'n'->>'deeper'", "NULL"),
        ("json_as_text($, 'a', 'b', 0)", "1"),
        ("json_get_json($, 'a', 't')", r#""q\"\u00e9""#),
        ("json_get_str($, 'n')", "NULL"),
        ("json_get_float($, 'n')", "1.5"),
        ("json_get_int($, 'n')", "NULL"),
        ("json_get_int($, 'w')", "2000"),
        ("json_get_bool($, 'ok')", "true"),
        ("json_get_bool($, 'n')", "NULL"),
        ("json_length($, 'a', 'b')", "3"),
        ("json_length($)", "4"),
        ("json_length($, 'n')", "NULL"),
        ("json_contains($, 'a', 'b')", "true"),
        ("json_contains($, 'b')", "false"),
        ("json_contains(NULL, 'b')", "false"),
        ("CAST($->>'n' AS DOUBLE) + 1", "2.5"),
        ("$->>'n' = '1.50' AND $['ok'] = 'true'", "true"),
        ("$->>'n'::DOUBLE * 2 > $->'a'->'b'->>0::BIGINT", "true"),
        ("'<' || ($->>'n') || '>'", "<1.50>"),
        ("json_as_text('\"plain\"')", "plain"),
        ("json_as_text('{\"a\": 1} {')", "NULL"),
        ("json_as_text('no json', 'a')", "NULL"),
        ("json_get_int('[9223372036854775807]', 0)", "9223372036854775807"),
        ("json_get_int('[9223372036854775808]', 0)", "NULL"),
        ("json_get_float('[1e999]', 0)", "NULL"),
        ("X'A16161F5'->>'a'", "true"),
        ("cbor_to_json(X'A261618201FB3FF80000000000006162F6')", r#"{"a":[1,1.5],"b":null}"#),
        ("cbor_to_json(X'A1')", "NULL"),
        // What begins as JSON does is JSON.
        ("json_as_text(arrow_cast('[7]', 'Binary'), 0)", "7"),
    ] {
        let expression = expression.replace('$', document);
        assert_eq!(one(&sql, &expression), expected, "{expression}");
    }
    // Lists and structures have the subscripts that they have.
    assert_eq!(one(&sql, "[7, 8][1]"), "7");
    assert_eq!(one(&sql, "named_struct('a', 5)['a']"), "5");
    for wrong in ["1->'a'", "'{}'->1.5", "json_as_text()"] {
        let error = ask(&sql, &format!("SELECT {wrong}")).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{wrong}: {error}");
    }
}

/// Entries with a field of many kinds, one that nests, and one that is rare.
fn entry(index: usize) -> NewEntry {
    let mut entry = NewEntry::new(format!("request {index} to server{}", index % 7));
    entry.level = Some(Level::Info);
    entry.fields.text("kind", if index.is_multiple_of(3) { "commit" } else { "identity" });
    entry.fields.int("n", index as i64);
    match index % 5 {
        0 => entry.fields.text("mixed", "7"),
        1 => entry.fields.int("mixed", 7),
        2 => entry.fields.float("mixed", 7.0),
        3 => entry.fields.bool("mixed", true),
        _ => entry.fields.null("mixed"),
    };
    // {"operation": "create", "parts": ["p0", 5]}
    let nested = b"\xa2\x69operation\x66create\x65parts\x82\x62p0\x05";
    entry.fields.item("commit", |out| out.extend_from_slice(nested));
    if index.is_multiple_of(500) {
        entry.fields.text("rare", "needle in hay");
        // Bytes are base64 in JSON: these read "needlQ==", without being text.
        entry.fields.item("bytes", |out| out.extend_from_slice(b"\x44\x9d\xe7\x9d\x95"));
    }
    entry
}

const QUESTIONS: [&str; 16] = [
    "SELECT fields->>'kind', count(*) FROM app GROUP BY 1 ORDER BY 1",
    "SELECT fields->>'mixed', count(*) FROM app GROUP BY 1 ORDER BY 1",
    "SELECT fields->'mixed', count(*) FROM app GROUP BY 1 ORDER BY 1",
    "SELECT json_get_str(fields, 'mixed') m, count(*) FROM app GROUP BY 1 ORDER BY 1",
    "SELECT sum(json_get_int(fields, 'n')), max(json_get_float(fields, 'mixed')) FROM app",
    "SELECT sum(CAST(fields->>'n' AS BIGINT)) FROM app WHERE fields->>'kind' = 'commit'",
    "SELECT fields['commit']['operation'], fields['commit']['parts'][0], count(*) FROM app GROUP BY 1, 2",
    "SELECT fields->'commit'->'parts'->>1 FROM app LIMIT 1",
    "SELECT message FROM app WHERE fields->>'rare' = 'needle in hay' ORDER BY timestamp LIMIT 3",
    "SELECT count(*) FROM app WHERE fields->>'mixed' = '7'",
    "SELECT count(*) FROM app WHERE fields->>'mixed' IN ('true', '7.0', 'absent')",
    "SELECT count(*) FROM app WHERE fields->>'bytes' = 'needlQ=='",
    "SELECT count(*) FROM app WHERE fields->>'kind' = 'commit' AND fields['rare'] = 'needle in hay'",
    "SELECT count(*) FROM app WHERE fields->>'kind' = 'COMMIT' OR fields->>'rare' = 'needle in hay'",
    "SELECT count(*) FROM app WHERE fields->>'absent' IS NULL AND NOT json_contains(fields, 'absent')",
    "SELECT x->>'operation' FROM (SELECT fields->'commit' AS x, message FROM app) WHERE message LIKE 'request 3 %'",
];

fn answers(sql: &Sql) -> Vec<Vec<String>> {
    QUESTIONS.map(|question| answer(sql, question)).into()
}

#[test]
fn a_field_of_a_log_is_the_same_whether_it_has_a_column_in_memory_flushed_and_compacted() {
    let mut all = Vec::new();
    for columns_max in [0, 32] {
        let store = crate::support::memory();
        let options = LogsOptions { columns_max, ..LogsOptions::default() };
        let logs = Logs::create(&store, "app", &options).unwrap();
        let sql = sql(&store);
        for question in QUESTIONS {
            answer(&sql, question);
        }
        for index in 0..3_000 {
            logs.write(&entry(index)).unwrap();
        }
        assert_eq!(logs.columns().unwrap().is_empty(), columns_max == 0);
        all.push(answers(&sql));
        logs.flush().unwrap();
        all.push(answers(&sql));
        logs.compact().unwrap();
        all.push(answers(&sql));
        assert_eq!(answer(&sql, QUESTIONS[5]), [(0..3_000).step_by(3).sum::<usize>().to_string()]);
        assert_eq!(answer(&sql, QUESTIONS[9]), ["1200"]);
        assert_eq!(answer(&sql, QUESTIONS[11]), ["6"]);
        assert_eq!(answer(&sql, QUESTIONS[12]), ["2"]);
    }
    let first = all.remove(0);
    for other in all {
        for ((question, expected), found) in QUESTIONS.iter().zip(&first).zip(other) {
            assert_eq!(*expected, found, "{question}");
        }
    }
}

#[test]
fn one_field_is_read_without_the_others_and_blocks_without_its_words_are_not() {
    let store = crate::support::memory();
    let logs = Logs::create(&store, "app", &LogsOptions::default()).unwrap();
    for index in 0..20_000 {
        let mut entry = entry(index);
        entry.fields.remove("rare");
        if index == 15_000 {
            entry.fields.text("rare", "needle in hay");
        }
        logs.write(&entry).unwrap();
    }
    logs.flush().unwrap();
    logs.compact().unwrap();
    let sql = sql(&store);
    let kinds = plan(&sql, "SELECT fields->>'kind', count(*) FROM app GROUP BY 1");
    assert!(kinds.contains("field(kind)"), "{kinds}");
    assert!(!kinds.contains("message") && !kinds.contains("json_as_text"), "{kinds}");
    let rare = "SELECT message FROM app WHERE fields->>'rare' = 'needle in hay'";
    assert!(plan(&sql, rare).contains(", words"), "{}", plan(&sql, rare));
    assert_eq!(answer(&sql, rare), ["request 15000 to server6"]);
    let read = answer(&sql, &format!("EXPLAIN ANALYZE {rare}")).join("\n");
    let rows = read.lines().find(|line| line.contains("StreamScan")).unwrap_or_default();
    assert!(rows.contains("output_rows=4.10 K") || rows.contains("output_rows=4096"), "{read}");
    // A number has no words, so that nothing may be left out for it.
    let number = "SELECT count(*) FROM app WHERE fields->>'n' = '15000'";
    assert!(!plan(&sql, number).contains(", words"), "{}", plan(&sql, number));
    assert_eq!(answer(&sql, number), ["1"]);
}

#[test]
fn values_of_time_logs_are_json_and_those_of_typed_ones_columns() {
    let store = crate::support::memory();
    let of = |codec| TimelogOptions { codec, ..TimelogOptions::default() };
    let cbor = Timelog::create(&store, "door", of(Codec::Cbor)).unwrap();
    let json = Timelog::create(&store, "notes", of(Codec::Json)).unwrap();
    let bytes = Timelog::create(&store, "raw", of(Codec::Bytes)).unwrap();
    let options = TimelogOptions::typed(
        ValueColumns::record([datafusion::arrow::datatypes::Field::new(
            "celsius",
            datafusion::arrow::datatypes::DataType::Float64,
            true,
        )])
        .unwrap(),
    );
    Timelog::create(&store, "typed", options).unwrap();
    let sql = sql(&store);
    assert!(answer(&sql, "SELECT value FROM door").is_empty());
    let open = BTreeMap::from([("open", true)]);
    cbor.append_value(2_000, &open).unwrap();
    cbor.append_value(1_000, &(1, "late", -2.5)).unwrap();
    cbor.append_value(3_000, "text").unwrap();
    cbor.append(4_000, b"\xa1").unwrap();
    json.append(1_000, br#"{"by": "ann"}"#).unwrap();
    bytes.append(1_000, b"\x00\x01").unwrap();
    for _ in 0..2 {
        let values = "SELECT value FROM door ORDER BY time";
        let expected = [r#"[1,"late",-2.5]"#, r#"{"open":true}"#, r#""text""#, "NULL"];
        assert_eq!(answer(&sql, values), expected);
        let members = "SELECT value->>'open', value[1], json_as_text(value) FROM door \
                       WHERE time < '1970-01-01T00:00:04Z' ORDER BY time";
        let expected =
            ["NULL late [1,\"late\",-2.5]", "true NULL {\"open\":true}", "NULL NULL text"];
        assert_eq!(answer(&sql, members), expected);
        let ranges = plan(&sql, "SELECT value FROM door WHERE time < '1970-01-01T00:00:04Z'");
        assert!(ranges.contains("range=") && !ranges.contains("FilterExec"), "{ranges}");
        assert_eq!(answer(&sql, "SELECT value->>'by' FROM notes"), ["ann"]);
        assert_eq!(answer(&sql, "SELECT value FROM raw"), ["0001"]);
        assert_eq!(
            answer(&sql, "SELECT count(*), min(time) FROM door"),
            ["4 1970-01-01T00:00:01Z"]
        );
        store.flush().unwrap();
    }
    let columns = "SELECT data_type FROM information_schema.columns WHERE table_name IN ('door', 'typed') \
                   ORDER BY table_name, ordinal_position";
    let time = "Timestamp(ms, \"UTC\")";
    assert_eq!(answer(&sql, columns), [time, "Utf8", time, "Float64"]);
}

#[test]
fn values_of_records_are_read_as_json_and_as_cbor() {
    let store = crate::support::memory();
    let topic = Topic::create(&store, "events", &TopicOptions::default()).unwrap();
    let values: [Option<&[u8]>; 4] =
        [Some(br#"{"cents": 5}"#), Some(b"\xa1\x65cents\x07"), Some(b"neither"), None];
    for value in values {
        let record = Record {
            value,
            headers: vec![("source", b"till")],
            timestamp_ns: Some(1_000),
            ..Record::default()
        };
        topic.send(&record, &SendOptions::default()).unwrap();
    }
    let sql = sql(&store);
    for _ in 0..2 {
        let cents = "SELECT value->>'cents' FROM events ORDER BY \"offset\"";
        assert_eq!(answer(&sql, cents), ["5", "7", "NULL", "NULL"]);
        let sum =
            "SELECT sum(json_get_int(value, 'cents')) FROM events WHERE value->>'cents' > '0'";
        assert_eq!(answer(&sql, sum), ["12"]);
        store.flush().unwrap();
    }
}

#[test]
fn a_parameter_is_a_step_of_a_path_and_what_a_value_is_compared_with() {
    let store = crate::support::memory();
    let logs = Logs::create(&store, "app", &LogsOptions::default()).unwrap();
    logs.write_many(&[entry(0), entry(1)], Durability::Written).unwrap();
    let question = "SELECT message FROM app WHERE fields->>$1 = $2";
    let params = Params::from(vec!["rare".into(), "needle in hay".into()]);
    let found =
        sql(&store).query_blocking(question, params).unwrap().collect::<Result<Vec<_>, _>>();
    assert_eq!(lines(&found.unwrap()), ["request 0 to server0"]);
}

#[test]
fn what_is_read_above_an_outer_join_is_not_read_below_it() {
    let store = crate::support::memory();
    let logs = Logs::create(&store, "app", &LogsOptions::default()).unwrap();
    logs.write_many(&[entry(0), entry(1)], Durability::Written).unwrap();
    let joined = "SELECT n, json_contains(fields, 'kind'), fields->>'kind', fields->>'kind' IS NULL \
                  FROM (VALUES (1), (2)) AS v(n) LEFT JOIN app ON json_get_int(app.fields, 'n') = v.n ORDER BY n";
    assert_eq!(answer(&sql(&store), joined), ["1 true identity false", "2 false NULL true"]);
}

#[test]
fn text_that_was_read_is_compared_with_numbers_as_a_number() {
    let sql = sql(&Store::memory(Settings::default()).unwrap());
    for (expression, expected) in [
        ("'{\"n\": 10}'->>'n' > 9", "true"),
        ("'{\"n\": 10}'['n'] = 10", "true"),
        ("'{\"n\": 1.5}'['n'] < 9.5", "true"),
    ] {
        assert_eq!(one(&sql, expression), expected, "{expression}");
    }
}
