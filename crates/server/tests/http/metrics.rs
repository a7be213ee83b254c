//! The figures at `/metrics`: the reference has each of them, and they tell what happens.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::json;
use timestrata_engine::{Settings, Store};

use crate::harness::{Harness, TRADES};
use crate::until::until;

const REFERENCE: &str = include_str!("../../../../docs/reference/metrics.md");

/// Of each figure, by the name that its samples have: its type, and what is said of it.
fn described(text: &str) -> BTreeMap<String, (String, String)> {
    let mut helps: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    let mut figures = BTreeMap::new();
    for line in text.lines() {
        if let Some((name, help)) =
            line.strip_prefix("# HELP ").and_then(|rest| rest.split_once(' '))
        {
            helps.entry(name).or_default().push(help);
        }
        if let Some((name, kind)) =
            line.strip_prefix("# TYPE ").and_then(|rest| rest.split_once(' '))
        {
            let help = helps.get(name).unwrap_or_else(|| panic!("{name} has no HELP"));
            assert_eq!(help.len(), 1, "{name} has several HELPs");
            let sample = if kind == "counter" { format!("{name}_total") } else { name.to_owned() };
            let before = figures.insert(sample, (kind.to_owned(), help[0].to_owned()));
            assert!(before.is_none(), "{name} is there twice");
        }
    }
    figures
}

#[test]
fn the_reference_has_each_figure_as_the_server_describes_it() {
    let server = Harness::new();
    server.csv("t", TRADES).data();
    let figures = described(server.get("/metrics").text());
    assert!(figures.len() > 40, "{}", figures.len());
    let lines: Vec<String> = figures
        .iter()
        .map(|(name, (kind, help))| {
            format!("| `{name}` | {kind} | {} |", help.trim_end_matches('.'))
        })
        .collect();
    let told: Vec<&str> =
        REFERENCE.lines().filter(|line| line.starts_with("| `timestrata_")).collect();
    assert_eq!(told, lines, "docs/reference/metrics.md should have\n{}", lines.join("\n"));
    for name in figures.keys() {
        let plain = |sign: char| sign.is_ascii_lowercase() || sign.is_ascii_digit() || sign == '_';
        assert!(name.starts_with("timestrata_") && name.chars().all(plain), "{name}");
    }
}

#[test]
fn figures_of_the_store_move_with_it() {
    let dir = tempfile::tempdir().unwrap();
    let settings = Settings { history_min: Duration::from_secs(3_600), ..Settings::default() };
    let store = Store::open(dir.path(), settings).unwrap();
    let server = Harness::on(store.clone(), &[], None);
    let metric = |name: &str| server.metric(&format!("timestrata_{name}"));
    let syncs = metric("wal_syncs_total");
    server.csv("t", TRADES).data();
    assert!(metric("wal_syncs_total") > syncs && metric("wal_sync_waits_total") > 0);
    // A table is made of several streams.
    assert!(metric("memtable_rows") >= 3 && metric("unsynced_commits") == 0);
    assert!(metric("wal_bytes") > 0 && metric("memtable_bytes") > 0);
    server.json("PUT", "/followers/index", &json!({})).data();
    store.flush().unwrap();
    assert!(metric("flushes_total") > 0 && metric("memtable_rows") == 0);
    assert!(metric("flushed_bytes_total") > 0 && metric("run_bytes") > 0);
    assert!(metric("runs{level=\"0\"}") > 0 && metric("run_rows") >= 3);
    server.csv("t", TRADES).data();
    assert_eq!((metric("followers"), metric("follower_lag_commits")), (1, 1));
    store.pin("monday").unwrap();
    assert_eq!((metric("pins"), metric("poisoned"), metric("commit_stalls_total")), (1, 0, 0));
}

/// A client that went while its request was answered was under way for ever.
#[test]
fn connections_and_requests_are_counted_and_those_that_are_gone_are_not_under_way() {
    let server = Harness::new();
    server.json("PUT", "/topics/t", &json!({})).data();
    let metric = |name: &str| server.metric(&format!("timestrata_{name}"));
    // The one that asks.
    assert_eq!(metric("http_requests_under_way"), 1);
    let before = metric("connections_open");
    let mut client = TcpStream::connect(server.url.trim_start_matches("http://")).unwrap();
    client
        .write_all(b"GET /topics/t/records?wait=50s HTTP/1.1\r\nHost: localhost\r\n\r\n")
        .unwrap();
    until(|| metric("http_requests_under_way") == 2 && metric("topic_waits") == 1);
    assert_eq!(metric("connections_open"), before + 1);
    drop(client);
    until(|| metric("http_requests_under_way") == 1 && metric("connections_open") == before);
    let gone = "timestrata_http_requests_total{method=\"GET\",route=\"/topics/{topic}/records\",\
                status=\"499\"} 1";
    assert!(server.get("/metrics").text().contains(gone));
    assert!(metric("connections_total") >= 2);
}

/// Each word that a client makes up for a method was a label of its own.
#[test]
fn what_clients_make_up_is_one_label() {
    let server = Harness::new();
    for number in 0..20 {
        let mut client = TcpStream::connect(server.url.trim_start_matches("http://")).unwrap();
        let head = format!(
            "WORD{number} /path{number} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
        );
        client.write_all(head.as_bytes()).unwrap();
        client.read_to_end(&mut Vec::new()).unwrap();
    }
    let text = server.get("/metrics").text().to_owned();
    assert!(!text.contains("WORD") && !text.contains("/path"), "{text}");
    let all = "timestrata_http_requests_total{method=\"other\",route=\"none\",status=\"404\"} 20";
    assert!(text.contains(all), "{text}");
}
