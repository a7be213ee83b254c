//! `LogEntry`: one entry of a log, as it was read.

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyString};
use timestrata_logs::{Clock, Entries, EntryRef, FieldValue, NewEntry, Position, Scalar};
use timestrata_table::time_text;

use crate::codec::cbor;
use crate::error::invalid;
use crate::timestamp::datetime_of_ns;

/// Characters of a message that are shown.
const SHOWN_CHARS: usize = 80;

/// One entry of a log. Given by `Logs.search` and others; `Logs.write_many` takes it too.
///
/// Times are nanoseconds since 1970-01-01 UTC, and also datetimes, which are rounded down to
/// microseconds. Labels and fields are dicts made anew each time.
///
/// Examples
/// --------
/// >>> import timestrata
/// >>> logs = timestrata.open().logs("app")
/// >>> timestamp = logs.write("disk is full", level="error", labels={"host": "web-1"}, free=0)
/// >>> [entry] = logs.search()
/// >>> entry.level, entry.message, entry.labels, entry.fields
/// ('error', 'disk is full', {'host': 'web-1'}, {'free': 0})
/// >>> entry.timestamp == timestamp
/// True
#[pyclass(frozen, module = "timestrata", weakref)]
#[derive(Debug)]
pub(crate) struct LogEntry {
    entries: Arc<Entries>,
    row: usize,
    /// The clock of the search that gave it.
    by: Clock,
}

impl LogEntry {
    /// The entry in a row of some, which there must be.
    pub(crate) fn new(entries: Arc<Entries>, row: usize, by: Clock) -> Self {
        Self { entries, row, by }
    }

    fn entry(&self) -> PyResult<EntryRef<'_>> {
        // A mistake of this crate's own, told instead of a panic.
        self.entries.get(self.row).ok_or_else(|| invalid("an entry in no row"))
    }

    /// Its place in the order of a clock.
    pub(super) fn place(&self, by: Clock) -> PyResult<Position> {
        Ok(self.entry()?.position(by))
    }

    /// Its place in the order of the search that gave it.
    pub(super) fn own_place(&self) -> PyResult<Position> {
        self.place(self.by)
    }

    /// When it arrived.
    pub(super) fn arrival(&self) -> PyResult<i64> {
        Ok(self.entry()?.timestamp())
    }

    /// The entry as it can be written again.
    pub(super) fn to_new(&self) -> PyResult<NewEntry> {
        Ok(self.entry()?.to_owned())
    }
}

#[pymethods]
impl LogEntry {
    /// When it arrived, in nanoseconds since 1970-01-01 UTC. No other entry of the log has the same.
    #[getter]
    fn timestamp(&self) -> PyResult<i64> {
        self.arrival()
    }

    /// When it happened, as its sender says, in nanoseconds since 1970-01-01 UTC; None if it doesn't.
    #[getter]
    fn source_time(&self) -> PyResult<Option<i64>> {
        Ok(self.entry()?.source_time())
    }

    /// When it arrived, as an aware datetime in UTC.
    #[getter]
    fn datetime<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        datetime_of_ns(py, self.entry()?.timestamp())
    }

    /// When it happened, as an aware datetime in UTC; None if its sender doesn't say.
    #[getter]
    fn source_datetime<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.entry()?.source_time().map(|time| datetime_of_ns(py, time)).transpose()
    }

    /// How bad it is: "trace", "debug", "info", "warn", "error" or "fatal"; None if that isn't known.
    #[getter]
    fn level(&self) -> PyResult<Option<&'static str>> {
        Ok(self.entry()?.level().map(|level| level.name()))
    }

    /// What happened.
    #[getter]
    fn message(&self) -> PyResult<&str> {
        Ok(self.entry()?.message())
    }

    /// Where it comes from: a dict of str.
    #[getter]
    fn labels<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        let labels = self.entry()?.labels();
        labels.iter().try_for_each(|(name, value)| dict.set_item(name, value))?;
        Ok(dict)
    }

    /// What else is known of it: a dict of what was given. Ints, floats and nested values are exactly
    /// as they were, tuples are lists; the order of fields isn't kept.
    #[getter]
    fn fields<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        let mut outcome = Ok(());
        self.entry()?.each_field(|name, value| {
            if outcome.is_ok() {
                outcome = object_of(py, value).and_then(|object| dict.set_item(name, object));
            }
        });
        outcome.map(|()| dict)
    }

    /// Its place in the order of the search that gave it: `Logs.search` and `Logs.tail` go on behind
    /// it, also in another process.
    #[getter]
    fn position(&self) -> PyResult<String> {
        Ok(self.own_place()?.to_string())
    }

    /// Its parts, as a dict: what `Logs.write_many` takes too.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let parts = PyDict::new(py);
        parts.set_item("timestamp", self.timestamp()?)?;
        parts.set_item("source_time", self.source_time()?)?;
        parts.set_item("level", self.level()?)?;
        parts.set_item("message", self.message()?)?;
        parts.set_item("labels", self.labels(py)?)?;
        parts.set_item("fields", self.fields(py)?)?;
        Ok(parts)
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> PyResult<bool> {
        let Ok(other) = other.cast::<Self>() else { return Ok(false) };
        let (one, other) = (self.entry()?, other.get().entry()?);
        Ok(one.timestamp() == other.timestamp() && one.to_owned() == other.to_owned())
    }

    fn __hash__(&self, py: Python<'_>) -> PyResult<isize> {
        PyInt::new(py, self.timestamp()?).hash()
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let entry = self.entry()?;
        let (time, level) = (time_text(entry.timestamp()), entry.level());
        let level = level.map(|level| format!(" {level}")).unwrap_or_default();
        let mut message: String = entry.message().chars().take(SHOWN_CHARS).collect();
        if message.len() < entry.message().len() {
            message.push('…');
        }
        Ok(format!("<LogEntry {time}{level} {}>", PyString::new(py, &message).repr()?))
    }
}

/// The object of a field's value.
///
/// # Errors
/// `InvalidDataError` for bytes that are no value.
fn object_of<'py>(py: Python<'py>, value: FieldValue<'_>) -> PyResult<Bound<'py, PyAny>> {
    Ok(match value {
        FieldValue::Scalar(Scalar::Bool(value)) => PyBool::new(py, value).to_owned().into_any(),
        FieldValue::Scalar(Scalar::Int(value)) => PyInt::new(py, value).into_any(),
        FieldValue::Scalar(Scalar::UInt(value)) => PyInt::new(py, value).into_any(),
        FieldValue::Scalar(Scalar::Float(value)) => PyFloat::new(py, value).into_any(),
        FieldValue::Scalar(Scalar::Text(value)) => PyString::new(py, value).into_any(),
        FieldValue::Item(item) => cbor::decode(py, item)?,
    })
}
