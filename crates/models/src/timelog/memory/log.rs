//! The log itself: appending, deleting, finding.

use std::collections::HashSet;
use std::ops::RangeBounds;
use std::sync::Arc;

use super::closed;
use super::leaf::{LEAF_ROWS, Leaf, end_of};
use super::physical::Physical;
use super::slice::{Part, Slice};

/// Late rows that wait, at most, before they are merged.
const LATE_ROWS_MAX: usize = 8192;

/// Rows of a new leaf: there is room for late ones before it has to be cut in two.
const SEALED_ROWS: usize = LEAF_ROWS - LEAF_ROWS / 32;

/// The newest rows, which no leaf is made of yet: most late rows belong among them.
const RECENT_ROWS: usize = LEAF_ROWS / 8;

/// Rows of the tail, of which a leaf is made then.
const TAIL_ROWS: usize = SEALED_ROWS + RECENT_ROWS;

/// What came out of a log. Dropping it drops values, which may run their program's code.
#[derive(Debug)]
#[must_use = "dropping it runs code: choose where"]
pub struct Removed<T> {
    /// How many visible rows were removed.
    pub rows: u64,
    leaves: Vec<Arc<Leaf<T>>>,
    values: Vec<T>,
    parts: Vec<Part<T>>,
}

impl<T> Default for Removed<T> {
    fn default() -> Self {
        Self { rows: 0, leaves: Vec::new(), values: Vec::new(), parts: Vec::new() }
    }
}

/// The values at one time.
#[derive(Debug)]
pub enum Found<T> {
    /// None.
    Nothing,
    /// The only one.
    One(T),
    /// Several, in the order in which they came.
    Several(Vec<T>),
}

/// A time log of values in memory.
#[derive(Debug)]
pub struct Memory<T> {
    /// In order; none of them empty.
    leaves: Vec<Arc<Leaf<T>>>,
    /// The first time of each leaf.
    firsts: Vec<i64>,
    /// Rows that are not before any of a leaf.
    tail: Leaf<T>,
    /// The greatest time in leaves and tail; the smallest there is without rows.
    newest: i64,
    /// Rows before `newest`, in the order in which they came.
    late: Vec<(i64, T)>,
    len: u64,
    physical: Physical<T>,
}

impl<T> Default for Memory<T> {
    fn default() -> Self {
        Self {
            leaves: Vec::new(),
            firsts: Vec::new(),
            tail: Leaf::default(),
            newest: i64::MIN,
            late: Vec::new(),
            len: 0,
            physical: Physical::default(),
        }
    }
}

impl<T: Clone> Memory<T> {
    /// An empty log.
    pub fn new() -> Self {
        Self::default()
    }

    /// Rows.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Whether it has no row.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Rows that wait to be merged into their places.
    pub fn late_rows(&self) -> usize {
        self.late.len()
    }

    /// Adds a row behind all others of its time; true if it comes late.
    #[inline]
    pub fn append(&mut self, time: i64, value: T) -> bool {
        self.len += 1;
        self.physical.fresh_rows += 1;
        if time < self.newest {
            self.append_late(time, value);
            return true;
        }
        self.newest = time;
        self.tail.reserve(TAIL_ROWS);
        self.tail.push(time, value);
        if self.tail.len() >= TAIL_ROWS {
            self.seal_tail();
        }
        false
    }

    fn append_late(&mut self, time: i64, value: T) {
        self.late.push((time, value));
        if self.late.len() >= LATE_ROWS_MAX {
            self.settle();
        }
    }

    /// Makes leaves of the tail, but for the newest rows.
    fn seal_tail(&mut self) {
        let tail_first = self.tail_first();
        let mut late: Vec<_> = self.late.extract_if(.., |(time, _)| *time >= tail_first).collect();
        late.sort_by_key(|(time, _)| *time);
        self.tail.merge(late);
        while self.tail.len() >= TAIL_ROWS {
            let leaf = self.tail.split_front(SEALED_ROWS, TAIL_ROWS);
            self.firsts.extend(leaf.first());
            self.leaves.push(Arc::new(leaf));
        }
    }

    /// The time from which on rows belong into the tail.
    fn tail_first(&self) -> i64 {
        match self.leaves.is_empty() {
            true => i64::MIN,
            false => self.tail.first().unwrap_or(i64::MAX),
        }
    }

    /// Merges late rows into their leaves.
    fn settle(&mut self) {
        if self.late.is_empty() {
            return;
        }
        let mut late = std::mem::take(&mut self.late);
        // Stable: rows of one time stay in the order in which they came.
        late.sort_by_key(|(time, _)| *time);
        let tail_first = self.tail_first();
        let into_tail = late.split_off(late.partition_point(|(time, _)| *time < tail_first));
        self.tail.merge(into_tail);
        // From the back, so that new leaves move no place that is still to be visited.
        while let Some((time, _)) = late.last() {
            let leaf = self.firsts.partition_point(|first| first <= time).saturating_sub(1);
            let start = match (leaf, self.firsts.get(leaf)) {
                (1.., Some(first)) => late.partition_point(|(time, _)| time < first),
                _ => 0,
            };
            let rows = late.split_off(start);
            self.merge_into_leaf(leaf, rows);
        }
        if self.tail.len() >= TAIL_ROWS {
            self.seal_tail();
        }
        // Its memory serves the late rows to come.
        late.clear();
        self.late = late;
    }

    fn merge_into_leaf(&mut self, index: usize, rows: Vec<(i64, T)>) {
        let Some(shared) = self.leaves.get_mut(index) else {
            // There is no leaf only where all rows are in the tail.
            return self.tail.merge(rows);
        };
        let leaf = Arc::make_mut(shared);
        leaf.merge(rows);
        if leaf.len() <= LEAF_ROWS {
            self.firsts.splice(index..=index, leaf.first());
            return;
        }
        let pieces: Vec<Arc<Leaf<T>>> = std::mem::take(leaf).into_pieces().map(Arc::new).collect();
        self.firsts.splice(index..=index, pieces.iter().filter_map(|piece| piece.first()));
        self.leaves.splice(index..=index, pieces);
    }

    /// Removes the rows of a range.
    pub fn delete(&mut self, range: impl RangeBounds<i64>) -> Removed<T> {
        let mut removed = Removed::default();
        let Some((first, last)) = closed(range) else { return removed };
        self.settle();
        self.physical.tombstones += 1;
        self.physical.deleted.push((first, last));
        let extent = self.physical.deleted_extent.get_or_insert((first, last));
        *extent = (extent.0.min(first), extent.1.max(last));
        let reached = self.leaves_between(first, last);
        let mut whole = reached.clone();
        for index in [reached.start, reached.end.saturating_sub(1)] {
            // The two at the ends may have rows outside of the range.
            if reached.contains(&index) && !self.is_within(index, first, last) {
                whole.start += usize::from(index == whole.start);
                whole.end -= usize::from(index + 1 == whole.end && index >= whole.start);
                self.delete_in_leaf(index, first, last, &mut removed);
            }
        }
        let whole = whole.start..whole.end.max(whole.start);
        self.firsts.drain(whole.clone());
        removed.leaves.extend(self.leaves.drain(whole));
        removed.rows += removed.leaves.iter().map(|leaf| leaf.len() as u64).sum::<u64>();
        let rows = self.tail.rows_between(first, last);
        removed.rows += rows.len() as u64;
        removed.values.extend(self.tail.remove(rows));
        self.len -= removed.rows;
        self.physical.removed_rows += removed.rows;
        let leaf_last = || self.leaves.last().and_then(|leaf| leaf.last());
        self.newest = self.tail.last().or_else(leaf_last).unwrap_or(i64::MIN);
        removed
    }

    fn is_within(&self, index: usize, first: i64, last: i64) -> bool {
        let bounds = self.leaves.get(index).and_then(|leaf| leaf.first().zip(leaf.last()));
        bounds.is_some_and(|(leaf_first, leaf_last)| first <= leaf_first && leaf_last <= last)
    }

    /// Removes the rows of a leaf that keeps some.
    fn delete_in_leaf(&mut self, index: usize, first: i64, last: i64, removed: &mut Removed<T>) {
        let Some(shared) = self.leaves.get_mut(index) else { return };
        let rows = shared.rows_between(first, last);
        if rows.is_empty() {
            return;
        }
        removed.rows += rows.len() as u64;
        if let Some(leaf) = Arc::get_mut(shared) {
            removed.values.extend(leaf.remove(rows));
        } else {
            let kept = Arc::new(shared.copy_without(rows));
            let leaf = std::mem::replace(shared, kept);
            // Held by others; should they let go meanwhile, its rows still go with the removed.
            removed.parts.push(Part { leaf, rows: 0..0 });
        }
        self.firsts.splice(index..=index, shared.first());
    }

    /// The leaves that may have rows from `first` to `last`.
    fn leaves_between(&self, first: i64, last: i64) -> std::ops::Range<usize> {
        // The leaf before the first that begins at `first` may reach into the range.
        let mut start = self.firsts.partition_point(|leaf_first| *leaf_first < first);
        let reaches = |index: usize| {
            self.leaves.get(index).and_then(|leaf| leaf.last()).is_some_and(|last| last >= first)
        };
        if start > 0 && reaches(start - 1) {
            start -= 1;
            // More than one where a time fills leaves.
            while start > 0 && reaches(start - 1) {
                start -= 1;
            }
        }
        start..end_of(&self.firsts, start, last)
    }

    /// Removes everything, what was published as well.
    pub fn clear(&mut self) -> Removed<T> {
        let old = std::mem::take(self);
        let mut removed = Removed { rows: old.len, ..Removed::default() };
        removed.leaves = old.leaves;
        removed.leaves.extend(old.physical.leaves);
        removed.leaves.push(Arc::new(old.tail));
        removed.values.extend(old.late.into_iter().map(|(_, value)| value));
        removed.parts = old.physical.ghosts;
        removed
    }

    /// The smallest time.
    pub fn min_time(&mut self) -> Option<i64> {
        self.settle();
        self.firsts.first().copied().or_else(|| self.tail.first())
    }

    /// The greatest time.
    pub fn max_time(&self) -> Option<i64> {
        // Late rows are before it.
        (self.len > 0).then_some(self.newest)
    }

    /// The smallest time after `time`.
    pub fn next_time(&mut self, time: i64) -> Option<i64> {
        self.settle();
        let after = time.checked_add(1)?;
        let in_leaf = self.leaves.get(self.leaves_between(after, i64::MAX).start);
        let found =
            |leaf: &Leaf<T>| leaf.times().get(leaf.rows_between(after, i64::MAX).start).copied();
        in_leaf.and_then(|leaf| found(leaf)).or_else(|| found(&self.tail))
    }

    /// The greatest time before `time`.
    pub fn previous_time(&mut self, time: i64) -> Option<i64> {
        self.settle();
        let before = time.checked_sub(1)?;
        let found = |leaf: &Leaf<T>| {
            leaf.times().get(leaf.rows_between(i64::MIN, before).end.checked_sub(1)?).copied()
        };
        found(&self.tail).or_else(|| {
            let end = self.firsts.partition_point(|first| *first <= before);
            self.leaves.get(end.checked_sub(1)?).and_then(|leaf| found(leaf))
        })
    }

    /// The values at a time.
    pub fn at(&mut self, time: i64) -> Found<T> {
        self.settle();
        let in_tail = self.tail.rows_between(time, time);
        let in_tail = self.tail.values().get(in_tail).unwrap_or_default();
        let reached = self.leaves_between(time, time);
        let mut leaves = self.leaves.get(reached).unwrap_or_default().iter();
        let values_of = |leaf: &'_ Arc<Leaf<T>>| leaf.rows_between(time, time);
        match (leaves.len(), in_tail) {
            (0, []) => return Found::Nothing,
            (0, [value]) => return Found::One(value.clone()),
            (0, _) => {}
            (1, []) => {
                let leaf = leaves.as_slice().first();
                match leaf.and_then(|leaf| leaf.values().get(values_of(leaf))) {
                    None | Some([]) => return Found::Nothing,
                    Some([value]) => return Found::One(value.clone()),
                    Some(_) => {}
                }
            }
            _ => {}
        }
        let mut values = Vec::new();
        leaves.by_ref().for_each(|leaf| {
            values.extend_from_slice(leaf.values().get(values_of(leaf)).unwrap_or_default());
        });
        values.extend_from_slice(in_tail);
        Found::Several(values)
    }

    /// The rows of a range as they are now.
    pub fn slice(&mut self, range: impl RangeBounds<i64>) -> Slice<T> {
        let Some((first, last)) = closed(range) else { return Slice::default() };
        self.settle();
        let leaves = self.leaves.get(self.leaves_between(first, last)).unwrap_or_default();
        let parts = leaves.iter().filter_map(|leaf| {
            let rows = leaf.rows_between(first, last);
            (!rows.is_empty()).then(|| Part { leaf: Arc::clone(leaf), rows })
        });
        Slice::new(parts.chain(self.tail_part(self.tail.rows_between(first, last))))
    }

    /// Whether a row has this time.
    pub fn contains(&mut self, time: i64) -> bool {
        self.settle();
        let leaves = self.leaves.get(self.leaves_between(time, time)).unwrap_or_default();
        leaves.iter().any(|leaf| !leaf.rows_between(time, time).is_empty())
            || !self.tail.rows_between(time, time).is_empty()
    }

    /// The first so many rows as they are now.
    pub fn first(&mut self, rows: usize) -> Slice<T> {
        self.settle();
        let (mut parts, mut missing) = (Vec::new(), rows);
        for leaf in &self.leaves {
            if missing == 0 {
                break;
            }
            let end = leaf.len().min(missing);
            missing -= end;
            parts.push(Part { leaf: Arc::clone(leaf), rows: 0..end });
        }
        parts.extend(self.tail_part(0..self.tail.len().min(missing)));
        Slice::new(parts)
    }

    /// The last so many rows as they are now.
    pub fn last(&mut self, rows: usize) -> Slice<T> {
        self.settle();
        let mut missing = rows;
        let from_tail = self.tail.len().saturating_sub(missing);
        missing -= self.tail.len() - from_tail;
        let mut parts: Vec<Part<T>> =
            self.tail_part(from_tail..self.tail.len()).into_iter().collect();
        for leaf in self.leaves.iter().rev() {
            if missing == 0 {
                break;
            }
            let start = leaf.len().saturating_sub(missing);
            missing -= leaf.len() - start;
            parts.push(Part { leaf: Arc::clone(leaf), rows: start..leaf.len() });
        }
        parts.reverse();
        Slice::new(parts)
    }

    /// Rows of the tail, which goes on changing, as a part of their own.
    fn tail_part(&self, rows: std::ops::Range<usize>) -> Option<Part<T>> {
        let copy = (!rows.is_empty()).then(|| self.tail.copy(rows))?;
        let rows = 0..copy.len();
        Some(Part { leaf: Arc::new(copy), rows })
    }

    /// What was published last.
    pub fn physical(&self) -> &Physical<T> {
        &self.physical
    }

    /// Makes the rows of now what [`Memory::pages`] shows, with the published rows that were
    /// deleted since [`Memory::compact`].
    pub fn publish(&mut self) -> Removed<T> {
        self.settle();
        let mut ghosts = std::mem::take(&mut self.physical.ghosts);
        let mut deleted = std::mem::take(&mut self.physical.deleted);
        deleted.sort_unstable();
        // A row that several of them deleted is shown once.
        let mut after = Some(i64::MIN);
        for (first, last) in deleted {
            let Some(start) = after else { break };
            if last >= start {
                ghosts.extend(self.physical.parts(first.max(start), last));
                after = last.checked_add(1);
            }
        }
        self.publish_with(ghosts)
    }

    /// As [`Memory::publish`], without what was deleted.
    pub fn compact(&mut self) -> Removed<T> {
        self.settle();
        self.physical.deleted.clear();
        self.physical.tombstones = 0;
        self.physical.deleted_extent = None;
        let ghosts = std::mem::take(&mut self.physical.ghosts);
        let mut removed = self.publish_with(Vec::new());
        removed.parts = ghosts;
        removed
    }

    fn publish_with(&mut self, ghosts: Vec<Part<T>>) -> Removed<T> {
        let mut leaves = self.leaves.clone();
        leaves.extend(self.tail_part(0..self.tail.len()).map(|part| part.leaf));
        let old = std::mem::replace(&mut self.physical.leaves, leaves);
        self.physical.ghosts = ghosts;
        self.physical.fresh_rows = 0;
        self.physical.removed_rows = 0;
        Removed { leaves: old, ..Removed::default() }
    }

    /// The published rows of a range in pages of at most so many: those there are in order,
    /// then those that were deleted.
    pub fn pages(&self, range: impl RangeBounds<i64>, rows_max: usize) -> Vec<Part<T>> {
        let Some((first, last)) = closed(range) else { return Vec::new() };
        self.physical.parts(first, last).into_iter().flat_map(|part| part.cut(rows_max)).collect()
    }

    /// The rows of a range as they are now, in pages of at most so many.
    pub fn logical_pages(&mut self, range: impl RangeBounds<i64>, rows_max: usize) -> Vec<Part<T>> {
        let slice = self.slice(range);
        slice.parts().flat_map(|part| part.clone().cut(rows_max)).collect()
    }

    /// Shows every value that this log holds a reference to, each once: for a collector of
    /// cycles. What readers share with it is shown here; a leaf that only readers hold any more
    /// is shown by its reader if that is the only one, else by nobody, and so counts as in use.
    pub fn for_each_held<E>(&self, mut show: impl FnMut(&T) -> Result<(), E>) -> Result<(), E> {
        let ghosts = self.physical.ghosts.iter().map(|ghost| &ghost.leaf);
        let mut old = self.physical.leaves.iter().chain(ghosts).peekable();
        // The published state shares most leaves, and deleted parts may share one.
        let mut shown = HashSet::new();
        if old.peek().is_some() {
            shown.extend(self.leaves.iter().map(Arc::as_ptr));
        }
        let old = old.filter(|leaf| shown.insert(Arc::as_ptr(leaf)));
        let leaves = self.leaves.iter().chain(old).flat_map(|leaf| leaf.values());
        leaves
            .chain(self.tail.values())
            .chain(self.late.iter().map(|(_, value)| value))
            .try_for_each(&mut show)
    }
}
