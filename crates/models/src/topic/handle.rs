//! The handle of a topic: making, opening, what it is.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use timestrata_engine::{
    BLOCK_ROWS_PROPERTY, Error, ErrorKind, Result, RowAppender, Store, Stream, StreamId, StreamSpec,
};
use timestrata_io::sync::{Mutex, RwLock};

use super::hub::Hub;
use super::options::{self, TopicOptions, TopicRetention};
use super::partition::Partition;
use super::partitioner::partition_of;
use super::record::{Record, record_schema};
use super::tiles;
use super::{retain, state};
use crate::name;

/// Records of a block: what is verified for the first read of one of them, and when a partition is
/// opened.
const BLOCK_ROWS: usize = 4_096;

/// What all handles of a topic share.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) id: StreamId,
    pub(super) name: String,
    pub(super) created_ns: Option<i64>,
    pub(super) options: RwLock<TopicOptions>,
    partitions: RwLock<Vec<Arc<Partition>>>,
    /// Whose turn it is among records without a key.
    turn: AtomicU32,
    /// One checkpoint after the other, so that the one stored last is the largest.
    pub(super) signing: Mutex<()>,
    /// Held while records are thrown away.
    pub(super) retaining: Mutex<()>,
}

/// A topic of an open store. Cheap to clone; clones are the same topic, and may be used from several
/// threads.
#[derive(Debug, Clone)]
pub struct Topic {
    pub(super) store: Store,
    pub(super) shared: Arc<Shared>,
    /// By partition. They hold the store, so they are the handle's, and not in what the store holds.
    pub(super) appenders: Arc<Mutex<HashMap<u32, Arc<Mutex<RowAppender>>>>>,
}

fn records_name(topic: &str, partition: u32) -> String {
    format!("{topic}/{partition}")
}

fn tiles_name(topic: &str, partition: u32) -> String {
    format!("{topic}/{partition}t")
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
            name::expect_same("topic", name, &TopicOptions::of(&stream)?, options)?;
            name::acknowledge_existing(store)?;
            return Self::of_stream(store, &stream);
        }
        // What a crash left of one that was being removed has its records.
        drop_parts(store, name)?;
        for partition in 0..options.partitions {
            create_parts(store, name, partition)?;
        }
        store.create_stream(state::spec(name, options.properties(store.wall_ns())))?;
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
                let partitions = (0..options.partitions)
                    .map(|number| partition(store, stream, number))
                    .collect::<Result<_>>()?;
                let shared = Arc::new(Shared {
                    id: stream.id(),
                    name: stream.name().to_owned(),
                    created_ns: options::created_ns(stream),
                    options: RwLock::new(options),
                    partitions: RwLock::new(partitions),
                    turn: AtomicU32::new(0),
                    signing: Mutex::new(()),
                    retaining: Mutex::new(()),
                });
                topics.insert(stream.id(), Arc::clone(&shared));
                shared
            }
        };
        Ok(Self { store: store.clone(), shared, appenders: Arc::default() })
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
        *self.shared.options.read()
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
    /// `InvalidArgument` if there is none of that number.
    pub(super) fn partition(&self, number: u32) -> Result<Arc<Partition>> {
        let partitions = self.shared.partitions.read();
        let found = usize::try_from(number).ok().and_then(|number| partitions.get(number));
        found.cloned().ok_or_else(|| {
            let message = format!(
                "topic '{}' has no partition {number}: it has {}, numbered from 0",
                self.name(),
                partitions.len()
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
        for number in now.partitions..partitions {
            create_parts(&self.store, self.name(), number)?;
        }
        let stream = self.set_options(wanted)?;
        let mut list = self.shared.partitions.write();
        for number in now.partitions..partitions {
            list.push(partition(&self.store, &stream, number)?);
        }
        drop(list);
        *self.shared.options.write() = wanted;
        hub.announce();
        Ok(())
    }

    /// Changes what may be thrown away, durably.
    pub fn set_retention(&self, retention: TopicRetention) -> Result<()> {
        let hub = self.store.model_state::<Hub>();
        let _changing = hub.changing.lock();
        let wanted = TopicOptions { retention, ..self.options() };
        self.set_options(wanted)?;
        *self.shared.options.write() = wanted;
        Ok(())
    }

    fn set_options(&self, options: TopicOptions) -> Result<Arc<Stream>> {
        let created_ns = self.shared.created_ns.unwrap_or_default();
        self.store.alter_stream_properties(self.shared.id, options.properties(created_ns))
    }

    /// Removes a topic and its records, durably.
    ///
    /// # Errors
    /// As [`Topic::open`].
    pub fn drop(store: &Store, name: &str) -> Result<()> {
        let topic = Self::open(store, name)?;
        let hub = store.model_state::<Hub>();
        let _changing = hub.changing.lock();
        store.drop_stream(name)?;
        hub.topics.lock().remove(&topic.shared.id);
        drop_parts(store, name)
    }

    /// Names of all topics of a store, in order.
    #[must_use]
    pub fn names(store: &Store) -> Vec<String> {
        let streams = store.streams();
        let topics = streams.iter().filter(|stream| options::is_topic(stream));
        topics.map(|stream| stream.name().to_owned()).collect()
    }
}

/// Names of the streams that hold the records of a topic, by partition, from the topic's own stream.
pub fn record_streams(topic: &Stream) -> impl Iterator<Item = String> {
    let partitions = options::topic_of_stream(topic).unwrap_or(0);
    (0..partitions).map(|partition| records_name(topic.name(), partition))
}

/// Makes the streams of a partition.
fn create_parts(store: &Store, topic: &str, partition: u32) -> Result<()> {
    let mut properties = options::part_properties();
    properties.push((BLOCK_ROWS_PROPERTY.to_owned(), BLOCK_ROWS.to_string()));
    let records = StreamSpec::new(records_name(topic, partition), record_schema());
    store.create_stream(StreamSpec { properties, ..records })?;
    store.create_stream(tiles::spec(tiles_name(topic, partition)))?;
    Ok(())
}

/// Removes the streams of all partitions that a topic had.
fn drop_parts(store: &Store, topic: &str) -> Result<()> {
    let prefix = format!("{topic}/");
    let streams = store.streams();
    let mut parts = streams
        .iter()
        .filter(|stream| stream.name().starts_with(&prefix) && options::is_part(stream));
    parts.try_for_each(|stream| store.drop_stream(stream.name()))
}

fn partition(store: &Store, stream: &Stream, number: u32) -> Result<Arc<Partition>> {
    let id = |name: String| Ok(store.expect_stream(&name)?.id());
    let topic = stream.name();
    let (records, tiles) = (id(records_name(topic, number))?, id(tiles_name(topic, number))?);
    Ok(Arc::new(Partition::new(topic, number, stream.id(), records, tiles)))
}
