//! Flush and compaction, as bytes of rows a second.

use timestrata_bench::{Batches, Bench, Better, Measure, Result, Samples, Shuffle, scratch};
use timestrata_engine::{Maintenance, Settings};

use super::{store, take_in};

/// The faster end of what another store (KausalDB) reports for compaction, MB/s.
const PUBLISHED_COMPACTION: f64 = 102.0;
const RUNS: usize = 5;

pub(super) fn run(bench: &mut Bench) -> Result<()> {
    let rows = bench.many(1_000_000);
    let rounds = bench.rounds(3);
    let (mut flush, mut compaction) = (Samples::new(), Samples::new());
    for _ in 0..rounds {
        let dir = scratch(&bench.dir)?;
        let settings = Settings {
            memtable_bytes_max: 512 << 20,
            memory_bytes_max: 1 << 30,
            maintenance: Maintenance::Manual,
            ..Settings::default()
        };
        let mut batches = Batches::of_bytes(Shuffle::Late(rows), 64);
        let (store, stream) = store(dir.path(), settings, batches.schema())?;
        for _ in 0..RUNS {
            take_in(&store, stream, &mut batches, rows, 10_000)?;
            // The log is synced by the clock, once a second; its bytes are not the flush's.
            store.sync()?;
            let before = store.stats();
            let (seconds, ()) = bench.watch.time(|| store.flush())?;
            let bytes = store.stats().flush_bytes - before.flush_bytes;
            flush.add(bytes as f64 / 1e6 / seconds);
        }
        let before = store.stats();
        let (seconds, ()) = bench.watch.time(|| store.compact(None))?;
        let bytes = store.stats().compaction_bytes - before.compaction_bytes;
        compaction.add(bytes as f64 / 1e6 / seconds);
        store.close()?;
    }
    let shape = format!(
        "rows of 8 B time and 64 B value, one in five late by up to {rows} places; sync of the \
         new files in it, the log synced before; nothing else runs"
    );
    for (name, samples, what) in [
        ("flush", &flush, format!("memtables of {rows} rows")),
        ("compaction", &compaction, format!("compact() of {RUNS} such runs, bytes rewritten")),
    ] {
        let (low, high) = samples.spread();
        bench.report(
            Measure::new(name, "MB/s", samples.median())
                .against(
                    "what the system that it replaces reports",
                    PUBLISHED_COMPACTION,
                    Better::Higher,
                )
                .aim(5.0)
                .note(format!(
                    "median of {} ({low:.0} to {high:.0}) {what}: {shape}",
                    samples.count()
                )),
        );
    }
    Ok(())
}
