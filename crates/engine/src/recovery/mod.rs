//! Opening: manifest, then the WAL from the first segment still needed.

use std::path::PathBuf;
use std::time::Duration;

use timestrata_format::SeqNo;

/// What opening a store found and did.
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
    /// Unfinished files of an interrupted flush or compaction that were removed.
    pub orphans_removed: Vec<PathBuf>,
    /// Files that are not the store's; they were left alone.
    pub strays: Vec<PathBuf>,
    /// How long it took.
    pub took: Duration,
}
