//! Memory that a log of many records takes, in a process of its own.

use std::path::Path;

use timestrata_bench::child::{Figures, ask, part, tell};
use timestrata_bench::{
    Bench, Better, Measure, Numbers, Result, anonymous_bytes, grouped, scratch,
};

use crate::data::Maker;
use crate::ours::Ours;
use crate::peer::{self, Peer};

/// Roles of children.
const FILL_OURS: &str = "fill-ours";
const FILL_THEIRS: &str = "fill-theirs";
const USE_OURS: &str = "use-ours";
const USE_THEIRS: &str = "use-theirs";

/// How much is done with a log that was opened again.
const READS: u64 = 1_000;
const SENDS: u64 = 20;

const AIM: f64 = 20.0;

pub(crate) fn run(bench: &mut Bench) -> Result<()> {
    let records = bench.many(1_000_000);
    let dir = scratch(&bench.dir)?;
    let (ours, theirs) = (dir.path().join("ours"), dir.path().join("theirs"));
    for (name, roles, note) in [
        ("after filling", [FILL_OURS, FILL_THEIRS], "all sent in batches by the same process"),
        (
            "in use",
            [USE_OURS, USE_THEIRS],
            "a log that was there, opened; 1,000 records read and proved, 20 sent",
        ),
    ] {
        let [ours, theirs] =
            [(roles[0], &ours), (roles[1], &theirs)].map(|(role, dir)| -> Result<f64> {
                let figures = ask(role, dir, records)?;
                Ok(figures.get("bytes").copied().ok_or("no figure")? / records as f64)
            });
        bench.report(
            Measure::new(format!("memory {name}, {} records", grouped(records)), "B/rec", ours?)
                .against(peer::NAME, theirs?, Better::Lower)
                .aim(AIM)
                .note(format!(
                    "RssAnon of a process of its own, less what it was before, over {} records; \
                     {note}; default settings",
                    grouped(records)
                )),
        );
    }
    Ok(())
}

/// Plays what the arguments say.
pub(crate) fn play(arguments: impl Iterator<Item = String>) -> Result<()> {
    let (role, dir, records) = part(arguments)?;
    let before = anonymous_bytes()?;
    match role.as_str() {
        FILL_OURS => weigh(before, Ours::filled(&dir, &mut Maker::new(), records)?),
        FILL_THEIRS => weigh(before, Peer::filled(&dir, &mut Maker::new(), records)?),
        USE_OURS => weigh(before, use_ours(&dir, records)?),
        USE_THEIRS => weigh(before, use_theirs(&dir, records)?),
        _ => Err(format!("a child can't play '{role}'").into()),
    }
}

/// Tells by how much the process has grown while `open` was made.
fn weigh<T>(before: u64, open: T) -> Result<()> {
    let bytes = anonymous_bytes()?.saturating_sub(before) as f64;
    tell(&(Figures::from([("bytes".to_owned(), bytes)]), open))
}

fn use_ours(dir: &Path, records: u64) -> Result<Ours> {
    let ours = Ours::open(dir, 1)?;
    let (mut maker, mut numbers) = (Maker::new(), Numbers::new(23));
    let (size, _) = ours.topic.root(0, None)?;
    for _ in 0..READS {
        ours.get(numbers.below(records))?;
        ours.topic.inclusion_proof(0, numbers.below(records), size)?;
    }
    for _ in 0..SENDS {
        let batch = maker.batch(1);
        ours.send(&batch.records().pop().ok_or("no record was made")?)?;
    }
    Ok(ours)
}

fn use_theirs(dir: &Path, records: u64) -> Result<Peer> {
    let (theirs, _) = Peer::reopen(dir)?;
    let (mut maker, mut numbers) = (Maker::new(), Numbers::new(23));
    for _ in 0..READS {
        theirs.get(numbers.below(records))?;
        theirs.prove(numbers.below(records))?;
    }
    for _ in 0..SENDS {
        theirs.send(&Peer::record(&mut maker))?;
    }
    Ok(theirs)
}
