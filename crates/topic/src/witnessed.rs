//! Cosignatures of the last checkpoint of a partition: what a witness is asked with, and its answer taken in.

use timestrata_engine::{Changes, Durability, Error, ErrorKind, Result};
use timestrata_merkle::{AddCheckpoint, KeyName, Note, Witness, with_cosignatures};

use super::checkpoint::checkpoint_row;
use super::{KeyFile, Topic, state};

impl Topic {
    /// What a witness is sent to have it cosign the last checkpoint of a partition. `old` is how many records the last
    /// checkpoint has that it cosigned: 0, until it says otherwise.
    ///
    /// # Errors
    /// `OutOfRange` without a checkpoint; `Conflict` if the witness has seen more records than the checkpoint has; what reading may
    /// fail with.
    pub fn cosignature_request(&self, partition: u32, old: u64) -> Result<AddCheckpoint> {
        let (note, checkpoint) = self.stored_checkpoint(partition, ", then have it cosigned")?;
        if old > checkpoint.size {
            let what = format!(
                "{}: the witness has seen {old} records of it, and the last checkpoint has {}: another one was \
                 signed elsewhere, or this store was put back to an older copy",
                checkpoint.origin, checkpoint.size
            );
            return Err(Error::new(ErrorKind::Conflict, what));
        }
        let proof = match old {
            0 => Vec::new(),
            old => self.consistency_proof(partition, old, checkpoint.size)?,
        };
        let checkpoint = String::from_utf8_lossy(&note).into_owned();
        Ok(AddCheckpoint { old, proof, checkpoint })
    }

    /// Adds what a witness answered to the last checkpoint of a partition, durably, in the store and beside the key. Proofs that are
    /// made from then on have the cosignatures too. Gives the witnesses that have cosigned it by then.
    ///
    /// ```
    /// use timestrata_engine::{Io, Settings, Store};
    /// use timestrata_merkle::{KeyName, Note, Signer, Witness, cosign};
    /// use timestrata_topic::{KeyFile, Topic, TopicOptions};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let store = Store::memory(Settings::default())?;
    /// # let folder = tempfile::tempdir()?;
    /// # let events = Topic::create(&store, "events", &TopicOptions::default())?;
    /// let key = KeyFile::generate(&Io::os(), &folder.path().join("log.key"), "example.org/log")?;
    /// events.checkpoint_by(0, &key)?;
    /// let asked = events.cosignature_request(0, 0)?;
    /// // The witness looks at what it is sent, and answers:
    /// let witness = Signer::from_seed(KeyName::new("witness.example")?, [7; 32]);
    /// let answer = cosign(&Note::parse(asked.checkpoint.as_bytes())?, &witness, 1_700_000_000);
    /// let seen = events.add_cosignatures(0, &asked, &answer, &[Witness::of(&witness)], Some(&key))?;
    /// assert_eq!(seen[0].as_str(), "witness.example");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// `Conflict` if another checkpoint was signed meanwhile; `InvalidData` for an answer that is none, or a signature in a
    /// witness's name that is wrong; what a sync may fail with.
    pub fn add_cosignatures(
        &self,
        partition: u32,
        asked: &AddCheckpoint,
        answer: &str,
        witnesses: &[Witness],
        key: Option<&KeyFile>,
    ) -> Result<Vec<KeyName>> {
        let _signing = self.shared.signing.lock();
        let part = self.partition(partition)?;
        let (note, checkpoint) = self.stored_checkpoint(partition, "")?;
        let note = String::from_utf8_lossy(&note).into_owned();
        if signed_text(note.as_bytes()) != signed_text(asked.checkpoint.as_bytes()) {
            let what = format!(
                "{}: another checkpoint was signed since the witness was asked",
                checkpoint.origin
            );
            return Err(Error::new(ErrorKind::Conflict, what));
        }
        let (cosigned, seen) = with_cosignatures(&note, answer, witnesses).map_err(|error| {
            let what = format!("{}: the answer of the witness: {error}", checkpoint.origin);
            Error::new(ErrorKind::InvalidData, what).caused_by(error)
        })?;
        if cosigned != note {
            let row = checkpoint_row(&self.store, partition, checkpoint.size, &cosigned);
            let mut changes = Changes::new();
            state::put(&self.store, &mut changes, part.state, &row)?;
            self.store.commit(changes, Durability::Synced)?;
            key.map_or(Ok(()), |key| key.remember(self.name(), partition, &cosigned))?;
        }
        Ok(seen)
    }
}

/// What a note's signatures are of; nothing of what is no note.
pub(super) fn signed_text(note: &[u8]) -> Option<String> {
    Note::parse(note).ok().map(|note| note.text().to_owned())
}
