//! Opening: manifest, then the WAL from the first segment still needed.
//!
//! What recovery may not do: lose an acknowledged commit, or change a byte that it can't
//! explain. A torn tail is cut (by going on in a new segment) and reported; damage in the
//! middle is an error that names file and offset.

mod files;
mod follow;
mod load;
mod replay;

use std::path::PathBuf;
use std::time::Duration;

use timestrata_format::SeqNo;

pub(crate) use files::survey;
pub(crate) use follow::Follower;
pub(crate) use load::{KnownRuns, Recovered, load_core, recover, remove_orphans};

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
