//! Whether a row costs more where there are more rows.

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use timestrata_bench::{
    Batches, Bench, Better, Measure, Numbers, Result, STEP, Samples, Shuffle, grouped, scratch,
    settle,
};
use timestrata_engine::{KeyRange, ScanSpec, Settings, Store, StreamId};

use super::{store, sum, take_in};

const MILLIONS: [u64; 3] = [1, 10, 50];
const BATCH_ROWS: u64 = 10_000;
const SLICE_ROWS: u64 = 1_000;
const SLICES: usize = 2_000;
const FLAT: f64 = 1.0 / 1.3;
/// Name, unit and note of each figure that [`measure`] gives.
const KINDS: [(&str, &str, &str); 3] = [
    (
        "ingest",
        "ns/row",
        "seconds of all commits over all rows; flushes go on in the background, the smallest \
         store is too small for any",
    ),
    ("ingest and flush", "ns/row", "the same with a flush of what is in memory at the end"),
    (
        "slice of 1,000 rows",
        "us",
        "median of 2,000 slices at random times, all columns, every value read; after all \
         maintenance and one scan of everything",
    ),
];

pub(super) fn run(bench: &mut Bench) -> Result<()> {
    let mut figures = Vec::new();
    for millions in MILLIONS {
        let rows = bench.many(millions * 1_000_000);
        // A small store fills in a moment, so it takes more of them for a figure to stand.
        let rounds = bench.rounds((10 / millions).max(1) as usize);
        let mut samples = [Samples::new(), Samples::new(), Samples::new()];
        for _ in 0..rounds {
            for (samples, value) in samples.iter_mut().zip(measure(bench, rows)?) {
                samples.add(value);
            }
        }
        figures.push((rows, rounds, samples.map(|samples| samples.median())));
    }
    let Some(&(base_rows, base_rounds, base)) = figures.first() else {
        return Ok(());
    };
    let base_name = format!("own figure at {} rows", grouped(base_rows));
    for (rows, rounds, values) in figures {
        let rows = grouped(rows);
        let shape = format!(
            "median of {rounds} store(s), of the smallest {base_rounds}; rows of 16 B in order, \
             commits of {BATCH_ROWS} rows, `Written`, default settings"
        );
        for (index, (name, unit, note)) in KINDS.into_iter().enumerate() {
            let [value, base] = [values, base].map(|values| values[index]);
            bench.report(
                Measure::new(format!("{name} at {rows} rows"), unit, value)
                    .against(&base_name, base, Better::Lower)
                    .aim(FLAT)
                    .note(format!("{note}; {shape}")),
            );
        }
    }
    Ok(())
}

/// Nanoseconds a row of ingest, without and with the last flush; microseconds a slice.
fn measure(bench: &Bench, rows: u64) -> Result<[f64; 3]> {
    let dir = scratch(&bench.dir)?;
    let mut batches = Batches::of_numbers(Shuffle::InOrder);
    let (store, stream) = store(dir.path(), Settings::default(), batches.schema())?;
    let seconds = take_in(&store, stream, &mut batches, rows, BATCH_ROWS)?;
    let flush_seconds = bench.watch.time(|| store.flush())?.0;
    settle(&store)?;
    // Maps every page, so that a slice costs what it costs the second time.
    slice(&store, stream, KeyRange::ALL)?;
    let mut numbers = Numbers::new(8);
    let mut samples = Samples::new();
    for _ in 0..SLICES {
        let place = numbers.below(rows - SLICE_ROWS) as i64;
        let range = KeyRange::times(place * STEP, (place + SLICE_ROWS as i64) * STEP);
        let found = bench.watch.sample(&mut samples, 1e6, || slice(&store, stream, range))?;
        if found != SLICE_ROWS as usize {
            return Err(format!("a slice of {SLICE_ROWS} rows gave {found}").into());
        }
    }
    store.close()?;
    let ns_a_row = |seconds: f64| seconds * 1e9 / rows as f64;
    Ok([ns_a_row(seconds), ns_a_row(seconds + flush_seconds), samples.median()])
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
