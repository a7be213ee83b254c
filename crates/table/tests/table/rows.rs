//! Tables keep, replace and delete the rows that a simple list of rows says they should, whatever
//! is in memory, in hot and in cold runs.

#![expect(clippy::unwrap_used, reason = "a test fails that way")]

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type, TimestampMillisecondType, UInt64Type};
use arrow_array::{
    ArrayRef, BooleanArray, Float64Array, Int64Array, RecordBatch, StringArray,
    TimestampMillisecondArray, UInt64Array,
};
use arrow_schema::SchemaRef;
use proptest::prelude::*;
use timestrata_engine::{Cell, Durability, ErrorKind, KeyRange, Maintenance, Settings, Store};
use timestrata_table::{Table, TableOptions, TableScan, WriteOptions};

#[derive(Debug, Clone, PartialEq)]
struct Reading {
    time: i64,
    id: u64,
    symbol: String,
    value: f64,
}

fn batch(rows: &[Reading]) -> RecordBatch {
    let times = rows.iter().map(|row| row.time);
    let columns: [(&str, ArrayRef); 4] = [
        ("time", Arc::new(TimestampMillisecondArray::from_iter_values(times).with_timezone("UTC"))),
        ("id", Arc::new(UInt64Array::from_iter_values(rows.iter().map(|row| row.id)))),
        ("symbol", Arc::new(StringArray::from_iter_values(rows.iter().map(|row| &row.symbol)))),
        ("value", Arc::new(Float64Array::from_iter_values(rows.iter().map(|row| row.value)))),
    ];
    RecordBatch::try_from_iter(columns).unwrap()
}

fn rows_of(batch: &RecordBatch) -> Vec<Reading> {
    let times = batch.column(0).as_primitive::<TimestampMillisecondType>();
    let ids = batch.column(1).as_primitive::<UInt64Type>();
    let symbols = batch.column(2).as_string::<i32>();
    let values = batch.column(3).as_primitive::<Float64Type>();
    (0..batch.num_rows())
        .map(|row| Reading {
            time: times.value(row),
            id: ids.value(row),
            symbol: symbols.value(row).to_owned(),
            value: values.value(row),
        })
        .collect()
}

fn all_rows(table: &Table) -> Vec<Reading> {
    let view = table.view().unwrap();
    let scan = view.scan(&TableScan::default()).unwrap();
    scan.flat_map(|batch| rows_of(&batch.unwrap())).collect()
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Kept,
    BySymbolAndTime,
    ById,
    BySymbol,
}

impl Kind {
    fn options(self) -> TableOptions {
        let key = match self {
            Self::Kept => vec![],
            Self::BySymbolAndTime => vec!["symbol".into(), "time".into()],
            Self::ById => vec!["id".into()],
            Self::BySymbol => vec!["symbol".into()],
        };
        TableOptions { key, ..TableOptions::default() }
    }

    fn same_key(self, a: &Reading, b: &Reading) -> bool {
        match self {
            Self::Kept => false,
            Self::BySymbolAndTime => (&a.symbol, a.time) == (&b.symbol, b.time),
            Self::ById => a.id == b.id,
            Self::BySymbol => a.symbol == b.symbol,
        }
    }
}

/// What a table should hold.
struct Expected {
    kind: Kind,
    rows: Vec<Reading>,
}

impl Expected {
    fn append(&mut self, rows: &[Reading]) {
        for row in rows {
            self.rows.retain(|old| !self.kind.same_key(old, row));
            self.rows.push(row.clone());
        }
    }

    fn sorted(&self) -> Vec<Reading> {
        let mut rows = self.rows.clone();
        match self.kind {
            // Equal times in commit order.
            Kind::Kept => rows.sort_by_key(|row| row.time),
            Kind::ById => rows.sort_by_key(|row| (row.time, row.id)),
            _ => rows.sort_by_key(|row| (row.time, row.symbol.clone())),
        }
        rows
    }
}

#[derive(Debug, Clone)]
enum Step {
    Append(Vec<Reading>),
    Delete(i64, i64),
    DeleteWhere(i64, i64, u64),
    Flush,
    Compact,
    Reopen,
}

fn reading() -> impl Strategy<Value = Reading> {
    (0..40_i64, 0..20_u64, 0..5_u8, 0..1000_i32).prop_map(|(time, id, symbol, value)| Reading {
        time: time - 20,
        id: id + 1,
        symbol: format!("s{symbol}"),
        value: f64::from(value),
    })
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => prop::collection::vec(reading(), 1..12).prop_map(Step::Append),
        1 => (-20..20_i64, 0..8_i64).prop_map(|(from, width)| Step::Delete(from, from + width)),
        2 => (-20..20_i64, 0..40_i64, 2..4_u64)
            .prop_map(|(from, width, modulus)| Step::DeleteWhere(from, from + width, modulus)),
        2 => Just(Step::Flush),
        1 => Just(Step::Compact),
        1 => Just(Step::Reopen),
    ]
}

fn settings() -> Settings {
    Settings { maintenance: Maintenance::Manual, run_batch_rows: 16, ..Settings::default() }
}

fn check(table: &Table, expected: &Expected) {
    let sorted = expected.sorted();
    assert_eq!(all_rows(table), sorted);
    let view = table.view().unwrap();
    assert_eq!(view.count(&KeyRange::ALL).unwrap(), sorted.len() as u64);
    let part: Vec<_> = sorted.iter().filter(|row| (-5..9).contains(&row.time)).cloned().collect();
    let scan = view.scan(&TableScan::of_times(-5..9).unwrap()).unwrap();
    let found: Vec<_> = scan.flat_map(|batch| rows_of(&batch.unwrap())).collect();
    assert_eq!(found, part);
    for row in &sorted {
        let key = match expected.kind {
            Kind::Kept => continue,
            Kind::BySymbolAndTime => vec![Cell::Text(&row.symbol), Cell::Int(row.time)],
            Kind::ById => vec![Cell::UInt(row.id)],
            Kind::BySymbol => vec![Cell::Text(&row.symbol)],
        };
        let found = view.row(&key).unwrap().unwrap();
        assert_eq!(rows_of(&found.batch.slice(found.index, 1)), std::slice::from_ref(row));
    }
    if expected.kind == Kind::ById {
        assert!(view.row(&[Cell::UInt(999)]).unwrap().is_none());
    }
    // Without a column it was a panic.
    let error = view.latest(&[], &KeyRange::ALL).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
    let latest = rows_of(&view.latest(&["symbol".into()], &KeyRange::ALL).unwrap());
    let mut newest: Vec<Reading> = Vec::new();
    for row in sorted.iter().rev() {
        if newest.iter().all(|seen| seen.symbol != row.symbol) {
            newest.push(row.clone());
        }
    }
    assert_eq!(latest, newest);
}

fn run(kind: Kind, steps: Vec<Step>) {
    let dir = tempfile::tempdir().unwrap();
    let mut store = Store::open(dir.path(), settings()).unwrap();
    let first = batch(&[]);
    let mut table = Table::create(&store, "readings", &first.schema(), &kind.options()).unwrap();
    let mut expected = Expected { kind, rows: Vec::new() };
    for step in steps {
        match step {
            Step::Append(rows) => {
                table.append(&batch(&rows), WriteOptions::default()).unwrap();
                expected.append(&rows);
            }
            Step::Delete(from, to) => {
                table.delete(from..to, Durability::Written).unwrap();
                expected.rows.retain(|row| !(from..to).contains(&row.time));
            }
            Step::DeleteWhere(from, to, modulus) => {
                let goes = |row: &Reading| row.id.is_multiple_of(modulus);
                let predicate = |batch: &RecordBatch| {
                    Ok(rows_of(batch).iter().map(|row| Some(goes(row))).collect::<BooleanArray>())
                };
                let ranges = [KeyRange::times(from, to)];
                let deleted = table.delete_where(&ranges, predicate).unwrap();
                let before = expected.rows.len();
                expected.rows.retain(|row| !((from..to).contains(&row.time) && goes(row)));
                assert_eq!(deleted, (before - expected.rows.len()) as u64);
            }
            Step::Flush => store.flush().unwrap(),
            Step::Compact => store.compact(None).unwrap(),
            Step::Reopen => {
                drop(table);
                store.close().unwrap();
                drop(store);
                store = Store::open(dir.path(), settings()).unwrap();
                table = Table::open(&store, "readings").unwrap();
            }
        }
        check(&table, &expected);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn a_table_without_a_key_keeps_every_row(steps in prop::collection::vec(step(), 1..14)) {
        run(Kind::Kept, steps);
    }

    #[test]
    fn a_key_with_the_time_replaces_rows_of_that_time(
        steps in prop::collection::vec(step(), 1..14),
    ) {
        run(Kind::BySymbolAndTime, steps);
    }

    #[test]
    fn a_number_replaces_a_row_at_any_time(steps in prop::collection::vec(step(), 1..14)) {
        run(Kind::ById, steps);
    }

    #[test]
    fn a_text_key_replaces_a_row_at_any_time(steps in prop::collection::vec(step(), 1..14)) {
        run(Kind::BySymbol, steps);
    }
}

#[test]
fn ids_are_handed_out_after_the_greatest_known() {
    let store = Store::memory(settings()).unwrap();
    let without = batch(&[Reading { time: 5, id: 0, symbol: "a".into(), value: 1.0 }]);
    let without = without.project(&[0, 2, 3]).unwrap();
    let options = TableOptions { hand_out_ids: true, ..TableOptions::default() };
    let table = Table::create_for(&store, "t", &without, &options).unwrap();
    table.append(&without, WriteOptions::default()).unwrap();
    let given = Reading { time: 9, id: 41, symbol: "b".into(), value: 2.0 };
    table.append(&batch(std::slice::from_ref(&given)), WriteOptions::default()).unwrap();
    table.append(&without, WriteOptions::default()).unwrap();
    let view = table.view().unwrap();
    let ids: Vec<u64> = view
        .scan(&TableScan { columns: Some(vec!["id".into()]), ..TableScan::default() })
        .unwrap()
        .flat_map(|batch| batch.unwrap().column(0).as_primitive::<UInt64Type>().values().to_vec())
        .collect();
    assert_eq!(ids, [1, 42, 41]);
    // A negative or a zero id is named, and nothing is written.
    for (bad, shown) in [(0_i64, "0 is no id"), (-3, "-3")] {
        let ids: ArrayRef = Arc::new(Int64Array::from(vec![7, bad]));
        let times: ArrayRef = Arc::new(TimestampMillisecondArray::from(vec![1, 2]));
        let rows = RecordBatch::try_from_iter([("id", ids), ("time", times)]).unwrap();
        let error = table.append(&rows, WriteOptions::default()).unwrap_err();
        assert!(error.to_string().contains(shown), "{error}");
        assert!(error.to_string().contains("row 1"), "{error}");
    }
    assert_eq!(table.view().unwrap().count(&KeyRange::ALL).unwrap(), 3);
}

#[test]
fn schema_of_a_batch_is_found_by_name() {
    let store = Store::memory(settings()).unwrap();
    let full = batch(&[Reading { time: 5, id: 3, symbol: "a".into(), value: 1.0 }]);
    let table = Table::create_for(&store, "t", &full, &TableOptions::default()).unwrap();
    let turned = full.project(&[3, 0]).unwrap();
    table.append(&turned, WriteOptions::default()).unwrap();
    let schema: SchemaRef = table.schema().unwrap();
    assert_eq!(schema.field(1).name(), "id");
    let view = table.view().unwrap();
    let found = view.scan(&TableScan::default()).unwrap().next().unwrap().unwrap();
    assert!(
        found.column(1).is_null(0) && found.column(3).as_primitive::<Float64Type>().value(0) == 1.0
    );
    let _ = found.column(0).as_primitive::<TimestampMillisecondType>();
    let _: Option<&Int64Array> = found.column(1).as_primitive_opt::<Int64Type>();
}

#[test]
fn a_large_scan_that_reads_ahead_gives_the_same_rows_and_may_be_given_up() {
    let settings = Settings { maintenance: Maintenance::Manual, ..Settings::default() };
    let store = Store::memory(settings).unwrap();
    let options = TableOptions::default();
    let part = |part: i64| {
        let times = part * 100_000..(part + 1) * 100_000;
        let row = |time: i64| Reading {
            time: time / 3,
            id: time.unsigned_abs(),
            symbol: format!("s{}", time % 11),
            value: time as f64,
        };
        batch(&times.map(row).collect::<Vec<_>>())
    };
    let table = Table::create(&store, "t", &part(0).schema(), &options).unwrap();
    // Each part overlaps the ones beside it, and the last comes late.
    for number in [1, 2, 3, 4, 0] {
        table.append(&part(number), WriteOptions::default()).unwrap();
        store.flush().unwrap();
    }
    let view = table.view().unwrap();
    let read = |scan: &TableScan| -> Vec<Reading> {
        view.scan(scan).unwrap().flat_map(|batch| rows_of(&batch.unwrap())).collect()
    };
    for reverse in [false, true] {
        let plain = TableScan { reverse, ..TableScan::default() };
        let ahead = TableScan { ahead: true, ..plain.clone() };
        let expected = read(&plain);
        assert_eq!(expected.len(), 500_000);
        assert!(read(&ahead) == expected, "other rows, or in another order");
        let mut given_up = view.scan(&ahead).unwrap();
        assert!(given_up.next().unwrap().unwrap().num_rows() > 0);
    }
}
