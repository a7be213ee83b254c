//! The handle of a topic: creating, opening and removing one, and its options.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use timestrata_engine::{
    BLOCK_ROWS_PROPERTY, COLD_BLOCK_ROWS_PROPERTY, Error, ErrorKind, Result, RowAppender,
    RunCompression, RunFormat, Store, Stream, StreamId, StreamSpec,
};
use timestrata_io::sync::{Mutex, RwLock};
use timestrata_values::name;

use super::epochs::Epochs;
use super::hub::Hub;
use super::options::{self, TopicOptions, TopicRetention};
use super::partition::{Partition, entries_name, records_name, tiles_name};
use super::partitioner::partition_of;
use super::record::{Record, record_schema};
use super::tiles;
use super::{entries, retain, state};

/// Records of a block: what is verified for the first read of one of them, and when a partition is
/// opened.
const BLOCK_ROWS: usize = 4_096;

/// The same of packed records: fewer, as a damaged byte makes all of a block unreadable. In blocks of 4,096 JSON
/// of 124 bytes takes 9 % less.
const PACKED_BLOCK_ROWS: usize = 1_024;

/// What a topic is now.
#[derive(Debug)]
struct Now {
    /// As the store has it, with other properties when these change.
    stream: Arc<Stream>,
    options: TopicOptions,
    partitions: Vec<Arc<Partition>>,
}

/// What all handles of a topic share.
#[derive(Debug)]
pub(super) struct SharedTopic {
    /// What tells this topic from another of the same name, made before or after it.
    pub(super) id: StreamId,
    pub(super) name: String,
    pub(super) created_ns: Option<i64>,
    now: RwLock<Now>,
    /// Whether the topic was removed, by this process.
    is_removed: AtomicBool,
    /// Whose turn it is among records without a key.
    turn: AtomicU32,
    /// One checkpoint after the other, so that the one stored last is the largest.
    pub(super) signing: Mutex<()>,
    /// Held while records are thrown away.
    pub(super) retaining: Mutex<()>,
    pub(super) epochs: Epochs,
}

/// A topic of an open store. Cheap to clone; clones are the same topic, and may be used from several
/// threads.
///
/// ```
/// use timestrata_engine::{Settings, Store};
/// use timestrata_topic::{Record, SendOptions, Topic, TopicOptions};
///
/// # fn main() -> timestrata_engine::Result<()> {
/// # let store = Store::memory(Settings::default())?;
/// let events = Topic::create(&store, "events", &TopicOptions::default())?;
/// let opened = Record { key: Some(b"door"), value: Some(b"opened"), ..Record::default() };
/// let receipt = events.send(&opened, &SendOptions::default())?;
/// assert_eq!((receipt.offset, events.offsets(0)?), (0, 0..1));
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Topic {
    pub(super) store: Store,
    pub(super) shared: Arc<SharedTopic>,
    /// By partition. They hold the store, so they are the handle's, and not in what the store holds.
    pub(super) appenders: Arc<Mutex<HashMap<u32, Arc<Mutex<RowAppender>>>>>,
}

impl Topic {
    /// Opens a topic that exists.
    ///
    /// # Errors
    /// `NotFound` if the store has no topic of that name, `InvalidArgument` if the name is another
    /// kind of stream's or can't be a topic's.
    pub fn open(store: &Store, name: &str) -> Result<Self> {
        Self::of_stream(store, &name::stream(store, "topic", name)?)
    }

    /// Creates a topic, or opens the one that exists with the same options.
    ///
    /// # Errors
    /// `AlreadyExists` if it exists with others, `InvalidArgument` for a name or options that can't
    /// be, `ReadOnly` if it would have to be made in a store opened for reading.
    pub fn create(store: &Store, name: &str, options: &TopicOptions) -> Result<Self> {
        name::check("topic", name)?;
        options.check(name)?;
        let hub = store.model_state::<Hub>();
        let _changing = hub.changing.lock();
        if let Some(stream) = store.stream(name) {
            TopicOptions::of(&stream)?.expect_same(name, options)?;
            name::acknowledge_existing(store, name)?;
            return Self::of_stream(store, &stream);
        }
        // What a crash left of one that was being removed has its records.
        drop_parts(store, name)?;
        let mut specs = parts(name, 0..options.partitions, options);
        specs.push(state::spec(name, options.properties(store.wall_ns())));
        store.create_streams(&specs)?;
        hub.announce();
        Self::of_stream(store, &store.expect_stream(name)?)
    }

    fn of_stream(store: &Store, stream: &Arc<Stream>) -> Result<Self> {
        let options = TopicOptions::of(stream)?;
        let hub = store.model_state::<Hub>();
        retain::begin(store, &hub)?;
        let mut topics = hub.topics.lock();
        let shared = match topics.get(&stream.id()) {
            Some(shared) => Arc::clone(shared),
            None => {
                let partitions = partitions(store, stream, 0..options.partitions)?;
                let now = Now { stream: Arc::clone(stream), options, partitions };
                let shared = Arc::new(SharedTopic {
                    id: stream.id(),
                    name: stream.name().to_owned(),
                    created_ns: options::created_ns(stream),
                    now: RwLock::new(now),
                    is_removed: AtomicBool::new(false),
                    turn: AtomicU32::new(0),
                    signing: Mutex::new(()),
                    retaining: Mutex::new(()),
                    epochs: Epochs::default(),
                });
                // Those of a commit that was not made are removed by nobody.
                topics.retain(|known, _| store.stream_of(*known).is_ok());
                topics.insert(stream.id(), Arc::clone(&shared));
                shared
            }
        };
        drop(topics);
        shared.take_over(store)?;
        Ok(Self { store: store.clone(), shared, appenders: Arc::default() })
    }

    /// The stream that has its name.
    #[must_use]
    pub fn stream_id(&self) -> StreamId {
        self.shared.id
    }

    /// The topic's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.shared.name
    }

    /// The store it is in.
    #[must_use]
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// What it was made as, with what has been changed since.
    #[must_use]
    pub fn options(&self) -> TopicOptions {
        // A topic that is gone, or broken, is as it was when it was last seen; whoever goes on to its
        // partitions is told.
        let _ = self.follow();
        self.shared.now.read().options
    }

    /// Takes over what another process has changed of the topic, where this one only reads.
    fn follow(&self) -> Result<()> {
        match self.store.is_read_only() {
            true => self.shared.take_over(&self.store),
            false if self.shared.is_removed.load(Ordering::Acquire) => Err(self.shared.removed()),
            false => Ok(()),
        }
    }

    /// Wall clock when it was made, nanoseconds since the epoch.
    #[must_use]
    pub fn created_ns(&self) -> Option<i64> {
        self.shared.created_ns
    }

    /// How many partitions it has.
    #[must_use]
    pub fn partitions(&self) -> u32 {
        self.options().partitions
    }

    /// A partition.
    ///
    /// # Errors
    /// `InvalidArgument` if there is none of that number, `NotFound` if the topic was removed.
    pub(super) fn partition(&self, number: u32) -> Result<Arc<Partition>> {
        self.follow()?;
        let now = self.shared.now.read();
        let found = usize::try_from(number).ok().and_then(|number| now.partitions.get(number));
        found.cloned().ok_or_else(|| {
            let message = format!(
                "topic '{}' has no partition {number}: it has {}, numbered from 0",
                self.name(),
                now.partitions.len()
            );
            Error::new(ErrorKind::InvalidArgument, message)
        })
    }

    /// What appends single rows to a partition.
    pub(super) fn appender(&self, partition: &Partition) -> Result<Arc<Mutex<RowAppender>>> {
        let mut appenders = self.appenders.lock();
        if let Some(appender) = appenders.get(&partition.number) {
            return Ok(Arc::clone(appender));
        }
        let appender = Arc::new(Mutex::new(self.store.appender(partition.records)?));
        appenders.insert(partition.number, Arc::clone(&appender));
        Ok(appender)
    }

    /// The partition that a record goes to.
    pub(super) fn partition_for(&self, record: &Record<'_>) -> u32 {
        let partitions = self.partitions();
        match record.key {
            Some(key) => partition_of(key, partitions),
            None => self.shared.turn.load(Ordering::Relaxed) % partitions.max(1),
        }
    }

    /// Records without a key go to the next partition from now on.
    pub(super) fn turn(&self) {
        self.shared.turn.fetch_add(1, Ordering::Relaxed);
    }

    /// Adds partitions, durably. Keys go to other partitions from then on.
    ///
    /// # Errors
    /// `InvalidArgument` for fewer partitions than there are, or more than can be.
    pub fn set_partitions(&self, partitions: u32) -> Result<()> {
        let hub = self.store.model_state::<Hub>();
        let _changing = hub.changing.lock();
        self.follow()?;
        let now = self.options();
        if partitions < now.partitions {
            let message = format!(
                "topic '{}' has {} partitions; {partitions} would be fewer, and records would go",
                self.name(),
                now.partitions
            );
            return Err(Error::new(ErrorKind::InvalidArgument, message));
        }
        let wanted = TopicOptions { partitions, ..now };
        wanted.check(self.name())?;
        self.store.create_streams(&parts(self.name(), now.partitions..partitions, &wanted))?;
        self.set_options(wanted)?;
        hub.announce();
        Ok(())
    }

    /// Changes what may be thrown away, durably.
    pub fn set_retention(&self, retention: TopicRetention) -> Result<()> {
        let hub = self.store.model_state::<Hub>();
        let _changing = hub.changing.lock();
        self.follow()?;
        self.set_options(TopicOptions { retention, ..self.options() })
    }

    fn set_options(&self, options: TopicOptions) -> Result<()> {
        let created_ns = self.shared.created_ns.unwrap_or_default();
        self.store.alter_stream_properties(self.shared.id, options.properties(created_ns))?;
        self.shared.take_over(&self.store)
    }

    /// Removes a topic and its records, durably; also one that lacks a part, and can't be opened.
    ///
    /// # Errors
    /// `NotFound` if the store has no topic of that name, `InvalidArgument` if the name is another kind of
    /// stream's or can't be a topic's.
    pub fn drop(store: &Store, name: &str) -> Result<()> {
        let hub = store.model_state::<Hub>();
        let _changing = hub.changing.lock();
        let stream = name::stream(store, "topic", name)?;
        TopicOptions::of(&stream)?;
        remove(store, &hub, &stream)
    }

    /// Removes this topic, and never one that was made later under its name.
    ///
    /// # Errors
    /// `NotFound` if it was removed before.
    pub fn remove(&self) -> Result<()> {
        let hub = self.store.model_state::<Hub>();
        let _changing = hub.changing.lock();
        let stream = self.store.stream_of(self.shared.id).map_err(|_| self.shared.removed())?;
        remove(&self.store, &hub, &stream)
    }

    /// Has `tell` called whenever records were appended to a topic of a store, or a topic or a member of a group came or
    /// went, for as long as the store is open: for who can't wait as [`Consumer::poll`](super::Consumer::poll) does. It
    /// is called by whoever brought that about, and must be done at once. Where the store is only read, nobody calls it.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use std::sync::atomic::{AtomicUsize, Ordering};
    ///
    /// use timestrata_engine::{Settings, Store};
    /// use timestrata_topic::{Record, SendOptions, Topic, TopicOptions};
    ///
    /// # fn main() -> timestrata_engine::Result<()> {
    /// # let store = Store::memory(Settings::default())?;
    /// let events = Topic::create(&store, "events", &TopicOptions::default())?;
    /// let told = Arc::new(AtomicUsize::new(0));
    /// let count = Arc::clone(&told);
    /// Topic::listen(&store, move || drop(count.fetch_add(1, Ordering::SeqCst)));
    /// events.send(&Record { value: Some(b"opened"), ..Record::default() }, &SendOptions::default())?;
    /// assert_eq!(told.load(Ordering::SeqCst), 1);
    /// # Ok(())
    /// # }
    /// ```
    pub fn listen(store: &Store, tell: impl Fn() + Send + Sync + 'static) {
        store.model_state::<Hub>().listen(Box::new(tell));
    }

    /// Names of all topics of a store, in order.
    #[must_use]
    pub fn names(store: &Store) -> Vec<String> {
        name::all(store, options::is_topic)
    }
}

/// Names of the streams that hold the records of a topic, by partition, from the topic's own stream.
pub fn record_streams(topic: &Stream) -> impl Iterator<Item = String> {
    let partitions = options::topic_of_stream(topic).unwrap_or(0);
    (0..partitions).map(|partition| records_name(topic.name(), partition))
}

/// The streams of partitions.
fn parts(topic: &str, partitions: Range<u32>, options: &TopicOptions) -> Vec<StreamSpec> {
    let mut properties = options::part_properties();
    properties.push((BLOCK_ROWS_PROPERTY.to_owned(), BLOCK_ROWS.to_string()));
    let mut run_format = RunFormat::Hot;
    let packing = options.packing();
    if packing != RunCompression::None {
        run_format = RunFormat::Cold;
        properties.push((COLD_BLOCK_ROWS_PROPERTY.to_owned(), PACKED_BLOCK_ROWS.to_string()));
        properties = packing.in_properties(properties);
    }
    let of_partition = |partition| {
        let records = StreamSpec::new(records_name(topic, partition), record_schema());
        let tiles = tiles::spec(tiles_name(topic, partition));
        let kept = options.keep_entries.then(|| entries::spec(entries_name(topic, partition)));
        let records = StreamSpec { properties: properties.clone(), run_format, ..records };
        [records, tiles].into_iter().chain(kept)
    };
    partitions.flat_map(of_partition).collect()
}

/// Removes the streams of all partitions that a topic had.
fn drop_parts(store: &Store, topic: &str) -> Result<()> {
    let prefix = format!("{topic}/");
    let streams = store.streams();
    let parts = streams
        .iter()
        .filter(|stream| stream.name().starts_with(&prefix) && options::is_topic_part(stream));
    store.drop_streams(&parts.map(|stream| stream.name()).collect::<Vec<_>>())
}

/// Removes a topic: its own stream first, without which the others are nobody's.
fn remove(store: &Store, hub: &Hub, stream: &Stream) -> Result<()> {
    store.drop_stream(stream.name())?;
    if let Some(shared) = hub.topics.lock().remove(&stream.id()) {
        shared.is_removed.store(true, Ordering::Release);
    }
    drop_parts(store, stream.name())?;
    hub.announce();
    Ok(())
}

fn partitions(store: &Store, topic: &Stream, numbers: Range<u32>) -> Result<Vec<Arc<Partition>>> {
    numbers.map(|number| Partition::open(store, topic, number).map(Arc::new)).collect()
}

impl SharedTopic {
    /// Takes over what was changed of the topic's stream: other options, more partitions.
    fn take_over(&self, store: &Store) -> Result<()> {
        let stream = store.stream_of(self.id).map_err(|_| self.removed())?;
        if Arc::ptr_eq(&self.now.read().stream, &stream) {
            return Ok(());
        }
        let mut now = self.now.write();
        // Behind the lock: of several who take over at once, the last has what is newest.
        let stream = store.stream_of(self.id).map_err(|_| self.removed())?;
        let options = TopicOptions::of(&stream)?;
        let known = u32::try_from(now.partitions.len()).unwrap_or(u32::MAX);
        let more = partitions(store, &stream, known..options.partitions.max(known))?;
        now.partitions.extend(more);
        now.options = options;
        now.stream = stream;
        Ok(())
    }

    /// The error of a topic that is not there any more.
    fn removed(&self) -> Error {
        name::removed("topic", &self.name)
    }
}
