//! Whether a row costs more where there are more rows.

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use timestrata_bench::Result;
use timestrata_bench::measure::{Better, Measure};
use timestrata_bench::raw::scratch;
use timestrata_bench::rows::{Batches, Numbers, STEP, Shuffle};
use timestrata_bench::sample::Samples;
use timestrata_engine::{Changes, Durability, KeyRange, ScanSpec, Settings, Store, StreamId};

use super::{settle, store, sum};
use crate::Bench;

const MILLIONS: [u64; 3] = [1, 10, 50];
const BATCH_ROWS: usize = 10_000;
const SLICE_ROWS: u64 = 1_000;
const SLICES: usize = 2_000;
const FLAT: f64 = 1.0 / 1.3;

pub(super) fn run(bench: &mut Bench) -> Result<()> {
    let mut figures = Vec::new();
    for millions in MILLIONS {
        let rows = bench.many(millions * 1_000_000);
        // A small store fills in a moment, so it takes more of them for a figure to stand.
        let rounds = bench.rounds((10 / millions).max(1) as usize);
        let (mut ingest, mut slice) = (Samples::new(), Samples::new());
        for _ in 0..rounds {
            let (ingest_ns, slice_us) = measure(bench, rows)?;
            ingest.add(ingest_ns);
            slice.add(slice_us);
        }
        figures.push((rows, rounds, ingest.median(), slice.median()));
    }
    let Some(&(base_rows, base_rounds, ingest_base, slice_base)) = figures.first() else {
        return Ok(());
    };
    let base = format!("own figure at{} rows", grouped(base_rows));
    for (rows, rounds, ingest, slice) in figures {
        let rows = grouped(rows);
        let shape = format!(
            "median of {rounds} store(s), of the smallest {base_rounds}; rows of 16 B in order, commits of \
             {BATCH_ROWS} rows, `Written`, default settings"
        );
        bench.report(
            Measure::new(format!("ingest at{rows} rows"), "ns/row", ingest)
                .against(&base, ingest_base, Better::Lower)
                .aim(FLAT)
                .note(format!(
                    "seconds of all commits over all rows; flushes and compactions go on in the \
                     background, the smallest store is too small for any: {shape}"
                )),
        );
        bench.report(
            Measure::new(format!("slice of 1,000 rows at{rows} rows"), "us", slice)
                .against(&base, slice_base, Better::Lower)
                .aim(FLAT)
                .note(format!(
                    "median of {SLICES} slices at random times, all columns, both read; after \
                     all maintenance; {shape}"
                )),
        );
    }
    Ok(())
}

/// A number of rows with a space before each group of three digits, for names.
fn grouped(rows: u64) -> String {
    let digits = rows.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if (digits.len() - index).is_multiple_of(3) || index == 0 {
            text.push(' ');
        }
        text.push(digit);
    }
    text
}

/// Nanoseconds a row of ingest, microseconds a slice.
fn measure(bench: &Bench, rows: u64) -> Result<(f64, f64)> {
    let dir = scratch(&bench.dir)?;
    let mut batches = Batches::of_numbers(Shuffle::InOrder);
    let (store, stream) = store(dir.path(), Settings::default(), batches.schema())?;
    let mut seconds = 0.0;
    for _ in 0..rows / BATCH_ROWS as u64 {
        let changes = Changes::new().insert(stream, batches.next_batch(BATCH_ROWS)?);
        seconds += bench.watch.time(|| store.commit(changes, Durability::Written))?.0;
    }
    settle(&store)?;
    let mut numbers = Numbers::new(8);
    let mut samples = Samples::new();
    for _ in 0..SLICES {
        let place = numbers.below(rows - SLICE_ROWS) as i64;
        let range = KeyRange::times(place * STEP, (place + SLICE_ROWS as i64) * STEP);
        let (seconds, found) = bench.watch.time(|| slice(&store, stream, range))?;
        if found != SLICE_ROWS as usize {
            return Err(format!("a slice of {SLICE_ROWS} rows gave {found}").into());
        }
        samples.add(seconds * 1e6);
    }
    store.close()?;
    Ok((seconds * 1e9 / rows as f64, samples.median()))
}

/// Rows of a slice, every value of which is read.
fn slice(store: &Store, stream: StreamId, range: KeyRange) -> Result<usize> {
    let spec = ScanSpec { range, ..ScanSpec::default() };
    let mut rows = 0;
    for batch in store.snapshot_of(stream)?.scan(stream, &spec)? {
        let batch = batch?;
        for column in batch.columns() {
            std::hint::black_box(sum(column.as_primitive::<Int64Type>().values()));
        }
        rows += batch.num_rows();
    }
    Ok(rows)
}
