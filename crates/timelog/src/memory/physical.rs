//! The physical state that a log with flushes would have on disk: what was flushed, and what was deleted since.

use std::sync::Arc;

use super::slice::Part;

/// What was published last.
#[derive(Debug)]
pub struct Physical<T> {
    /// The rows as of the last publishing, in order.
    pub(super) parts: Vec<Part<T>>,
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
            parts: Vec::new(),
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
        self.parts.iter().chain(&self.ghosts).map(Part::len).sum::<usize>() as u64
    }

    /// Smallest and greatest published time, those of range deletes included.
    pub fn bounds(&self) -> Option<(i64, i64)> {
        let ghosts = self.ghosts.iter().filter_map(|ghost| ghost.first().zip(ghost.last()));
        let parts = self.parts.first().zip(self.parts.last());
        let parts = parts.and_then(|(first, last)| first.first().zip(last.last()));
        parts
            .into_iter()
            .chain(ghosts)
            .chain(self.deleted_extent)
            .reduce(|all, one| (all.0.min(one.0), all.1.max(one.1)))
    }

    /// Whether it holds the leaf of a part, and so what is deleted of it.
    pub(super) fn holds(&self, part: &Part<T>) -> bool {
        let Some((first, last)) = part.first().zip(part.last()) else { return false };
        let start = self.parts.partition_point(|own| own.last().is_some_and(|l| l < first));
        let reached = self.parts.iter().skip(start);
        reached
            .take_while(|own| own.first().is_some_and(|f| f <= last))
            .any(|own| Arc::ptr_eq(&own.leaf, &part.leaf))
    }

    /// The published rows from `first` to `last`, both included, part by part, in parts of at most so many; behind them
    /// those that were deleted.
    pub(super) fn pages_between(&self, first: i64, last: i64, rows_max: usize) -> Vec<Part<T>> {
        let start = self.parts.partition_point(|part| part.last().is_some_and(|l| l < first));
        let behind = self.parts.get(start..).unwrap_or_default();
        let end = behind.partition_point(|part| part.first().is_some_and(|f| f <= last));
        let reached = behind.get(..end).unwrap_or_default();
        let mut pages = Vec::with_capacity(reached.len() + self.ghosts.len());
        for (index, part) in reached.iter().chain(&self.ghosts).enumerate() {
            // Those between the first and the last are within it.
            let rows = match index > 0 && index + 1 < reached.len() {
                true => part.rows.clone(),
                false => part.rows_between(first, last),
            };
            pages.extend(part.cut(rows, rows_max));
        }
        pages
    }
}
