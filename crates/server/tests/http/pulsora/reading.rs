use std::io::Cursor;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int64Type, UInt64Type};
use arrow_ipc::reader::StreamReader;
use arrow_schema::DataType;
use serde_json::{Value, json};

use super::{ARROW, PROTOBUF, STOCKS, column, ingest, rows, server};

/// Ten rows, a second apart, whose times came as milliseconds.
fn ten() -> String {
    let row = |n: i64| format!("{n},{},{}\n", 1_704_067_200_000 + (n - 1) * 1_000, n * 10);
    format!("id,timestamp,value\n{}", (1..=10).map(row).collect::<String>())
}

#[test]
fn health_and_tables_are_in_the_envelope() {
    let server = server();
    let health = server.get("/health");
    assert_eq!((health.status, health.kind.as_str()), (200, "application/json"));
    let version = env!("CARGO_PKG_VERSION");
    let expected = format!(
        r#"{{"success":true,"data":{{"status":"healthy","version":"{version}"}},"error":null}}"#
    );
    assert_eq!(health.text(), expected);
    assert_eq!(server.get("/tables").text(), r#"{"success":true,"data":[],"error":null}"#);
    ingest(&server, "stocks", STOCKS);
    ingest(&server, "bonds", STOCKS);
    assert_eq!(server.get("/tables").data(), json!(["bonds", "stocks"]));
}

#[test]
fn rows_have_sorted_members_numbers_as_numbers_and_times_with_an_offset() {
    let server = server();
    let done = ingest(&server, "stocks", STOCKS);
    assert_eq!(done["rows_inserted"], 3);
    assert!(done["processing_time_ms"].is_u64(), "{done}");
    let answer = server.get("/tables/stocks/query?limit=2");
    assert_eq!(answer.kind, "application/json");
    let expected = concat!(
        r#"{"success":true,"data":["#,
        r#"{"id":1,"price":150.0,"symbol":"AAPL","timestamp":"2024-01-01T09:30:00+00:00","volume":1000},"#,
        r#"{"id":2,"price":150.25,"symbol":"AAPL","timestamp":"2024-01-01T09:31:00+00:00","volume":1500}"#,
        r#"],"error":null}"#
    );
    assert_eq!(answer.text(), expected);
    let row = server.get("/tables/stocks/row/3").data();
    assert_eq!(
        (&row["price"], &row["timestamp"]),
        (&json!(149.75), &json!("2024-01-01T09:32:00+00:00"))
    );
    // Its documents call the path so.
    assert_eq!(server.get("/tables/stocks/rows/3").data(), row);
    assert_eq!(
        server.get("/tables/stocks/row/4").text(),
        r#"{"success":true,"data":null,"error":null}"#
    );
    assert_eq!(
        server.get("/tables/stocks/count").text(),
        r#"{"success":true,"data":{"count":3},"error":null}"#
    );
}

#[test]
fn the_schema_tells_kinds_in_the_words_of_that_server() {
    let server = server();
    ingest(&server, "stocks", STOCKS);
    let schema = server.get("/tables/stocks/schema").data();
    let of = |name: &str, kind: &str| json!({ "name": name, "data_type": kind, "nullable": name != "id" });
    let columns = [
        of("id", "Id"),
        of("price", "Float"),
        of("symbol", "String"),
        of("timestamp", "Timestamp"),
        of("volume", "Integer"),
    ];
    assert_eq!(schema["columns"], json!(columns));
    assert_eq!(schema["column_order"], json!(["id", "price", "symbol", "timestamp", "volume"]));
    assert_eq!(schema["table_name"], "stocks");
    assert_eq!(
        (&schema["timestamp_column"], &schema["id_column"]),
        (&json!("timestamp"), &json!("id"))
    );
    let created = schema["created_at"].as_str().unwrap();
    assert!(created.ends_with('Z') && created.starts_with("20"), "{created}");
    let members: Vec<&String> = schema.as_object().unwrap().keys().collect();
    let known =
        ["column_order", "columns", "created_at", "id_column", "table_name", "timestamp_column"];
    assert_eq!(members, known);
    ingest(&server, "flags", "id,timestamp,ok\n1,1704067200000,true");
    let schema = server.get("/tables/flags/schema").data();
    let columns = [of("id", "Id"), of("ok", "Boolean"), of("timestamp", "Integer")];
    assert_eq!(schema["columns"], json!(columns));
    assert_eq!(schema["timestamp_column"], "timestamp");
}

#[test]
fn times_that_came_as_milliseconds_are_numbers_and_both_ends_of_a_range_are_in_it() {
    let server = server();
    ingest(&server, "t", &ten());
    let all = rows(&server, "/tables/t/query");
    assert_eq!(all[0], json!({ "id": 1, "timestamp": 1_704_067_200_000_i64, "value": 10 }));
    let ids = |range: &str| column(&rows(&server, &format!("/tables/t/query?{range}")), "id");
    assert_eq!(ids("start=1704067201000&end=1704067203000"), json!([2, 3, 4]));
    assert_eq!(ids("start=1704067201&end=1704067203"), json!([2, 3, 4]));
    assert_eq!(ids("start=2024-01-01T00:00:01Z&end=2024-01-01T00:00:03Z"), json!([2, 3, 4]));
    assert_eq!(ids("start=2024-01-01%2000:00:01&end=2024-01-01T00:00:03"), json!([2, 3, 4]));
    assert_eq!(ids("start=1704067208000"), json!([9, 10]));
    assert_eq!(ids("end=1704067200999"), json!([1]));
    assert_eq!(ids("end=1704067199999"), json!([]));
    assert_eq!(ids("start=1704067203000&end=1704067201000"), json!([]));
    // A day, as its documents have it.
    assert_eq!(ids("start=2024-01-01&end=2024-01-02&limit=1"), json!([1]));
    // What it doesn't know it doesn't mind.
    assert_eq!(ids("end=1704067200000&end_inclusive=false&format=json&at=0"), json!([1]));
}

/// Of a time that is finer the millisecond counts that it is in.
#[test]
fn ends_of_ranges_are_whole_milliseconds() {
    let server = server();
    ingest(&server, "t", "time,x\n2024-01-01T00:00:00.001900Z,1\n2024-01-01T00:00:00.002Z,2\n");
    let found = rows(&server, "/tables/t/query?start=1704067200001&end=1704067200001");
    assert_eq!(column(&found, "x"), json!([1]));
    assert_eq!(column(&found, "time"), json!(["2024-01-01T00:00:00.001900+00:00"]));
}

#[test]
fn pages_are_of_1000_rows_unless_a_limit_is_given_and_follow_each_other() {
    let server = server();
    let row = |n: i64| format!("{n},{},{n}\n", 1_704_067_200_000 + n);
    let body: String = (1..=1_500).map(row).collect();
    ingest(&server, "t", &format!("id,timestamp,value\n{body}"));
    let count = |page: &str| rows(&server, &format!("/tables/t/query?{page}")).len();
    assert_eq!(count(""), 1_000);
    assert_eq!(count("offset=900"), 600);
    assert_eq!((count("limit=1500"), count("limit=100000")), (1_500, 1_500));
    assert_eq!((count("limit=0"), count("limit=5&offset=1500")), (0, 0));
    let ids = |page: &str| column(&rows(&server, &format!("/tables/t/query?{page}")), "id");
    assert_eq!(ids("limit=3"), json!([1, 2, 3]));
    assert_eq!(ids("limit=3&offset=3"), json!([4, 5, 6]));
}

#[test]
fn rows_come_in_the_order_of_their_times() {
    let server = server();
    ingest(
        &server,
        "t",
        "id,timestamp,v\n3,1704067202000,30\n1,1704067200000,10\n2,1704067201000,20",
    );
    ingest(&server, "t", "id,timestamp,v\n4,1704067199000,40");
    assert_eq!(column(&rows(&server, "/tables/t/query"), "id"), json!([4, 1, 2, 3]));
}

#[test]
fn csv_has_the_id_first_and_the_other_columns_by_their_names() {
    let server = server();
    let body = "id,timestamp,price,note,ok\n1,2024-01-01 09:30:00,150.00,\"a, \"\"b\"\"\",true\n";
    ingest(&server, "t", body);
    ingest(&server, "t", "id,timestamp,price\n2,2024-01-01 09:31:00,0.00001\n");
    let answer = server.get_as("/tables/t/query", "text/csv, */*;q=0.1");
    assert_eq!((answer.status, answer.kind.as_str()), (200, "text/csv"));
    let expected = "id,note,ok,price,timestamp\n\
                    1,\"a, \"\"b\"\"\",true,150,2024-01-01T09:30:00+00:00\n\
                    2,,,0.00001,2024-01-01T09:31:00+00:00\n";
    assert_eq!(answer.text(), expected);
    let none = server.get_as("/tables/t/query?limit=0", "text/csv");
    assert_eq!(none.text(), "id,note,ok,price,timestamp\n");
}

#[test]
fn arrow_has_times_as_milliseconds() {
    let server = server();
    ingest(&server, "stocks", STOCKS);
    for accept in [ARROW, "application/arrow"] {
        let answer = server.get_as("/tables/stocks/query?limit=2&offset=1", accept);
        assert_eq!(answer.kind, ARROW);
        let stream = StreamReader::try_new(Cursor::new(answer.body), None).unwrap();
        let fields: Vec<(String, DataType, bool)> = stream
            .schema()
            .fields()
            .iter()
            .map(|field| (field.name().clone(), field.data_type().clone(), field.is_nullable()))
            .collect();
        let of = |name: &str, data_type: DataType| (name.to_owned(), data_type, true);
        let expected = [
            of("id", DataType::UInt64),
            of("price", DataType::Float64),
            of("symbol", DataType::Utf8),
            of("timestamp", DataType::Int64),
            of("volume", DataType::Int64),
        ];
        assert_eq!(fields, expected);
        let batches: Vec<_> = stream.map(Result::unwrap).collect();
        assert_eq!(batches.iter().map(arrow_array::RecordBatch::num_rows).sum::<usize>(), 2);
        assert_eq!(batches[0].column(0).as_primitive::<UInt64Type>().value(0), 2);
        assert_eq!(batches[0].column(3).as_primitive::<Int64Type>().value(0), 1_704_101_460_000);
    }
}

#[test]
fn protobuf_has_values_as_json_writes_them() {
    let server = server();
    ingest(&server, "t", "id,timestamp,price,far,ok\n1,2024-01-01 09:30:00,150.00,1e300,true\n");
    for accept in [PROTOBUF, "application/protobuf"] {
        let answer = server.get_as("/tables/t/query", accept);
        assert_eq!(answer.kind, PROTOBUF);
        let expected = super::protobuf(&[&[
            ("far", "1e+300"),
            ("id", "1"),
            ("ok", "true"),
            ("price", "150.0"),
            ("timestamp", "2024-01-01T09:30:00+00:00"),
        ]]);
        assert_eq!(answer.body, expected);
    }
}

#[test]
fn what_accept_asks_for_and_is_not_there_is_json() {
    let server = server();
    ingest(&server, "stocks", STOCKS);
    for accept in ["image/png", "text/html", "*/*", "application/x-ndjson"] {
        let answer = server.get_as("/tables/stocks/query", accept);
        assert_eq!((answer.status, answer.kind.as_str()), (200, "application/json"));
        assert_eq!(answer.data().as_array().unwrap().len(), 3);
    }
}

/// Tables of which that server knew nothing.
#[test]
fn tables_that_were_made_otherwise_are_shown_in_the_same_kinds() {
    let server = server();
    let made = "CREATE TABLE other AS SELECT TIMESTAMP '2024-01-01T10:00:00' AS at, 1::INT AS small, \
                CAST(2.5 AS FLOAT) AS half, DATE '2024-05-01' AS day, NULL::TEXT AS nothing, [1, 2] AS list";
    server.sql(made, Value::Null).data();
    let expected = json!([{
        "at": "2024-01-01T10:00:00+00:00",
        "day": "2024-05-01T00:00:00+00:00",
        "half": 2.5,
        "list": "[1, 2]",
        "small": 1,
    }]);
    assert_eq!(server.get("/tables/other/query").data(), expected);
    let schema = server.get("/tables/other/schema").data();
    let kinds: Vec<&Value> =
        schema["columns"].as_array().unwrap().iter().map(|column| &column["data_type"]).collect();
    assert_eq!(kinds, ["Timestamp", "Integer", "Float", "Timestamp", "String", "String"]);
    assert_eq!(schema["id_column"], Value::Null);
    // It has no ids to find rows by.
    server.get("/tables/other/row/1").error(400);
}
