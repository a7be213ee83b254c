//! Which series a table has: what its rows say, whatever of it compacted runs keep.

#![expect(clippy::unwrap_used, reason = "a test fails that way")]

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, TimestampMillisecondType, UInt64Type};
use arrow_array::{
    Array, ArrayRef, Int32Array, RecordBatch, StringArray, TimestampMillisecondArray,
};
use timestrata_engine::{Durability, ErrorKind, KeyRange, Maintenance, Settings, Store};
use timestrata_table::{Table, TableOptions, TableScan, WriteOptions};

/// Enough that runs keep what they come to.
const ROWS: i64 = 30_000;

type Tags = (Option<String>, Option<i32>);
/// First time, last time, rows.
type Extent = (i64, i64, u64);
type Told = BTreeMap<Tags, Extent>;

/// Rows of nine series, two of which only begin later.
fn rows(first: i64, count: i64) -> RecordBatch {
    let each = || first..first + count;
    let hosts = each().map(|row| match row % 4 {
        0 => None,
        3 if row > ROWS / 2 => Some("late".to_owned()),
        part => Some(format!("host-{part}")),
    });
    let racks = each().map(|row| (row % 5 != 2).then_some((row % 2) as i32));
    let columns: [(&str, ArrayRef, bool); 4] = [
        (
            "time",
            Arc::new(TimestampMillisecondArray::from_iter_values(each().map(|n| n * 10))),
            false,
        ),
        ("host", Arc::new(hosts.collect::<StringArray>()), true),
        ("count", Arc::new(racks.collect::<Int32Array>()), true),
        ("row", Arc::new(Int32Array::from_iter_values(each().map(|n| n as i32))), false),
    ];
    RecordBatch::try_from_iter_with_nullable(columns).unwrap()
}

fn told(batch: &RecordBatch, of: impl Fn(usize) -> Extent) -> Vec<(Tags, Extent)> {
    let hosts = batch.column_by_name("host").unwrap().as_string::<i32>();
    let racks = batch.column_by_name("count").unwrap().as_primitive::<Int32Type>();
    let each = (0..batch.num_rows()).map(|row| {
        let host = hosts.is_valid(row).then(|| hosts.value(row).to_owned());
        ((host, racks.is_valid(row).then(|| racks.value(row))), of(row))
    });
    each.collect()
}

fn listed(table: &Table, range: &KeyRange) -> Told {
    let view = table.view().unwrap();
    let batch = view.series(range).unwrap();
    assert_eq!(batch.schema(), view.series_schema().unwrap());
    let names: Vec<String> = batch.schema().fields().iter().map(|f| f.name().clone()).collect();
    // One of the tags has a name that is taken then.
    assert_eq!(names, ["host", "count", "first", "last", "count_"]);
    let times =
        |name: &str| batch.column_by_name(name).unwrap().as_primitive::<TimestampMillisecondType>();
    let (first, last) = (times("first"), times("last"));
    let counts = batch.column_by_name("count_").unwrap().as_primitive::<UInt64Type>();
    let each = told(&batch, |row| (first.value(row), last.value(row), counts.value(row)));
    let all: Told = each.iter().cloned().collect();
    assert_eq!(all.len(), each.len(), "each series is there once");
    all
}

fn of_rows(table: &Table, range: &KeyRange) -> Told {
    let mut all = Told::new();
    let scan = TableScan { range: *range, ..TableScan::default() };
    for batch in table.view().unwrap().scan(&scan).unwrap() {
        let batch = batch.unwrap();
        let times = batch.column(0).as_primitive::<TimestampMillisecondType>();
        for (series, (time, _, _)) in told(&batch, |row| (times.value(row), 0, 0)) {
            let known = all.entry(series).or_insert((time, time, 0));
            *known = (known.0.min(time), known.1.max(time), known.2 + 1);
        }
    }
    all
}

fn compare(table: &Table, what: &str) {
    for (start, end) in
        [(0, i64::MAX), (0, ROWS * 5), (1, ROWS * 10 - 1), (77, 99), (5, 5), (-9, 0)]
    {
        let range = KeyRange::times(start, end);
        assert_eq!(listed(table, &range), of_rows(table, &range), "{what}: {start} to {end}");
    }
    assert_eq!(listed(table, &KeyRange::ALL), of_rows(table, &KeyRange::ALL), "{what}");
}

#[test]
fn series_are_those_of_the_rows_in_every_state_of_a_table() {
    let settings = Settings { maintenance: Maintenance::Manual, ..Settings::default() };
    for key in [vec![], vec!["time".to_owned(), "row".to_owned()]] {
        let store = Store::memory(settings.clone()).unwrap();
        let tags = vec!["host".to_owned(), "count".to_owned()];
        let options = TableOptions { tags, key, ..TableOptions::default() };
        let table = Table::create_for(&store, "cpu", &rows(0, 1), &options).unwrap();
        assert_eq!(listed(&table, &KeyRange::ALL), Told::new());
        table.append(&rows(0, ROWS), WriteOptions::default()).unwrap();
        compare(&table, "in memory");
        store.flush().unwrap();
        compare(&table, "flushed");
        store.compact(None).unwrap();
        compare(&table, "compacted");
        table.append(&rows(ROWS - 9, 500), WriteOptions::default()).unwrap();
        compare(&table, "with rows behind them");
        table.delete(1_000..2_000, Durability::Written).unwrap();
        compare(&table, "with a range deleted");
        store.compact(None).unwrap();
        compare(&table, "compacted again");
    }
}

#[test]
fn series_come_in_the_order_of_their_tags_and_nulls_last_or_first() {
    let store = Store::memory(Settings::default()).unwrap();
    let options = TableOptions { tags: vec!["host".to_owned()], ..TableOptions::default() };
    let table = Table::create_for(&store, "cpu", &rows(0, 1), &options).unwrap();
    table.append(&rows(0, 100), WriteOptions::default()).unwrap();
    let series = table.view().unwrap().series(&KeyRange::ALL).unwrap();
    let hosts = series.column(0).as_string::<i32>();
    assert_eq!(
        hosts.iter().collect::<Vec<_>>(),
        [Some("host-1"), Some("host-2"), Some("host-3"), None]
    );
}

#[test]
fn a_table_without_tags_says_what_to_do() {
    let store = Store::memory(Settings::default()).unwrap();
    let options = TableOptions::default();
    let table = Table::create_for(&store, "cpu", &rows(0, 1), &options).unwrap();
    let error = table.view().unwrap().series(&KeyRange::ALL).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    assert!(error.to_string().contains("table 'cpu' has no tags"), "{error}");
}
