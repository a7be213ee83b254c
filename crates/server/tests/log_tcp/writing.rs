//! What is written is read as it was sent.

use serde_json::{Value, json};
use timestrata_logs::{Level, Logs, Query};

use crate::harness::{Harness, OK, write};

#[test]
fn answers_are_the_protocols_bytes() {
    let server = Harness::new();
    let mut client = server.connect();
    let empty = r#"{"action":"read","start_ts":0,"end_ts":18446744073709551615}"#;
    assert_eq!(client.raw(empty), "{\"status\":\"ok\",\"data\":[]}\n");
    let line = r#"{"action":"write","source_ts":1700000000123,"message":"disk \"sda\"","metadata":{"level":"error","free":0}}"#;
    assert_eq!(client.raw(line), OK);
    assert_eq!(client.raw(r#"{"message":"b","source_ts":"7","action":"write"}"#), OK);
    let rows = client.raw(empty);
    let timestamps: Vec<u64> = serde_json::from_str::<Value>(&rows).unwrap()["data"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["timestamp"].as_u64().unwrap())
        .collect();
    let expected = format!(
        "{{\"status\":\"ok\",\"data\":[{{\"timestamp\":{},\"source_ts\":1700000000123,\
         \"message\":\"disk \\\"sda\\\"\",\"metadata\":{{\"level\":\"error\",\"free\":0}},\
         \"version\":1}},{{\"timestamp\":{},\"source_ts\":7,\"message\":\"b\",\"metadata\":null,\
         \"version\":1}}]}}\n",
        timestamps[0], timestamps[1]
    );
    assert_eq!(rows, expected);
}

#[test]
fn a_range_includes_both_of_its_ends_and_ascends() {
    let server = Harness::new();
    let mut client = server.connect();
    for index in 0..20 {
        client.write(1_000 - index, &index.to_string());
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
    let all = client.read(0, u64::MAX);
    let at = |index: usize| all[index]["timestamp"].as_u64().unwrap();
    assert!((1..all.len()).all(|index| at(index - 1) < at(index)), "{all:?}");
    assert_eq!(client.read(at(5), at(9)), all[5..=9]);
    assert_eq!(client.read(at(7), at(7)), all[7..=7]);
    assert!(client.read(at(9), at(5)).is_empty());
    assert!(client.read(at(19) + 1, u64::MAX).is_empty());
    let text = format!(r#"{{"action":"read","start_ts":"{}","end_ts":"{}"}}"#, at(0), at(1));
    assert_eq!(client.ask(&text)["data"], json!(all[..2]));
}

#[test]
fn entries_of_the_protocol_are_entries_like_others() {
    let server = Harness::new();
    let mut client = server.connect();
    let line = r#"{"action":"write","source_ts":1700000000123,"message":"full","metadata":{"level":"WARN","free":7,"disk":{"name":"sda"}}}"#;
    assert_eq!(client.raw(line), OK);
    let logs = Logs::open(&server.store, "default").unwrap();
    let found = logs.search(&Query::of("full").unwrap()).unwrap().next().unwrap().unwrap();
    let entry = found.get(0).unwrap();
    assert_eq!(entry.level(), Some(Level::Warn));
    assert_eq!(entry.source_time(), Some(1_700_000_000_123_000_000));
    let field = |name: &str| entry.field(name).unwrap().to_text();
    assert_eq!(
        (field("free"), field("disk.name"), field("level")),
        ("7".into(), "sda".into(), "WARN".into())
    );
}

#[test]
fn fields_that_get_columns_of_their_own_read_the_same() {
    let server = Harness::new();
    let mut client = server.connect();
    let metadata = |index: u64| {
        json!({
            "status": index % 7, "path": format!("/{index}"), "took": 0.5, "cached": index.is_multiple_of(2),
            "level": "info", "odd": if index.is_multiple_of(3) { json!("text") } else { json!(index) },
        })
    };
    let lines: String = (0..6_000)
        .map(|index| {
            let (message, metadata) = (index.to_string(), metadata(index));
            let line = json!({ "action": "write", "source_ts": index, "message": message, "metadata": metadata });
            format!("{line}\n")
        })
        .collect();
    client.send(lines);
    for _ in 0..6_000 {
        assert_eq!(client.line(), OK);
    }
    let logs = Logs::open(&server.store, "default").unwrap();
    assert!(logs.columns().unwrap().contains(&"status".to_owned()));
    for compact in [false, true] {
        if compact {
            logs.flush().unwrap();
            logs.compact().unwrap();
        }
        let rows = client.read(0, u64::MAX);
        assert_eq!(rows.len(), 6_000);
        for (index, row) in (0_u64..).zip(&rows) {
            assert_eq!((&row["source_ts"], &row["metadata"]), (&json!(index), &metadata(index)));
        }
    }
}

#[test]
fn an_answer_longer_than_any_buffer_is_whole() {
    let server = Harness::new();
    let mut client = server.connect();
    let long = "x".repeat(300_000);
    for index in 0..100 {
        client.write(index, &format!("{index} {long}"));
    }
    let messages = client.messages();
    assert_eq!(messages.len(), 100);
    assert!(messages.iter().enumerate().all(|(index, m)| *m == format!("{index} {long}")));
}

#[test]
fn the_longest_message_is_kept_whole_and_what_is_longer_is_refused() {
    let server = Harness::new();
    let mut client = server.connect();
    let longest = "ü".repeat(1 << 19);
    client.write(1, &longest);
    assert_eq!(client.messages(), std::slice::from_ref(&longest));
    let refused = "{\"status\":\"error\",\"errcode\":\"message_too_large\",\"detail\":\
                   {\"max_size\":1048576,\"unit\":\"byte\"}}\n";
    assert_eq!(client.raw(&write(1, &format!("{longest}x"))), refused);
    assert_eq!(client.messages().len(), 1);
}

#[test]
fn a_log_that_was_removed_is_made_again() {
    let server = Harness::new();
    let mut client = server.connect();
    client.write(1, "gone");
    server.store.drop_stream("default").unwrap();
    let answers: Vec<_> = (0..3).map(|index| client.raw(&write(index, "new"))).collect();
    assert_eq!(answers.last().unwrap(), OK, "{answers:?}");
    let taken = answers.iter().filter(|answer| *answer == OK).count();
    assert_eq!(client.messages(), vec!["new"; taken]);
}
