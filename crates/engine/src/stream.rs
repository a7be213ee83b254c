//! Streams: a name, an Arrow schema, a sort key and a merge rule.

mod compression;
mod definition;
mod widening;

use std::fmt::Display;
use std::str::FromStr;
use std::sync::Arc;

use arrow_schema::{DataType, Field, Schema, SchemaRef, TimeUnit};
use timestrata_format::manifest::{Merge, Retention};
use timestrata_format::{KeyRange, LeadKey, RunFormat, StreamId};

pub use self::compression::{COMPRESSION_PROPERTY, RunCompression};
pub(crate) use self::definition::{from_definition, open_definition, to_definition};
pub use self::widening::{finer_times, widens};
use crate::{Error, ErrorKind, Result};

/// Name of the column that marks deleted keys in the runs of `Latest` streams.
pub(crate) const DELETED_COLUMN: &str = "__deleted";
const NAME_BYTES_MAX: usize = 255;

/// The property that says how many rows a record batch of this stream's hot runs may have, where
/// that differs from [`Settings::run_batch_rows`](crate::Settings::run_batch_rows). More rows:
/// columns lie in longer pieces, of which a reader needs no copy; but the first point read of a
/// block checks a longer piece. A decimal number, at least 1.
pub const BLOCK_ROWS_PROPERTY: &str = "block_rows";

/// The same for compacted runs. A block is decoded whole, a column at a time: smaller ones make single
/// rows cheaper, and text a little less compressed. A decimal number, at least 1.
pub const COLD_BLOCK_ROWS_PROPERTY: &str = "cold_block_rows";

/// The property that names a column whose values tell series apart, such as a host or a sensor; once for each such
/// column. Blocks of cold runs of streams that keep all rows by time have the rows of a series
/// side by side then, where that takes no more room to speak of.
pub const SERIES_PROPERTY: &str = "tag";

/// The property of streams whose cold runs tell which words each block may have, in the text of all
/// `Utf8` columns and of the CBOR items in `Binary` columns, whose names are its value, separated by
/// commas; see [`crate::Snapshot::prune`].
pub const WORDS_PROPERTY: &str = "words";

/// The property that counts how often a stream's columns have changed.
const SCHEMA_VERSION_PROPERTY: &str = "schema_version";

/// The property of streams that were made for one commit: all that were made together have the same value. Where no commit
/// has changed any of them they are not there; see [`crate::ProvisionalStreams`].
pub(crate) const PROVISIONAL_PROPERTY: &str = "provisional";

/// How the properties begin that say which types a column had.
const WAS_PREFIX: &str = "was.";

/// What a new stream is to be.
///
/// ```
/// # use std::sync::Arc;
/// # use arrow_schema::{DataType, Field, Schema};
/// # use timestrata_engine::*;
/// # fn main() -> timestrata_engine::Result<()> {
/// # let store = Store::memory(Settings::default())?;
/// # let schema = Schema::new(vec![
/// #     Field::new("time", DataType::Int64, false),
/// #     Field::new("celsius", DataType::Float64, true),
/// # ]);
/// # let kitchen = store.create_stream(StreamSpec::new("kitchen", Arc::new(schema)))?;
/// # let mut appender = store.appender(kitchen)?;
/// # for (time, celsius) in [(1_000, 20.5), (2_000, 21.0), (3_000, 21.5)] {
/// #     appender.append(&[Cell::Int(time), Cell::Float(celsius)], Durability::Written)?;
/// # }
/// let columns = vec![
///     Field::new("id", DataType::FixedSizeBinary(16), false),
///     Field::new("name", DataType::Utf8, true),
/// ];
/// let spec = StreamSpec {
///     key: vec!["id".to_owned()],
///     merge: Merge::Latest, // one row a key: the newest
///     ..StreamSpec::new("people", Arc::new(Schema::new(columns)))
/// };
/// let people = store.create_stream(spec)?;
/// assert_eq!(store.stream_of(people)?.spec().merge, Merge::Latest);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct StreamSpec {
    /// Unique in the store: 1 to 255 bytes without control characters. Never used as a path.
    pub name: String,
    /// Columns. Names must be unique and may not begin with two underscores.
    pub schema: SchemaRef,
    /// Names of the key columns, the leading one first; none may be nullable. The leading
    /// one is a time (`Timestamp` of any unit or `Int64`), an offset (`UInt64`) or an id
    /// (`FixedSizeBinary(16)` or `(32)`).
    pub key: Vec<String>,
    /// How rows with equal keys live together.
    pub merge: Merge,
    /// File format of compacted runs; flushed ones are always hot.
    pub run_format: RunFormat,
    /// What may be thrown away by itself.
    pub retention: Retention,
    /// Words of the model on top, kept with the stream. These are the engine's own:
    /// [`BLOCK_ROWS_PROPERTY`], [`COLD_BLOCK_ROWS_PROPERTY`], [`COMPRESSION_PROPERTY`], [`SERIES_PROPERTY`],
    /// [`WORDS_PROPERTY`].
    pub properties: Vec<(String, String)>,
}

impl StreamSpec {
    /// A stream that keeps every row, is keyed by its first column, compacts to hot runs
    /// and throws nothing away.
    pub fn new(name: impl Into<String>, schema: SchemaRef) -> Self {
        let key = schema.fields().first().map(|field| field.name().clone());
        Self {
            name: name.into(),
            schema,
            key: key.into_iter().collect(),
            merge: Merge::Keep,
            run_format: RunFormat::Hot,
            retention: Retention::default(),
            properties: Vec::new(),
        }
    }

    /// What is wrong with the stream, or with what was asked of it.
    pub(crate) fn error(&self, kind: ErrorKind, why: impl Display) -> Error {
        Error::new(kind, format!("stream '{}': {why}", self.name))
    }
}

/// The three kinds of leading key.
///
/// ```
/// # use std::sync::Arc;
/// # use arrow_schema::{DataType, Field, Schema};
/// # use timestrata_engine::{LeadKind, Settings, Store, StreamSpec};
/// # fn main() -> timestrata_engine::Result<()> {
/// # let store = Store::memory(Settings::default())?;
/// let columns = vec![Field::new("offset", DataType::UInt64, false)];
/// store.create_stream(StreamSpec::new("events", Arc::new(Schema::new(columns))))?;
/// assert_eq!(store.expect_stream("events")?.lead_kind(), LeadKind::Offset);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LeadKind {
    /// Signed 64-bit time.
    Time,
    /// Unsigned 64-bit offset.
    Offset,
    /// 16-byte id.
    Id16,
    /// 32-byte id.
    Id32,
}

impl LeadKind {
    pub(crate) fn of(data_type: &DataType) -> Option<Self> {
        match data_type {
            DataType::Timestamp(_, _) | DataType::Int64 => Some(Self::Time),
            DataType::UInt64 => Some(Self::Offset),
            DataType::FixedSizeBinary(16) => Some(Self::Id16),
            DataType::FixedSizeBinary(32) => Some(Self::Id32),
            _ => None,
        }
    }

    /// Whether a key is of this kind.
    pub(crate) fn has(self, key: LeadKey) -> bool {
        matches!(
            (self, key),
            (Self::Time, LeadKey::Time(_))
                | (Self::Offset, LeadKey::Offset(_))
                | (Self::Id16, LeadKey::Id16(_))
                | (Self::Id32, LeadKey::Id32(_))
        )
    }
}

/// A stream of an open store, with its key resolved.
///
/// ```
/// # use std::sync::Arc;
/// # use arrow_schema::{DataType, Field, Schema};
/// # use timestrata_engine::*;
/// # fn main() -> timestrata_engine::Result<()> {
/// # let store = Store::memory(Settings::default())?;
/// # let schema = Schema::new(vec![
/// #     Field::new("time", DataType::Int64, false),
/// #     Field::new("celsius", DataType::Float64, true),
/// # ]);
/// # let kitchen = store.create_stream(StreamSpec::new("kitchen", Arc::new(schema)))?;
/// # let mut appender = store.appender(kitchen)?;
/// # for (time, celsius) in [(1_000, 20.5), (2_000, 21.0), (3_000, 21.5)] {
/// #     appender.append(&[Cell::Int(time), Cell::Float(celsius)], Durability::Written)?;
/// # }
/// let stream = store.expect_stream("kitchen")?;
/// assert_eq!((stream.name(), stream.lead_kind()), ("kitchen", LeadKind::Time));
/// assert_eq!(stream.schema().field(1).name(), "celsius");
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Stream {
    id: StreamId,
    spec: StreamSpec,
    lead: LeadKind,
    key_columns: Vec<usize>,
    stored_schema: SchemaRef,
    block_rows: Option<usize>,
    cold_block_rows: Option<usize>,
    series_columns: Vec<usize>,
    compression: RunCompression,
    schema_version: u16,
}

impl Stream {
    /// Checks a spec and resolves its key.
    pub(crate) fn new(id: StreamId, spec: StreamSpec) -> Result<Self> {
        validate_name(&spec.name)?;
        validate_columns(&spec)?;
        let invalid = |why: String| Err(spec.error(ErrorKind::InvalidArgument, why));
        if spec.key.is_empty() {
            return invalid("a key of at least one column is needed".to_owned());
        }
        let mut key_columns = Vec::with_capacity(spec.key.len());
        for name in &spec.key {
            let Ok(index) = spec.schema.index_of(name) else {
                return invalid(format!("key column '{name}' is not in the schema"));
            };
            if spec.schema.field(index).is_nullable() {
                return invalid(format!("key column '{name}' may not be nullable"));
            }
            if key_columns.contains(&index) {
                return invalid(format!("key column '{name}' is named twice"));
            }
            key_columns.push(index);
        }
        let lead_field = spec.schema.field(key_columns[0]);
        let Some(lead) = LeadKind::of(lead_field.data_type()) else {
            return invalid(format!(
                "leading key column '{}' has type {}; it must be a timestamp, Int64, UInt64, \
                 FixedSizeBinary(16) or FixedSizeBinary(32)",
                lead_field.name(),
                lead_field.data_type()
            ));
        };
        if spec.retention.age_ns.is_some() && lead != LeadKind::Time {
            return invalid("retention by age needs a time key".to_owned());
        }
        let stored_schema = match spec.merge {
            Merge::Keep => Arc::clone(&spec.schema),
            Merge::Latest => {
                let mut fields = spec.schema.fields().to_vec();
                fields.push(Arc::new(Field::new(DELETED_COLUMN, DataType::Boolean, false)));
                Arc::new(Schema::new_with_metadata(fields, spec.schema.metadata().clone()))
            }
        };
        let block_rows = number(&spec, BLOCK_ROWS_PROPERTY, 1)?;
        let cold_block_rows = number(&spec, COLD_BLOCK_ROWS_PROPERTY, 1)?;
        let schema_version = number(&spec, SCHEMA_VERSION_PROPERTY, 0)?.unwrap_or(0);
        let compression = spec.properties.iter().find(|(key, _)| key == COMPRESSION_PROPERTY);
        let compression = compression.map(|(_, text)| text.parse()).transpose();
        let compression = compression
            .map_err(|why: Error| spec.error(ErrorKind::InvalidArgument, why.message()))?
            .unwrap_or_default();
        let has_series = spec.merge == Merge::Keep && lead == LeadKind::Time;
        let named = spec.properties.iter().filter(|(key, _)| has_series && key == SERIES_PROPERTY);
        // A name without a column is no reason to refuse a stream: it only says how rows best lie.
        let series_columns =
            named.filter_map(|(_, name)| spec.schema.index_of(name).ok()).collect();
        Ok(Self {
            id,
            spec,
            lead,
            key_columns,
            stored_schema,
            block_rows,
            cold_block_rows,
            series_columns,
            compression,
            schema_version,
        })
    }

    /// How often its columns have changed.
    #[inline]
    pub(crate) fn schema_version(&self) -> u16 {
        self.schema_version
    }

    /// The stream with other columns.
    ///
    /// # Errors
    /// `InvalidArgument` if rows of today would not fit them; see [`crate::Store::alter_stream`].
    pub(crate) fn altered(&self, schema: SchemaRef) -> Result<Self> {
        let refuse = |why: String| {
            let message = format!("stream '{}' can't be altered: {why}", self.name());
            Err(Error::new(ErrorKind::InvalidArgument, message))
        };
        let (old, new) = (self.schema().fields(), schema.fields());
        if new.len() < old.len() {
            return refuse(format!("it has {} columns, the new schema {}", old.len(), new.len()));
        }
        for (index, (from, to)) in old.iter().zip(new).enumerate() {
            let is_finer = finer_times(from.data_type(), to.data_type()).is_some();
            let fits = from.name() == to.name()
                && (from.data_type() == to.data_type()
                    || widens(from.data_type(), to.data_type())
                    || is_finer)
                && (to.is_nullable() || !from.is_nullable());
            // Of the key only the times that lead it may get a finer unit, by which rows are in the same order.
            let is_refined =
                is_finer && index == self.lead_column() && from.is_nullable() == to.is_nullable();
            if !fits || (self.key_columns.contains(&index) && from != to && !is_refined) {
                return refuse(format!("column {from} can't become {to}"));
            }
        }
        if let Some(added) = new.iter().skip(old.len()).find(|field| !field.is_nullable()) {
            return refuse(format!("the new column '{}' must be nullable", added.name()));
        }
        let Some(version) = self.schema_version.checked_add(1) else {
            return refuse("its columns have changed too often".to_owned());
        };
        let mut spec = StreamSpec { schema, ..self.spec.clone() };
        spec.properties.retain(|(key, _)| key != SCHEMA_VERSION_PROPERTY);
        spec.properties.push((SCHEMA_VERSION_PROPERTY.to_owned(), version.to_string()));
        let widened =
            old.iter().zip(spec.schema.fields()).filter(|(a, b)| a.data_type() != b.data_type());
        let was = |(field, _): (&Arc<Field>, &Arc<Field>)| {
            (was_property(field.name()), format!("{version:05} {}", field.data_type()))
        };
        spec.properties.extend(widened.map(was).collect::<Vec<_>>());
        Self::new(self.id, spec)
    }

    /// What it is, with other properties; what the engine notes of changes stays.
    pub(crate) fn with_properties(&self, properties: Vec<(String, String)>) -> StreamSpec {
        let is_own = |(key, _): &(String, String)| {
            key == SCHEMA_VERSION_PROPERTY
                || key == PROVISIONAL_PROPERTY
                || key.starts_with(WAS_PREFIX)
        };
        let own = self.spec.properties.iter().filter(|property| is_own(property)).cloned();
        let mut spec = StreamSpec { properties, ..self.spec.clone() };
        spec.properties.retain(|property| !is_own(property));
        spec.properties.extend(own);
        // As the manifest keeps them.
        spec.properties.sort();
        spec
    }

    /// The error for rows that were prepared for the columns it had then.
    pub(crate) fn has_been_altered(&self) -> Error {
        let message = format!(
            "stream '{}' has got other columns meanwhile: make the batch anew",
            self.name()
        );
        Error::new(ErrorKind::InvalidData, message)
    }

    /// The types that a column had after it had `from` and before it got its own: values of an
    /// old file go through all of them, so that they read as those do that were rewritten
    /// meanwhile.
    pub(crate) fn types_since(&self, column: &str, from: &DataType) -> Vec<DataType> {
        let property = was_property(column);
        let was = self.spec.properties.iter().filter(|(key, _)| *key == property);
        let mut was: Vec<_> = was.map(|(_, text)| text.as_str()).collect();
        was.sort_unstable();
        let types = was.iter().filter_map(|text| text.split_once(' ')?.1.parse::<DataType>().ok());
        types.skip_while(|data_type| data_type != from).skip(1).collect()
    }

    /// How its compacted Parquet runs are packed.
    pub fn compression(&self) -> RunCompression {
        self.compression
    }

    /// Rows of a record batch of its hot runs, where it has a number of its own.
    pub(crate) fn block_rows(&self) -> Option<usize> {
        self.block_rows
    }

    /// The same of its cold runs.
    pub(crate) fn cold_block_rows(&self) -> Option<usize> {
        self.cold_block_rows
    }

    /// The columns that tell series apart.
    pub fn series_columns(&self) -> &[usize] {
        &self.series_columns
    }

    /// Whether several blocks of its cold runs lie in one row group where rows are in the order of the key: dictionaries of text, or
    /// of what tells series apart, are then there once for all of these.
    pub(crate) fn shares_dictionaries(&self) -> bool {
        let fields = || self.spec.schema.fields().iter();
        self.lead == LeadKind::Time
            && self.spec.merge == Merge::Keep
            && !self.has_words()
            && (!self.series_columns.is_empty()
                || fields().any(|field| field.data_type() == &DataType::Utf8))
    }

    /// Whether blocks of its cold runs tell which words they may have.
    pub(crate) fn has_words(&self) -> bool {
        self.property(WORDS_PROPERTY).is_some()
    }

    /// Whether the values of a binary column are CBOR items whose words count.
    pub(crate) fn is_cbor(&self, column: &str) -> bool {
        self.property(WORDS_PROPERTY)
            .is_some_and(|names| names.split(',').any(|name| name == column))
    }

    /// What it has in common with those that were made together with it for one commit.
    pub(crate) fn provisional_group(&self) -> Option<&str> {
        self.property(PROVISIONAL_PROPERTY)
    }

    /// A property, if it has it.
    pub fn property(&self, wanted: &str) -> Option<&str> {
        let properties = &self.spec.properties;
        properties.iter().find(|(key, _)| key == wanted).map(|(_, value)| value.as_str())
    }

    /// Its identity in the store.
    pub fn id(&self) -> StreamId {
        self.id
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.spec.name
    }

    /// What it was created as, with what has been changed since.
    pub fn spec(&self) -> &StreamSpec {
        &self.spec
    }

    /// Its columns.
    pub fn schema(&self) -> &SchemaRef {
        &self.spec.schema
    }

    /// Kind of its leading key.
    pub fn lead_kind(&self) -> LeadKind {
        self.lead
    }

    /// Index of the leading key column.
    pub fn lead_column(&self) -> usize {
        self.key_columns[0]
    }

    /// Indexes of all key columns, the leading one first.
    pub fn key_columns(&self) -> &[usize] {
        &self.key_columns
    }

    /// The key columns, in the order in which they order the rows.
    pub(crate) fn key_fields(&self) -> impl Iterator<Item = &Field> {
        self.key_columns.iter().map(|&column| self.schema().field(column))
    }

    /// Whether scans with [`text_views`](crate::ScanSpec::text_views) give this column as views.
    pub fn has_text_views(&self, column: usize) -> bool {
        !self.key_columns.contains(&column)
            && (self.schema().fields().get(column))
                .is_some_and(|field| field.data_type() == &DataType::Utf8)
    }

    /// An error if a key can't be one of this stream's.
    pub(crate) fn check_key(&self, key: LeadKey) -> Result<()> {
        if self.lead.has(key) {
            return Ok(());
        }
        Err(Error::new(
            ErrorKind::InvalidArgument,
            format!(
                "stream '{}' has keys of kind {:?}; {key} is a {}",
                self.name(),
                self.lead,
                key.kind()
            ),
        ))
    }

    /// An error if an end of a range can't be one of this stream's keys.
    pub(crate) fn check_range(&self, range: &KeyRange) -> Result<()> {
        [range.lo, range.hi].into_iter().flatten().try_for_each(|key| self.check_key(key))
    }

    /// Columns as stored: the schema, and for `Latest` the delete marker behind it.
    pub(crate) fn stored_schema(&self) -> &SchemaRef {
        &self.stored_schema
    }

    /// Whether rows with equal keys replace each other.
    pub(crate) fn is_latest(&self) -> bool {
        self.spec.merge == Merge::Latest
    }

    /// Nanoseconds in one unit of the leading time; `None` where it is not a timestamp
    /// with a unit (an `Int64` time is taken as nanoseconds only where asked).
    pub fn time_unit_ns(&self) -> Option<i64> {
        match self.spec.schema.field(self.lead_column()).data_type() {
            DataType::Timestamp(TimeUnit::Second, _) => Some(1_000_000_000),
            DataType::Timestamp(TimeUnit::Millisecond, _) => Some(1_000_000),
            DataType::Timestamp(TimeUnit::Microsecond, _) => Some(1_000),
            DataType::Timestamp(TimeUnit::Nanosecond, _) => Some(1),
            _ => None,
        }
    }
}

/// The property, there once a change, that says before which version of the columns a column had
/// which type.
fn was_property(column: &str) -> String {
    format!("{WAS_PREFIX}{column}")
}

fn validate_name(name: &str) -> Result<()> {
    if name.is_empty() || name.len() > NAME_BYTES_MAX || name.chars().any(char::is_control) {
        let shown: String = name.chars().take(40).collect();
        return Err(Error::new(
            ErrorKind::InvalidArgument,
            format!(
                "stream name {shown:?} ({} bytes): must be 1 to {NAME_BYTES_MAX} bytes without \
                 control characters",
                name.len()
            ),
        ));
    }
    Ok(())
}

/// A property of the engine's own that is a number, at least `min`.
fn number<T: FromStr + PartialOrd + Display>(
    spec: &StreamSpec,
    name: &str,
    min: T,
) -> Result<Option<T>> {
    let Some((_, text)) = spec.properties.iter().find(|(key, _)| key == name) else {
        return Ok(None);
    };
    match text.parse::<T>() {
        Ok(number) if number >= min => Ok(Some(number)),
        _ => {
            let why = format!("property '{name}' is {text:?}; it must be a number, at least {min}");
            Err(spec.error(ErrorKind::InvalidArgument, why))
        }
    }
}

fn validate_columns(spec: &StreamSpec) -> Result<()> {
    for (index, field) in spec.schema.fields().iter().enumerate() {
        let problem = if field.name().starts_with("__") {
            "names that begin with two underscores are the store's own"
        } else if spec.schema.fields()[..index].iter().any(|other| other.name() == field.name()) {
            "the name is used twice"
        } else {
            continue;
        };
        let why = format!("column '{}': {problem}", field.name());
        return Err(spec.error(ErrorKind::InvalidArgument, why));
    }
    Ok(())
}
