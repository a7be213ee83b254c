//! Signed checkpoints of partitions, and proofs that stand alone.
//!
//! Each partition is a log of its own, whose origin is `KEYNAME/TOPIC/PARTITION`; the key signs under
//! that name. A checkpoint is given out after what it is of has been synced, and after it was stored
//! itself; the next one is signed only if the partition still begins with what the stored one says.

use timestrata_engine::{Changes, Durability, Error, ErrorKind, Result, Store};
use timestrata_merkle::{
    Checkpoint, KeyName, Note, NoteError, Signer, TextError, TlogProof, Verifier,
};
use timestrata_values::name;

use super::Topic;
use super::envelope::{RecordPlace, write_envelope};
use super::json::ClaimedPlace;
use super::partition::Partition;
use super::record::Record;
use super::state::{self, StateKind, StateRow};
use super::tree::PartitionTree;

/// A text that isn't what the standards say.
fn wrong_text(error: TextError) -> Error {
    Error::new(ErrorKind::InvalidArgument, error.to_string()).caused_by(error)
}

/// A partition's log among those that a key signs for.
///
/// # Errors
/// `InvalidArgument` for a key whose name is too odd.
pub fn origin_of(key: &KeyName, topic: &str, partition: u32) -> Result<KeyName> {
    KeyName::new(&format!("{key}/{topic}/{partition}")).map_err(wrong_text)
}

/// Topic and partition that an origin ends with, and the name of the key before them.
fn parts_of(origin: &str) -> Option<(&str, &str, u32)> {
    let (rest, partition) = origin.rsplit_once('/')?;
    let (key, topic) = rest.rsplit_once('/')?;
    let number: u32 = partition.parse().ok()?;
    name::check("topic", topic).ok()?;
    (number.to_string() == partition).then_some((key, topic, number))
}

/// What is stored of a checkpoint.
pub(super) fn checkpoint_row(store: &Store, partition: u32, size: u64, note: &str) -> StateRow {
    let row = StateRow::of_partition(StateKind::Checkpoint, partition, size, store.wall_ns());
    StateRow { bytes: Some(note.as_bytes().to_vec()), ..row }
}

/// A key under the name of a log that it signs: the log's own, or the one that signs for several and has the name before
/// `/TOPIC/PARTITION`.
pub(super) fn log_key(key: &Verifier, origin: &str) -> std::result::Result<Verifier, NoteError> {
    match key.name().as_str() {
        name if name == origin => Ok(key.clone()),
        name if parts_of(origin).is_some_and(|(key_name, ..)| key_name == name) => {
            Ok(key.named(KeyName::new(origin)?))
        }
        name => Err(NoteError::Origin {
            expected: format!("{name} or one below it"),
            found: origin.to_owned(),
        }),
    }
}

impl Topic {
    /// Signs what a partition is now, stores the checkpoint, and gives it as a signed note.
    ///
    /// `known` is a checkpoint that somebody else keeps, as one beside the key: a store that was put
    /// back to an older copy has forgotten its own.
    ///
    /// # Errors
    /// `Conflict` if the partition doesn't begin with what its last checkpoint, or the known one,
    /// says: nothing is signed then. `InvalidArgument` for a known checkpoint that this key didn't
    /// sign or that is of another log; and what a sync may fail with.
    pub fn checkpoint(
        &self,
        partition: u32,
        signer: &Signer,
        known: Option<&[u8]>,
    ) -> Result<String> {
        let _signing = self.shared.signing.lock();
        self.checkpoint_alone(partition, signer, known)
    }

    /// The same for who signs alone, as nobody else does meanwhile.
    pub(super) fn checkpoint_alone(
        &self,
        partition: u32,
        signer: &Signer,
        known: Option<&[u8]>,
    ) -> Result<String> {
        let part = self.partition(partition)?;
        let origin = origin_of(signer.verifier().name(), self.name(), partition)?;
        let signer = signer.named(origin);
        let (size, note) = self.sign(&part, &signer, known)?;
        // Its records first: what is stored of it is of the same log, behind them.
        let row = checkpoint_row(&self.store, partition, size, &note);
        let mut changes = Changes::new();
        state::put(&self.store, &mut changes, part.state, &row)?;
        self.store.commit(changes, Durability::Synced)?;
        Ok(note)
    }

    /// A checkpoint of what a partition is now, and its size; held against the last one, and the known one.
    pub(super) fn sign(
        &self,
        part: &Partition,
        signer: &Signer,
        known: Option<&[u8]>,
    ) -> Result<(u64, String)> {
        let tree = PartitionTree::lock(part, &self.store)?;
        let stored = self.last_checkpoint(part.number)?;
        for (whose, note) in [("its last", stored.as_deref()), ("the known", known)] {
            let Some(note) = note else { continue };
            self.expect_beginning(&tree, whose, note, signer)?;
        }
        let size = tree.size();
        let origin = signer.verifier().name().as_str();
        let checkpoint = Checkpoint::new(origin, size, tree.root(size)?).map_err(wrong_text)?;
        Ok((size, checkpoint.sign(signer).map_err(wrong_text)?))
    }

    /// An error if a partition doesn't begin with what a checkpoint says.
    fn expect_beginning(
        &self,
        tree: &PartitionTree<'_>,
        whose: &str,
        note: &[u8],
        signer: &Signer,
    ) -> Result<()> {
        let origin = signer.verifier().name().as_str();
        let invalid = |error: NoteError| {
            let what = format!("{whose} checkpoint of {origin} is not accepted: {error}");
            Error::new(ErrorKind::InvalidArgument, what)
        };
        // One that another key signed is compared too: a key may have been changed.
        let opened = Checkpoint::open(note, signer.verifier());
        let checkpoint = match (opened, whose) {
            (Err(NoteError::Unsigned { .. }), "its last") => {
                let note = Note::parse(note).map_err(|error| invalid(error.into()))?;
                note.text().parse().map_err(|error: TextError| invalid(error.into()))?
            }
            (opened, _) => opened.and_then(|opened| opened.of(origin)).map_err(invalid)?,
        };
        let conflict = |why: String| {
            let what = format!("{origin} is not signed: {whose} checkpoint {why}");
            Err(Error::new(ErrorKind::Conflict, what))
        };
        if checkpoint.size > tree.size() {
            return conflict(format!(
                "has {} records and the partition {}: it was put back to an older state",
                checkpoint.size,
                tree.size()
            ));
        }
        let root = tree.root(checkpoint.size)?;
        if root != checkpoint.root {
            return conflict(format!(
                "has root {} at {} records, the partition {root}: its records are others",
                checkpoint.root, checkpoint.size
            ));
        }
        Ok(())
    }

    /// The last checkpoint that was signed of a partition, a signed note.
    ///
    /// # Errors
    /// `InvalidArgument` if there is no such partition; what reading may fail with.
    pub fn last_checkpoint(&self, partition: u32) -> Result<Option<Vec<u8>>> {
        let part = self.partition(partition)?;
        let snapshot = self.store.snapshot_of(part.state)?;
        let row = state::find(&snapshot, part.state, StateKind::Checkpoint, "", partition)?;
        Ok(row.and_then(|row| row.bytes))
    }

    /// The last checkpoint as it is stored and as it is read; `then` says what else there is to do once one is
    /// signed.
    ///
    /// # Errors
    /// `OutOfRange` if there is none, `Corruption` if it can't be read.
    pub(super) fn stored_checkpoint(
        &self,
        partition: u32,
        then: &str,
    ) -> Result<(Vec<u8>, Checkpoint)> {
        let place = self.partition(partition)?;
        let note = self.last_checkpoint(partition)?.ok_or_else(|| {
            let what = format!("{place} has no checkpoint yet: sign one{then}");
            Error::new(ErrorKind::OutOfRange, what)
        })?;
        let checkpoint = self.checkpoint_of(partition, &note)?;
        Ok((note, checkpoint))
    }

    /// The checkpoint that is stored as a note.
    pub(super) fn checkpoint_of(&self, partition: u32, note: &[u8]) -> Result<Checkpoint> {
        let parsed = Note::parse(note).and_then(|note| note.text().parse::<Checkpoint>());
        parsed.map_err(|error| {
            let name = self.name();
            let what =
                format!("topic '{name}' partition {partition}: its stored checkpoint is damaged");
            Error::new(ErrorKind::Corruption, what).caused_by(error)
        })
    }

    /// The proof that a record is in its partition, by the last checkpoint that was signed.
    ///
    /// # Errors
    /// `OutOfRange` if there is no checkpoint of so many records yet.
    pub fn prove(&self, partition: u32, offset: u64) -> Result<TlogProof> {
        let (note, checkpoint) = self.stored_checkpoint(partition, ", then prove by it")?;
        if offset >= checkpoint.size {
            let what = format!(
                "topic '{}' partition {partition}: the last checkpoint has {} records, not yet the one at \
                 offset {offset}: sign another",
                self.name(),
                checkpoint.size
            );
            return Err(Error::new(ErrorKind::OutOfRange, what));
        }
        let hashes = self.inclusion_proof(partition, offset, checkpoint.size)?;
        let checkpoint = String::from_utf8_lossy(&note).into_owned();
        Ok(TlogProof { extra: None, index: offset, hashes, checkpoint })
    }
}

/// What a verified proof is about.
///
/// ```
/// use timestrata_engine::{Settings, Store};
/// use timestrata_merkle::{KeyName, Signer};
/// use timestrata_topic::verify_record;
/// # use timestrata_topic::{Record, SendOptions, Topic, TopicOptions};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let store = Store::memory(Settings::default())?;
/// # let events = Topic::create(&store, "events", &TopicOptions::default())?;
/// let opened = Record { value: Some(b"opened"), timestamp_ns: Some(1), ..Record::default() };
/// events.send(&opened, &SendOptions::default())?;
/// let signer = Signer::from_seed(KeyName::new("example.org/log")?, [7; 32]);
/// events.checkpoint(0, &signer, None)?;
/// let proved = verify_record(&events.prove(0, 0)?, &opened, signer.verifier())?;
/// assert_eq!((proved.topic.as_str(), proved.offset), ("events", 0));
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proved {
    /// The record's topic.
    pub topic: String,
    /// Its partition.
    pub partition: u32,
    /// Its place there.
    pub offset: u64,
    /// The checkpoint that says so.
    pub checkpoint: Checkpoint,
}

impl Proved {
    /// An error unless the record is proved to be where it says that it is.
    ///
    /// # Errors
    /// What it says, and what is proved.
    pub fn expect_at(&self, claimed: &ClaimedPlace) -> std::result::Result<(), NoteError> {
        let text = |number: u64| number.to_string();
        let claims = [
            ("the topic that the record says", claimed.topic.clone(), self.topic.clone()),
            (
                "the partition that the record says",
                claimed.partition.map(u64::from).map(text),
                text(self.partition.into()),
            ),
            ("the offset that the record says", claimed.offset.map(text), text(self.offset)),
        ];
        for (what, said, expected) in claims {
            if let Some(found) = said.filter(|said| *said != expected) {
                return Err(NoteError::Text(TextError { what, expected, found }));
            }
        }
        Ok(())
    }
}

/// Whether a record is where a proof says, by a key that the caller trusts. Needs no store.
///
/// The key is a log's own, whose name is the log's origin, or the one that signs for several and has
/// the name before `/TOPIC/PARTITION`. The record's time must be given.
///
/// # Errors
/// Why not.
pub fn verify_record(
    proof: &TlogProof,
    record: &Record<'_>,
    key: &Verifier,
) -> std::result::Result<Proved, NoteError> {
    let wrong = |what: &'static str, expected: &str, found: String| {
        NoteError::Text(TextError { what, expected: expected.to_owned(), found })
    };
    let note = Note::parse(proof.checkpoint.as_bytes())?;
    // The origin is believed once the signature is: by a key of that name.
    let claimed: Checkpoint = note.text().parse()?;
    let Some((_, topic, partition)) = parts_of(&claimed.origin) else {
        return Err(wrong("a log's origin", "KEYNAME/TOPIC/PARTITION", claimed.origin));
    };
    let log_key = log_key(key, &claimed.origin)?;
    let Some(timestamp_ns) = record.timestamp_ns else {
        return Err(wrong("a record", "its time", "none".to_owned()));
    };
    let place = RecordPlace { topic, partition, offset: proof.index, timestamp_ns };
    let mut entry = Vec::new();
    write_envelope(&place, record, &mut entry)
        .map_err(|error| wrong("a record", "what a topic can have", error.to_string()))?;
    let checkpoint = proof.verify(&entry, &log_key)?;
    let topic = topic.to_owned();
    Ok(Proved { topic, partition, offset: proof.index, checkpoint })
}
