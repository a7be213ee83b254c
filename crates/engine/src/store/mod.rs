//! The store: open, commit, read, maintain, close.

mod appender;
mod backup;
mod bulk;
mod close;
mod handle;
mod open;
mod stats;
#[cfg(test)]
mod tests;

use std::any::{Any, TypeId};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use arrow_schema::SchemaRef;
use timestrata_format::manifest::Retention;
use timestrata_format::{SeqNo, StoreId, StreamId};
use timestrata_io::Io;
use timestrata_io::sync::RwLock;

pub use self::appender::RowAppender;
pub use self::bulk::BulkCommit;
use self::handle::Handle;
use self::open::Opening;
pub use self::stats::{StoreStats, StreamStats};
use crate::catalog::no_stream_named;
use crate::directory::{self, QuarantinedFile};
use crate::recovery;
use crate::state::{Engine, PinInfo, RecoveryReport};
use crate::{
    Changes, CheckReport, Durability, Maintenance, QueryInfo, Result, RunningQuery, Settings,
    Snapshot, Stream, StreamSpec,
};

/// How a store is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Access {
    /// For reading and writing; created if missing.
    #[default]
    Write,
    /// For reading and writing; it must exist.
    WriteExisting,
    /// For reading: no lock, no write permission needed; sees the writer's commits as of
    /// the open and of each [`Store::refresh`].
    Read,
}

/// An open store. Cheap to clone; all clones are the same store, which closes when the last
/// one is dropped.
#[derive(Debug, Clone)]
pub struct Store {
    handle: Arc<Handle>,
}

impl Store {
    /// Opens the store in `dir` on the real disk with [`Access::Write`].
    ///
    /// # Errors
    /// As [`Store::open_with`].
    pub fn open(dir: impl AsRef<Path>, settings: Settings) -> Result<Self> {
        Self::open_with(Io::os(), dir.as_ref(), Access::Write, settings)
    }

    /// A store in memory, through the same code; nothing outlives it.
    pub fn memory(settings: Settings) -> Result<Self> {
        let dir = PathBuf::from("memory");
        let access = Access::Write;
        Self::start(Opening { io: Io::memory(), dir, access, settings, memory_only: true })
    }

    /// Opens the store in `dir` of `io`'s disk.
    ///
    /// # Errors
    /// `NotFound` where it must exist and doesn't, `NotAStore` for a directory that holds
    /// something else, `Locked` if another writer has it open, `UnsupportedVersion` for a
    /// store of a newer format, `Corruption` for damage that recovery can't explain (no byte
    /// is changed then), `Io` and `NoSpace` from the disk, `InvalidArgument` for settings that
    /// don't go together.
    pub fn open_with(io: Io, dir: &Path, access: Access, settings: Settings) -> Result<Self> {
        Self::start(Opening { io, dir: dir.to_owned(), access, settings, memory_only: false })
    }

    fn start(opening: Opening) -> Result<Self> {
        Ok(Self { handle: Arc::new(Handle { engine: opening.open()? }) })
    }

    pub(crate) fn engine(&self) -> &Engine {
        &self.handle.engine
    }

    /// What opening found.
    pub fn recovery_report(&self) -> &RecoveryReport {
        &self.engine().report
    }

    /// The store's identity.
    pub fn id(&self) -> StoreId {
        self.engine().store_id
    }

    /// Run files that an open for writing has set aside, because no version of the store names
    /// them; the oldest first. [`Settings::quarantine_bytes_max`] and
    /// [`Settings::quarantine_age_max`] say how long they stay.
    pub fn quarantine(&self) -> Result<Vec<QuarantinedFile>> {
        directory::list_quarantine(&*self.engine().io.disk, &self.engine().dir)
    }

    /// Where it is; `None` in memory.
    pub fn path(&self) -> Option<&Path> {
        self.engine().path.as_deref()
    }

    /// Whether it was opened for reading only.
    pub fn is_read_only(&self) -> bool {
        self.engine().manifest.is_none()
    }

    /// Creates a stream, durably. Creating one that exists with the same spec gives that one.
    ///
    /// # Errors
    /// `InvalidArgument` for a spec that makes no sense, `AlreadyExists` for a name that is
    /// taken by another spec.
    pub fn create_stream(&self, spec: StreamSpec) -> Result<StreamId> {
        let ids = self.create_streams(&[spec])?;
        // One is given for each that is asked for.
        Ok(ids.into_iter().next().unwrap_or_default())
    }

    /// Creates many streams, durably, all of them or none: with one sync. Gives their ids, in the order
    /// asked for; for those that exist with the same spec the ids they have.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use arrow_schema::{DataType, Field, Schema};
    /// # use timestrata_engine::{Settings, Store, StreamSpec};
    /// # fn main() -> timestrata_engine::Result<()> {
    /// # let store = Store::memory(Settings::default())?;
    /// let schema = Arc::new(Schema::new(vec![Field::new("time", DataType::Int64, false)]));
    /// let spec = |room: &str| StreamSpec::new(room, schema.clone());
    /// let ids = store.create_streams(&[spec("kitchen"), spec("hall")])?;
    /// assert_eq!(store.stream_of(ids[1])?.name(), "hall");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`Store::create_stream`]: none was made.
    pub fn create_streams(&self, specs: &[StreamSpec]) -> Result<Vec<StreamId>> {
        self.engine().telling(self.engine().create_streams(specs))
    }

    /// A stream by name.
    pub fn stream(&self, name: &str) -> Option<Arc<Stream>> {
        self.engine().stream_by_name(name)
    }

    /// A stream by its id, with the name and the columns that it has now.
    ///
    /// # Errors
    /// `NotFound`.
    pub fn stream_of(&self, id: StreamId) -> Result<Arc<Stream>> {
        self.engine().stream_by_id(id)
    }

    /// All streams, by name.
    pub fn streams(&self) -> Vec<Arc<Stream>> {
        let core = self.engine().core.lock();
        let mut streams: Vec<_> = core.live().map(|(_, state)| Arc::clone(&state.stream)).collect();
        streams.sort_by(|a, b| a.name().cmp(b.name()));
        streams
    }

    /// Removes a stream and its rows, durably. Snapshots that see it go on seeing it.
    pub fn drop_stream(&self, name: &str) -> Result<()> {
        self.drop_streams(&[name])
    }

    /// Removes many streams and their rows, durably, all of them or none: with one sync.
    ///
    /// # Errors
    /// `NotFound` if one of them isn't there, `InvalidArgument` if a pin keeps one: none was removed.
    pub fn drop_streams(&self, names: &[&str]) -> Result<()> {
        self.engine().telling(self.engine().drop_streams(names))
    }

    /// Changes a stream's retention, durably.
    pub fn set_retention(&self, stream: StreamId, retention: Retention) -> Result<()> {
        self.engine().telling(self.engine().set_retention(stream, retention))
    }

    /// Gives a stream other columns, durably: new nullable ones behind those it has, and wider
    /// types for those that are not part of its key (smaller to larger numbers, any integer to
    /// `Float64`, numbers, booleans and times to `Utf8`); columns may become nullable. Rows there
    /// are read as rows of the new columns, null where they have no value; no file is rewritten.
    /// Snapshots go on seeing what they saw. What the store has in memory of the stream is
    /// flushed first, and commits wait meanwhile.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use arrow_schema::{DataType, Field, Schema};
    /// # use timestrata_engine::{Settings, Store, StreamSpec};
    /// # fn main() -> timestrata_engine::Result<()> {
    /// # let store = Store::memory(Settings::default())?;
    /// let time = Field::new("time", DataType::Int64, false);
    /// let schema = Arc::new(Schema::new(vec![time.clone()]));
    /// let id = store.create_stream(StreamSpec::new("kitchen", schema))?;
    /// let wider = Schema::new(vec![time, Field::new("celsius", DataType::Float64, true)]);
    /// let stream = store.alter_stream(id, Arc::new(wider))?;
    /// assert_eq!(stream.schema().fields().len(), 2);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// `InvalidArgument` if the rows there would not fit the new columns, or a type can't be
    /// stored; `NotFound`, and what a flush may fail with.
    pub fn alter_stream(&self, stream: StreamId, schema: SchemaRef) -> Result<Arc<Stream>> {
        self.engine().telling(self.engine().alter_stream(stream, schema))
    }

    /// Gives a stream another name, durably. Its id stays, and so do its rows, and what was got
    /// by its id; snapshots made before know it by the old name.
    ///
    /// # Errors
    /// `AlreadyExists` for a name that another stream has, `InvalidArgument` for one that no stream
    /// may have, `NotFound`.
    pub fn rename_stream(&self, stream: StreamId, name: &str) -> Result<Arc<Stream>> {
        self.engine().telling(self.engine().rename_stream(stream, name))
    }

    /// Gives a stream other [`StreamSpec::properties`], durably, in place of all it had.
    ///
    /// # Errors
    /// `InvalidArgument` where one of the engine's own makes no sense, `NotFound`.
    pub fn alter_stream_properties(
        &self,
        stream: StreamId,
        properties: Vec<(String, String)>,
    ) -> Result<Arc<Stream>> {
        self.engine().telling(self.engine().alter_stream_properties(stream, properties))
    }

    /// A lock for the model on top that reads a stream before it writes to it. The engine never
    /// takes it. All clones of an open store give the same one for a stream, whatever is changed
    /// of the stream. The number in it is the model's own too, 0 at first, and goes when the store is
    /// closed. Take it before anything else is asked of the store; where several are needed,
    /// in the order of the streams' ids.
    ///
    /// # Errors
    /// `NotFound`.
    pub fn model_lock(&self, stream: StreamId) -> Result<Arc<RwLock<u64>>> {
        let core = self.engine().core.lock();
        let slot = core.slot_of(stream)?;
        Ok(Arc::clone(&core.streams[slot].model_lock))
    }

    /// What a model on top keeps in memory for this open store: one of each type, made when first
    /// asked for, the same for all clones, gone when the store is closed. It must be such that a crash
    /// loses nothing, and may not hold the store itself.
    pub fn model_state<T: Any + Send + Sync + Default>(&self) -> Arc<T> {
        let mut states = self.engine().model_states.lock();
        let state =
            Arc::clone(states.entry(TypeId::of::<T>()).or_insert_with(|| Arc::<T>::default()));
        drop(states);
        // Under its own type, so this never fails.
        state.downcast().unwrap_or_default()
    }

    /// Whether it has threads of its own: not if it is read only, or its maintenance is by hand.
    pub fn has_threads(&self) -> bool {
        !self.is_read_only() && self.engine().settings.maintenance != Maintenance::Manual
    }

    /// Has `work` done every so often by a thread of the store's own, until it is closed: for models
    /// that have something to do in the background. A failure is told by the next call that meets the
    /// same trouble. Does nothing in a store that is read only, or whose maintenance is by hand.
    ///
    /// # Errors
    /// `Io` if there can be no more threads.
    pub fn every(
        &self,
        name: &str,
        interval: Duration,
        work: impl Fn(&Self) -> Result<()> + Send + 'static,
    ) -> Result<()> {
        if !self.has_threads() {
            return Ok(());
        }
        let engine = self.engine();
        let handle = Arc::downgrade(&self.handle);
        engine.workers.repeat(name, interval, move || {
            let Some(handle) = handle.upgrade() else { return false };
            let _ = work(&Self { handle });
            true
        })
    }

    /// The wall clock that the store goes by, in nanoseconds since the epoch.
    pub fn wall_ns(&self) -> i64 {
        self.engine().io.clock.wall_ns()
    }

    /// A clock that only goes forward, in nanoseconds since some moment.
    pub fn monotonic_ns(&self) -> u64 {
        self.engine().io.clock.monotonic_ns()
    }

    /// Begins a query: it is on the list of [`Store::queries`] until nobody works for it any more. It may
    /// be worked on for `time_max`.
    pub fn begin_query(&self, text: &str, time_max: Option<Duration>) -> RunningQuery {
        let engine = self.engine();
        engine.queries.begin(&engine.io.clock, text, time_max, None)
    }

    /// The same for somebody who may give it up: `is_wanted` is asked every 50 ms or so, by whichever
    /// thread works for it then, and by whoever waits for its answer with [`RunningQuery::listen`].
    pub fn begin_query_for(
        &self,
        text: &str,
        time_max: Option<Duration>,
        is_wanted: impl Fn() -> bool + Send + Sync + 'static,
    ) -> RunningQuery {
        let engine = self.engine();
        engine.queries.begin(&engine.io.clock, text, time_max, Some(Box::new(is_wanted)))
    }

    /// All queries of this process that are worked on, the oldest first.
    pub fn queries(&self) -> Vec<QueryInfo> {
        self.engine().queries.list()
    }

    /// Cancels a query: what works for it stops soon, and whoever asked gets `Cancelled`. `false`: there
    /// is none of that number.
    pub fn cancel_query(&self, id: u64) -> bool {
        self.engine().queries.cancel(id)
    }

    /// The failure since which the store takes no writes, if there was one.
    pub fn failure(&self) -> Option<String> {
        self.engine().poison.cause()
    }

    /// Commits a group of changes: all of them or none. Gives the commit's place in the order.
    ///
    /// A commit larger than [`Settings::memtable_bytes_max`], or than half a WAL segment,
    /// goes straight to runs; it is `Synced` whatever was asked for.
    ///
    /// # Errors
    /// `NotFound`, `InvalidData`, `InvalidArgument`, `TooLarge`, `Busy`: nothing was written.
    /// `NoSpace`, `Io`, `Poisoned`: nothing was written either, unless the store
    /// [is poisoned](Store::is_poisoned): then the commit is in doubt, and reopening tells.
    pub fn commit(&self, changes: Changes, durability: Durability) -> Result<SeqNo> {
        self.engine().telling(self.engine().commit(changes, durability))
    }

    /// As [`Store::commit`] with [`Durability::Written`], for a caller who lets go of a lock of its own
    /// and then calls [`Store::sync_through`] at once: it is written in the way that makes that cheap.
    ///
    /// # Errors
    /// As [`Store::commit`].
    pub fn commit_to_sync(&self, changes: Changes) -> Result<SeqNo> {
        self.engine().telling(self.engine().commit_to_sync(changes))
    }

    /// What to answer a write with that finds nothing to change, or what it asks for done already: it
    /// is an acknowledgement like that of a commit, and so every commit up to now, whoever made it,
    /// survives what `durability` says. Gives the last of them.
    ///
    /// # Errors
    /// `ReadOnly`, `Poisoned`, `Closed`; what a sync may fail with.
    pub fn acknowledge(&self, durability: Durability) -> Result<SeqNo> {
        self.engine().check_writable()?;
        let last_seq = self.engine().core.lock().last_seq;
        match durability {
            Durability::Synced => self.engine().telling(self.engine().sync_through(last_seq)),
            Durability::Buffered | Durability::Written => Ok(last_seq),
        }
    }

    /// Begins one commit of as many rows as the caller likes, in bounded memory.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use arrow_array::{Int64Array, RecordBatch};
    /// # use arrow_schema::{DataType, Field, Schema};
    /// # use timestrata_engine::{KeyRange, Settings, Store, StreamSpec};
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let store = Store::memory(Settings::default())?;
    /// let schema = Arc::new(Schema::new(vec![Field::new("time", DataType::Int64, false)]));
    /// let id = store.create_stream(StreamSpec::new("kitchen", schema.clone()))?;
    /// let mut bulk = store.bulk()?;
    /// for hour in 0..24 {
    ///     let times = Int64Array::from_iter_values(hour * 3600..(hour + 1) * 3600);
    ///     let batch = RecordBatch::try_new(schema.clone(), vec![Arc::new(times)])?;
    ///     bulk.insert(id, batch)?;
    /// }
    /// bulk.commit()?;
    /// assert_eq!(store.snapshot()?.count(id, &KeyRange::ALL)?, 86_400);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// `ReadOnly`, `Poisoned`, `Closed`.
    pub fn bulk(&self) -> Result<BulkCommit> {
        BulkCommit::new(Arc::clone(&self.handle))
    }

    /// A row appender for one stream.
    pub fn appender(&self, stream: StreamId) -> Result<RowAppender> {
        self.engine().check_writable()?;
        let core = self.engine().core.lock();
        let slot = core.slot_of(stream)?;
        let stream = Arc::clone(&core.streams[slot].stream);
        RowAppender::new(Arc::clone(&self.handle), stream, slot)
    }

    /// A frozen view of all streams now.
    pub fn snapshot(&self) -> Result<Snapshot> {
        self.engine().check_open()?;
        Ok(self.engine().core_to_view(None).snapshot())
    }

    /// A frozen view of one stream now: cheaper than one of all.
    pub fn snapshot_of(&self, stream: StreamId) -> Result<Snapshot> {
        self.snapshot_of_streams(&[stream])
    }

    /// A frozen view of some streams at one instant: costs by how many they are, and not by how many
    /// the store has.
    ///
    /// # Errors
    /// `NotFound` if one of them isn't there.
    pub fn snapshot_of_streams(&self, streams: &[StreamId]) -> Result<Snapshot> {
        self.engine().check_open()?;
        let mut core = self.engine().core_to_view(Some(streams));
        let mut views = Vec::with_capacity(streams.len());
        for stream in streams {
            let slot = core.slot_of(*stream)?;
            views.push((*stream, core.streams[slot].view()));
        }
        let seq = core.last_seq;
        drop(core);
        Ok(Snapshot::new(seq, views))
    }

    /// Makes a named, durable snapshot of now. What is in memory is flushed first.
    ///
    /// # Errors
    /// `AlreadyExists` for a name that is taken.
    pub fn pin(&self, name: &str) -> Result<SeqNo> {
        self.engine().telling(self.engine().pin(name))
    }

    /// Removes a pin; files that only it kept are removed.
    pub fn unpin(&self, name: &str) -> Result<()> {
        self.engine().telling(self.engine().unpin(name))
    }

    /// All pins, by name.
    pub fn pins(&self) -> Vec<PinInfo> {
        self.engine().pins()
    }

    /// The view that a pin keeps.
    pub fn snapshot_at(&self, pin: &str) -> Result<Snapshot> {
        self.engine().check_open()?;
        self.engine().snapshot_at(pin)
    }

    /// Makes every commit so far survive a power cut. Gives the last one that does.
    pub fn sync(&self) -> Result<SeqNo> {
        self.engine().check_writable()?;
        let last_seq = self.engine().core.lock().last_seq;
        self.engine().telling(self.engine().sync_through(last_seq))
    }

    /// Makes this commit and all before it survive a power cut; whoever asks meanwhile shares the
    /// sync. Gives the last commit that does.
    pub fn sync_through(&self, seq: SeqNo) -> Result<SeqNo> {
        self.engine().check_writable()?;
        self.engine().telling(self.engine().sync_through(seq))
    }

    /// Writes all memtables to runs.
    pub fn flush(&self) -> Result<()> {
        self.engine().telling(self.engine().flush_all())
    }

    /// Compacts one stream, or all, until nothing is left to do; applies retention.
    pub fn compact(&self, stream: Option<StreamId>) -> Result<()> {
        let slot = match stream {
            Some(stream) => Some(self.engine().core.lock().slot_of(stream)?),
            None => None,
        };
        self.engine().telling(self.engine().compact_fully(slot))
    }

    /// Does one piece of due maintenance in this thread; false if there was none.
    pub fn maintain_step(&self) -> Result<bool> {
        let engine = self.engine();
        let outcome = engine.flush_step().and_then(|done| match done {
            true => Ok(true),
            false => engine.maintain_runs(),
        });
        engine.telling(outcome)
    }

    /// Reads about `bytes_max` bytes of runs against their checksums, from where the last call or the
    /// background has stopped; true if that ended a round over all runs. What it finds is in
    /// [`StoreStats::damaged`]. With [`Maintenance::Background`] threads do it, at
    /// [`Settings::scrub_bytes_per_second`].
    ///
    /// ```
    /// # use timestrata_engine::{Settings, Store};
    /// # fn main() -> timestrata_engine::Result<()> {
    /// # let store = Store::memory(Settings::default())?;
    /// while !store.scrub_step(64 << 20)? {}
    /// assert_eq!(store.stats().scrub.rounds, 1);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// `Io` from the disk, but for bytes that can't be read: those are damage. `Closed`.
    pub fn scrub_step(&self, bytes_max: u64) -> Result<bool> {
        self.engine().scrub_step(bytes_max)
    }

    /// Whether the store takes no more writes, because an earlier failure has left in doubt what is on
    /// disk; [`StoreStats::background_error`] names it. Reads go on; reopening recovers.
    pub fn is_poisoned(&self) -> bool {
        self.engine().poison.is_set()
    }

    /// Reads every byte of the store's files, as [`crate::check`] does.
    pub fn check(&self) -> Result<CheckReport> {
        self.engine().check_open()?;
        crate::check::check_store(&self.engine().io, &self.engine().dir)
    }

    /// Read-only stores: catches up with the writer. Gives the last commit seen. For a
    /// writer there is nothing to catch up with.
    pub fn refresh(&self) -> Result<SeqNo> {
        self.engine().check_open()?;
        match &self.engine().follower {
            Some(follower) => recovery::refresh(self.engine(), follower),
            None => Ok(self.engine().core.lock().last_seq),
        }
    }

    /// Figures.
    pub fn stats(&self) -> StoreStats {
        self.engine().stats()
    }

    /// Flushes, syncs and closes. Fine to call twice. Dropping the last clone closes as well,
    /// but can't report an error.
    pub fn close(&self) -> Result<()> {
        self.engine().close()
    }

    /// The stream of that name.
    ///
    /// # Errors
    /// `NotFound`.
    pub fn expect_stream(&self, name: &str) -> Result<Arc<Stream>> {
        self.stream(name).ok_or_else(|| no_stream_named(name))
    }
}
