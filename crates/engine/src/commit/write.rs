//! The write path: prepare outside the lock, log and apply under it, sync outside.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use arrow_array::cast::AsArray;
use timestrata_format::wal::EntryKind;
use timestrata_format::{SeqNo, StreamId, Tombstone};
use timestrata_io::sync::MutexGuard;

use crate::changes::Change;
use crate::encoded_rows::EncodedRows;
use crate::key_changes::{KeyChanges, UnchangedKey};
use crate::memtable::PreparedBatch;
use crate::planted::{self, Plant, is_planted};
use crate::state::{Engine, Slot, StoreState, Work};
use crate::wal::{PayloadBuilder, RowLayout, Wal, encode_batch};
use crate::{BusyPolicy, Changes, Durability, Error, ErrorKind, Result, Stream};

/// Of less the disk is done as soon as it has begun.
const SENT_ON_BYTES_MIN: u64 = 32 << 10;

/// What an entry of the log takes beside its body, padding included, about.
const ENTRY_BYTES: usize = 32;

/// Range deletes that a memtable takes.
const TOMBSTONES_MAX: usize = 16 << 10;

/// A change that has been checked and ordered, ready to be applied.
#[derive(Debug, Clone)]
pub(crate) enum Prepared {
    Rows {
        stream: Arc<Stream>,
        batch: PreparedBatch,
    },
    Encoded(EncodedRows),
    DeleteRange {
        stream: Arc<Stream>,
        tombstone: Tombstone,
    },
    /// Nothing, if a key is what it was.
    Unchanged(UnchangedKey),
    /// Nothing: a note for those who follow.
    Rewritten(Arc<Stream>),
}

impl Prepared {
    fn bytes(&self) -> u64 {
        match self {
            Self::Rows { batch, .. } => batch.bytes() as u64,
            Self::Encoded(rows) => rows.body().len() as u64,
            Self::DeleteRange { .. } => size_of::<Tombstone>() as u64,
            Self::Unchanged(_) | Self::Rewritten(_) => 0,
        }
    }

    /// Whether it only takes rows away.
    fn deletes(&self) -> bool {
        match self {
            Self::DeleteRange { .. } | Self::Unchanged(_) | Self::Rewritten(_) => true,
            Self::Encoded(rows) => rows.kind() == EntryKind::DeleteKeys,
            Self::Rows { stream, batch } => {
                let marks = batch.batch().columns().last().and_then(|last| last.as_boolean_opt());
                stream.is_latest() && marks.is_some_and(|marks| marks.false_count() == 0)
            }
        }
    }
}

impl Engine {
    /// Commits a group of changes.
    pub(crate) fn commit(&self, changes: Changes, durability: Durability) -> Result<SeqNo> {
        let prepared = self.prepare(changes)?;
        self.commit_prepared(prepared, durability)
    }

    /// Commits a group of changes, for a caller who syncs them at once if they are to be synced.
    pub(crate) fn commit_leaving_sync(
        &self,
        changes: Changes,
        durability: Durability,
    ) -> Result<SeqNo> {
        let prepared = self.prepare(changes)?;
        let bytes: u64 = prepared.iter().map(Prepared::bytes).sum();
        let (seq, flush_due) = self.place(prepared, durability == Durability::Synced)?;
        self.send_on(bytes, durability);
        self.after_commit(seq, durability.without_sync(), flush_due)?;
        Ok(seq)
    }

    /// Has a large commit on its way to the disk while the caller, who syncs it next, still has something to do, such as to
    /// hash it.
    pub(crate) fn send_on(&self, bytes: u64, durability: Durability) {
        if durability == Durability::Synced
            && bytes >= SENT_ON_BYTES_MIN
            && let Some(wal) = &self.wal
        {
            wal.start_writing_back();
        }
    }

    fn prepare(&self, changes: Changes) -> Result<Vec<Prepared>> {
        self.check_writable()?;
        let mut prepared = Vec::with_capacity(changes.list.len());
        for change in changes.list {
            prepared.extend(self.prepare_change(change)?);
        }
        Ok(prepared)
    }

    /// Commits changes that are ready.
    pub(super) fn commit_prepared(
        &self,
        prepared: Vec<Prepared>,
        durability: Durability,
    ) -> Result<SeqNo> {
        let (seq, flush_due) = self.place(prepared, durability == Durability::Synced)?;
        self.after_commit(seq, durability, flush_due)?;
        Ok(seq)
    }

    /// Gives changes their place in the order of commits; and whether a flush is due. `to_sync`: the
    /// caller will sync them.
    fn place(&self, mut prepared: Vec<Prepared>, to_sync: bool) -> Result<(SeqNo, bool)> {
        // A range delete hides earlier commits only, so within this one it goes first; the
        // sort is stable, and so keeps the order of all others.
        prepared.sort_by_key(|change| !matches!(change, Prepared::DeleteRange { .. }));
        if prepared.iter().all(|change| matches!(change, Prepared::Unchanged(_))) {
            let mut core = self.core.lock();
            check_unchanged(&mut core, &prepared)?;
            return Ok((core.last_seq, false));
        }
        let bytes: u64 = prepared.iter().map(Prepared::bytes).sum();
        if bytes >= self.direct_bytes_min() {
            return Ok((self.commit_direct(prepared)?, false));
        }
        let record = match self.wal.as_ref().map(|wal| encode(wal, &prepared)).transpose() {
            // Of many small changes the log's record is larger than the rows are.
            Err(error) if error.kind() == ErrorKind::TooLarge => {
                return Ok((self.commit_direct(prepared)?, false));
            }
            record => record?,
        };
        let mut core = self.lock_with_room(bytes)?;
        let slots = resolve(&core, &prepared)?;
        check_unchanged(&mut core, &prepared)?;
        let seq = core.last_seq.next();
        if let (Some(wal), Some(record)) = (&self.wal, &record) {
            let (payload, crc) = record;
            let appended = payload.with_parts(|parts| wal.append(seq, parts, Some(*crc), to_sync));
            if let Err(error) = appended {
                let error = self.refused_by_log(&mut core, seq, error);
                // Of a log that has failed the error is told: the commit may be found all the same.
                let is_refused = error.kind() == ErrorKind::NoSpace && !self.poison.is_set();
                if !is_refused || !prepared.iter().all(Prepared::deletes) {
                    return Err(error);
                }
                drop(core);
                // To delete must be possible where the disk is full: past the log, with the reserve.
                return Ok((
                    self.reserve.with_room(|| self.commit_direct(prepared.clone()))?,
                    false,
                ));
            }
        }
        core.last_seq = seq;
        planted::placed(seq);
        for (change, slot) in prepared.into_iter().zip(&slots) {
            apply(&mut core, *slot, change, seq);
        }
        // Only now: the flush of a memtable with a part of a commit would say that the
        // log isn't needed for the rest.
        let mut flush_due = false;
        for slot in slots {
            flush_due |= self.seal_if_full(&mut core, slot);
        }
        flush_due |= self.seal_for_wal(&mut core);
        Ok((seq, flush_due))
    }

    /// A batch at least this large goes straight to a run: through the WAL it would be
    /// written twice, and could exceed a segment.
    pub(crate) fn direct_bytes_min(&self) -> u64 {
        let fits_segment = match self.wal {
            Some(_) => self.settings.wal_segment_bytes / 2,
            None => u64::MAX,
        };
        self.settings.memtable_bytes_max.min(fits_segment)
    }

    /// Syncs if asked to, and sees to a flush that the commit made due.
    pub(crate) fn after_commit(
        &self,
        seq: SeqNo,
        durability: Durability,
        flush_due: bool,
    ) -> Result<()> {
        self.committed.announce();
        if durability == Durability::Synced {
            self.sync_commit(seq)?;
        }
        if flush_due {
            if self.is_manual() {
                // The commit stands, whoever closed the store since: closing flushes too. So it does
                // where a run can't be written: the next flush that is due tries again.
                let flushed = self.flush_sealed();
                return flushed.or_else(|error| match self.poison.is_set() {
                    false => Ok(()),
                    true => Err(error),
                });
            }
            self.workers.wake();
        }
        Ok(())
    }

    /// Checks and orders a change; `None` if it changes nothing. Nothing is locked for long.
    pub(crate) fn prepare_change(&self, change: Change) -> Result<Option<Prepared>> {
        match change {
            Change::Insert { stream, batch } => {
                let (stream, layout) = self.stream_and_layout(stream)?;
                let is_empty = batch.num_rows() == 0;
                if is_empty && batch.num_columns() == stream.schema().fields().len() {
                    return Ok(None);
                }
                if let Some(rows) = EncodedRows::of_few(&stream, layout, &batch)? {
                    return Ok(Some(Prepared::Encoded(rows)));
                }
                let batch = PreparedBatch::insert(&stream, batch)?;
                Ok(Some(Prepared::Rows { stream, batch }))
            }
            Change::DeleteKeys { stream, keys } => {
                let stream = self.stream_by_id(stream)?;
                let batch = PreparedBatch::delete_keys(&stream, keys)?;
                Ok((batch.rows() > 0 && !is_planted(Plant::KeptKeys))
                    .then_some(Prepared::Rows { stream, batch }))
            }
            Change::Encoded(rows) => self.prepare_rows(rows),
            Change::Unchanged(key) => {
                let stream = self.stream_by_id(key.stream.id())?;
                key.check_is_of(&stream)?;
                Ok(Some(Prepared::Unchanged(key)))
            }
            Change::Rewritten { stream } => {
                Ok(Some(Prepared::Rewritten(self.stream_by_id(stream)?)))
            }
            Change::DeleteRange { stream, range } => {
                let stream = self.stream_by_id(stream)?;
                stream.check_range(&range)?;
                let tombstone = Tombstone { range, seq: SeqNo::default() };
                Ok((!range.is_empty()).then_some(Prepared::DeleteRange { stream, tombstone }))
            }
        }
    }

    /// Checks that rows were encoded for a stream of this store as it is now; makes a batch of many.
    fn prepare_rows(&self, rows: EncodedRows) -> Result<Option<Prepared>> {
        let stream = self.stream_by_id(rows.stream().id())?;
        rows.check_is_of(&stream)?;
        if rows.kind() == EntryKind::DeleteKeys && is_planted(Plant::KeptKeys) {
            return Ok(None);
        }
        Ok(Some(match rows.are_many() {
            true => Prepared::Rows { batch: rows.to_batch()?, stream },
            false => Prepared::Encoded(rows),
        }))
    }

    /// A stream of this store by id.
    pub(crate) fn stream_by_id(&self, id: StreamId) -> Result<Arc<Stream>> {
        let core = self.core.lock();
        Ok(Arc::clone(&core.streams[core.slot_of(id)?].stream))
    }

    /// The same, with how its single rows are written if they can be.
    fn stream_and_layout(&self, id: StreamId) -> Result<(Arc<Stream>, Option<Arc<RowLayout>>)> {
        let core = self.core.lock();
        let state = &core.streams[core.slot_of(id)?];
        Ok((Arc::clone(&state.stream), state.row_layout.clone()))
    }

    /// The commit lock, once there is room for `bytes` more in memory.
    pub(crate) fn lock_with_room(&self, bytes: u64) -> Result<MutexGuard<'_, StoreState>> {
        let (mut stalled, mut is_counted) = (None, false);
        loop {
            let mut core = self.core.lock();
            self.check_writable()?;
            if core.is_altering {
                self.room.wait(&mut core);
                continue;
            }
            let bound = self.settings.memory_bytes_max;
            if core.memory_bytes == 0 || core.memory_bytes.saturating_add(bytes) <= bound {
                if stalled.is_none() {
                    return Ok(core);
                }
                // Who listens may write to this store: so without the lock, and then once more.
                drop(core);
                self.tell_stall(bytes, stalled.take());
                continue;
            }
            if !std::mem::replace(&mut is_counted, true) {
                self.counters.stalls.fetch_add(1, Ordering::Relaxed);
            }
            stalled = stalled.or_else(|| self.began(is_stall_heard()));
            if core.live().all(|(_, state)| state.sealed.is_empty()) {
                let largest = core.live().max_by_key(|(_, state)| state.active.bytes());
                if let Some(slot) = largest.map(|(slot, _)| slot) {
                    core.seal(slot);
                }
            }
            self.workers.wake();
            match (self.settings.busy_policy, self.is_manual()) {
                (BusyPolicy::Raise, _) => {
                    // Where no flush can be made, to try again doesn't help.
                    let full = self.troubles.error(Work::Flush);
                    let full = full.filter(|error| error.kind() == ErrorKind::NoSpace);
                    return Err(full.unwrap_or_else(|| self.busy(&core, bytes)));
                }
                (BusyPolicy::Block, false) => match self.troubles.error(Work::Flush) {
                    // Who knows when there is room again.
                    Some(error) => return Err(error),
                    None => self.room.wait(&mut core),
                },
                (BusyPolicy::Block, true) | (BusyPolicy::Flush, _) => {
                    drop(core);
                    self.flush_sealed()?;
                }
            }
        }
    }

    /// Tells of a commit that had to wait for memory.
    fn tell_stall(&self, bytes: u64, began: Option<u64>) {
        tracing::warn!(
            target: "timestrata::stall",
            bytes,
            memory_bytes_max = self.settings.memory_bytes_max,
            ms = self.ms_since(began),
            "a commit has waited for memory: flushes have fallen behind"
        );
    }

    fn busy(&self, core: &StoreState, bytes: u64) -> Error {
        Error::new(
            ErrorKind::Busy,
            format!(
                "flushes have fallen behind: {} bytes in memory, {bytes} more would exceed \
                 memory_bytes_max ({}); nothing of this commit was kept",
                core.memory_bytes, self.settings.memory_bytes_max
            ),
        )
    }

    /// Seals a memtable that has reached its bound: of bytes, of rows, or of range deletes, which a reader
    /// of what is older has to look through and which a flush makes fewer.
    pub(crate) fn seal_if_full(&self, core: &mut StoreState, slot: Slot) -> bool {
        let active = &core.streams[slot].active;
        let is_full = active.bytes() as u64 >= self.settings.memtable_bytes_max
            || active.tombstones() >= TOMBSTONES_MAX
            || self.settings.memtable_rows_max.is_some_and(|rows| active.rows() >= rows);
        is_full && core.seal(slot)
    }

    /// Seals the memtable that keeps the most WAL, when there is too much of it. True if a flush is due.
    ///
    /// Not while the stream has others that wait for their flush: it is these that keep the log, and
    /// each commit until they are flushed would make a run of its own of what came since.
    pub(crate) fn seal_for_wal(&self, core: &mut StoreState) -> bool {
        let Some(wal) = &self.wal else { return false };
        if wal.needs_spare() {
            self.workers.wake();
        }
        if wal.bytes() < self.settings.wal_bytes_max {
            return false;
        }
        match Self::oldest_unflushed(core) {
            Some(slot) => !core.streams[slot].sealed.is_empty() || core.seal(slot),
            None => false,
        }
    }

    /// As [`Engine::doubt_unless_refused`]. Where the log had no room, what holds most of
    /// it is flushed, as soon as there is room for that.
    pub(crate) fn refused_by_log(&self, core: &mut StoreState, seq: SeqNo, error: Error) -> Error {
        let error = self.doubt_unless_refused(seq, error);
        if error.kind() == ErrorKind::NoSpace
            && let Some(slot) = Self::oldest_unflushed(core)
        {
            core.seal(slot);
            self.workers.wake();
        }
        error
    }

    /// As [`Engine::fail_unless_refused`], of the commit `seq`: where its write failed, all of it may have
    /// been written.
    pub(crate) fn doubt_unless_refused(&self, seq: SeqNo, error: Error) -> Error {
        if self.wal.as_ref().is_some_and(|wal| wal.has_failed()) {
            planted::placed(seq);
        }
        self.fail_unless_refused(error)
    }
}

fn is_stall_heard() -> bool {
    tracing::enabled!(target: "timestrata::stall", tracing::Level::WARN)
}

/// The slots of the changes' streams; an error if one has been dropped, or has got other columns,
/// since.
fn resolve(core: &StoreState, prepared: &[Prepared]) -> Result<Vec<Slot>> {
    let slot = |change: &Prepared| match change {
        Prepared::Rows { stream, .. } => slot_for_rows(core, stream),
        Prepared::Encoded(rows) => slot_for_rows(core, rows.stream()),
        Prepared::DeleteRange { stream, .. } => slot_for_range(core, stream),
        Prepared::Rewritten(stream) => core.slot_of(stream.id()),
        Prepared::Unchanged(key) => core.slot_of(key.stream.id()),
    };
    let mut slots = Vec::with_capacity(prepared.len());
    for change in prepared {
        slots.push(slot(change)?);
    }
    Ok(slots)
}

/// An error unless all keys are what they were that have to be.
fn check_unchanged(core: &mut StoreState, prepared: &[Prepared]) -> Result<()> {
    for change in prepared {
        let Prepared::Unchanged(key) = change else { continue };
        core.check_unchanged(key)?;
    }
    Ok(())
}

/// The slot of a stream that still has the columns it is known with.
pub(super) fn slot_for_rows(core: &StoreState, stream: &Stream) -> Result<Slot> {
    let slot = core.slot_of(stream.id())?;
    match core.streams[slot].stream.schema_version() == stream.schema_version() {
        true => Ok(slot),
        false => Err(stream.has_been_altered()),
    }
}

/// The slot of a stream whose times still have the unit in which a range of them is told.
pub(super) fn slot_for_range(core: &StoreState, stream: &Stream) -> Result<Slot> {
    let slot = core.slot_of(stream.id())?;
    match core.streams[slot].stream.time_unit_ns() == stream.time_unit_ns() {
        true => Ok(slot),
        false => Err(stream.has_been_altered()),
    }
}

/// Applies a change that has its place in the order. Can't fail: everything was checked.
pub(crate) fn apply(core: &mut StoreState, slot: Slot, change: Prepared, seq: SeqNo) {
    if matches!(change, Prepared::Unchanged(_) | Prepared::Rewritten(_)) {
        return;
    }
    core.touch(slot);
    let state = &mut core.streams[slot];
    if let Some(changes) = &mut state.key_changes {
        note(changes, &change, seq);
    }
    let active = &mut state.active;
    let before = active.bytes();
    match change {
        Prepared::Unchanged(_) | Prepared::Rewritten(_) => {}
        Prepared::Rows { batch, .. } => active.insert(seq, batch),
        Prepared::Encoded(rows) => rows.apply(seq, active),
        Prepared::DeleteRange { tombstone, .. } => {
            active.delete_range(Tombstone { seq, ..tombstone });
            // It takes rows out of the memtable too: a window that rolls would seem to grow for ever.
            return core.count(slot);
        }
    }
    let grown = active.bytes().saturating_sub(before);
    core.grow(slot, grown as u64);
}

/// Notes the keys that a change is to.
fn note(changes: &mut KeyChanges, change: &Prepared, seq: SeqNo) {
    match change {
        Prepared::Rows { stream, batch } => changes.note_batch(stream, seq, batch.batch()),
        Prepared::Encoded(rows) => rows.note(seq, changes),
        Prepared::DeleteRange { tombstone, .. } => changes.note_range(seq, tombstone.range),
        Prepared::Unchanged(_) | Prepared::Rewritten(_) => {}
    }
}

/// The WAL record of a commit, and its checksum, which is better summed up before the commit
/// lock is taken.
fn encode(wal: &Wal, prepared: &[Prepared]) -> Result<(PayloadBuilder, u32)> {
    let short = |change: &Prepared| match change {
        Prepared::Encoded(rows) => rows.body().len(),
        _ => 0,
    };
    let bytes: usize = prepared.iter().map(|change| short(change) + ENTRY_BYTES).sum();
    let mut payload = PayloadBuilder::with_capacity(bytes);
    for change in prepared {
        match change {
            Prepared::Rows { stream, batch } => {
                payload.batch(stream, encode_batch(batch.batch())?)?
            }
            Prepared::Encoded(rows) => payload.rows(rows.kind(), rows.stream(), rows.body())?,
            Prepared::DeleteRange { stream, tombstone } => {
                payload.delete_range(stream, &tombstone.range)?
            }
            Prepared::Rewritten(stream) => payload.rows(EntryKind::Rewritten, stream, &[])?,
            Prepared::Unchanged(_) => {}
        }
    }
    wal.check_size(payload.bytes())?;
    let crc = payload.crc();
    Ok((payload, crc))
}
