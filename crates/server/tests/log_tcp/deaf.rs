//! Clients that ask for much and take nothing: 240 of them that read thirty rows of 1 MB held 4.8 GB, and
//! a write waited for 9.6 s.

use std::io::{Read, Write};
use std::time::Duration;

use timestrata_engine::Io;
use timestrata_engine::QueryState;

use crate::harness::{Harness, OK, write};
use crate::until::until;

const READ: &str = "{\"action\":\"read\",\"start_ts\":0,\"end_ts\":18446744073709551615}\n";
const DEAF: usize = 120;

/// Memory that this process has, the server and its clients.
#[expect(clippy::disallowed_methods, reason = "no file of a store")]
fn resident_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").trim().parse::<u64>().unwrap() << 10
}

#[test]
fn clients_that_take_nothing_have_no_rows_kept_for_them_and_hold_up_nobody() {
    let server = Harness::with(&[]);
    let mut client = server.connect();
    let long = "x".repeat(1_000_000);
    for index in 0..30 {
        client.write(index, &long);
    }
    let before = resident_bytes();
    let mut deaf: Vec<_> = (0..DEAF).map(|_| server.connect()).collect();
    for client in &mut deaf {
        client.send(READ);
    }
    // All have been begun with, and wait for who takes nothing.
    until(|| {
        let queries = server.store.queries();
        queries.iter().filter(|q| q.steps > 1 && q.state == QueryState::Waiting).count() == DEAF
    });
    let clock = Io::os().clock;
    let begun_ns = clock.monotonic_ns();
    client.write(31, "in between");
    let took = Duration::from_nanos(clock.monotonic_ns() - begun_ns);
    assert!(took < Duration::from_secs(3), "{took:?}");
    let grown = resident_bytes().saturating_sub(before);
    assert!(grown < 800 << 20, "{} MiB are kept", grown >> 20);
    // Who takes the answer after all gets all of it, as it was when it asked.
    let mut late = deaf.pop().unwrap();
    let rows: serde_json::Value = serde_json::from_str(&late.line()).unwrap();
    let rows = rows["data"].as_array().unwrap();
    assert_eq!(rows.len(), 30);
    assert!(rows.iter().all(|row| row["message"] == long.as_str()));
    // They are listed, and end by name.
    for query in server.store.queries() {
        assert!(server.store.cancel_query(query.id));
    }
    drop(deaf);
    until(|| server.store.queries().is_empty());
}

#[test]
fn where_places_are_needed_a_client_that_takes_nothing_loses_its_own() {
    let set = [("logs.tcp_clients_max", "2"), ("logs.tcp_idle_grace", "200ms")];
    let server = Harness::with(&set);
    let mut client = server.connect();
    let long = "x".repeat(1_000_000);
    for index in 0..30 {
        client.write(index, &long);
    }
    let mut deaf = server.connect();
    deaf.send(READ);
    until(|| server.store.queries().iter().any(|q| q.state == QueryState::Waiting && q.steps > 1));
    // The one that is busy keeps its place.
    until(|| {
        client.write(40, "busy");
        // Where there is no place yet, its connection may be cut.
        let mut other = server.connect();
        let _ = other.socket.write_all(format!("{}\n", write(1, "new")).as_bytes());
        let mut answer = [0; OK.len()];
        other.socket.read_exact(&mut answer).is_ok() && answer == OK.as_bytes()
    });
    let mut rest = Vec::new();
    let taken = deaf.socket.read_to_end(&mut rest);
    assert!(taken.is_err() || !rest.ends_with(b"]}\n"), "it was given all of its answer");
    client.write(41, "still here");
}

/// A page in a browser could write to the log by sending lines in the body of a request.
#[test]
fn a_client_that_speaks_http_is_sent_away() {
    let server = Harness::new();
    let mut page = server.connect();
    let line = "{\"action\":\"write\",\"source_ts\":1,\"message\":\"from a page\"}\n";
    let request = format!("POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 60\r\n\r\n{line}");
    page.socket.write_all(request.as_bytes()).unwrap();
    assert_eq!(page.rest(), "");
    assert!(server.connect().messages().is_empty());
}
