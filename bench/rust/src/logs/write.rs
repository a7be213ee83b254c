//! Writing entries, one a commit.

use timestrata_bench::{Bench, Better, Measure, Prepared, Result, Samples, scratch};
use timestrata_engine::{Durability, Settings, Store};
use timestrata_logs::{Logs, NewEntry};

use super::{ENTRY_BYTES, create, entries};

/// Microseconds an entry that the system which this replaces reports; it syncs each.
const PUBLISHED_US: f64 = 75.0;

pub(super) fn run(bench: &mut Bench) -> Result<()> {
    let count = bench.many(100_000) as usize;
    let rounds = bench.rounds(7);
    let entries = entries(count);
    let (mut single, mut batched) = (Samples::new(), Samples::new());
    for _ in 0..rounds {
        into_new_log(bench, &mut single, count, |logs| {
            for entry in &entries {
                logs.write(entry)?;
            }
            Ok(())
        })?;
        into_new_log(bench, &mut batched, count, |logs| {
            for some in entries.chunks(1_000) {
                logs.write_many(some, Durability::Written)?;
            }
            Ok(())
        })?;
    }
    let note = format!("{count} entries of {ENTRY_BYTES} B with 5 fields, median of {rounds}");
    bench.report(
        Measure::new("`Written`, an entry a commit, one thread", "us", single.median())
            .against("what the system that it replaces reports", PUBLISHED_US, Better::Lower)
            .aim(100.0)
            .note(note.clone()),
    );
    bench.report(
        Measure::new("the same, 1,000 entries a commit", "us", batched.median())
            .against("what the system that it replaces reports", PUBLISHED_US, Better::Lower)
            .note(note),
    );
    Ok(())
}

/// Writes so many entries into a new log; adds the microseconds that each takes.
fn into_new_log(
    bench: &Bench,
    samples: &mut Samples,
    count: usize,
    write: impl FnOnce(&Logs) -> Result<()>,
) -> Result<()> {
    let dir = scratch(&bench.dir)?;
    let store = Store::open(dir.path(), Settings::default())?;
    let logs = create(&store)?;
    bench.watch.sample(samples, 1e6 / count as f64, || write(&logs))?;
    Ok(store.close()?)
}

pub(super) fn run_synced(bench: &mut Bench) -> Result<()> {
    const THREADS: usize = 8;
    let count = bench.many(4_000) as usize;
    let rounds = bench.rounds(5);
    let entries = entries(count);
    let dir = scratch(&bench.dir)?;
    let store = Store::open(dir.path().join("store"), Settings::default())?;
    let logs = create(&store)?;
    let mut floor = Prepared::create(&dir.path().join("floor"), 64 << 20)?;
    let bytes = vec![b'x'; ENTRY_BYTES];
    let (mut one, mut eight, mut raw) = (Samples::new(), Samples::new(), Samples::new());
    for _ in 0..rounds {
        let few = entries.get(..count / THREADS).unwrap_or(&entries);
        bench.watch.rate(&mut one, few.len() as f64, || write_all(&logs, few))?;
        bench.watch.rate(&mut eight, count as f64, || {
            std::thread::scope(|scope| {
                let chunks = entries.chunks(count.div_ceil(THREADS));
                let threads: Vec<_> =
                    chunks.map(|chunk| scope.spawn(|| write_all(&logs, chunk))).collect();
                threads
                    .into_iter()
                    .try_for_each(|thread| thread.join().map_err(|_| "a thread panicked")?)
            })
        })?;
        bench.watch.rate(&mut raw, few.len() as f64, || {
            few.iter().try_for_each(|_| floor.write_synced(&bytes))
        })?;
    }
    store.close()?;
    let note = format!("entries of {ENTRY_BYTES} B, one a commit; {rounds} rounds in turns");
    bench.report(
        Measure::new("`Synced`, 8 threads", "1/s", eight.median())
            .against("one thread", one.median(), Better::Higher)
            .aim(4.0)
            .note(note.clone()),
    );
    for (name, rate) in [("one thread", &one), ("8 threads", &eight)] {
        bench.report(
            Measure::new(format!("`Synced`, {name}, and the floor"), "1/s", rate.median())
                .against("write and fdatasync into a prepared file", raw.median(), Better::Higher)
                .note(note.clone()),
        );
    }
    Ok(())
}

fn write_all(logs: &Logs, entries: &[NewEntry]) -> Result<()> {
    for entry in entries {
        logs.write_with(entry, Durability::Synced)?;
    }
    Ok(())
}
