use std::io::Write;
use std::sync::Arc;

use arrow_array::{
    ArrayRef, BooleanArray, Float64Array, Int64Array, RecordBatch, StringArray,
    TimestampNanosecondArray,
};
use arrow_ipc::writer::StreamWriter;
use serde_json::{Value, json};

use super::{ARROW, PROTOBUF, STOCKS, column, ingest, protobuf, rows, server};

fn stream(columns: Vec<(&str, ArrayRef)>) -> Vec<u8> {
    let rows = RecordBatch::try_from_iter(columns).unwrap();
    let mut stream = StreamWriter::try_new(Vec::new(), &rows.schema()).unwrap();
    stream.write(&rows).unwrap();
    stream.into_inner().unwrap()
}

#[test]
fn numbers_and_truths_keep_their_values() {
    let server = server();
    let body = format!(
        "id,timestamp,i,f,b\n1,1704067200000,{},4.14159265359,true\n2,1704067201000,{},-9.87e-5,FALSE\n\
         3,1704067202000,007,1.23e10,True\n",
        i64::MAX,
        i64::MIN
    );
    ingest(&server, "t", &body);
    let found = rows(&server, "/tables/t/query");
    assert_eq!(column(&found, "i"), json!([i64::MAX, i64::MIN, 7]));
    assert_eq!(column(&found, "f"), json!([4.14159265359, -9.87e-5, 1.23e10]));
    assert_eq!(column(&found, "b"), json!([true, false, true]));
    // Later bodies are read by the columns' kinds, and the names of the columns count, not their order.
    ingest(&server, "t", "f,b,i,timestamp,id\n1,TRUE,+5,2024-01-01T00:00:03Z,4\n");
    let row = server.get("/tables/t/row/4").data();
    assert_eq!(
        row,
        json!({ "b": true, "f": 1.0, "i": 5, "id": 4, "timestamp": 1_704_067_203_000_i64 })
    );
}

/// A value of no characters is text where it is one of those that tell a column's kind, and nothing later on.
#[test]
fn blanks_are_text_in_the_first_body_and_left_out_in_later_ones() {
    let server = server();
    ingest(&server, "t", "id,timestamp,note,n\n1,1704067200000,,\n2,1704067201000,x,5\n");
    ingest(&server, "t", "id,timestamp,note,n\n3,1704067202000,,7\n");
    let found = rows(&server, "/tables/t/query");
    assert_eq!(column(&found, "note"), json!(["", "x", "none"]));
    // A blank among numbers makes them text.
    assert_eq!(column(&found, "n"), json!(["", "5", "7"]));
    ingest(&server, "numbers", "id,timestamp,n\n1,1704067200000,5\n");
    ingest(&server, "numbers", "id,timestamp,n\n2,1704067201000,\n");
    assert_eq!(column(&rows(&server, "/tables/numbers/query"), "n"), json!([5, "none"]));
}

#[test]
fn what_looks_like_numbers_or_times_in_one_row_and_not_in_another_is_text() {
    let server = server();
    let body = "id,ts_unix,ts_rfc3339,ts_naive,code\n\
                1,1704067200,2024-01-01T00:00:00Z,2024-01-01 12:00:00,7\n\
                2,1704067201000,2024-01-01T00:00:01Z,2024-01-02 13:30:45,x7\n";
    ingest(&server, "t", body);
    let row = server.get("/tables/t/row/2").data();
    let expected = json!({
        "code": "x7",
        "id": 2,
        "ts_naive": "2024-01-02T13:30:45+00:00",
        "ts_rfc3339": "2024-01-01T00:00:01+00:00",
        "ts_unix": "1704067201000",
    });
    assert_eq!(row, expected);
    let time = &server.get("/tables/t/schema").data()["timestamp_column"];
    assert_eq!(time, "ts_naive");
}

#[test]
fn seconds_since_1970_are_times_whatever_their_column_is_called() {
    let server = server();
    ingest(&server, "t", "seen,n\n1704103200,1\n1704103201,2\n");
    let found = rows(&server, "/tables/t/query?start=1704103201");
    assert_eq!(column(&found, "seen"), json!(["2024-01-01T10:00:01+00:00"]));
}

#[test]
fn a_row_replaces_the_one_of_its_id_at_whatever_time() {
    let server = server();
    ingest(&server, "t", "id,timestamp,value\n1,1704067200000,100\n2,1704067201000,200\n");
    ingest(&server, "t", "id,timestamp,value\n2,1704067203000,250\n");
    let found = rows(&server, "/tables/t/query");
    assert_eq!((column(&found, "id"), column(&found, "value")), (json!([1, 2]), json!([100, 250])));
    assert_eq!(server.get("/tables/t/count").data(), json!({ "count": 2 }));
    // Of several in one body the last counts.
    ingest(
        &server,
        "u",
        "id,timestamp,value\n1,1704067200000,1\n1,1704067201000,2\n1,1704067202000,3\n",
    );
    assert_eq!(column(&rows(&server, "/tables/u/query"), "value"), json!([3]));
}

#[test]
fn rows_without_an_id_are_given_one_that_no_other_has() {
    let server = server();
    ingest(&server, "t", "timestamp,value\n1704067200000,1\n1704067201000,2\n");
    ingest(&server, "t", "id,timestamp,value\n,1704067202000,3\n ,1704067203000,4\n");
    ingest(&server, "t", "id,timestamp,value\n70,1704067204000,5\n");
    ingest(&server, "t", "timestamp,value\n1704067205000,6\n");
    let ids = column(&rows(&server, "/tables/t/query"), "id");
    assert_eq!(ids, json!([1, 2, 3, 4, 70, 71]));
}

#[test]
fn rows_that_bring_no_time_have_that_of_their_arrival_which_is_not_shown() {
    let server = server();
    ingest(&server, "t", "id,value\n1,100\n2,200\n");
    ingest(&server, "t", "id,value\n3,300\n");
    let expected = json!([
        { "id": 1, "value": 100 }, { "id": 2, "value": 200 }, { "id": 3, "value": 300 },
    ]);
    assert_eq!(server.get("/tables/t/query").data(), expected);
    let csv = server.get_as("/tables/t/query", "text/csv");
    assert_eq!(csv.text(), "id,value\n1,100\n2,200\n3,300\n");
    let schema = server.get("/tables/t/schema").data();
    assert_eq!(schema["timestamp_column"], Value::Null);
    assert_eq!(schema["column_order"], json!(["id", "value"]));
    // By it a range is asked for, and by its name it is found elsewhere.
    assert_eq!(rows(&server, "/tables/t/query?start=2020-01-01T00:00:00Z").len(), 3);
    assert_eq!(rows(&server, "/tables/t/query?end=2020-01-01T00:00:00Z").len(), 0);
    let sql = "SELECT count(DISTINCT _ingested_at) AS bodies FROM t";
    assert_eq!(server.sql(sql, Value::Null).data(), json!([{ "bodies": 2 }]));
    // Numbers of another range are no times, be their column called so.
    ingest(&server, "took", "id,response_time\n1,35\n");
    assert_eq!(server.get("/tables/took/query").data(), json!([{ "id": 1, "response_time": 35 }]));
}

#[test]
fn later_rows_without_the_time_have_that_of_their_arrival() {
    let server = server();
    ingest(&server, "t", "id,timestamp,value\n1,1704067200000,1\n");
    ingest(&server, "t", "id,value\n2,2\n");
    ingest(&server, "t", "id,timestamp,value\n3,,3\n");
    let found = rows(&server, "/tables/t/query?start=1767225600000");
    assert_eq!(column(&found, "value"), json!([2, 3]));
    assert!(found.iter().all(|row| row["timestamp"].is_u64()), "{found:?}");
}

#[test]
fn a_column_that_is_missing_is_left_out_and_a_new_one_is_added() {
    let server = server();
    ingest(&server, "t", "id,timestamp,value\n1,1704067200000,100\n");
    ingest(&server, "t", "id,timestamp\n2,1704067201000\n");
    ingest(&server, "t", "id,timestamp,value,extra\n3,1704067202000,300,bonus\n");
    let found = rows(&server, "/tables/t/query");
    assert_eq!(column(&found, "value"), json!([100, "none", 300]));
    assert_eq!(column(&found, "extra"), json!(["none", "none", "bonus"]));
}

#[test]
fn protobuf_bodies_are_maps_of_text() {
    let server = server();
    let body = protobuf(&[
        &[("id", "1"), ("timestamp", "1704067200000"), ("i", "42"), ("s", "Hello 世界 🚀")],
        &[("id", "2"), ("timestamp", "1704067201000"), ("i", "-100"), ("b", "true")],
    ]);
    for (table, kind) in [("t", PROTOBUF), ("u", "application/protobuf")] {
        let done = server.post(&format!("/tables/{table}/ingest"), kind, &body).data();
        assert_eq!(done["rows_inserted"], 2);
        let expected = json!([
            { "i": 42, "id": 1, "s": "Hello 世界 🚀", "timestamp": 1_704_067_200_000_i64 },
            { "b": true, "i": -100, "id": 2, "timestamp": 1_704_067_201_000_i64 },
        ]);
        assert_eq!(server.get(&format!("/tables/{table}/query")).data(), expected);
    }
    let update = protobuf(&[&[("id", "1"), ("timestamp", "1704067209000"), ("i", "7"), ("s", "")]]);
    server.post("/tables/t/ingest", PROTOBUF, &update).data();
    let row = server.get("/tables/t/row/1").data();
    assert_eq!((&row["i"], &row["s"]), (&json!(7), &json!("")));
    let none = server.post("/tables/none/ingest", PROTOBUF, b"").data();
    assert_eq!(none["rows_inserted"], 0);
    assert_eq!(server.get("/tables").data(), json!(["t", "u"]));
}

#[test]
fn arrow_bodies_keep_their_types_and_whole_numbers_called_timestamp_are_times() {
    let server = server();
    let body = stream(vec![
        ("id", Arc::new(Int64Array::from(vec![1, 2]))),
        ("timestamp", Arc::new(Int64Array::from(vec![Some(1_704_067_200_000), None]))),
        ("f", Arc::new(Float64Array::from(vec![Some(3.5), None]))),
        ("s", Arc::new(StringArray::from(vec!["hello", ""]))),
        ("b", Arc::new(BooleanArray::from(vec![true, false]))),
    ]);
    for (table, kind) in [("t", ARROW), ("u", "application/arrow")] {
        let done = server.post(&format!("/tables/{table}/ingest"), kind, &body).data();
        assert_eq!(done["rows_inserted"], 2);
        let found = rows(&server, &format!("/tables/{table}/query"));
        let first = json!({ "b": true, "f": 3.5, "id": 1, "s": "hello", "timestamp": "2024-01-01T00:00:00+00:00" });
        assert_eq!(found[0], first);
        // It has the time of its arrival.
        assert!(found[1]["timestamp"].as_str().unwrap() > "2025", "{}", found[1]);
        let schema = server.get(&format!("/tables/{table}/schema")).data();
        assert_eq!(schema["column_order"], json!(["id", "timestamp", "f", "s", "b"]));
    }
    // Bodies of other forms go on with it.
    ingest(&server, "t", "id,timestamp,f,s\n3,1704067201000,4,x\n");
    let later = stream(vec![
        ("id", Arc::new(Int64Array::from(vec![4]))),
        ("timestamp", Arc::new(Int64Array::from(vec![1_704_067_202_000]))),
        ("f", Arc::new(Float64Array::from(vec![5.0]))),
    ]);
    server.post("/tables/t/ingest", ARROW, &later).data();
    let found = rows(&server, "/tables/t/query?end=1704067299");
    assert_eq!(column(&found, "f"), json!([3.5, 4.0, 5.0]));
    assert_eq!(found[2]["timestamp"], "2024-01-01T00:00:02+00:00");
    // Rows without id and time are given both.
    let bare = stream(vec![("s", Arc::new(StringArray::from(vec!["bare"])))]);
    let nulls = stream(vec![
        ("id", Arc::new(Int64Array::from(vec![None]))),
        ("timestamp", Arc::new(Int64Array::from(vec![None]))),
        ("s", Arc::new(StringArray::from(vec!["nulls"]))),
    ]);
    for body in [bare, nulls] {
        server.post("/tables/t/ingest", ARROW, &body).data();
    }
    let found = rows(&server, "/tables/t/query?start=2025-01-01T00:00:00Z");
    assert_eq!(column(&found, "s"), json!(["", "bare", "nulls"]));
    assert_eq!(column(&found, "id"), json!([2, 5, 6]));
}

#[test]
fn arrow_times_of_any_unit_and_rows_without_any_are_taken() {
    let server = server();
    let times = TimestampNanosecondArray::from(vec![1_704_067_200_000_000_001]);
    server.post("/tables/t/ingest", ARROW, &stream(vec![("at", Arc::new(times))])).data();
    let later =
        TimestampNanosecondArray::from(vec![1_704_067_200_000_000_002]).with_timezone("+02:00");
    server.post("/tables/t/ingest", ARROW, &stream(vec![("at", Arc::new(later))])).data();
    let expected = json!([
        { "at": "2024-01-01T00:00:00.000000001+00:00", "id": 1 },
        { "at": "2024-01-01T00:00:00.000000002+00:00", "id": 2 },
    ]);
    assert_eq!(server.get("/tables/t/query").data(), expected);
    let body = stream(vec![("n", Arc::new(Int64Array::from(vec![5])))]);
    server.post("/tables/u/ingest", ARROW, &body).data();
    server.post("/tables/u/ingest", ARROW, &body).data();
    assert_eq!(
        server.get("/tables/u/query").data(),
        json!([{ "id": 1, "n": 5 }, { "id": 2, "n": 5 }])
    );
}

#[test]
fn what_is_not_called_otherwise_is_csv() {
    let server = server();
    for (n, kind) in
        ["application/x-www-form-urlencoded", "text/plain", "application/json"].iter().enumerate()
    {
        let done = server.post(&format!("/tables/t{n}/ingest"), kind, STOCKS.as_bytes()).data();
        assert_eq!(done["rows_inserted"], 3, "{kind}");
    }
    // Days and months that can't be told apart are no times here.
    ingest(&server, "days", "id,date\n1,1/2/2024\n");
    assert_eq!(server.get("/tables/days/row/1").data()["date"], "1/2/2024");
    // Nothing but a comma parts fields.
    ingest(&server, "u", "id,time,a;b\n1,2024-01-01,x;y\n");
    assert_eq!(server.get("/tables/u/row/1").data()["a;b"], "x;y");
}

#[test]
fn packed_bodies_are_unpacked() {
    let server = server();
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), Default::default());
    packed.write_all(STOCKS.as_bytes()).unwrap();
    let packed = packed.finish().unwrap();
    let encoding = ("content-encoding", "gzip");
    for _ in 0..2 {
        server.post_with("/tables/t/ingest", encoding, "text/csv", &packed).data();
    }
    assert_eq!(server.get("/tables/t/count").data(), json!({ "count": 6 }));
}

#[test]
fn bodies_that_come_at_once_make_one_table_and_are_each_whole() {
    let server = server();
    std::thread::scope(|scope| {
        for client in 0..6_i64 {
            let server = &server;
            scope.spawn(move || {
                let row =
                    |n: i64| format!("{},{},{n}\n", client * 100 + n + 1, 1_704_067_200_000 + n);
                let body: String = (0..100).map(row).collect();
                let done = ingest(server, "t", &format!("id,timestamp,value\n{body}"));
                assert_eq!(done["rows_inserted"], 100);
            });
        }
    });
    assert_eq!(server.get("/tables/t/count").data(), json!({ "count": 600 }));
    assert_eq!(
        column(&rows(&server, "/tables/t/query?limit=1"), "timestamp"),
        json!([1_704_067_200_000_i64])
    );
}
