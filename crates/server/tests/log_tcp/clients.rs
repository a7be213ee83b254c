//! Many clients at once, and that none of them harms another.

use std::io::Write;
use std::net::Shutdown;
use std::time::Duration;

use crate::harness::{Harness, OK, refusal, write};
use crate::until::until;

#[test]
fn pipelined_requests_are_answered_in_order() {
    let server = Harness::new();
    let mut client = server.connect();
    let read = r#"{"action":"read","start_ts":0,"end_ts":18446744073709551615}"#;
    let mut sent = String::new();
    for index in 0..3_000 {
        sent.push_str(&write(index, &format!("m{index}")));
        sent.push('\n');
        match index % 500 {
            0 => sent.push_str("{}\n"),
            250 => sent.push_str(&format!("{read}\n")),
            _ => {}
        }
    }
    let mut socket = client.socket.try_clone().unwrap();
    let sender = std::thread::spawn(move || socket.write_all(sent.as_bytes()).unwrap());
    for index in 0..3_000 {
        assert_eq!(client.line(), OK);
        match index % 500 {
            0 => assert_eq!(client.line(), refusal("missing_action")),
            250 => {
                // What was written before is seen, and nothing that came behind.
                let answer: serde_json::Value = serde_json::from_str(&client.line()).unwrap();
                let rows = answer["data"].as_array().unwrap();
                assert_eq!(rows.len(), index + 1);
                assert_eq!(rows[index]["message"], format!("m{index}"));
            }
            _ => {}
        }
    }
    sender.join().unwrap();
}

#[test]
fn many_clients_at_once_each_find_all_that_they_wrote() {
    let server = Harness::new();
    let clients = 20;
    std::thread::scope(|scope| {
        for client in 0..clients {
            let server = &server;
            scope.spawn(move || {
                let mut connection = server.connect();
                for index in 0..100 {
                    connection.write(index, &format!("{client}:{index}"));
                }
            });
        }
    });
    let all = server.connect().messages();
    assert_eq!(all.len(), clients * 100);
    for client in 0..clients {
        let prefix = format!("{client}:");
        let own: Vec<_> = all.iter().filter_map(|message| message.strip_prefix(&prefix)).collect();
        assert_eq!(own, (0..100).map(|index| index.to_string()).collect::<Vec<_>>());
    }
}

/// One idle client once blocked all others.
#[test]
fn idle_slow_and_broken_clients_hold_up_nobody() {
    let server = Harness::new();
    let idle: Vec<_> = (0..50).map(|_| server.connect()).collect();
    let mut half: Vec<_> = (0..20).map(|_| server.connect()).collect();
    for client in &mut half {
        client.send(r#"{"action":"write","#);
    }
    let mut gone = server.connect();
    gone.send(r#"{"action":"read","start_ts":0,"#);
    gone.socket.shutdown(Shutdown::Both).unwrap();
    let mut client = server.connect();
    for index in 0..50 {
        client.write(index, "m");
    }
    assert_eq!(client.messages().len(), 50);
    for client in &mut half {
        client.send("\"source_ts\":1,\"message\":\"late\"}\n");
        assert_eq!(client.line(), OK);
    }
    drop(idle);
    assert_eq!(client.messages().len(), 70);
}

#[test]
fn a_client_that_takes_no_answers_is_given_up_and_holds_up_nobody() {
    let server = Harness::with(&[("limits.answer_idle_max", "1s")]);
    let mut client = server.connect();
    let long = "x".repeat(1_000_000);
    for index in 0..20 {
        client.write(index, &long);
    }
    let read = "{\"action\":\"read\",\"start_ts\":0,\"end_ts\":18446744073709551615}\n";
    let mut deaf = server.connect();
    deaf.send(read.repeat(50));
    // A gigabyte is asked for, and nothing of it taken: the server doesn't wait for ever.
    until(|| deaf.socket.write_all(b" ").is_err());
    for index in 0..20 {
        client.write(index, "m");
    }
}

#[test]
fn a_client_that_writes_and_takes_no_answers_is_no_longer_read_from() {
    let server = Harness::with(&[("limits.answer_idle_max", "1s")]);
    let mut client = server.connect();
    client.write(0, "before");
    let mut deaf = server.connect();
    let lines = format!("{}\n", write(1, "m")).repeat(10_000);
    // Each line is answered: once nobody takes that, nothing more is taken, and then it is given up.
    until(|| deaf.socket.write_all(lines.as_bytes()).is_err());
    // What it wrote until then may be there; who comes later is served as ever.
    client.write(2, "behind");
    assert_eq!(client.messages().last().unwrap(), "behind");
}

#[test]
fn where_all_places_are_taken_a_silent_client_loses_its_own() {
    let set = [("logs.tcp_clients_max", "3"), ("logs.tcp_idle_grace", "500ms")];
    let server = Harness::with(&set);
    let mut clients: Vec<_> = (0..3).map(|_| server.connect()).collect();
    for client in &mut clients {
        client.write(1, "here");
    }
    let mut fourth = server.connect();
    let sent_away = "{\"status\":\"error\",\"errcode\":\"too_many_clients\",\"detail\":\
                     {\"max_clients\":3}}\n";
    assert_eq!(fourth.rest(), sent_away);
    // Two go on, one is silent.
    for _ in 0..8 {
        std::thread::sleep(Duration::from_millis(100));
        clients[0].write(2, "busy");
        clients[2].write(2, "busy");
    }
    let mut fifth = server.connect();
    fifth.write(3, "new");
    assert_eq!(clients[1].rest(), "");
    clients[0].write(4, "still here");
    clients[2].write(4, "still here");
}
