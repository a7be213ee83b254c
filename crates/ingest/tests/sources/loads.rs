//! An input that is taken into a table goes in whole and with the types that all of it asks for, or not at all.

use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array, RecordBatch, TimestampMicrosecondArray};
use arrow_cast::display::array_value_to_string;
use arrow_schema::DataType;
use parquet::arrow::ArrowWriter;
use parquet::file::properties::WriterProperties;
use timestrata_engine::{ErrorKind, Maintenance, Result, Settings, Store};
use timestrata_ingest::rows::{Input, Load, Loaded, OnError, ReadOptions, Spelling};
use timestrata_table::{
    Commits, IngestOptions, OnMismatch, Table, TableOptions, TableScan, WriteOptions,
};

fn store() -> Store {
    Store::memory(Settings { maintenance: Maintenance::Manual, ..Settings::default() }).unwrap()
}

fn sampling(rows: usize) -> Load {
    let read = ReadOptions { sample_rows: rows, spelling: Spelling::Command, ..Default::default() };
    Load { read, ..Load::default() }
}

fn take(store: &Store, load: &Load, bytes: &[u8], name: &str) -> Result<Loaded> {
    load.take(store, "t", Input::Bytes(bytes.to_vec().into()), name, &mut |_| {})
}

fn column(store: &Store, name: &str) -> (DataType, Vec<String>) {
    let view = Table::open(store, "t").unwrap().view().unwrap();
    let mut values = Vec::new();
    for batch in view.scan(&TableScan::default()).unwrap() {
        let batch = batch.unwrap();
        let array = batch.column_by_name(name).unwrap();
        values.extend((0..array.len()).map(|row| array_value_to_string(array, row).unwrap()));
    }
    (view.schema().field_with_name(name).unwrap().data_type().clone(), values)
}

/// The second of two values came behind the sample, and the file was refused.
#[test]
fn a_value_behind_the_sample_widens_its_column_within_the_file() {
    for (name, bytes, expected) in [
        ("a.csv", "time,x\n2024-01-01,1\n2024-01-02,2.5\n", DataType::Float64),
        ("a.csv", "time,x\n2024-01-01,1\n2024-01-02,nil\n", DataType::Utf8),
        ("a.csv", "time,x\n2024-01-01,12345\n2024-01-02,01234\n", DataType::Utf8),
        ("a.csv", "time,x\n2024-01-01,2024-01-01\n2024-01-02,soon\n", DataType::Utf8),
        (
            "a.jsonl",
            "{\"time\":\"2024-01-01\",\"x\":1}\n{\"time\":\"2024-01-02\",\"x\":2.5}\n",
            DataType::Float64,
        ),
        // The key itself comes behind the sample.
        (
            "a.jsonl",
            "{\"time\":\"2024-01-01\"}\n{\"time\":\"2024-01-02\",\"x\":7}\n",
            DataType::Int64,
        ),
    ] {
        let store = store();
        let loaded = take(&store, &sampling(1), bytes.as_bytes(), name).unwrap();
        assert_eq!(loaded.report.rows, 2, "{bytes}");
        assert_eq!(column(&store, "x").0, expected, "{bytes}");
        assert_eq!(column(&store, "time").1.len(), 2, "{bytes}");
    }
}

#[test]
fn later_batches_of_parquet_widen_a_table_as_the_first_does() {
    let days = TimestampMicrosecondArray::from_iter_values((0..4).map(|day| day * 86_400_000_000));
    let time: ArrayRef = Arc::new(days.with_timezone("UTC"));
    let x: ArrayRef = Arc::new(Float64Array::from(vec![1.0, 2.0, 3.0, 4.5]));
    let rows = RecordBatch::try_from_iter([("time", time), ("x", x)]).unwrap();
    let mut bytes = Vec::new();
    let groups = WriterProperties::builder().set_max_row_group_row_count(Some(2)).build();
    let mut writer = ArrowWriter::try_new(&mut bytes, rows.schema(), Some(groups)).unwrap();
    writer.write(&rows).unwrap();
    writer.close().unwrap();
    let store = store();
    let mut load = sampling(20_000);
    take(&store, &load, b"time,x\n1970-01-01,1\n", "a.csv").unwrap();
    load.read.batch_rows = 2;
    assert!(take(&store, &load, &bytes, "a.parquet").is_err());
    load.ingest.write = WriteOptions { on_mismatch: OnMismatch::Widen, ..load.ingest.write };
    assert_eq!(take(&store, &load, &bytes, "a.parquet").unwrap().report.rows, 4);
    let found = column(&store, "x");
    assert_eq!((found.0, found.1.last().unwrap().as_str()), (DataType::Float64, "4.5"));
}

/// A table that exists was given the column as the sample had it, which it kept when the file was refused.
#[test]
fn a_column_that_a_table_is_given_has_the_type_that_the_whole_file_asks_for() {
    let store = store();
    take(&store, &sampling(1), b"time,a\n2024-01-01,1\n", "a.csv").unwrap();
    let more = b"time,a,b\n2024-01-02,1,1\n2024-01-03,1,x\n";
    take(&store, &sampling(1), more, "b.csv").unwrap();
    assert_eq!(column(&store, "b"), (DataType::Utf8, vec![String::new(), "1".into(), "x".into()]));
    // The table's own columns are as they were, and a file that doesn't fit leaves nothing.
    let error = take(&store, &sampling(1), b"time,a\n2024-01-04,1\n2024-01-05,x\n", "c.csv");
    let error = error.unwrap_err().to_string();
    assert!(error.contains("--on-mismatch widen") && error.contains("--on-error skip"), "{error}");
    assert_eq!(column(&store, "a").1, ["1", "1", "1"]);
}

#[test]
fn what_can_t_be_begun_anew_says_what_to_do_and_leaves_nothing() {
    let csv = "time,x\n2024-01-01,1\n2024-01-02,nil\n";
    let store = store();
    let stream = Input::Reader(Box::new(std::io::Cursor::new(csv)));
    let error = sampling(1).take(&store, "t", stream, "stdin", &mut |_| {}).unwrap_err();
    let told = error.to_string();
    assert!(told.contains("--sample-rows all") && told.contains("--null-text nil"), "{told}");
    assert!(store.streams().is_empty());
    // All of a stream is a sample too.
    let stream = Input::Reader(Box::new(std::io::Cursor::new(csv)));
    sampling(usize::MAX).take(&store, "t", stream, "stdin", &mut |_| {}).unwrap();
    assert_eq!(column(&store, "x").0, DataType::Utf8);
    // Rows that are left out are left out, as was said.
    let mut skipping = sampling(1);
    skipping.read.on_error = OnError::Skip;
    let other = self::store();
    let loaded = take(&other, &skipping, csv.as_bytes(), "a.csv").unwrap();
    assert_eq!((loaded.report.rows, loaded.report.skipped), (1, 1));
    // Of several commits the first ones may be there.
    let several = self::store();
    let mut load = sampling(1);
    load.read.batch_rows = 1;
    load.ingest.commits = Commits::Every(1);
    let error = take(&several, &load, csv.as_bytes(), "a.csv").unwrap_err();
    assert!(error.to_string().contains("may be committed already"), "{error}");
}

#[test]
fn rows_without_a_time_get_that_of_the_load_if_that_is_said() {
    let store = store();
    let csv = b"species,petals\nsetosa,1.4\nvirginica,5.1\n";
    let error = take(&store, &sampling(10), csv, "iris.csv").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    assert!(error.to_string().contains("(--time-of-load)"), "{error}");
    let load = Load { time_of_load: true, ..sampling(10) };
    let before = store.wall_ns() / 1_000;
    let loaded = take(&store, &load, csv, "iris.csv").unwrap();
    assert_eq!(loaded.time.as_deref(), Some("time"));
    // A second load has its own time, in the table's column.
    take(&store, &load, csv, "iris.csv").unwrap();
    let times = column(&store, "time").1;
    assert_eq!((times.len(), times[0] == times[1]), (4, true));
    let first = timestrata_table::parse_time(&times[0], &column(&store, "time").0).unwrap();
    assert!((before..=store.wall_ns() / 1_000).contains(&first));
    assert_eq!(column(&store, "species").1.len(), 4);

    let error = take(&self::store(), &load, b"time,x\n2024-01-01,1\n", "a.csv").unwrap_err();
    assert!(error.to_string().contains("--time NAME"), "{error}");
    let table = TableOptions { time: Some("loaded".to_owned()), ..TableOptions::default() };
    let load = Load { ingest: IngestOptions { table, ..Default::default() }, ..load };
    let other = self::store();
    take(&other, &load, b"time,x\n2024-01-01,1\n", "a.csv").unwrap();
    assert_eq!(column(&other, "loaded").1.len(), 1);
}

#[test]
fn a_plan_tells_what_would_be_made_and_makes_nothing() {
    let store = store();
    let plan = |load: &Load, bytes: &str| {
        load.plan(&store, "t", Input::Bytes(bytes.as_bytes().to_vec().into()), "a.csv", &mut |_| {})
            .unwrap()
    };
    let told = plan(&sampling(1), "when;x\n31.01.2024;1\n01.02.2024;2,5\n");
    assert_eq!((told.report.rows, told.time.as_deref(), told.refusal), (2, Some("when"), None));
    let types: Vec<_> =
        told.columns.fields().iter().map(|field| field.data_type().to_string()).collect();
    assert_eq!(types, ["Timestamp(µs, \"UTC\")", "Float64"]);
    let notes = [("when", "day before month"), ("x", "decimal comma")];
    assert_eq!(told.notes, notes.map(|(name, note)| (name.to_owned(), note.to_owned())));
    assert!(store.streams().is_empty());
    let refused = plan(&sampling(1), "a,b\n1,2\n").refusal.unwrap();
    assert!(refused.contains("--time-of-load"), "{refused}");

    take(&store, &sampling(1), b"time,x\n2024-01-01,1\n", "a.csv").unwrap();
    let told = plan(&sampling(1), "time,x,y\n2024-01-02,1.5,true\n");
    assert_eq!(told.added, ["y"]);
    assert!(told.refusal.unwrap().contains("'x'"), "the column is one of whole numbers");
    let mut widening = sampling(1);
    widening.ingest.write.on_mismatch = OnMismatch::Widen;
    let told = plan(&widening, "time,x\n2024-01-02,1.5\n");
    assert_eq!(told.widened, [("x".to_owned(), DataType::Float64)]);
    assert_eq!((told.refusal, column(&store, "x").0), (None, DataType::Int64));
}
