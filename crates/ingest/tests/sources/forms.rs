//! JSON, protobuf, Arrow and Parquet come out as the same plain batches, packed or not.

use std::path::Path;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type, TimestampMicrosecondType};
use arrow_array::{Array, Float64Array, Int64Array, NullArray, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema, TimeUnit};
use timestrata_engine::{ErrorKind, Io, Result};
use timestrata_ingest::rows::{
    Compression, Format, OnError, Place, ReadOptions, Source, open_bytes, open_path, open_reader,
};

use crate::reading::{all, failure, types};
use crate::written;

fn default() -> ReadOptions {
    ReadOptions::default()
}

fn open(bytes: &[u8], name: &str, options: &ReadOptions) -> Result<Source> {
    open_bytes(bytes.to_vec(), name, options)
}

fn error(bytes: &[u8], name: &str, options: &ReadOptions) -> String {
    failure(open(bytes, name, options)).to_string()
}

#[test]
fn json_lines_are_typed_as_csv_is_and_keep_their_order() {
    let json = br#"{"zone":"x","time":"2024-01-01T00:00:00Z","n":1,"f":1,"tags":["a"],"at":{"x":1,"none":{}}}
{"zone":null,"time":"2024-01-01T00:00:01Z","n":2,"f":1.5,"ok":true,"at":{"x":2}}

{"time":"2024-01-01T00:00:02Z","big":18446744073709551615}
"#;
    let source = open(json, "in.jsonl", &default()).unwrap();
    assert_eq!(source.time_column(), Some("time"));
    assert_eq!(
        types(&source.schema()),
        "zone Utf8, time Timestamp(µs, \"UTC\"), n Int64, f Float64, tags List(Utf8), \
         at Struct(\"x\": Int64), ok Boolean, big Utf8"
    );
    let (batch, report) = all(source);
    assert_eq!((batch.num_rows(), report.rows), (3, 3));
    assert_eq!(batch.column(2).as_primitive::<Int64Type>().values(), &[1, 2, 0]);
    let at = batch.column(5).as_struct();
    assert_eq!(at.column(0).as_primitive::<Int64Type>().value(1), 2);
    assert_eq!(batch.column(7).as_string::<i32>().value(2), "18446744073709551615");
}

#[test]
fn json_arrays_and_values_over_several_lines_are_rows_too() {
    for json in [
        "[{\"t\":1,\"s\":\"]\\\"}\"},\n{\"t\":2}\n]\n",
        "\n[\n  {\n    \"t\": 1\n  },\n  {\"t\": 2}]",
        "{\n  \"t\": 1\n}\n{\n  \"t\": 2\n}\n",
        "{\"t\":1}\r\n{\"t\":2}",
    ] {
        let (batch, _) = all(open(json.as_bytes(), "in.json", &default()).unwrap());
        let values = batch.column_by_name("t").unwrap().as_primitive::<Int64Type>();
        assert_eq!(values.values(), &[1, 2], "{json}");
    }
    let message = error(b"[{\"t\":1},{\"t\":2}", "in.json", &default());
    assert!(message.contains("the array of objects is not closed"), "{message}");
    assert_eq!(open(b"", "in.jsonl", &default()).unwrap().count(), 0);
    assert_eq!(open(b"[]", "in.json", &default()).unwrap().count(), 0);
}

#[test]
fn json_that_does_not_fit_is_told_and_skipped() {
    let json = b"{\"n\":1,\"l\":[1]}\n{\"n\":1.5}\n{\"n\":2}\n{\"n\n5\n{\"n\":3,\"new\":1}\n\
                 {\"n\":{\"x\":1}}\n{\"l\":[1,\"x\"]}\n{\"n\":1} {\"n\":2}\n{\"n\":4}\n";
    let options = ReadOptions { sample_rows: 1, ..default() };
    let message = error(json, "in.jsonl", &options);
    assert!(
        message.starts_with("line 2, column 'n': '1.5' is not an integer (Int64)"),
        "{message}"
    );
    let options = ReadOptions { on_error: OnError::Skip, ..options };
    let (batch, report) = all(open(json, "in.jsonl", &options).unwrap());
    assert_eq!(batch.column(0).as_primitive::<Int64Type>().values(), &[1, 2, 4]);
    let skipped: Vec<_> =
        report.skips.iter().map(|skip| (skip.place, skip.column.as_str())).collect();
    let expected = [(2, "n"), (4, ""), (5, ""), (6, "new"), (7, "n"), (8, "l"), (9, "")];
    assert_eq!(skipped, expected.map(|(line, column)| (Place::Line(line), column)));
}

#[test]
fn deep_json_is_refused() {
    let deep = format!("{{\"a\":{}{}}}\n", "[".repeat(5_000), "]".repeat(5_000));
    let message = error(format!("{{\"a\":[1]}}\n{deep}").as_bytes(), "in.jsonl", &default());
    assert!(message.starts_with("line 2") && message.contains("nested deeper"), "{message}");
}

#[test]
fn protobuf_rows_are_typed_as_csv_is() {
    let body = written::protobuf(&[
        &[("ts", "1700000000000"), ("price", "1.5"), ("id", "1")],
        &[("id", "2"), ("ts", "1700000000001")],
        &[("ts", "2023-11-14T22:13:20Z"), ("price", "2")],
    ]);
    let options = ReadOptions { format: Some(Format::Protobuf), ..default() };
    let sampled = ReadOptions { sample_rows: 2, ..options.clone() };
    let source = open(&body, "body", &sampled).unwrap();
    assert_eq!(types(&source.schema()), "id Int64, price Float64, ts Timestamp(µs, \"UTC\")");
    let (batch, report) = all(source);
    assert_eq!(report.rows, 3);
    let times = batch.column(2).as_primitive::<TimestampMicrosecondType>();
    assert_eq!(times.value(0), times.value(2));
    assert_eq!(batch.column(1).as_primitive::<Float64Type>().null_count(), 1);

    let body = written::protobuf(&[&[("n", "1")], &[("n", "x")], &[("n", "3"), ("m", "")]]);
    let sampled = ReadOptions { sample_rows: 1, ..options.clone() };
    let message = error(&body, "body", &sampled);
    assert!(message.starts_with("row 2, column 'n': 'x' is not an integer"), "{message}");
    let skipping = ReadOptions { on_error: OnError::Skip, ..sampled };
    let (batch, report) = all(open(&body, "body", &skipping).unwrap());
    assert_eq!((batch.num_rows(), report.skipped), (1, 2));
    assert_eq!(open(b"", "body", &options).unwrap().count(), 0);
}

#[test]
fn arrow_and_parquet_come_out_plain() {
    let batch = written::batch();
    let forms = [
        ("in.arrows", written::arrow_stream(&batch), Format::ArrowStream),
        ("in.arrow", written::arrow_file(&batch, false), Format::ArrowFile),
        ("in.feather", written::arrow_file(&batch, true), Format::ArrowFile),
        ("in.parquet", written::parquet(&batch), Format::Parquet),
        ("misnamed.csv", written::parquet(&batch), Format::Parquet),
        ("stream.arrow", written::arrow_stream(&batch), Format::ArrowStream),
    ];
    for (name, bytes, format) in forms {
        for batch_rows in [2, 100] {
            let options = ReadOptions { batch_rows, ..default() };
            let source = open(&bytes, name, &options).unwrap();
            assert_eq!(source.format(), format);
            assert_eq!(source.time_column(), Some("at"));
            assert_eq!(
                types(&source.schema()),
                "symbol Utf8, at Timestamp(ms, \"UTC\"), note Utf8, price Float64"
            );
            let (read, report) = all(source);
            assert_eq!(report.rows, 6);
            let symbols: Vec<_> = read.column(0).as_string::<i32>().iter().flatten().collect();
            assert_eq!(symbols, ["a", "b", "a", "a", "b", "a"]);
        }
        // The same through a pipe, and packed.
        let piped = open_reader(std::io::Cursor::new(bytes.clone()), name, &default()).unwrap();
        assert_eq!(all(piped).0.num_rows(), 6);
        let packed = open(&written::gzip(&bytes), name, &default()).unwrap();
        assert_eq!(all(packed).0.num_rows(), 6);
    }
}

#[test]
fn arrow_data_without_rows_has_a_schema_all_the_same() {
    let empty = written::batch().slice(0, 0);
    let schema = empty.schema();
    let mut stream = Vec::new();
    drop(arrow_ipc::writer::StreamWriter::try_new(&mut stream, &schema).unwrap());
    for bytes in [stream, written::arrow_stream(&empty), written::parquet(&empty)] {
        let source = open(&bytes, "in", &default()).unwrap();
        assert_eq!(source.schema().fields().len(), 4);
        assert_eq!(source.count(), 0);
    }
}

#[test]
fn files_are_read_through_the_disk() {
    let dir = tempfile::tempdir().unwrap();
    let io = Io::os();
    for (name, bytes) in [
        ("a.parquet", written::parquet(&written::batch())),
        ("a.arrow", written::arrow_file(&written::batch(), true)),
        ("a.csv", b"at,n\n2024-01-01,1\n".to_vec()),
    ] {
        let path = dir.path().join(name);
        let file = io.disk.open(&path, timestrata_engine::OpenMode::CreateNew).unwrap();
        file.append(&bytes).unwrap();
        let (_, report) = all(open_path(&io, &path, &default()).unwrap());
        assert!(report.rows > 0 && report.bytes_read > 0, "{name}: {report:?}");
    }
    let missing = failure(open_path(&io, Path::new("nowhere.csv"), &default()));
    assert_eq!(missing.kind(), ErrorKind::NotFound);
}

#[test]
fn arrow_types_become_the_expected_ones_only_without_loss() {
    let schema = Arc::new(Schema::new(vec![
        Field::new("t", DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())), false),
        Field::new("n", DataType::Int64, true),
        Field::new("x", DataType::Utf8, true),
    ]));
    let options = ReadOptions { schema: Some(schema), time: Some("t".to_owned()), ..default() };
    let stream = |t: Vec<Option<i64>>, n: Vec<f64>| {
        let nothing = NullArray::new(t.len());
        written::arrow_stream(
            &RecordBatch::try_from_iter([
                ("t", Arc::new(Int64Array::from(t)) as _),
                ("n", Arc::new(Float64Array::from(n)) as _),
                ("x", Arc::new(nothing) as _),
            ])
            .unwrap(),
        )
    };
    let fine = stream(vec![Some(1_700_000_000), Some(1_700_000_001)], vec![1.0, 2.0]);
    let (batch, _) = all(open(&fine, "in.arrows", &options).unwrap());
    assert_eq!(
        batch.column(0).as_primitive::<TimestampMicrosecondType>().value(0),
        1_700_000_000_000_000
    );
    assert_eq!(batch.column(1).as_primitive::<Int64Type>().value(1), 2);
    let lossy = stream(vec![Some(1_700_000_000), Some(1_700_000_001)], vec![1.0, 2.5]);
    let message = error(&lossy, "in.arrows", &options);
    assert!(message.starts_with("row 2, column 'n': '2.5' does not fit Int64"), "{message}");
    let skipping = ReadOptions { on_error: OnError::Skip, ..options.clone() };
    let (batch, report) = all(open(&lossy, "in.arrows", &skipping).unwrap());
    assert_eq!((batch.num_rows(), report.skipped), (2, 2));
    let untimed = stream(vec![Some(1_700_000_000), None], vec![1.0, 2.0]);
    let message = error(&untimed, "in.arrows", &options);
    assert!(message.starts_with("row 2, column 't': '' is null"), "{message}");
}

#[test]
fn text_and_numbers_are_the_time_of_arrow_data_where_nothing_better_is() {
    let stream = |name: &str, column: Arc<dyn Array>| {
        let numbers = Int64Array::from(vec![2013, 2013]);
        written::arrow_stream(
            &RecordBatch::try_from_iter([("year", Arc::new(numbers) as _), (name, column)])
                .unwrap(),
        )
    };
    let texts = StringArray::from(vec!["2024-01-01T00:00:00Z", "2024-01-01T00:00:01Z"]);
    let source = open(&stream("when", Arc::new(texts)), "in", &default()).unwrap();
    assert_eq!(types(&source.schema()), "year Int64, when Timestamp(µs, \"UTC\")");
    assert_eq!(all(source).0.num_rows(), 4);
    let numbers = Int64Array::from(vec![1_700_000_000_000, 1_700_000_000_001]);
    let source = open(&stream("event_time", Arc::new(numbers.clone())), "in", &default()).unwrap();
    assert_eq!(source.time_column(), Some("event_time"));
    let source = open(&stream("volume", Arc::new(numbers)), "in", &default()).unwrap();
    assert_eq!(source.time_column(), None);
}

#[test]
fn what_is_packed_is_unpacked_and_what_is_cut_off_is_told() {
    let csv = b"time,n\n2024-01-01,1\n".to_vec();
    let members = [written::gzip(b"time,n\n2024-"), written::gzip(b"01-01,1\n")].concat();
    let frames = zstd::encode_all(&csv[..], 3).unwrap();
    for packed in [written::gzip(&csv), members.clone(), frames.clone()] {
        assert_eq!(all(open(&packed, "body", &default()).unwrap()).0.num_rows(), 1);
        let message = error(&packed[..packed.len() - 3], "body", &default());
        assert!(message.contains("ends in the middle"), "{message}");
    }
    let options = ReadOptions { compression: Some(Compression::Zstd), ..default() };
    assert!(error(&csv, "body", &options).contains("could not be unpacked"));
    let message = error(b"PK\x03\x04....", "flights.csv.zip", &default());
    assert!(message.contains("zip archive: unpack it"), "{message}");
    assert!(error(b"BZh91AY", "flights.csv.bz2", &default()).contains("bunzip2"));
    assert!(error(b"\xfd7zXZ\0", "flights.csv.xz", &default()).contains("unxz"));
}
