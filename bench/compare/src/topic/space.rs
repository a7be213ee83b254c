//! Bytes on disk.

use timestrata_bench::{
    Bench, Better, Measure, Result, folder_bytes, grouped, scratch, tree_bytes,
};

use crate::data::{Maker, VALUE_BYTES};
use crate::ours::Ours;
use crate::peer::{self, Peer};

const SPACE_MAX: f64 = 1.25;

pub(crate) fn run(bench: &mut Bench) -> Result<()> {
    let dir = scratch(&bench.dir)?;
    let (many, few) = (bench.many(1_000_000), bench.many(50_000));
    let path = dir.path().join("ours");
    Ours::filled(&path, &mut Maker::new(), many)?.close()?;
    let (all, runs) = (tree_bytes(&path)?, folder_bytes(&path.join("runs"))?);
    let path = dir.path().join("theirs");
    drop(Peer::filled(&path, &mut Maker::new(), few)?);
    let theirs = tree_bytes(&path)? as f64 / few as f64;
    let a_record = |bytes: u64| bytes as f64 / many as f64;
    let shape = format!(
        "files' lengths over {} records of 256 B that don't compress, and a time; after all \
         maintenance and a clean close",
        grouped(many)
    );
    let payload = VALUE_BYTES as f64;
    for (name, note, bytes) in [
        ("space of runs and tiles", "the folder of runs", runs),
        ("space of the store", "all of its folder, with log segments for reuse", all),
    ] {
        bench.report(
            Measure::new(format!("{name}, {} records", grouped(many)), "B/rec", a_record(bytes))
                .against("payload", payload, Better::Lower)
                .aim(1.0 / SPACE_MAX)
                .note(format!("{note}; {shape}")),
        );
    }
    bench.report(
        Measure::new("space of the store, and the peer's", "B/rec", a_record(all))
            .against(format!("{} with {} records", peer::NAME, grouped(few)), theirs, Better::Lower)
            .note(shape),
    );
    Ok(())
}
