//! Commits that survive a power cut, against the disk itself.

use std::sync::atomic::{AtomicBool, Ordering};

use timestrata_bench::{
    Bench, Better, Direct, Measure, Numbers, Prepared, Result, STEP, Samples, Watch, bytes_schema,
    scratch,
};
use timestrata_engine::{Cell, Durability, Settings, Store, StreamId};

use super::store;

const VALUE_BYTES: usize = 256;
const FLOOR_FILE_BYTES: u64 = 16 << 20;

pub(super) fn run(bench: &mut Bench) -> Result<()> {
    let samples = bench.many(2_500);
    let dir = scratch(&bench.dir)?;
    let (store, stream) = store(&dir.path().join("store"), Settings::default(), bytes_schema())?;
    let mut prepared = Prepared::create(&dir.path().join("prepared"), FLOOR_FILE_BYTES)?;
    let mut direct = Direct::create(&dir.path().join("direct"), FLOOR_FILE_BYTES).ok();
    let mut appender = store.appender(stream)?;
    let value = Numbers::new(4).bytes(VALUE_BYTES);
    let (mut ours, mut synced, mut passing) = (Samples::new(), Samples::new(), Samples::new());
    for row in 0..samples as i64 {
        bench.watch.sample(&mut ours, 1e6, || {
            let cells = [Cell::Int(row * STEP), Cell::Bytes(&value)];
            Ok(appender.append(&cells, Durability::Synced)?)
        })?;
        bench.watch.sample(&mut synced, 1e6, || prepared.write_synced(&value))?;
        if let Some(direct) = &mut direct {
            bench.watch.sample(&mut passing, 1e6, || direct.write_page())?;
        }
    }
    drop(appender);
    store.close()?;
    for (name, share) in [("p50", 0.5), ("p99", 0.99)] {
        let note = format!("{samples} commits of one row of 256 B, each in turn with the floor");
        let measure = |short: &str, against: &str, floor: &Samples| {
            let name = format!("`Synced` commit of 256 B, {name}, and {short}");
            Measure::new(name, "us", ours.percentile(share))
                .against(against, floor.percentile(share), Better::Lower)
                .note(note.clone())
        };
        bench.report(
            measure("fdatasync", "write and fdatasync into a prepared file", &synced)
                .aim(1.0 / 1.3),
        );
        if passing.count() > 0 {
            bench.report(measure("O_DIRECT", "O_DIRECT and O_DSYNC overwrite of 4 KiB", &passing));
        }
    }
    Ok(())
}

/// Commits a second of one thread and of eight, in turns.
pub(super) fn run_threads(bench: &mut Bench) -> Result<()> {
    const THREADS: usize = 8;
    let milliseconds = bench.many(1_500);
    let rounds = bench.rounds(5);
    let dir = scratch(&bench.dir)?;
    let (store, stream) = store(dir.path(), Settings::default(), bytes_schema())?;
    let (mut one, mut eight) = (Samples::new(), Samples::new());
    for _ in 0..rounds {
        one.add(commits_a_second(&store, stream, 1, milliseconds)?);
        eight.add(commits_a_second(&store, stream, THREADS, milliseconds)?);
    }
    store.close()?;
    bench.report(
        Measure::new("`Synced` commits of 8 threads", "1/s", eight.median())
            .against("one thread", one.median(), Better::Higher)
            .aim(4.0)
            .note(format!(
                "median of {rounds} rounds in turns of {milliseconds} ms, one row of 256 B a \
                 commit, one stream"
            )),
    );
    Ok(())
}

fn commits_a_second(
    store: &Store,
    stream: StreamId,
    threads: usize,
    milliseconds: u64,
) -> Result<f64> {
    let (watch, over) = (Watch::new(), AtomicBool::new(false));
    let start = watch.now_ns();
    let commits = std::thread::scope(|scope| -> Result<u64> {
        let work = || -> Result<u64> {
            let value = Numbers::new(5).bytes(VALUE_BYTES);
            let mut appender = store.appender(stream)?;
            let mut commits = 0;
            while !over.load(Ordering::Relaxed) {
                let time = i64::try_from(watch.now_ns())?;
                appender.append(&[Cell::Int(time), Cell::Bytes(&value)], Durability::Synced)?;
                commits += 1;
                if watch.now_ns() - start > milliseconds * 1_000_000 {
                    over.store(true, Ordering::Relaxed);
                }
            }
            Ok(commits)
        };
        let handles: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        let mut commits = 0;
        for handle in handles {
            commits += handle.join().map_err(|_| "a thread panicked")??;
        }
        Ok(commits)
    })?;
    Ok(commits as f64 * 1e9 / (watch.now_ns() - start) as f64)
}
