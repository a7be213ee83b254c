//! WAL records back to memtables.
//!
//! A log is mostly small commits to a few streams, so what is worked out for a stream is kept
//! until another stream's turn comes.

use timestrata_format::wal::{Entries, EntryKind, EntryRef};
use timestrata_format::{SeqNo, StreamId, Tombstone};

use crate::memtable::PreparedBatch;
use crate::planted::{Plant, is_planted};
use crate::state::{Slot, StoreState, StreamState};
use crate::wal::{WalRecord, decode_batch, decode_range};
use crate::{Error, Result};

/// Applies commits to the memtables, one after the other.
pub(crate) struct Replay<'a> {
    core: &'a mut StoreState,
    /// The stream of the last entry.
    current: Option<CurrentStream>,
}

#[derive(Debug, Clone, Copy)]
struct CurrentStream {
    stream: StreamId,
    slot: Slot,
    /// The last commit of which the manifest has a run or a range delete.
    manifest_seq: SeqNo,
}

impl<'a> Replay<'a> {
    pub(crate) fn new(core: &'a mut StoreState) -> Self {
        Self { core, current: None }
    }

    /// Whether the commit before this one is neither among those applied so far nor, as far as is
    /// known, in runs.
    #[inline]
    pub(crate) fn lacks_commit_before(&self, seq: SeqNo) -> bool {
        seq > self.core.last_seq.next()
    }

    /// Applies one commit. Streams whose runs already hold it are passed over.
    pub(crate) fn apply(&mut self, record: &WalRecord<'_>) -> Result<()> {
        self.apply_unless(record, |_, _| false)
    }

    /// As [`Replay::apply`], without the changes to streams of which `is_passed` says so.
    pub(crate) fn apply_unless(
        &mut self,
        record: &WalRecord<'_>,
        mut is_passed: impl FnMut(StreamId, SeqNo) -> bool,
    ) -> Result<()> {
        for entry in Entries::new(record.payload) {
            let entry =
                entry.map_err(|error| Error::decode(record.path, record.payload_offset, error))?;
            if is_passed(entry.stream, record.seq) {
                continue;
            }
            let Some(current) = self.current(&entry, record)? else { continue };
            let state = &self.core.streams[current.slot];
            if record.seq <= state.flushed_through || entry.kind == EntryKind::Rewritten {
                continue;
            }
            if must_seal(state, current, record.seq) {
                self.core.seal(current.slot);
            }
            apply(&mut self.core.streams[current.slot], record, &entry)?;
            if is_planted(Plant::HalfReplayed) {
                break;
            }
        }
        self.core.last_seq = self.core.last_seq.max(record.seq);
        Ok(())
    }

    /// The stream of an entry; `None` if it was dropped later.
    #[inline]
    fn current(
        &mut self,
        entry: &EntryRef<'_>,
        record: &WalRecord<'_>,
    ) -> Result<Option<CurrentStream>> {
        match self.current {
            Some(current) if current.stream == entry.stream => Ok(Some(current)),
            _ => self.find(entry.stream, record),
        }
    }

    fn find(&mut self, stream: StreamId, record: &WalRecord<'_>) -> Result<Option<CurrentStream>> {
        let Ok(slot) = self.core.slot_of(stream) else {
            if stream < self.core.next_stream {
                // A stream that was dropped later has left its entries behind.
                return Ok(None);
            }
            // Streams are made durable before anything is committed to them.
            let message = format!("a commit to stream {stream}, which the manifest doesn't know");
            return Err(Error::corruption(record.path, record.payload_offset, message));
        };
        // Nobody can look while this holds the core, so one notice does for all that follows.
        self.core.touch(slot);
        let manifest_seq = in_manifest(&self.core.streams[slot]).unwrap_or_default();
        self.current = Some(CurrentStream { stream, slot, manifest_seq });
        Ok(self.current)
    }

    /// Ends the replay: what is committed from now on comes after all that the manifest holds.
    pub(crate) fn finish(self) {
        let split: Vec<Slot> = self
            .core
            .live()
            .filter(|(_, state)| {
                let last = state.active.seq_max();
                last.is_some_and(|last| in_manifest(state).is_some_and(|seq| last < seq))
            })
            .map(|(slot, _)| slot)
            .collect();
        for slot in split {
            self.core.seal(slot);
        }
    }
}

/// A commit that went straight to runs split the memtable of its time in two; so must recovery,
/// or a memtable would hold commits from both sides of a run or of a range delete.
#[inline]
fn must_seal(state: &StreamState, current: CurrentStream, seq: SeqNo) -> bool {
    let Some(last) = state.active.seq_max() else { return false };
    last < current.manifest_seq && state.version.splits(last, seq)
}

/// The last of the first commits of the stream's runs and of its range deletes.
fn in_manifest(state: &StreamState) -> Option<SeqNo> {
    let last_run = state.version.runs.last().map(|run| run.meta.seq_min);
    last_run.max(state.version.tombstones.newest())
}

fn apply(state: &mut StreamState, record: &WalRecord<'_>, entry: &EntryRef<'_>) -> Result<()> {
    let base = record.payload_offset + entry.body_offset as u64;
    let corrupt = |error: &dyn std::fmt::Display| {
        let message = format!("a WAL entry can't be read back: {error}");
        Error::corruption(record.path, base, message)
    };
    let StreamState { stream, active, row_layout, key_layout, .. } = state;
    let has_none = |what: &str| {
        let message = format!("{what} of a stream that has none");
        Error::corruption(record.path, base, message)
    };
    let has_rows = !matches!(entry.kind, EntryKind::DeleteRange | EntryKind::Rewritten);
    if has_rows && entry.schema_version != stream.schema_version() {
        let message = format!(
            "rows of version {} of their stream's columns, which has version {}",
            entry.schema_version,
            stream.schema_version()
        );
        return Err(Error::corruption(record.path, base, message));
    }
    match entry.kind {
        EntryKind::Rows => {
            let layout = row_layout.as_deref().ok_or_else(|| has_none("single rows"))?;
            layout
                .decode(entry.body, |cells| active.append_row(record.seq, cells))
                .map_err(|error| corrupt(&error))
        }
        EntryKind::DeleteKeys => {
            let layout = key_layout.as_deref().ok_or_else(|| has_none("keys to delete"))?;
            layout
                .decode(entry.body, |keys| active.delete_key(record.seq, keys))
                .map_err(|error| corrupt(&error))
        }
        EntryKind::Batch => {
            let batch = decode_batch(&record.share(entry.body), stream.stored_schema())
                .map_err(|error| Error::decode(record.path, base, error))?;
            let prepared = PreparedBatch::stored(stream, batch).map_err(|error| corrupt(&error))?;
            active.insert(record.seq, prepared);
            Ok(())
        }
        EntryKind::Rewritten => Ok(()),
        EntryKind::DeleteRange => {
            let range = decode_range(entry.body)
                .map_err(|error| Error::decode(record.path, base, error))?;
            stream.check_range(&range).map_err(|error| corrupt(&error))?;
            active.delete_range(Tombstone { range, seq: record.seq });
            Ok(())
        }
    }
}
