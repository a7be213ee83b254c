//! One commit of many rows, against the least that any writer must do with the same bytes.

use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use timestrata_bench::{Bench, Better, Measure, Numbers, Result, Samples, scratch};
use timestrata_engine::{Io, Settings};
use timestrata_format::checksum::crc32c;
use timestrata_io::OpenMode;

use super::{flat, store};

const BATCH_ROWS: usize = 50_000;

/// How far from its place a row may be, in rows.
const ORDERS: [(&str, u64); 2] = [("in time order", 1), ("up to 1,000,000 rows late", 1_000_000)];

pub(super) fn run(bench: &mut Bench) -> Result<()> {
    let batches = bench.many(200);
    let rounds = bench.rounds(3);
    for (order, late) in ORDERS {
        let (mut ours, mut raw, mut bytes) = (Samples::new(), Samples::new(), 0);
        for _ in 0..rounds {
            let dir = scratch(&bench.dir)?;
            let given = (0..batches).map(|n| trades(n, late)).collect::<Result<Vec<_>>>()?;
            let flat: Vec<Vec<u8>> = given.iter().map(flat).collect();
            bytes = flat.iter().map(Vec::len).sum();
            let rows = speed(given.len() * BATCH_ROWS);
            let floor = Io::os().disk.open(&dir.path().join("floor"), OpenMode::CreateNew)?;
            let (seconds, _) = bench.watch.time(|| -> Result<u32> {
                let mut sums = 0;
                for piece in &flat {
                    sums ^= crc32c(std::hint::black_box(piece));
                    floor.append(piece)?;
                }
                floor.sync_all()?;
                Ok(std::hint::black_box(sums))
            })?;
            raw.add(rows(seconds));
            drop(flat);
            let (store, stream) = store(&dir.path().join("store"), Settings::default(), schema())?;
            let (seconds, _) = bench.watch.time(|| {
                let mut bulk = store.bulk()?;
                given.into_iter().try_for_each(|batch| bulk.insert(stream, batch))?;
                bulk.commit()
            })?;
            ours.add(rows(seconds));
            store.close()?;
        }
        bench.report(
            Measure::new(format!("bulk commit, {order}"), "M rows/s", ours.median())
                .against("write, CRC-32C and sync of the same bytes", raw.median(), Better::Higher)
                .note(format!(
                    "median of {rounds} rounds in turns, each one commit of {batches} batches of \
                     {BATCH_ROWS} trades (time, symbol, price, volume; {:.0} MB) to an empty store",
                    bytes as f64 / 1e6
                )),
        );
    }
    Ok(())
}

/// Millions of rows a second, by the seconds that they took.
fn speed(rows: usize) -> impl Fn(f64) -> f64 {
    move |seconds| rows as f64 / 1e6 / seconds
}

fn schema() -> SchemaRef {
    Arc::new(Schema::new(vec![
        Field::new("time", DataType::Int64, false),
        Field::new("symbol", DataType::Utf8, false),
        Field::new("price", DataType::Float64, false),
        Field::new("volume", DataType::Int64, false),
    ]))
}

/// The `n`-th batch.
fn trades(n: u64, late: u64) -> Result<RecordBatch> {
    let mut numbers = Numbers::new(n);
    let first = n * BATCH_ROWS as u64;
    let mut times = Vec::with_capacity(BATCH_ROWS);
    let mut symbols = Vec::with_capacity(BATCH_ROWS);
    let mut prices = Vec::with_capacity(BATCH_ROWS);
    let mut volumes = Vec::with_capacity(BATCH_ROWS);
    for row in first..first + BATCH_ROWS as u64 {
        times.push(row as i64 * 1_000 - numbers.below(late) as i64 * 1_000);
        symbols.push(format!("SYM{:03}", numbers.below(500)));
        prices.push(numbers.below(100_000) as f64 / 100.0);
        volumes.push(numbers.below(10_000) as i64);
    }
    let columns: Vec<ArrayRef> = vec![
        Arc::new(Int64Array::from(times)),
        Arc::new(StringArray::from_iter_values(symbols)),
        Arc::new(Float64Array::from(prices)),
        Arc::new(Int64Array::from(volumes)),
    ];
    Ok(RecordBatch::try_new(schema(), columns)?)
}
