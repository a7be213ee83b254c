//! What a topic publishes beside its records: a checkpoint of each partition, the key by which each log is
//! verified, and whether a later checkpoint goes on from an earlier one.

use timestrata_engine::{Changes, Durability, ErrorKind, Result, Store};
use timestrata_merkle::{
    Checkpoint, Hash, Note, NoteError, ProofError, TextError, Verifier, verify_consistency,
};

use super::checkpoint::{checkpoint_row, log_key, origin_of};
use super::witnessed::signed_text;
use super::{KeyFile, Topic, state};

/// The last checkpoint of one partition.
///
/// ```
/// use timestrata_engine::{Io, Settings, Store};
/// use timestrata_topic::{KeyFile, Topic, TopicOptions};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let store = Store::memory(Settings::default())?;
/// # let folder = tempfile::tempdir()?;
/// let options = TopicOptions { partitions: 2, ..TopicOptions::default() };
/// let events = Topic::create(&store, "events", &options)?;
/// let key = KeyFile::generate(&Io::os(), &folder.path().join("log.key"), "example.org/log")?;
/// assert!(events.checkpoint_all(&key)?.iter().all(|each| each.is_new));
/// assert!(events.checkpoint_all(&key)?.iter().all(|each| !each.is_new));
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartitionCheckpoint {
    /// Of which partition.
    pub partition: u32,
    /// The signed note.
    pub note: String,
    /// Whether it was signed just now: the partition had none by this key, or has records since.
    pub is_new: bool,
}

impl Topic {
    /// Signs every partition that has records since its last checkpoint by this key, or has none, and gives the
    /// last checkpoint of each. They are one commit, so that many partitions are one sync.
    ///
    /// ```
    /// # use timestrata_engine::{Io, Settings, Store};
    /// # use timestrata_topic::{KeyFile, Record, SendOptions, Topic, TopicOptions};
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let store = Store::memory(Settings::default())?;
    /// # let folder = tempfile::tempdir()?;
    /// let options = TopicOptions { partitions: 2, ..TopicOptions::default() };
    /// let events = Topic::create(&store, "events", &options)?;
    /// let key = KeyFile::generate(&Io::os(), &folder.path().join("log.key"), "example.org/log")?;
    /// events.checkpoint_all(&key)?;
    /// let opened = Record { value: Some(b"opened"), partition: Some(1), ..Record::default() };
    /// events.send(&opened, &SendOptions::default())?;
    /// let new: Vec<bool> = events.checkpoint_all(&key)?.iter().map(|each| each.is_new).collect();
    /// assert_eq!(new, [false, true]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`Topic::checkpoint_by`], of the first partition that fails; the others are signed nevertheless.
    pub fn checkpoint_all(&self, key: &KeyFile) -> Result<Vec<PartitionCheckpoint>> {
        let partitions = self.partitions();
        let _signing = self.shared.signing.lock();
        let (mut changes, mut all, mut failed) = (Changes::new(), Vec::new(), None);
        for partition in 0..partitions {
            match self.checkpoint_if_due(partition, key, &mut changes) {
                Ok(checkpoint) => all.push(checkpoint),
                Err(error) => drop(failed.get_or_insert(error)),
            }
        }
        if !changes.is_empty() {
            // What is stored of each is behind its records, in one order: one sync is for all.
            self.store.commit(changes, Durability::Synced)?;
        }
        for PartitionCheckpoint { partition, note, .. } in all.iter().filter(|each| each.is_new) {
            if let Err(error) = key.remember(self.name(), *partition, note) {
                failed.get_or_insert(error);
            }
        }
        failed.map_or(Ok(all), Err)
    }

    /// The last checkpoint of a partition if that is of all its records; else a new one, with what is to be stored of it.
    fn checkpoint_if_due(
        &self,
        partition: u32,
        key: &KeyFile,
        changes: &mut Changes,
    ) -> Result<PartitionCheckpoint> {
        let part = self.partition(partition)?;
        let known = key.known(self.name(), partition)?;
        let signer = key.signer();
        let signer = signer.named(origin_of(signer.verifier().name(), self.name(), partition)?);
        let (size, note) = self.sign(&part, &signer, known.as_deref())?;
        let last = self.last_checkpoint(partition)?;
        // A note of the same tree by the same key: what it says was compared when it was signed anew.
        let is_last = |last: &Vec<u8>| {
            let opened = Checkpoint::open(last, signer.verifier());
            let is_known = known.as_deref().is_some_and(|known| {
                // One of them may have signatures of witnesses that the other has not.
                signed_text(known).is_some_and(|text| signed_text(last) == Some(text))
            });
            is_known && opened.is_ok_and(|last| last.size == size)
        };
        if let Some(last) = last.filter(is_last) {
            let note = String::from_utf8_lossy(&last).into_owned();
            return Ok(PartitionCheckpoint { partition, note, is_new: false });
        }
        let row = checkpoint_row(&self.store, partition, size, &note);
        state::put(&self.store, changes, part.state, &row)?;
        Ok(PartitionCheckpoint { partition, note, is_new: true })
    }

    /// Signs all topics of a store as [`Topic::checkpoint_all`] does, and gives how many partitions were signed.
    ///
    /// # Errors
    /// The first that came, once all topics were looked at.
    #[doc(hidden)]
    pub fn checkpoint_store(store: &Store, key: &KeyFile) -> Result<usize> {
        let (mut signed, mut failed) = (0, None);
        for name in Self::names(store) {
            match Self::open(store, &name).and_then(|topic| topic.checkpoint_all(key)) {
                Ok(all) => signed += all.iter().filter(|each| each.is_new).count(),
                // One that was removed meanwhile is no failure.
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                Err(error) => drop(failed.get_or_insert(error)),
            }
        }
        failed.map_or(Ok(signed), Err)
    }
}

/// The public key of one partition's log: that of the signer under the log's name, as software of others wants it.
///
/// ```
/// use timestrata_merkle::{KeyName, Signer};
/// use timestrata_topic::verifier_of_log;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let signer = Signer::from_seed(KeyName::new("example.org/log")?, [7; 32]);
/// let verifier = verifier_of_log(signer.verifier(), "events", 3)?;
/// assert_eq!(verifier.name().as_str(), "example.org/log/events/3");
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// `InvalidArgument` for a name that no topic can have.
pub fn verifier_of_log(key: &Verifier, topic: &str, partition: u32) -> Result<Verifier> {
    timestrata_values::name::check("topic", topic)?;
    Ok(key.named(origin_of(key.name(), topic, partition)?))
}

/// Whether a log goes on from an earlier checkpoint to a later one: both are signed by a key that the caller trusts,
/// are of one log, and the proof ([`Topic::consistency_proof`]) shows that the later tree begins with the earlier
/// one. Gives both. Needs no store.
///
/// The key is the log's own, or the one that signs for several, as in [`verify_record`](super::verify_record).
///
/// ```
/// use timestrata_engine::{Settings, Store};
/// use timestrata_merkle::{KeyName, Signer};
/// use timestrata_topic::verify_checkpoints;
/// # use timestrata_topic::{Record, SendOptions, Topic, TopicOptions};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let store = Store::memory(Settings::default())?;
/// # let events = Topic::create(&store, "events", &TopicOptions::default())?;
/// let signer = Signer::from_seed(KeyName::new("example.org/log")?, [7; 32]);
/// let opened = Record { value: Some(b"opened"), ..Record::default() };
/// events.send(&opened, &SendOptions::default())?;
/// let old = events.checkpoint(0, &signer, None)?;
/// events.send(&opened, &SendOptions::default())?;
/// let new = events.checkpoint(0, &signer, None)?;
/// let proof = events.consistency_proof(0, 1, 2)?;
/// let (old, new) =
///     verify_checkpoints(old.as_bytes(), new.as_bytes(), &proof, signer.verifier())?;
/// assert_eq!((old.size, new.size), (1, 2));
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// Why not.
pub fn verify_checkpoints(
    old: &[u8],
    new: &[u8],
    proof: &[Hash],
    key: &Verifier,
) -> std::result::Result<(Checkpoint, Checkpoint), NoteError> {
    let open = |note: &[u8]| {
        let note = Note::parse(note)?;
        // The origin is believed once the signature is: by a key of that name.
        let claimed: Checkpoint = note.text().parse()?;
        let key = log_key(key, &claimed.origin)?;
        note.verify(&key)?;
        Ok::<_, NoteError>(claimed)
    };
    let (old, new) = (open(old)?, open(new)?);
    let new = new.of(&old.origin)?;
    if old.size == 0 {
        // Every log begins with nothing, which has one root.
        return match (old.root == Hash::of_empty_tree(), proof.is_empty()) {
            (true, true) => Ok((old, new)),
            (false, _) => Err(NoteError::Proof(ProofError::Root {
                expected: Hash::of_empty_tree(),
                found: old.root,
            })),
            (true, false) => {
                Err(NoteError::Proof(ProofError::Length { expected: 0, found: proof.len() }))
            }
        };
    }
    verify_consistency(old.size, new.size, proof, old.root, new.root)?;
    Ok((old, new))
}

/// The hashes of a proof as text: each in base64 on a line of its own.
///
/// ```
/// use timestrata_merkle::Hash;
/// use timestrata_topic::{hashes_of_text, text_of_hashes};
///
/// let hashes = [Hash::of_leaf(b"a"), Hash::of_leaf(b"b")];
/// assert_eq!(hashes_of_text(&text_of_hashes(&hashes))?, hashes);
/// # Ok::<(), timestrata_merkle::TextError>(())
/// ```
#[must_use]
pub fn text_of_hashes(hashes: &[Hash]) -> String {
    hashes.iter().map(|hash| format!("{hash}\n")).collect()
}

/// Reads what [`text_of_hashes`] wrote.
///
/// # Errors
/// For a line that is no hash.
pub fn hashes_of_text(text: &str) -> std::result::Result<Vec<Hash>, TextError> {
    text.lines().map(str::trim).filter(|line| !line.is_empty()).map(Hash::from_base64).collect()
}
