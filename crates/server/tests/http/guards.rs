use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use timestrata_engine::{Io, Settings, Store};
use timestrata_server::Server;
use timestrata_server::config::Layers;

use crate::harness::{Harness, TRADES};

const TOKEN: &str = "0123456789abcdef0123";

#[test]
fn with_tokens_everything_but_health_needs_one() {
    let server = Harness::with(&[], Some(&format!("# mine\n{TOKEN}\n")));
    assert_eq!(server.get("/health").status, 200);
    for path in [
        "/tables",
        "/tables/t/query",
        "/metrics",
        "/queries",
        "/logs",
        "/logs/l/search",
        "/logs/l/tail",
        "/topics/t/records",
        "/topics/t/log/0/checkpoint",
        "/graphs/g/count",
        "/timelogs/l/entries",
    ] {
        let refused = server.get(path);
        assert!(refused.error(401).contains("Authorization: Bearer"));
        assert!(refused.headers.contains(&("www-authenticate".into(), "Bearer".into())));
    }
    assert!(server.csv("t", TRADES).error(401).contains("token"));
    let wrong = server.get_with("/tables", "authorization", "Bearer wrong-wrong-wrong");
    assert!(wrong.error(401).contains("not known"));
    let right = server.get_with("/tables", "authorization", &format!("Bearer {TOKEN}"));
    assert_eq!(right.status, 200);
}

#[test]
fn other_machines_are_not_listened_to_without_tokens() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let bind = |set: &[(&str, &str)], tokens: Option<&str>| {
        let mut layers = Layers::default();
        for (key, value) in set {
            layers.flag("test", key, *value).unwrap();
        }
        let store = Store::memory(Settings::default()).unwrap();
        runtime.block_on(Server::bind(store, layers.config().unwrap(), tokens)).map(drop)
    };
    let open = ("server.listen", "0.0.0.0:0");
    let error = bind(&[open], None).unwrap_err();
    assert!(error.to_string().contains("server.token_file"), "{error}");
    bind(&[open], Some(TOKEN)).unwrap();
    bind(&[open, ("server.open_to_all", "true")], None).unwrap();
    assert!(Layers::default().config().unwrap().listen.ip().is_loopback());
}

#[test]
fn no_origin_is_allowed_by_default() {
    let server = Harness::new();
    let answer = server.get_with("/tables", "origin", "https://example.org");
    assert_eq!(answer.status, 403);
    assert!(answer.headers.iter().all(|(name, _)| !name.starts_with("access-control")));
}

#[test]
fn a_body_over_the_limit_leaves_nothing() {
    let server = Harness::with(&[("limits.body_bytes_max", "1000")], None);
    let body: String = (0..200).map(|row| format!("{},{row}\n", 1_700_000_000 + row)).collect();
    let error = server.csv("t", &format!("timestamp,x\n{body}")).error(413);
    assert!(error.contains("body_bytes_max") && error.contains("1000"), "{error}");
    assert_eq!(server.get("/tables").data(), serde_json::json!([]));
}

#[test]
fn a_refused_body_leaves_the_connection_usable_and_a_long_one_says_that_it_ends() {
    let server = Harness::new();
    for _ in 0..50 {
        assert_eq!(server.post("/tables/t/ingest", "image/png", &[0; 200_000]).status, 415);
        assert_eq!(server.get("/health").status, 200);
    }
    // Longer than what is read of it: the client may get no answer, but others do.
    let address = server.url.strip_prefix("http://").unwrap();
    let mut socket = TcpStream::connect(address).unwrap();
    let head = "POST /tables/t/ingest HTTP/1.1\r\nHost: localhost\r\nContent-Type: image/png\r\n\
                Content-Length: 100000000\r\n\r\n";
    socket.write_all(head.as_bytes()).unwrap();
    let mut answer = String::new();
    socket.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 415"), "{answer}");
    assert!(answer.to_lowercase().contains("connection: close"), "{answer}");
}

#[test]
fn when_stopped_it_ends_in_time_and_keeps_what_it_acknowledged() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path(), Settings::default()).unwrap();
    let mut server = Harness::on(store, &[("server.stop_grace", "2s")], None);
    server.csv("t", TRADES).data();
    let clock = Io::os().clock;
    let begun_ns = clock.monotonic_ns();
    server.stop().unwrap();
    let took = Duration::from_nanos(clock.monotonic_ns() - begun_ns);
    assert!(took < Duration::from_secs(10), "{took:?}");
    assert!(ureq::get(format!("{}/health", server.url)).call().is_err());
    drop(server);
    let again = Harness::on(Store::open(dir.path(), Settings::default()).unwrap(), &[], None);
    assert_eq!(again.get("/tables/t/count").data()["count"], 3);
}

#[test]
fn a_client_that_goes_away_leaves_nothing_and_holds_up_nobody() {
    let server = Harness::with(&[("limits.body_idle_max", "1s")], None);
    server.csv("t", TRADES).data();
    let address = server.url.trim_start_matches("http://").to_owned();
    let begin = |length: usize| {
        let mut client = TcpStream::connect(&address).unwrap();
        write!(
            client,
            "POST /tables/t/ingest HTTP/1.1\r\nhost: localhost\r\ncontent-type: text/csv\r\n\
             content-length: {length}\r\n\r\ntimestamp,symbol,price,volume\n"
        )
        .unwrap();
        for row in 0..2_000 {
            writeln!(client, "{},A,1.5,{row}", 1_700_000_000 + row).unwrap();
        }
        client.flush().unwrap();
        client
    };
    let (gone, mut slow) = (begin(10_000_000), begin(10_000_000));
    drop(gone);
    // Others are served meanwhile.
    for _ in 0..5 {
        server.csv("other", TRADES).data();
    }
    assert_eq!(server.get("/tables/t/count").data()["count"], 3);
    // One that sends nothing any more is told so, once it has been waited for.
    let mut answer = String::new();
    slow.read_to_string(&mut answer).unwrap();
    assert!(answer.contains("nothing arrived for 1 s"), "{answer}");
    assert_eq!(server.get("/tables/t/count").data()["count"], 3);
    server.csv("t", TRADES).data();
    assert_eq!(server.get("/tables/t/count").data()["count"], 6);
}
