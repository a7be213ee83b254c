//! Logs: what they are made as, and the clock that they go by.

use serde_json::json;

use crate::harness::Harness;

#[test]
fn a_log_is_made_described_and_changed() {
    let server = Harness::new();
    let made = json!({ "clock": "source_time", "message_bytes_max": 4_096, "retention_age": "1d" });
    let described = json!({
        "name": "app", "clock": "source_time", "message_bytes_max": 4_096, "columns_max": 32,
        "columns": [], "compression": "zstd", "retention_age": 86_400.0, "retention_bytes": null,
    });
    for _ in 0..2 {
        assert_eq!(server.json("PUT", "/logs/app", &made).data(), described);
    }
    assert_eq!(server.get("/logs/app").data(), described);
    let other = json!({ "message_bytes_max": 5_000 });
    assert!(server.json("PUT", "/logs/app", &other).error(409).contains("app"));
    assert!(server.json("PATCH", "/logs/app", &other).error(409).contains("message_bytes_max"));
    let changed = json!({ "clock": "timestamp", "retention_age": null, "retention_bytes": 1_000 });
    let now = server.json("PATCH", "/logs/app", &changed).data();
    assert_eq!((&now["clock"], &now["retention_bytes"]), (&json!("timestamp"), &json!(1_000)));
    assert_eq!(now["retention_age"], json!(null));
    let wrong = json!({ "clock": "wall" });
    assert!(server.json("PATCH", "/logs/app", &wrong).error(400).contains("clock"));
    assert!(server.json("PATCH", "/logs/none", &changed).error(404).contains("no log 'none'"));
    assert!(server.get("/logs/none").error(404).contains("no log 'none'"));
}

#[test]
fn an_answer_says_by_which_clock_its_entries_are_in_order() {
    let server = Harness::new();
    let lines = b"2024-05-02T10:00:00Z INFO second\n2024-05-01T10:00:00Z INFO first\n";
    server.post("/logs/app", "text/plain", lines).data();
    let clock_of = |path: &str, accept: &str| {
        let answer = server.get_as(path, accept);
        let header = answer.headers.iter().find(|(name, _)| name == "timestrata-clock");
        header.map(|(_, value)| value.clone())
    };
    for kind in ["application/json", "application/x-ndjson", "application/vnd.apache.arrow.stream"]
    {
        assert_eq!(clock_of("/logs/app/search", kind).as_deref(), Some("source_time"), "{kind}");
        let by = clock_of("/logs/app/search?by=timestamp", kind);
        assert_eq!(by.as_deref(), Some("timestamp"), "{kind}");
    }
    let rows = server.get("/logs/app/search").data();
    assert_eq!((&rows[0]["message"], &rows[1]["message"]), (&json!("first"), &json!("second")));
    let position = rows[0]["position"].as_str().unwrap();
    let rest = server.get(&format!("/logs/app/search?after={position}")).data();
    assert_eq!(rest.as_array().unwrap().len(), 1);
    // Entries that are written as they are go by their arrival.
    server.post("/logs/own/entries", "application/x-ndjson", b"{\"message\":\"m\"}").data();
    assert_eq!(server.get("/logs/own").data()["clock"], "timestamp");
}
