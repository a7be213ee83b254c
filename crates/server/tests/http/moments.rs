//! `at=MOMENT`: what reads reads the store as it was.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use timestrata_engine::{Access, Io, Settings, Store};
use timestrata_io::ManualClock;

use crate::harness::{Harness, TRADES};

/// A server over a store with a history, which is given too, and the store's clock: it stands still.
struct Past {
    _dir: tempfile::TempDir,
    clock: Arc<ManualClock>,
    store: Store,
    server: Harness,
}

fn with_history() -> Past {
    keeping(Duration::from_secs(600))
}

fn keeping(history_min: Duration) -> Past {
    let dir = tempfile::tempdir().unwrap();
    let settings = Settings { history_min, ..Settings::default() };
    // 2026-05-01T09:30:00Z
    let clock = Arc::new(ManualClock::new(1_777_627_800_000_000_000));
    let io = Io { clock: clock.clone(), ..Io::os() };
    let path = dir.path().join("store");
    let store = Store::open_with(io, &path, Access::Write, settings).unwrap();
    let server = Harness::on(store.clone(), &[], None);
    Past { _dir: dir, clock, store, server }
}

fn post_log(server: &Harness, line: &str) {
    let body = json!({ "message": line, "level": "info" }).to_string();
    server.post("/logs/app", "application/x-ndjson", body.as_bytes()).data();
}

const GRAPH_BLOCK: &str = "/graphs/g/blocks/00000000000000000000000000000001";
const GRAPH_WALK: &str = "/graphs/g/blocks/00000000000000000000000000000001/walk";
const GRAPH_EDGES: &str = "/graphs/g/blocks/00000000000000000000000000000001/edges";

/// Something of each model that has no words of its own here.
fn post_others(server: &Harness, number: u32) {
    let word = format!("number {number}");
    for path in
        ["/topics/t", "/graphs/g", &format!("/topics/t{number}"), &format!("/graphs/g{number}")]
    {
        server.json("PUT", path, &json!({})).data();
    }
    server.json("POST", "/topics/t/records", &json!({ "value": word })).data();
    server.json("PUT", "/topics/t/groups/g", &json!({ "offset": number })).data();
    server.json("PUT", GRAPH_BLOCK, &json!({ "content": word })).data();
    let edge = json!({
        "source": format!("{:032x}", 1), "kind": word, "target": format!("{:032x}", 100 + number),
    });
    server.json("PUT", "/graphs/g/edges", &edge).data();
    for log in ["l".to_owned(), format!("l{number}")] {
        let entry = json!({ "time": number, "value": word });
        server.json("POST", &format!("/timelogs/{log}/entries"), &entry).data();
    }
}

#[test]
fn every_route_that_reads_reads_the_store_as_it_was() {
    let Past { clock, store, server, _dir } = with_history();
    server.csv("trades", TRADES).data();
    post_log(&server, "first line");
    post_others(&server, 1);
    let seq = store.pin("monday").unwrap();
    clock.advance_ns(2_000_000);
    let sql = json!({ "query": "SELECT count(*) AS n FROM trades" }).to_string();
    let ask = |at: &str| {
        let with = |path: &str| match (at, path.contains('?')) {
            ("", _) => path.to_owned(),
            (at, true) => format!("{path}&at={at}"),
            (at, false) => format!("{path}?at={at}"),
        };
        let paths = [
            "/tables",
            "/tables/trades/count",
            "/tables/trades/schema",
            "/tables/trades/query?order=desc",
            "/tables/trades/query?where=price%20%3E%201&limit=5",
            "/tables/trades/rows/4",
            "/logs",
            "/logs/app/count",
            "/logs/app/search?filter=line",
            "/logs/app/histogram",
            "/logs/app/facets?fields=level",
            "/topics",
            "/topics/t",
            "/topics/t/offsets",
            "/topics/t/records",
            "/topics/t/root",
            "/topics/t/groups",
            "/topics/t/groups/g",
            "/graphs",
            "/graphs/g/count",
            "/graphs/g/blocks",
            GRAPH_BLOCK,
            GRAPH_WALK,
            GRAPH_EDGES,
            "/timelogs",
            "/timelogs/l",
            "/timelogs/l/count",
            "/timelogs/l/entries",
        ];
        let mut answers: Vec<_> = paths.iter().map(|path| server.get(&with(path)).data()).collect();
        answers.push(server.post(&with("/sql"), "application/json", sql.as_bytes()).data());
        answers
    };
    let then = ask("");
    server
        .csv("trades", "timestamp,symbol,price,volume,note\n2024-05-01T11:00:00Z,B,9.5,1,late\n")
        .data();
    server.csv("quotes", TRADES).data();
    post_log(&server, "second line");
    post_others(&server, 2);
    server.post("/logs/other", "application/x-ndjson", b"{\"message\": \"third line\"}").data();
    let now = ask("");
    // Of a pin the columns of tables are those of now.
    for at in [seq.to_string(), "2026-05-01T09:30:00.001Z".to_owned()] {
        for (place, (then, (found, now))) in then.iter().zip(ask(&at).iter().zip(&now)).enumerate()
        {
            assert_eq!(found, then, "{at}, place {place}");
            assert_ne!(found, now, "{at}, place {place}");
        }
    }
    assert_eq!(ask("pin%3Dmonday")[1], json!({ "count": 3 }));
}

#[test]
fn a_moment_is_neither_changed_nor_followed_and_what_is_none_is_refused() {
    let Past { store, server, _dir, .. } = with_history();
    server.csv("trades", TRADES).data();
    post_log(&server, "first line");
    let last = store.stats().last_seq.0;
    let refused = server.post("/tables/trades/ingest?at=1", "text/csv", TRADES.as_bytes());
    assert!(refused.error(400).contains("at: what was can be read"));
    assert!(server.delete("/tables/trades?at=1").error(400).contains("at: what was"));
    assert!(server.get("/logs/app/tail?at=1").error(400).contains("at: what was"));
    for (method, path) in [
        ("PUT", "/topics/t"),
        ("POST", "/topics/t/records"),
        ("POST", "/topics/t/groups/g/members"),
        ("POST", "/topics/t/checkpoint"),
        ("PUT", "/graphs/g"),
        ("POST", "/graphs/g/changes"),
        ("POST", "/timelogs/l/entries"),
        ("DELETE", "/timelogs/l/entries"),
    ] {
        let refused = server.json(method, &format!("{path}?at=1"), &json!({}));
        assert!(refused.error(400).contains("at: what was"), "{method} {path}");
    }
    let write = json!({ "query": "DELETE FROM trades" }).to_string();
    let write = server.post(&format!("/sql?at={last}"), "application/json", write.as_bytes());
    assert!(write.error(403).contains("never changes"), "{}", write.text());
    let count = |at: &str| server.get(&format!("/tables/trades/count?at={at}"));
    assert_eq!(count(&last.to_string()).data(), json!({ "count": 3 }));
    assert!(count("yesterday").error(400).contains("yesterday"));
    assert!(count("1&at=2").error(400).contains("at"));
    assert!(count("2100-01-01").error(400).contains("has not come"));
    assert!(count(&(last + 1).to_string()).error(400).contains("has not been made"));
    assert!(count("pin%3Dmonday").error(404).contains("monday"));
    // Without a history what was is lost.
    let Past { server, _dir, .. } = keeping(Duration::ZERO);
    server.csv("trades", TRADES).data();
    assert!(server.get("/tables/trades/count?at=0").error(410).contains("history_min"));
}
