//! The proof of one record as a snapshot has it.

use timestrata_engine::{Cell, Error, ErrorKind, KeyRange, LeadKey, Result, Snapshot};
use timestrata_merkle::{Hash, TlogProof};

use super::Topic;
use super::record::Records;
use super::state::{self, StateKind};
use super::tree::PartitionTree;

/// That a record is in the tree which its partition had at a snapshot.
///
/// ```
/// use timestrata_engine::{Settings, Store};
/// use timestrata_merkle::verify_inclusion;
/// # use timestrata_topic::{Record, SendOptions, Topic, TopicOptions};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let store = Store::memory(Settings::default())?;
/// # let events = Topic::create(&store, "events", &TopicOptions::default())?;
/// # let opened = Record { key: Some(b"door"), value: Some(b"opened"), ..Record::default() };
/// # events.send(&opened, &SendOptions::default())?;
/// let proof = events.proof_at(&store.snapshot()?, 0, 0)?;
/// verify_inclusion(proof.leaf, 0, proof.size, &proof.hashes, proof.root)?;
/// assert!(proof.signed.is_none(), "nobody has signed a checkpoint");
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordProof {
    /// How many records the partition had.
    pub size: u64,
    /// The root of its tree.
    pub root: Hash,
    /// The hash of the record.
    pub leaf: Hash,
    /// The hashes that lead from it to the root.
    pub hashes: Vec<Hash>,
    /// The proof by the last checkpoint that was signed of the partition, if that has the record.
    pub signed: Option<TlogProof>,
}

impl Topic {
    /// The proof of a record in a partition as a snapshot has it. Writes nothing.
    ///
    /// # Errors
    /// `OutOfRange` if there is no record at this offset (any more); `InvalidArgument` if there is no such partition; `NotFound`
    /// if the snapshot doesn't have this topic; what reading may fail with.
    pub fn proof_at(
        &self,
        snapshot: &Snapshot,
        partition: u32,
        offset: u64,
    ) -> Result<RecordProof> {
        let part = self.partition(partition)?;
        let missing =
            || Error::new(ErrorKind::OutOfRange, format!("{part} has no record {offset}"));
        let row = snapshot.get(part.records, &[Cell::UInt(offset)])?.ok_or_else(missing)?;
        let records = Records::of_row(row)?;
        let (_, record) = records.get(0).ok_or_else(missing)?;
        let mut entry = Vec::new();
        part.entry(offset, record.timestamp_ns.unwrap_or_default(), &record, &mut entry)?;
        let last = snapshot.max_key(part.records, &KeyRange::ALL)?;
        let Some(LeadKey::Offset(last)) = last else { return Err(missing()) };
        let size = last.saturating_add(1);
        let note = state::find(snapshot, part.state, StateKind::Checkpoint, "", partition)?;
        let note = note.and_then(|row| row.bytes);
        let signed_size = match &note {
            Some(note) => self.checkpoint_of(partition, note)?.size,
            None => 0,
        };
        // Trees only grow: that of now tells what it was at any size before.
        let tree = PartitionTree::lock(&part, &self.store)?;
        let signed = match note.filter(|_| offset < signed_size) {
            Some(note) => Some(TlogProof {
                extra: None,
                index: offset,
                hashes: tree.inclusion_proof(offset, signed_size)?,
                checkpoint: String::from_utf8_lossy(&note).into_owned(),
            }),
            None => None,
        };
        Ok(RecordProof {
            size,
            root: tree.root(size)?,
            leaf: Hash::of_leaf(&entry),
            hashes: tree.inclusion_proof(offset, size)?,
            signed,
        })
    }
}
