//! A log's part of a commit that several models make together.

use timestrata_engine::{
    Changes, CommitPart, LockRank, Result, RowEncoder, SeqNo, Store, StreamId,
};

use super::{EntryBatch, Logs, NewEntry};

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
    entries: Entries,
    first: Option<i64>,
}

#[derive(Debug)]
enum Entries {
    /// A batch takes longer to begin than a few of them to write.
    Few(Vec<NewEntry>),
    Batch(Box<EntryBatch>),
}

impl LogsWrite {
    /// These entries, which [`Logs::batch`] began.
    #[must_use]
    pub fn new(log: &Logs, entries: EntryBatch) -> Self {
        Self { log: log.clone(), entries: Entries::Batch(Box::new(entries)), first: None }
    }

    /// These entries.
    ///
    /// # Errors
    /// `TooLarge` for a message or fields that are longer than the log takes; as [`EntryBatch::push`].
    pub fn of_entries(log: &Logs, entries: Vec<NewEntry>) -> Result<Self> {
        let bytes = entries.iter().map(|entry| entry.message.len()).sum();
        if !RowEncoder::suits(entries.len(), bytes) {
            let mut batch = log.batch()?;
            entries.iter().try_for_each(|entry| batch.push(entry))?;
            return Ok(Self::new(log, batch));
        }
        entries.iter().try_for_each(|entry| log.check(entry))?;
        Ok(Self { log: log.clone(), entries: Entries::Few(entries), first: None })
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
        let (first, seq) = match &mut self.entries {
            Entries::Few(entries) if !entries.is_empty() => {
                self.log.commit_few(entries, before, rest)?
            }
            Entries::Batch(batch) if !batch.is_empty() => {
                self.log.commit_batch(batch, before, rest)?
            }
            _ => return rest(before),
        };
        self.first = Some(first);
        Ok(seq)
    }

    fn announce(&mut self) {
        if self.first.is_some() {
            self.log.announce();
        }
    }
}
