//! WAL records back to memtables.

use std::path::Path;
use std::sync::Arc;

use timestrata_format::wal::{Entries, EntryKind, EntryRef};
use timestrata_format::{SeqNo, StreamId, Tombstone};
use timestrata_io::Bytes;

use crate::memtable::PreparedBatch;
use crate::store::{Core, Slot};
use crate::wal::{batch, row};
use crate::{Error, Result, Stream};

/// One commit as the WAL gives it.
#[derive(Debug)]
pub(crate) struct Record<'a> {
    pub(crate) seq: SeqNo,
    pub(crate) payload: &'a Bytes,
    /// The segment it comes from.
    pub(crate) path: &'a Path,
    /// Where the payload begins in the segment.
    pub(crate) offset: u64,
}

/// Applies one commit to the memtables. Streams whose runs already hold it are passed over.
pub(crate) fn replay(core: &mut Core, record: &Record<'_>) -> Result<()> {
    for entry in Entries::new(record.payload) {
        let entry = entry.map_err(|error| Error::decode(record.path, record.offset, error))?;
        // A stream that was dropped later has left its entries behind.
        let Ok(slot) = core.slot_of(entry.stream) else { continue };
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
    let direct = state.version.runs.iter().any(|run| last < run.meta.seq_min && run.meta.seq_max < seq);
    if direct {
        core.seal(slot);
    }
}

fn apply(core: &mut Core, slot: Slot, record: &Record<'_>, entry: &EntryRef<'_>) -> Result<()> {
    let base = record.offset + entry.body_offset as u64;
    let corrupt = |error: Error| {
        let message = format!("a WAL entry can't be read back: {error}");
        Error::corruption(record.path, base, message).caused_by(error)
    };
    let state = &mut core.streams[slot];
    let stream = Arc::clone(&state.stream);
    match entry.kind {
        EntryKind::Rows => {
            let active = &mut state.active;
            row::decode_rows(&stream, entry.body, |cells| active.append_row(record.seq, cells))
                .map_err(|error| Error::decode(record.path, base, error))
        }
        EntryKind::Batch => {
            let body = record.payload.slice_ref(entry.body);
            let prepared = batch::decode(&stream, &body)
                .and_then(|batch| PreparedBatch::stored(&stream, batch))
                .map_err(corrupt)?;
            state.active.insert(record.seq, prepared);
            Ok(())
        }
        EntryKind::DeleteRange => {
            let range = timestrata_format::wal::decode_range(entry.body)
                .map_err(|error| Error::decode(record.path, base, error))?;
            check_range(&stream, &range, entry.stream).map_err(corrupt)?;
            state.active.delete_range(Tombstone { range, seq: record.seq });
            Ok(())
        }
    }
}

fn check_range(
    stream: &Stream,
    range: &timestrata_format::KeyRange,
    _id: StreamId,
) -> Result<()> {
    [range.lo, range.hi].into_iter().flatten().try_for_each(|key| stream.check_key(key))
}
