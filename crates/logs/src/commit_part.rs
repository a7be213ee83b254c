//! A log's part of a commit that several models make together.

use timestrata_engine::{Changes, CommitPart, LockRank, Result, SeqNo, Store, StreamId};

use super::{EntryBatch, Logs};

/// The entries that a commit over several models writes to a log.
///
/// ```
/// use timestrata_engine::{Changes, CommitPart, Durability, Settings, Store};
/// use timestrata_logs::{Logs, LogsOptions, LogsWrite, NewEntry};
///
/// # fn main() -> timestrata_engine::Result<()> {
/// let store = Store::memory(Settings::default())?;
/// let app = Logs::create(&store, "app", &LogsOptions::default())?;
/// let mut entries = app.batch()?;
/// entries.push(&NewEntry { message: "started".into(), ..NewEntry::default() })?;
/// let mut write = LogsWrite::new(&app, entries);
/// // `timestrata::commit_together` does this for the parts of several models.
/// write.commit(Changes::new(), &mut |changes| store.commit(changes, Durability::Written))?;
/// assert!(write.first().is_some());
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct LogsWrite {
    log: Logs,
    entries: EntryBatch,
    first: Option<i64>,
}

impl LogsWrite {
    /// These entries, which [`Logs::batch`] began.
    #[must_use]
    pub fn new(log: &Logs, entries: EntryBatch) -> Self {
        Self { log: log.clone(), entries, first: None }
    }

    /// When the first entry arrived, in nanoseconds since the epoch, once it is committed: the place of the others is behind it,
    /// a nanosecond each.
    #[must_use]
    pub fn first(&self) -> Option<i64> {
        self.first
    }
}

impl CommitPart for LogsWrite {
    fn store(&self) -> &Store {
        self.log.store()
    }

    fn rank(&self) -> LockRank {
        LockRank::Log
    }

    fn stream(&self) -> StreamId {
        self.log.stream_id()
    }

    fn commit(
        &mut self,
        before: Changes,
        rest: &mut dyn FnMut(Changes) -> Result<SeqNo>,
    ) -> Result<SeqNo> {
        if self.entries.is_empty() {
            return rest(before);
        }
        let (first, seq) = self.log.commit_batch(&mut self.entries, before, rest)?;
        self.first = Some(first);
        Ok(seq)
    }

    fn announce(&mut self) {
        if self.first.is_some() {
            self.log.announce();
        }
    }
}
