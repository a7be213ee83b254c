//! Following a log: every entry once, in order; and what a client that misbehaves costs.

use std::fmt::Debug;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::str::FromStr;
use std::time::Duration;

use serde_json::Value;
use timestrata_engine::{Io, Settings, Store};
use timestrata_logs::{Logs, LogsOptions, NewEntry};

use crate::harness::Harness;
use crate::until::until;

/// A connection that follows a log, or a time log.
pub(crate) struct Follower {
    lines: BufReader<TcpStream>,
    socket: TcpStream,
}

impl Follower {
    fn new(server: &Harness, query: &str, header: &str) -> Self {
        Self::of(server, &format!("/logs/app/tail{query}"), header)
    }

    pub(crate) fn of(server: &Harness, path: &str, header: &str) -> Self {
        let address = server.url.strip_prefix("http://").unwrap();
        let mut socket = TcpStream::connect(address).unwrap();
        socket.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        let head = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n{header}\r\n");
        socket.write_all(head.as_bytes()).unwrap();
        Self { lines: BufReader::new(socket.try_clone().unwrap()), socket }
    }

    /// The next line, without its end; `None` where there are no more.
    pub(crate) fn line(&mut self) -> Option<String> {
        let mut line = String::new();
        let read = self.lines.read_line(&mut line).ok()?;
        (read > 0).then(|| line.trim_end().to_owned())
    }

    /// The lines of the answer's head.
    pub(crate) fn head(&mut self) -> String {
        let lines = std::iter::from_fn(|| self.line().filter(|line| !line.is_empty()));
        lines.collect::<Vec<_>>().join("\n").to_lowercase()
    }

    /// The next event: its id and its entry. Lengths of chunks and comments are passed over.
    pub(crate) fn event<Id: FromStr<Err: Debug>>(&mut self) -> Option<(Id, Value)> {
        let mut id = None;
        loop {
            let line = self.line()?;
            if let Some(text) = line.strip_prefix("id: ") {
                id = Some(text.parse().unwrap());
            }
            if let Some(data) = line.strip_prefix("data: ") {
                return Some((id.unwrap(), serde_json::from_str(data).unwrap()));
            }
        }
    }

    fn messages(&mut self, count: usize) -> Vec<String> {
        let events = std::iter::from_fn(|| self.event::<i64>()).take(count);
        events.map(|(_, entry)| entry["message"].as_str().unwrap().to_owned()).collect()
    }
}

fn with_log(set: &[(&str, &str)]) -> (Harness, Logs) {
    let store = Store::memory(Settings::default()).unwrap();
    let logs = Logs::create(&store, "app", &LogsOptions::default()).unwrap();
    (Harness::on(store, set, None), logs)
}

fn write(logs: &Logs, message: &str) -> i64 {
    logs.write(&NewEntry::new(message)).unwrap()
}

fn tails_open(server: &Harness) -> u64 {
    server.metric("timestrata_log_tails_open")
}

#[test]
fn entries_come_as_they_arrive_and_only_those() {
    let (server, logs) = with_log(&[]);
    write(&logs, "too early");
    let mut follower = Follower::new(&server, "", "");
    let head = follower.head();
    assert!(head.starts_with("http/1.1 200") && head.contains("text/event-stream"), "{head}");
    // The comment at the beginning says that it is followed from here on.
    while follower.line().unwrap() != ":" {}
    let first = write(&logs, "one");
    let (id, entry) = follower.event::<i64>().unwrap();
    assert_eq!((id, &entry["message"]), (first, &"one".into()));
    assert!(entry["timestamp"].is_string());
    for number in 0..3_000 {
        write(&logs, &number.to_string());
    }
    let expected: Vec<_> = (0..3_000).map(|number| number.to_string()).collect();
    assert_eq!(follower.messages(3_000), expected);
}

#[test]
fn whoever_says_what_it_has_seen_misses_nothing() {
    let (server, logs) = with_log(&[]);
    let times: Vec<_> = (0..2_500).map(|number| write(&logs, &number.to_string())).collect();
    let expected = |from: usize| (from..2_500).map(|n| n.to_string()).collect::<Vec<_>>();
    let query = format!("?after={}", times[9]);
    assert_eq!(Follower::new(&server, &query, "").messages(2_490), expected(10));
    let text = timestrata_table::time_text(times[9]);
    assert_eq!(Follower::new(&server, &format!("?after={text}"), "").messages(1), ["10"]);
    // Where a browser comes back, the header counts, and not the address of its first time.
    let header = format!("Last-Event-ID: {}\r\n", times[1_999]);
    assert_eq!(Follower::new(&server, &query, &header).messages(500), expected(2_000));
    let mut wrong = Follower::new(&server, "", "Last-Event-ID: first\r\n");
    assert!(wrong.head().starts_with("http/1.1 400"));
}

#[test]
fn a_filter_lets_through_what_it_wants() {
    let (server, logs) = with_log(&[]);
    let mut follower = Follower::new(&server, "?filter=disk&after=0", "");
    for message in ["disk a", "cpu", "disk b", "memory", "the disk"] {
        write(&logs, message);
    }
    assert_eq!(follower.messages(3), ["disk a", "disk b", "the disk"]);
}

#[test]
fn no_more_are_followed_than_may_be_and_those_that_end_make_room() {
    let (server, logs) = with_log(&[("limits.tails_max", "2")]);
    let mut followers: Vec<_> = (0..2).map(|_| Follower::new(&server, "", "")).collect();
    for follower in &mut followers {
        assert!(follower.head().starts_with("http/1.1 200"));
    }
    let refused = server.get("/logs/app/tail");
    assert!(refused.error(503).contains("tails_max"));
    assert_eq!(tails_open(&server), 2);
    // One that goes away is noticed when it is told something.
    drop(followers.pop());
    until(|| {
        write(&logs, "m");
        tails_open(&server) == 1
    });
    assert!(Follower::new(&server, "", "").head().starts_with("http/1.1 200"));
}

#[test]
fn a_client_that_takes_nothing_is_given_up_and_costs_others_nothing() {
    let (server, logs) = with_log(&[("limits.answer_idle_max", "1s")]);
    let deaf = Follower::new(&server, "?after=0", "");
    let mut hears = Follower::new(&server, "?after=0", "");
    // One that isn't followed yet looks as if it had been given up.
    until(|| tails_open(&server) == 2);
    let long = "x".repeat(1_000_000);
    let mut sent = 0;
    // More than the system's buffers take for a client that doesn't.
    until(|| {
        write(&logs, &long);
        sent += 1;
        assert_eq!(hears.messages(1), [long.as_str()]);
        tails_open(&server) == 1
    });
    let mut socket = deaf.socket;
    let mut taken = 0;
    let mut buffer = vec![0; 1 << 20];
    while let Ok(read @ 1..) = socket.read(&mut buffer) {
        taken += read;
    }
    assert!(taken < sent * long.len(), "{taken} bytes were kept for it");
}

#[test]
fn followers_do_not_keep_the_server_from_stopping() {
    let (mut server, logs) = with_log(&[("server.stop_grace", "20s")]);
    let mut followers: Vec<_> = (0..5).map(|_| Follower::new(&server, "?after=0", "")).collect();
    write(&logs, "m");
    for follower in &mut followers {
        assert_eq!(follower.messages(1), ["m"]);
    }
    let clock = Io::os().clock;
    let begun_ns = clock.monotonic_ns();
    server.stop().unwrap();
    let took = Duration::from_nanos(clock.monotonic_ns() - begun_ns);
    assert!(took < Duration::from_secs(10), "{took:?}");
    for follower in &mut followers {
        // The end of the last chunk: the answer is whole.
        let rest: Vec<_> = std::iter::from_fn(|| follower.line()).collect();
        assert!(rest.iter().any(|line| line == "0"), "{rest:?}");
    }
}
