//! Batches, beside the hashing that a tree of the same bytes takes.

use sha2::{Digest, Sha256};
use timestrata_bench::{Bench, Better, Measure, Result, Samples, scratch};

use crate::data::{Batch, Maker, VALUE_BYTES};
use crate::ours::{BATCH, Ours, WRITTEN};

/// Batches of a turn.
const BATCHES: usize = 20;
/// Bytes that are hashed of a record beside its value: the envelope around the value's hash.
const ENVELOPE_BYTES: usize = 61;

pub(crate) fn run(bench: &mut Bench) -> Result<()> {
    let rounds = bench.rounds(50);
    let dir = scratch(&bench.dir)?;
    let ours = Ours::open(dir.path(), 1)?;
    let mut maker = Maker::new();
    let mut rates = [Samples::new(), Samples::new(), Samples::new()];
    for round in 0..rounds {
        let batches: Vec<Batch> = (0..BATCHES).map(|_| maker.batch(BATCH)).collect();
        for place in 0..rates.len() {
            let side = (round + place) % rates.len();
            let Some(rates) = rates.get_mut(side) else { continue };
            bench.watch.rate(rates, (BATCHES * BATCH) as f64, || match side {
                0 => send(&ours, &batches),
                1 => hash(&batches, false),
                _ => hash(&batches, true),
            })?;
        }
    }
    ours.close()?;
    let [sent, plain, enveloped] = rates;
    let (least, most) = sent.spread();
    let note = format!(
        "median of {rounds} turns of {BATCHES} batches of {BATCH} records, one thread; the records \
         borrow made values; flushes go on in the background; {:.2} to {:.2} M/s",
        least / 1e6,
        most / 1e6
    );
    let measure = |name: &str| Measure::new(name, "rec/s", sent.median()).note(note.clone());
    bench.report(
        measure("`Written` send_batch of 1,000 of 256 B, and SHA-256")
            .against("SHA-256 of leaves of 256 B and of nodes", plain.median(), Better::Higher)
            .aim(0.4),
    );
    bench.report(measure("`Written` send_batch of 1,000 of 256 B, and its own hashes").against(
        "SHA-256 of values, of envelopes and of nodes",
        enveloped.median(),
        Better::Higher,
    ));
    Ok(())
}

fn send(ours: &Ours, batches: &[Batch]) -> Result<()> {
    for batch in batches {
        ours.topic.send_batch(&batch.records(), &WRITTEN)?;
    }
    Ok(())
}

/// A leaf and a node for each record, which is what a tree has.
fn hash(batches: &[Batch], with_envelope: bool) -> Result<()> {
    let mut node = [0; 32];
    for value in batches.iter().flat_map(|batch| batch.values.chunks(VALUE_BYTES)) {
        let leaf = match with_envelope {
            true => {
                let value = Sha256::digest(value);
                let rest = [1; ENVELOPE_BYTES - 32];
                Sha256::new().chain_update([0]).chain_update(rest).chain_update(value).finalize()
            }
            false => Sha256::new().chain_update([0]).chain_update(value).finalize(),
        };
        node =
            Sha256::new().chain_update([1]).chain_update(node).chain_update(leaf).finalize().into();
    }
    std::hint::black_box(node);
    Ok(())
}
