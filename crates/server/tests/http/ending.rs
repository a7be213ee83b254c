//! Queries over HTTP end when nobody wants them any more; who looks after the server is heard meanwhile.
//!
//! A cross join or an endless recursion went on for ever when its client had gone, or had been told that
//! it took too long; with a few of them `/health` took 7 to 20 s.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::{Value, json};
use timestrata_engine::{Io, Settings, Store};
use timestrata_logs::{Logs, LogsOptions, NewEntry};

use crate::harness::Harness;
use crate::until::until;

const ENDLESS: [&str; 4] = [
    "SELECT count(*) FROM range(100000) a CROSS JOIN range(1000000000) b",
    "WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT n % 7 FROM r) SELECT max(n) FROM r",
    "SELECT count(*) FROM range(100000) a(x) JOIN range(1000000000) b(y) ON x + y < -1",
    "SELECT a.value FROM range(100000) a CROSS JOIN range(1000000000) b \
     ORDER BY a.value + b.value LIMIT 3",
];
const ROWS_WITHOUT_END: &str = "SELECT a.value FROM range(100000) a CROSS JOIN range(1000000000) b";

fn server(set: &[(&str, &str)]) -> (Store, Harness) {
    let store = Store::memory(Settings::default()).unwrap();
    let server = Harness::on(store.clone(), set, None);
    (store, server)
}

/// Sends a query on a connection of its own, and takes no answer.
fn ask(server: &Harness, query: &str, accept: &str) -> TcpStream {
    let mut socket = TcpStream::connect(server.url.trim_start_matches("http://")).unwrap();
    let body = json!({ "query": query }).to_string();
    let length = body.len();
    write!(
        socket,
        "POST /sql HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
         Accept: {accept}\r\nContent-Length: {length}\r\n\r\n{body}"
    )
    .unwrap();
    socket
}

fn under_way(store: &Store, count: usize) {
    until(|| store.queries().iter().filter(|query| query.steps > 100).count() == count);
}

#[test]
fn a_client_that_goes_before_its_answer_begins_ends_its_query() {
    let (store, server) = server(&[]);
    for query in ENDLESS {
        let socket = ask(&server, query, "application/json");
        under_way(&store, 1);
        drop(socket);
        until(|| store.queries().is_empty());
    }
    assert_eq!(server.sql("SELECT 1 AS x", Value::Null).data(), json!([{ "x": 1 }]));
}

#[test]
fn a_client_that_goes_while_its_answer_comes_ends_its_query() {
    let (store, server) = server(&[]);
    let mut socket = ask(&server, ROWS_WITHOUT_END, "text/csv");
    let mut some = vec![0; 100_000];
    let read = socket.read_exact(&mut some);
    assert!(
        read.is_ok() && some.starts_with(b"HTTP/1.1 200"),
        "{}",
        String::from_utf8_lossy(&some)
    );
    assert_eq!(store.queries().len(), 1);
    drop(socket);
    until(|| store.queries().is_empty());
}

#[test]
fn a_query_is_listed_and_ends_by_its_name() {
    let (store, server) = server(&[]);
    for query in ENDLESS {
        std::thread::scope(|scope| {
            let asked = scope.spawn(|| server.sql(query, Value::Null));
            under_way(&store, 1);
            let mut listed = Value::Null;
            // It may wait for a moment, for its turn.
            until(|| {
                listed = server.get("/queries").data();
                listed[0]["state"] == "running"
            });
            let listed = listed.as_array().unwrap();
            assert_eq!((listed.len(), &listed[0]["query"]), (1, &json!(query)));
            assert_eq!(listed[0]["timeout_ms"], json!(600_000.0));
            let id = listed[0]["id"].as_u64().unwrap();
            let cancelled = server.delete(&format!("/queries/{id}"));
            assert_eq!(cancelled.data()["cancelled"], id);
            let answer = asked.join().unwrap();
            assert!(answer.error(409).contains(&format!("query {id} was cancelled")));
            assert!(answer.headers.iter().all(|(name, _)| name != "retry-after"));
            until(|| store.queries().is_empty());
            assert!(server.delete(&format!("/queries/{id}")).error(404).contains("GET /queries"));
        });
    }
    assert_eq!(server.get("/queries").data(), json!([]));
    assert!(server.delete("/queries/first").error(400).contains("first"));
}

#[test]
fn at_its_limit_of_time_a_query_is_answered_and_ends() {
    let (store, server) = server(&[("limits.query_time_max", "5s")]);
    for query in ENDLESS {
        let body = json!({ "query": query, "timeout": "200ms" }).to_string();
        let answer = server.post("/sql", "application/json", body.as_bytes());
        assert!(answer.error(504).contains("longer than 200 ms"));
        until(|| store.queries().is_empty());
    }
    for timeout in ["6s", "0s", "soon"] {
        let body = json!({ "query": "SELECT 1", "timeout": timeout }).to_string();
        let error = server.post("/sql", "application/json", body.as_bytes()).error(400);
        assert!(error.contains(timeout) && error.contains("limits.query_time_max"), "{error}");
    }
    let (store, short) = self::server(&[("limits.query_time_max", "300ms")]);
    assert!(short.sql(ENDLESS[0], Value::Null).error(504).contains("300 ms"));
    until(|| store.queries().is_empty());
    // Rows that are streamed are no answer before there is one.
    for form in ["application/vnd.apache.arrow.stream", "text/csv"] {
        let (ask, body) = (("accept", form), json!({ "query": ENDLESS[0] }).to_string());
        let answer = short.post_with("/sql", ask, "application/json", body.as_bytes());
        assert!(answer.error(504).contains("300 ms"), "{form}");
        let body = json!({ "query": "SELECT 1 / (value - 1) AS x FROM range(1, 3)" }).to_string();
        let answer = short.post_with("/sql", ask, "application/json", body.as_bytes());
        assert!(answer.error(400).contains("zero"), "{form}: {}", answer.text());
    }
    until(|| store.queries().is_empty());
    // What ends the wait for an answer ends the query too.
    let (store, hasty) = self::server(&[("limits.request_time_max", "300ms")]);
    assert!(hasty.sql(ENDLESS[1], Value::Null).error(504).contains("request_time_max"));
    until(|| store.queries().is_empty());
}

#[test]
fn long_reads_of_logs_and_tables_have_a_limit_of_time_too() {
    let (store, server) = server(&[]);
    let logs = Logs::create(&store, "app", &LogsOptions::default()).unwrap();
    let entries: Vec<_> = (0..200_000).map(|n| NewEntry::new(format!("entry {n}"))).collect();
    logs.write_many(&entries, timestrata_engine::Durability::Written).unwrap();
    for path in [
        "/logs/app/count?filter=/nothing.*like.*this/&timeout=1ms",
        "/logs/app/search?filter=/nothing.*like.*this/&timeout=1ms",
        "/logs/app/histogram?filter=/nothing.*like.*this/&timeout=1ms",
        "/logs/app/facets?timeout=1ms",
    ] {
        assert!(server.get(path).error(504).contains("longer than 1 ms"), "{path}");
    }
    assert_eq!(server.get("/logs/app/count?filter=/y%201.*7$/&timeout=1m").status, 200);
    assert!(server.get("/logs/app/count?timeout=1y").error(400).contains("timeout=1y"));
    until(|| store.queries().is_empty());
}

#[test]
fn whatever_runs_health_is_answered_at_once_and_queries_can_be_ended() {
    let (store, server) = server(&[("limits.requests_max", "8")]);
    let sockets: Vec<_> =
        ENDLESS.iter().chain(&ENDLESS).map(|query| ask(&server, query, "*/*")).collect();
    // Some of them leave no turn to others.
    until(|| store.queries().len() == 8 && store.queries().iter().any(|query| query.steps > 100));
    let clock = Io::os().clock;
    let ask_health = |_| {
        let begun_ns = clock.monotonic_ns();
        assert_eq!(server.get("/health").status, 200);
        Duration::from_nanos(clock.monotonic_ns() - begun_ns)
    };
    // One of them may meet whatever else the machine does.
    let mut took: Vec<_> = (0..50).map(ask_health).collect();
    took.sort();
    assert!(took[took.len() / 2] < Duration::from_secs(1), "{took:?}");
    assert!(server.get("/tables").error(503).contains("requests_max"));
    for query in server.get("/queries").data().as_array().unwrap() {
        server.delete(&format!("/queries/{}", query["id"])).data();
    }
    until(|| store.queries().is_empty());
    until(|| server.get("/tables").status == 200);
    drop(sockets);
}

#[test]
fn an_answer_that_is_still_sent_counts_as_a_request_under_way() {
    let (store, server) = server(&[("limits.requests_max", "1")]);
    let socket = ask(&server, ROWS_WITHOUT_END, "text/csv");
    until(|| store.queries().iter().any(|query| query.state.name() == "waiting"));
    assert_eq!(server.get("/tables").status, 503);
    drop(socket);
    until(|| server.get("/tables").status == 200);
    // The place is given back while the query is still taken apart.
    until(|| store.queries().is_empty());
}

#[test]
fn queries_do_not_keep_the_server_from_stopping() {
    let (store, mut server) = server(&[("server.stop_grace", "200ms")]);
    let _socket = ask(&server, ENDLESS[2], "*/*");
    under_way(&store, 1);
    server.stop().unwrap();
    until(|| store.queries().is_empty());
}
