use std::io::Write;

use serde_json::{Value, json};

use crate::harness::{Harness, TRADES};

#[test]
fn a_declared_key_and_time() {
    let server = Harness::new();
    let path = "/tables/t/ingest?time=timestamp&key=symbol,timestamp&tags=symbol";
    server.post(path, "text/csv", TRADES.as_bytes()).data();
    server.post(path, "text/csv", TRADES.as_bytes()).data();
    assert_eq!(server.get("/tables/t/count").data(), json!({ "count": 3 }));
    let schema = server.get("/tables/t/schema").data();
    assert_eq!(
        (&schema["key"], &schema["tags"]),
        (&json!(["symbol", "timestamp"]), &json!(["symbol"]))
    );
}

#[test]
fn bad_rows_can_be_skipped_and_are_listed() {
    let server = Harness::new();
    server.csv("typed", "timestamp,x\n2024-01-01,1\n").data();
    let body = "timestamp,x\n2024-01-01,1\n2024-01-02,many\n2024-01-03,3\n";
    let error = server.csv("typed", body).error(400);
    for word in ["line 3", "'x'", "many"] {
        assert!(error.contains(word), "{error}");
    }
    assert_eq!(server.get("/tables/typed/count").data(), json!({ "count": 1 }));
    // Of what comes first the type is told: here of numbers.
    let long: String = (0..30_000).map(|row| format!("{},{row}\n", 1_700_000_000 + row)).collect();
    let body = format!("timestamp,x\n{long}1700040000,many\n");
    let path = "/tables/t/ingest?on_error=skip";
    let done = server.post(path, "text/csv", body.as_bytes()).data();
    assert_eq!((&done["rows_inserted"], &done["skipped"]["count"]), (&json!(30_000), &json!(1)));
    let first = done["skipped"]["first"][0].as_str().unwrap();
    assert!(first.contains("30002") && first.contains("many"), "{first}");
}

#[test]
fn columns_widen_for_bodies_where_that_is_asked_for() {
    let server = Harness::new();
    server.csv("t", "time,x\n2024-01-01,1\n").data();
    let line = br#"{"time": "2024-01-02", "x": 2.5}"#;
    let kind = "application/x-ndjson";
    let refused = server.post("/tables/t/ingest", kind, line).error(400);
    assert!(refused.contains("'x'") && refused.contains("2.5"), "{refused}");
    server.post("/tables/t/ingest?on_mismatch=widen", kind, line).data();
    let text = b"time,x\n2024-01-03,many\n";
    server.post("/tables/t/ingest?on_mismatch=widen", "text/csv", text).data();
    let rows = server.sql("SELECT x FROM t ORDER BY time", Value::Null).data();
    assert_eq!(rows, json!([{ "x": "1.0" }, { "x": "2.5" }, { "x": "many" }]));
}

#[test]
fn packed_bodies() {
    let server = Harness::new();
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), Default::default());
    packed.write_all(TRADES.as_bytes()).unwrap();
    let packed = packed.finish().unwrap();
    server.post("/tables/t/ingest", "text/csv", &packed).data();
    assert_eq!(server.get("/tables/t/count").data(), json!({ "count": 3 }));
    let error = server.post("/tables/u/ingest", "text/csv", &packed[..packed.len() / 2]).error(400);
    assert!(!error.is_empty());
    assert_eq!(server.get("/tables").data(), json!(["t"]));
}

#[test]
fn many_clients_at_once_are_each_whole() {
    let server = Harness::new();
    let clients = 8;
    std::thread::scope(|scope| {
        for client in 0..clients {
            let server = &server;
            scope.spawn(move || {
                for part in 0..5 {
                    let body: String = (0..100)
                        .map(|row| format!("{},{client}\n", 1_700_000_000 + part * 100 + row))
                        .collect();
                    let done = server.csv("t", &format!("timestamp,client\n{body}")).data();
                    assert_eq!(done["rows_inserted"], 100);
                }
            });
        }
    });
    let query = "SELECT client, count(*) AS n FROM t GROUP BY client ORDER BY client";
    let rows = server.sql(query, serde_json::Value::Null).data();
    let expected: Vec<_> = (0..clients).map(|c| json!({ "client": c, "n": 500 })).collect();
    assert_eq!(rows, json!(expected));
}

#[test]
fn a_table_without_ids_a_unit_of_times_and_a_packing_can_be_asked_for() {
    let server = Harness::new();
    let body = b"time,x\n5,1\n7,2\n";
    let path = "/tables/t/ingest?ids=false&time_unit=s&compression=zstd:3";
    server.post(path, "text/csv", body).data();
    let rows = server.get("/tables/t/query").data();
    assert_eq!(rows[1], json!({ "time": "1970-01-01T00:00:07Z", "x": 2 }));
    server.post("/tables/numbered/ingest?time_unit=s", "text/csv", body).data();
    assert_eq!(server.get("/tables/numbered/query").data()[1]["id"], 2);
    let keyed = "/tables/keyed/ingest?key=x&ids=true";
    server.post(keyed, "text/csv", body).error(400);
    for wrong in ["ids=maybe", "time_unit=h", "compression=zip"] {
        server.post(&format!("/tables/u/ingest?{wrong}"), "text/csv", body).error(400);
    }
}

#[test]
fn a_refusal_names_the_parameter_that_helps_and_that_parameter_helps() {
    let server = Harness::new();
    for (body, told, helps) in [
        ("a\n1\n", "time_of_load=true", "time_of_load=true"),
        (
            "day,v\n1/2/2024,1\n3/4/2024,2\n",
            "time_format=%25m/%25d/%25Y",
            "time_format=%25m/%25d/%25Y",
        ),
        ("time,v\n306,1\n", "time_unit=s", "time=time&time_unit=s"),
        ("time,a,b\n2024-01-01,1\n", "fill_short_rows=true", "fill_short_rows=true"),
        ("time,v\n2024-01-01,1\n%\n", "fill_short_rows=true", "comment=%25"),
    ] {
        let refused = server.post("/tables/t/ingest", "text/csv", body.as_bytes()).error(400);
        assert!(refused.contains(told), "{refused}");
        let path = format!("/tables/t/ingest?{helps}");
        server.post(&path, "text/csv", body.as_bytes()).data();
        server.delete("/tables/t").data();
    }
    let error = server.post("/tables/t/ingest?quote=ab", "text/csv", b"a\n1\n").error(400);
    assert!(error.contains("quote 'ab': it must be one ASCII character"), "{error}");
}

#[test]
fn a_dry_run_tells_what_would_be_made_of_a_body_and_makes_nothing() {
    let server = Harness::new();
    let body = "day;amount\n31.01.2024;1,5\n01.02.2024;2\n";
    let told = server.post("/tables/t/ingest?dry_run=true", "text/csv", body.as_bytes()).data();
    assert_eq!((&told["rows"], &told["delimiter"]), (&json!(2), &json!(";")));
    assert_eq!((&told["timestamp_column"], &told["refusal"]), (&json!("day"), &Value::Null));
    let columns = told["columns"].as_array().unwrap();
    assert_eq!(columns[0]["note"], json!("day before month"));
    assert_eq!(
        (&columns[1]["data_type"], &columns[1]["note"]),
        (&json!("Float64"), &json!("decimal comma"))
    );
    assert_eq!(server.get("/tables").data(), json!([]));
    let told = server.post("/tables/t/ingest?dry_run=true", "text/csv", b"a,b\n1,2\n").data();
    assert!(told["refusal"].as_str().unwrap().contains("time_of_load=true"), "{told}");
}
