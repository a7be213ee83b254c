//! An ingest is one commit: all rows or none, whatever they replace, in bounded memory.

#![expect(clippy::unwrap_used, reason = "a test fails that way")]

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int64Type, TimestampMillisecondType, UInt64Type};
use arrow_array::{
    ArrayRef, Int64Array, RecordBatch, StringArray, TimestampMillisecondArray, UInt64Array,
};
use proptest::prelude::*;
use timestrata_engine::{
    Durability, Error, ErrorKind, KeyRange, Maintenance, Result, Settings, Store,
};
use timestrata_table::{
    Commits, IngestOptions, Table, TableOptions, TableScan, WriteOptions, ingest,
};

fn settings() -> Settings {
    Settings {
        maintenance: Maintenance::Manual,
        // Small, so that rows go to files in the middle.
        memtable_bytes_max: 4096,
        memory_bytes_max: 16_384,
        ..Settings::default()
    }
}

#[derive(Debug, Clone, PartialEq)]
struct Row {
    id: u64,
    time: i64,
    value: i64,
}

fn batch(rows: &[Row], is_text_key: bool) -> RecordBatch {
    let id: ArrayRef = match is_text_key {
        true => Arc::new(StringArray::from_iter_values(rows.iter().map(|r| format!("k{}", r.id)))),
        false => Arc::new(UInt64Array::from_iter_values(rows.iter().map(|row| row.id))),
    };
    let time: ArrayRef =
        Arc::new(TimestampMillisecondArray::from_iter_values(rows.iter().map(|row| row.time)));
    let value: ArrayRef = Arc::new(Int64Array::from_iter_values(rows.iter().map(|r| r.value)));
    RecordBatch::try_from_iter([("id", id), ("time", time), ("value", value)]).unwrap()
}

fn rows_of(table: &Table) -> Vec<Row> {
    let view = table.view().unwrap();
    let mut rows = Vec::new();
    for batch in view.scan(&TableScan::default()).unwrap() {
        let batch = batch.unwrap();
        let column = |name: &str| Arc::clone(batch.column_by_name(name).unwrap());
        let ids = column("id");
        let id_at = |row| match ids.as_primitive_opt::<UInt64Type>() {
            Some(numbers) => numbers.value(row),
            None => ids.as_string::<i32>().value(row)[1..].parse().unwrap(),
        };
        for row in 0..batch.num_rows() {
            rows.push(Row {
                id: id_at(row),
                time: column("time").as_primitive::<TimestampMillisecondType>().value(row),
                value: column("value").as_primitive::<Int64Type>().value(row),
            });
        }
    }
    assert_eq!(view.count(&KeyRange::ALL).unwrap(), rows.len() as u64);
    rows
}

fn one(options: TableOptions) -> IngestOptions {
    IngestOptions { table: options, ..IngestOptions::default() }
}

fn row() -> impl Strategy<Value = Row> {
    (1..60_u64, 0..50_i64, 0..1000_i64).prop_map(|(id, time, value)| Row { id, time, value })
}

fn check_upserts(parts: Vec<Vec<Row>>, before: Vec<Row>, ascending: bool, is_text_key: bool) {
    let store = Store::memory(settings()).unwrap();
    let keyed = TableOptions { key: vec!["id".into()], ..TableOptions::default() };
    let mut expected: Vec<Row> = Vec::new();
    let mut put = |row: &Row| {
        expected.retain(|old| old.id != row.id);
        expected.push(row.clone());
    };
    let first = batch(&before, is_text_key);
    let table = Table::create(&store, "t", &first.schema(), &keyed).unwrap();
    table.append(&first, WriteOptions::default()).unwrap();
    before.iter().for_each(&mut put);
    let mut next_id = 0;
    let parts: Vec<Vec<Row>> = parts
        .into_iter()
        .map(|rows| {
            rows.into_iter()
                .map(|mut row| {
                    next_id += 1;
                    row.id = if ascending { next_id } else { row.id };
                    row
                })
                .collect()
        })
        .collect();
    parts.iter().flatten().for_each(&mut put);
    let mut batches = parts.iter().map(|rows| Ok(batch(rows, is_text_key)));
    let done = ingest(&store, "t", &mut batches, &one(keyed)).unwrap();
    assert_eq!(done.rows, parts.iter().map(|rows| rows.len() as u64).sum::<u64>());
    let shown = |id: u64| if is_text_key { format!("k{id}") } else { format!("{id:020}") };
    expected.sort_by_key(|row| (row.time, shown(row.id)));
    assert_eq!(rows_of(&table), expected);
    store.flush().unwrap();
    store.compact(None).unwrap();
    assert_eq!(rows_of(&table), expected);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

    #[test]
    fn of_rows_of_one_key_the_last_of_an_ingest_is_kept(
        parts in prop::collection::vec(prop::collection::vec(row(), 1..60), 1..12),
        before in prop::collection::vec(row(), 1..30),
        ascending: bool,
        is_text_key: bool,
    ) {
        check_upserts(parts, before, ascending, is_text_key);
    }
}

#[expect(clippy::disallowed_methods, reason = "a test looks at what is really there")]
fn left(dir: &tempfile::TempDir) -> usize {
    std::fs::read_dir(dir.path().join("runs")).unwrap().count()
}

#[test]
fn an_ingest_that_fails_leaves_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path(), settings()).unwrap();
    let rows: Vec<Row> = (0..500).map(|n| Row { id: n + 1, time: n as i64, value: 0 }).collect();
    let failing = |keyed: TableOptions| {
        let broken = Err(Error::new(ErrorKind::InvalidData, "line 900000 is broken"));
        let mut batches = rows.chunks(100).map(|rows| Ok(batch(rows, false))).chain([broken]);
        ingest(&store, "t", &mut batches, &one(keyed)).unwrap_err()
    };
    for key in [vec![], vec!["id".to_owned()]] {
        let keyed = TableOptions { key, ..TableOptions::default() };
        assert!(failing(keyed.clone()).to_string().contains("line 900000"));
        assert!(store.stream("t").is_none(), "a table made for refused rows is gone again");
        let mut good = std::iter::once(Ok(batch(&rows[..10], false)));
        let table = ingest(&store, "t", &mut good, &one(keyed.clone())).unwrap().table.unwrap();
        failing(keyed);
        assert_eq!(rows_of(&table).len(), 10);
        drop(table);
        Table::drop(&store, "t").unwrap();
    }
    assert!(store.streams().is_empty());
    store.close().unwrap();
    assert_eq!(left(&dir), 0, "no run file is left");
}

#[test]
fn a_row_that_does_not_fit_is_named_by_its_number_among_all() {
    let store = Store::memory(settings()).unwrap();
    let good = batch(&[Row { id: 1, time: 1, value: 1 }, Row { id: 2, time: 2, value: 1 }], false);
    let times: ArrayRef = Arc::new(TimestampMillisecondArray::from(vec![3, 4]));
    let values: ArrayRef = Arc::new(StringArray::from(vec![None, Some("many")]));
    let bad =
        RecordBatch::try_from_iter_with_nullable([("time", times, true), ("value", values, true)])
            .unwrap();
    for commits in [Commits::One, Commits::Every(2)] {
        let options = IngestOptions { commits, ..IngestOptions::default() };
        let mut batches = [Ok(good.clone()), Ok(bad.clone())].into_iter();
        let error = ingest(&store, "t", &mut batches, &options).unwrap_err().to_string();
        assert!(error.contains("row 2") || error.contains("row 3"), "{error}");
        assert!(error.contains("'value'") && error.contains("many"), "{error}");
    }
    // In parts what was committed before it stays.
    assert_eq!(rows_of(&Table::open(&store, "t").unwrap()).len(), 2);
}

#[test]
fn one_commit_is_as_durable_as_was_told_and_one_of_runs_always_synced() {
    let directory = tempfile::tempdir().unwrap();
    let (memtable_bytes_max, memory_bytes_max) = (64 << 10, 256 << 10);
    let settings = Settings { memtable_bytes_max, memory_bytes_max, ..settings() };
    let store = Store::open(directory.path(), settings).unwrap();
    let rows = |count: i64| -> Vec<Row> {
        (0..count).map(|at| Row { id: at as u64, time: at, value: at }).collect()
    };
    for (count, durability, is_synced) in [
        (3, Durability::Written, false),
        (3, Durability::Synced, true),
        (3, Durability::Written, false),
    ] {
        let write = WriteOptions { durability, ..WriteOptions::default() };
        let options = IngestOptions { write, ..IngestOptions::default() };
        let mut batches = std::iter::once(Ok(batch(&rows(count), false)));
        let seq = ingest(&store, "t", &mut batches, &options).unwrap().seq.unwrap();
        assert_eq!(store.stats().synced_seq >= seq, is_synced, "{durability:?}");
    }
    // What is too large for the log lies in runs, which are synced before anybody hears of them.
    let runs = || store.stats().streams.iter().map(|stream| stream.runs).sum::<u64>();
    assert_eq!(runs(), 0);
    let write = WriteOptions { durability: Durability::Written, ..WriteOptions::default() };
    let options = IngestOptions { write, ..IngestOptions::default() };
    ingest(&store, "t", &mut std::iter::once(Ok(batch(&rows(200_000), false))), &options).unwrap();
    assert!(runs() > 0);
}

#[test]
fn ids_are_handed_out_once_however_many_ask() {
    let store = Store::memory(settings()).unwrap();
    let times = |rows: i64| -> RecordBatch {
        let times: ArrayRef = Arc::new(TimestampMillisecondArray::from_iter_values(0..rows));
        RecordBatch::try_from_iter([("time", times)]).unwrap()
    };
    let options = || TableOptions { hand_out_ids: true, ..TableOptions::default() };
    Table::create_for(&store, "t", &times(1), &options()).unwrap();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for rows in [1, 300, 7] {
                    let mut batches = (0..3).map(|_| Ok(times(rows)));
                    ingest(&store, "t", &mut batches, &one(options())).unwrap();
                }
            });
        }
    });
    let view = Table::open(&store, "t").unwrap().view().unwrap();
    let scan = TableScan { columns: Some(vec!["id".into()]), ..TableScan::default() };
    let mut ids: Vec<u64> = Vec::new();
    for batch in view.scan(&scan).unwrap() {
        ids.extend(batch.unwrap().column(0).as_primitive::<UInt64Type>().values());
    }
    let rows = ids.len();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!((rows, ids.len()), (4 * 3 * 308, rows));
}

#[test]
fn no_rows_make_no_table() {
    let store = Store::memory(settings()).unwrap();
    let mut none = std::iter::empty::<Result<RecordBatch>>();
    let done = ingest(&store, "t", &mut none, &IngestOptions::default()).unwrap();
    assert_eq!((done.rows, done.seq), (0, None));
    assert!(done.table.is_none() && store.streams().is_empty());
}

#[test]
fn a_table_that_several_threads_make_at_once_is_one_and_knows_all_of_their_rows() {
    const THREADS: u64 = 4;
    let store = Store::memory(Settings::default()).unwrap();
    let table = TableOptions { key: vec!["id".to_owned()], ..TableOptions::default() };
    let options = IngestOptions { table, ..IngestOptions::default() };
    let put = |name: &str, ids: std::ops::Range<u64>, time: i64| {
        let rows: Vec<Row> = ids.map(|id| Row { id, time, value: time }).collect();
        ingest(&store, name, &mut std::iter::once(Ok(batch(&rows, false))), &options).unwrap();
    };
    for round in 0..60 {
        let name = format!("t{round}");
        std::thread::scope(|scope| {
            for thread in 0..THREADS {
                let (name, put) = (&name, &put);
                scope.spawn(move || put(name, thread * 10..thread * 10 + 10, 1));
            }
        });
        // Each row is found by its key, and so replaced.
        put(&name, 0..THREADS * 10, 2);
        let rows = rows_of(&Table::open(&store, &name).unwrap());
        assert_eq!(rows.len() as u64, THREADS * 10, "round {round}");
        assert!(rows.iter().all(|row| row.time == 2), "round {round}");
    }
}
