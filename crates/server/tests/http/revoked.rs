//! A token that stops being good while it is being answered.

use std::io::{BufReader, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::{Value, json};
use timestrata_engine::{Settings, Store};

use crate::harness::{Harness, TRADES};
use crate::until::until;

const TRUSTED: &str = "0123456789abcdef0123";

/// A query whose answer has no end that anybody lives to see.
const ENDLESS: &str = "SELECT a.value AS n FROM range(100000) a CROSS JOIN range(1000000000) b";

/// The id and the secret of a token that is made over HTTP.
fn made(server: &Harness, asked: &Value) -> (String, String) {
    let told = server.json_as(TRUSTED, "POST", "/tokens", asked).data();
    (told["id"].as_str().unwrap().to_owned(), told["token"].as_str().unwrap().to_owned())
}

fn reader(server: &Harness) -> (String, String) {
    made(server, &json!({ "name": "reader", "scopes": ["read"] }))
}

fn revoke(server: &Harness, id: &str) {
    server.json_as(TRUSTED, "DELETE", &format!("/tokens/{id}"), &Value::Null).data();
}

/// A server with a log and a table, of whom a token is asked.
fn guarded() -> Harness {
    guarded_on(Store::memory(Settings::default()).unwrap())
}

fn guarded_on(store: Store) -> Harness {
    let server = Harness::on(store, &[], Some(TRUSTED));
    let entries = json!([{ "msg": "first" }]);
    server.json_as(TRUSTED, "POST", "/logs/app", &entries).data();
    let sent = server.post_with(
        "/tables/trades/ingest",
        ("authorization", &format!("Bearer {TRUSTED}")),
        "text/csv",
        TRADES.as_bytes(),
    );
    sent.data();
    server
}

/// A request on a connection of its own, with the whole answer still to be read.
fn ask(server: &Harness, secret: &str, head: &str, body: &str) -> BufReader<TcpStream> {
    let mut socket = TcpStream::connect(server.url.strip_prefix("http://").unwrap()).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    let request = format!(
        "{head}\r\nHost: localhost\r\nAuthorization: Bearer {secret}\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    socket.write_all(request.as_bytes()).unwrap();
    BufReader::new(socket)
}

/// Reads until a text has come.
fn read_until(answer: &mut impl Read, text: &str) -> String {
    let mut read = Vec::new();
    while !String::from_utf8_lossy(&read).contains(text) {
        let mut byte = [0];
        assert_eq!(answer.read(&mut byte).unwrap(), 1, "{}", String::from_utf8_lossy(&read));
        read.push(byte[0]);
    }
    String::from_utf8_lossy(&read).into_owned()
}

/// The last bytes of an answer that comes to its end.
fn last_of(answer: &mut impl Read) -> Vec<u8> {
    let (mut last, mut piece) = (Vec::new(), vec![0; 1 << 20]);
    loop {
        match answer.read(&mut piece).unwrap() {
            0 => return last,
            count => {
                last.extend_from_slice(&piece[..count]);
                last.drain(..last.len().saturating_sub(16));
            }
        }
    }
}

/// Whether an answer in chunks has the end that one has which is whole.
fn is_whole(last: &[u8]) -> bool {
    last.ends_with(b"0\r\n\r\n")
}

#[test]
fn a_tail_ends_when_its_token_is_revoked_and_no_other_does() {
    let server = guarded();
    let ((id, secret), (_, other)) = (reader(&server), reader(&server));
    let tail = |secret: &str| {
        let mut answer = ask(&server, secret, "GET /logs/app/tail?after=0 HTTP/1.1", "");
        assert!(read_until(&mut answer, "first").starts_with("HTTP/1.1 200"));
        answer
    };
    let (mut ended, mut kept) = (tail(&secret), tail(&other));
    revoke(&server, &id);
    assert!(!is_whole(&last_of(&mut ended)));
    // Nobody works for it any more, and who has another token hears on.
    until(|| {
        let metrics = server.json_as(TRUSTED, "GET", "/metrics", &Value::Null);
        metrics.text().lines().any(|line| line == "timestrata_log_tails_open 1")
    });
    server.json_as(TRUSTED, "POST", "/logs/app", &json!([{ "msg": "second" }])).data();
    read_until(&mut kept, "second");
}

#[test]
fn a_tail_ends_when_its_token_expires() {
    let server = guarded();
    let asked = json!({ "name": "guest", "scopes": ["read:app"], "expires": "2s" });
    let (_, secret) = made(&server, &asked);
    let mut answer = ask(&server, &secret, "GET /logs/app/tail?after=0 HTTP/1.1", "");
    assert!(read_until(&mut answer, "first").starts_with("HTTP/1.1 200"));
    assert!(!is_whole(&last_of(&mut answer)));
    let refused = server.json_as(&secret, "GET", "/logs/app/count", &Value::Null);
    assert!(refused.error(401).contains("expired"));
}

#[test]
fn rows_that_are_streamed_end_in_the_middle_and_with_them_their_query() {
    let server = guarded();
    let (id, secret) = reader(&server);
    let head = "POST /sql HTTP/1.1\r\nAccept: text/csv\r\nContent-Type: application/sql";
    let mut answer = ask(&server, &secret, head, ENDLESS);
    read_until(&mut answer, "n\n");
    revoke(&server, &id);
    assert!(!is_whole(&last_of(&mut answer)));
    until(|| server.json_as(TRUSTED, "GET", "/queries", &Value::Null).data() == json!([]));
}

#[test]
fn a_query_that_has_not_answered_yet_is_given_up() {
    let server = guarded();
    let (id, secret) = reader(&server);
    let head = "POST /sql HTTP/1.1\r\nContent-Type: application/sql";
    let count = format!("SELECT count(*) FROM ({ENDLESS})");
    let mut answer = ask(&server, &secret, head, &count);
    let queries = || server.json_as(TRUSTED, "GET", "/queries", &Value::Null).data();
    until(|| queries()[0]["state"] == "running");
    revoke(&server, &id);
    let told = read_until(&mut answer, "\r\n\r\n");
    assert!(told.starts_with("HTTP/1.1 401") && told.contains("invalid_token"), "{told}");
    assert!(read_until(&mut answer, "}").contains("was revoked while"));
    until(|| queries() == json!([]));
}

#[test]
fn who_waits_for_changes_is_sent_away() {
    let dir = tempfile::tempdir().unwrap();
    let server = guarded_on(Store::open(dir.path().join("store"), Settings::default()).unwrap());
    let (id, secret) = reader(&server);
    let last = server.json_as(TRUSTED, "GET", "/changes?since=0", &Value::Null).data();
    let head = format!("GET /changes?since={}&wait=20s HTTP/1.1", last["seq"]);
    let mut answer = ask(&server, &secret, &head, "");
    until(|| {
        let metrics = server.json_as(TRUSTED, "GET", "/metrics", &Value::Null);
        metrics.text().lines().any(|line| line == "timestrata_topic_waits 1")
    });
    revoke(&server, &id);
    assert!(read_until(&mut answer, "\r\n").starts_with("HTTP/1.1 401"));
}
