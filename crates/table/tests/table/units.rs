//! The unit of a table's times is made finer: every row is where it was, and finer times go between.

#![expect(clippy::unwrap_used, reason = "a test fails that way")]

use std::sync::Arc;

use arrow_array::{ArrayRef, BooleanArray, Int64Array, RecordBatch, StringArray};
use arrow_cast::cast;
use arrow_schema::{DataType, Field, FieldRef, TimeUnit};
use timestrata_engine::{
    Cell, Changes, CommitPart, Durability, ErrorKind, KeyRange, Maintenance, Settings, Store,
};
use timestrata_table::{OnMismatch, Table, TableOptions, TableScan, TableWrite, WriteOptions};

const WRITTEN: Durability = Durability::Written;

fn store() -> Store {
    let settings = Settings { maintenance: Maintenance::Manual, ..Settings::default() };
    Store::memory(settings).unwrap()
}

fn times(unit: TimeUnit) -> DataType {
    DataType::Timestamp(unit, Some("UTC".into()))
}

fn column(name: &str, unit: TimeUnit) -> FieldRef {
    Arc::new(Field::new(name, times(unit), name != "time"))
}

/// Rows of hosts whose numbers are the times', `seen` a time of the same unit.
fn rows(unit: TimeUnit, of: &[(i64, &str)]) -> RecordBatch {
    let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values(of.iter().map(|row| row.0)));
    let time = cast(&numbers, &times(unit)).unwrap();
    let hosts = StringArray::from_iter_values(of.iter().map(|row| row.1));
    let columns: [(&str, ArrayRef); 4] =
        [("time", Arc::clone(&time)), ("host", Arc::new(hosts)), ("seen", time), ("n", numbers)];
    RecordBatch::try_from_iter(columns).unwrap()
}

fn table(store: &Store, key: &[&str]) -> Table {
    let options = TableOptions {
        key: key.iter().map(|name| (*name).to_owned()).collect(),
        ..TableOptions::default()
    };
    let first = rows(TimeUnit::Second, &[(1, "a"), (2, "b"), (3, "c")]);
    let table = Table::create_for(store, "t", &first, &options).unwrap();
    table.append(&first, WriteOptions::default()).unwrap();
    table
}

/// Times, hosts and numbers of all rows, as text.
fn all(table: &Table) -> Vec<String> {
    let view = table.view().unwrap();
    let scan = view.scan(&TableScan::default()).unwrap();
    let lines = scan.flat_map(|batch| {
        let batch = batch.unwrap();
        let times = cast(batch.column(0), &DataType::Int64).unwrap();
        let text = |column: &ArrayRef, row| match Cell::of(column, row) {
            Some(Cell::Int(number)) => number.to_string(),
            Some(Cell::Text(text)) => text.to_owned(),
            _ => "null".to_owned(),
        };
        let line = |row| {
            [text(&times, row), text(batch.column(1), row), text(batch.column(3), row)].join(" ")
        };
        (0..batch.num_rows()).map(line).collect::<Vec<_>>()
    });
    lines.collect()
}

fn refine(table: &Table, unit: TimeUnit) {
    assert!(table.alter_columns(&[], &[column("time", unit), column("seen", unit)]).unwrap());
}

#[test]
fn a_key_without_the_time_finds_its_rows_after_the_unit_has_changed() {
    let store = store();
    let table = table(&store, &["host"]);
    store.flush().unwrap();
    refine(&table, TimeUnit::Millisecond);
    assert_eq!(all(&table), ["1000 a 1", "2000 b 2", "3000 c 3"]);
    let again = rows(TimeUnit::Millisecond, &[(1_500, "b"), (3_000, "c"), (9, "d")]);
    table.append(&again, WriteOptions::default()).unwrap();
    assert_eq!(all(&table), ["9 d 9", "1000 a 1", "1500 b 1500", "3000 c 3000"]);
    refine(&table, TimeUnit::Nanosecond);
    let gone = |batch: &RecordBatch| {
        let hosts = batch.column(1);
        let is_a = |row| matches!(Cell::of(hosts, row), Some(Cell::Text("a")));
        Ok(BooleanArray::from_iter((0..batch.num_rows()).map(|row| Some(is_a(row)))))
    };
    assert_eq!(table.delete_where(&[KeyRange::ALL], gone).unwrap(), 1);
    let found = table.view().unwrap().row(&[Cell::Text("b")]).unwrap();
    assert!(found.is_some());
    table.append(&rows(TimeUnit::Nanosecond, &[(5, "a")]), WriteOptions::default()).unwrap();
    let expected = ["5 a 5", "9000000 d 9", "1500000000 b 1500", "3000000000 c 3000"];
    assert_eq!(all(&table), expected);
}

#[test]
fn a_time_too_far_in_any_column_or_of_a_row_that_is_gone_refuses_the_unit() {
    let far = i64::MAX / 1_000_000;
    let keyed = [&["host"][..], &[]];
    for key in keyed {
        let store = store();
        let table = table(&store, key);
        table.append(&rows(TimeUnit::Second, &[(far, "far")]), WriteOptions::default()).unwrap();
        for wanted in [column("time", TimeUnit::Nanosecond), column("seen", TimeUnit::Nanosecond)] {
            let error = table.alter_columns(&[], &[wanted]).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
            assert!(error.to_string().contains(&far.to_string()), "{error}");
        }
        let both = [column("time", TimeUnit::Microsecond), column("seen", TimeUnit::Millisecond)];
        assert!(table.alter_columns(&[], &both).unwrap());
        assert_eq!(table.view().unwrap().count(&KeyRange::ALL).unwrap(), 4);
    }
}

#[test]
fn coarser_units_other_zones_and_other_keys_are_refused() {
    let store = store();
    let table = table(&store, &["host"]);
    refine(&table, TimeUnit::Millisecond);
    let zone = DataType::Timestamp(TimeUnit::Nanosecond, Some("Europe/Berlin".into()));
    let host = Field::new("host", DataType::LargeUtf8, true);
    let coarser = column("time", TimeUnit::Second);
    for wanted in [coarser, Arc::new(Field::new("time", zone, false)), Arc::new(host)] {
        let error = table.alter_columns(&[], &[wanted]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
    }
    // Without a zone it is the table's.
    let plain = Field::new("time", DataType::Timestamp(TimeUnit::Microsecond, None), false);
    assert!(table.alter_columns(&[], &[Arc::new(plain)]).unwrap());
    assert_eq!(table.schema().unwrap().field(0).data_type(), &times(TimeUnit::Microsecond));
}

#[test]
fn what_was_told_in_the_coarser_unit_means_the_same_times_or_is_refused() {
    let store = store();
    let table = table(&store, &[]);
    let before = table.view().unwrap();
    let known = table.with_times_of(before.stream());
    let mut staged = TableWrite::new(&table);
    staged.delete_range_of(before.stream(), KeyRange::times(3, 4));
    refine(&table, TimeUnit::Microsecond);
    let late = [Cell::Int(4), Cell::Null, Cell::Null, Cell::Null];
    assert_eq!(known.append_row(&late, WRITTEN).unwrap_err().kind(), ErrorKind::InvalidData);
    assert_eq!(known.append_row(&late, WRITTEN).unwrap_err().kind(), ErrorKind::InvalidData);
    let any = |batch: &RecordBatch| Ok(BooleanArray::from(vec![true; batch.num_rows()]));
    let error = known.delete_where(&[KeyRange::times(0, 9)], any).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidData, "{error}");
    assert_eq!(all(&table).len(), 3);
    known.delete(1..2, WRITTEN).unwrap();
    assert_eq!(known.delete_ranges(&[KeyRange::times(2, 3)], WRITTEN).unwrap(), 1);
    assert_eq!(all(&table), ["3000000 c 3"]);
    staged.commit(Changes::new(), &mut |changes| store.commit(changes, WRITTEN)).unwrap();
    assert_eq!(all(&table), Vec::<String>::new());
    let now = table.with_times_of(table.view().unwrap().stream());
    now.append_row(&late, WRITTEN).unwrap();
    assert_eq!(all(&table), ["4 null null"]);
}

#[test]
fn rows_of_finer_times_make_the_unit_finer_where_that_is_asked_for() {
    let store = store();
    let table = table(&store, &["host"]);
    let fine = rows(TimeUnit::Millisecond, &[(1_500, "b")]);
    let error = table.append(&fine, WriteOptions::default()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidData, "{error}");
    let widen = WriteOptions { on_mismatch: OnMismatch::Widen, ..WriteOptions::default() };
    table.append(&fine, widen).unwrap();
    assert_eq!(all(&table), ["1000 a 1", "1500 b 1500", "3000 c 3"]);
    assert_eq!(table.schema().unwrap().field(2).data_type(), &times(TimeUnit::Millisecond));
    // Coarser ones fit as they are.
    table.append(&rows(TimeUnit::Second, &[(7, "e")]), widen).unwrap();
    assert_eq!(table.schema().unwrap().field(0).data_type(), &times(TimeUnit::Millisecond));
    assert_eq!(all(&table).last().unwrap(), "7000 e 7");
}
