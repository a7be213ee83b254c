//! Entries of one commit, however many: they go straight to runs, part by part.

use arrow_array::ArrayRef;
use arrow_buffer::ScalarBuffer;
use timestrata_engine::{BulkCommit, Result, RowBatch, SeqNo};

use super::{EntryBatch, Timelog};

/// One commit of more entries than fit into memory, whole or not at all. Dropped without
/// [`commit`](Self::commit), nothing of it is stored.
///
/// ```
/// use timestrata_engine::{Settings, Store};
/// use timestrata_timelog::{EntryBatch, Timelog, TimelogOptions};
///
/// # fn main() -> timestrata_engine::Result<()> {
/// let store = Store::memory(Settings::default())?;
/// let log = Timelog::create(&store, "log", TimelogOptions::default())?;
/// let mut bulk = log.bulk()?;
/// for part in 0..3 {
///     let mut entries = EntryBatch::new();
///     entries.push(part, b"value")?;
///     bulk.append(entries)?;
/// }
/// assert_eq!((bulk.rows(), log.len()?), (3, 0));
/// bulk.commit()?;
/// assert_eq!(log.len()?, 3);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct TimelogBulk {
    log: Timelog,
    bulk: BulkCommit,
}

impl Timelog {
    /// A commit of any size, given part by part.
    ///
    /// # Errors
    /// `ReadOnly`, `Poisoned`, `Closed`.
    pub fn bulk(&self) -> Result<TimelogBulk> {
        Ok(TimelogBulk { log: self.clone(), bulk: self.store().bulk()? })
    }
}

impl TimelogBulk {
    /// Adds entries, in any order.
    ///
    /// # Errors
    /// As [`Timelog::extend_batch`], and as [`BulkCommit::insert`].
    pub fn append(&mut self, entries: EntryBatch) -> Result<()> {
        let rows = entries.into_record_batch(self.log.stream().schema(), self.log.unit())?;
        self.log.check_times(&rows)?;
        self.bulk.insert(self.log.stream_id(), rows)
    }

    /// Adds entries of a typed log; the batch is empty then.
    ///
    /// # Errors
    /// As [`TimelogBulk::append`].
    pub fn append_typed(&mut self, rows: &mut RowBatch) -> Result<()> {
        let rows = rows.finish()?;
        self.log.check_times(&rows)?;
        self.bulk.insert(self.log.stream_id(), rows)
    }

    /// Adds Arrow columns to a typed log.
    ///
    /// # Errors
    /// As [`Timelog::extend_columns`], and as [`BulkCommit::insert`].
    pub fn append_columns(
        &mut self,
        times: ScalarBuffer<i64>,
        columns: Vec<ArrayRef>,
    ) -> Result<()> {
        let rows = self.log.batch_of_columns(times, columns)?;
        self.log.check_times(&rows)?;
        self.bulk.insert(self.log.stream_id(), rows)
    }

    /// Entries so far.
    pub fn rows(&self) -> u64 {
        self.bulk.rows()
    }

    /// Commits all of them, synced.
    ///
    /// # Errors
    /// As [`BulkCommit::commit`].
    pub fn commit(self) -> Result<SeqNo> {
        self.bulk.commit()
    }
}
