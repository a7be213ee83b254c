//! Who may call the server by which name, and how long a connection may take to ask.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use crate::harness::{Harness, TRADES};

fn connect(server: &Harness) -> TcpStream {
    let socket = TcpStream::connect(server.url.trim_start_matches("http://")).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    socket
}

/// All that comes back for what is sent, to the end of the connection.
fn told(server: &Harness, sent: &str) -> String {
    let mut socket = connect(server);
    socket.write_all(sent.as_bytes()).unwrap();
    let mut told = String::new();
    socket.read_to_string(&mut told).unwrap();
    told
}

fn asked(server: &Harness, path: &str, headers: &str) -> String {
    told(server, &format!("GET {path} HTTP/1.1\r\nConnection: close\r\n{headers}\r\n"))
}

/// A page whose name was made to point to this machine could do all that a program here can.
#[test]
fn without_a_token_a_server_is_called_by_its_own_names_only() {
    let server = Harness::new();
    for path in ["/tables", "/health", "/metrics", "/queries", "/nowhere"] {
        let refused = asked(&server, path, "Host: evil.example:8080\r\n");
        assert!(refused.starts_with("HTTP/1.1 421"), "{refused}");
        assert!(refused.contains("evil.example:8080") && refused.contains("server.hosts"));
    }
    for host in ["localhost", "127.0.0.1:80", "[::1]", "192.168.0.7:8080"] {
        let taken = asked(&server, "/tables", &format!("Host: {host}\r\n"));
        assert!(taken.starts_with("HTTP/1.1 200"), "{host}: {taken}");
    }
    let whole = asked(&server, "http://evil.example/tables", "Host: localhost\r\n");
    assert!(whole.starts_with("HTTP/1.1 421"), "{whole}");
    let drop = told(
        &server,
        "DELETE /tables/t HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n",
    );
    assert!(drop.starts_with("HTTP/1.1 421"), "{drop}");
    let listed = Harness::with(&[("server.hosts", "store.example")], None);
    assert!(asked(&listed, "/tables", "Host: store.example\r\n").starts_with("HTTP/1.1 200"));
    assert!(asked(&listed, "/tables", "Host: evil.example\r\n").starts_with("HTTP/1.1 421"));
    // Whoever needs a token gains nothing by a name.
    let guarded = Harness::with(&[], Some("0123456789abcdef0123"));
    assert!(asked(&guarded, "/health", "Host: store.example\r\n").starts_with("HTTP/1.1 200"));
    assert!(asked(&guarded, "/tables", "Host: store.example\r\n").starts_with("HTTP/1.1 401"));
}

#[test]
fn a_page_from_elsewhere_may_not_ask() {
    let server = Harness::new();
    for origin in ["http://evil.example", "http://localhost:3000", "null"] {
        let refused = server.post_with("/logs/app", ("origin", origin), "text/plain", b"a line\n");
        let error = refused.error(403);
        assert!(error.contains(origin) && error.contains("server.hosts"), "{error}");
    }
    assert_eq!(server.get("/logs").data(), serde_json::json!([]));
    let own = server.url.clone();
    let taken = server.post_with("/logs/app", ("origin", own.as_str()), "text/plain", b"a line\n");
    assert_eq!(taken.data()["entries"], 1);
}

/// None of 1,500 connections that had sent half a head was closed after 35 s.
#[test]
fn a_head_that_does_not_come_closes_its_connection() {
    let server = Harness::with(&[("limits.head_time_max", "1s")], None);
    let mut sockets: Vec<_> = (0..60).map(|_| connect(&server)).collect();
    for (index, socket) in sockets.iter_mut().enumerate() {
        match index % 3 {
            0 => {}
            1 => socket.write_all(b"GET /tables HTTP/1.1\r\nHost: loc").unwrap(),
            _ => socket.write_all(b"GET /tables HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap(),
        }
    }
    for (index, socket) in sockets.iter_mut().enumerate() {
        let mut rest = String::new();
        socket.read_to_string(&mut rest).unwrap();
        assert_eq!(rest.starts_with("HTTP/1.1 200"), index % 3 == 2, "{rest}");
    }
    // Who asks in time is served, again and again.
    for _ in 0..20 {
        server.csv("t", TRADES).data();
    }
}

#[test]
fn more_connections_than_there_are_places_for_are_told_so() {
    let set = [("limits.connections_max", "3"), ("limits.head_time_max", "60s")];
    let server = Harness::with(&set, None);
    let mut held: Vec<_> = (0..3).map(|_| connect(&server)).collect();
    for socket in &mut held {
        socket.write_all(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
        let mut begin = [0; 12];
        socket.read_exact(&mut begin).unwrap();
        assert_eq!(&begin, b"HTTP/1.1 200");
    }
    let refused = asked(&server, "/health", "Host: localhost\r\n");
    assert!(refused.starts_with("HTTP/1.1 503"), "{refused}");
    assert!(refused.contains("limits.connections_max") && refused.contains("retry-after"));
    drop(held.pop());
    let is_served =
        |_: &u32| asked(&server, "/health", "Host: localhost\r\n").starts_with("HTTP/1.1 200");
    assert!((0..600).any(|n| is_served(&n)), "a place that is free is not taken again");
}

#[test]
fn pages_of_places_that_are_listed_may_ask_and_no_others() {
    let set = [("server.cors_origins", "https://app.example, http://localhost:3000")];
    let server = Harness::with(&set, None);
    let preflight = |origin: &str| {
        told(
            &server,
            &format!(
                "OPTIONS /tables/t/ingest HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nOrigin: {origin}\r\n\
                 Access-Control-Request-Method: POST\r\nAccess-Control-Request-Headers: authorization\r\n\r\n"
            ),
        )
        .to_lowercase()
    };
    let allowed = preflight("https://app.example");
    assert!(allowed.starts_with("http/1.1 200"), "{allowed}");
    assert!(allowed.contains("access-control-allow-origin: https://app.example\r\n"), "{allowed}");
    assert!(
        allowed.contains("authorization") && !allowed.contains("allow-credentials"),
        "{allowed}"
    );
    assert!(!preflight("https://evil.example").contains("access-control-allow-origin"));
    let taken = server.get_with("/tables", "origin", "http://localhost:3000");
    taken.data();
    let header = ("access-control-allow-origin".to_owned(), "http://localhost:3000".to_owned());
    assert!(taken.headers.contains(&header));
    assert!(
        server.get_with("/tables", "origin", "https://evil.example").error(403).contains("evil")
    );
    // Any place, but not where nobody is asked for a token.
    let any = [("server.cors_origins", "*")];
    let open = Harness::with(&any, None);
    open.get_with("/tables", "origin", "https://evil.example").error(403);
    let guarded = Harness::with(&any, Some("0123456789abcdef"));
    let refused = guarded.get_with("/tables", "origin", "https://page.example");
    refused.error(401);
    assert!(refused.headers.contains(&("access-control-allow-origin".into(), "*".into())));
}
