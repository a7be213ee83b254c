//! What a request is called, wherever it is told of.

use crate::harness::{Answer, Harness};

fn id(answer: &Answer) -> String {
    let found = answer.headers.iter().find(|(name, _)| name == "x-request-id");
    found.map(|(_, id)| id.clone()).expect("each answer has its id")
}

#[test]
fn an_answer_has_the_id_that_was_brought_or_a_new_one() {
    let server = Harness::with(&[], Some("0123456789abcdef"));
    let brought = server.get_with("/health", "x-request-id", "proxy-7.a:1/b");
    assert_eq!(id(&brought), "proxy-7.a:1/b");
    let (one, other) = (server.get("/health"), server.get("/health"));
    assert!(id(&one).len() == 32 && id(&one) != id(&other));
    // What could forge a line of the log is not taken.
    for insane in ["a b", "{\"level\":\"ERROR\"}", &"a".repeat(200)] {
        assert_ne!(id(&server.get_with("/health", "x-request-id", insane)), insane);
    }
}

#[test]
fn a_problem_says_the_id_whoever_refuses() {
    let server = Harness::new();
    for (path, status) in [
        ("/nowhere", 404),
        ("/tables?x=1", 400),
        ("/topics/none", 404),
        ("/tables/none/query", 404),
        ("/graphs/none/count", 404),
    ] {
        let answer = server.get_with(path, "x-request-id", "mine");
        answer.error(status);
        assert_eq!(
            (answer.json()["request_id"].as_str(), id(&answer).as_str()),
            (Some("mine"), "mine")
        );
    }
    let refused = Harness::with(&[], Some("0123456789abcdef")).get("/tables");
    refused.error(401);
    assert_eq!(refused.json()["request_id"], id(&refused).as_str());
}
