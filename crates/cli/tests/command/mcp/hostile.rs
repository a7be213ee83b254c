//! Whatever comes in: nothing but the protocol goes out, and the next call is answered.

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde_json::{Value, json};

use super::client::{Client, TOOLS};

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "\\PC{0,20}".prop_map(Value::from),
        prop::sample::select(vec![
            "app",
            "events",
            "code",
            "rooms",
            "side",
            "2024-05-01",
            "-1",
            "pin=x",
            "SELECT 1"
        ])
        .prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map("[a-z]{1,6}", inner, 0..4)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

/// Arguments whose names are mostly those that tools have.
fn any_arguments() -> impl Strategy<Value = Value> {
    let names = vec![
        "name",
        "query",
        "filter",
        "from",
        "to",
        "since",
        "by",
        "order",
        "limit",
        "after",
        "timeout",
        "at",
        "timestamp",
        "before",
        "step",
        "fields",
        "values",
        "topic",
        "partition",
        "offset",
        "vkey",
        "record",
        "file",
        "graph",
        "what",
    ];
    let name =
        prop_oneof![9 => prop::sample::select(names).prop_map(str::to_owned), 1 => "[a-z]{1,6}"];
    let members = prop::collection::btree_map(name, any_json(), 0..5);
    prop_oneof![
        9 => members.prop_map(|members| Value::Object(members.into_iter().collect())),
        1 => any_json(),
    ]
}

/// A line as a broken client may send it.
fn any_line() -> impl Strategy<Value = Vec<u8>> {
    let message = (any_json(), any_json(), any_json()).prop_map(|(id, method, params)| {
        json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })
    });
    let known = (any_json(), prop::sample::select(vec![
        "initialize", "ping", "tools/list", "tools/call", "resources/list", "notifications/cancelled", "logging/setLevel",
    ]), any_json())
        .prop_map(|(id, method, params)| json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
    prop_oneof![
        prop::collection::vec(any::<u8>().prop_filter("lines end", |byte| *byte != b'\n'), 0..200),
        any_json().prop_map(|json| json.to_string().into_bytes()),
        message.prop_map(|json| json.to_string().into_bytes()),
        known.prop_map(|json| json.to_string().into_bytes()),
    ]
}

#[test]
fn any_arguments_are_answered_or_refused_with_what_to_do() {
    let mut client = Client::of_five_models(&["--timeout", "10s"]);
    let mut seeds =
        TestRunner::new(Config { cases: 400, failure_persistence: None, ..Config::default() });
    let client = std::cell::RefCell::new(&mut client);
    let asked = (prop::sample::select(TOOLS.to_vec()), any_arguments());
    let run = seeds.run(&asked, |(tool, arguments)| {
        let mut client = client.borrow_mut();
        let is_object = arguments.is_object() || arguments.is_null();
        let id = client.begin_call(tool, arguments);
        if !is_object {
            // Such a message is no call, and has an answer of the protocol or none.
            return Ok(());
        }
        match client.outcome(id) {
            Ok(answer) => prop_assert!(answer.is_object()),
            Err(text) => prop_assert!(
                text.contains("\nhint: ") && !text.contains("fault of its own"),
                "{text}"
            ),
        }
        Ok(())
    });
    run.unwrap();
    assert_eq!(
        client.borrow_mut().call("sql", json!({ "query": "SELECT 7" }))["rows"],
        json!([[7]])
    );
}

#[test]
fn lines_that_are_no_messages_leave_the_session_as_it_was() {
    let mut client = Client::of_five_models(&[]);
    let mut seeds =
        TestRunner::new(Config { cases: 300, failure_persistence: None, ..Config::default() });
    let shared = std::cell::RefCell::new(&mut client);
    seeds
        .run(&any_line(), |line| {
            shared.borrow_mut().send(&line);
            Ok(())
        })
        .unwrap();
    client.send(&vec![b'['; 1 << 20]);
    client.send(
        format!("{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"{}\"}}", "x".repeat(17 << 20))
            .as_bytes(),
    );
    // An id of its own: those lines had any.
    client.skip_ids(1 << 40);
    assert_eq!(client.call("sql", json!({ "query": "SELECT 7" }))["rows"], json!([[7]]));
    client.close_stdin();
    let (code, told) = client.end();
    assert_eq!(code, Some(0), "{told}");
    assert!(!told.contains("panicked"), "{told}");
}

/// An agent's query is planned, and refused where it is too deep, on a thread with a small stack.
#[test]
fn deep_and_long_queries_are_answered_or_refused() {
    let mut client = Client::of_five_models(&[]);
    let deep = format!("SELECT {}1{}", "(".repeat(3_000), ")".repeat(3_000));
    let long = format!("SELECT {}", vec!["1"; 20_000].join("+"));
    let large = format!("SELECT '{}'", "x".repeat(2 << 20));
    for query in [deep, long, large] {
        let id = client.begin_call("sql", json!({ "query": query }));
        if let Err(text) = client.outcome(id) {
            assert!(text.contains("hint: "), "{text}");
        }
    }
    assert_eq!(client.call("sql", json!({ "query": "SELECT 7" }))["rows"], json!([[7]]));
}
