//! The handle of a log: creating, opening and removing one.

use std::sync::Arc;

use timestrata_engine::{Result, RowAppender, Snapshot, Store, Stream, StreamId};
use timestrata_io::sync::Mutex;
use timestrata_values::name;

use super::hub::{Hub, SharedLog};
use super::layout::RowMemory;
use super::options::is_logs;
use super::{Clock, LogsOptions, LogsView};

/// A log of an open store. Cheap to clone; clones are the same log, and may be used from several
/// threads.
///
/// Writes have [`Durability::Written`](timestrata_engine::Durability::Written) unless they say otherwise.
///
/// ```
/// use timestrata_engine::{Settings, Store};
/// use timestrata_logs::{Logs, LogsOptions, NewEntry, Query};
///
/// # fn main() -> timestrata_engine::Result<()> {
/// # let store = Store::memory(Settings::default())?;
/// let app = Logs::create(&store, "app", &LogsOptions::default())?;
/// app.write(&NewEntry::new("started"))?;
/// app.write(&NewEntry::new("disk is full"))?;
/// assert_eq!(app.count(&Query::of("disk")?)?, 1);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Logs {
    pub(super) store: Store,
    pub(super) stream: Arc<Stream>,
    pub(super) message_bytes_max: usize,
    pub(super) columns_max: usize,
    pub(super) shared: Arc<SharedLog>,
    /// It holds the store, so it is the handle's, and not in what the store holds.
    pub(super) writer: Arc<Mutex<RowWriter>>,
}

/// The path of single entries: made at the first write, since a read-only store has none.
#[derive(Debug, Default)]
pub(super) struct RowWriter {
    pub(super) appender: Option<RowAppender>,
    pub(super) memory: RowMemory,
}

impl Logs {
    /// Opens a log that exists.
    ///
    /// # Errors
    /// `NotFound` if the store has no log of that name, `InvalidArgument` if the name is another
    /// kind of stream's or can't be a log's.
    pub fn open(store: &Store, name: &str) -> Result<Self> {
        Self::of_stream(store, name::stream(store, "log", name)?)
    }

    /// Creates a log, or opens the one that exists with the same options.
    ///
    /// # Errors
    /// `AlreadyExists` if it exists with others, `InvalidArgument` for a name or options that can't
    /// be, `ReadOnly` if it would have to be made in a store opened for reading.
    pub fn create(store: &Store, name: &str, options: &LogsOptions) -> Result<Self> {
        name::check("log", name)?;
        let spec = options.spec(name)?;
        // Two that create it at once: the second opens what the first has made.
        if store.stream(name).is_none()
            && let Err(error) = store.create_stream(spec)
            && store.stream(name).is_none()
        {
            return Err(error);
        }
        let stream = store.expect_stream(name)?;
        let found = LogsOptions::of(&stream)?;
        let asked = LogsOptions {
            retention: found.retention,
            compression: found.compression,
            clock: found.clock,
            ..options.clone()
        };
        name::expect_same("log", name, &found, &asked)?;
        name::acknowledge_existing(store, name)?;
        if let Some(retention) = options.retention
            && Some(retention) != found.retention
        {
            store.set_retention(stream.id(), retention)?;
        }
        let changes = (options.clock.is_some_and(|wanted| Some(wanted) != found.clock))
            || options.compression.is_some_and(|wanted| Some(wanted) != found.compression);
        if changes {
            set_properties(store, stream.id(), options)?;
        }
        Self::of_stream(store, store.expect_stream(name)?)
    }

    /// Removes a log and its entries, durably. Snapshots that see it go on seeing it.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn drop(store: &Store, name: &str) -> Result<()> {
        Self::open(store, name)?.remove()
    }

    /// Removes this log, and never one that was made later under its name.
    ///
    /// # Errors
    /// `NotFound` if it was removed before.
    pub fn remove(&self) -> Result<()> {
        let hub = self.store.model_state::<Hub>();
        let _removing = hub.changing.lock();
        name::still_there(&self.store, "log", self.name(), self.stream_id())?;
        self.store.drop_stream(self.name())?;
        hub.forget(self.stream_id());
        Ok(())
    }

    /// Names of all logs of a store, in order.
    #[must_use]
    pub fn names(store: &Store) -> Vec<String> {
        name::all(store, is_logs)
    }

    fn of_stream(store: &Store, stream: Arc<Stream>) -> Result<Self> {
        let options = LogsOptions::of(&stream)?;
        let shared = store.model_state::<Hub>().shared(store, &stream)?;
        Ok(Self {
            store: store.clone(),
            stream,
            message_bytes_max: options.message_bytes_max,
            columns_max: options.columns_max,
            shared,
            writer: Arc::default(),
        })
    }

    /// The log's name.
    pub fn name(&self) -> &str {
        self.stream.name()
    }

    /// The store it is in.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// The stream that keeps it.
    pub fn stream_id(&self) -> StreamId {
        self.stream.id()
    }

    /// Longest message and longest fields that it takes, in bytes.
    pub fn message_bytes_max(&self) -> usize {
        self.message_bytes_max
    }

    /// What it was made with, and its retention as it is now.
    ///
    /// # Errors
    /// `NotFound` if it was removed.
    pub fn options(&self) -> Result<LogsOptions> {
        LogsOptions::of(self.store.stream_of(self.stream_id())?.as_ref())
    }

    /// The fields that have columns of their own now, in the columns' order.
    pub fn columns(&self) -> Result<Vec<String>> {
        Ok(self.snapshot()?.layout().promoted.iter().map(|known| known.name.clone()).collect())
    }

    /// Sets the clock that queries go by which name none, durably.
    ///
    /// ```
    /// # use timestrata_engine::{Settings, Store};
    /// use timestrata_logs::{Clock, Logs, LogsOptions};
    ///
    /// # fn main() -> timestrata_engine::Result<()> {
    /// # let store = Store::memory(Settings::default())?;
    /// let app = Logs::create(&store, "app", &LogsOptions::default())?;
    /// app.set_clock(Clock::SourceTime)?;
    /// assert_eq!(app.snapshot()?.clock(), Clock::SourceTime);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// `NotFound` if the log was removed.
    pub fn set_clock(&self, clock: Clock) -> Result<()> {
        let options = LogsOptions { clock: Some(clock), ..LogsOptions::default() };
        set_properties(&self.store, self.stream_id(), &options)
    }

    /// The log as it is now, frozen.
    pub fn snapshot(&self) -> Result<LogsView> {
        self.view_of(self.store.snapshot_of(self.stream_id())?)
    }

    /// The log as a snapshot of its store sees it: with other models at one instant, or at a pin.
    ///
    /// # Errors
    /// `NotFound` if the snapshot doesn't have it.
    pub fn view_of(&self, snapshot: Snapshot) -> Result<LogsView> {
        LogsView::new(snapshot, self.stream_id())
    }

    /// Writes the whole store's memory to runs.
    pub fn flush(&self) -> Result<()> {
        self.store.flush()
    }

    /// Compacts this log until nothing is left to do; applies its retention.
    pub fn compact(&self) -> Result<()> {
        self.store.compact(Some(self.stream_id()))
    }
}

/// Changes the properties of a log that options say something of.
fn set_properties(store: &Store, stream: StreamId, options: &LogsOptions) -> Result<()> {
    let hub = store.model_state::<Hub>();
    // Who changes another one meanwhile would write back what this one was.
    let _changing = hub.changing.lock();
    let properties = store.stream_of(stream)?.spec().properties.clone();
    store.alter_stream_properties(stream, options.in_properties(properties))?;
    Ok(())
}
