//! `BackupReport`: what a backup copied.

use pyo3::prelude::*;
use pyo3::types::PyDict;
use timestrata_engine::MissingRange;

use super::missing_rows;

/// What a backup copied.
///
/// Examples
/// --------
/// >>> import tempfile, timestrata
/// >>> folder = tempfile.TemporaryDirectory()
/// >>> with timestrata.open(folder.name + "/store") as store:
/// ...     report = store.backup(folder.name + "/copy")
/// >>> report.files > 0, report.damaged
/// (True, [])
/// >>> folder.cleanup()
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
    damaged: Vec<MissingRange>,
}

impl From<timestrata_engine::BackupReport> for BackupReport {
    fn from(report: timestrata_engine::BackupReport) -> Self {
        let timestrata_engine::BackupReport { files, bytes, seq, damaged } = report;
        Self { files, bytes, seq: seq.0, damaged }
    }
}

#[pymethods]
impl BackupReport {
    /// Rows that can't be read in the copy, as in the original: only with `with_damage`. A list of dicts of
    /// ``stream``; ``key_min`` and ``key_max``, both inclusive, as text; ``rows``, how many; ``path`` and
    /// ``offset`` of the damage, in bytes; ``why``.
    #[getter]
    fn damaged<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyDict>>> {
        self.damaged.iter().map(|missing| missing_rows(py, missing)).collect()
    }

    fn __repr__(&self) -> String {
        format!("<BackupReport files={} bytes={} seq={}>", self.files, self.bytes, self.seq)
    }
}
