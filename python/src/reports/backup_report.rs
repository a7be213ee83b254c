//! `BackupReport`: what a backup copied.

use pyo3::prelude::*;

/// What a backup copied.
#[pyclass(frozen, module = "timestrata")]
#[derive(Debug)]
pub(crate) struct BackupReport {
    /// Files in the copy.
    #[pyo3(get)]
    files: u64,
    /// Bytes in the copy.
    #[pyo3(get)]
    bytes: u64,
    /// The last commit that is in the copy.
    #[pyo3(get)]
    seq: u64,
    /// Rows that can't be read in the copy, as in the original, a line each: only with `with_damage`.
    #[pyo3(get)]
    damaged: Vec<String>,
}

impl From<timestrata_engine::BackupReport> for BackupReport {
    fn from(report: timestrata_engine::BackupReport) -> Self {
        let damaged = report.damaged.iter().map(ToString::to_string).collect();
        Self { files: report.files, bytes: report.bytes, seq: report.seq.0, damaged }
    }
}

#[pymethods]
impl BackupReport {
    fn __repr__(&self) -> String {
        format!("<BackupReport files={} bytes={} seq={}>", self.files, self.bytes, self.seq)
    }
}
