//! `Record`: what is sent to a topic, and what is read from one.

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList};
use timestrata_topic::{ClaimedPlace, Record as ModelRecord};

use super::arguments::{GivenRecord, headers, optional_payload};
use crate::payload::Payload;
use crate::timestamp::time_ns;

/// One record of a topic.
///
/// Parameters
/// ----------
/// value : bytes or str, optional
///     What it says; None says that its key is gone.
/// key : bytes or str, optional
///     What it is about: records of one key go to one partition. None is not the same as no bytes.
/// headers : mapping or list of pairs, optional
///     Further names and values; a name may come twice.
/// timestamp : int, datetime or str, optional
///     When it happened, an int in nanoseconds; else the store's clock is taken.
///
/// Examples
/// --------
/// >>> import timestrata
/// >>> timestrata.Record(b"landed", key=b"N12345", headers={"source": b"radar"})
/// <Record key=b'N12345' value=b'landed'>
#[pyclass(frozen, module = "timestrata", weakref)]
#[derive(Debug)]
pub(crate) struct Record {
    /// What it is about; None is not the same as no bytes.
    #[pyo3(get)]
    key: Option<Py<PyBytes>>,
    /// What it says; None: that its key is gone.
    #[pyo3(get)]
    value: Option<Py<PyBytes>>,
    headers: Vec<(String, Py<PyBytes>)>,
    /// Nanoseconds since the epoch; None before it was sent.
    #[pyo3(get)]
    timestamp: Option<i64>,
    /// Name of the topic that it was read from; None for one that was made.
    #[pyo3(get)]
    topic: Option<String>,
    /// Its partition, if it was read.
    #[pyo3(get)]
    partition: Option<u32>,
    /// Its offset in the partition, if it was read.
    #[pyo3(get)]
    offset: Option<u64>,
}

/// Key, value, headers, timestamp and partition of a record.
type GivenParts<'py> = (
    Option<Bound<'py, PyBytes>>,
    Option<Bound<'py, PyBytes>>,
    Vec<(String, Bound<'py, PyBytes>)>,
    Option<i64>,
    Option<u32>,
);

fn bytes(py: Python<'_>, part: Option<&[u8]>) -> Option<Py<PyBytes>> {
    part.map(|part| PyBytes::new(py, part).unbind())
}

impl Record {
    /// A record that was read.
    pub(super) fn read(
        py: Python<'_>,
        topic: &str,
        partition: u32,
        offset: u64,
        record: &ModelRecord<'_>,
    ) -> Self {
        let headers = record.headers.iter();
        let headers = headers
            .map(|(name, value)| ((*name).to_owned(), PyBytes::new(py, value).unbind()))
            .collect();
        Self {
            key: bytes(py, record.key),
            value: bytes(py, record.value),
            headers,
            timestamp: record.timestamp_ns,
            topic: Some(topic.to_owned()),
            partition: Some(partition),
            offset: Some(offset),
        }
    }

    pub(super) fn place(&self) -> Option<(&str, u32, u64)> {
        Some((self.topic.as_deref()?, self.partition?, self.offset?))
    }

    pub(super) fn given(&self, py: Python<'_>) -> PyResult<GivenRecord> {
        let part = |part: &Option<Py<PyBytes>>| {
            part.as_ref().map(|bytes| Payload::Bytes(bytes.bind(py).clone().into()))
        };
        let mut list = Vec::with_capacity(self.headers.len());
        for (name, value) in &self.headers {
            let name = pyo3::types::PyString::new(py, name).try_into()?;
            list.push((name, Payload::Bytes(value.bind(py).clone().into())));
        }
        Ok(GivenRecord {
            key: part(&self.key),
            value: part(&self.value),
            headers: list,
            timestamp_ns: self.timestamp,
            partition: None,
            claimed: ClaimedPlace {
                topic: self.topic.clone(),
                partition: self.partition,
                offset: self.offset,
            },
        })
    }
}

#[pymethods]
impl Record {
    #[new]
    #[pyo3(signature = (value=None, *, key=None, headers=None, timestamp=None))]
    fn new(
        py: Python<'_>,
        value: Option<&Bound<'_, PyAny>>,
        key: Option<&Bound<'_, PyAny>>,
        headers: Option<&Bound<'_, PyAny>>,
        timestamp: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let part = |part: Option<&Bound<'_, PyAny>>, what| {
            let payload = part.map(|part| optional_payload(part, what)).transpose()?.flatten();
            Ok::<_, PyErr>(bytes(py, payload.as_ref().map(Payload::bytes)))
        };
        let pairs = headers.map(self::headers).transpose()?.unwrap_or_default();
        let pairs = pairs
            .iter()
            .map(|(name, value)| (name.to_string(), PyBytes::new(py, value.bytes()).unbind()));
        Ok(Self {
            key: part(key, "a record's key")?,
            value: part(value, "a record's value")?,
            headers: pairs.collect(),
            timestamp: timestamp.map(time_ns).transpose()?.flatten(),
            topic: None,
            partition: None,
            offset: None,
        })
    }

    /// One that was read, of these parts, for `timestrata.connect`.
    #[staticmethod]
    fn _of(
        place: (String, u32, u64),
        timestamp: Option<i64>,
        key: Option<Py<PyBytes>>,
        value: Option<Py<PyBytes>>,
        headers: Vec<(String, Py<PyBytes>)>,
    ) -> Self {
        let (topic, partition, offset) = place;
        let (topic, partition, offset) = (Some(topic), Some(partition), Some(offset));
        Self { key, value, headers, timestamp, topic, partition, offset }
    }

    /// A record of any form that can be sent, as the parts of one: key, value, headers, timestamp, and the partition that it names.
    #[staticmethod]
    fn _given<'py>(record: &Bound<'py, PyAny>) -> PyResult<GivenParts<'py>> {
        let (py, given) = (record.py(), GivenRecord::of(record)?);
        let part =
            |part: &Option<Payload>| part.as_ref().map(|payload| PyBytes::new(py, payload.bytes()));
        let headers = given.headers.iter();
        let headers = headers
            .map(|(name, value)| (name.to_string(), PyBytes::new(py, value.bytes())))
            .collect();
        Ok((part(&given.key), part(&given.value), headers, given.timestamp_ns, given.partition))
    }

    /// Its headers, as a list of pairs.
    #[getter]
    fn headers<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        PyList::new(py, self.headers.iter().map(|(name, value)| (name, value.bind(py))))
    }

    /// Its parts, as a dict: what `Producer.send` and `timestrata.verify` take too.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let parts = PyDict::new(py);
        parts.set_item("topic", &self.topic)?;
        parts.set_item("partition", self.partition)?;
        parts.set_item("offset", self.offset)?;
        parts.set_item("timestamp", self.timestamp)?;
        parts.set_item("key", &self.key)?;
        parts.set_item("value", &self.value)?;
        parts.set_item("headers", self.headers(py)?)?;
        Ok(parts)
    }

    fn __eq__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<bool> {
        match other.cast::<Self>() {
            Ok(other) => self.to_dict(py)?.eq(other.get().to_dict(py)?),
            Err(_) => Ok(false),
        }
    }

    fn __hash__(&self, py: Python<'_>) -> PyResult<isize> {
        let place = (&self.topic, self.partition, self.offset, self.timestamp);
        (place, &self.key, &self.value).into_pyobject(py)?.hash()
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let shown = |part: &Option<Py<PyBytes>>| match part {
            None => Ok("None".to_owned()),
            Some(part) => part.bind(py).repr().map(|text| text.to_string()),
        };
        let place = match self.place() {
            Some((topic, partition, offset)) => format!("{topic}/{partition} @{offset} "),
            None => String::new(),
        };
        Ok(format!("<Record {place}key={} value={}>", shown(&self.key)?, shown(&self.value)?))
    }
}
