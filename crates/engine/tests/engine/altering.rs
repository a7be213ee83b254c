//! A stream gets other columns: rows there are read as rows of the new ones.

#![expect(clippy::unwrap_used, reason = "a test ends where something is not as it must be")]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type};
use arrow_array::{Array, Float64Array, Int64Array, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use timestrata_engine::{
    Access, Cell, Changes, Durability, ErrorKind, Io, KeyRange, Maintenance, Merge, Retention,
    RunFormat, SERIES_PROPERTY, ScanSpec, Settings, Snapshot, Store, StreamId, StreamSpec,
};

fn schema(fields: &[(&str, DataType)]) -> SchemaRef {
    let field = |(name, data_type): &(&str, DataType)| {
        Field::new(*name, data_type.clone(), *name != "time")
    };
    Arc::new(Schema::new(fields.iter().map(field).collect::<Vec<_>>()))
}

fn narrow() -> SchemaRef {
    schema(&[("time", DataType::Int64), ("n", DataType::Int64)])
}

fn wide() -> SchemaRef {
    schema(&[("time", DataType::Int64), ("n", DataType::Float64), ("text", DataType::Utf8)])
}

fn settings() -> Settings {
    Settings { maintenance: Maintenance::Manual, ..Settings::default() }
}

fn open(io: &Io) -> Store {
    Store::open_with(io.clone(), "/store".as_ref(), Access::Write, settings()).unwrap()
}

fn insert_narrow(store: &Store, id: StreamId, times: std::ops::Range<i64>) {
    let column = Int64Array::from_iter_values(times);
    let columns: Vec<Arc<dyn Array>> = vec![Arc::new(column.clone()), Arc::new(column)];
    let batch = RecordBatch::try_new(narrow(), columns).unwrap();
    store.commit(Changes::new().insert(id, batch), Durability::Written).unwrap();
}

/// Rows as (time, number, whether there is a text).
fn rows(snapshot: &Snapshot, id: StreamId) -> Vec<(i64, f64, bool)> {
    let scan = snapshot.scan(id, &ScanSpec::default()).unwrap();
    let mut rows = Vec::new();
    for batch in scan {
        let batch = batch.unwrap();
        let (times, numbers) = (
            batch.column(0).as_primitive::<Int64Type>(),
            batch.column(1).as_primitive::<Float64Type>(),
        );
        let texts = batch.column(2).as_string::<i32>();
        rows.extend(
            (0..batch.num_rows())
                .map(|row| (times.value(row), numbers.value(row), texts.is_valid(row))),
        );
    }
    rows
}

fn expected(narrow: std::ops::Range<i64>, wide: std::ops::Range<i64>) -> Vec<(i64, f64, bool)> {
    let of = |time: i64, has_text| (time, time as f64, has_text);
    narrow.map(|time| of(time, false)).chain(wide.map(|time| of(time, true))).collect()
}

fn insert_wide(store: &Store, id: StreamId, times: std::ops::Range<i64>) {
    let columns: Vec<Arc<dyn Array>> = vec![
        Arc::new(Int64Array::from_iter_values(times.clone())),
        Arc::new(Float64Array::from_iter_values(times.clone().map(|time| time as f64))),
        Arc::new(StringArray::from_iter_values(times.map(|time| time.to_string()))),
    ];
    let batch = RecordBatch::try_new(wide(), columns).unwrap();
    store.commit(Changes::new().insert(id, batch), Durability::Written).unwrap();
}

fn spec(format: RunFormat) -> StreamSpec {
    StreamSpec { run_format: format, ..StreamSpec::new("s", narrow()) }
}

#[test]
fn rows_of_memory_hot_and_cold_runs_are_read_as_rows_of_the_new_columns() {
    for format in [RunFormat::Hot, RunFormat::Cold] {
        let io = Io::memory();
        let store = open(&io);
        let id = store.create_stream(spec(format)).unwrap();
        insert_narrow(&store, id, 0..100);
        store.flush().unwrap();
        insert_narrow(&store, id, 50..150);
        store.flush().unwrap();
        store.compact(Some(id)).unwrap();
        insert_narrow(&store, id, 150..200);
        store.alter_stream(id, wide()).unwrap();
        let mut all = expected(0..100, 0..0);
        all.extend(expected(50..200, 0..0));
        all.sort_by_key(|row| row.0);
        assert_eq!(rows(&store.snapshot().unwrap(), id), all);
        insert_wide(&store, id, 200..250);
        all.extend(expected(0..0, 200..250));
        assert_eq!(rows(&store.snapshot().unwrap(), id), all);
        // Without a close: the log holds rows of the new columns.
        drop(store);
        let store = open(&io);
        assert_eq!(rows(&store.snapshot().unwrap(), id), all);
        assert!(store.check().unwrap().findings.is_empty());
        store.flush().unwrap();
        store.compact(Some(id)).unwrap();
        assert_eq!(rows(&store.snapshot().unwrap(), id), all);
        store.close().unwrap();
        let reader = Store::open_with(io, "/store".as_ref(), Access::Read, settings()).unwrap();
        assert_eq!(rows(&reader.snapshot().unwrap(), id), all);
    }
}

#[test]
fn a_snapshot_goes_on_seeing_the_old_columns() {
    let store = Store::memory(settings()).unwrap();
    let id = store.create_stream(spec(RunFormat::Hot)).unwrap();
    insert_narrow(&store, id, 0..10);
    store.flush().unwrap();
    insert_narrow(&store, id, 10..20);
    let before = store.snapshot().unwrap();
    store.alter_stream(id, wide()).unwrap();
    insert_wide(&store, id, 20..30);
    let batches: Vec<_> = before.scan(id, &ScanSpec::default()).unwrap().collect();
    let found: usize = batches.iter().map(|batch| batch.as_ref().unwrap().num_rows()).sum();
    assert_eq!(found, 20);
    assert!(batches.iter().all(|batch| batch.as_ref().unwrap().num_columns() == 2));
    assert_eq!(rows(&store.snapshot().unwrap(), id), expected(0..20, 20..30));
}

#[test]
fn a_pin_made_before_is_read_with_the_columns_of_today() {
    let io = Io::memory();
    let store = open(&io);
    let id = store.create_stream(spec(RunFormat::Cold)).unwrap();
    insert_narrow(&store, id, 0..10);
    store.pin("before").unwrap();
    store.alter_stream(id, wide()).unwrap();
    insert_wide(&store, id, 10..20);
    store.compact(None).unwrap();
    store.close().unwrap();
    let store = open(&io);
    let pinned = store.snapshot_at("before").unwrap();
    assert_eq!(rows(&pinned, id), expected(0..10, 0..0));
}

#[test]
fn an_appender_goes_on_with_the_new_columns() {
    let io = Io::memory();
    let store = open(&io);
    let id = store.create_stream(spec(RunFormat::Hot)).unwrap();
    let mut appender = store.appender(id).unwrap();
    appender.append(&[Cell::Int(1), Cell::Int(1)], Durability::Written).unwrap();
    store.alter_stream(id, wide()).unwrap();
    let old = appender.append(&[Cell::Int(2), Cell::Int(2)], Durability::Written).unwrap_err();
    assert_eq!(old.kind(), ErrorKind::InvalidData, "{old}");
    let cells = [Cell::Int(2), Cell::Float(2.0), Cell::Text("x")];
    assert!(appender.try_append(&cells).unwrap().is_some());
    drop((appender, store));
    let store = open(&io);
    assert_eq!(rows(&store.snapshot().unwrap(), id), expected(1..2, 2..3));
}

#[test]
fn a_batch_of_the_old_columns_is_refused() {
    let store = Store::memory(settings()).unwrap();
    let id = store.create_stream(spec(RunFormat::Hot)).unwrap();
    store.alter_stream(id, wide()).unwrap();
    let column = Int64Array::from(vec![1]);
    let columns: Vec<Arc<dyn Array>> = vec![Arc::new(column.clone()), Arc::new(column)];
    let batch = RecordBatch::try_new(narrow(), columns).unwrap();
    let error = store.commit(Changes::new().insert(id, batch), Durability::Written).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidData, "{error}");
}

#[test]
fn streams_that_keep_the_latest_row_a_key_may_be_altered() {
    let io = Io::memory();
    let store = open(&io);
    let id =
        store.create_stream(StreamSpec { merge: Merge::Latest, ..spec(RunFormat::Cold) }).unwrap();
    insert_narrow(&store, id, 0..100);
    store.flush().unwrap();
    store.compact(Some(id)).unwrap();
    store.alter_stream(id, wide()).unwrap();
    insert_wide(&store, id, 50..60);
    let mut all = expected(0..50, 50..60);
    all.extend(expected(60..100, 0..0));
    assert_eq!(rows(&store.snapshot().unwrap(), id), all);
    drop(store);
    let store = open(&io);
    store.flush().unwrap();
    store.compact(Some(id)).unwrap();
    assert_eq!(rows(&store.snapshot().unwrap(), id), all);
}

#[test]
fn a_reader_that_follows_sees_the_new_columns() {
    let io = Io::memory();
    let store = open(&io);
    let id = store.create_stream(spec(RunFormat::Hot)).unwrap();
    insert_narrow(&store, id, 0..10);
    store.flush().unwrap();
    let reader = Store::open_with(io.clone(), "/store".as_ref(), Access::Read, settings()).unwrap();
    assert_eq!(
        reader.snapshot().unwrap().count(id, &timestrata_engine::KeyRange::ALL).unwrap(),
        10
    );
    store.alter_stream(id, wide()).unwrap();
    insert_wide(&store, id, 10..20);
    reader.refresh().unwrap();
    assert_eq!(rows(&reader.snapshot().unwrap(), id), expected(0..10, 10..20));
}

#[test]
fn what_rows_would_not_fit_is_refused_and_nothing_changes() {
    let store = Store::memory(settings()).unwrap();
    let id = store.create_stream(spec(RunFormat::Hot)).unwrap();
    insert_narrow(&store, id, 0..3);
    let mut required = wide().fields().to_vec();
    required.push(Arc::new(Field::new("must", DataType::Int64, false)));
    let refused = [
        schema(&[("time", DataType::Int64)]),
        schema(&[("time", DataType::Int64), ("m", DataType::Int64)]),
        schema(&[("time", DataType::Int64), ("n", DataType::Int32)]),
        schema(&[("time", DataType::Utf8), ("n", DataType::Int64)]),
        schema(&[("time", DataType::Int64), ("n", DataType::Int64), ("n", DataType::Int64)]),
        schema(&[("time", DataType::Int64), ("n", DataType::Int64), ("v", DataType::Utf8View)]),
        Arc::new(Schema::new(required)),
    ];
    for schema in refused {
        let error = store.alter_stream(id, schema.clone()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{schema}: {error}");
    }
    assert_eq!(store.stream("s").unwrap().schema(), &narrow());
    insert_narrow(&store, id, 3..5);
    let missing = store.alter_stream(StreamId(99), wide()).unwrap_err();
    assert_eq!(missing.kind(), ErrorKind::NotFound);
}

#[test]
fn writers_go_on_while_columns_are_added() {
    let store = Store::memory(Settings::default()).unwrap();
    let id = store.create_stream(spec(RunFormat::Hot)).unwrap();
    let done = AtomicBool::new(false);
    let appended = std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            let mut appender = store.appender(id).unwrap();
            let (mut time, mut width) = (0, 2);
            while !done.load(Ordering::Acquire) || time < 1_000 {
                let cells = [
                    Cell::Int(time),
                    if width == 2 { Cell::Int(time) } else { Cell::Float(time as f64) },
                    Cell::Text("x"),
                ];
                match appender.append(&cells[..width], Durability::Written) {
                    Ok(_) => time += 1,
                    Err(error) => {
                        assert_eq!((error.kind(), width), (ErrorKind::InvalidData, 2), "{error}");
                        width = 3;
                    }
                }
            }
            time
        });
        std::thread::yield_now();
        store.alter_stream(id, wide()).unwrap();
        done.store(true, Ordering::Release);
        writer.join().unwrap()
    });
    let found = rows(&store.snapshot().unwrap(), id);
    assert_eq!(found.len() as i64, appended);
    assert!(found.is_sorted_by_key(|row| row.0) && found.iter().is_sorted_by_key(|row| row.2));
}

#[test]
fn the_model_lock_of_a_stream_stays_the_same() {
    let store = Store::memory(settings()).unwrap();
    let id = store.create_stream(spec(RunFormat::Hot)).unwrap();
    let lock = store.model_lock(id).unwrap();
    let held = lock.read();
    // The engine doesn't take it: a model that holds it may change the stream.
    store.alter_stream(id, wide()).unwrap();
    store.set_retention(id, Retention { age_ns: None, bytes: Some(1 << 30) }).unwrap();
    insert_wide(&store, id, 0..10);
    store.flush().unwrap();
    assert!(store.clone().model_lock(id).unwrap().try_write().is_none());
    drop(held);
    assert!(store.model_lock(id).unwrap().try_write().is_some());
    store.drop_stream("s").unwrap();
    assert_eq!(store.model_lock(id).unwrap_err().kind(), ErrorKind::NotFound);
}

#[test]
fn aggregates_are_told_of_columns_that_are_as_they_were() {
    const ROWS: i64 = 5_000;
    let store = open(&Io::memory());
    let fields = [("time", DataType::Int64), ("name", DataType::Utf8), ("n", DataType::Int64)];
    let mut spec = spec(RunFormat::Cold);
    spec.schema = schema(&fields);
    spec.properties.push((SERIES_PROPERTY.to_owned(), "name".to_owned()));
    let id = store.create_stream(spec).unwrap();
    let names = (0..ROWS).map(|row| format!("series {}", row % 2));
    let columns: Vec<Arc<dyn Array>> = vec![
        Arc::new(Int64Array::from_iter_values(0..ROWS)),
        Arc::new(StringArray::from_iter_values(names)),
        Arc::new(Int64Array::from_iter_values(0..ROWS)),
    ];
    let rows = RecordBatch::try_new(schema(&fields), columns).unwrap();
    store.commit(Changes::new().insert(id, rows), Durability::Written).unwrap();
    store.compact(Some(id)).unwrap();
    let told = |of: &[usize]| {
        let snapshot = store.snapshot().unwrap();
        let known = snapshot.aggregates(id, &[KeyRange::ALL], &[1], of).unwrap();
        assert!(store.check().unwrap().findings.is_empty());
        known.pieces.iter().flat_map(|piece| piece.rows.iter().flatten()).sum::<i64>()
    };
    assert_eq!(told(&[2]), ROWS);
    let mut more = fields.to_vec();
    more.push(("later", DataType::Int64));
    store.alter_stream(id, schema(&more)).unwrap();
    assert_eq!((told(&[2]), told(&[3])), (ROWS, 0));
    more[2].1 = DataType::Float64;
    store.alter_stream(id, schema(&more)).unwrap();
    assert_eq!((told(&[]), told(&[2])), (0, 0));
    store.compact(Some(id)).unwrap();
}
