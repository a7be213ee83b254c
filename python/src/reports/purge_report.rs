//! `PurgeReport`: what a purge erased.

use std::path::PathBuf;

use pyo3::prelude::*;

/// What a purge erased.
///
/// Examples
/// --------
/// >>> import tempfile, timestrata
/// >>> folder = tempfile.TemporaryDirectory()
/// >>> with timestrata.open(folder.name + "/store") as store:
/// ...     store.timelog("door").append(1, "opened")
/// ...     store.timelog("door").delete_range(0, 2)
/// ...     report = store.purge("door")
/// >>> report.files > 0, report.still_read
/// (True, [])
/// >>> folder.cleanup()
#[pyclass(frozen, module = "timestrata")]
#[derive(Debug)]
pub(crate) struct PurgeReport {
    /// The last commit before it: what was deleted or replaced by then is erased.
    #[pyo3(get)]
    seq: u64,
    /// Files of runs and of the log that were removed.
    #[pyo3(get)]
    files: u64,
    /// Bytes of these.
    #[pyo3(get)]
    bytes: u64,
    /// Run files that a snapshot or a span in this process still reads, as Path. Each goes with the last that reads it.
    #[pyo3(get)]
    still_read: Vec<PathBuf>,
}

impl From<timestrata_engine::PurgeReport> for PurgeReport {
    fn from(report: timestrata_engine::PurgeReport) -> Self {
        let timestrata_engine::PurgeReport { seq, files, bytes, still_read } = report;
        Self { seq: seq.0, files, bytes, still_read }
    }
}

#[pymethods]
impl PurgeReport {
    fn __repr__(&self) -> String {
        let Self { seq, files, bytes, still_read } = self;
        let waiting = still_read.len();
        format!("<PurgeReport seq={seq} files={files} bytes={bytes} still_read={waiting}>")
    }
}
