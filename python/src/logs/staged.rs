//! `CommitLogs`: what a commit over several models writes to a log.

use pyo3::prelude::*;
use pyo3::types::PyDict;
use timestrata_engine::RowEncoder;
use timestrata_logs::{Labels, LogsWrite, NewEntry};

use super::input::{entry_of, fill};
use super::object::WAYS;
use crate::error::to_python;
use crate::interrupt::detached;
use crate::opened::MadeForCommit;
use crate::staging::{Staged, Staging};

/// What a commit writes to a log. Made by `Commit.logs`.
///
/// Examples
/// --------
/// >>> import timestrata
/// >>> store = timestrata.open()
/// >>> with store.commit() as commit:
/// ...     commit.logs("app").write("request served", level="info", status=200)
/// ...     commit.logs("app").write_many(["begun", {"message": "done", "level": "warn"}])
/// >>> store.logs("app").count()
/// 3
#[pyclass(frozen, module = "timestrata")]
pub(crate) struct CommitLogs {
    name: String,
    staging: Staging,
    entries: Staged<Vec<NewEntry>>,
}

impl CommitLogs {
    pub(crate) fn new(name: &str, staging: Staging) -> Self {
        Self { name: name.to_owned(), staging, entries: Staged::default() }
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Writes entries that have these labels, unless they say otherwise.
    pub(crate) fn write_labelled(
        &self,
        entries: &Bound<'_, PyAny>,
        labels: &Labels,
    ) -> PyResult<()> {
        self.staging.check()?;
        let filled = entries.try_iter()?.map(|given| {
            let mut entry = NewEntry::default();
            fill(&mut entry, labels, &given?)?;
            Ok(entry)
        });
        let filled = filled.collect::<PyResult<Vec<_>>>()?;
        self.entries.add(|entries| entries.extend(filled))
    }

    /// What it has; `None`: nothing. The log is made if it is missing.
    pub(crate) fn take(
        &self,
        py: Python<'_>,
        made: &MadeForCommit<'_>,
    ) -> PyResult<Option<LogsWrite>> {
        let entries = self.entries.take().unwrap_or_default();
        if entries.is_empty() {
            return Ok(None);
        }
        let model = WAYS.or_made(py, made, &self.name)?;
        // A few are looked at sooner than the interpreter is released.
        let bytes = entries.iter().map(|entry| entry.message.len()).sum();
        let write = match RowEncoder::suits(entries.len(), bytes) {
            true => LogsWrite::of_entries(&model, entries).map_err(to_python)?,
            false => detached(py, || LogsWrite::of_entries(&model, entries))?,
        };
        Ok(Some(write))
    }
}

#[pymethods]
impl CommitLogs {
    /// Write one entry, behind those before, as `Logs.write` takes it.
    #[pyo3(signature = (message, /, *, level=None, source_time=None, labels=None, **fields))]
    fn write(
        &self,
        message: &str,
        level: Option<&Bound<'_, PyAny>>,
        source_time: Option<&Bound<'_, PyAny>>,
        labels: Option<&Bound<'_, PyAny>>,
        fields: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<()> {
        self.staging.check()?;
        let entry = entry_of(message, level, source_time, &Labels::default(), labels, fields)?;
        self.entries.add(|entries| entries.push(entry))
    }

    /// Write entries, behind those before, as `Logs.write_many` takes them.
    fn write_many(&self, entries: &Bound<'_, PyAny>) -> PyResult<()> {
        self.write_labelled(entries, &Labels::default())
    }
}
