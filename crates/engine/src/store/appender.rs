//! Single rows: the fast path, without a batch a row.

use std::sync::Arc;

use timestrata_format::SeqNo;
use timestrata_format::wal::ALIGNED_PAYLOAD_BYTES_MIN;

use super::handle::Handle;
use crate::cell::variable_bytes_of;
use crate::memtable;
use crate::state::{Engine, Slot, StoreState, no_stream};
use crate::wal::{RowLayout, RowRecord};
use crate::{Cell, Durability, Result, Stream};

/// Appends single rows to one stream: the fast path, without a batch a row.
///
/// ```
/// # use std::sync::Arc;
/// # use arrow_schema::{DataType, Field, Schema};
/// # use timestrata_engine::*;
/// # fn main() -> timestrata_engine::Result<()> {
/// # let store = Store::memory(Settings::default())?;
/// # let schema = Schema::new(vec![
/// #     Field::new("time", DataType::Int64, false),
/// #     Field::new("celsius", DataType::Float64, true),
/// # ]);
/// # let kitchen = store.create_stream(StreamSpec::new("kitchen", Arc::new(schema)))?;
/// # let mut appender = store.appender(kitchen)?;
/// # for (time, celsius) in [(1_000, 20.5), (2_000, 21.0), (3_000, 21.5)] {
/// #     appender.append(&[Cell::Int(time), Cell::Float(celsius)], Durability::Written)?;
/// # }
/// let mut appender = store.appender(kitchen)?;
/// for minute in 0..60 {
///     appender.append(&[Cell::Int(minute * 60_000), Cell::Float(20.5)], Durability::Written)?;
/// }
/// store.sync()?; // what was written so far survives a power cut from here on
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct RowAppender {
    handle: Arc<Handle>,
    stream: Arc<Stream>,
    slot: Slot,
    layout: RowLayout,
    record: RowRecord,
}

impl RowAppender {
    pub(super) fn new(handle: Arc<Handle>, stream: Arc<Stream>, slot: Slot) -> Result<Self> {
        let layout = RowLayout::of(stream.schema())?;
        Ok(Self { handle, stream, slot, layout, record: RowRecord::new() })
    }

    /// The stream with the columns for which cells are taken.
    pub fn stream(&self) -> &Arc<Stream> {
        &self.stream
    }

    /// Commits one row; `cells` has one cell a column of the schema, in its order.
    ///
    /// # Errors
    /// `InvalidData` if a cell doesn't fit its column, `TooLarge` for a row that no WAL segment
    /// can hold, `Busy` under back-pressure where the policy says so; in these cases nothing
    /// was written. `InvalidData` too, once, where the stream's times have got a finer unit since the row before. `Poisoned`, `ReadOnly`, `Closed` as for [`crate::Store::commit`].
    pub fn append(&mut self, cells: &[Cell<'_>], durability: Durability) -> Result<SeqNo> {
        let placed = self.place(cells, durability == Durability::Synced);
        end_commit(&self.handle.engine, placed, durability)
    }

    /// As [`append`](Self::append), but the sync of [`Durability::Synced`] is left to the caller, who lets go of a lock of
    /// its own and then calls [`crate::Store::sync_through`] at once: so others who wait for that lock share the sync.
    ///
    /// # Errors
    /// As [`append`](Self::append).
    pub fn append_leaving_sync(
        &mut self,
        cells: &[Cell<'_>],
        durability: Durability,
    ) -> Result<SeqNo> {
        let placed = self.place(cells, durability == Durability::Synced);
        let engine = &self.handle.engine;
        if placed.is_ok() {
            engine.send_on(self.record.payload().len() as u64, durability);
        }
        end_commit(engine, placed, durability.without_sync())
    }

    /// Gives a row its place in the order of commits; and whether a flush is due.
    fn place(&mut self, cells: &[Cell<'_>], to_sync: bool) -> Result<(SeqNo, bool)> {
        if let Err(error) = self.encode(cells) {
            let core = self.handle.engine.core.lock();
            let Some(altered) = altered(&core, self.slot, &self.stream)? else { return Err(error) };
            drop(core);
            self.follow(altered)?;
            self.encode(cells)?;
        }
        let engine: &Engine = &self.handle.engine;
        let mut core = engine.lock_with_room(self.record.payload().len() as u64)?;
        let seq = core.last_seq.next();
        if let Some(altered) = altered(&core, self.slot, &self.stream)? {
            drop(core);
            self.follow(altered)?;
            return self.place(cells, to_sync);
        }
        if let Some(wal) = &engine.wal {
            wal.append_rows(seq, &mut self.record, to_sync)
                .map_err(|error| engine.refused_by_log(&mut core, seq, error))?;
        }
        apply(&mut core, self.slot, seq, cells);
        let flush_due = engine.seal_if_full(&mut core, self.slot) | engine.seal_for_wal(&mut core);
        Ok((seq, flush_due))
    }

    /// As [`append`](Self::append) with [`Durability::Written`], of a small row and if nothing
    /// stands in the way: `None`, and nothing was written, where that would wait for a lock,
    /// for a segment of the log or for a flush, or where chunks of rows would have to be made
    /// first. For callers who hold a lock of their own that they would rather let go of then.
    ///
    /// # Errors
    /// As [`append`](Self::append).
    pub fn try_append(&mut self, cells: &[Cell<'_>]) -> Result<Option<SeqNo>> {
        let outcome = self.try_place(cells);
        self.handle.engine.committed.announce();
        self.handle.engine.telling(outcome)
    }

    fn try_place(&mut self, cells: &[Cell<'_>]) -> Result<Option<SeqNo>> {
        // Before the work for a record that the log takes in pieces only.
        if variable_bytes_of(cells) >= ALIGNED_PAYLOAD_BYTES_MIN {
            return Ok(None);
        }
        let encoded = self.encode(cells);
        let engine: &Engine = &self.handle.engine;
        let Some(mut core) = engine.core.try_lock() else { return Ok(None) };
        let altered = altered(&core, self.slot, &self.stream);
        if core.is_altering || matches!(altered, Ok(Some(_))) {
            return Ok(None);
        }
        encoded?;
        engine.check_writable()?;
        altered?;
        let seq = core.last_seq.next();
        if !engine.takes_at_once(&core, self.slot, cells) {
            return Ok(None);
        }
        if let Some(wal) = &engine.wal {
            match wal.try_append_rows(seq, &mut self.record) {
                Some(written) => {
                    written.map_err(|error| engine.doubt_unless_refused(seq, error))?
                }
                None => return Ok(None),
            }
        }
        apply(&mut core, self.slot, seq, cells);
        Ok(Some(seq))
    }

    /// Goes on with other columns.
    ///
    /// # Errors
    /// `InvalidData` if times have another unit: those of the row on its way are of the one before.
    fn follow(&mut self, stream: Arc<Stream>) -> Result<()> {
        self.layout = RowLayout::of(stream.schema())?;
        let before = std::mem::replace(&mut self.stream, stream);
        match before.time_unit_ns() == self.stream.time_unit_ns() {
            true => Ok(()),
            false => Err(self.stream.has_been_altered()),
        }
    }

    /// Checks a row and makes its record, where there is a log. Nothing is locked for that.
    fn encode(&mut self, cells: &[Cell<'_>]) -> Result<()> {
        if self.handle.engine.wal.is_none() {
            return memtable::check_row(&self.stream, cells);
        }
        // The encoding takes what the check takes, so the cells are gone through once; the check is made for
        // what it says of a cell that doesn't fit.
        let layout = &self.layout;
        self.record.set(&self.stream, |out| layout.encode(cells, out)).or_else(|error| {
            memtable::check_row(&self.stream, cells)?;
            Err(error)
        })
    }
}

impl Engine {
    /// Whether a row can be committed without a flush or a merge before or after it.
    fn takes_at_once(&self, core: &StoreState, slot: Slot, cells: &[Cell<'_>]) -> bool {
        let active = &core.streams[slot].active;
        let Some(bytes) = active.growth(cells) else { return false };
        let settings = &self.settings;
        ((active.bytes() + bytes) as u64) < settings.memtable_bytes_max
            && settings.memtable_rows_max.is_none_or(|rows| active.rows() + 1 < rows)
            && core.memory_bytes + bytes as u64 <= settings.memory_bytes_max
            && self.wal.as_ref().is_none_or(|wal| wal.bytes() < settings.wal_bytes_max)
    }
}

/// Ends a commit that has its place: syncs it if it is to be, and sees to a flush that it made due.
#[inline]
pub(super) fn end_commit(
    engine: &Engine,
    placed: Result<(SeqNo, bool)>,
    durability: Durability,
) -> Result<SeqNo> {
    let outcome = placed.and_then(|(seq, flush_due)| {
        engine.committed.announce();
        if flush_due || durability == Durability::Synced {
            engine.after_commit(seq, durability, flush_due)?;
        }
        Ok(seq)
    });
    engine.telling(outcome)
}

/// The stream as it is now, if it has got other columns; an error if it has been dropped.
#[inline]
pub(super) fn altered(
    core: &StoreState,
    slot: Slot,
    known: &Stream,
) -> Result<Option<Arc<Stream>>> {
    let state = core.at(slot, known.id()).ok_or_else(|| no_stream(known.id()))?;
    let is_altered = state.stream.schema_version() != known.schema_version();
    Ok(is_altered.then(|| Arc::clone(&state.stream)))
}

/// Applies a row that has been logged.
fn apply(core: &mut StoreState, slot: Slot, seq: SeqNo, cells: &[Cell<'_>]) {
    core.last_seq = seq;
    crate::planted::placed(seq);
    core.touch(slot);
    core.streams[slot].note_row(seq, cells);
    let active = &mut core.streams[slot].active;
    let before = active.bytes();
    active.append_row(seq, cells);
    let grown = active.bytes().saturating_sub(before);
    core.grow(slot, grown as u64);
}

#[cfg(test)]
mod tests {
    use arrow_schema::{DataType, Field, Schema, TimeUnit};

    use super::*;
    use crate::{Maintenance, Settings, Store, StreamSpec};

    #[test]
    fn a_hurried_row_waits_for_no_lock() {
        let settings = Settings { maintenance: Maintenance::Manual, ..Settings::default() };
        let store = Store::memory(settings).unwrap();
        let time = DataType::Timestamp(TimeUnit::Second, None);
        let schema = Arc::new(Schema::new(vec![Field::new("time", time, false)]));
        let stream = store.create_stream(StreamSpec::new("events", schema)).unwrap();
        let mut appender = store.appender(stream).unwrap();
        let handle = Arc::clone(&appender.handle);
        let core = handle.engine.core.lock();
        assert_eq!(appender.try_append(&[Cell::Int(1)]).unwrap(), None);
        drop(core);
        assert!(appender.try_append(&[Cell::Int(1)]).unwrap().is_some());
    }
}
