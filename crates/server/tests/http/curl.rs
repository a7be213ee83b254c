//! What `curl -d` sends calls itself a web form, whatever it is, and has no line ends if it was a file.
//!
//! Such bodies were all refused, JSON too, and the answer named a header that nobody had written.

use serde_json::json;

use crate::harness::{Harness, TRADES};

const WEB_FORM: &str = "application/x-www-form-urlencoded";

#[test]
fn a_statement_is_taken_as_json_or_by_itself() {
    let server = Harness::new();
    server.csv("t", TRADES).data();
    let rows = server.sql("SELECT count(*) AS n FROM t", json!(null)).data();
    let as_json = br#" {"query": "SELECT count(*) AS n FROM t WHERE 100 % 7 = $1", "params": [2]}"#;
    let by_itself = b"SELECT count(*) AS n\nFROM t WHERE 100 % 7 = 2";
    for (kind, body) in [
        (WEB_FORM, &as_json[..]),
        (WEB_FORM, &by_itself[..]),
        ("application/x-www-form-urlencoded; charset=UTF-8", &by_itself[..]),
        ("application/sql", &by_itself[..]),
    ] {
        assert_eq!(server.post("/sql", kind, body).data(), rows, "{kind}");
    }
    let wrong = server.post("/sql", WEB_FORM, b"{\"query\": 5}").error(400);
    assert!(wrong.contains("expected a string"), "{wrong}");
    let wrong = server.post("/sql", WEB_FORM, b"query=SELECT+1").error(400);
    assert!(wrong.contains("query"), "{wrong}");
}

/// A browser sends a form to any place that a page names, without asking that place first.
#[test]
fn a_page_of_another_place_sends_no_form() {
    let server = Harness::new();
    server.csv("t", TRADES).data();
    for (path, body) in
        [("/sql", "DROP TABLE t"), ("/tables/t/ingest", "{\"time\": 1}"), ("/logs/l", "{}")]
    {
        let origin = ("origin", "https://evil.example");
        let refused = server.post_with(path, origin, WEB_FORM, body.as_bytes());
        assert_eq!(refused.status, 403, "{path}");
    }
    assert_eq!(server.get("/tables/t/count").data(), json!({ "count": 3 }));
    server.get("/logs/l/count").error(404);
}

#[test]
fn rows_are_taken_as_json_and_what_else_they_may_be_is_told_how_to_send() {
    let server = Harness::new();
    // As `-d @FILE` sends JSON lines.
    let joined = b"\n {\"time\": 1700000000, \"x\": 1}{\"time\": 1700000001, \"x\": 2}";
    assert_eq!(server.post("/tables/t/ingest", WEB_FORM, joined).data()["rows_inserted"], 2);
    let list = b"[{\"time\": 1700000002, \"x\": 3}]";
    assert_eq!(server.post("/tables/t/ingest", WEB_FORM, list).data()["rows_inserted"], 1);
    for body in [&b"time,x1700000003,4"[..], b"", b" \n"] {
        let refused = server.post("/tables/t/ingest", WEB_FORM, body).error(415);
        assert!(refused.contains("-H 'Content-Type: text/csv' --data-binary"), "{refused}");
    }
    assert_eq!(server.get("/tables/t/count").data(), json!({ "count": 3 }));
}

#[test]
fn entries_are_taken_as_json_and_what_else_they_may_be_is_told_how_to_send() {
    let server = Harness::new();
    let joined = b"{\"msg\": \"one\"}{\"msg\": \"two\", \"n\": {\"m\": 1}}";
    let done = server.post("/logs/l", WEB_FORM, joined).data();
    assert_eq!((&done["entries"], &done["parse_errors"]["count"]), (&json!(2), &json!(0)));
    let refused = server.post("/logs/l", WEB_FORM, b"level=info msg=started").error(415);
    assert!(refused.contains("-H 'Content-Type: text/plain' --data-binary"), "{refused}");
    // Who says what it is need not say it in a header.
    let done = server.post("/logs/l?format=logfmt", WEB_FORM, b"level=info msg=started").data();
    assert_eq!(done["entries"], 1);
    let found = server.get("/logs/l/search?limit=none").data();
    let messages: Vec<_> = found.as_array().unwrap().iter().map(|row| &row["message"]).collect();
    assert_eq!(messages, ["one", "two", "started"]);
}
