//! One column of everything, from mapped runs, against an array.

use timestrata_bench::{
    Batches, Bench, Better, Measure, Result, STEP, Samples, Shuffle, scratch, settle,
};
use timestrata_engine::Settings;

use super::{store, sum, sum_times, take_in};

pub(super) fn run(bench: &mut Bench) -> Result<()> {
    let rows = bench.many(10_000_000) / 10_000 * 10_000;
    let rounds = bench.rounds(15);
    let dir = scratch(&bench.dir)?;
    let mut batches = Batches::of_numbers(Shuffle::InOrder);
    let (store, stream) = store(dir.path(), Settings::default(), batches.schema())?;
    take_in(&store, stream, &mut batches, rows, 10_000)?;
    settle(&store)?;
    let runs: u64 = store.stats().streams.iter().map(|stream| stream.runs).sum();
    let array: Vec<i64> = (0..rows as i64).map(|place| place * STEP).collect();
    let expected = (sum(&array), array.len());
    let (mut ours, mut floor) = (Samples::new(), Samples::new());
    for round in 0..=rounds {
        let (seconds, found) = bench.watch.time(|| sum_times(&store, stream))?;
        if found != expected {
            return Err(format!("the scan gave {found:?}, expected {expected:?}").into());
        }
        let (floor_seconds, _) =
            bench.watch.time(|| Ok::<_, ()>(std::hint::black_box(sum(&array)))).unwrap_or_default();
        // The first round pages everything in.
        if round > 0 {
            ours.add(rows as f64 / seconds);
            floor.add(rows as f64 / floor_seconds);
        }
    }
    store.close()?;
    bench.report(
        Measure::new("scan of the time column from mapped runs", "rows/s", ours.median())
            .against("summing a same-sized array", floor.median(), Better::Higher)
            .aim(0.8)
            .note(format!(
                "median of {rounds} in turns: {rows} rows in order in {runs} runs, page cache; \
                 both sum every time"
            )),
    );
    Ok(())
}
