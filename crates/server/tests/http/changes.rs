//! What commits change, over HTTP: of all models, once each, waited for, and by followers with a name.

use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;
use timestrata_engine::{Settings, Store};

use crate::harness::Harness;
use crate::topics::send;
use crate::waits::{answer, ask, waiting};

const ROWS: &str = "time,symbol,price\n2024-05-01T10:00:00Z,AB,1.5\n2024-05-01T10:00:01Z,CD,2.5\n";

/// A store with a log, and a topic in it.
fn served() -> (TempDir, Harness) {
    let dir = tempfile::tempdir().unwrap();
    let settings = Settings { history_min: Duration::from_secs(600), ..Settings::default() };
    let store = Store::open(dir.path().join("store"), settings).unwrap();
    let server = Harness::on(store, &[], None);
    server.json("PUT", "/topics/events", &json!({ "partitions": 1 })).data();
    (dir, server)
}

/// Kind, model, name and number of rows of each change.
fn told(commits: &Value) -> Vec<(u64, String)> {
    let of_commit = |commit: &Value| {
        let seq = commit["seq"].as_u64().unwrap();
        let of_change = |change: &Value| {
            let [kind, model, name] =
                ["kind", "model", "name"].map(|part| change[part].as_str().unwrap().to_owned());
            let rows = change["rows"].as_array().map(Vec::len);
            (seq, format!("{kind} {model} {name} {rows:?}"))
        };
        commit["changes"].as_array().unwrap().iter().map(of_change).collect::<Vec<_>>()
    };
    commits.as_array().unwrap().iter().flat_map(of_commit).collect()
}

#[test]
fn each_commit_is_told_of_once_with_what_it_changed() {
    let (_dir, server) = served();
    let begin = server.get("/changes?since=0").data()["seq"].as_u64().unwrap();
    server.csv("trades", ROWS).data();
    send(&server, "events", &json!({ "key": "k", "value": "v" })).data();
    server.post("/logs/app", "application/json", br#"{"message": "line"}"#).data();
    server.sql("DELETE FROM trades WHERE time >= '2024-05-01T10:00:01Z'", Value::Null).data();
    let found = server.get(&format!("/changes?since={begin}")).data();
    let wanted = [
        (begin + 1, "inserted table trades Some(2)"),
        (begin + 2, "inserted topic events Some(1)"),
        (begin + 3, "inserted logs app Some(1)"),
        (begin + 4, "deleted_range table trades None"),
    ];
    let wanted: Vec<_> = wanted.map(|(seq, text)| (seq, text.to_owned())).into();
    assert_eq!(told(&found["commits"]), wanted);
    assert_eq!(found["seq"], begin + 4);
    let first = &found["commits"][0];
    assert!(first["time"].as_str().unwrap().ends_with('Z'), "{first}");
    assert_eq!(first["changes"][0]["rows"][1]["price"], 2.5);
    assert_eq!(found["commits"][3]["changes"][0]["range"].as_array().unwrap().len(), 2);
    // As little at once as can be, a commit a line.
    let mut since = begin;
    let mut all = Vec::new();
    loop {
        let lines =
            server.get_as(&format!("/changes?since={since}&bytes=1"), "application/x-ndjson");
        let Some(line) = lines.text().lines().next().map(str::to_owned) else { break };
        assert_eq!(lines.text().lines().count(), 1);
        let commit: Value = serde_json::from_str(&line).unwrap();
        since = commit["seq"].as_u64().unwrap();
        all.push(commit);
    }
    assert_eq!(Value::from(all), found["commits"]);
}

#[test]
fn whoever_waits_is_told_of_the_next_commit() {
    let (_dir, server) = served();
    let begin = server.get("/changes?since=0").data()["seq"].as_u64().unwrap();
    let socket = ask(&server, "GET", &format!("/changes?since={begin}&wait=30s"));
    waiting(&server, 1);
    server.csv("trades", ROWS).data();
    let (status, found) = answer(socket);
    assert_eq!((status, &found["seq"]), (200, &json!(begin + 1)));
    waiting(&server, 0);
    let none = server.get(&format!("/changes?since={}&wait=10ms", begin + 1)).data();
    assert_eq!(none, json!({ "commits": [], "seq": begin + 1 }));
}

#[test]
fn a_follower_by_name_goes_on_where_it_was_saved() {
    let (_dir, server) = served();
    server.csv("trades", ROWS).data();
    let last = server.get("/changes?since=0").data()["seq"].as_u64().unwrap();
    assert!(server.get("/changes?name=copy").error(404).contains("PUT /followers"));
    let put = |seq: u64| server.json("PUT", "/followers/copy", &json!({ "seq": seq }));
    assert_eq!(put(0).data(), json!({ "name": "copy", "seq": 0 }));
    let found = server.get("/changes?name=copy").data();
    assert_eq!(found["seq"], last);
    assert_eq!(put(last).data()["seq"], last);
    assert_eq!(put(0).data()["seq"], last, "it never goes back");
    assert!(put(last + 1).error(400).contains("has not been made"));
    assert_eq!(server.get("/followers").data(), json!([{ "name": "copy", "seq": last }]));
    assert_eq!(server.get("/changes?name=copy").data()["commits"], json!([]));
    server.delete("/followers/copy").data();
    assert!(server.delete("/followers/copy").error(404).contains("copy"));
}

#[test]
fn what_can_not_be_told_is_said_so() {
    let (_dir, server) = served();
    assert!(server.get("/changes").error(400).contains("since"));
    assert!(server.get("/changes?since=99").error(400).contains("has not been made"));
    assert!(server.get("/changes?since=0&at=0").error(400).contains("at"));
    let memory = Store::memory(Settings::default()).unwrap();
    let server = Harness::on(memory, &[], None);
    assert!(server.get("/changes?since=0").error(400).contains("in memory"));
}
