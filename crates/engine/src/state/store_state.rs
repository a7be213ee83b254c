//! What the commit lock guards: every stream's memtables and version, and the next commit's
//! place in the order.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::{Arc, Weak};

use timestrata_format::{RunId, SeqNo, StreamId};
use timestrata_io::sync::{Mutex, RwLock};

use super::pins::PinState;
use super::provisional::Maker;
use super::version::{RunHandle, Version};
use super::viewing::ToMerge;
use crate::key_changes::{KeyChanges, UnchangedKey};
use crate::memtable::{Memtable, MemtableView};
use crate::scan::{ReadingThreads, Source, StreamView};
use crate::snapshot::Snapshot;
use crate::tombstones::Tombstones;
use crate::wal::RowLayout;
use crate::{Cell, Error, ErrorKind, Result, Stream};

/// Place of a stream in [`StoreState::streams`]; stays the same while the store is open.
pub(crate) type Slot = usize;

/// One stream's state.
#[derive(Debug)]
pub(crate) struct StreamState {
    pub(crate) stream: Arc<Stream>,
    /// Takes writes.
    pub(crate) active: Memtable,
    /// Wait for their flush, oldest first. Each holds an interval of commits, and no run of
    /// the stream has commits on both sides of one.
    pub(crate) sealed: VecDeque<Arc<MemtableView>>,
    pub(crate) version: Arc<Version>,
    /// Commits of the log up to this are in runs: what a replay passes over. There may be later
    /// ones in runs too; [`StoreState::settled_through`] knows.
    pub(crate) flushed_through: SeqNo,
    pub(crate) dropped: bool,
    /// The version of which neither compaction nor retention has made anything, and will not before
    /// there is another. Held weakly, so that it keeps no file that has become obsolete.
    pub(crate) idle: Weak<Version>,
    /// What of [`StoreState::memory_bytes`] is this stream's.
    counted_bytes: u64,
    /// How single rows are written to the WAL; `None` where a column has a type without cells.
    pub(crate) row_layout: Option<Arc<RowLayout>>,
    /// How keys to delete are; `None` also where every row is kept.
    pub(crate) key_layout: Option<Arc<RowLayout>>,
    /// No later commit has changed the stream; one that has is not later than this.
    last_change: SeqNo,
    /// The keys that commits change, once somebody has asked about one.
    pub(crate) key_changes: Option<Box<KeyChanges>>,
    /// Never taken by the engine: see [`crate::Store::model_lock`].
    pub(crate) model_lock: Arc<RwLock<u64>>,
    /// Held by the one reader that merges chunks of the active memtable without the commit lock.
    merging: Arc<Mutex<()>>,
    /// Those of the store, once it has the stream.
    threads: Arc<ReadingThreads>,
    view: Option<Arc<StreamView>>,
}

impl StreamState {
    /// # Errors
    /// `InvalidData` if the stream's key can't be ordered.
    pub(crate) fn new(
        stream: Arc<Stream>,
        version: Version,
        flushed_through: SeqNo,
    ) -> Result<Self> {
        Ok(Self {
            active: Memtable::new(Arc::clone(&stream))?,
            row_layout: RowLayout::of(stream.schema()).ok().map(Arc::new),
            key_layout: RowLayout::of_keys(&stream).ok().map(Arc::new),
            stream,
            sealed: VecDeque::new(),
            version: Arc::new(version),
            flushed_through,
            dropped: false,
            idle: Weak::new(),
            counted_bytes: 0,
            last_change: SeqNo::default(),
            key_changes: None,
            model_lock: Arc::default(),
            merging: Arc::default(),
            threads: Arc::default(),
            view: None,
        })
    }

    /// Forgets the cached view; called after every change.
    pub(crate) fn touch(&mut self) {
        self.view = None;
    }

    /// An error unless a key is what it was.
    ///
    /// # Errors
    /// `Conflict` if it has changed, or that is not known; `InvalidArgument` for a key that cells can't express.
    fn check_unchanged(&mut self, key: &UnchangedKey) -> Result<()> {
        if key.stream.time_unit_ns() != self.stream.time_unit_ns() {
            return Err(self.stream.has_been_altered());
        }
        let changes = match &mut self.key_changes {
            Some(changes) => changes,
            none => none.insert(Box::new(KeyChanges::new(&self.stream, self.last_change)?)),
        };
        changes.check(key)
    }

    /// Notes a row that a commit adds.
    #[inline]
    pub(crate) fn note_row(&mut self, seq: SeqNo, cells: &[Cell<'_>]) {
        if let Some(changes) = &mut self.key_changes {
            changes.note_row(&self.stream, seq, cells);
        }
    }

    /// Moves the active memtable, if it holds anything, to those that wait for a flush.
    pub(crate) fn seal(&mut self) -> bool {
        if self.active.is_empty() {
            return false;
        }
        self.sealed.push_back(self.active.view());
        self.active.clear();
        self.touch();
        true
    }

    /// Commit of the oldest change that is only in memory.
    pub(crate) fn unflushed_min(&self) -> Option<SeqNo> {
        self.unflushed_min_behind(0)
    }

    /// The same without so many of the oldest memtables, which are about to be in runs.
    fn unflushed_min_behind(&self, flushed: usize) -> Option<SeqNo> {
        let oldest = self.sealed.get(flushed);
        oldest.map(|sealed| sealed.first_seq()).or_else(|| self.active.seq_min())
    }

    /// Bytes in memory, flushes under way included.
    pub(crate) fn memory_bytes(&self) -> u64 {
        let sealed: usize = self.sealed.iter().map(|sealed| sealed.bytes).sum();
        (self.active.bytes() + sealed) as u64
    }

    /// Range deletes that are not done with: those of a key count once.
    pub(crate) fn tombstones(&self) -> u64 {
        let sealed: usize = self.sealed.iter().map(|sealed| sealed.tombstones.len()).sum();
        (self.version.tombstones.len() + sealed + self.active.tombstones()) as u64
    }

    fn has_large_merge(&mut self) -> bool {
        let is_looked_at = self.dropped || self.view.is_some() || self.active.is_empty();
        !is_looked_at && self.active.next_large_merge().is_some()
    }

    /// The stream as of now.
    pub(crate) fn view(&mut self) -> Arc<StreamView> {
        if let Some(view) = &self.view {
            return Arc::clone(view);
        }
        let active = (!self.active.is_empty()).then(|| self.active.view());
        let memtables: Vec<&Arc<MemtableView>> = self.sealed.iter().chain(&active).collect();
        let view = Arc::new(StreamView {
            stream: Arc::clone(&self.stream),
            sources: ordered_sources(&self.version, &memtables),
            tombstones: all_tombstones(&self.version, &memtables),
            threads: Arc::clone(&self.threads),
        });
        self.view = Some(Arc::clone(&view));
        view
    }
}

/// Runs and memtables, oldest first. A run may be newer than a memtable that waits for its
/// flush, where a large commit went straight to a run.
fn ordered_sources(version: &Version, memtables: &[&Arc<MemtableView>]) -> Vec<Arc<dyn Source>> {
    let of_memtables: usize = memtables.iter().map(|memtable| memtable.sources.len()).sum();
    let mut sources: Vec<Arc<dyn Source>> = Vec::with_capacity(version.runs.len() + of_memtables);
    let mut runs = version.runs.iter().peekable();
    for memtable in memtables {
        while let Some(run) = runs.next_if(|run| run.meta.seq_min < memtable.first_seq()) {
            sources.push(Arc::clone(run) as Arc<dyn Source>);
        }
        sources.extend(memtable.sources.iter().cloned());
    }
    sources.extend(runs.map(|run| Arc::clone(run) as Arc<dyn Source>));
    sources
}

fn all_tombstones(version: &Version, memtables: &[&Arc<MemtableView>]) -> Tombstones {
    let of_memtables = memtables.iter().map(|memtable| &memtable.tombstones);
    Tombstones::union(std::iter::once(&version.tombstones).chain(of_memtables))
}

/// Everything that the commit lock guards.
#[derive(Debug, Default)]
pub(crate) struct StoreState {
    pub(crate) streams: Vec<StreamState>,
    by_name: HashMap<String, Slot>,
    by_id: hashbrown::HashMap<StreamId, Slot>,
    /// Slots of streams that were dropped.
    free: Vec<Slot>,
    /// The last commit made.
    pub(crate) last_seq: SeqNo,
    /// Bytes in all memtables, flushes under way included.
    pub(crate) memory_bytes: u64,
    pub(crate) pins: BTreeMap<String, PinState>,
    /// Streams below this have been made, by the manifest that this was loaded from.
    pub(crate) next_stream: StreamId,
    /// Streams that are being made for one commit, and who makes them.
    pub(crate) provisional: hashbrown::HashMap<StreamId, Maker>,
    /// A stream is getting other columns: commits wait.
    pub(crate) is_altering: bool,
    /// What scans read ahead with.
    pub(crate) threads: Arc<ReadingThreads>,
    snapshot: Option<Snapshot>,
}

impl StoreState {
    /// Adds a stream, in the slot of one that was dropped if there is one.
    pub(crate) fn add_stream(&mut self, mut state: StreamState) -> Slot {
        state.threads = Arc::clone(&self.threads);
        state.last_change = self.last_seq;
        let slot = self.free.pop().unwrap_or(self.streams.len());
        self.by_name.insert(state.stream.name().to_owned(), slot);
        self.by_id.insert(state.stream.id(), slot);
        match self.streams.get_mut(slot) {
            Some(dropped) => *dropped = state,
            None => self.streams.push(state),
        }
        self.snapshot = None;
        slot
    }

    /// The stream that had a slot, if it still has: another may have got it since.
    pub(crate) fn at(&self, slot: Slot, stream: StreamId) -> Option<&StreamState> {
        self.streams.get(slot).filter(|state| !state.dropped && state.stream.id() == stream)
    }

    /// The same, to be changed.
    pub(crate) fn at_mut(&mut self, slot: Slot, stream: StreamId) -> Option<&mut StreamState> {
        self.streams.get_mut(slot).filter(|state| !state.dropped && state.stream.id() == stream)
    }

    /// A stream of which a view would have to merge much first, of some or of all.
    pub(crate) fn merge_due(&mut self, of: Option<&[StreamId]>) -> Option<ToMerge> {
        if self.snapshot.is_some() {
            return None;
        }
        let mut slots = 0..self.streams.len();
        let mut of_slot = |slot: Slot| {
            let state = self.streams.get_mut(slot)?;
            state.has_large_merge().then(|| ToMerge {
                slot,
                stream: state.stream.id(),
                merging: Arc::clone(&state.merging),
            })
        };
        match of {
            None => slots.find_map(of_slot),
            Some(streams) => {
                let by_id = &self.by_id;
                streams
                    .iter()
                    .filter_map(|stream| by_id.get(stream))
                    .find_map(|slot| of_slot(*slot))
            }
        }
    }

    /// Gives a stream another definition over the same rows.
    pub(crate) fn redefine_stream(&mut self, slot: Slot, stream: Arc<Stream>) {
        let state = &mut self.streams[slot];
        self.by_name.remove(state.stream.name());
        self.by_name.insert(stream.name().to_owned(), slot);
        state.stream = stream;
        state.idle = Weak::new();
        self.touch(slot);
    }

    /// Gives a stream another state; gives the old one back, to be dropped without the lock.
    pub(crate) fn replace_stream(&mut self, slot: Slot, mut state: StreamState) -> StreamState {
        state.counted_bytes = self.streams[slot].counted_bytes;
        state.threads = Arc::clone(&self.threads);
        let before = std::mem::replace(&mut self.streams[slot], state);
        self.touch(slot);
        self.count(slot);
        before
    }

    /// Takes a stream out. Its slot stays, empty, until another stream gets it: who still holds its
    /// number asks by [`StoreState::at`].
    pub(crate) fn remove_stream(&mut self, slot: Slot) {
        let Some(state) = self.streams.get_mut(slot).filter(|state| !state.dropped) else { return };
        self.by_name.remove(state.stream.name());
        self.by_id.remove(&state.stream.id());
        self.provisional.remove(&state.stream.id());
        state.active.clear();
        state.sealed.clear();
        state.version = Arc::default();
        state.idle = Weak::new();
        state.touch();
        state.dropped = true;
        self.snapshot = None;
        self.count(slot);
        self.free.push(slot);
    }

    pub(crate) fn slot_of_name(&self, name: &str) -> Option<Slot> {
        self.by_name.get(name).copied()
    }

    pub(crate) fn slot_of(&self, stream: StreamId) -> Result<Slot> {
        self.by_id.get(&stream).copied().ok_or_else(|| no_stream(stream))
    }

    /// The streams that exist, with their slots.
    pub(crate) fn live(&self) -> impl Iterator<Item = (Slot, &StreamState)> {
        self.streams.iter().enumerate().filter(|(_, state)| !state.dropped)
    }

    /// Every run of every stream.
    pub(crate) fn run_handles(&self) -> HashMap<RunId, Arc<RunHandle>> {
        let runs = self.live().flat_map(|(_, state)| state.version.runs.iter());
        runs.map(|run| (run.meta.id, Arc::clone(run))).collect()
    }

    /// Notes that a stream changed.
    pub(crate) fn touch(&mut self, slot: Slot) {
        self.streams[slot].touch();
        self.streams[slot].last_change = self.last_seq;
        self.snapshot = None;
    }

    /// An error unless a key of a stream of the store is what it was.
    ///
    /// # Errors
    /// As [`StreamState::check_unchanged`]; `InvalidArgument` for a commit that has not been made yet.
    pub(crate) fn check_unchanged(&mut self, key: &UnchangedKey) -> Result<()> {
        let slot = self.slot_of(key.stream.id())?;
        key.check_is_past(self.last_seq)?;
        self.streams[slot].check_unchanged(key)
    }

    /// What is there by now may have been changed by any commit so far.
    pub(crate) fn end_recovery(&mut self) {
        let last_seq = self.last_seq;
        self.streams.iter_mut().for_each(|state| state.last_change = last_seq);
    }

    /// The whole store as of now.
    pub(crate) fn snapshot(&mut self) -> Snapshot {
        if let Some(snapshot) = &self.snapshot {
            return snapshot.clone();
        }
        let live = self.streams.iter_mut().filter(|state| !state.dropped);
        let views = live.map(|state| (state.stream.id(), state.view())).collect();
        let snapshot = Snapshot::new(self.last_seq, views);
        self.snapshot = Some(snapshot.clone());
        snapshot
    }

    /// Streams that stay as they are now.
    pub(crate) fn frozen(&mut self) -> Result<Self> {
        let mut frozen = Self {
            last_seq: self.last_seq,
            next_stream: self.next_stream,
            threads: Arc::clone(&self.threads),
            ..Self::default()
        };
        for state in self.streams.iter_mut().filter(|state| !state.dropped) {
            let mut then = StreamState::new(
                Arc::clone(&state.stream),
                Version::default(),
                state.flushed_through,
            )?;
            then.version = Arc::clone(&state.version);
            then.sealed = state.sealed.clone();
            if !state.active.is_empty() {
                then.sealed.push_back(state.active.view());
            }
            frozen.add_stream(then);
        }
        frozen.end_recovery();
        frozen.recount();
        Ok(frozen)
    }

    /// How far a stream's commits are all in runs, those of others left aside. Runs that are newer
    /// than that are newer than a memtable that waits for its flush.
    pub(crate) fn settled_through(&self, state: &StreamState) -> SeqNo {
        match state.unflushed_min() {
            Some(oldest) => SeqNo(oldest.0.saturating_sub(1)),
            None => self.last_seq,
        }
    }

    /// Seals the active memtable of a stream.
    pub(crate) fn seal(&mut self, slot: Slot) -> bool {
        let sealed = self.streams[slot].seal();
        if sealed {
            self.snapshot = None;
            self.count(slot);
        }
        sealed
    }

    /// Seals all memtables.
    pub(crate) fn seal_all(&mut self) {
        for slot in 0..self.streams.len() {
            self.seal(slot);
        }
    }

    /// Notes that a stream takes more memory.
    #[inline]
    pub(crate) fn grow(&mut self, slot: Slot, bytes: u64) {
        self.memory_bytes += bytes;
        self.streams[slot].counted_bytes += bytes;
    }

    /// Counts the memory of a stream anew: sealing, merging chunks and range deletes change what a
    /// memtable takes.
    pub(crate) fn count(&mut self, slot: Slot) {
        let state = &mut self.streams[slot];
        let bytes = state.memory_bytes();
        let counted = std::mem::replace(&mut state.counted_bytes, bytes);
        self.memory_bytes = self.memory_bytes.saturating_sub(counted).saturating_add(bytes);
    }

    /// Counts the memory of all streams anew.
    pub(crate) fn recount(&mut self) {
        (0..self.streams.len()).for_each(|slot| self.count(slot));
    }

    /// The first commit that the log is still needed for once so many of the oldest memtables of some
    /// streams are in runs.
    ///
    /// Whoever lets go of log does so by this number, which must have been read under one
    /// lock: what is committed afterwards comes behind it, and is kept whatever happens beside.
    pub(crate) fn log_needed_from(&self, flushed: &BTreeMap<Slot, usize>) -> SeqNo {
        let unflushed = self.live().filter_map(|(slot, state)| {
            state.unflushed_min_behind(flushed.get(&slot).copied().unwrap_or(0))
        });
        unflushed.min().unwrap_or_else(|| self.last_seq.next())
    }
}

/// The error for a stream id that the store doesn't hold.
pub(crate) fn no_stream(stream: StreamId) -> Error {
    Error::new(ErrorKind::NotFound, format!("there is no stream with id {stream}"))
}
