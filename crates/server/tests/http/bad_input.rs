//! What is wrong is a 4xx that says what, and leaves nothing.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};

use proptest::prelude::*;
use serde_json::{Value, json};

use crate::harness::{Harness, TRADES};

#[test]
fn statuses_say_whose_fault_it_is() {
    let server = Harness::new();
    server.csv("t", TRADES).data();
    assert!(server.get("/tables/none/query").error(404).contains("no table 'none'"));
    assert!(server.get("/tables/none/count").error(404).contains("none"));
    assert!(server.get("/nowhere").error(404).contains("nothing at this path"));
    assert!(server.delete("/tables/t/query").error(405).contains("other methods"));
    let kind = server.post("/tables/t/ingest", "image/png", b"x").error(415);
    assert!(kind.contains("image/png") && kind.contains("text/csv"), "{kind}");
    let cases = [
        ("?start=yesterday", "\"yesterday\" is no time"),
        ("?start=2024-05-02&end=2024-05-01", "ends before it begins"),
        ("?limit=lots", "limit=lots"),
        ("?columns=prize", "no column 'prize'"),
        ("?where=price%20%3E", "is not a condition"),
        ("?where=1%3D1)%20OR%20(1%3D1%3B%20DROP%20TABLE%20t", "is not a condition"),
        ("?where=prize%20%3E%201", "prize"),
        ("?order=price%20SIDEWAYS", "is not an order"),
    ];
    for (query, word) in cases {
        let error = server.get(&format!("/tables/t/query{query}")).error(400);
        assert!(error.contains(word), "{query}: {error}");
    }
    for (query, word) in [
        ("?limmit=5", "limmit"),
        ("?offset=x", "offset"),
        ("?end_inclusive=perhaps", "end_inclusive"),
    ] {
        let error = server.get(&format!("/tables/t/query{query}")).error(400);
        assert!(error.contains(word), "{error}");
    }
    let error = server.post("/tables/t/ingest?hedder=true", "text/csv", b"").error(400);
    assert!(error.contains("hedder"), "{error}");
    assert!(server.get("/tables/t/rows/abc").error(400).contains("\"abc\" is no UInt64"));
    for (query, word) in [
        ("SELEKT 1", "SELEKT"),
        ("SELECT * FROM none", "no table 'none'"),
        ("SELECT 1; SELECT 2", "more than one statement"),
        ("COPY t TO '/tmp/x'", "not supported"),
        ("CREATE EXTERNAL TABLE x STORED AS CSV LOCATION '/etc/passwd'", "not supported"),
    ] {
        let answer = server.sql(query, Value::Null);
        assert!((400..500).contains(&answer.status), "{query}");
        let error = answer.error(answer.status);
        assert!(error.contains(word), "{query}: {error}");
    }
    server.post("/sql", "application/json", b"{").error(400);
    let unknown = server.post("/sql", "application/json", b"{\"query\":\"SELECT 1\",\"parms\":[]}");
    let error = unknown.error(400);
    assert!(error.contains("`parms`") && error.contains("`params`"), "{error}");
    let error = server.post("/sql", "text/plain", b"SELECT 1").error(415);
    assert!(error.contains("application/json") && error.contains("application/sql"), "{error}");
    // Nothing was to be written.
    let error = server.sql("SELECT 1 / (price - price)::INT FROM t", Value::Null).error(400);
    assert!(error.contains("ivide by zero") && !error.contains("commit"), "{error}");
    assert_eq!(server.get("/tables/t/count").data(), json!({ "count": 3 }));
}

#[test]
fn names_of_tables_are_words_not_paths() {
    let server = Harness::new();
    for (name, written) in
        [("a/b", "a%2Fb"), ("../x", "..%2Fx"), ("q\"'", "q%22%27"), ("a.b", "a.b")]
    {
        server.csv(written, TRADES).data();
        assert!(server.get("/tables").data().as_array().unwrap().contains(&json!(name)));
        assert_eq!(server.get(&format!("/tables/{written}/count")).data()["count"], 3);
        let rows = server.get(&format!("/tables/{written}/query?where=price%20%3E%203")).data();
        assert_eq!(rows.as_array().unwrap().len(), 1);
    }
    let long = "x".repeat(10_000);
    assert!(server.csv(&long, TRADES).error(400).contains("255 bytes"));
    assert!(server.csv("__mine", TRADES).error(400).contains("two underscores"));
}

#[test]
fn bodies_cut_anywhere_or_made_of_anything_are_refused_or_whole() {
    let server = Harness::new();
    server.csv("t", TRADES).data();
    let kinds =
        ["application/vnd.apache.arrow.stream", "application/x-protobuf", "application/x-ndjson"];
    for kind in kinds {
        let whole = match kind {
            "application/x-ndjson" => b"{\"timestamp\":\"2024-01-01T00:00:00Z\",\"x\":1}".to_vec(),
            kind => server.get_as("/tables/t/query", kind).body,
        };
        for end in (0..whole.len()).step_by(7) {
            let answer = server.post("/tables/cut/ingest", kind, &whole[..end]);
            assert!(answer.status < 500, "{kind}, {end} bytes: {}", answer.text());
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn no_body_is_the_servers_fault(
        body in prop::collection::vec(any::<u8>(), 0..400),
        kind in prop::sample::select(vec![
            "text/csv", "application/x-ndjson", "application/vnd.apache.arrow.stream",
            "application/x-protobuf", "application/vnd.apache.parquet", "application/json",
        ]),
    ) {
        thread_local!(static SERVER: Harness = Harness::new());
        SERVER.with(|server| {
            let answer = server.post("/tables/t/ingest", kind, &body);
            assert!(answer.status < 500, "{kind}: {}", answer.text());
        });
    }
}

/// What is sent on a connection of its own, which ends behind it; all that comes back.
fn told(server: &Harness, sent: &str) -> String {
    let mut socket = TcpStream::connect(server.url.trim_start_matches("http://")).unwrap();
    socket.write_all(sent.as_bytes()).unwrap();
    socket.shutdown(Shutdown::Write).unwrap();
    let mut told = String::new();
    socket.read_to_string(&mut told).unwrap();
    told
}

/// They were a fault of the server's, whose store was to be opened anew.
#[test]
fn bodies_that_end_early_or_are_framed_wrongly_are_the_clients_mistake() {
    let server = Harness::new();
    server.csv("t", TRADES).data();
    for (path, kind) in [("/tables/t/ingest", "text/csv"), ("/logs/app", "text/plain")] {
        let head = format!("POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: {kind}\r\n");
        let cut = format!("{head}Content-Length: 2000000\r\n\r\n{TRADES}");
        let short = format!("{head}Content-Length: 5000\r\n\r\n{TRADES}");
        let chunked = format!("{head}Transfer-Encoding: chunked\r\n\r\n");
        let bad_chunk = format!("{chunked}8\r\ntimestam\r\nnonsense\r\n\r\n");
        for sent in [cut, short, bad_chunk] {
            let told = told(&server, &sent);
            assert!(told.starts_with("HTTP/1.1 400"), "{sent}: {told}");
            assert!(
                told.contains("the body ended early, or is not framed as its head says"),
                "{told}"
            );
            assert!(told.contains("send it again") && !told.contains("reopen"), "{told}");
        }
    }
    let packed = server.post_with(
        "/tables/t/ingest",
        ("content-encoding", "gzip"),
        "text/csv",
        b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\x2b",
    );
    assert!(!packed.error(400).contains("reopen"));
    assert_eq!(server.get("/tables/t/count").data(), json!({ "count": 3 }));
}
