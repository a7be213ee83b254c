//! `CheckReport`: what `check` read and found.

use pyo3::prelude::*;
use pyo3::types::PyList;

use super::Finding;

/// What a check read and found. True if nothing is damaged.
#[pyclass(frozen, module = "timestrata")]
#[derive(Debug)]
pub(crate) struct CheckReport {
    /// Files read.
    #[pyo3(get)]
    files: u64,
    /// Bytes read.
    #[pyo3(get)]
    bytes: u64,
    /// Rows read in run files.
    #[pyo3(get)]
    rows: u64,
    /// Rows that were in no run file yet, but in memory: their commits were read in the log.
    #[pyo3(get)]
    memory_rows: u64,
    /// Commits read in the log.
    #[pyo3(get)]
    wal_commits: u64,
    findings: Vec<Finding>,
    is_sound: bool,
}

impl From<timestrata_engine::CheckReport> for CheckReport {
    fn from(report: timestrata_engine::CheckReport) -> Self {
        Self {
            is_sound: report.is_sound(),
            files: report.files,
            bytes: report.bytes,
            rows: report.rows,
            memory_rows: report.memory_rows,
            wal_commits: report.wal_commits,
            findings: report.findings.into_iter().map(Finding::from).collect(),
        }
    }
}

#[pymethods]
impl CheckReport {
    /// Whether nothing is damaged.
    #[getter]
    fn is_sound(&self) -> bool {
        self.is_sound
    }

    /// What is wrong, as a list of Finding.
    #[getter]
    fn findings<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        PyList::new(py, self.findings.iter().cloned())
    }

    fn __bool__(&self) -> bool {
        self.is_sound
    }

    fn __repr__(&self) -> String {
        let verdict = if self.is_sound { "sound" } else { "damaged" };
        format!(
            "<CheckReport {verdict} files={} bytes={} rows={} memory_rows={} wal_commits={} findings={}>",
            self.files,
            self.bytes,
            self.rows,
            self.memory_rows,
            self.wal_commits,
            self.findings.len()
        )
    }
}
