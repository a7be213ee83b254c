//! `Logs`: the class itself, what it is, and its upkeep. Writing and reading have files of their own.

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::PyDict;
use timestrata_engine::Retention;
use timestrata_logs::{Labels, Logs as LogsModel, LogsOptions};

use super::arguments::add_labels;
use crate::handle::Handle;
use crate::opened::{Opened, Ways};
use crate::settings::span_ns;

/// A log of an application: entries with a level, a message, labels and fields, by the time of their
/// arrival. Made by `Store.logs`.
///
/// Python's own ``logging`` writes to it by way of ``timestrata.logging.Handler``.
///
/// Examples
/// --------
/// >>> import timestrata
/// >>> logs = timestrata.open().logs("app", labels={"service": "api"})
/// >>> first = logs.write("request served", level="info", path="/", status=200)
/// >>> second = logs.write("disk", level="error", device="sda1")
/// >>> second > first
/// True
/// >>> [(entry.level, entry.fields) for entry in logs.search("disk")]
/// [('error', {'device': 'sda1'})]
/// >>> logs.count(), len(logs)
/// (2, 2)
#[pyclass(frozen, module = "timestrata", weakref)]
#[derive(Debug)]
pub(crate) struct Logs {
    pub(super) log: Opened<LogsModel>,
    /// What entries have that say nothing else.
    pub(super) labels: Labels,
}

pub(super) const WAYS: Ways<LogsModel, LogsOptions> = Ways {
    open: LogsModel::open,
    create: LogsModel::create,
    options: LogsModel::options,
    stream: LogsModel::stream_id,
};

impl Logs {
    /// The store that it is in.
    pub(crate) fn handle(&self) -> &Arc<Handle> {
        &self.log.handle
    }

    /// What entries get which are written by way of this object.
    pub(crate) fn own_labels(&self) -> &Labels {
        &self.labels
    }
}

#[pymethods]
impl Logs {
    /// Its name.
    #[getter]
    fn name(&self) -> &str {
        self.log.even_closed().name()
    }

    /// Names of the fields that have columns of their own, since many entries have them with values of
    /// one kind.
    #[getter]
    fn columns(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        self.log.detached(py, LogsModel::columns)
    }

    /// Longest message that it takes, and longest fields, in bytes.
    #[getter]
    fn message_bytes_max(&self) -> usize {
        self.log.even_closed().message_bytes_max()
    }

    /// Labels that entries have which are written by way of this object, unless they say otherwise.
    #[getter]
    fn labels<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        self.labels.iter().try_for_each(|(name, value)| dict.set_item(name, value))?;
        Ok(dict)
    }

    /// What it was made as, with what has been changed since: spans in seconds, None for no bound.
    fn describe<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let LogsOptions { message_bytes_max, columns_max, retention, clock, compression } =
            self.log.detached(py, LogsModel::options)?;
        let Retention { age_ns, bytes } = retention.unwrap_or_default();
        let shown = PyDict::new(py);
        shown.set_item("name", self.name())?;
        shown.set_item("message_bytes_max", message_bytes_max)?;
        shown.set_item("columns_max", columns_max)?;
        shown.set_item("columns", self.columns(py)?)?;
        shown.set_item("retention_age", age_ns.map(|age| age as f64 / 1e9))?;
        shown.set_item("retention_bytes", bytes)?;
        shown.set_item("clock", clock.unwrap_or_default().to_string())?;
        shown.set_item("compression", compression.unwrap_or_default().to_string())?;
        Ok(shown)
    }

    /// Give an object of the same log whose entries have more labels.
    ///
    /// Parameters
    /// ----------
    /// labels : mapping of str to str
    ///     In the place of those with the same names.
    ///
    /// Examples
    /// --------
    /// >>> import timestrata
    /// >>> logs = timestrata.open().logs("app", labels={"service": "api"})
    /// >>> logs.with_labels({"host": "web-1"}).labels
    /// {'host': 'web-1', 'service': 'api'}
    fn with_labels(&self, labels: &Bound<'_, PyAny>) -> PyResult<Self> {
        let mut more = self.labels.clone();
        add_labels(&mut more, Some(labels))?;
        Ok(Self { log: self.log.clone(), labels: more })
    }

    /// Throw away by itself what arrived more than ``age`` seconds ago, or the oldest beyond so many
    /// ``bytes``. None: no bound.
    #[pyo3(signature = (*, age=None, bytes=None))]
    fn set_retention(&self, py: Python<'_>, age: Option<f64>, bytes: Option<u64>) -> PyResult<()> {
        let retention = Retention { age_ns: span_ns("age", age)?, bytes };
        self.log.detached(py, |log| log.store().set_retention(log.stream_id(), retention))
    }

    /// Write what is in memory to files, of the whole store.
    fn flush(&self, py: Python<'_>) -> PyResult<()> {
        self.log.interruptible(py, LogsModel::flush)
    }

    /// Write what is in memory to files and compact this log's, until nothing is left to do. Ctrl-C
    /// ends the waiting.
    fn compact(&self, py: Python<'_>) -> PyResult<()> {
        self.log.interruptible(py, |log| {
            log.flush()?;
            log.compact()
        })
    }

    /// Remove the log and its entries, durably.
    fn drop(&self, py: Python<'_>) -> PyResult<()> {
        self.log.detached(py, LogsModel::remove)
    }

    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        let count = self.log.detached(py, |log| log.snapshot()?.len())?;
        Ok(usize::try_from(count).unwrap_or(usize::MAX))
    }

    fn __bool__(&self) -> bool {
        true
    }

    fn __repr__(&self) -> String {
        match self.labels.is_empty() {
            true => format!("<Logs {:?}>", self.name()),
            false => format!("<Logs {:?} labels={}>", self.name(), self.labels),
        }
    }
}
