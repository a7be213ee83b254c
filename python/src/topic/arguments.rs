//! What callers give: records, partitions, spans of time.

use arrow_array::RecordBatch;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;
use pyo3::types::{PyBytes, PyDict, PyList, PyMapping, PyString};
use timestrata_table::Table as TableModel;
use timestrata_topic::{ClaimedPlace, Record as ModelRecord, Stamp};

use super::Record;
use crate::error::type_name;
use crate::handle::Handle;
use crate::payload::Payload;
use crate::settings::word;
use crate::table::Table;
use crate::timestamp::time_ns;

/// A payload, or what else it must be.
fn payload_of(value: &Bound<'_, PyAny>, what: &str) -> PyResult<Payload> {
    Payload::of(value)?.ok_or_else(|| {
        let given = type_name(value);
        let message = format!("{what} must be bytes, str or None, not '{given}': encode it first");
        PyTypeError::new_err(message)
    })
}

pub(super) fn optional_payload(value: &Bound<'_, PyAny>, what: &str) -> PyResult<Option<Payload>> {
    if value.is_none() { Ok(None) } else { payload_of(value, what).map(Some) }
}

/// A record's value: bytes or text, or a dict or a list, whose JSON it is.
fn value_of(value: &Bound<'_, PyAny>) -> PyResult<Option<Payload>> {
    if !value.is_instance_of::<PyDict>() && !value.is_instance_of::<PyList>() {
        return optional_payload(value, "a record's value");
    }
    // What JSON doesn't have is an error, and not "NaN", which others can't read.
    let py = value.py();
    let options = PyDict::new(py);
    options.set_item("ensure_ascii", false)?;
    options.set_item("allow_nan", false)?;
    options.set_item("separators", (",", ":"))?;
    let text = py.import("json")?.getattr("dumps")?.call((value,), Some(&options))?;
    payload_of(&text, "a record's value").map(Some)
}

/// A record that somebody gave.
#[derive(Debug, Default)]
pub(super) struct GivenRecord {
    pub(super) key: Option<Payload>,
    pub(super) value: Option<Payload>,
    pub(super) headers: Vec<(PyBackedStr, Payload)>,
    pub(super) timestamp_ns: Option<i64>,
    pub(super) partition: Option<u32>,
    /// Where it says that it was read.
    pub(super) claimed: ClaimedPlace,
}

impl GivenRecord {
    /// A `Record`, a mapping of its parts, or the value alone.
    pub(super) fn of(record: &Bound<'_, PyAny>) -> PyResult<Self> {
        // To ask whether something is a mapping takes longer than all else that is done with a small value.
        if (record.is_exact_instance_of::<PyString>() || record.is_exact_instance_of::<PyBytes>())
            && let Some(value) = Payload::of(record)?
        {
            return Ok(Self { value: Some(value), ..Self::default() });
        }
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
        let value = payload_of(record, "a record that is neither Record nor mapping")?;
        Ok(Self { value: Some(value), ..Self::default() })
    }

    fn set(&mut self, name: &Bound<'_, PyAny>, part: &Bound<'_, PyAny>) -> PyResult<()> {
        match name.extract::<PyBackedStr>()?.as_ref() {
            "key" => self.key = optional_payload(part, "a record's key")?,
            "value" => self.value = value_of(part)?,
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
        headers.push((name, payload_of(&value, "a header's value")?));
    }
    Ok(headers)
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

/// Whose clock records have.
pub(crate) fn stamp_of(name: &str) -> PyResult<Stamp> {
    word("timestamp", name, &[("producer", Stamp::Producer), ("store", Stamp::Store)])
}
