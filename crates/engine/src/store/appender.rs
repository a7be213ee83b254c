//! Single rows: the fast path, without a batch a row.

use std::sync::Arc;

use timestrata_format::SeqNo;

use super::core::{Slot, no_stream};
use super::engine::{Engine, Handle};
use crate::memtable;
use crate::wal::{RowLayout, RowRecord};
use crate::{Cell, Durability, Result, Stream};

/// Appends single rows to one stream: the fast path, without a batch a row.
#[derive(Debug)]
pub struct RowAppender {
    handle: Arc<Handle>,
    stream: Arc<Stream>,
    slot: Slot,
    layout: RowLayout,
    record: RowRecord,
}

impl RowAppender {
    pub(crate) fn new(handle: Arc<Handle>, stream: Arc<Stream>, slot: Slot) -> Result<Self> {
        let layout = RowLayout::of(stream.schema())?;
        Ok(Self { handle, stream, slot, layout, record: RowRecord::new() })
    }

    /// Commits one row; `cells` has one cell a column of the schema, in its order.
    ///
    /// # Errors
    /// `InvalidData` if a cell doesn't fit its column, `TooLarge` for a row that no WAL segment
    /// can hold, `Busy` under back-pressure where the policy says so; in these cases nothing
    /// was written. `Poisoned`, `ReadOnly`, `Closed` as for [`crate::Store::commit`].
    pub fn append(&mut self, cells: &[Cell<'_>], durability: Durability) -> Result<SeqNo> {
        memtable::check_row(&self.stream, cells)?;
        let engine: &Engine = &self.handle.engine;
        if engine.wal.is_some() {
            let layout = &self.layout;
            self.record.set(self.stream.id(), |out| layout.encode(cells, out))?;
        }
        let to_sync = durability == Durability::Synced;
        let (seq, flush_due) = {
            let mut core = engine.lock_with_room(self.record.payload().len() as u64)?;
            let state = &core.streams[self.slot];
            if state.dropped {
                return Err(no_stream(self.stream.id()));
            }
            let seq = core.last_seq.next();
            if let Some(wal) = &engine.wal {
                wal.append_rows(seq, &mut self.record, to_sync)
                    .map_err(|error| engine.fail_unless_refused(error))?;
            }
            core.last_seq = seq;
            core.touch(self.slot);
            let active = &mut core.streams[self.slot].active;
            let before = active.bytes();
            active.append_row(seq, cells);
            let bytes = active.bytes();
            core.memory_bytes += bytes.saturating_sub(before) as u64;
            let full = bytes as u64 >= engine.settings.memtable_bytes_max && core.seal(self.slot);
            (seq, full | engine.seal_for_wal(&mut core))
        };
        if flush_due || durability == Durability::Synced {
            engine.after_commit(seq, durability, flush_due)?;
        }
        Ok(seq)
    }
}
