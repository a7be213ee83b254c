//! Options of a new log, and how they are kept in the properties of its stream.

use std::sync::Arc;

use arrow_schema::{DataType, Field, Schema, SchemaRef, TimeUnit};
use timestrata_engine::{
    COLD_BLOCK_ROWS_PROPERTY, Error, ErrorKind, Merge, Result, Retention, RunCompression,
    RunFormat, Stream, StreamSpec, WORDS_PROPERTY,
};
use timestrata_values::name::{MODEL_PROPERTY, expect_model};

use super::Clock;

const MODEL: &str = "logs";
const MESSAGE_BYTES_PROPERTY: &str = "message_bytes_max";
const COLUMNS_PROPERTY: &str = "columns_max";
/// The log's clock, where it is another than that of arrivals.
const CLOCK_PROPERTY: &str = "clock";

/// Entries of a compacted block: what a search decodes for one hit, and what one entry costs to read. With
/// half of it that is half of that again, and many logs are larger than what gzip makes of them.
const COLD_BLOCK_ROWS: &str = "4096";

/// Longest message by default, in bytes.
pub const MESSAGE_BYTES_MAX: usize = 1 << 20;
/// No log takes longer ones: an entry must fit into a segment of the log of commits.
const MESSAGE_BYTES_LIMIT: usize = 8 << 20;
/// Most fields that may have columns of their own.
pub const COLUMNS_MAX: usize = 64;
/// As many as may, by default.
const COLUMNS_DEFAULT: usize = 32;

/// Positions of the columns that every log has.
pub(super) const TIMESTAMP: usize = 0;
pub(super) const SOURCE_TIME: usize = 1;
pub(super) const LEVEL: usize = 2;
pub(super) const MESSAGE: usize = 3;
pub(super) const LABELS: usize = 4;
pub(super) const FIELDS: usize = 5;
/// Columns of fields come behind these.
pub(super) const OWN_COLUMNS: usize = 6;

/// Names of the columns that every log has, in their order.
pub(super) const OWN_NAMES: [&str; OWN_COLUMNS] =
    ["timestamp", "source_time", "level", "message", "labels", "fields"];

/// What [`Logs::create`](super::Logs::create) makes.
///
/// ```
/// use timestrata_logs::LogsOptions;
///
/// let options = LogsOptions { message_bytes_max: 64 << 10, ..LogsOptions::default() };
/// assert!(options.retention.is_none());
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogsOptions {
    /// Longest message that is taken, in bytes, and longest fields. Default 1 MiB; at most 8 MiB.
    pub message_bytes_max: usize,
    /// How many fields may get columns of their own, once many entries have them. Default 32, at
    /// most 64; 0: none.
    pub columns_max: usize,
    /// What may be thrown away by itself, by age and by bytes. `None`, the default: nothing in a new log,
    /// no change to one that exists. `Some` also changes a log that exists.
    pub retention: Option<Retention>,
    /// The clock that queries go by which name none: times, ranges and the order of searches, counts and histograms.
    /// `None`, the default: when entries arrived in a new log, no change to one that exists. `Some` also changes a log
    /// that exists. Positions of a search are of one clock. Retention and tails go by arrivals always.
    pub clock: Option<Clock>,
    /// How compacted entries are packed. `None`, the default: by ZSTD 6 in a new log, no change to one that
    /// exists. `Some` also changes a log that exists, for runs that are written from then on.
    pub compression: Option<RunCompression>,
}

impl Default for LogsOptions {
    fn default() -> Self {
        Self {
            message_bytes_max: MESSAGE_BYTES_MAX,
            columns_max: COLUMNS_DEFAULT,
            retention: None,
            clock: None,
            compression: None,
        }
    }
}

impl LogsOptions {
    /// The stream that keeps such a log.
    ///
    /// # Errors
    /// `InvalidArgument` for numbers that can't be.
    pub(super) fn spec(&self, name: &str) -> Result<StreamSpec> {
        let refuse = |why: String| {
            Err(Error::new(ErrorKind::InvalidArgument, format!("log '{name}': {why}")))
        };
        let Self { message_bytes_max, columns_max, .. } = *self;
        if !(1..=MESSAGE_BYTES_LIMIT).contains(&message_bytes_max) {
            return refuse(format!(
                "message_bytes_max is {message_bytes_max}; it must be 1 to {MESSAGE_BYTES_LIMIT} \
                 (8 MiB)"
            ));
        }
        if columns_max > COLUMNS_MAX {
            return refuse(format!(
                "columns_max is {columns_max}; it must be at most {COLUMNS_MAX}"
            ));
        }
        let property = |key: &str, value: String| (key.to_owned(), value);
        Ok(StreamSpec {
            merge: Merge::Keep,
            run_format: RunFormat::Cold,
            retention: self.retention.unwrap_or_default(),
            properties: self.in_properties(vec![
                property(MODEL_PROPERTY, MODEL.to_owned()),
                property(MESSAGE_BYTES_PROPERTY, message_bytes_max.to_string()),
                property(COLUMNS_PROPERTY, columns_max.to_string()),
                property(COLD_BLOCK_ROWS_PROPERTY, COLD_BLOCK_ROWS.to_owned()),
                property(WORDS_PROPERTY, OWN_NAMES[FIELDS].to_owned()),
            ]),
            ..StreamSpec::new(name, schema())
        })
    }

    /// The properties of a log whose clock and compression are as these say; where they say nothing, as they are.
    pub(super) fn in_properties(&self, properties: Vec<(String, String)>) -> Vec<(String, String)> {
        let mut properties = match self.compression {
            Some(compression) => compression.in_properties(properties),
            None => properties,
        };
        if let Some(clock) = self.clock {
            properties.retain(|(name, _)| name != CLOCK_PROPERTY);
            if clock != Clock::default() {
                properties.push((CLOCK_PROPERTY.to_owned(), clock.to_string()));
            }
        }
        properties
    }

    /// Reads the options of a log from its stream.
    ///
    /// # Errors
    /// `InvalidArgument` if it is no log.
    pub(super) fn of(stream: &Stream) -> Result<Self> {
        let refuse = |what: &str| {
            let name = stream.name();
            let message = format!("stream '{name}' is called a log, but its {what} are another's");
            Err(Error::new(ErrorKind::InvalidArgument, message))
        };
        expect_model(stream, "log", MODEL)?;
        let number = |key: &str| stream.property(key).and_then(|text| text.parse().ok());
        let (Some(message_bytes_max), Some(columns_max)) =
            (number(MESSAGE_BYTES_PROPERTY), number(COLUMNS_PROPERTY))
        else {
            return refuse("properties");
        };
        let own = schema();
        let has_own = stream.schema().fields().len() >= OWN_COLUMNS
            && stream.schema().fields().iter().zip(own.fields()).all(|(found, own)| found == own);
        if !has_own || stream.key_columns() != [TIMESTAMP] || stream.spec().merge != Merge::Keep {
            return refuse("columns");
        }
        Ok(Self {
            message_bytes_max,
            columns_max,
            retention: Some(stream.spec().retention),
            clock: Some(clock_of(stream)),
            compression: Some(stream.compression()),
        })
    }
}

/// The clock of a log, as its stream has it. One that a later build knows is that of arrivals here.
pub(super) fn clock_of(stream: &Stream) -> Clock {
    stream.property(CLOCK_PROPERTY).and_then(|text| text.parse().ok()).unwrap_or_default()
}

/// Whether a stream keeps a log.
pub fn is_logs(stream: &Stream) -> bool {
    stream.property(MODEL_PROPERTY) == Some(MODEL)
}

/// The columns that every log has.
fn schema() -> SchemaRef {
    let time = || DataType::Timestamp(TimeUnit::Nanosecond, Some("UTC".into()));
    let [timestamp, source_time, level, message, labels, fields] = OWN_NAMES;
    Arc::new(Schema::new(vec![
        Field::new(timestamp, time(), false),
        Field::new(source_time, time(), true),
        Field::new(level, DataType::Int8, true),
        Field::new(message, DataType::Utf8, false),
        Field::new(labels, DataType::Utf8, true),
        Field::new(fields, DataType::Binary, true),
    ]))
}
