//! Writing entries: one by one, and many as one commit.

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, TimestampNanosecondArray, new_null_array};
use arrow_schema::ArrowError;
use timestrata_engine::planted::{Plant, is_planted};
use timestrata_engine::{Changes, Durability, Error, ErrorKind, Result, RowBatch, SeqNo, Stream};

use super::handle::RowWriter;
use super::hub::Writing;
use super::layout::{ColumnKind, Layout, RowMemory};
use super::options::TIMESTAMP;
use super::promote::Sampler;
use super::{Logs, NewEntry};

/// Bytes of entries that are gathered in one piece of memory.
const PART_BYTES: usize = 512 << 10;

/// Entries that will be one commit, gathered as columns.
///
/// ```
/// use timestrata_engine::{Durability, Settings, Store};
/// use timestrata_logs::{Logs, LogsOptions, NewEntry, Query};
///
/// # fn main() -> timestrata_engine::Result<()> {
/// # let store = Store::memory(Settings::default())?;
/// # let app = Logs::create(&store, "app", &LogsOptions::default())?;
/// let mut batch = app.batch()?;
/// batch.push(&NewEntry::new("begun"))?;
/// batch.push(&NewEntry::new("done"))?;
/// app.write_batch(&mut batch, Durability::Synced)?;
/// assert_eq!((batch.len(), app.count(&Query::default())?), (0, 2));
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct EntryBatch {
    logs: Logs,
    layout: Arc<Layout>,
    rows: RowBatch,
    /// Rows before those: so many that gathering more stays in a processor's cache, or those from before
    /// a field got a column, without it.
    parts: Vec<RecordBatch>,
    part_rows: usize,
    part_bytes: usize,
    sampler: Sampler,
    memory: RowMemory,
}

impl EntryBatch {
    /// Adds an entry.
    ///
    /// # Errors
    /// `TooLarge` for a message or fields that are longer than the log takes: the batch is as it was. What
    /// giving a field a column may fail with.
    pub fn push(&mut self, entry: &NewEntry) -> Result<()> {
        self.logs.check(entry)?;
        let columns_max = self.logs.columns_max;
        if let Some(columns) = self.sampler.see(&entry.fields, &self.layout, columns_max) {
            self.promote(&columns)?;
        }
        if self.rows.bytes() >= PART_BYTES {
            self.end_part()?;
        }
        let rows = &mut self.rows;
        self.layout.with_row(0, entry, &mut self.memory, |cells| rows.push(cells))
    }

    /// Entries in it.
    pub fn len(&self) -> usize {
        self.part_rows + self.rows.len()
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes of its entries.
    pub fn bytes(&self) -> usize {
        self.part_bytes + self.rows.bytes()
    }

    /// Its entries as a batch of their own, for another thread to [`append`](Self::append) and commit.
    /// It goes on without any, and with what it knows of the fields of those.
    ///
    /// # Errors
    /// `InvalidData` if they make no rows, which would be a bug.
    pub fn split_off(&mut self) -> Result<Self> {
        self.end_part()?;
        let mut entries = self.logs.batch_as(Arc::clone(&self.layout), self.sampler.branch())?;
        entries.take_parts(self);
        Ok(entries)
    }

    /// Adds the entries of a batch of the same log behind its own.
    ///
    /// # Errors
    /// `InvalidArgument` for another log's; as [`split_off`](Self::split_off).
    pub fn append(&mut self, mut other: Self) -> Result<()> {
        if !Arc::ptr_eq(&self.logs.shared, &other.logs.shared) {
            let (ours, theirs) = (self.logs.name(), other.logs.name());
            let message = format!("log '{ours}': the entries are of log '{theirs}'");
            return Err(Error::new(ErrorKind::InvalidArgument, message));
        }
        self.end_part()?;
        other.end_part()?;
        self.take_parts(&mut other);
        Ok(())
    }

    fn take_parts(&mut self, from: &mut Self) {
        self.parts.append(&mut from.parts);
        self.part_rows += std::mem::take(&mut from.part_rows);
        self.part_bytes += std::mem::take(&mut from.part_bytes);
    }

    fn promote(&mut self, columns: &[(String, ColumnKind)]) -> Result<()> {
        self.logs.promote(&mut self.logs.shared.writing.lock(), columns)?;
        self.end_part()?;
        self.layout = Arc::clone(&self.logs.shared.writing.lock().layout);
        self.rows = RowBatch::new(&self.layout.stream)?;
        Ok(())
    }

    fn end_part(&mut self) -> Result<()> {
        if self.rows.is_empty() {
            return Ok(());
        }
        self.part_rows += self.rows.len();
        self.part_bytes += self.rows.bytes();
        self.parts.push(self.rows.finish()?);
        Ok(())
    }
}

impl Logs {
    /// Writes one entry; the timestamp that it got, which is its own.
    ///
    /// ```
    /// # use timestrata_engine::{Settings, Store};
    /// # use timestrata_logs::{Logs, LogsOptions, NewEntry};
    /// # fn main() -> timestrata_engine::Result<()> {
    /// # let store = Store::memory(Settings::default())?;
    /// let logs = Logs::create(&store, "app", &LogsOptions::default())?;
    /// let first = logs.write(&NewEntry::new("begun"))?;
    /// assert!(logs.write(&NewEntry::new("done"))? > first);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// `TooLarge` for a message or fields that are longer than the log takes, and what a commit may fail
    /// with: nothing was written then.
    pub fn write(&self, entry: &NewEntry) -> Result<i64> {
        self.write_with(entry, Durability::Written)
    }

    /// [`write`](Self::write) with this durability. Entries that several threads write `Synced` share
    /// their syncs.
    pub fn write_with(&self, entry: &NewEntry, durability: Durability) -> Result<i64> {
        self.check(entry)?;
        let mut writer = self.writer.lock();
        let RowWriter { appender, memory } = &mut *writer;
        let appender = match appender {
            Some(appender) => appender,
            None => appender.insert(self.store.appender(self.stream_id())?),
        };
        let mut writing = self.shared.writing.lock();
        let state = &mut *writing;
        if let Some(columns) = state.sampler.see(&entry.fields, &state.layout, self.columns_max) {
            self.promote(state, &columns)?;
        }
        let timestamp = state.arrive(self.store.wall_ns(), 1);
        let seq = state.layout.with_row(timestamp, entry, memory, |row| {
            appender.append_leaving_sync(row, durability)
        })?;
        state.committed(timestamp);
        drop(writing);
        drop(writer);
        self.after(seq, durability)?;
        Ok(timestamp)
    }

    /// Writes entries as one commit, all or none; the timestamp of the first, which the others follow a
    /// nanosecond apart. `None`: there were none.
    ///
    /// # Errors
    /// As [`write`](Self::write).
    pub fn write_many(&self, entries: &[NewEntry], durability: Durability) -> Result<Option<i64>> {
        let mut batch = self.batch()?;
        entries.iter().try_for_each(|entry| batch.push(entry))?;
        self.write_batch(&mut batch, durability)
    }

    /// No entries yet, for [`write_batch`](Self::write_batch).
    pub fn batch(&self) -> Result<EntryBatch> {
        let (layout, sampler) = {
            let writing = self.shared.writing.lock();
            (Arc::clone(&writing.layout), writing.sampler.branch())
        };
        self.batch_as(layout, sampler)
    }

    fn batch_as(&self, layout: Arc<Layout>, sampler: Sampler) -> Result<EntryBatch> {
        let rows = RowBatch::new(&layout.stream)?;
        Ok(EntryBatch {
            logs: self.clone(),
            layout,
            rows,
            parts: Vec::new(),
            part_rows: 0,
            part_bytes: 0,
            sampler,
            memory: RowMemory::default(),
        })
    }

    /// Writes a batch's entries as one commit, all or none, and empties it. As
    /// [`write_many`](Self::write_many).
    ///
    /// # Errors
    /// As [`write`](Self::write); the batch is empty then too.
    pub fn write_batch(
        &self,
        batch: &mut EntryBatch,
        durability: Durability,
    ) -> Result<Option<i64>> {
        if batch.is_empty() {
            return self.store.acknowledge(durability).map(|_| None);
        }
        let commit = &mut |changes| self.store.commit_leaving_sync(changes, durability);
        let (first, seq) = self.commit_batch(batch, Changes::new(), commit)?;
        self.after(seq, durability)?;
        Ok(Some(first))
    }

    /// Has `commit` commit a batch's entries with other changes, while nobody else writes. Gives the arrival of the first, and
    /// empties the batch.
    pub(super) fn commit_batch(
        &self,
        batch: &mut EntryBatch,
        others: Changes,
        commit: &mut dyn FnMut(Changes) -> Result<SeqNo>,
    ) -> Result<(i64, SeqNo)> {
        batch.end_part()?;
        let parts = std::mem::take(&mut batch.parts);
        let count = std::mem::take(&mut batch.part_rows);
        batch.part_bytes = 0;
        let mut writing = self.shared.writing.lock();
        let state = &mut *writing;
        let seen = batch.sampler.take();
        if let Some(columns) = state.sampler.join(seen, &state.layout, self.columns_max) {
            self.promote(state, &columns)?;
        }
        let first = writing.arrive(self.store.wall_ns(), count);
        let mut next = first;
        let mut changes = others;
        for part in parts {
            let stamped = stamped(&part, &writing.layout.stream, next)?;
            next += part.num_rows() as i64;
            changes = changes.insert(self.stream_id(), stamped);
        }
        let seq = commit(changes)?;
        writing.committed(next - 1);
        Ok((first, seq))
    }

    /// The same of a few entries that were [checked](Self::check), as rows.
    pub(super) fn commit_few(
        &self,
        entries: &[NewEntry],
        others: Changes,
        commit: &mut dyn FnMut(Changes) -> Result<SeqNo>,
    ) -> Result<(i64, SeqNo)> {
        let mut writing = self.shared.writing.lock();
        let state = &mut *writing;
        for entry in entries {
            if let Some(columns) = state.sampler.see(&entry.fields, &state.layout, self.columns_max)
            {
                self.promote(state, &columns)?;
            }
        }
        let first = state.arrive(self.store.wall_ns(), entries.len());
        let encoder = self.store.row_encoder(self.stream_id())?;
        let (mut changes, mut memory) = (others, RowMemory::default());
        for (timestamp, entry) in (first..).zip(entries) {
            state
                .layout
                .with_row(timestamp, entry, &mut memory, |row| encoder.put(&mut changes, row))?;
        }
        let seq = commit(changes)?;
        state.committed(first + entries.len() as i64 - 1);
        Ok((first, seq))
    }

    /// Tells who waits for entries.
    pub(super) fn announce(&self) {
        self.shared.announce();
    }

    /// Tells who waits, and syncs where that was asked for, with no lock held.
    fn after(&self, seq: SeqNo, durability: Durability) -> Result<()> {
        self.announce();
        if durability == Durability::Synced && !is_planted(Plant::UnsyncedEntry) {
            self.store.sync_through(seq)?;
        }
        Ok(())
    }

    /// Gives fields columns of their own.
    fn promote(&self, writing: &mut Writing, columns: &[(String, ColumnKind)]) -> Result<()> {
        let layout = Layout::new(self.store.stream_of(self.stream_id())?);
        let mut columns = columns.to_vec();
        columns.retain(|(name, _)| layout.find(name).is_none());
        columns.truncate(self.columns_max.saturating_sub(layout.promoted.len()));
        let stream = match columns.is_empty() {
            true => layout.stream,
            false => self.store.alter_stream(self.stream_id(), layout.schema_with(&columns))?,
        };
        writing.layout = Arc::new(Layout::new(stream));
        Ok(())
    }

    pub(super) fn check(&self, entry: &NewEntry) -> Result<()> {
        let max = self.message_bytes_max;
        for (what, bytes) in [("message", entry.message.len()), ("fields", entry.fields.bytes())] {
            if bytes > max {
                let name = self.name();
                let message = format!(
                    "log '{name}': {what} of {bytes} bytes; at most {max} are taken \
                     (message_bytes_max)"
                );
                return Err(Error::new(ErrorKind::TooLarge, message));
            }
        }
        Ok(())
    }
}

/// Rows with their timestamps, in the columns that the stream has now.
fn stamped(rows: &RecordBatch, stream: &Stream, first: i64) -> Result<RecordBatch> {
    let count = rows.num_rows();
    let times = TimestampNanosecondArray::from_iter_values(first..first + count as i64);
    let mut columns: Vec<ArrayRef> = rows.columns().to_vec();
    if let Some(column) = columns.get_mut(TIMESTAMP) {
        *column = Arc::new(times.with_timezone("UTC"));
    }
    let new = stream.schema().fields().iter().skip(columns.len());
    columns.extend(new.map(|field| new_null_array(field.data_type(), count)));
    RecordBatch::try_new(Arc::clone(stream.schema()), columns).map_err(|error: ArrowError| {
        Error::new(ErrorKind::InvalidData, format!("entries make no rows: {error}"))
            .caused_by(error)
    })
}
