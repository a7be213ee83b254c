//! The log itself: appending, deleting, finding.

use std::collections::HashSet;
use std::ops::RangeBounds;
use std::sync::Arc;

use super::closed;
use super::leaf::{LEAF_ROWS, Leaf, end_of};
use super::parts::{Parts, Run};
use super::physical::Physical;
use super::slice::{Part, Slice};

/// Late rows that wait, at most, before they are merged.
const LATE_ROWS_MAX: usize = 8192;

/// Rows of a new leaf: there is room for late ones before it has to be cut in two.
const SEALED_ROWS: usize = LEAF_ROWS - LEAF_ROWS / 64;

/// The newest rows, which no leaf is made of yet: most late rows belong among them.
const RECENT_ROWS: usize = LEAF_ROWS / 8;

/// Rows of the tail, of which a leaf is made then.
const TAIL_ROWS: usize = SEALED_ROWS + RECENT_ROWS;

/// Of the tail as many rows are copied at once as it has, where a read wants more than such a share.
const COPIED_SHARE: usize = 4;

/// A delete inside of a leaf that others hold leaves two parts of it, instead of a copy, if each
/// has so many rows: fewer would make reading slow.
const PART_ROWS_MIN: usize = 64;

/// What came out of a log. Dropping it drops values, which may run their program's code.
#[derive(Debug)]
#[must_use = "dropping it runs code: choose where"]
pub struct Removed<T> {
    /// How many visible rows were removed.
    pub rows: u64,
    values: Vec<T>,
    parts: Vec<Part<T>>,
}

impl<T> Default for Removed<T> {
    fn default() -> Self {
        Self { rows: 0, values: Vec::new(), parts: Vec::new() }
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
    /// In order; none of them empty. Mostly whole leaves; several parts of one where rows between
    /// them were deleted that others may still see.
    parts: Parts<T>,
    /// The first time of each part.
    firsts: Vec<i64>,
    /// Rows that are not before any of a part.
    tail: Leaf<T>,
    /// The tail as readers have it, until it changes: who asks again shares it.
    tail_copy: Option<Part<T>>,
    /// The greatest time in parts and tail; the smallest there is without rows.
    newest: i64,
    /// Rows before `newest`, in the order in which they came.
    late: Vec<(i64, T)>,
    len: u64,
    physical: Physical<T>,
}

impl<T> Default for Memory<T> {
    fn default() -> Self {
        Self {
            parts: Parts::default(),
            firsts: Vec::new(),
            tail: Leaf::default(),
            tail_copy: None,
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
        self.forget_copy();
        self.tail.reserve(TAIL_ROWS);
        self.tail.push(time, value);
        if self.tail.len() >= TAIL_ROWS {
            self.seal_tail();
        }
        false
    }

    /// Before the tail gets other rows. What the copy holds, the log holds as well: no value goes with it.
    #[inline]
    fn forget_copy(&mut self) {
        if self.tail_copy.is_some() {
            self.tail_copy = None;
        }
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
            self.parts.change().push(Part::whole(leaf));
        }
    }

    /// The time from which on rows belong into the tail.
    fn tail_first(&self) -> i64 {
        match self.parts.is_empty() {
            true => i64::MIN,
            false => self.tail.first().unwrap_or(i64::MAX),
        }
    }

    /// Merges late rows into their places.
    fn settle(&mut self) {
        if self.late.is_empty() {
            return;
        }
        self.forget_copy();
        let mut late = std::mem::take(&mut self.late);
        // Stable: rows of one time stay in the order in which they came.
        late.sort_by_key(|(time, _)| *time);
        let tail_first = self.tail_first();
        let into_tail = late.split_off(late.partition_point(|(time, _)| *time < tail_first));
        self.tail.merge(into_tail);
        // From the back, so that new parts move no place that is still to be visited.
        while let Some((time, _)) = late.last() {
            let part = self.firsts.partition_point(|first| first <= time).saturating_sub(1);
            let start = match (part, self.firsts.get(part)) {
                (1.., Some(first)) => late.partition_point(|(time, _)| time < first),
                _ => 0,
            };
            let rows = late.split_off(start);
            self.merge_into_part(part, rows);
        }
        if self.tail.len() >= TAIL_ROWS {
            self.seal_tail();
        }
        // Its memory serves the late rows to come.
        late.clear();
        self.late = late;
    }

    fn merge_into_part(&mut self, index: usize, rows: Vec<(i64, T)>) {
        let Some(part) = self.parts.change().get_mut(index) else {
            // There is no part only where all rows are in the tail.
            return self.tail.merge(rows);
        };
        let mut leaf = part.take_leaf();
        leaf.merge(rows);
        let pieces: Vec<Part<T>> = match leaf.len() <= LEAF_ROWS {
            true => vec![Part::whole(leaf)],
            false => leaf.into_pieces().map(Part::whole).collect(),
        };
        self.firsts.splice(index..=index, pieces.iter().filter_map(Part::first));
        self.parts.change().splice(index..=index, pieces);
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
        // The two at the ends may have rows outside of the range. The later one first: what
        // becomes two parts moves those behind it.
        let reached = self.parts_between(first, last);
        let mut whole = reached.clone();
        if let Some(index) = reached.end.checked_sub(1)
            && index > reached.start
            && !self.is_within(index, first, last)
        {
            whole.end = index;
            self.delete_in_part(index, first, last, &mut removed);
        }
        if !reached.is_empty() && !self.is_within(reached.start, first, last) {
            whole.start += 1;
            let added = self.delete_in_part(reached.start, first, last, &mut removed);
            whole = whole.start + added..whole.end + added;
        }
        let whole = whole.start..whole.end.max(whole.start);
        self.firsts.drain(whole.clone());
        removed.rows +=
            self.parts.get(whole.clone()).unwrap_or_default().iter().map(Part::len).sum::<usize>()
                as u64;
        removed.parts.extend(self.parts.change().drain(whole));
        let rows = self.tail.rows_between(first, last);
        removed.rows += rows.len() as u64;
        if !rows.is_empty() {
            // It may be the last to hold them.
            removed.parts.extend(self.tail_copy.take());
        }
        removed.values.extend(self.tail.remove(rows));
        self.len -= removed.rows;
        self.physical.removed_rows += removed.rows;
        let part_last = || self.parts.last().and_then(Part::last);
        self.newest = self.tail.last().or_else(part_last).unwrap_or(i64::MIN);
        removed
    }

    fn is_within(&self, index: usize, first: i64, last: i64) -> bool {
        let bounds = self.parts.get(index).and_then(|part| part.first().zip(part.last()));
        bounds.is_some_and(|(part_first, part_last)| first <= part_first && part_last <= last)
    }

    /// Removes the rows of a part that keeps some; gives how many parts there are more.
    fn delete_in_part(
        &mut self,
        index: usize,
        first: i64,
        last: i64,
        removed: &mut Removed<T>,
    ) -> usize {
        let Some(part) = self.parts.change().get_mut(index) else { return 0 };
        let rows = part.rows_between(first, last);
        if rows.is_empty() {
            return 0;
        }
        removed.rows += rows.len() as u64;
        let (before, behind) = (part.rows.start..rows.start, rows.end..part.rows.end);
        let is_long =
            |rows: &std::ops::Range<usize>| rows.is_empty() || rows.len() >= PART_ROWS_MIN;
        let mut second = None;
        if let Some(leaf) = Arc::get_mut(&mut part.leaf) {
            part.rows.end -= rows.len();
            removed.values.extend(leaf.remove(rows));
        } else if is_long(&before) && is_long(&behind) && self.physical.holds(part) {
            // What was published is held until the next compaction in any case.
            (part.rows, second) = match before.is_empty() {
                true => (behind, None),
                false => (before, Some(behind)),
            };
        } else {
            let kept = Part::whole(part.leaf.copy_of(before, behind));
            // Held by others; should they let go meanwhile, its rows still go with the removed.
            removed.parts.push(std::mem::replace(part, kept));
        }
        self.firsts.splice(index..=index, part.first());
        let second = second.filter(|rows| !rows.is_empty());
        let Some(rows) = second else { return 0 };
        let second = Part { leaf: Arc::clone(&part.leaf), rows };
        self.firsts.splice(index + 1..index + 1, second.first());
        self.parts.change().insert(index + 1, second);
        1
    }

    /// The parts that may have rows from `first` to `last`.
    fn parts_between(&self, first: i64, last: i64) -> std::ops::Range<usize> {
        // The part before the first that begins at `first` may reach into the range.
        let mut start = self.firsts.partition_point(|part_first| *part_first < first);
        let reaches = |index: usize| {
            self.parts.get(index).and_then(Part::last).is_some_and(|last| last >= first)
        };
        if start > 0 && reaches(start - 1) {
            start -= 1;
            // More than one where a time fills parts.
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
        removed.parts = old.parts.into_own();
        removed.parts.extend(old.physical.parts);
        removed.parts.extend(old.physical.ghosts);
        removed.parts.push(Part::whole(old.tail));
        removed.parts.extend(old.tail_copy);
        removed.values.extend(old.late.into_iter().map(|(_, value)| value));
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
        let part = self.parts.get(self.parts_between(after, i64::MAX).start);
        let found = |leaf: &Leaf<T>, row: usize| leaf.times().get(row).copied();
        part.and_then(|part| found(&part.leaf, part.rows_between(after, i64::MAX).start))
            .or_else(|| found(&self.tail, self.tail.rows_between(after, i64::MAX).start))
    }

    /// The greatest time before `time`.
    pub fn previous_time(&mut self, time: i64) -> Option<i64> {
        self.settle();
        let before = time.checked_sub(1)?;
        let found = |leaf: &Leaf<T>, end: usize| leaf.times().get(end.checked_sub(1)?).copied();
        found(&self.tail, self.tail.rows_between(i64::MIN, before).end).or_else(|| {
            let end = self.firsts.partition_point(|first| *first <= before);
            let part = self.parts.get(end.checked_sub(1)?)?;
            found(&part.leaf, part.rows_between(i64::MIN, before).end)
        })
    }

    /// The values at a time.
    pub fn at(&mut self, time: i64) -> Found<T> {
        self.settle();
        let in_tail = self.tail.rows_between(time, time);
        let in_tail = self.tail.values().get(in_tail).unwrap_or_default();
        let reached = self.parts_between(time, time);
        let mut parts = self.parts.get(reached).unwrap_or_default().iter();
        let values_of = |part: &Part<T>| part.rows_between(time, time);
        match (parts.len(), in_tail) {
            (0, []) => return Found::Nothing,
            (0, [value]) => return Found::One(value.clone()),
            (0, _) => {}
            (1, []) => {
                let part = parts.as_slice().first();
                match part.and_then(|part| part.leaf.values().get(values_of(part))) {
                    None | Some([]) => return Found::Nothing,
                    Some([value]) => return Found::One(value.clone()),
                    Some(_) => {}
                }
            }
            _ => {}
        }
        let mut values = Vec::new();
        parts.by_ref().for_each(|part| {
            values.extend_from_slice(part.leaf.values().get(values_of(part)).unwrap_or_default());
        });
        values.extend_from_slice(in_tail);
        Found::Several(values)
    }

    /// The rows of a range as they are now.
    pub fn slice(&mut self, range: impl RangeBounds<i64>) -> Slice<T> {
        let Some((first, last)) = closed(range) else { return Slice::default() };
        self.settle();
        let in_tail = self.tail_part(self.tail.rows_between(first, last));
        let reached = self.parts_between(first, last);
        // Those between the first and the last are within it.
        let end = |index: usize| {
            let part = self.parts.get(index)?;
            Some(Part { leaf: Arc::clone(&part.leaf), rows: part.rows_between(first, last) })
        };
        match reached.len() {
            0 => Slice::over([None, None], Run::default(), in_tail),
            1 => Slice::over([end(reached.start), None], Run::default(), in_tail),
            _ => {
                let ends = [end(reached.start), end(reached.end - 1)];
                let between = self.parts.some(reached.start + 1..reached.end - 1);
                Slice::over(ends, between, in_tail)
            }
        }
    }

    /// Whether a row has this time.
    pub fn contains(&mut self, time: i64) -> bool {
        self.settle();
        let parts = self.parts.get(self.parts_between(time, time)).unwrap_or_default();
        parts.iter().any(|part| !part.rows_between(time, time).is_empty())
            || !self.tail.rows_between(time, time).is_empty()
    }

    /// The first so many rows as they are now.
    pub fn first(&mut self, rows: usize) -> Slice<T> {
        self.settle();
        let (mut parts, mut missing) = (Vec::new(), rows);
        for part in &*self.parts {
            if missing == 0 {
                break;
            }
            let end = part.rows.end.min(part.rows.start.saturating_add(missing));
            missing -= end - part.rows.start;
            parts.push(Part { leaf: Arc::clone(&part.leaf), rows: part.rows.start..end });
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
        for part in self.parts.iter().rev() {
            if missing == 0 {
                break;
            }
            let start = part.rows.start.max(part.rows.end.saturating_sub(missing));
            missing -= part.rows.end - start;
            parts.push(Part { leaf: Arc::clone(&part.leaf), rows: start..part.rows.end });
        }
        parts.reverse();
        Slice::new(parts)
    }

    /// Rows of the tail, which goes on changing, as a part of their own.
    fn tail_part(&mut self, rows: std::ops::Range<usize>) -> Option<Part<T>> {
        if rows.is_empty() {
            return None;
        }
        // Of few rows it is quicker to copy these.
        if self.tail_copy.is_none() && rows.len() < self.tail.len() / COPIED_SHARE {
            return Some(Part::whole(self.tail.copy(rows)));
        }
        let copied = || Part::whole(self.tail.copy(0..self.tail.len()));
        let whole = self.tail_copy.get_or_insert_with(copied);
        Some(Part { leaf: Arc::clone(&whole.leaf), rows })
    }

    /// What was published last.
    pub fn physical(&self) -> &Physical<T> {
        &self.physical
    }

    /// Makes the rows of now what [`Memory::pages`] shows, with the published rows that were
    /// deleted since [`Memory::compact`].
    pub fn publish(&mut self) -> Removed<T> {
        if self.physical.changed_rows() == 0 && self.physical.deleted.is_empty() {
            // It shows what there is.
            return Removed::default();
        }
        self.settle();
        let mut ghosts = std::mem::take(&mut self.physical.ghosts);
        let mut deleted = std::mem::take(&mut self.physical.deleted);
        deleted.sort_unstable();
        // A row that several of them deleted is shown once.
        let mut after = Some(i64::MIN);
        for (first, last) in deleted {
            let Some(start) = after else { break };
            if last >= start {
                ghosts.extend(self.physical.pages_between(first.max(start), last, usize::MAX));
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
        let gathered = self.gather();
        let mut removed = self.publish_with(Vec::new());
        removed.parts.extend(ghosts);
        removed.parts.extend(gathered);
        removed
    }

    /// Puts parts of leaves together to whole ones, so that nothing deleted is held by them; gives
    /// what there was before.
    fn gather(&mut self) -> Vec<Part<T>> {
        if self.parts.iter().all(Part::is_whole) {
            return Vec::new();
        }
        let old = std::mem::take(&mut self.parts).into_own();
        let parts = self.parts.change();
        let mut gathered = Leaf::default();
        for part in &old {
            let stays = part.is_whole() && part.len() > LEAF_ROWS / 2;
            if stays || gathered.len() + part.len() > LEAF_ROWS {
                parts.extend(std::mem::take(&mut gathered).into_part());
            }
            if stays {
                parts.push(part.clone());
            } else {
                gathered.extend(part.times(), part.values());
            }
        }
        parts.extend(gathered.into_part());
        self.firsts = parts.iter().filter_map(Part::first).collect();
        old
    }

    fn publish_with(&mut self, ghosts: Vec<Part<T>>) -> Removed<T> {
        let mut parts = self.parts.to_vec();
        parts.extend(self.tail_part(0..self.tail.len()));
        let old = std::mem::replace(&mut self.physical.parts, parts);
        self.physical.ghosts = ghosts;
        self.physical.fresh_rows = 0;
        self.physical.removed_rows = 0;
        Removed { parts: old, ..Removed::default() }
    }

    /// The published rows of a range in pages of at most so many: those there are in order,
    /// then those that were deleted.
    pub fn pages(&self, range: impl RangeBounds<i64>, rows_max: usize) -> Vec<Part<T>> {
        let Some((first, last)) = closed(range) else { return Vec::new() };
        self.physical.pages_between(first, last, rows_max)
    }

    /// The rows of a range as they are now, in pages of at most so many.
    pub fn logical_pages(&mut self, range: impl RangeBounds<i64>, rows_max: usize) -> Vec<Part<T>> {
        let slice = self.slice(range);
        slice.parts().flat_map(|part| part.cut(part.rows.clone(), rows_max)).collect()
    }

    /// Shows every value that this log holds a reference to, each once: for a collector of
    /// cycles. What readers share with it is shown here; a leaf that only readers hold any more
    /// is shown by its reader if that is the only one, else by nobody, and so counts as in use.
    pub fn for_each_held<E>(&self, mut show: impl FnMut(&T) -> Result<(), E>) -> Result<(), E> {
        let published = self.physical.parts.iter().chain(&self.physical.ghosts);
        // The published state shares most leaves, and several parts may be of one.
        let mut shown = HashSet::new();
        let is_plain = self.physical.parts.is_empty() && self.physical.ghosts.is_empty();
        let is_plain = is_plain && self.parts.iter().all(Part::is_whole);
        let parts = self.parts.iter().chain(published).chain(&self.tail_copy);
        let parts = parts.filter(|part| is_plain || shown.insert(Arc::as_ptr(&part.leaf)));
        let values = parts.flat_map(|part| part.leaf.values());
        values
            .chain(self.tail.values())
            .chain(self.late.iter().map(|(_, value)| value))
            .try_for_each(&mut show)
    }
}
