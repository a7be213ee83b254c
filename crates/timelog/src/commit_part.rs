//! A time log's part of a commit that several models make together.

use std::ops::RangeBounds;

use timestrata_engine::{
    Cell, Changes, CommitPart, LockRank, Result, RowBatch, RowEncoder, SeqNo, Store, StreamId,
};
use timestrata_values::range::key_range;

use super::{Codec, EntryBatch, Timelog};

/// What a commit over several models does to a time log: entries that are appended, and ranges of time whose earlier entries are
/// deleted.
///
/// ```
/// use timestrata_engine::{Changes, CommitPart, Durability, Settings, Store};
/// use timestrata_timelog::{EntryBatch, Timelog, TimelogOptions, TimelogWrite};
///
/// # fn main() -> timestrata_engine::Result<()> {
/// let store = Store::memory(Settings::default())?;
/// let door = Timelog::create(&store, "door", TimelogOptions::default())?;
/// let mut write = TimelogWrite::new(&door);
/// let mut entries = EntryBatch::new();
/// entries.push(1_000, b"opened")?;
/// write.append(entries)?;
/// // `timestrata::commit_together` does this for the parts of several models.
/// write.commit(Changes::new(), &mut |changes| store.commit(changes, Durability::Written))?;
/// assert_eq!(door.len()?, 1);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct TimelogWrite {
    log: Timelog,
    changes: Changes,
}

impl TimelogWrite {
    /// Nothing yet.
    #[must_use]
    pub fn new(log: &Timelog) -> Self {
        Self { log: log.clone(), changes: Changes::new() }
    }

    /// Appends entries, in any order.
    ///
    /// # Errors
    /// As [`Timelog::extend_batch`].
    pub fn append(&mut self, entries: EntryBatch) -> Result<()> {
        if entries.is_empty() {
            return Ok(());
        }
        entries.iter().try_for_each(|(time, _)| self.log.check_time(time))?;
        if RowEncoder::suits(entries.len(), entries.value_bytes())
            && self.log.codec() != Codec::Arrow
        {
            let encoder = self.log.store().row_encoder(self.log.stream_id())?;
            return entries.iter().try_for_each(|(time, value)| {
                encoder.put(&mut self.changes, &[Cell::Int(time), Cell::Bytes(value)])
            });
        }
        let rows = entries.into_record_batch(self.log.stream().schema(), self.log.unit())?;
        self.changes = std::mem::take(&mut self.changes).insert(self.log.stream_id(), rows);
        Ok(())
    }

    /// Appends entries of a log of columns, which [`Timelog::typed_batch`] began; the batch is empty then.
    ///
    /// # Errors
    /// As [`RowBatch::finish`].
    pub fn append_typed(&mut self, rows: &mut RowBatch) -> Result<()> {
        let rows = rows.finish()?;
        self.log.check_times(&rows)?;
        if rows.num_rows() > 0 {
            self.changes = std::mem::take(&mut self.changes).insert(self.log.stream_id(), rows);
        }
        Ok(())
    }

    /// Deletes the entries of earlier commits whose time is in a range.
    ///
    /// # Errors
    /// `InvalidArgument` if the range ends before it begins.
    pub fn delete(&mut self, range: impl RangeBounds<i64>) -> Result<()> {
        let range = key_range(&range)?;
        if !range.is_empty() {
            let changes = std::mem::take(&mut self.changes);
            self.changes = changes.delete_range(self.log.stream_id(), range);
        }
        Ok(())
    }
}

impl CommitPart for TimelogWrite {
    fn store(&self) -> &Store {
        self.log.store()
    }

    fn rank(&self) -> LockRank {
        LockRank::Timelog
    }

    fn stream(&self) -> StreamId {
        self.log.stream_id()
    }

    fn commit(
        &mut self,
        before: Changes,
        rest: &mut dyn FnMut(Changes) -> Result<SeqNo>,
    ) -> Result<SeqNo> {
        rest(before.and(std::mem::take(&mut self.changes)))
    }
}
