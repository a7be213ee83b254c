//! Calls are bounded in rows, bytes and time, and are given up when nobody wants their answer.

use serde_json::{Value, json};

use super::client::{Client, ENDLESS};

#[test]
fn an_answer_has_no_more_rows_than_the_limit_and_says_so() {
    let mut client = Client::of_five_models(&["--limit", "50"]);
    let rows = |answer: &Value| answer["rows"].as_array().unwrap().len();
    let query = "SELECT value FROM range(1000) ORDER BY value";
    let some = client.call("sql", json!({ "query": query, "limit": 7 }));
    assert_eq!(rows(&some), 7);
    assert_eq!(some["cut"][0]["what"], "there are more rows than these 7, for the limit of 7");
    let most = client.call("sql", json!({ "query": query, "limit": 1_000 }));
    assert_eq!(rows(&most), 50);
    let all = client.call("sql", json!({ "query": "SELECT value FROM range(50)", "limit": 50 }));
    assert_eq!((rows(&all), &all["cut"]), (50, &Value::Null));
}

#[test]
fn an_answer_has_no_more_bytes_than_it_may_and_long_texts_say_what_is_missing() {
    let mut client = Client::of_five_models(&["--bytes", "8KiB"]);
    let query = "SELECT value, repeat('x', 300) AS text FROM range(1000)";
    let some = client.call("sql", json!({ "query": query, "limit": 1_000 }));
    assert!(some.to_string().len() < 9 << 10, "{}", some.to_string().len());
    assert!(some["cut"][0]["what"].as_str().unwrap().contains("bound of 8192 bytes"), "{some}");
    let long = client.call("sql", json!({ "query": "SELECT repeat('ä', 100000) AS text" }));
    assert!(long["rows"][0][0].as_str().unwrap().ends_with("[+198000 bytes]"));
    assert!(long["cut"][0]["more"].as_str().unwrap().contains("substr"), "{long}");
    let columns: Vec<String> =
        (0..2_000).map(|number| format!("'some text' AS column_{number}")).collect();
    let wide = format!("SELECT {}", columns.join(", "));
    client.fails("sql", json!({ "query": wide }), &["8192 bytes", "fewer columns"]);
}

#[test]
fn a_call_takes_no_longer_than_it_may() {
    let mut client = Client::of_five_models(&["--timeout", "60s"]);
    client.fails("sql", json!({ "query": ENDLESS, "timeout": "100ms" }), &["100 ms", "hint: "]);
    client.fails("sql", json!({ "query": "SELECT 1", "timeout": "2m" }), &["at most 60000 ms"]);
    client.fails("sql", json!({ "query": "SELECT 1", "timeout": "soon" }), &["timeout: \"soon\""]);
}

/// Four calls are worked on at once. If one that was cancelled went on, the last of these would wait for hours.
#[test]
fn calls_that_are_cancelled_stop_and_are_not_answered() {
    let mut client = Client::of_five_models(&["--timeout", "12h"]);
    let endless: Vec<u64> =
        (0..8).map(|_| client.begin_call("sql", json!({ "query": ENDLESS }))).collect();
    for id in &endless {
        client.cancel(*id);
    }
    assert_eq!(client.call("sql", json!({ "query": "SELECT 7" }))["rows"], json!([[7]]));
    // What was never asked, or is answered, can be cancelled too.
    client.cancel(12_345);
    client.cancel(1);
    client.close_stdin();
    let (code, told) = client.end();
    assert_eq!(code, Some(0), "{told}");
}

#[test]
fn more_calls_than_can_wait_are_refused_at_once() {
    let mut client = Client::of_five_models(&["--timeout", "12h"]);
    let begun: Vec<u64> =
        (0..100).map(|_| client.begin_call("sql", json!({ "query": ENDLESS }))).collect();
    // Four are worked on, and 64 wait; which, is up to the threads.
    let refused: Vec<u64> = (0..32).map(|_| client.next_answered()).collect();
    for id in &refused {
        let outcome = client.outcome(*id);
        assert!(outcome.is_err_and(|text| text.contains("64 calls wait already")));
    }
    for id in begun.iter().filter(|id| !refused.contains(id)) {
        client.cancel(*id);
    }
    // Their places are free as soon as each has noticed.
    let seven = loop {
        let id = client.begin_call("sql", json!({ "query": "SELECT 7" }));
        if let Ok(answer) = client.outcome(id) {
            break answer;
        }
    };
    assert_eq!(seven["rows"], json!([[7]]));
}
