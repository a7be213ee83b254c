//! Time logs: entries of every codec in and out, ranges, and what is refused.

use arrow_schema::{DataType, Field};
use serde_json::{Value, json};
use timestrata_engine::{Settings, Store};
use timestrata_timelog::{Codec, Timelog, TimelogOptions, Unit, ValueColumns};

use crate::harness::Harness;
use crate::tail::Follower;

const LINES: &str = "application/x-ndjson";

fn append(server: &Harness, log: &str, entries: &Value) -> Value {
    server.json("POST", &format!("/timelogs/{log}/entries"), entries).data()
}

fn entries(server: &Harness, log: &str, query: &str) -> Value {
    server.get(&format!("/timelogs/{log}/entries{query}")).data()
}

#[test]
fn a_time_log_is_made_described_and_removed() {
    let server = Harness::new();
    let made = server.json("PUT", "/timelogs/door", &json!({ "unit": "us" })).data();
    let expected = json!({
        "name": "door", "codec": "cbor", "unit": "us", "first_time": null, "last_time": null,
        "min_ts": null, "retention_age": null, "retention_bytes": null,
    });
    assert_eq!(made, expected);
    assert_eq!(server.json("PUT", "/timelogs/door", &json!({ "unit": "us" })).data(), expected);
    assert_eq!(server.json("PUT", "/timelogs/door", &json!({ "unit": "s" })).status, 409);
    let pickle = server.json("PUT", "/timelogs/x", &json!({ "codec": "pickle" }));
    assert!(pickle.error(400).contains("cbor or json or bytes"));
    assert_eq!(server.get("/timelogs").data(), json!(["door"]));
    server.csv("t", crate::harness::TRADES).data();
    assert!(server.delete("/timelogs/t").error(400).contains("'t'"));
    assert_eq!(server.delete("/timelogs/door").data(), json!({ "dropped": "door" }));
    assert!(server.get("/timelogs/door").error(404).contains("door"));
}

#[test]
fn entries_are_followed_as_events_each_with_the_place_behind_it() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path().join("store"), Settings::default()).unwrap();
    let server = Harness::on(store, &[], None);
    append(&server, "door", &json!([{ "time": 5, "value": "old" }]));
    let mut follower = Follower::of(&server, "/timelogs/door/tail", "");
    let head = follower.head();
    assert!(head.starts_with("http/1.1 200") && head.contains("text/event-stream"), "{head}");
    // The comment at the beginning says that it is followed from here on.
    while follower.line().unwrap() != ":" {}
    append(&server, "door", &json!([{ "time": 7, "value": [1] }, { "time": 1, "value": "late" }]));
    append(&server, "door", &json!([{ "time": 7, "value": { "a": null } }]));
    let (place, first) = follower.event::<String>().unwrap();
    assert_eq!(first, json!({ "time": 7, "value": [1] }));
    let second = json!({ "time": 7, "value": { "a": null } });
    assert_eq!(follower.event::<String>().unwrap().1, second);
    // Where a browser comes back, the header counts, and not the address of its first time.
    let header = format!("Last-Event-ID: {place}\r\n");
    let mut again = Follower::of(&server, "/timelogs/door/tail?since=0", &header);
    assert_eq!(again.event::<String>().unwrap().1, second);
    let mut late =
        Follower::of(&server, "/timelogs/door/tail?since=6&late=true&values=encoded", "");
    let encoded = |value: &str| json!({ "time": 7, "encoded": value });
    assert_eq!(late.event::<String>().unwrap().1, encoded("gQE="));
    late.event::<String>().unwrap();
    append(&server, "door", &json!([{ "time": 2, "value": "later" }]));
    assert_eq!(late.event::<String>().unwrap().1["time"], 2);
    server.delete("/timelogs/door").data();
    assert!(late.event::<String>().is_none(), "whoever removes a log ends what follows it");
}

#[test]
fn one_look_at_what_has_come_ends_with_the_place_behind_which_to_ask_on() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path().join("store"), Settings::default()).unwrap();
    let server = Harness::on(store, &[("limits.tails_max", "1")], None);
    append(&server, "door", &json!([{ "time": 5, "value": "old" }]));
    let look = |query: &str| -> Vec<Value> {
        let answer = server.get_as(&format!("/timelogs/door/tail?{query}"), LINES);
        answer.text().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    };
    let place = |lines: &[Value]| lines.last().unwrap()["cursor"].as_str().unwrap().to_owned();
    let begin = look("wait=0s");
    assert_eq!(begin.len(), 1);
    append(&server, "door", &json!([{ "time": 6, "value": "a" }, { "time": 6, "value": "b" }]));
    let found = look(&format!("after={}", place(&begin)));
    assert_eq!([&found[0]["value"], &found[1]["value"]], ["a", "b"]);
    assert_eq!(found[1]["cursor"], found[2]["cursor"]);
    let behind = look(&format!("after={}", found[0]["cursor"].as_str().unwrap()));
    assert_eq!((&behind[0]["value"], behind.len()), (&"b".into(), 2));
    assert_eq!(look(&format!("after={}&wait=0s", place(&found))).len(), 1);
    for wrong in ["after=x", "late=maybe", "wait=1h", "since=5&after=t.5.1.1", "at=1"] {
        server.get(&format!("/timelogs/door/tail?{wrong}")).error(400);
    }
    server.get("/timelogs/none/tail").error(404);
    let _follower = Follower::of(&server, "/timelogs/door/tail", "").head();
    server.get_as("/timelogs/door/tail", "image/png").error(406);
}

#[test]
fn entries_come_back_by_time_whatever_their_codec() {
    let server = Harness::new();
    let values = json!([null, true, 7, -1.5, "text", [1, "two"], { "a": { "b": null } }]);
    for codec in ["cbor", "json"] {
        server.json("PUT", &format!("/timelogs/{codec}"), &json!({ "codec": codec })).data();
        let list: Vec<Value> = (values.as_array().unwrap().iter().enumerate())
            .map(|(n, value)| json!({ "time": n, "value": value }))
            .collect();
        assert_eq!(append(&server, codec, &list.clone().into()), json!({ "entries": 7 }));
        assert_eq!(entries(&server, codec, ""), json!(list), "{codec}");
        let lines = server.get_as(&format!("/timelogs/{codec}/entries?limit=2"), LINES);
        assert_eq!(lines.text(), "{\"time\":0,\"value\":null}\n{\"time\":1,\"value\":true}\n");
        // Lines come in as they went out.
        server.post(&format!("/timelogs/{codec}/entries"), LINES, &lines.body).data();
        assert_eq!(server.get(&format!("/timelogs/{codec}/count")).data(), json!({ "count": 9 }));
    }
    server.json("PUT", "/timelogs/bytes", &json!({ "codec": "bytes" })).data();
    let of_bytes =
        json!([{ "time": 1, "value": "a" }, { "time": 2, "value": { "base64": "/w==" } }]);
    append(&server, "bytes", &of_bytes);
    assert_eq!(entries(&server, "bytes", ""), of_bytes);
    // One that isn't there is made, and a time that isn't said is now.
    append(&server, "new", &json!({ "value": 1 }));
    let described = server.get("/timelogs/new").data();
    assert_eq!((&described["codec"], &described["unit"]), (&json!("cbor"), &json!("ms")));
    assert!(described["first_time"].as_i64().unwrap() > 1_700_000_000_000);
}

#[test]
fn ranges_orders_and_limits_pick_entries() {
    let server = Harness::new();
    let list: Vec<Value> = (0..2_000).map(|n| json!({ "time": n * 1_000, "value": n })).collect();
    append(&server, "log", &list.into());
    let found = |query: &str| {
        let found = entries(&server, "log", query);
        let list = found.as_array().unwrap();
        let value = |entry: Option<&Value>| entry.map_or(-1, |e| e["value"].as_i64().unwrap());
        (list.len(), value(list.first()), value(list.last()))
    };
    assert_eq!(found(""), (1_000, 0, 999));
    assert_eq!(found("?limit=none"), (2_000, 0, 1_999));
    assert_eq!(found("?order=desc&limit=2"), (2, 1_999, 1_998));
    assert_eq!(found("?from=10000&to=12000"), (2, 10, 11));
    assert_eq!(found("?from=1970-01-01T00:10:00Z&to=1970-01-01T00:10:02Z"), (2, 600, 601));
    assert_eq!(server.get("/timelogs/log/count?from=5000").data(), json!({ "count": 1_995 }));
    for (query, word) in [
        ("?from=soon", "from: \"soon\" is no time"),
        ("?from=2&to=1", "ends before it begins"),
        ("?order=up", "asc or desc"),
        ("?limit=few", "limit=few"),
    ] {
        let error = server.get(&format!("/timelogs/log/entries{query}")).error(400);
        assert!(error.contains(word), "{error}");
    }
    // A range goes in one commit, all of them by no mistake.
    assert!(server.delete("/timelogs/log/entries").error(400).contains("from or to"));
    server.delete("/timelogs/log/entries?to=1000000").data();
    assert_eq!(found("?limit=1"), (1, 1_000, 1_000));
    let described = server.get("/timelogs/log").data();
    assert_eq!(
        (&described["first_time"], &described["last_time"]),
        (&json!(1_000_000), &json!(1_999_000))
    );
}

#[test]
fn what_is_no_entry_is_refused_with_its_line_and_nothing_is_appended() {
    let server = Harness::new();
    server.json("PUT", "/timelogs/log", &json!({})).data();
    server.json("PUT", "/timelogs/bytes", &json!({ "codec": "bytes" })).data();
    for (log, body, word) in [
        ("log", "{\"time\":1,\"value\":1}\n{\"time\":2}", "line 2: it has no 'value'"),
        ("log", "{\"time\":\"soon\",\"value\":1}", "line 1: time must be"),
        ("log", "{\"time\":1,\"value\":1,\"valeu\":2}", "no 'valeu'"),
        ("log", "[1]", "line 1: it is no JSON object"),
        ("bytes", "{\"value\":1}", "text or {\"base64\""),
    ] {
        let path = format!("/timelogs/{log}/entries");
        let error = server.post(&path, LINES, body.as_bytes()).error(400);
        assert!(error.contains(word), "{error}");
    }
    assert_eq!(server.post("/timelogs/log/entries", "text/csv", b"a").status, 415);
    assert_eq!(server.get("/timelogs/log/count").data(), json!({ "count": 0 }));
}

#[test]
fn typed_logs_and_those_that_only_python_reads() {
    let store = Store::memory(Settings::default()).unwrap();
    let fields = [
        Field::new("price", DataType::Float64, true),
        Field::new("shares", DataType::Int64, true),
        Field::new("raw", DataType::Binary, true),
    ];
    let record = TimelogOptions::typed(ValueColumns::record(fields).unwrap());
    Timelog::create(&store, "trades", record).unwrap();
    let scalar = TimelogOptions::typed(ValueColumns::scalar(DataType::Float64).unwrap());
    Timelog::create(&store, "celsius", scalar).unwrap();
    let pickle = TimelogOptions { codec: Codec::Pickle, unit: Unit::Milli, ..Default::default() };
    Timelog::create(&store, "objects", pickle).unwrap();
    let server = Harness::on(store, &[], None);
    let trades = json!([
        { "time": 1, "value": { "price": 7.5, "shares": 100, "raw": { "base64": "/w==" } } },
        { "time": 2, "value": { "price": 8.0, "shares": null, "raw": "text" } },
    ]);
    append(&server, "trades", &trades);
    assert_eq!(entries(&server, "trades", ""), trades);
    append(&server, "celsius", &json!([{ "time": 1, "value": 19 }, { "time": 2, "value": null }]));
    let celsius = json!([{ "time": 1, "value": 19.0 }, { "time": 2, "value": null }]);
    assert_eq!(entries(&server, "celsius", ""), celsius);
    for value in [json!({ "prize": 1 }), json!(5), json!({ "shares": "many" })] {
        let body = json!({ "time": 3, "value": value });
        let refused = server.json("POST", "/timelogs/trades/entries", &body);
        assert_eq!(refused.status, 400, "{value}: {}", refused.text());
    }
    assert!(server.get("/timelogs/objects/entries").error(400).contains("pickle"));
    let body = json!({ "value": 1 });
    assert!(server.json("POST", "/timelogs/objects/entries", &body).error(400).contains("pickle"));
}

#[test]
fn encoded_values_are_the_bytes_that_the_codec_writes() {
    let server = Harness::new();
    // In CBOR: bytes, a number of more than 64 bits, not a number, a map by numbers, null.
    let values = ["Qf8=", "wkkBAAAAAAAAAAA=", "+X4A", "oQFBAA==", "9g=="];
    let sent: Vec<Value> = values
        .iter()
        .enumerate()
        .map(|(time, value)| json!({ "time": time, "encoded": value }))
        .collect();
    append(&server, "log", &json!(sent));
    assert_eq!(entries(&server, "log", "?values=encoded"), json!(sent));
    server.json("PUT", "/timelogs/json", &json!({ "codec": "json" })).data();
    append(&server, "json", &json!([{ "time": 1, "encoded": "WzEsIDJd" }]));
    assert_eq!(entries(&server, "json", ""), json!([{ "time": 1, "value": [1, 2] }]));
    server.json("PUT", "/timelogs/bytes", &json!({ "codec": "bytes" })).data();
    append(&server, "bytes", &json!([{ "time": 1, "encoded": "/wA=" }]));
    let bytes = json!([{ "time": 1, "value": { "base64": "/wA=" } }]);
    assert_eq!(entries(&server, "bytes", ""), bytes);
    for (log, entry, word) in [
        ("log", json!({ "encoded": "9gA=" }), "something follows"),
        ("log", json!({ "encoded": "Yv8=" }), "encoded is no cbor"),
        ("log", json!({ "encoded": "??" }), "must be base64"),
        ("log", json!({ "encoded": 7 }), "must be base64"),
        ("log", json!({ "encoded": "9g==", "value": 1 }), "both 'value' and 'encoded'"),
        ("json", json!({ "encoded": "ezE=" }), "encoded is no json"),
    ] {
        let path = format!("/timelogs/{log}/entries");
        let error = server.json("POST", &path, &entry).error(400);
        assert!(error.contains(word), "{entry}: {error}");
    }
    assert!(server.get("/timelogs/log/entries?values=raw").error(400).contains("values"));
}
