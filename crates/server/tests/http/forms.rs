use std::io::Cursor;

use arrow_array::cast::AsArray;
use arrow_array::types::Float64Type;
use arrow_ipc::reader::StreamReader;
use serde_json::json;

use crate::harness::{Harness, TRADES};

const ARROW: &str = "application/vnd.apache.arrow.stream";

#[test]
fn answers_have_the_form_that_is_accepted() {
    let server = Harness::new();
    server.csv("t", TRADES).data();
    let path = "/tables/t/query?columns=timestamp,price";
    let json = server.get(path);
    assert_eq!(json.kind, "application/json");
    let first = json!({ "timestamp": "2024-05-01T10:00:00Z", "price": 1.5 });
    assert_eq!(json.data()[0], first);
    let csv = server.get_as(path, "text/csv");
    assert_eq!(csv.kind, "text/csv");
    assert!(
        csv.text().starts_with("timestamp,price\n2024-05-01T10:00:00Z,1.5\n"),
        "{}",
        csv.text()
    );
    let arrow = server.get_as(path, ARROW);
    assert_eq!(arrow.kind, ARROW);
    let batches: Vec<_> =
        StreamReader::try_new(Cursor::new(arrow.body), None).unwrap().map(Result::unwrap).collect();
    assert_eq!(batches[0].column(1).as_primitive::<Float64Type>().values(), &[1.5, 3.5, 2.5]);
    let proto = server.get_as(path, "application/x-protobuf");
    assert_eq!(proto.kind, "application/x-protobuf");
    assert!(!proto.body.is_empty());
    // The first that is known counts.
    assert_eq!(server.get_as(path, "text/html, text/csv;q=0.9").kind, "text/csv");
    assert!(server.get_as(path, "image/png").error(406).contains("answers are"));
}

#[test]
fn what_goes_out_comes_in_again() {
    let server = Harness::new();
    server.csv("t", TRADES).data();
    let all = server.get("/tables/t/query").data();
    for (index, kind) in ["text/csv", ARROW, "application/x-protobuf"].iter().enumerate() {
        let body = server.get_as("/tables/t/query", kind).body;
        let copy = format!("copy{index}");
        let done = server.post(&format!("/tables/{copy}/ingest"), kind, &body).data();
        assert_eq!(done["rows_inserted"], 3, "{kind}");
        assert_eq!(server.get(&format!("/tables/{copy}/query")).data(), all, "{kind}");
    }
    let lines: String = all.as_array().unwrap().iter().map(|row| format!("{row}\n")).collect();
    server.post("/tables/lines/ingest", "application/x-ndjson", lines.as_bytes()).data();
    assert_eq!(server.get("/tables/lines/query").data(), all);
}

#[test]
fn long_answers_are_streamed_whole() {
    let server = Harness::with(&[("limits.rows_max", "5000")], None);
    let rows = 200_000;
    let body: String = (0..rows).map(|row| format!("{},{row}\n", 1_700_000_000 + row)).collect();
    server.csv("t", &format!("timestamp,x\n{body}")).data();
    let csv = server.get_as("/tables/t/query?limit=none", "text/csv");
    assert_eq!(csv.text().lines().count(), rows + 1);
    assert!(csv.text().ends_with(&format!(",{}\n", rows - 1)));
    let arrow = server.get_as("/tables/t/query?limit=none", ARROW).body;
    let batches = StreamReader::try_new(Cursor::new(arrow), None).unwrap();
    assert_eq!(batches.map(|batch| batch.unwrap().num_rows()).sum::<usize>(), rows);
    assert!(server.get("/tables/t/query?limit=6000").error(400).contains("at most 5000 rows"));
    assert!(server.get("/tables/t/query?limit=none").error(400).contains("'none' for CSV"));
    let all = server.sql("SELECT * FROM t", serde_json::Value::Null);
    assert!(all.error(400).contains("more than 5000 rows"));
}
