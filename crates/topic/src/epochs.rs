//! Epochs of producers: of those that have one name, only the one that began last sends.
//!
//! A program that hangs, and is taken for dead, may wake up while another one does its work. The other one has begun with a
//! later epoch, and from then on nothing of the first one is taken.

use std::collections::HashMap;

use timestrata_engine::{Changes, Durability, Error, ErrorKind, Result};
use timestrata_io::sync::{RwLock, RwLockReadGuard};

use super::Topic;
use super::state::{self, StateKind, StateRow};

/// Producers of a topic whose epochs are known at once; those of others are read.
const KNOWN_MAX: usize = 1_024;

type Known = HashMap<String, u64>;

/// The epochs of a topic's producers that have begun since the store was opened.
///
/// One lock a topic: a commit may be by producers of several topics, and holds the epoch of each until it is made. Were it one lock for all,
/// it would wait behind a producer that is about to begin, which waits for it.
#[derive(Debug, Default)]
pub(super) struct Epochs(RwLock<Known>);

impl Topic {
    /// Begins as the producer of a name: gives its epoch, the first being 1, and from then on refuses what earlier ones of that name
    /// send with theirs ([`SendOptions::epoch`](super::SendOptions::epoch)). What they are sending is over when this returns.
    /// It survives a power cut.
    ///
    /// ```
    /// use timestrata_engine::{ErrorKind, Settings, Store};
    /// use timestrata_topic::{Record, SendOptions, Topic, TopicOptions};
    ///
    /// # fn main() -> timestrata_engine::Result<()> {
    /// # let store = Store::memory(Settings::default())?;
    /// # let events = Topic::create(&store, "events", &TopicOptions::default())?;
    /// let (early, late) = (events.begin_producer("door")?, events.begin_producer("door")?);
    /// let opened = Record { value: Some(b"opened"), ..Record::default() };
    /// let of_epoch = |epoch| SendOptions {
    ///     sequence: Some(("door", None)),
    ///     epoch: Some(epoch),
    ///     ..SendOptions::default()
    /// };
    /// assert_eq!(events.send(&opened, &of_epoch(early)).unwrap_err().kind(), ErrorKind::Conflict);
    /// assert_eq!(events.send(&opened, &of_epoch(late))?.offset, 0);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// What a commit may fail with.
    pub fn begin_producer(&self, producer: &str) -> Result<u64> {
        // Whoever sends with an epoch has it for reading until that is committed.
        let mut known = self.shared.epochs.0.write();
        let last = match known.remove(producer) {
            Some(last) => last,
            None => self.stored_epoch(producer)?,
        };
        let epoch = last.saturating_add(1);
        let mut changes = Changes::new();
        let row = StateRow::of_partition(StateKind::Epoch, 0, 0, self.store.wall_ns());
        let row = StateRow { name: producer.to_owned(), number: epoch, ..row };
        state::put(&self.store, &mut changes, self.shared.id, &row)?;
        self.store.commit(changes, Durability::Synced)?;
        if known.len() >= KNOWN_MAX {
            known.clear();
        }
        known.insert(producer.to_owned(), epoch);
        Ok(epoch)
    }

    fn stored_epoch(&self, producer: &str) -> Result<u64> {
        let snapshot = self.store.snapshot_of(self.shared.id)?;
        let row = state::find(&snapshot, self.shared.id, StateKind::Epoch, producer, 0)?;
        Ok(row.map_or(0, |row| row.number))
    }
}

impl Epochs {
    /// Keeps the epoch of a producer what it is for as long as this is held.
    ///
    /// # Errors
    /// `Conflict` if a later one has begun, or it never did.
    pub(super) fn hold(&self, topic: &Topic, producer: &str, epoch: u64) -> Result<EpochHeld<'_>> {
        let known = self.0.read();
        let last = match known.get(producer) {
            Some(last) => *last,
            None => topic.stored_epoch(producer)?,
        };
        if last == epoch {
            return Ok(EpochHeld { _known: known });
        }
        let what = match last > epoch {
            true => format!(
                "producer '{producer}' of topic '{}' has epoch {epoch}, and one of its name has begun with epoch {last} since: \
                 this one is to send no more",
                topic.name()
            ),
            false => format!(
                "producer '{producer}' of topic '{}' has epoch {epoch}, with which none has begun: the last was {last}",
                topic.name()
            ),
        };
        Err(Error::new(ErrorKind::Conflict, what))
    }
}

/// See [`Epochs::hold`].
#[derive(Debug)]
pub(super) struct EpochHeld<'a> {
    _known: RwLockReadGuard<'a, Known>,
}
