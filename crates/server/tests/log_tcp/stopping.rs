//! Where it listens, and how it stops.

use std::io::Write;
use std::net::TcpStream;
use std::time::Duration;

use timestrata_engine::{ErrorKind, Io, Settings, Store};
use timestrata_server::Server;
use timestrata_server::config::Layers;

use crate::harness::{Client, Harness, OK, write};

fn bind(store: &Store, set: &[(&str, &str)]) -> timestrata_engine::Result<Server> {
    let mut layers = Layers::default();
    layers.flag("test", "server.listen", "127.0.0.1:0").unwrap();
    for (key, value) in set {
        layers.flag("test", key, *value).unwrap();
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(Server::bind(
        store.clone(),
        layers.config().unwrap(),
        Some("0123456789abcdef"),
    ))
}

#[test]
fn it_is_off_by_default_and_for_this_machine_only_unless_open_to_all() {
    let store = Store::memory(Settings::default()).unwrap();
    assert_eq!(bind(&store, &[]).unwrap().log_tcp_address().unwrap(), None);
    assert!(store.streams().is_empty(), "nobody asked for a log");
    let open = ("logs.tcp_listen", "0.0.0.0:0");
    let error = bind(&store, &[open]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    assert!(error.to_string().contains("knows no tokens"), "{error}");
    let server = bind(&store, &[open, ("server.open_to_all", "true")]).unwrap();
    assert_ne!(server.log_tcp_address().unwrap().unwrap().port(), 0);
}

#[test]
fn a_name_that_is_no_logs_is_told_before_anybody_is_served() {
    let store = Store::memory(Settings::default()).unwrap();
    let listen = ("logs.tcp_listen", "127.0.0.1:0");
    let error = bind(&store, &[listen, ("logs.tcp_log", "no/log")]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
    bind(&store, &[listen, ("logs.tcp_log", "app")]).unwrap();
    let names: Vec<_> = store.streams().iter().map(|stream| stream.name().to_owned()).collect();
    assert_eq!(names, ["app"]);
}

#[test]
fn when_stopped_it_answers_what_arrived_and_ends_in_time() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path(), Settings::default()).unwrap();
    let mut server = Harness::on(store, &[]);
    let idle = server.connect();
    let address = server.address;
    let busy = std::thread::spawn(move || {
        let mut client = Client::to(address);
        let mut acknowledged = 0_u64;
        loop {
            let line = format!("{}\n", write(acknowledged, "m"));
            if client.socket.write_all(line.as_bytes()).is_err() || client.line() != OK {
                return acknowledged;
            }
            acknowledged += 1;
        }
    });
    std::thread::sleep(Duration::from_millis(300));
    let clock = Io::os().clock;
    let begun_ns = clock.monotonic_ns();
    server.stop().unwrap();
    let took = Duration::from_nanos(clock.monotonic_ns() - begun_ns);
    assert!(took < Duration::from_secs(8), "{took:?}");
    let acknowledged = busy.join().unwrap();
    assert!(acknowledged > 0);
    drop(idle);
    assert!(TcpStream::connect(address).is_err());
    drop(server);
    let again = Harness::on(Store::open(dir.path(), Settings::default()).unwrap(), &[]);
    let found = again.connect().messages().len() as u64;
    // The last may have been written and its answer lost.
    assert!((acknowledged..=acknowledged + 1).contains(&found), "{acknowledged}, {found}");
}

#[test]
fn a_client_that_sends_without_end_does_not_keep_it_from_stopping() {
    let mut server = Harness::with(&[("server.stop_grace", "20s")]);
    let mut client = server.connect();
    let mut socket = client.socket.try_clone().unwrap();
    let sender = std::thread::spawn(move || {
        let line = format!("{}\n", write(1, "m"));
        let (mut sent, lines) = (0_usize, line.repeat(1_000));
        while socket.write_all(lines.as_bytes()).is_ok() {
            sent += 1_000;
        }
        sent
    });
    for _ in 0..10_000 {
        assert_eq!(client.line(), OK);
    }
    server.tell_to_stop();
    let clock = Io::os().clock;
    let begun_ns = clock.monotonic_ns();
    let mut answered = 10_000;
    let mut line = client.line();
    while line == OK {
        answered += 1;
        line = client.line();
    }
    assert!(sender.join().unwrap() + 1_000 >= answered);
    server.stop().unwrap();
    assert!(clock.monotonic_ns() - begun_ns < 15_000_000_000);
}
