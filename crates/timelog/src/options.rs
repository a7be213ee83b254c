//! Options of a new time log, and how they are kept in the properties of its stream.

use std::sync::Arc;

use arrow_schema::{DataType, Field, Schema, SchemaRef};
use timestrata_engine::{
    BLOCK_ROWS_PROPERTY, Error, ErrorKind, Merge, Result, Retention, RunFormat, Stream, StreamSpec,
};
use timestrata_values::name::{MODEL_PROPERTY, expect_model};

use super::{Codec, Unit, ValueColumns};

const MODEL: &str = "timelog";
const CODEC_PROPERTY: &str = "codec";
const UNIT_PROPERTY: &str = "unit";
const VALUES_PROPERTY: &str = "values";
const MIN_TIME_PROPERTY: &str = "min_time";
const SCALAR: &str = "scalar";
const RECORD: &str = "record";
pub(super) const TIME_ZONE: &str = "UTC";

/// Rows of a block of a typed log: as many as may be, so that a column of millions of values is
/// one piece of memory, which others can use without a copy.
const TYPED_BLOCK_ROWS: &str = "16777216";

pub(super) const TIME_NAME: &str = "time";
pub(super) const VALUE_NAME: &str = "value";

/// Position of the time column.
pub(super) const TIME_COLUMN: usize = 0;
/// Position of the value column, in a log that isn't typed.
pub const VALUE_COLUMN: usize = 1;

/// What [`Timelog::create`](super::Timelog::create) makes. The default: bytes,
/// milliseconds, compacted runs stay Arrow files, nothing is thrown away.
///
/// ```
/// use timestrata_timelog::{Codec, TimelogOptions, Unit};
///
/// let options = TimelogOptions { codec: Codec::Cbor, unit: Unit::Nano, ..Default::default() };
/// assert!(options.retention.is_none());
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TimelogOptions {
    /// What the values are. Default: bytes. Fixed for the log's life.
    pub codec: Codec,
    /// What the values are in a log of codec `Arrow`, which must say it; `None` in others.
    pub columns: Option<ValueColumns>,
    /// The unit of its timestamps. Default: milliseconds. Fixed for the log's life.
    pub unit: Unit,
    /// Files of compacted runs: `Hot` (Arrow, mapped, reads copy nothing; the default) or
    /// `Cold` (Parquet with ZSTD, smaller). A log that exists keeps what it has.
    pub run_format: RunFormat,
    /// What may be thrown away by itself. `None`, the default: nothing in a new log, no
    /// change to one that exists. `Some` also changes a log that exists.
    pub retention: Option<Retention>,
    /// Entries with smaller times are refused. `None`, the default: none in a new log, whatever it
    /// is in one that exists. Fixed for the log's life.
    pub min_time: Option<i64>,
}

impl Default for TimelogOptions {
    fn default() -> Self {
        Self {
            codec: Codec::default(),
            columns: None,
            unit: Unit::default(),
            run_format: RunFormat::Hot,
            retention: None,
            min_time: None,
        }
    }
}

impl TimelogOptions {
    /// A typed log in milliseconds.
    pub fn typed(columns: ValueColumns) -> Self {
        Self { codec: Codec::Arrow, columns: Some(columns), ..Self::default() }
    }

    /// The stream that keeps such a log.
    ///
    /// # Errors
    /// `InvalidArgument` if the codec is `Arrow` and there are no columns, or the other way round.
    pub(super) fn spec(&self, name: &str) -> Result<StreamSpec> {
        let property = |key: &str, value: &str| (key.to_owned(), value.to_owned());
        let mut properties = vec![
            property(MODEL_PROPERTY, MODEL),
            property(CODEC_PROPERTY, self.codec.name()),
            property(UNIT_PROPERTY, self.unit.name()),
        ];
        properties.extend(self.min_time.map(|time| property(MIN_TIME_PROPERTY, &time.to_string())));
        let refuse = |why: &str| {
            Err(Error::new(ErrorKind::InvalidArgument, format!("time log '{name}': {why}")))
        };
        match (self.codec, &self.columns) {
            (Codec::Arrow, None) => {
                return refuse("codec 'arrow' needs to know the type of the values: give a schema");
            }
            (Codec::Arrow, Some(columns)) => {
                let kind = if columns.is_record() { RECORD } else { SCALAR };
                properties.push(property(VALUES_PROPERTY, kind));
                properties.push(property(BLOCK_ROWS_PROPERTY, TYPED_BLOCK_ROWS));
            }
            (_, None) => {}
            (_, Some(_)) => return refuse("a schema is for codec 'arrow' only"),
        }
        Ok(StreamSpec {
            merge: Merge::Keep,
            run_format: self.run_format,
            retention: self.retention.unwrap_or_default(),
            properties,
            ..StreamSpec::new(name, schema(self.unit, self.columns.as_ref()))
        })
    }
}

/// The columns of a time log's stream.
pub(super) fn schema(unit: Unit, columns: Option<&ValueColumns>) -> SchemaRef {
    let time = DataType::Timestamp(unit.to_arrow(), Some(TIME_ZONE.into()));
    let mut fields = vec![Arc::new(Field::new(TIME_NAME, time, false))];
    match columns {
        Some(columns) => fields.extend(columns.fields().iter().cloned()),
        None => fields.push(Arc::new(Field::new(VALUE_NAME, DataType::Binary, false))),
    }
    Arc::new(Schema::new(fields))
}

/// Reads the value columns of a typed log's stream.
pub(super) fn columns_of_stream(stream: &Stream) -> Result<ValueColumns> {
    let is_record = stream.property(VALUES_PROPERTY) == Some(RECORD);
    ValueColumns::of_schema(stream.schema(), is_record)
}

/// The time below which entries of a log are refused.
///
/// # Errors
/// `InvalidArgument` if the stream says one that is no number.
pub(super) fn min_time_of(stream: &Stream) -> Result<Option<i64>> {
    let read = |text: &str| {
        text.parse().map_err(|_| {
            let what = format!(
                "stream '{}' has a smallest time that is no number: {text:?}",
                stream.name()
            );
            Error::new(ErrorKind::InvalidArgument, what)
        })
    };
    stream.property(MIN_TIME_PROPERTY).map(read).transpose()
}

/// Whether a stream is a time log.
#[must_use]
pub fn is_timelog(stream: &Stream) -> bool {
    stream.property(MODEL_PROPERTY) == Some(MODEL)
}

/// What the values of a time log are; `None` if the stream is no time log.
///
/// ```
/// use timestrata_engine::{Settings, Store};
/// use timestrata_timelog::{Codec, Timelog, TimelogOptions, codec_of};
///
/// # fn main() -> timestrata_engine::Result<()> {
/// let store = Store::memory(Settings::default())?;
/// Timelog::create(&store, "door", TimelogOptions::default())?;
/// let stream = store.expect_stream("door")?;
/// assert_eq!(codec_of(&stream), Some(Codec::Bytes));
/// # Ok(())
/// # }
/// ```
pub fn codec_of(stream: &Stream) -> Option<Codec> {
    of_stream(stream).ok().map(|(codec, _)| codec)
}

/// Reads codec and unit from a stream; `InvalidArgument` if it is no time log.
pub(super) fn of_stream(stream: &Stream) -> Result<(Codec, Unit)> {
    let spec = stream.spec();
    let refuse = |what: String| {
        Err(Error::new(ErrorKind::InvalidArgument, format!("stream '{}' {what}", spec.name)))
    };
    expect_model(stream, "time log", MODEL)?;
    let (Some(codec), Some(unit)) =
        (stream.property(CODEC_PROPERTY), stream.property(UNIT_PROPERTY))
    else {
        return refuse("is a time log without codec or unit".to_owned());
    };
    let (codec, unit) = (codec.parse::<Codec>()?, unit.parse::<Unit>()?);
    let columns = match codec {
        Codec::Arrow => Some(columns_of_stream(stream)?),
        _ => None,
    };
    let fields_fit = spec.schema.fields() == schema(unit, columns.as_ref()).fields();
    if !fields_fit || stream.key_columns() != [TIME_COLUMN] || spec.merge != Merge::Keep {
        return refuse(format!(
            "is called a time log in '{unit}', but its columns, key or merge rule are another's"
        ));
    }
    Ok((codec, unit))
}
