//! The store as a whole: what it holds, and purging it.

use serde_json::{Value, json};
use tempfile::TempDir;
use timestrata_engine::{SeqNo, Settings, Store};

use crate::harness::{Harness, TRADES};
use crate::until::until;

/// A store with a table, a log and a topic.
fn served() -> (TempDir, Store, Harness) {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path().join("store"), Settings::default()).unwrap();
    let server = Harness::on(store.clone(), &[], None);
    server.csv("trades", TRADES).data();
    server.post("/logs/app", "text/plain", b"first\nsecond\nthird\n").data();
    server.json("PUT", "/topics/events", &json!({ "partitions": 2 })).data();
    server
        .json("POST", "/topics/events/records", &json!([{ "value": "a" }, { "value": "b" }]))
        .data();
    (dir, store, server)
}

#[test]
fn what_the_store_holds_is_told_and_of_one_stream_what_its_columns_take() {
    let (_dir, store, server) = served();
    let info = server.get("/info").data();
    let streams = info["streams"].as_array().unwrap();
    let of = |stream: &Value| (stream["name"].clone(), stream["rows"].clone());
    let told: Vec<_> = streams.iter().map(of).collect();
    let expected = [("app", 3), ("events", 2), ("trades", 3)];
    assert_eq!(told, expected.map(|(name, rows)| (json!(name), json!(rows))));
    assert_eq!(info["last_seq"], store.stats().last_seq.0);
    assert_eq!(streams[2]["first"], "2024-05-01T10:00:00Z");
    // Where on the server's disk it is, is nobody's business.
    assert!(!server.get("/info").text().contains(store.path().unwrap().to_str().unwrap()));
    let one = server.get("/info?name=trades").data();
    let columns = one["streams"][0]["columns"].as_array().unwrap();
    assert!(columns.iter().any(|column| column["name"] == "price" && column["type"] == "Float64"));
    assert_eq!(one["streams"].as_array().unwrap().len(), 1);
    let then = server.get("/info?at=1").data();
    assert!(then["streams"].as_array().unwrap().len() < 3, "{then}");
    assert!(server.get("/info?name=none").error(404).contains("no stream 'none'"));
}

#[test]
fn a_purge_erases_what_was_deleted_and_names_who_prevents_it() {
    let (_dir, store, server) = served();
    let purge = |names: &Value| server.json("POST", "/purge", names);
    let deleted = server.delete("/logs/app/entries?from=1970-01-01").data();
    assert_eq!(deleted["entries"], 3);
    store.flush().unwrap();
    store.pin("monday").unwrap();
    let mut feed = store.follow("index", Some(SeqNo(0))).unwrap();
    let refused = purge(&json!({})).error(409);
    assert!(
        refused.contains("follower 'index'") && refused.contains("save its place"),
        "{refused}"
    );
    while !feed.poll(1 << 20).unwrap().is_empty() {}
    feed.save(feed.last_seq()).unwrap();
    server.sql("DELETE FROM trades", Value::Null).data();
    while !feed.poll(1 << 20).unwrap().is_empty() {}
    feed.save(feed.last_seq()).unwrap();
    let refused = purge(&json!({ "names": ["trades"] })).error(409);
    assert!(refused.contains("'monday'") && refused.contains("remove these pins"), "{refused}");
    store.unpin("monday").unwrap();
    let purged = purge(&json!({ "names": ["trades", "app"] })).data();
    assert_eq!(
        (&purged["seq"], &purged["still_read"]),
        (&json!(store.stats().last_seq.0), &json!(0))
    );
    assert!(purged["files"].as_u64() > Some(0), "{purged}");
    assert_eq!(server.get("/logs/app/count").data()["count"], 0);
    assert_eq!(server.get("/topics/events").data()["offsets"].as_array().unwrap().len(), 2);
    assert!(purge(&json!({ "names": ["none"] })).error(404).contains("'none'"));
    assert!(purge(&json!({ "names": ["events/0"] })).error(400).contains("topic 'events'"));
    assert!(purge(&json!({ "names": "trades" })).error(400).contains("list"));
}

/// One who reads the past keeps a purge waiting for as long.
#[test]
fn a_purge_that_waits_is_on_the_list_and_ends_when_it_is_told_to() {
    let (_dir, store, server) = served();
    server.delete("/logs/app/entries?from=1970-01-01").data();
    let past = store.at(&timestrata_engine::Moment::Commit(store.stats().last_seq)).unwrap();
    let ended = std::thread::scope(|scope| {
        let purge = scope.spawn(|| server.json("POST", "/purge", &json!({ "names": ["app"] })));
        let mut is_ended = false;
        until(|| {
            let queries = store.queries();
            let id = queries.iter().find(|query| query.text == r#"POST /purge ["app"]"#);
            is_ended |= id.is_some_and(|query| store.cancel_query(query.id));
            is_ended || purge.is_finished()
        });
        purge.join().unwrap()
    });
    // It had ended by itself, or was ended.
    assert!([200, 409, 503].contains(&ended.status), "{}", ended.text());
    drop(past);
    server.json("POST", "/purge", &json!({})).data();
    assert!(store.queries().is_empty());
}
