//! Range deletes that go on and on, and reads between them.

use timestrata_bench::{Batches, Bench, Better, Measure, Result, Shuffle, scratch};
use timestrata_engine::{
    Cell, Changes, Durability, KeyRange, LeadKey, RowAppender, Settings, Store, StreamId,
};

use super::store;

/// Steps of one figure.
const WINDOW: i64 = 100_000;
/// Rows that a rolling window keeps.
const KEPT: i64 = 100;
/// Appends and reads between scattered deletes.
const READS: i64 = 5_000;

/// Append, delete all that is older, read: what a step takes at the end of very many, against the
/// first ones.
pub(super) fn run_rolling(bench: &mut Bench) -> Result<()> {
    let dir = scratch(&bench.dir)?;
    let schema = Batches::of_numbers(Shuffle::InOrder).schema();
    let (store, stream) = store(dir.path(), Settings::default(), schema)?;
    let mut appender = store.appender(stream)?;
    let windows = bench.many(10).cast_signed();
    let mut micros = Vec::new();
    for window in 0..windows {
        let steps = window * WINDOW..(window + 1) * WINDOW;
        let rolled = || roll(&store, stream, &mut appender, steps);
        micros.push(bench.watch.time(rolled)?.0 * 1e6 / WINDOW as f64);
    }
    let (first, last) = (micros[0], micros[micros.len() - 1]);
    let all: Vec<String> = micros.iter().map(|micros| format!("{micros:.2}")).collect();
    bench.report(
        Measure::new("rolling window: append, delete what is older, read", "us/step", last)
            .against("the first 100,000 steps", first, Better::Lower)
            .aim(0.8)
            .note(format!(
                "the last 100,000 of {} steps on a disk, `Written`, default settings; by 100,000: {}",
                windows * WINDOW,
                all.join(", ")
            )),
    );
    drop(appender);
    Ok(store.close()?)
}

fn roll(
    store: &Store,
    stream: StreamId,
    appender: &mut RowAppender,
    steps: std::ops::Range<i64>,
) -> Result<()> {
    for step in steps {
        appender.append(&[Cell::Int(step), Cell::Int(step)], Durability::Written)?;
        let older = KeyRange::new(None, LeadKey::Time(step - KEPT));
        store.commit(Changes::new().delete_range(stream, older), Durability::Written)?;
        std::hint::black_box(store.snapshot_of(stream)?.get(stream, &[Cell::Int(step)])?);
    }
    Ok(())
}

/// An append and a point read when there are 10,000 scattered range deletes, against none.
pub(super) fn run_scattered(bench: &mut Bench) -> Result<()> {
    let dir = scratch(&bench.dir)?;
    let schema = Batches::of_numbers(Shuffle::InOrder).schema();
    let (store, stream) = store(dir.path(), Settings::default(), schema)?;
    let mut appender = store.appender(stream)?;
    let deletes = bench.many(10_000).cast_signed();
    let mut next = 0;
    for _ in 0..10 * deletes {
        appender.append(&[Cell::Int(next), Cell::Int(next)], Durability::Written)?;
        next += 1;
    }
    store.flush()?;
    let mut micros = Vec::new();
    for delete in [false, true] {
        for key in (0..deletes).filter(|_| delete).map(|delete| 10 * delete) {
            let range = KeyRange::times(key, key + 1);
            store.commit(Changes::new().delete_range(stream, range), Durability::Written)?;
        }
        let (seconds, ()) = bench.watch.time(|| -> Result<()> {
            for read in 0..READS {
                appender.append(&[Cell::Int(next), Cell::Int(next)], Durability::Written)?;
                next += 1;
                let key = [Cell::Int(10 * (read % deletes) + 1)];
                std::hint::black_box(store.snapshot_of(stream)?.get(stream, &key)?);
            }
            Ok(())
        })?;
        micros.push(seconds * 1e6 / READS as f64);
    }
    bench.report(
        Measure::new("append and point read beside scattered range deletes", "us", micros[1])
            .against("without a range delete", micros[0], Better::Lower)
            .aim(0.7)
            .note(format!("{deletes} deletes of one key each, over a flushed run, on a disk")),
    );
    drop(appender);
    Ok(store.close()?)
}
