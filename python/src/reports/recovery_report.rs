//! `RecoveryReport`: what opening a store found and did.

use std::path::PathBuf;

use pyo3::prelude::*;

use super::shown;

/// What opening a store found and did.
///
/// Examples
/// --------
/// >>> import timestrata
/// >>> report = timestrata.open().recovery
/// >>> report.created, report.commits_replayed
/// (True, 0)
#[pyclass(frozen, get_all, module = "timestrata")]
#[derive(Debug)]
pub(crate) struct RecoveryReport {
    /// Whether the store was made by this open.
    created: bool,
    /// Whether the last writer closed the store in good order.
    clean: bool,
    /// The last commit that the store held.
    last_seq: u64,
    /// Commits replayed from the write-ahead log.
    commits_replayed: u64,
    /// Bytes of the write-ahead log replayed.
    bytes_replayed: u64,
    /// A torn tail that was cut: its file and where it began, or None.
    torn_tail: Option<(String, u64)>,
    /// Run files that no version names: where they are now, in the store's quarantine.
    orphans_quarantined: Vec<String>,
    /// Files that the quarantine let go of for good.
    orphans_removed: Vec<String>,
    /// Run files that are damaged, as far as their lengths and tails tell.
    damaged_runs: Vec<String>,
    /// What was wrong with the manifest, if its copy stood in for it, or None.
    manifest_mended: Option<String>,
    /// Files that are not the store's; they were left alone.
    strays: Vec<String>,
    /// How long it took.
    seconds: f64,
}

impl From<&timestrata_engine::RecoveryReport> for RecoveryReport {
    fn from(report: &timestrata_engine::RecoveryReport) -> Self {
        let all_shown = |paths: &[PathBuf]| paths.iter().map(|path| shown(path)).collect();
        Self {
            created: report.created,
            clean: report.clean,
            last_seq: report.last_seq.0,
            commits_replayed: report.commits_replayed,
            bytes_replayed: report.bytes_replayed,
            torn_tail: report.torn_tail.as_ref().map(|(path, offset)| (shown(path), *offset)),
            orphans_quarantined: all_shown(&report.orphans_quarantined),
            damaged_runs: all_shown(&report.damaged_runs),
            manifest_mended: report.manifest_mended.clone(),
            orphans_removed: all_shown(&report.orphans_removed),
            strays: all_shown(&report.strays),
            seconds: report.took.as_secs_f64(),
        }
    }
}

#[pymethods]
impl RecoveryReport {
    fn __repr__(&self) -> String {
        let how = match (self.created, self.clean) {
            (true, _) => "created",
            (false, true) => "clean",
            (false, false) => "recovered",
        };
        format!(
            "<RecoveryReport {how} last_seq={} commits_replayed={}>",
            self.last_seq, self.commits_replayed
        )
    }
}
