//! WAL records back to memtables.

use std::path::PathBuf;
use std::sync::Arc;

use timestrata_format::wal::{Entries, EntryKind, EntryRef};
use timestrata_format::{DecodeError, SeqNo, Tombstone};
use timestrata_io::Bytes;

use crate::memtable::{self, PreparedBatch};
use crate::store::{Core, Slot};
use crate::wal::{decode_batch, decode_range};
use crate::{Error, Result};

/// One commit as the WAL gives it.
pub(crate) struct Record<'a> {
    pub(crate) seq: SeqNo,
    pub(crate) payload: &'a Bytes,
    /// The segment it comes from.
    pub(crate) path: &'a dyn Fn() -> PathBuf,
    /// Where the payload begins in the segment.
    pub(crate) offset: u64,
}

/// Applies one commit to the memtables. Streams whose runs already hold it are passed over.
pub(crate) fn replay(core: &mut Core, record: &Record<'_>) -> Result<()> {
    for entry in Entries::new(record.payload) {
        let entry = entry.map_err(|error| Error::decode(&(record.path)(), record.offset, error))?;
        let Ok(slot) = core.slot_of(entry.stream) else {
            if entry.stream < core.next_stream {
                // A stream that was dropped later has left its entries behind.
                continue;
            }
            // Streams are made durable before anything is committed to them.
            let message =
                format!("a commit to stream {}, which the manifest doesn't know", entry.stream);
            return Err(Error::corruption(&(record.path)(), record.offset, message));
        };
        if record.seq <= core.streams[slot].flushed_through {
            continue;
        }
        seal_before_direct_run(core, slot, record.seq);
        apply(core, slot, record, &entry)?;
        core.touch(slot);
    }
    core.last_seq = core.last_seq.max(record.seq);
    Ok(())
}

/// A large commit that went straight to a run split the memtable of its time in two; so must
/// recovery, or a memtable would hold commits from both sides of the run.
fn seal_before_direct_run(core: &mut Core, slot: Slot, seq: SeqNo) {
    let state = &core.streams[slot];
    let Some(last) = state.active.seq_max() else { return };
    let direct =
        state.version.runs.iter().any(|run| last < run.meta.seq_min && run.meta.seq_max < seq);
    if direct {
        core.seal(slot);
    }
}

fn apply(core: &mut Core, slot: Slot, record: &Record<'_>, entry: &EntryRef<'_>) -> Result<()> {
    let base = record.offset + entry.body_offset as u64;
    let corrupt = |error: &dyn std::fmt::Display| {
        let message = format!("a WAL entry can't be read back: {error}");
        Error::corruption(&(record.path)(), base, message)
    };
    let state = &mut core.streams[slot];
    let stream = Arc::clone(&state.stream);
    match entry.kind {
        EntryKind::Rows => {
            let Some(layout) = state.row_layout.clone() else {
                let message = "single rows of a stream that has none";
                return Err(Error::corruption(&(record.path)(), base, message));
            };
            let active = &mut state.active;
            layout
                .decode(entry.body, |cells| {
                    memtable::check_row(&stream, cells)?;
                    active.append_row(record.seq, cells);
                    Ok::<_, RowError>(())
                })
                .map_err(|RowError(problem)| corrupt(&problem))
        }
        EntryKind::Batch => {
            let body = record.payload.slice_ref(entry.body);
            let batch = decode_batch(&body, stream.stored_schema())
                .map_err(|error| Error::decode(&(record.path)(), base, error))?;
            let prepared =
                PreparedBatch::stored(&stream, batch).map_err(|error| corrupt(&error))?;
            state.active.insert(record.seq, prepared);
            Ok(())
        }
        EntryKind::DeleteRange => {
            let range = decode_range(entry.body)
                .map_err(|error| Error::decode(&(record.path)(), base, error))?;
            stream.check_range(&range).map_err(|error| corrupt(&error))?;
            state.active.delete_range(Tombstone { range, seq: record.seq });
            Ok(())
        }
    }
}

/// Why a logged row can't be one of its stream's.
struct RowError(String);

impl From<DecodeError> for RowError {
    fn from(error: DecodeError) -> Self {
        Self(error.to_string())
    }
}

impl From<Error> for RowError {
    fn from(error: Error) -> Self {
        Self(error.to_string())
    }
}
