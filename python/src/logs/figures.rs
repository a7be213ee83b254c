//! What searches count: buckets of time, and values of fields.

use std::collections::HashMap;
use std::hash::{Hash, Hasher};

use pyo3::prelude::*;
use pyo3::types::PyDict;
use timestrata_logs::{Bucket, Facet, Level};

use crate::timestamp::datetime_of_ns;

/// How many entries a stretch of time has. Given by `Logs.histogram`.
///
/// Examples
/// --------
/// >>> import timestrata
/// >>> logs = timestrata.open().logs("app")
/// >>> timestamp = logs.write("request served", level="info", status=200)
/// >>> [bucket] = logs.histogram(step="1d")
/// >>> bucket.count, bucket.levels["info"]
/// (1, 1)
#[pyclass(frozen, eq, hash, module = "timestrata", weakref)]
#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct LogBucket {
    /// Its first nanosecond since 1970-01-01 UTC.
    #[pyo3(get)]
    start: i64,
    /// The first nanosecond behind it.
    #[pyo3(get)]
    end: i64,
    /// Entries in it.
    #[pyo3(get)]
    count: u64,
    levels: [u64; Level::ALL.len()],
}

impl LogBucket {
    pub(super) fn new(bucket: &Bucket, step: i64) -> Self {
        let Bucket { start, count, levels } = *bucket;
        Self { start, end: start.saturating_add(step), count, levels }
    }
}

#[pymethods]
impl LogBucket {
    /// One of these parts, for `timestrata.connect`.
    #[staticmethod]
    fn _of(start: i64, end: i64, count: u64, levels: HashMap<String, u64>) -> Self {
        let of_level = |level: Level| levels.get(level.name()).copied().unwrap_or(0);
        Self { start, end, count, levels: Level::ALL.map(of_level) }
    }

    /// Its start, as an aware datetime in UTC.
    #[getter]
    fn datetime<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        datetime_of_ns(py, self.start)
    }

    /// How many of them have each level, as ``{level: entries}``. Those without one are only in
    /// ``count``.
    #[getter]
    fn levels<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        for (level, count) in Level::ALL.iter().zip(self.levels) {
            dict.set_item(level.name(), count)?;
        }
        Ok(dict)
    }

    fn __repr__(&self) -> String {
        format!("<LogBucket start={} end={} count={}>", self.start, self.end, self.count)
    }
}

/// Which values a field has, and how many entries have each. Given by `Logs.facets`.
///
/// Examples
/// --------
/// >>> import timestrata
/// >>> logs = timestrata.open().logs("app")
/// >>> timestamp = logs.write("request served", level="info", status=200)
/// >>> [facet] = logs.facets(fields="status")
/// >>> facet.field, facet.values
/// ('status', [('200', 1)])
#[pyclass(frozen, eq, hash, module = "timestrata", weakref)]
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct LogFacet(pub(super) Facet);

impl Hash for LogFacet {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (&self.0.field, self.0.count).hash(state);
    }
}

#[pymethods]
impl LogFacet {
    /// One of these parts, for `timestrata.connect`.
    #[staticmethod]
    fn _of(field: String, count: u64, values: Vec<(String, u64)>, others: u64) -> Self {
        Self(Facet { field, count, values, others })
    }

    /// Name of the field or label, or "level".
    #[getter]
    fn field(&self) -> &str {
        &self.0.field
    }

    /// Entries that have it.
    #[getter]
    fn count(&self) -> u64 {
        self.0.count
    }

    /// Its most frequent values, as text, and how many entries have each: a list of pairs.
    #[getter]
    fn values(&self) -> Vec<(String, u64)> {
        self.0.values.clone()
    }

    /// Entries with other values.
    #[getter]
    fn others(&self) -> u64 {
        self.0.others
    }

    fn __repr__(&self) -> String {
        let Facet { field, count, values, others } = &self.0;
        let shown: Vec<_> =
            values.iter().take(3).map(|(value, count)| format!("{value:?}: {count}")).collect();
        let left = *count - *others != values.iter().take(3).map(|(_, count)| count).sum::<u64>();
        let dots = if left || *others > 0 { ", …" } else { "" };
        format!("<LogFacet {field:?} count={count} {{{}{dots}}}>", shown.join(", "))
    }
}
