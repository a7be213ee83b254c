//! Long polls: whoever waits for records is told of them at once, and costs nothing once it has gone.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::{Value, json};
use timestrata_engine::Io;

use crate::harness::Harness;
use crate::topics::{send, values, with_topic};
use crate::until::until;

/// Sends a request on a connection of its own, and takes no answer yet.
pub(crate) fn ask(server: &Harness, method: &str, target: &str) -> TcpStream {
    let mut socket = TcpStream::connect(server.url.trim_start_matches("http://")).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    let head =
        format!("{method} {target} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n");
    socket.write_all(head.as_bytes()).unwrap();
    socket
}

/// The answer that comes on a connection: its status and the data.
pub(crate) fn answer(mut socket: TcpStream) -> (u16, Value) {
    let (mut bytes, mut piece) = (Vec::new(), [0; 4096]);
    loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.to_lowercase().lines().find_map(|line| {
                line.strip_prefix("content-length: ").map(|length| length.parse::<usize>().unwrap())
            });
            if length.is_some_and(|length| body.len() >= length) {
                let status = head.split(' ').nth(1).unwrap().parse().unwrap();
                let json: Value = serde_json::from_str(body).unwrap();
                return (status, json["data"].clone());
            }
        }
        let read = socket.read(&mut piece).unwrap();
        assert!(read > 0, "the connection ended: {text}");
        bytes.extend_from_slice(&piece[..read]);
    }
}

pub(crate) fn waiting(server: &Harness, count: u64) {
    until(|| server.metric("timestrata_topic_waits") == count);
}

fn took(work: impl FnOnce()) -> Duration {
    let clock = Io::os().clock;
    let begun_ns = clock.monotonic_ns();
    work();
    Duration::from_nanos(clock.monotonic_ns() - begun_ns)
}

#[test]
fn whoever_waits_is_given_what_comes_and_where_to_go_on() {
    let server = with_topic("t", 1);
    send(&server, "t", &json!({ "value": "before" })).data();
    for (from, word) in [("latest", "first"), ("2", "second")] {
        let socket = ask(&server, "GET", &format!("/topics/t/records?from={from}&wait=30s"));
        waiting(&server, 1);
        let elapsed = took(|| {
            send(&server, "t", &json!({ "value": word })).data();
            let (status, data) = answer(socket);
            assert_eq!((status, values(&data)), (200, vec![word]));
        });
        assert!(elapsed < Duration::from_secs(10), "{elapsed:?}");
    }
    // What is there is given without a wait, and the end of a range is not waited for.
    assert_eq!(values(&server.get("/topics/t/records?wait=30s").data()).len(), 3);
    assert_eq!(server.get("/topics/t/records?from=3&to=3&wait=30s").data()["next"], 3);
    // The time goes by.
    assert_eq!(server.get("/topics/t/records?from=3&wait=50ms").data()["next"], 3);
    waiting(&server, 0);
}

#[test]
fn a_client_that_goes_while_it_waits_gives_its_place_back() {
    let server = Harness::with(&[("limits.waits_max", "2")], None);
    server.json("PUT", "/topics/t", &json!({})).data();
    let target = "/topics/t/records?wait=60s";
    let mut sockets: Vec<_> = (0..2).map(|_| ask(&server, "GET", target)).collect();
    waiting(&server, 2);
    let refused = server.get(target);
    assert!(refused.error(503).contains("waits_max"));
    assert!(refused.headers.contains(&("retry-after".into(), "1".into())));
    // Who doesn't wait is answered all the same.
    assert_eq!(server.get("/topics/t/records").data()["next"], 0);
    sockets.clear();
    waiting(&server, 0);
    let socket = ask(&server, "GET", target);
    waiting(&server, 1);
    drop(socket);
}

#[test]
fn those_who_wait_do_not_keep_the_server_from_stopping_and_are_answered() {
    let dir = tempfile::tempdir().unwrap();
    let store =
        timestrata_engine::Store::open(dir.path(), timestrata_engine::Settings::default()).unwrap();
    let mut server = Harness::on(store, &[("server.stop_grace", "30s")], None);
    server.json("PUT", "/topics/t", &json!({})).data();
    let joined = server.json("POST", "/topics/t/groups/g/members", &json!({ "member": "m" }));
    joined.data();
    let sockets = [
        ask(&server, "GET", "/topics/t/records?wait=60s"),
        ask(&server, "POST", "/topics/t/groups/g/members/m/poll?wait=60s"),
    ];
    waiting(&server, 2);
    let elapsed = took(|| server.stop().unwrap());
    assert!(elapsed < Duration::from_secs(20), "{elapsed:?}");
    for socket in sockets {
        let (status, data) = answer(socket);
        assert_eq!((status, &data["records"]), (200, &json!([])));
    }
}

#[test]
fn what_was_is_not_waited_for() {
    let server = with_topic("t", 1);
    let refused = server.get("/topics/t/records?wait=1s&at=0");
    assert!((400..500).contains(&refused.status), "{}", refused.text());
}

/// A topic that is removed while somebody waits for its records has none to come.
#[test]
fn a_topic_that_is_removed_ends_the_wait() {
    let server = with_topic("t", 1);
    let socket = ask(&server, "GET", "/topics/t/records?wait=60s");
    waiting(&server, 1);
    server.delete("/topics/t").data();
    assert_eq!(answer(socket).0, 404);
    waiting(&server, 0);
}
