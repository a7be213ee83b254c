//! Scans that are larger than the cache, whose batches lie together in memory that the next scan is given again.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int32Type, Int64Type};
use arrow_array::{Array, Float64Array, Int32Array, Int64Array, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema};
use timestrata_engine::{
    Changes, Durability, Maintenance, RunFormat, SERIES_PROPERTY, ScanSpec, Settings, Store,
    StreamId, StreamSpec,
};

const ROWS: i64 = 300_000;

/// Values of one place are close to each other, so that it pays where they lie together.
const PLACES: i64 = 23;

fn place(row: i64) -> String {
    format!("place {}", "x".repeat((row % PLACES) as usize))
}

fn degrees(row: i64) -> f64 {
    (row % PLACES * 1_000 + row / PLACES % 40) as f64 / 4.0
}

/// Every seventh one is missing, which Parquet's own reader decodes.
fn note(row: i64) -> Option<i64> {
    (row % 7 != 0).then_some(row % PLACES * 10_000 + row / 500)
}

fn level(row: i64) -> i32 {
    (row % PLACES * 77) as i32 - (row / 900) as i32
}

/// How compacted rows lie.
#[derive(Debug, Clone, Copy)]
enum Order {
    ByTime,
    /// The rows of a place one behind the other.
    BySeries,
}

/// The rows in compacted runs, none of which the cache has room for.
fn store(order: Order) -> (Store, StreamId) {
    let settings =
        Settings { maintenance: Maintenance::Manual, cache_bytes_max: 0, ..Settings::default() };
    let store = Store::memory(settings).unwrap();
    let fields = vec![
        Field::new("time", DataType::Int64, false),
        Field::new("place", DataType::Utf8, false),
        Field::new("degrees", DataType::Float64, false),
        Field::new("note", DataType::Int64, true),
        Field::new("level", DataType::Int32, false),
    ];
    let schema = Arc::new(Schema::new(fields));
    let spec = StreamSpec {
        run_format: RunFormat::Cold,
        properties: match order {
            Order::ByTime => Vec::new(),
            Order::BySeries => vec![(SERIES_PROPERTY.to_owned(), "place".to_owned())],
        },
        ..StreamSpec::new("weather", Arc::clone(&schema))
    };
    let id = store.create_stream(spec).unwrap();
    let rows = || 0..ROWS;
    let columns = vec![
        Arc::new(Int64Array::from_iter_values(rows())) as _,
        Arc::new(StringArray::from_iter_values(rows().map(place))) as _,
        Arc::new(Float64Array::from_iter_values(rows().map(degrees))) as _,
        Arc::new(rows().map(note).collect::<Int64Array>()) as _,
        Arc::new(Int32Array::from_iter_values(rows().map(level))) as _,
    ];
    let batch = RecordBatch::try_new(schema, columns).unwrap();
    store.commit(Changes::new().insert(id, batch), Durability::Written).unwrap();
    store.compact(Some(id)).unwrap();
    (store, id)
}

/// Holds a batch against what was written, and gives the rows after the last one of it.
fn assert_written(batch: &RecordBatch) -> i64 {
    let times = batch.column(0).as_primitive::<Int64Type>().values();
    let places = batch.column(1).as_string::<i32>();
    let all_degrees = batch.column(2).as_primitive::<Float64Type>();
    let notes = batch.column(3).as_primitive::<Int64Type>();
    let levels = batch.column(4).as_primitive::<Int32Type>();
    for (index, time) in times.iter().enumerate() {
        assert_eq!(places.value(index), place(*time));
        assert_eq!(all_degrees.value(index).to_bits(), degrees(*time).to_bits());
        assert_eq!(notes.is_valid(index).then(|| notes.value(index)), note(*time));
        assert_eq!(levels.value(index), level(*time));
    }
    times.last().map_or(0, |last| last + 1)
}

fn assert_all_written(batches: &[RecordBatch]) {
    for batch in batches {
        assert_written(batch);
    }
}

/// Reads all rows, holds each batch against what was written, and keeps one of `one_in`.
fn some_of_all((store, id): (&Store, StreamId), threads: usize, one_in: usize) -> Vec<RecordBatch> {
    let spec = ScanSpec { threads, ..ScanSpec::default() };
    let (mut next, mut kept) = (0, Vec::new());
    for (index, batch) in store.snapshot().unwrap().scan(id, &spec).unwrap().enumerate() {
        let batch = batch.unwrap();
        assert_eq!(batch.column(0).as_primitive::<Int64Type>().value(0), next);
        next = assert_written(&batch);
        if index % one_in == 0 {
            kept.push(batch);
        }
    }
    assert_eq!(next, ROWS);
    kept
}

#[test]
fn batches_that_are_kept_stay_as_they_are_while_others_are_read_into_memory_beside_them() {
    for order in [Order::ByTime, Order::BySeries] {
        kept_beside_others(order);
    }
}

fn kept_beside_others(order: Order) {
    let (store, id) = store(order);
    std::thread::scope(|scope| {
        for reader in 0..3 {
            let store = &store;
            scope.spawn(move || {
                let mut kept = Vec::new();
                for turn in 0..3 {
                    kept.extend(some_of_all((store, id), 1 + (reader + turn) % 2, 3 + turn));
                    assert_all_written(&kept);
                }
            });
        }
    });
}

#[test]
fn batches_outlive_the_store_that_they_are_of() {
    let (store, id) = store(Order::BySeries);
    let kept = some_of_all((&store, id), 2, 1);
    drop(store);
    let (other, of_other) = self::store(Order::ByTime);
    some_of_all((&other, of_other), 2, 4);
    assert_all_written(&kept);
}
