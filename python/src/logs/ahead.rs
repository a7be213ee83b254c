//! Entries that were read and not given out yet.

use std::collections::VecDeque;
use std::sync::Arc;

use timestrata_logs::{Clock, Entries};

use super::LogEntry;

/// Batches of entries, of which the first may have been given out in part.
#[derive(Debug, Default)]
pub(super) struct Ahead {
    batches: VecDeque<Arc<Entries>>,
    /// The next row of the first.
    row: usize,
}

impl Ahead {
    pub(super) fn push(&mut self, entries: Entries) {
        self.batches.push_back(Arc::new(entries));
    }

    /// The next entry, which has its place by this clock.
    pub(super) fn take(&mut self, by: Clock) -> Option<LogEntry> {
        let batch = self.batches.front()?;
        let entry = LogEntry::new(Arc::clone(batch), self.row, by);
        self.row += 1;
        if self.row >= batch.len() {
            self.batches.pop_front();
            self.row = 0;
        }
        Some(entry)
    }

    /// All batches; only where nothing was taken.
    pub(super) fn drain(&mut self) -> Vec<Arc<Entries>> {
        self.batches.drain(..).collect()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.batches.is_empty()
    }
}
