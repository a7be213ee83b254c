//! Options of a topic, and how they are kept in the properties of its stream.

use std::fmt::Display;
use std::str::FromStr;

use timestrata_engine::{COMPRESSION_PROPERTY, Error, ErrorKind, Result, RunCompression, Stream};
use timestrata_values::name::MODEL_PROPERTY;

const MODEL: &str = "topic";
const PART_MODEL: &str = "topic-part";
const CREATED_PROPERTY: &str = "created_ns";
const PARTITIONS_PROPERTY: &str = "partitions";
const RECORD_BYTES_PROPERTY: &str = "record_bytes_max";
const STAMP_PROPERTY: &str = "timestamp";
const AGE_PROPERTY: &str = "retention_ns";
const BYTES_PROPERTY: &str = "retention_bytes";
const RECORDS_PROPERTY: &str = "retention_records";
const GROUPS_PROPERTY: &str = "retention_groups_ns";
const COMPACT_PROPERTY: &str = "compact";
const ENTRIES_PROPERTY: &str = "keep_entries";

/// Most partitions of a topic.
pub const PARTITIONS_MAX: u32 = 4_096;
/// Largest record where nothing else is said: key, value and headers together.
const RECORD_BYTES_DEFAULT: u64 = 1 << 20;
/// Larger records than this no topic can have: a batch of them must fit 32-bit offsets.
pub const RECORD_BYTES_MAX: u64 = 512 << 20;

/// Whose time a record has.
///
/// ```
/// use timestrata_engine::{Settings, Store};
/// use timestrata_topic::{Record, SendOptions, Stamp, Topic, TopicOptions};
///
/// # fn main() -> timestrata_engine::Result<()> {
/// # let store = Store::memory(Settings::default())?;
/// let options = TopicOptions { stamp: Stamp::Store, ..TopicOptions::default() };
/// let events = Topic::create(&store, "events", &options)?;
/// let dated = Record { value: Some(b"x"), timestamp_ns: Some(1), ..Record::default() };
/// assert!(events.send(&dated, &SendOptions::default())?.timestamp_ns > 1);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Stamp {
    /// The producer's, and the store's clock where it says none.
    #[default]
    Producer,
    /// The store's clock when it was appended, whatever the producer says.
    Store,
}

impl Stamp {
    fn name(self) -> &'static str {
        match self {
            Self::Producer => "producer",
            Self::Store => "store",
        }
    }
}

/// What may be thrown away of each partition. The default: nothing.
///
/// ```
/// use timestrata_engine::{Settings, Store};
/// use timestrata_topic::{Topic, TopicOptions, TopicRetention};
///
/// # fn main() -> timestrata_engine::Result<()> {
/// # let store = Store::memory(Settings::default())?;
/// # let events = Topic::create(&store, "events", &TopicOptions::default())?;
/// // Nothing older than a week, and of each key the last record.
/// let week_ns = 7 * 24 * 3_600 * 1_000_000_000;
/// let retention =
///     TopicRetention { age_ns: Some(week_ns), compact: true, ..TopicRetention::default() };
/// events.set_retention(retention)?;
/// assert!(events.options().retention.compact);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TopicRetention {
    /// Records older than this, in nanoseconds, by their timestamps and by the clock.
    pub age_ns: Option<u64>,
    /// The oldest records, while keys, values and headers together have more bytes.
    pub bytes: Option<u64>,
    /// The oldest records, while there are more.
    pub records: Option<u64>,
    /// Of records with the same key, all but the last.
    pub compact: bool,
    /// What groups have committed that have no members and have committed nothing for so long, in nanoseconds.
    pub groups_age_ns: Option<u64>,
}

/// What a new topic is to be.
///
/// ```
/// use timestrata_engine::{Settings, Store};
/// use timestrata_topic::{Topic, TopicOptions};
///
/// # fn main() -> timestrata_engine::Result<()> {
/// # let store = Store::memory(Settings::default())?;
/// let options = TopicOptions { partitions: 4, ..TopicOptions::default() };
/// assert_eq!(Topic::create(&store, "events", &options)?.partitions(), 4);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TopicOptions {
    /// How many partitions, 1 to [`PARTITIONS_MAX`].
    pub partitions: u32,
    /// Most bytes that key, value and headers of a record may have together.
    pub record_bytes_max: u64,
    /// Whose time records have.
    pub stamp: Stamp,
    /// What may be thrown away.
    pub retention: TopicRetention,
    /// How records are packed once they have settled, in Parquet files: less room where records repeat each other, and a
    /// record that the cache lacks costs the decoding of a block of 1,024. What was flushed last lies in files that are read
    /// without decoding; with [`RunCompression::None`] all records do, for good. `None`: as usual, or as they are in a topic
    /// that is there.
    pub compression: Option<RunCompression>,
    /// Whether the entries of records that are thrown away stay: their places, times and hashes of their parts, 24 bytes and
    /// the topic's name, and 32 for each part. Exports stay whole then, and audits and proofs of such records can be
    /// made to the last bit; their keys and values are gone.
    pub keep_entries: bool,
}

impl Default for TopicOptions {
    fn default() -> Self {
        Self {
            partitions: 1,
            record_bytes_max: RECORD_BYTES_DEFAULT,
            stamp: Stamp::default(),
            retention: TopicRetention::default(),
            compression: None,
            keep_entries: false,
        }
    }
}

fn property(name: &str, value: impl Display) -> (String, String) {
    (name.to_owned(), value.to_string())
}

/// A property that is a number.
fn number<T: FromStr>(stream: &Stream, name: &str) -> Result<Option<T>> {
    let Some(text) = stream.property(name) else { return Ok(None) };
    text.parse().map(Some).map_err(|_| {
        let message = format!("topic '{}': property '{name}' is {text:?}", stream.name());
        Error::new(ErrorKind::InvalidArgument, message)
    })
}

/// How many partitions the topic has whose own stream this is; `None` for another kind of stream.
#[must_use]
pub fn topic_of_stream(stream: &Stream) -> Option<u32> {
    TopicOptions::of(stream).ok().map(|options| options.partitions)
}

/// Whether a stream is a topic's own, which has its name.
#[must_use]
pub fn is_topic(stream: &Stream) -> bool {
    stream.property(MODEL_PROPERTY) == Some(MODEL)
}

/// Whether a stream is one below a topic's own.
#[must_use]
pub fn is_topic_part(stream: &Stream) -> bool {
    stream.property(MODEL_PROPERTY) == Some(PART_MODEL)
}

/// Words of the streams below a topic's own.
pub(super) fn part_properties() -> Vec<(String, String)> {
    vec![property(MODEL_PROPERTY, PART_MODEL)]
}

/// Wall clock when a topic was made.
pub(super) fn created_ns(stream: &Stream) -> Option<i64> {
    stream.property(CREATED_PROPERTY)?.parse().ok()
}

impl TopicOptions {
    /// # Errors
    /// `InvalidArgument` for numbers that make no sense.
    pub(super) fn check(&self, topic: &str) -> Result<()> {
        let wrong = |what: String| {
            Err(Error::new(ErrorKind::InvalidArgument, format!("topic '{topic}': {what}")))
        };
        if !(1..=PARTITIONS_MAX).contains(&self.partitions) {
            return wrong(format!("{} partitions; 1 to {PARTITIONS_MAX} can be", self.partitions));
        }
        if !(1..=RECORD_BYTES_MAX).contains(&self.record_bytes_max) {
            return wrong(format!(
                "records of at most {} bytes; 1 to {RECORD_BYTES_MAX} can be",
                self.record_bytes_max
            ));
        }
        Ok(())
    }

    /// How its records are packed.
    #[must_use]
    pub fn packing(&self) -> RunCompression {
        self.compression.unwrap_or_default()
    }

    /// An error unless a topic that is there is what is asked for: it says what differs.
    ///
    /// # Errors
    /// `AlreadyExists`.
    pub(super) fn expect_same(&self, topic: &str, asked: &Self) -> Result<()> {
        // Who asks for nothing takes a topic of before, too.
        let asked = Self { compression: asked.compression.or(self.compression), ..*asked };
        let differing: Vec<String> = self
            .shown()
            .into_iter()
            .zip(asked.shown())
            .filter(|(found, asked)| found != asked)
            .map(|((name, found), (_, asked))| format!("{name} is {found}, {asked} was asked for"))
            .collect();
        match differing.is_empty() {
            true => Ok(()),
            false => {
                let what =
                    format!("topic '{topic}' exists with other options: {}", differing.join("; "));
                Err(Error::new(ErrorKind::AlreadyExists, what))
            }
        }
    }

    /// All of it for people, in words that all faces have.
    fn shown(&self) -> [(&'static str, String); 10] {
        fn or_none(value: Option<impl Display>) -> String {
            value.map_or_else(|| "none".to_owned(), |value| value.to_string())
        }
        let TopicRetention { age_ns, bytes, records, compact, groups_age_ns } = self.retention;
        let seconds = |age: u64| format!("{} s", age as f64 / 1e9);
        [
            ("partitions", self.partitions.to_string()),
            ("record_bytes_max", self.record_bytes_max.to_string()),
            ("timestamp", self.stamp.name().to_owned()),
            ("retention_age", or_none(age_ns.map(seconds))),
            ("retention_bytes", or_none(bytes)),
            ("retention_records", or_none(records)),
            ("compact", compact.to_string()),
            ("retention_groups_age", or_none(groups_age_ns.map(seconds))),
            ("compression", self.packing().to_string()),
            ("keep_entries", self.keep_entries.to_string()),
        ]
    }

    /// The properties of a topic's own stream.
    pub(super) fn properties(&self, created_ns: i64) -> Vec<(String, String)> {
        let TopicRetention { age_ns, bytes, records, compact, groups_age_ns } = self.retention;
        let mut properties = vec![
            property(MODEL_PROPERTY, MODEL),
            property(CREATED_PROPERTY, created_ns),
            property(PARTITIONS_PROPERTY, self.partitions),
            property(RECORD_BYTES_PROPERTY, self.record_bytes_max),
            property(STAMP_PROPERTY, self.stamp.name()),
            property(COMPACT_PROPERTY, compact),
        ];
        // As topics have it that were made before records were packed.
        let packing = self.packing();
        let is_packed = packing != RunCompression::None;
        properties.extend(is_packed.then(|| property(COMPRESSION_PROPERTY, packing)));
        properties.extend(self.keep_entries.then(|| property(ENTRIES_PROPERTY, true)));
        let limits = [
            (AGE_PROPERTY, age_ns),
            (BYTES_PROPERTY, bytes),
            (RECORDS_PROPERTY, records),
            (GROUPS_PROPERTY, groups_age_ns),
        ];
        properties
            .extend(limits.iter().filter_map(|(name, limit)| Some(property(name, (*limit)?))));
        properties
    }

    /// What a topic was made as, with what has been changed since.
    ///
    /// # Errors
    /// `InvalidArgument` if the stream is no topic.
    pub(super) fn of(stream: &Stream) -> Result<Self> {
        if !is_topic(stream) {
            let what = format!("'{}' is not a topic", stream.name());
            return Err(Error::new(ErrorKind::InvalidArgument, what));
        }
        let is_store = stream.property(STAMP_PROPERTY) == Some(Stamp::Store.name());
        Ok(Self {
            partitions: number(stream, PARTITIONS_PROPERTY)?.unwrap_or(1),
            record_bytes_max: number(stream, RECORD_BYTES_PROPERTY)?
                .unwrap_or(RECORD_BYTES_DEFAULT),
            stamp: if is_store { Stamp::Store } else { Stamp::Producer },
            retention: TopicRetention {
                age_ns: number(stream, AGE_PROPERTY)?,
                bytes: number(stream, BYTES_PROPERTY)?,
                records: number(stream, RECORDS_PROPERTY)?,
                compact: stream.property(COMPACT_PROPERTY) == Some("true"),
                groups_age_ns: number(stream, GROUPS_PROPERTY)?,
            },
            compression: Some(match stream.property(COMPRESSION_PROPERTY) {
                Some(_) => stream.compression(),
                None => RunCompression::None,
            }),
            keep_entries: stream.property(ENTRIES_PROPERTY) == Some("true"),
        })
    }
}
