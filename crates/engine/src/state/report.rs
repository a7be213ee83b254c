//! What opening a store found and did, kept for as long as it is open.

use std::path::PathBuf;
use std::time::Duration;

use timestrata_format::SeqNo;

/// What opening a store found and did.
///
/// ```
/// # use timestrata_engine::*;
/// # fn main() -> std::result::Result<(), Box<dyn std::error::Error>> {
/// # let temporary = tempfile::tempdir()?;
/// # let dir = temporary.path().join("store");
/// let store = Store::open(&dir, Settings::default())?;
/// let report = store.recovery_report();
/// assert!(report.created && report.torn_tail.is_none() && report.damaged_runs.is_empty());
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RecoveryReport {
    /// Whether the store was made by this open.
    pub created: bool,
    /// Whether the last writer closed the store in good order.
    pub clean: bool,
    /// The last commit that the store holds.
    pub last_seq: SeqNo,
    /// Commits replayed from the WAL.
    pub commits_replayed: u64,
    /// WAL bytes replayed.
    pub bytes_replayed: u64,
    /// A torn tail that was cut: its file, where it begins.
    pub torn_tail: Option<(PathBuf, u64)>,
    /// Run files that no version names, mostly left by an interrupted flush or compaction: where
    /// they are now, in the store's quarantine.
    pub orphans_quarantined: Vec<PathBuf>,
    /// Files that the quarantine let go of for good: the oldest, as the settings say.
    pub orphans_removed: Vec<PathBuf>,
    /// Run files that the manifest names and that are damaged, as far as their lengths and tails
    /// tell; for who opens the store for reading also those that are missing. Rows of other runs can be
    /// read. While there are any, opening removes and sets aside nothing.
    pub damaged_runs: Vec<PathBuf>,
    /// What was wrong with the manifest, if its copy stood in for it.
    pub manifest_mended: Option<String>,
    /// Files that are not the store's; they were left alone.
    pub strays: Vec<PathBuf>,
    /// How long it took.
    pub took: Duration,
}
