//! The log of objects in memory: rows, and the flushes and compactions that programs of a log
//! with such expect to be able to ask for.
//!
//! There is nothing to flush and nothing to compact: rows are in their places when they are
//! read. What `flush()` does is publish the rows for physical views; budgets and queues are
//! counted, so that busy policies and statistics mean what they say.

use std::ops::{Bound, RangeBounds};
use std::sync::Arc;

use timestrata_timelog::memory::{Memory, Part, Removed};

use super::object::Object;
use super::options::{Options, Upkeep, WhenBusy};
use super::tail::Tails;

/// In the background, rows are published when this part of all rows is new, and at least as
/// many as fill the memtable: then publishing costs a row a constant.
const PUBLISHED_SHARE: u64 = 16;

/// What happened so far.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Counters {
    pub(super) seals: u64,
    pub(super) flushes: u64,
    pub(super) compactions: u64,
    pub(super) busy: u64,
    pub(super) skipped: u64,
    pub(super) late_seals: u64,
}

/// A log of objects in memory.
#[derive(Debug, Default)]
pub(super) struct MemoryLog {
    pub(super) rows: Memory<Object>,
    pub(super) options: Options,
    pub(super) counters: Counters,
    /// Rows in the virtual memtable, and full ones before it.
    pub(super) active_rows: usize,
    pub(super) active_late: usize,
    pub(super) sealed_runs: usize,
    pub(super) segments: u64,
    pub(super) has_settled: bool,
    /// Those who follow it.
    pub(super) tails: Tails,
    compaction_wanted: bool,
    /// Held by every reader: how many there are is its number of references.
    readers: Arc<()>,
}

/// What a write left behind.
#[derive(Debug, Default)]
#[must_use = "it drops objects, and may be an error"]
pub(super) struct After {
    /// To be dropped without a lock.
    pub(super) removed: Option<Removed<Object>>,
    /// The write is stored, and the queue of flushes is full.
    pub(super) is_busy: bool,
}

impl MemoryLog {
    pub(super) fn new(options: Options) -> Self {
        let mut log = Self { options, ..Self::default() };
        if let Some(floor) = log.options.min_ts {
            // As a delete of everything below, it counts as one.
            drop(log.rows.delete(..floor));
        }
        log
    }

    /// A reader's mark.
    pub(super) fn reader(&self) -> Arc<()> {
        Arc::clone(&self.readers)
    }

    /// Readers that are open.
    pub(super) fn readers(&self) -> usize {
        Arc::strong_count(&self.readers) - 1
    }

    /// Adds a row; true if the memtable, or its share of late rows, is full now.
    #[inline]
    pub(super) fn append(&mut self, time: i64, object: Object) -> bool {
        self.active_rows += 1;
        if !self.tails.is_empty() {
            self.tails.note_row(time, &object);
        }
        if self.rows.append(time, object) {
            self.active_late += 1;
            if self.active_late >= self.options.late_rows_max {
                return true;
            }
        }
        self.active_rows >= self.options.seal_rows
    }

    /// Deletes the rows of a range.
    pub(super) fn delete(&mut self, range: (Bound<i64>, Bound<i64>)) -> Removed<Object> {
        if !self.tails.is_empty() {
            self.tails.note_delete(|time| range.contains(&time));
        }
        self.rows.delete(range)
    }

    /// What a write has to do when [`MemoryLog::append`] has said that the memtable is full.
    #[cold]
    pub(super) fn after_write(&mut self) -> After {
        let is_disabled = self.options.upkeep == Upkeep::Disabled;
        while self.is_full() {
            if self.sealed_runs >= self.options.sealed_runs_max {
                if is_disabled {
                    return self.busy();
                }
                // The background is never behind: what is due is done below.
                self.sealed_runs = 0;
            }
            self.seal();
        }
        let changed = self.rows.physical().changed_rows();
        if is_disabled || changed * PUBLISHED_SHARE < self.rows.len() {
            return After::default();
        }
        self.sealed_runs = 0;
        self.counters.compactions += 1;
        self.counters.flushes += 1;
        self.segments = 0;
        self.has_settled = true;
        After { removed: Some(self.rows.compact()), is_busy: false }
    }

    fn is_full(&self) -> bool {
        self.active_rows >= self.options.seal_rows || self.active_late >= self.options.late_rows_max
    }

    /// Counts a full memtable as sealed.
    fn seal(&mut self) {
        self.sealed_runs += 1;
        self.counters.seals += 1;
        if self.active_late >= self.options.late_rows_max {
            self.counters.late_seals += 1;
        }
        self.active_rows = self.active_rows.saturating_sub(self.options.seal_rows);
        if self.active_late >= self.options.late_rows_max {
            self.active_rows = 0;
        }
        self.active_late = 0;
    }

    fn busy(&mut self) -> After {
        self.counters.busy += 1;
        match self.options.when_busy {
            WhenBusy::Flush => After { removed: Some(self.flush()), is_busy: false },
            WhenBusy::Silent => After::default(),
            WhenBusy::Raise => After { removed: None, is_busy: true },
        }
    }

    /// Publishes every row; in the background also without what was deleted, where that is due.
    pub(super) fn flush(&mut self) -> Removed<Object> {
        let physical = self.rows.physical();
        if physical.changed_rows() > 0 || self.active_rows > 0 || self.sealed_runs > 0 {
            self.counters.flushes += 1;
            self.segments += 1;
        }
        self.active_rows = 0;
        self.active_late = 0;
        self.sealed_runs = 0;
        if self.options.upkeep == Upkeep::Background && self.is_compaction_due() {
            self.counters.compactions += 1;
            return self.compact();
        }
        self.rows.publish()
    }

    /// Whether there are as many segments, or deletes that still take room, as were asked for.
    fn is_compaction_due(&self) -> bool {
        let has_debt = self.options.compacts_deletes && self.rows.physical().tombstones() > 0;
        has_debt || self.segments >= self.options.delta_segments_max as u64
    }

    /// Publishes every row, and nothing that was deleted.
    fn compact(&mut self) -> Removed<Object> {
        self.active_rows = 0;
        self.sealed_runs = 0;
        self.segments = 0;
        self.has_settled = true;
        self.compaction_wanted = false;
        self.rows.compact()
    }

    /// Asks for a compaction. In the background it is done at once.
    pub(super) fn request_compaction(&mut self) -> Option<Removed<Object>> {
        self.compaction_wanted = true;
        (self.options.upkeep == Upkeep::Background).then(|| {
            self.counters.compactions += 1;
            // What nobody has flushed yet stays so.
            let (active, sealed) = (self.active_rows, self.sealed_runs);
            let removed = self.compact();
            (self.active_rows, self.sealed_runs) = (active, sealed);
            removed
        })
    }

    /// One flush or one compaction, if one is due.
    pub(super) fn step(&mut self) -> Option<Removed<Object>> {
        if self.sealed_runs > 0 {
            return Some(self.flush());
        }
        let has_work = self.segments > 0 || self.rows.physical().tombstones() > 0;
        let is_due = self.segments >= self.options.delta_segments_max as u64;
        if is_due || (self.compaction_wanted && has_work) {
            self.counters.compactions += 1;
            return Some(self.compact());
        }
        self.compaction_wanted = false;
        None
    }

    /// The pages of a view, its end not included unless it has none.
    pub(super) fn pages(
        &mut self,
        range: (Bound<i64>, Bound<i64>),
        is_logical: bool,
    ) -> Vec<Part<Object>> {
        let rows = self.options.page_rows;
        match is_logical {
            true => self.rows.logical_pages(range, rows),
            false => self.rows.pages(range, rows),
        }
    }
}
