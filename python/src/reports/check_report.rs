//! `CheckReport`: what `check` read and found.

use pyo3::prelude::*;

use super::Finding;

/// What a check read and found. True if nothing is damaged.
///
/// Examples
/// --------
/// >>> import timestrata
/// >>> report = timestrata.open().check()
/// >>> report.is_sound, report.findings
/// (True, [])
#[pyclass(frozen, get_all, module = "timestrata")]
#[derive(Debug)]
pub(crate) struct CheckReport {
    /// Files read.
    files: u64,
    /// Bytes read.
    bytes: u64,
    /// Rows read in run files.
    rows: u64,
    /// Rows that were in no run file yet, but in memory: their commits were read in the log.
    memory_rows: u64,
    /// Commits read in the log.
    wal_commits: u64,
    /// What is wrong, as a list of Finding.
    findings: Vec<Finding>,
    /// Whether nothing is damaged.
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
