//! What files hold is in the table as it stood there, or refused: nothing is altered without a word.
//!
//! Columns of a table that exists could not be widened for files, whatever was asked: the reader held
//! their values to the types that were there.
#![expect(clippy::unwrap_used, reason = "a test fails that way")]

use std::sync::Arc;

use arrow_array::{
    ArrayRef, Float64Array, Int64Array, RecordBatch, TimestampMicrosecondArray,
    TimestampSecondArray,
};
use arrow_cast::display::array_value_to_string;
use arrow_schema::DataType;
use parquet::arrow::ArrowWriter;
use timestrata_engine::{ErrorKind, Maintenance, Result, Settings, Store};
use timestrata_ingest::rows::{Input, Load, ReadOptions};
use timestrata_table::{IngestOptions, OnMismatch, Table, TableOptions, TableScan, WriteOptions};

const DAY_US: i64 = 86_400_000_000;

fn store() -> Store {
    Store::memory(Settings { maintenance: Maintenance::Manual, ..Settings::default() }).unwrap()
}

/// Takes a file into table `t`, as all faces do.
fn take(store: &Store, bytes: &[u8], file: &str, on_mismatch: OnMismatch) -> Result<u64> {
    let write = WriteOptions { on_mismatch, ..WriteOptions::default() };
    let ingest = IngestOptions { write, ..IngestOptions::default() };
    let load = Load { ingest, ..Load::default() };
    let loaded = load.take(store, "t", Input::Bytes(bytes.to_vec().into()), file, &mut |_| {});
    loaded.map(|loaded| loaded.report.rows)
}

/// The type of a column, and its values as text.
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

fn batch(days: &[i64], name: &str, values: ArrayRef) -> RecordBatch {
    let times = TimestampMicrosecondArray::from_iter_values(days.iter().map(|day| day * DAY_US));
    let time: ArrayRef = Arc::new(times.with_timezone("UTC"));
    RecordBatch::try_from_iter([("time", time), (name, values)]).unwrap()
}

fn parquet_of(batch: &RecordBatch) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut bytes, batch.schema(), None).unwrap();
    writer.write(batch).unwrap();
    writer.close().unwrap();
    bytes
}

fn assert_refused(taken: Result<u64>, words: &str) {
    let error = taken.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidData, "{error}");
    assert!(error.to_string().contains(words), "{error}");
}

#[test]
fn columns_widen_for_files_where_that_is_asked_for() {
    let half = batch(&[1], "x", Arc::new(Float64Array::from(vec![2.5])));
    let forms = [
        ("a.csv", b"time,x\n1970-01-02,2.5\n".to_vec()),
        ("a.jsonl", b"{\"time\": \"1970-01-02\", \"x\": 2.5}\n".to_vec()),
        ("a.parquet", parquet_of(&half)),
    ];
    for (file, bytes) in forms {
        let store = store();
        take(&store, b"time,x\n1970-01-01,1\n", "first.csv", OnMismatch::Error).unwrap();
        store.flush().unwrap();
        assert_eq!(column(&store, "x").0, DataType::Int64, "{file}");
        assert_refused(take(&store, &bytes, file, OnMismatch::Error), "'x'");
        assert_eq!(column(&store, "x"), (DataType::Int64, vec!["1".to_owned()]), "{file}");

        assert_eq!(take(&store, &bytes, file, OnMismatch::Widen).unwrap(), 1, "{file}");
        let found = (DataType::Float64, vec!["1.0".to_owned(), "2.5".to_owned()]);
        assert_eq!(column(&store, "x"), found, "{file}");

        // What fits is no reason to widen.
        take(&store, b"time,x\n1970-01-03,7\n", "b.csv", OnMismatch::Widen).unwrap();
        assert_eq!(column(&store, "x").0, DataType::Float64, "{file}");
        take(&store, b"time,x\n1970-01-04,many\n", "c.csv", OnMismatch::Widen).unwrap();
        let found = ["1.0", "2.5", "7.0", "many"].map(str::to_owned).to_vec();
        assert_eq!(column(&store, "x"), (DataType::Utf8, found), "{file}");
    }
}

/// The first batch of a large text is smaller than the sample by which types are settled.
#[test]
fn a_value_anywhere_in_the_sample_widens_before_the_first_row_goes_in() {
    let store = store();
    take(&store, b"time,x\n1970-01-01,1\n", "first.csv", OnMismatch::Error).unwrap();
    let mut text = "time,x\n".to_owned();
    (0..15_000).for_each(|row| text.push_str(&format!("1970-01-02T00:00:00Z,{row}\n")));
    text.push_str("1970-01-03,0.5\n");
    assert_eq!(take(&store, text.as_bytes(), "a.csv", OnMismatch::Widen).unwrap(), 15_001);
    let (data_type, values) = column(&store, "x");
    assert_eq!((data_type, values.len()), (DataType::Float64, 15_002));
    assert_eq!(values.last().unwrap(), "0.5");
}

#[test]
fn what_can_t_be_widened_is_refused_and_stays() {
    let store = store();
    // The time is never widened.
    take(&store, b"time,x\n1970-01-01,9007199254740993\n", "a.csv", OnMismatch::Error).unwrap();
    let later = b"time,x\nlater,1\n";
    assert_refused(take(&store, later, "b.csv", OnMismatch::Widen), "'time'");
    // Nor is a number rounded: 2^53 + 1 is none that a float can be.
    let half = b"time,x\n1970-01-02,0.5\n";
    assert_refused(take(&store, half, "c.csv", OnMismatch::Widen), "would be rounded");
    let half = batch(&[1], "x", Arc::new(Float64Array::from(vec![0.5])));
    let table = Table::open(&store, "t").unwrap();
    let widen = WriteOptions { on_mismatch: OnMismatch::Widen, ..WriteOptions::default() };
    assert_refused(table.append(&half, widen).map(|_| 0), "would be rounded");
    let found = (DataType::Int64, vec!["9007199254740993".to_owned()]);
    assert_eq!(column(&store, "x"), found);
}

#[test]
fn numbers_that_look_like_days_or_are_of_several_units_are_no_times() {
    let text = b"time,x\n1700000000,1\n1700000000000,2\n";
    let several = store();
    assert_refused(take(&several, text, "a.csv", OnMismatch::Error), "several units");
    assert!(several.stream("t").is_none(), "a table was made for nothing");
    // Days are days, also in a file that comes later.
    let store = store();
    take(&store, b"date,x\n20240131,1\n20240201,2\n", "a.csv", OnMismatch::Error).unwrap();
    take(&store, b"date,x\n20240202,3\n", "b.csv", OnMismatch::Error).unwrap();
    let days = ["2024-01-31T00:00:00Z", "2024-02-01T00:00:00Z", "2024-02-02T00:00:00Z"];
    assert_eq!(column(&store, "date").1, days);
}

/// How long patients were watched, and months as numbers, became seconds since 1970 without a word, as the
/// columns were called `time` and `date`.
#[test]
fn numbers_that_are_no_plausible_times_are_the_time_only_if_that_is_said() {
    for (file, bytes, told) in [
        ("lung.csv", &b"inst,time,status\n3,306,2\n3,455,2\n"[..], "from 306 to 455"),
        ("french.csv", b"date,rf\n192607,0.22\n192608,0.25\n", "from 192607 to 192608"),
        ("lung.jsonl", b"{\"time\":306}\n{\"time\":455}\n", "from 306 to 455"),
    ] {
        let store = store();
        let error = take(&store, bytes, file, OnMismatch::Error).unwrap_err().to_string();
        assert!(error.contains(told) && error.contains("time_unit: s"), "{error}");
        assert!(error.contains("time_of_load"), "{error}");
        assert!(store.streams().is_empty());
    }
    let numbers: ArrayRef = Arc::new(Int64Array::from(vec![306, 455]));
    let rows = RecordBatch::try_from_iter([("time", numbers)]).unwrap();
    let parquet = parquet_of(&rows);
    assert_refused(take(&store(), &parquet, "a.parquet", OnMismatch::Error), "from 306 to 455");
    // Another column has times.
    let store = store();
    take(&store, b"time,seen\n306,2024-01-01\n", "a.csv", OnMismatch::Error).unwrap();
    assert_eq!(column(&store, "time"), (DataType::Int64, vec!["306".to_owned()]));
}

#[test]
fn numbers_that_are_declared_to_be_the_time_are_taken_at_their_word() {
    let declared = store();
    let table = TableOptions { time: Some("time".to_owned()), ..TableOptions::default() };
    let load = Load {
        read: ReadOptions { time: table.time.clone(), ..ReadOptions::default() },
        ingest: IngestOptions { table, ..IngestOptions::default() },
        ..Load::default()
    };
    let input = Input::Bytes(b"time\n5\n".to_vec().into());
    load.take(&declared, "t", input, "a.csv", &mut |_| {}).unwrap();
    assert_eq!(column(&declared, "time").1, ["1970-01-01T00:00:05Z"]);
}

/// A file of codes without zeros in front made the column one of numbers, and the codes of the next file lost theirs.
#[test]
fn zeros_in_front_are_never_lost() {
    let store = store();
    take(&store, b"time,zip,x\n1970-01-01,12345,1.5\n", "a.csv", OnMismatch::Error).unwrap();
    assert_eq!(column(&store, "zip").0, DataType::Int64);
    for line in ["1970-01-02,01234,1", "1970-01-02,1,007"] {
        let text = format!("time,zip,x\n{line}\n");
        let told = "begins with zeros";
        assert_refused(take(&store, text.as_bytes(), "b.csv", OnMismatch::Error), told);
    }
    take(&store, b"time,zip,x\n1970-01-02,01234,007\n", "b.csv", OnMismatch::Widen).unwrap();
    assert_eq!(column(&store, "zip"), (DataType::Utf8, vec!["12345".into(), "01234".into()]));
    assert_eq!(column(&store, "x"), (DataType::Utf8, vec!["1.5".into(), "007".into()]));
}

#[test]
fn digits_are_kept_or_refused() {
    let store = store();
    let text = b"time,zip,long\n1970-01-01,01234,12345678901234567890\n1970-01-02,99999,7\n";
    take(&store, text, "a.csv", OnMismatch::Error).unwrap();
    assert_eq!(column(&store, "zip").1, ["01234", "99999"]);
    assert_eq!(column(&store, "long").1, ["12345678901234567890", "7"]);

    let line = br#"{"time": "1970-01-03", "v": 123456789012345678901234567890}"#;
    let huge = self::store();
    take(&huge, line, "a.jsonl", OnMismatch::Error).unwrap();
    let digits = "123456789012345678901234567890".to_owned();
    assert_eq!(column(&huge, "v"), (DataType::Utf8, vec![digits]));

    let floats = self::store();
    let half = batch(&[0], "v", Arc::new(Float64Array::from(vec![0.5])));
    Table::create_for(&floats, "t", &half, &TableOptions::default())
        .unwrap()
        .append(&half, WriteOptions::default())
        .unwrap();
    assert_refused(take(&floats, line, "a.jsonl", OnMismatch::Error), "Float64");
}

#[test]
fn milliseconds_are_no_seconds() {
    let store = store();
    let seconds: ArrayRef = Arc::new(TimestampSecondArray::from(vec![1_700_000_000]));
    let ones: ArrayRef = Arc::new(Int64Array::from(vec![1]));
    let rows = RecordBatch::try_from_iter([("time", seconds), ("x", Arc::clone(&ones))]).unwrap();
    let table = Table::create_for(&store, "t", &rows, &TableOptions::default()).unwrap();
    table.append(&rows, WriteOptions::default()).unwrap();
    let millis: ArrayRef = Arc::new(Int64Array::from(vec![1_700_000_000_000]));
    let rows = RecordBatch::try_from_iter([("time", millis), ("x", ones)]).unwrap();
    let refused = table.append(&rows, WriteOptions::default()).map(|_| 0);
    assert_refused(refused, "1700000000000");
    assert_eq!(column(&store, "x").1, ["1"]);
}

#[test]
fn a_time_column_keeps_its_zone_by_file_as_by_rows() {
    let times = TimestampMicrosecondArray::from(vec![0]).with_timezone("Europe/Berlin");
    let ones: ArrayRef = Arc::new(Int64Array::from(vec![1]));
    let rows =
        RecordBatch::try_from_iter([("time", Arc::new(times) as ArrayRef), ("x", ones)]).unwrap();
    let (by_file, by_rows) = (store(), store());
    take(&by_file, &parquet_of(&rows), "a.parquet", OnMismatch::Error).unwrap();
    Table::create_for(&by_rows, "t", &rows, &TableOptions::default())
        .unwrap()
        .append(&rows, WriteOptions::default())
        .unwrap();
    assert_eq!(column(&by_file, "time"), column(&by_rows, "time"));
    assert_eq!(&column(&by_file, "time").0, rows.column(0).data_type());
}

/// A new table's rows without a time were refused with the names of their columns and no more, wherever in
/// the file the one value stood for which a column of times was taken for text.
#[test]
fn a_value_for_which_a_new_table_finds_no_time_is_told_with_its_place() {
    for (file, bytes, told) in [
        (
            "days.csv",
            "time,v\n2024-01-01T10:00:00,1\n2024-01-02T24:00:00,2\n",
            "days.csv, line 3, column 'time': '2024-01-02T24:00:00' is not a time",
        ),
        (
            "clock.csv",
            "v,clock,time\n1,x,24:00:00\n",
            "line 2, column 'time': '24:00:00' is not a time",
        ),
        ("clock.csv", "time,v\n10:30:00,1\n", "a time of day needs its date"),
        // Not the first column of text, and not by its name.
        (
            "seen.csv",
            "who,seen\nann,2024-01-01\nbob,soon\n",
            "line 3, column 'seen': 'soon' is not a time",
        ),
        (
            "days.jsonl",
            "{\"v\":1,\"ts\":\"2024-01-01\"}\n{\"v\":2,\"ts\":\"2024-01-01 24:00\"}\n",
            "line 2, column 'ts': '2024-01-01 24:00' is not a time",
        ),
    ] {
        let store = store();
        let error = take(&store, bytes.as_bytes(), file, OnMismatch::Error).unwrap_err();
        let message = error.to_string();
        assert_eq!(error.kind(), ErrorKind::InvalidData, "{message}");
        assert!(message.contains(told), "{message}");
        assert!(message.contains("name the time column"), "{message}");
        assert_eq!(message.contains("midnight is 00:00:00"), bytes.contains("24:00"), "{message}");
        assert!(store.streams().is_empty());
    }
}

#[test]
fn a_column_that_nobody_takes_for_the_time_is_not_blamed() {
    for bytes in ["who,what\nann,tea\n", "lead_time,v\nthree weeks,1\n"] {
        let error = take(&store(), bytes.as_bytes(), "a.csv", OnMismatch::Error).unwrap_err();
        assert!(error.to_string().contains("no column holds times, among"), "{error}");
    }
    // Another column holds times.
    let bytes = b"day,time\n2024-01-01,24:00:00\n";
    assert_eq!(take(&store(), bytes, "a.csv", OnMismatch::Error).unwrap(), 1);
}
