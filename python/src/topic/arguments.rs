//! What callers give: records, partitions, spans of time.

use arrow_array::RecordBatch;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::pybacked::{PyBackedBytes, PyBackedStr};
use pyo3::types::{PyByteArray, PyBytes, PyDict, PyMapping, PyMemoryView, PyString};
use timestrata_table::{Table as TableModel, parse_time};
use timestrata_timelog::Unit;
use timestrata_topic::{ClaimedPlace, Record as ModelRecord, Stamp};

use super::Record;
use crate::error::to_python;
use crate::handle::Handle;
use crate::table::Table;
use crate::timestamp::timestamp;

/// Bytes of a caller, without a copy where they are bytes or text.
#[derive(Debug)]
pub(super) enum Payload {
    Bytes(PyBackedBytes),
    Text(PyBackedStr),
}

impl Payload {
    fn of(value: &Bound<'_, PyAny>, what: &str) -> PyResult<Self> {
        if let Ok(bytes) = value.cast::<PyBytes>() {
            return Ok(Self::Bytes(bytes.clone().into()));
        }
        if let Ok(text) = value.cast::<PyString>() {
            return Ok(Self::Text(text.clone().try_into()?));
        }
        if let Ok(bytes) = value.cast::<PyByteArray>() {
            return Ok(Self::Bytes(bytes.clone().into()));
        }
        if value.is_instance_of::<PyMemoryView>() {
            let bytes = value.call_method0("tobytes")?;
            return Ok(Self::Bytes(bytes.cast_into::<PyBytes>()?.into()));
        }
        Err(PyTypeError::new_err(format!(
            "{what} must be bytes, str or None, not '{}': encode it first",
            value.get_type().name()?
        )))
    }

    pub(super) fn optional(value: &Bound<'_, PyAny>, what: &str) -> PyResult<Option<Self>> {
        if value.is_none() { Ok(None) } else { Self::of(value, what).map(Some) }
    }

    pub(super) fn bytes(&self) -> &[u8] {
        match self {
            Self::Bytes(bytes) => bytes,
            Self::Text(text) => text.as_bytes(),
        }
    }
}

/// A record that somebody gave.
#[derive(Debug, Default)]
pub(super) struct Given {
    pub(super) key: Option<Payload>,
    pub(super) value: Option<Payload>,
    pub(super) headers: Vec<(PyBackedStr, Payload)>,
    pub(super) timestamp_ns: Option<i64>,
    pub(super) partition: Option<u32>,
    /// Where it says that it was read.
    pub(super) claimed: ClaimedPlace,
}

impl Given {
    /// A `Record`, a mapping of its parts, or the value alone.
    pub(super) fn of(record: &Bound<'_, PyAny>) -> PyResult<Self> {
        if let Ok(record) = record.cast::<Record>() {
            return record.get().given(record.py());
        }
        if let Ok(parts) = record.cast::<PyDict>() {
            let mut given = Self::default();
            for (name, part) in parts {
                given.set(&name, &part)?;
            }
            return Ok(given);
        }
        if let Ok(parts) = record.cast::<PyMapping>() {
            let mut given = Self::default();
            for item in parts.items()? {
                let (name, part) = item.extract::<(Bound<'_, PyAny>, Bound<'_, PyAny>)>()?;
                given.set(&name, &part)?;
            }
            return Ok(given);
        }
        let value = Payload::of(record, "a record that is neither Record nor mapping")?;
        Ok(Self { value: Some(value), ..Self::default() })
    }

    fn set(&mut self, name: &Bound<'_, PyAny>, part: &Bound<'_, PyAny>) -> PyResult<()> {
        match name.extract::<PyBackedStr>()?.as_ref() {
            "key" => self.key = Payload::optional(part, "a record's key")?,
            "value" => self.value = Payload::optional(part, "a record's value")?,
            "headers" => self.headers = headers(part)?,
            "timestamp" => self.timestamp_ns = time_ns(part)?,
            "partition" => {
                self.partition = part.extract()?;
                self.claimed.partition = self.partition;
            }
            // What a record that was read says of itself.
            "topic" => self.claimed.topic = part.extract()?,
            "offset" => self.claimed.offset = part.extract()?,
            other => {
                return Err(PyValueError::new_err(format!(
                    "a record has no part {other:?}: it has key, value, headers, timestamp and \
                     partition"
                )));
            }
        }
        Ok(())
    }

    pub(super) fn record(&self) -> ModelRecord<'_> {
        let headers = self.headers.iter().map(|(name, value)| (&**name, value.bytes()));
        ModelRecord {
            key: self.key.as_ref().map(Payload::bytes),
            value: self.value.as_ref().map(Payload::bytes),
            headers: headers.collect(),
            timestamp_ns: self.timestamp_ns,
            partition: self.partition,
        }
    }
}

/// Headers: a mapping, or pairs, of which two may have one name.
pub(super) fn headers(given: &Bound<'_, PyAny>) -> PyResult<Vec<(PyBackedStr, Payload)>> {
    if given.is_none() {
        return Ok(Vec::new());
    }
    let pairs = match given.cast::<PyMapping>() {
        Ok(mapping) => mapping.items()?.into_any(),
        Err(_) => given.clone(),
    };
    let mut headers = Vec::new();
    for pair in pairs.try_iter()? {
        let (name, value) = pair?.extract::<(PyBackedStr, Bound<'_, PyAny>)>()?;
        headers.push((name, Payload::of(&value, "a header's value")?));
    }
    Ok(headers)
}

/// A time in nanoseconds: an int of them, a datetime, an ISO string, a numpy or pandas time.
pub(crate) fn time_ns(value: &Bound<'_, PyAny>) -> PyResult<Option<i64>> {
    if value.is_none() {
        return Ok(None);
    }
    if let Ok(text) = value.cast::<PyString>() {
        let unit = arrow_schema::TimeUnit::Nanosecond;
        let kind = arrow_schema::DataType::Timestamp(unit, Some("UTC".into()));
        let time = parse_time(&text.to_string(), &kind);
        return time.map(Some).map_err(|error| to_python(value.py(), &error));
    }
    timestamp(value, Unit::Nano).map(Some)
}

/// Rows of tables that are to be in the same commit: pairs of table and rows.
pub(super) fn also_of(
    py: Python<'_>,
    handle: &Handle,
    also: Option<Vec<(Bound<'_, Table>, Bound<'_, PyAny>)>>,
) -> PyResult<Vec<(TableModel, RecordBatch)>> {
    let pairs = also.unwrap_or_default();
    pairs.iter().map(|(table, rows)| table.get().rows_for(py, handle, rows)).collect()
}

/// A span of seconds, as nanoseconds.
pub(crate) fn span_ns(what: &str, seconds: Option<f64>) -> PyResult<Option<u64>> {
    match seconds {
        None => Ok(None),
        Some(seconds) if (0.0..9.2e9).contains(&seconds) => Ok(Some((seconds * 1e9) as u64)),
        Some(seconds) => Err(PyValueError::new_err(format!(
            "{what}={seconds}: it must be a number of seconds from 0 to below 9.2e9"
        ))),
    }
}

/// Whose clock records have.
pub(crate) fn stamp_of(word: &str) -> PyResult<Stamp> {
    match word {
        "producer" => Ok(Stamp::Producer),
        "store" => Ok(Stamp::Store),
        other => Err(PyValueError::new_err(format!(
            "timestamp={other:?}: it must be 'producer' or 'store'"
        ))),
    }
}
