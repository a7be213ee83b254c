use serde_json::json;

use super::{ARROW, PROTOBUF, STOCKS, ingest, protobuf, server};

#[test]
fn a_table_that_is_not_there_is_500_but_for_its_count() {
    let server = server();
    let told = "Query error: Table 'none' not found";
    for path in ["query", "schema", "row/1", "rows/1"] {
        let error = server.get(&format!("/tables/none/{path}")).error(500);
        assert!(error.contains(told), "{error}");
    }
    for form in ["text/csv", ARROW, PROTOBUF] {
        assert_eq!(server.get_as("/tables/none/query", form).status, 500);
    }
    let count = server.get("/tables/none/count");
    assert_eq!((count.status, count.kind.as_str()), (200, "application/json"));
    assert_eq!(count.text(), format!(r#"{{"success":false,"data":null,"error":"{told}"}}"#));
}

#[test]
fn an_error_has_the_envelope_and_nothing_else() {
    let server = server();
    let answer = server.get("/tables/none/query");
    assert_eq!(answer.kind, "application/json");
    let members: Vec<String> = answer.json().as_object().unwrap().keys().cloned().collect();
    assert_eq!(members, ["data", "error", "success"]);
}

#[test]
fn a_request_that_can_not_be_read_is_400() {
    let server = server();
    ingest(&server, "t", STOCKS);
    for asked in
        ["limit=many", "limit=-1", "limit=", "offset=1.5", "limit=1&limit=2", "start=1&start=2"]
    {
        assert!(!server.get(&format!("/tables/t/query?{asked}")).error(400).is_empty(), "{asked}");
    }
    for id in ["x", "-1", "1.5", "18446744073709551616"] {
        server.get(&format!("/tables/t/row/{id}")).error(400);
    }
    let error = server
        .post("/tables/t/ingest", "text/csv", b"timestamp,symbol\n2024-01-01,\xff\n")
        .error(400);
    assert!(error.contains("UTF-8") && error.contains("byte 28"), "{error}");
    server.post("/tables/new/ingest", "text/csv", b"timestamp\n\xff\n").error(400);
    assert_eq!(server.get("/tables").data(), json!(["t"]));
}

#[test]
fn a_time_of_a_range_that_is_none_is_500() {
    let server = server();
    ingest(&server, "t", STOCKS);
    for asked in ["start=yesterday", "end=", "start=5", "end=01/02/2024"] {
        let error = server.get(&format!("/tables/t/query?{asked}")).error(500);
        assert!(error.contains("Invalid timestamp format"), "{error}");
    }
}

/// That server took such values into a table that is there, and kept zeros and the time of day in their place.
#[test]
fn a_value_of_another_kind_is_500_and_nothing_of_its_body_is_written() {
    let server = server();
    ingest(&server, "t", "id,timestamp,n,f,b\n1,1704067200000,5,1.5,true\n");
    let whole = "2,1704067201000,6,2.5,false";
    for (wrong, named) in [
        ("3,1704067202000,many,1.5,true", "column 'n': \"many\" is no Integer"),
        ("3,1704067202000,1,x,true", "column 'f': \"x\" is no Float"),
        ("3,1704067202000,1,1.5,yes", "column 'b': \"yes\" is no Boolean"),
        ("3,soon,1,1.5,true", "column 'timestamp': \"soon\" is no Timestamp"),
        ("0,1704067202000,1,1.5,true", "column 'id': \"0\" is no Id"),
        ("-1,1704067202000,1,1.5,true", "column 'id': \"-1\" is no Id"),
        ("a,1704067202000,1,1.5,true", "column 'id': \"a\" is no Id"),
        (",1704067202000,1,1.5,true", "some have none"),
        ("3,1704067202000,1,1.5", "line 3"),
    ] {
        let body = format!("id,timestamp,n,f,b\n{whole}\n{wrong}\n");
        let error = server.csv("t", &body).error(500);
        assert!(error.contains(named), "{error}");
        assert!(named.starts_with("line") || error.contains("row 2"), "{error}");
        assert_eq!(server.get("/tables/t/count").data(), json!({ "count": 1 }));
    }
    let update = protobuf(&[&[("id", "1"), ("timestamp", "1704067200000"), ("n", "")]]);
    server.post("/tables/t/ingest", PROTOBUF, &update).error(500);
    assert_eq!(server.get("/tables/t/row/1").data()["n"], 5);
}

#[test]
fn a_body_that_makes_no_table_is_500_and_leaves_none() {
    let server = server();
    for (kind, body) in [
        ("text/csv", &b""[..]),
        ("text/csv", b"id,timestamp,value\n"),
        ("text/csv", b"id,timestamp,value\n0,1704067200000,1\n"),
        ("text/csv", b"id,timestamp,value\n1,1704067200000\n"),
        ("text/csv", b"id,timestamp,value\n1,1704067200000,1\n,1704067201000,2\n"),
        (PROTOBUF, b"\xff\xff\xff\xff"),
        (ARROW, b"\x00\x01\x02\x03"),
        (ARROW, b""),
    ] {
        let error = server.post("/tables/t/ingest", kind, body).error(500);
        assert!(!error.is_empty(), "{kind} {body:?}");
        assert_eq!(server.get("/tables").data(), json!([]));
    }
    let error = server.csv("t", "id,timestamp,value\n").error(500);
    assert!(error.contains("No data rows found"), "{error}");
    // Names that begin so are the store's own.
    server.csv("__t", STOCKS).error(500);
}

#[test]
fn a_body_of_no_rows_for_a_table_that_is_there_is_taken() {
    let server = server();
    ingest(&server, "t", STOCKS);
    assert_eq!(ingest(&server, "t", "timestamp,symbol,price,volume\n")["rows_inserted"], 0);
    for kind in ["text/csv", PROTOBUF] {
        assert_eq!(server.post("/tables/t/ingest", kind, b"").data()["rows_inserted"], 0, "{kind}");
    }
    server.post("/tables/t/ingest", ARROW, b"").error(500);
}

#[test]
fn a_body_that_is_too_long_is_413() {
    let set = [("server.compat", "pulsora"), ("limits.body_bytes_max", "100B")];
    let server = crate::harness::Harness::with(&set, None);
    let error = server.csv("t", STOCKS).error(413);
    assert!(error.contains("body_bytes_max"), "{error}");
    assert_eq!(server.get("/tables").data(), json!([]));
}

#[test]
fn paths_and_methods_that_are_not_there_are_told_by_their_status() {
    let server = server();
    assert_eq!(server.get("/nowhere").status, 404);
    assert_eq!(server.delete("/tables/t/query").status, 405);
    assert_eq!(server.get("/tables/t/ingest").status, 405);
}
