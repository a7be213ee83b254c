//! What is refused, with which code, and that nothing that a client sends ends the server.

use std::time::Duration;

use proptest::prelude::*;

use crate::harness::{Client, Harness, OK, refusal, write};

/// The longest line that is taken, without its end.
const LINE_BYTES_MAX: usize = 1_050_624;
const TOO_LARGE: &str = "{\"status\":\"error\",\"errcode\":\"request_too_large\",\"detail\":\
                         {\"max_size\":1050624,\"unit\":\"byte\"}}\n";

#[test]
fn every_refusal_has_the_protocols_code_and_detail() {
    let server = Harness::new();
    let mut client = server.connect();
    for (line, code) in [
        ("{}", "missing_action"),
        (r#"{"action":"write","message":"m"}"#, "missing_source_ts"),
        (r#"{"action":"write","source_ts":1}"#, "missing_message"),
        (r#"{"action":"read","end_ts":1}"#, "missing_start_ts"),
        (r#"{"action":"read","start_ts":1}"#, "missing_end_ts"),
        (r#"{"action":"read","start_ts":-1,"end_ts":1}"#, "invalid_start_ts"),
        (r#"{"action":"read","start_ts":1,"end_ts":1.5}"#, "invalid_end_ts"),
    ] {
        assert_eq!(client.raw(line), refusal(code), "{line}");
    }
    for (line, code, detail) in [
        (
            r#"{"action":"erase"}"#,
            "unknown_action",
            r#"{"given_action":"erase","supported_actions":"write,read"}"#,
        ),
        (
            r#"{"action":"write","source_ts":1.0,"message":"m"}"#,
            "invalid_source_ts",
            r#"{"message":"InvalidU64"}"#,
        ),
        ("nonsense", "invalid_json", r#"{"message":"expected ident at line 1 column 2"}"#),
    ] {
        let answer =
            format!("{{\"status\":\"error\",\"errcode\":\"{code}\",\"detail\":{detail}}}\n");
        assert_eq!(client.raw(line), answer, "{line}");
    }
    assert!(client.messages().is_empty());
}

/// Each of these ended the server that this one stands in for.
#[test]
fn the_seven_inputs_that_ended_another_server_are_answered() {
    let server = Harness::new();
    let mut client = server.connect();
    let write = |rest: &str| format!(r#"{{"action":"write","source_ts":1,{rest}}}"#);
    for taken in [
        write(r#""message":"a","metadata":{"user":"x"}"#),
        write(r#""message":"b","metadata":{"level":5}"#),
    ] {
        assert_eq!(client.raw(&taken), OK);
    }
    for refused in [
        write(r#""message":"c","metadata":"text""#),
        "[1,2,3]".to_owned(),
        "42".to_owned(),
        r#"{"action":7,"source_ts":1,"message":"m"}"#.to_owned(),
        write(r#""message":{"not":"text"}"#),
    ] {
        let answer = client.ask(&refused);
        assert_eq!(
            (&answer["status"], &answer["errcode"]),
            (&"error".into(), &"invalid_json".into())
        );
        assert!(answer["detail"]["message"].is_string());
    }
    assert_eq!(client.messages(), ["a", "b"]);
}

/// What no parser of JSON takes is refused and not kept; all else comes back as it was.
#[test]
fn lines_that_break_others_are_taken_as_they_are_or_refused() {
    let server = Harness::new();
    let mut client = server.connect();
    let write = |rest: &str| format!(r#"{{"action":"write","source_ts":1,{rest}}}"#);
    for taken in [
        write(r#""message":"a\u0000b","metadata":{"\u0000":"\u0000"}"#),
        write(r#""message":"c","metadata":{"n":-123456789012345678901234567890}"#),
        write(r#""message":"d","metadata":{"x":{"a":1,"a":2}}"#),
    ] {
        assert_eq!(client.raw(&taken), OK, "{taken}");
    }
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    for refused in [
        deep.clone(),
        format!(r#"{{"unknown":{deep}}}"#),
        write(&format!(r#""message":"e","metadata":{{"deep":{deep}}}"#)),
        write(r#""message":"f","metadata":{"n":1e999}"#),
    ] {
        assert_eq!(client.ask(&refused)["errcode"], "invalid_json");
    }
    let mut invalid = write(r#""message":"?""#).replace('?', "\u{1}").into_bytes();
    invalid.iter_mut().filter(|byte| **byte == 1).for_each(|byte| *byte = 0xff);
    client.send([&invalid[..], b"\n"].concat());
    assert!(client.line().contains("invalid_json"));
    let rows = client.raw(r#"{"action":"read","start_ts":0,"end_ts":"18446744073709551615"}"#);
    assert_eq!(rows.matches("\"version\":1").count(), 3);
    for kept in [
        r#""message":"a\u0000b","metadata":{"\u0000":"\u0000"}"#,
        r#""message":"c","metadata":{"n":-123456789012345678901234567890}"#,
        r#""message":"d","metadata":{"x":{"a":2}}"#,
    ] {
        assert!(rows.contains(kept), "{kept}: {rows}");
    }
}

#[test]
fn blank_lines_are_not_answered() {
    let server = Harness::new();
    let mut client = server.connect();
    client.send(format!("\n\r\n  \t\n{}\r\n\n{{}}\n\n", write(1, "one")));
    assert_eq!(client.line(), OK);
    assert_eq!(client.line(), refusal("missing_action"));
    client.end();
    assert_eq!(client.rest(), "");
}

#[test]
fn a_last_line_needs_no_end() {
    let server = Harness::new();
    let mut client = server.connect();
    client.send(write(1, "whole"));
    client.end();
    assert_eq!(client.rest(), OK);
    let mut client = server.connect();
    client.send(r#"{"action":"write","source_ts":1,"message":"cut of"#);
    client.end();
    assert!(client.rest().contains("invalid_json"));
    assert_eq!(server.connect().messages(), ["whole"]);
}

/// A request over the limit once made an endless stream of errors.
#[test]
fn a_line_that_is_too_long_is_answered_once_and_the_next_is_read() {
    let server = Harness::new();
    let mut client = server.connect();
    let mut fits = write(1, "x");
    fits.insert_str(0, &" ".repeat(LINE_BYTES_MAX - fits.len()));
    assert_eq!(client.raw(&fits), OK);
    fits.insert(0, ' ');
    assert_eq!(client.raw(&fits), TOO_LARGE);
    // Far longer: answered before it ends, and only then.
    let piece = vec![b'x'; 1 << 20];
    for _ in 0..20 {
        client.send(&piece);
    }
    assert_eq!(client.line(), TOO_LARGE);
    client.send(format!("\n{}\n{{}}\n", write(2, "y")));
    assert_eq!(client.line(), OK);
    assert_eq!(client.line(), refusal("missing_action"));
    client.socket.set_read_timeout(Some(Duration::from_millis(300))).unwrap();
    assert!(std::io::Read::read(&mut client.socket, &mut [0]).is_err(), "nothing more comes");
    client.send(&piece);
    client.send(&piece);
    client.end();
    assert_eq!(client.rest(), TOO_LARGE);
    assert_eq!(server.connect().messages(), ["x", "y"]);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn whatever_a_client_sends_the_next_is_served(
        pieces in prop::collection::vec(prop_oneof![
            prop::collection::vec(any::<u8>(), 0..60),
            r#"\{("(action|message|metadata|source_ts|start_ts|end_ts)":("write"|"read"|1|-1|"1"|\{\}|\{"level":1\}|\[\]|null),?){0,6}\}\n"#
                .prop_map(String::into_bytes),
        ], 0..20),
    ) {
        thread_local!(static SERVER: Harness = Harness::new());
        SERVER.with(|server| {
            let mut client = server.connect();
            client.send(pieces.concat());
            client.end();
            let answers = client.rest();
            let lines = pieces.concat().split(|byte| *byte == b'\n')
                .filter(|line| !line.trim_ascii().is_empty()).count();
            assert_eq!(answers.lines().count(), lines, "{answers}");
            for answer in answers.lines() {
                assert!(answer.starts_with("{\"status\":"), "{answer}");
            }
            let mut next: Client = server.connect();
            next.write(1, "still here");
        });
    }
}
