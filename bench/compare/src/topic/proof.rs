//! Proofs: making one, and verifying it by the record and a root from outside.

use timestrata_bench::{Bench, Numbers, Result, Samples};
use timestrata_merkle::{Hash, verify_inclusion};
use timestrata_topic::{RecordPlace, Records, write_envelope};

use crate::ours::{Ours, TOPIC};
use crate::peer::Peer;

/// Proofs of a turn.
pub(crate) const PROOFS: u64 = 500;

/// Microseconds a proof, one sample a turn.
#[derive(Debug, Default)]
pub(crate) struct Figures {
    pub(crate) made: Samples,
    pub(crate) verified: Samples,
    pub(crate) both: Samples,
}

impl Figures {
    fn add(&mut self, made: f64, verified: f64) {
        let a_proof = 1e6 / PROOFS as f64;
        self.made.add(made * a_proof);
        self.verified.add(verified * a_proof);
        self.both.add((made + verified) * a_proof);
    }
}

fn offsets(records: u64, numbers: &mut Numbers) -> Vec<u64> {
    (0..PROOFS).map(|_| numbers.below(records)).collect()
}

/// A turn of ours. Verifying takes the record itself, as whoever was given it has it.
pub(crate) fn ours(
    bench: &Bench,
    ours: &Ours,
    numbers: &mut Numbers,
    figures: &mut Figures,
) -> Result<()> {
    let (size, root) = ours.topic.root(0, None)?;
    let offsets = offsets(size, numbers);
    let records: Vec<Records> = offsets
        .iter()
        .map(|offset| Ok(ours.topic.get(0, *offset)?.ok_or("a record is missing")?))
        .collect::<Result<_>>()?;
    let (making, proofs) = bench.watch.time(|| {
        let prove = |offset: &u64| ours.topic.inclusion_proof(0, *offset, size);
        offsets.iter().map(prove).collect::<std::result::Result<Vec<_>, _>>()
    })?;
    let (verifying, ()) = bench.watch.time(|| -> Result<()> {
        let mut entry = Vec::new();
        for (proof, record) in proofs.iter().zip(&records) {
            let (offset, record) = record.get(0).ok_or("a record is missing")?;
            let timestamp_ns = record.timestamp_ns.unwrap_or_default();
            let place = RecordPlace { topic: TOPIC, partition: 0, offset, timestamp_ns };
            entry.clear();
            write_envelope(&place, &record, &mut entry)?;
            verify_inclusion(Hash::of_leaf(&entry), offset, size, proof, root)?;
        }
        Ok(())
    })?;
    figures.add(making, verifying);
    Ok(())
}

/// A turn of the peer's.
pub(crate) fn theirs(
    bench: &Bench,
    theirs: &Peer,
    records: u64,
    numbers: &mut Numbers,
    figures: &mut Figures,
) -> Result<()> {
    let offsets = offsets(records, numbers);
    let (making, proofs) = bench.watch.time(|| -> Result<Vec<_>> {
        offsets.iter().map(|offset| theirs.prove(*offset)).collect()
    })?;
    let (verifying, ()) = bench.watch.time(|| -> Result<()> {
        for proof in &proofs {
            if !theirs.verify(proof)? {
                return Err("the peer doesn't take its own proof".into());
            }
        }
        Ok(())
    })?;
    figures.add(making, verifying);
    Ok(())
}
