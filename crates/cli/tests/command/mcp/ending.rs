//! Tools end when their client goes or tells them to, whatever they work on.

use serde_json::json;

use super::answers::five_models;
use super::client::{Client, ENDLESS};
use crate::runner::Runner;

#[test]
fn the_end_of_stdin_ends_it_once_what_was_asked_is_answered() {
    let runner = five_models();
    let asked = [
        json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
            "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } } }),
        json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }),
        json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {
            "name": "sql", "arguments": { "query": "SELECT count(*) FROM app" } } }),
    ];
    let lines: String = asked.iter().map(|message| format!("{message}\n")).collect();
    let ran = runner.run_with_stdin(&["mcp", "store"], lines.as_bytes());
    assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{}", ran.out);
    assert!(ran.out.lines().last().unwrap().contains("[[40]]"), "{}", ran.out);
    // A client that says nothing is no failure.
    let silent = runner.run_with_stdin(&["mcp", "store"], b"");
    assert_eq!((silent.code, silent.out.as_str(), silent.err.as_str()), (0, "", ""));
}

#[test]
fn a_signal_ends_it_while_stdin_is_open_and_calls_are_under_way() {
    let runner = five_models();
    for signal in ["-TERM", "-INT"] {
        let mut client = Client::start(&runner, &["--timeout", "12h"]);
        client.begin_call("sql", json!({ "query": ENDLESS }));
        client.call("schema", json!({}));
        client.signal(signal);
        let (code, told) = client.end();
        assert_eq!(code, Some(0), "{signal}: {told}");
    }
    // Before a session has begun; it listens to signals once it answers.
    let mut early = Client::spawn(&runner, &[]);
    early.request("ping", json!({}));
    early.signal("-TERM");
    assert_eq!(early.end().0, Some(0));
}

#[test]
fn the_end_of_stdin_ends_what_would_be_worked_on_for_hours() {
    let mut client = Client::of_five_models(&["--timeout", "12h"]);
    client.begin_call("sql", json!({ "query": ENDLESS }));
    client.close_stdin();
    assert_eq!(client.end().0, Some(0));
}

#[test]
fn what_is_no_store_or_no_option_is_said_before_anything_is_answered() {
    let runner = Runner::new();
    let ran = runner.fails(&["mcp", "nowhere"], 1, &["nowhere", "hint: "]);
    assert_eq!(ran.out, "");
    let runner = five_models();
    runner.fails(&["mcp", "store", "--bytes", "1KiB"], 1, &["at least 4096"]);
    runner.fails(&["mcp", "store", "--at", "pin=never"], 1, &["never"]);
    runner.fails(&["mcp", "store", "--timeout", "soon"], 2, &["--timeout"]);
}
