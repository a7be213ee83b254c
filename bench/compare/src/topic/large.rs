//! What must not grow with the log, or only as its logarithm: proofs and opening.

use std::path::Path;

use timestrata_bench::{
    Bench, Better, Measure, Numbers, Result, Samples, grouped, scratch, settle, tree_bytes,
};

use crate::data::{Maker, VALUE_BYTES};
use crate::expect_count;
use crate::ours::{BATCH, Ours, WRITTEN};
use crate::peer::{self, Peer};
use crate::proof::{self, Figures, PROOFS};

const SPACE_MAX: f64 = 1.25;
/// How much longer opening may take where there are 200 times the records.
const CONSTANT: f64 = 1.5;

pub(crate) fn run(bench: &mut Bench) -> Result<()> {
    let records = bench.many(10_000_000);
    let dir = scratch(&bench.dir)?;
    let path = dir.path().join("large");
    let large = fill(bench, &path, records)?;
    proofs(bench, &large, dir.path())?;
    large.close()?;
    let bytes = tree_bytes(&path)? as f64 / records as f64;
    bench.report(
        Measure::new(format!("space of the store, {} records", grouped(records)), "B/rec", bytes)
            .against("payload", VALUE_BYTES as f64, Better::Lower)
            .aim(1.0 / SPACE_MAX)
            .note("all of its folder; values don't compress; after all maintenance, closed"),
    );
    reopen(bench, &path, dir.path(), records)
}

/// Fills the store; making the records is not counted.
fn fill(bench: &mut Bench, path: &Path, records: u64) -> Result<Ours> {
    let ours = Ours::open(path, 1)?;
    let mut maker = Maker::new();
    let mut rates = [Samples::new(), Samples::new()];
    let batches = records / BATCH as u64;
    let begin = batches / 10;
    for batch_number in 0..batches {
        let batch = maker.batch(BATCH);
        let sent = || ours.topic.send_batch(&batch.records(), &WRITTEN);
        let (seconds, _) = bench.watch.time(sent)?;
        match batch_number {
            number if number < begin => rates[0].add(seconds),
            number if number >= batches - begin => rates[1].add(seconds),
            _ => {}
        }
    }
    settle(&ours.store)?;
    ours.store.sync()?;
    let [first, last] = rates.map(|rates| begin as f64 * BATCH as f64 / rates.sum());
    bench.report(
        Measure::new(
            format!("`Written` send_batch of 1,000, last tenth of {} records", grouped(records)),
            "rec/s",
            last,
        )
        .against("first tenth", first, Better::Higher)
        .note("records over seconds of their sends; maintenance goes on in the background"),
    );
    Ok(ours)
}

fn proofs(bench: &mut Bench, large: &Ours, dir: &Path) -> Result<()> {
    let rounds = bench.rounds(15);
    let few = bench.many(10_000);
    let many = large.topic.offsets(0)?.end;
    let small = Ours::filled(&dir.join("proved"), &mut Maker::new(), few)?;
    let theirs = Peer::filled(&dir.join("proved-theirs"), &mut Maker::new(), few)?;
    let mut figures = [Figures::default(), Figures::default(), Figures::default()];
    let mut numbers = Numbers::new(24);
    for _ in 0..rounds {
        let [of_large, of_small, of_theirs] = &mut figures;
        proof::ours(bench, large, &mut numbers, of_large)?;
        proof::ours(bench, &small, &mut numbers, of_small)?;
        proof::theirs(bench, &theirs, few, &mut numbers, of_theirs)?;
    }
    let [of_large, of_small, of_theirs] = &figures;
    let note = |figures: &Figures| {
        format!(
            "made in {:.2}, verified in {:.2} us; median of {rounds} turns of {PROOFS} random \
             records; ours is verified by the record and a root from outside, the peer's by the \
             proof's own root and the store",
            figures.made.median(),
            figures.verified.median()
        )
    };
    let name = |records: u64| format!("prove and verify, {} records", grouped(records));
    bench.report(
        Measure::new(name(few), "us", of_small.both.median())
            .against(
                format!("{}, {}", peer::NAME, note_of(of_theirs)),
                of_theirs.both.median(),
                Better::Lower,
            )
            .aim(10.0)
            .note(note(of_small)),
    );
    let logarithms = (few as f64).log2() / (many as f64).log2();
    bench.report(
        Measure::new(name(many), "us", of_large.both.median())
            .against(
                format!("own figure at {} records", grouped(few)),
                of_small.both.median(),
                Better::Lower,
            )
            .aim(logarithms)
            .note(format!("the aim is the ratio of logarithms; {}", note(of_large))),
    );
    small.close()
}

fn note_of(figures: &Figures) -> String {
    format!("{:.1} and {:.1} us", figures.made.median(), figures.verified.median())
}

fn reopen(bench: &mut Bench, large: &Path, dir: &Path, records: u64) -> Result<()> {
    let rounds = bench.rounds(15);
    let few = bench.many(50_000);
    let (small, theirs) = (dir.join("small"), dir.join("small-theirs"));
    Ours::filled(&small, &mut Maker::new(), few)?.close()?;
    drop(Peer::filled(&theirs, &mut Maker::new(), few)?);
    let mut times = [Samples::new(), Samples::new(), Samples::new()];
    for _ in 0..rounds {
        let [of_large, of_small, of_theirs] = &mut times;
        for (path, count, times) in [(large, records, of_large), (small.as_path(), few, of_small)] {
            let (ours, end) = bench.watch.sample(times, 1e6, || {
                let ours = Ours::open(path, 1)?;
                let (end, _root) = ours.topic.root(0, None)?;
                Ok((ours, end))
            })?;
            expect_count("a reopened store", end, count)?;
            ours.close()?;
        }
        let (_peer, end) = bench.watch.sample(of_theirs, 1e6, || Peer::reopen(&theirs))?;
        expect_count("a reopened peer", end, few)?;
    }
    let [of_large, of_small, of_theirs] = times;
    let note = format!(
        "median of {rounds} opens in turns after clean closes, until the next offset and the root \
         are known (of the peer, the offset only)"
    );
    let name = |records: u64| format!("reopen, {} records", grouped(records));
    bench.report(
        Measure::new(name(few), "us", of_small.median())
            .against(peer::NAME, of_theirs.median(), Better::Lower)
            .aim(10.0)
            .note(note.clone()),
    );
    bench.report(
        Measure::new(name(records), "us", of_large.median())
            .against(
                format!("own figure at {} records", grouped(few)),
                of_small.median(),
                Better::Lower,
            )
            .aim(1.0 / CONSTANT)
            .note(note),
    );
    Ok(())
}
