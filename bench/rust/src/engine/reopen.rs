//! Opening a store that was closed in good order.

use timestrata_bench::{Batches, Bench, Better, Measure, Result, Samples, Shuffle, scratch};
use timestrata_engine::{Settings, Store};

use super::{store, take_in};

pub(super) fn run(bench: &mut Bench) -> Result<()> {
    let rows = bench.many(10_000_000);
    let rounds = bench.rounds(25);
    let dir = scratch(&bench.dir)?;
    let paths = [dir.path().join("full"), dir.path().join("empty")];
    for (path, rows) in paths.iter().zip([rows, 0]) {
        let mut batches = Batches::of_numbers(Shuffle::Late(10_000));
        let (store, stream) = store(path, Settings::default(), batches.schema())?;
        take_in(&store, stream, &mut batches, rows, 10_000)?;
        store.close()?;
    }
    let mut samples = [Samples::new(), Samples::new()];
    let mut runs = 0;
    for _ in 0..rounds {
        for (path, samples) in paths.iter().zip(&mut samples) {
            let open = || Ok(Store::open(path, Settings::default())?);
            let store = bench.watch.sample(samples, 1e6, open)?;
            runs = runs.max(store.stats().streams.iter().map(|stream| stream.runs).sum());
            store.close()?;
        }
    }
    let [full, empty] = samples;
    bench.report(
        Measure::new(format!("reopen at {rows} rows"), "us", full.median())
            .against("reopen of an empty store", empty.median(), Better::Lower)
            .aim(0.5)
            .note(format!(
                "median of {rounds} opens in turns after clean closes; one stream, {runs} runs, \
                 20 % late rows"
            )),
    );
    Ok(())
}
