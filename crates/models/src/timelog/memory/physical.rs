//! The state that a log with flushes would have on its disk.

use std::sync::Arc;

use super::leaf::Leaf;
use super::slice::Part;

/// What was published last.
#[derive(Debug)]
pub struct Physical<T> {
    /// The rows as of the last publishing, in order.
    pub(super) leaves: Vec<Arc<Leaf<T>>>,
    /// Published rows that were deleted before a later publishing.
    pub(super) ghosts: Vec<Part<T>>,
    /// Ranges deleted since the last publishing, and how many since the last compaction.
    pub(super) deleted: Vec<(i64, i64)>,
    pub(super) tombstones: u64,
    /// First and last time of all of those.
    pub(super) deleted_extent: Option<(i64, i64)>,
    /// Rows that came, and rows that went, since the last publishing.
    pub(super) fresh_rows: u64,
    pub(super) removed_rows: u64,
}

impl<T> Default for Physical<T> {
    fn default() -> Self {
        Self {
            leaves: Vec::new(),
            ghosts: Vec::new(),
            deleted: Vec::new(),
            tombstones: 0,
            deleted_extent: None,
            fresh_rows: 0,
            removed_rows: 0,
        }
    }
}

impl<T> Physical<T> {
    /// Rows appended since the last publishing.
    pub fn fresh_rows(&self) -> u64 {
        self.fresh_rows
    }

    /// Rows that came or went since the last publishing.
    pub fn changed_rows(&self) -> u64 {
        self.fresh_rows + self.removed_rows
    }

    /// Range deletes that the published rows have not had applied.
    pub fn tombstones(&self) -> u64 {
        self.tombstones
    }

    /// Published rows, those deleted since included.
    pub fn rows(&self) -> u64 {
        let ghosts = self.ghosts.iter().map(|ghost| ghost.rows.len());
        self.leaves.iter().map(|leaf| leaf.len()).chain(ghosts).sum::<usize>() as u64
    }

    /// Smallest and greatest published time, those of range deletes included.
    pub fn bounds(&self) -> Option<(i64, i64)> {
        let ghosts = self
            .ghosts
            .iter()
            .filter_map(|ghost| Some((*ghost.times().first()?, *ghost.times().last()?)));
        let leaves = self.leaves.first().zip(self.leaves.last());
        let leaves = leaves.and_then(|(first, last)| Some((first.first()?, last.last()?)));
        leaves
            .into_iter()
            .chain(ghosts)
            .chain(self.deleted_extent)
            .reduce(|all, one| (all.0.min(one.0), all.1.max(one.1)))
    }

    /// The published rows from `first` to `last`, both included, leaf by leaf; behind them
    /// those that were deleted.
    pub(super) fn parts(&self, first: i64, last: i64) -> Vec<Part<T>> {
        let start = self.leaves.partition_point(|leaf| leaf.last().is_some_and(|l| l < first));
        let leaves = self.leaves.iter().skip(start);
        let reached = leaves.take_while(|leaf| leaf.first().is_some_and(|f| f <= last));
        let live = reached
            .map(|leaf| Part { leaf: Arc::clone(leaf), rows: leaf.rows_between(first, last) });
        let ghosts = self.ghosts.iter().map(|ghost| {
            let within = ghost.leaf.rows_between(first, last);
            let rows = within.start.max(ghost.rows.start)..within.end.min(ghost.rows.end);
            Part { leaf: Arc::clone(&ghost.leaf), rows }
        });
        live.chain(ghosts).filter(|part| !part.rows.is_empty()).collect()
    }
}
