//! What a new time log is to be, and how that is kept in its stream's spec.

use std::sync::Arc;

use arrow_schema::{DataType, Field, Schema, SchemaRef};
use timestrata_engine::{
    Error, ErrorKind, Merge, Result, Retention, RunFormat, Stream, StreamSpec,
};

use super::{Codec, Unit};

/// Property that names a stream's model.
const MODEL_PROPERTY: &str = "model";
const MODEL: &str = "timelog";
const CODEC_PROPERTY: &str = "codec";
const UNIT_PROPERTY: &str = "unit";
const TIME_ZONE: &str = "UTC";

/// Position of the time column.
pub(super) const TIME_COLUMN: usize = 0;
/// Position of the value column.
pub(super) const VALUE_COLUMN: usize = 1;

/// What [`Timelog::create`](super::Timelog::create) makes. The default: bytes,
/// milliseconds, compacted runs stay Arrow files, nothing is thrown away.
///
/// ```
/// use timestrata_models::timelog::{Codec, TimelogOptions, Unit};
///
/// let options = TimelogOptions { codec: Codec::Cbor, unit: Unit::Nano, ..Default::default() };
/// assert!(options.retention.is_none());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimelogOptions {
    /// What the values are. Default: bytes. Fixed for the log's life.
    pub codec: Codec,
    /// The unit of its timestamps. Default: milliseconds. Fixed for the log's life.
    pub unit: Unit,
    /// Files of compacted runs: `Hot` (Arrow, mapped, reads copy nothing; the default) or
    /// `Cold` (Parquet with ZSTD, smaller). A log that exists keeps what it has.
    pub run_format: RunFormat,
    /// What may be thrown away by itself. `None`, the default: nothing in a new log, no
    /// change to one that exists. `Some` also changes a log that exists.
    pub retention: Option<Retention>,
}

impl Default for TimelogOptions {
    fn default() -> Self {
        Self {
            codec: Codec::default(),
            unit: Unit::default(),
            run_format: RunFormat::Hot,
            retention: None,
        }
    }
}

impl TimelogOptions {
    /// The stream that keeps such a log.
    pub(super) fn spec(&self, name: &str) -> StreamSpec {
        let property = |key: &str, value: &str| (key.to_owned(), value.to_owned());
        StreamSpec {
            merge: Merge::Keep,
            run_format: self.run_format,
            retention: self.retention.unwrap_or_default(),
            properties: vec![
                property(MODEL_PROPERTY, MODEL),
                property(CODEC_PROPERTY, self.codec.name()),
                property(UNIT_PROPERTY, self.unit.name()),
            ],
            ..StreamSpec::new(name, schema(self.unit))
        }
    }
}

/// The columns of a time log's stream.
pub(super) fn schema(unit: Unit) -> SchemaRef {
    let time = DataType::Timestamp(unit.to_arrow(), Some(TIME_ZONE.into()));
    Arc::new(Schema::new(vec![
        Field::new("time", time, false),
        Field::new("value", DataType::Binary, false),
    ]))
}

/// Reads codec and unit from a stream; `InvalidArgument` if it is no time log.
pub(super) fn of_stream(stream: &Stream) -> Result<(Codec, Unit)> {
    let spec = stream.spec();
    let property = |wanted: &str| {
        spec.properties.iter().find(|(key, _)| key == wanted).map(|(_, value)| value.as_str())
    };
    let refuse = |what: String| {
        Err(Error::new(ErrorKind::InvalidArgument, format!("stream '{}' {what}", spec.name)))
    };
    match property(MODEL_PROPERTY) {
        Some(MODEL) => {}
        Some(other) => return refuse(format!("is not a time log; its model is '{other}'")),
        None => return refuse("is not a time log; it has no model".to_owned()),
    }
    let (Some(codec), Some(unit)) = (property(CODEC_PROPERTY), property(UNIT_PROPERTY)) else {
        return refuse("is a time log without codec or unit".to_owned());
    };
    let (codec, unit) = (codec.parse::<Codec>()?, unit.parse::<Unit>()?);
    let fields_fit = spec.schema.fields() == schema(unit).fields();
    if !fields_fit || stream.key_columns() != [TIME_COLUMN] || spec.merge != Merge::Keep {
        return refuse(format!(
            "is called a time log in '{unit}', but its columns, key or merge rule are another's"
        ));
    }
    Ok((codec, unit))
}
