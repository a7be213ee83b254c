//! The store: open, commit, read, maintain, close.

mod appender;
mod backup;
mod bulk;
mod close;
mod commit_part;
mod feed;
mod group_appender;
mod handle;
mod moment;
mod open;
mod provisional;
mod reading;
mod stats;
mod streams;
#[cfg(test)]
mod tests;
mod upkeep;
mod writing;

use std::any::{Any, TypeId};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use timestrata_format::{StoreId, StreamId};
use timestrata_io::Io;
use timestrata_io::sync::RwLock;

pub use self::appender::RowAppender;
pub use self::bulk::BulkCommit;
pub use self::commit_part::{CommitPart, LockRank};
pub use self::feed::ChangeFeed;
pub use self::group_appender::{GroupAppender, RowChange};
use self::handle::Handle;
pub use self::moment::{HistoryStats, Moment};
use self::open::Opening;
use self::provisional::Making;
pub use self::provisional::ProvisionalStreams;
pub use self::stats::{StoreStats, StreamStats};
use crate::state::{Engine, RecoveryReport};
use crate::{Maintenance, QueryInfo, Result, RunningQuery, Settings};

/// How a store is opened.
///
/// ```
/// # use timestrata_engine::*;
/// # fn main() -> std::result::Result<(), Box<dyn std::error::Error>> {
/// # let temporary = tempfile::tempdir()?;
/// # let dir = temporary.path().join("store");
/// let io = Io::os();
/// Store::open_with(io.clone(), &dir, Access::Write, Settings::default())?.close()?;
/// let reader = Store::open_with(io, &dir, Access::Read, Settings::default())?;
/// assert!(reader.is_read_only());
/// # Ok(())
/// # }
/// ```
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
///
/// ```
/// # use std::sync::Arc;
/// # use arrow_schema::{DataType, Field, Schema};
/// # use timestrata_engine::*;
/// # fn main() -> timestrata_engine::Result<()> {
/// let store = Store::memory(Settings::default())?; // or Store::open("readings", ...)
/// let columns = vec![
///     Field::new("time", DataType::Int64, false),
///     Field::new("celsius", DataType::Float64, true),
/// ];
/// let kitchen = store.create_stream(StreamSpec::new("kitchen", Arc::new(Schema::new(columns))))?;
/// let mut appender = store.appender(kitchen)?;
/// appender.append(&[Cell::Int(1_000), Cell::Float(20.5)], Durability::Written)?;
/// let snapshot = store.snapshot()?;
/// assert_eq!(snapshot.count(kitchen, &KeyRange::times(0, 5_000))?, 1);
/// store.close()?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Store {
    handle: Arc<Handle>,
    /// The streams that are made through this are for one commit.
    making: Option<Arc<Making>>,
}

impl Store {
    /// Opens the store in `dir` on the real disk with [`Access::Write`].
    ///
    /// ```
    /// # use timestrata_engine::*;
    /// # fn main() -> std::result::Result<(), Box<dyn std::error::Error>> {
    /// # let temporary = tempfile::tempdir()?;
    /// # let dir = temporary.path().join("store");
    /// let store = Store::open(&dir, Settings::default())?;
    /// assert!(store.recovery_report().created);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`Store::open_with`].
    pub fn open(dir: impl AsRef<Path>, settings: Settings) -> Result<Self> {
        Self::open_with(Io::os(), dir.as_ref(), Access::Write, settings)
    }

    /// A store in memory, through the same code; nothing outlives it.
    ///
    /// ```
    /// # use timestrata_engine::*;
    /// # fn main() -> timestrata_engine::Result<()> {
    /// let store = Store::memory(Settings::default())?;
    /// assert!(store.path().is_none());
    /// # Ok(())
    /// # }
    /// ```
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
        Ok(Self::of(opening.open()?))
    }

    fn of(engine: Arc<Engine>) -> Self {
        Self { handle: Arc::new(Handle { engine }), making: None }
    }

    pub(crate) fn engine(&self) -> &Engine {
        &self.handle.engine
    }

    /// What opening found.
    ///
    /// ```
    /// # use timestrata_engine::*;
    /// # fn main() -> std::result::Result<(), Box<dyn std::error::Error>> {
    /// # let temporary = tempfile::tempdir()?;
    /// # let dir = temporary.path().join("store");
    /// Store::open(&dir, Settings::default())?.close()?;
    /// let store = Store::open(&dir, Settings::default())?;
    /// assert!(store.recovery_report().clean && store.recovery_report().commits_replayed == 0);
    /// # Ok(())
    /// # }
    /// ```
    pub fn recovery_report(&self) -> &RecoveryReport {
        &self.engine().report
    }

    /// The store's identity. A backup has its store's.
    pub fn id(&self) -> StoreId {
        self.engine().store_id
    }

    /// Whether it is this open store, and not another one, such as a backup, or a reader of the same directory.
    ///
    /// ```
    /// # use timestrata_engine::{Settings, Store};
    /// # fn main() -> timestrata_engine::Result<()> {
    /// let store = Store::memory(Settings::default())?;
    /// assert!(store.is_same(&store.clone()));
    /// assert!(!store.is_same(&Store::memory(Settings::default())?));
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        std::ptr::eq(self.engine(), other.engine())
    }

    /// Where it is; `None` in memory.
    pub fn path(&self) -> Option<&Path> {
        self.engine().path.as_deref()
    }

    /// Whether it was opened for reading only.
    pub fn is_read_only(&self) -> bool {
        self.engine().manifest.is_none()
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
            let _ = work(&Self { handle, making: None });
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
}
