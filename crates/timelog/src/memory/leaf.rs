//! A leaf: neighbouring rows, in order of time.

use std::ops::Range;

/// Rows of a leaf at most. A page of 64 KiB of times and values: long enough that a scan
/// doesn't notice its ends, short enough that a single late row is moved in quickly.
pub const LEAF_ROWS: usize = 4096;

/// With so few new rows each is moved into place; with more, all are merged in one pass.
const INSERTED_MAX: usize = 8;

/// Where the times behind `start` that are not above `last` end, in a sorted list.
pub(super) fn end_of(times: &[i64], start: usize, last: i64) -> usize {
    let behind = times.get(start..).unwrap_or_default();
    // Most ranges are short: their end is near.
    let (mut within, mut step) = (0, 1);
    while behind.get(within + step - 1).is_some_and(|time| *time <= last) {
        within += step;
        step *= 2;
    }
    let end = behind.len().min(within + step - 1);
    let near = behind.get(within..end).unwrap_or_default();
    start + within + near.partition_point(|time| *time <= last)
}

/// Where the times from `first` on begin in a sorted list.
///
/// Looks near where the time would be if all were equally far apart, and doubles its steps from
/// there: each look at another place of a long list waits for memory, and halving makes many.
pub(super) fn start_of(times: &[i64], first: i64) -> usize {
    /// Times of one line of the processor's cache.
    const LINE: usize = 8;
    let (Some(least), Some(greatest)) = (times.first(), times.last()) else { return 0 };
    if first <= *least {
        return 0;
    }
    if first > *greatest {
        return times.len();
    }
    let part = first.abs_diff(*least) as f64 / greatest.abs_diff(*least) as f64;
    let guess = ((part * times.len() as f64) as usize).min(times.len() - 1);
    let is_before = |place: usize| times.get(place).is_some_and(|time| *time < first);
    let (mut start, mut end, mut step) = (guess, guess, LINE);
    if is_before(guess) {
        while end < times.len() && is_before(end) {
            start = end + 1;
            end = (end + step).min(times.len());
            step *= 2;
        }
    } else {
        while start > 0 && !is_before(start) {
            end = start;
            start = start.saturating_sub(step);
            step *= 2;
        }
    }
    let within = times.get(start..end).unwrap_or_default();
    start + within.partition_point(|time| *time < first)
}

/// Where the times from `first` to `last`, both included, are in a sorted list.
pub(super) fn rows_between(times: &[i64], first: i64, last: i64) -> Range<usize> {
    if times.first().is_none_or(|own| last < *own) {
        return 0..0;
    }
    let start = start_of(times, first);
    start..end_of(times, start, last)
}

/// Rows in order of time; those with the same time in the order in which they came.
#[derive(Debug, Clone)]
pub struct Leaf<T> {
    times: Vec<i64>,
    values: Vec<T>,
}

impl<T> Default for Leaf<T> {
    fn default() -> Self {
        Self { times: Vec::new(), values: Vec::new() }
    }
}

impl<T> Leaf<T> {
    /// Times of the rows.
    pub fn times(&self) -> &[i64] {
        &self.times
    }

    /// Values of the rows.
    pub fn values(&self) -> &[T] {
        &self.values
    }

    pub(super) fn len(&self) -> usize {
        self.times.len()
    }

    pub(super) fn first(&self) -> Option<i64> {
        self.times.first().copied()
    }

    pub(super) fn last(&self) -> Option<i64> {
        self.times.last().copied()
    }

    /// The rows with times from `first` to `last`, both included.
    pub(super) fn rows_between(&self, first: i64, last: i64) -> Range<usize> {
        rows_between(&self.times, first, last)
    }

    /// Adds a row that is not before the last one.
    #[inline]
    pub(super) fn push(&mut self, time: i64, value: T) {
        self.times.push(time);
        self.values.push(value);
    }

    /// Makes room for so many rows, once.
    #[inline]
    pub(super) fn reserve(&mut self, rows: usize) {
        if self.times.capacity() == 0 {
            self.times.reserve_exact(rows);
            self.values.reserve_exact(rows);
        }
    }

    /// Takes out the first so many rows, as a leaf with room for late ones.
    pub(super) fn split_front(&mut self, rows: usize, capacity: usize) -> Self {
        let mut rest = Self::default();
        rest.reserve(capacity);
        rest.times.extend(self.times.drain(rows.min(self.times.len())..));
        rest.values.extend(self.values.drain(rows.min(self.values.len())..));
        self.times.shrink_to(LEAF_ROWS);
        self.values.shrink_to(LEAF_ROWS);
        std::mem::replace(self, rest)
    }

    /// Adds sorted rows that are newer than those there: each goes behind those of its time.
    pub(super) fn merge(&mut self, rows: Vec<(i64, T)>) {
        if rows.len() <= INSERTED_MAX {
            for (time, value) in rows {
                let place = self.times.partition_point(|old| *old <= time);
                self.times.insert(place, time);
                self.values.insert(place, value);
            }
            return;
        }
        let total = self.len() + rows.len();
        let old_times = std::mem::replace(&mut self.times, Vec::with_capacity(total));
        let old_values = std::mem::replace(&mut self.values, Vec::with_capacity(total));
        let mut old = old_times.into_iter().zip(old_values).peekable();
        for (time, value) in rows {
            while let Some((before, value)) = old.next_if(|(old, _)| *old <= time) {
                self.push(before, value);
            }
            self.push(time, value);
        }
        old.for_each(|(time, value)| self.push(time, value));
    }

    /// Takes rows out, and gives their values.
    pub(super) fn remove(&mut self, rows: Range<usize>) -> impl Iterator<Item = T> {
        self.times.drain(rows.clone());
        self.values.drain(rows)
    }

    /// Cuts it into pieces of about the same length, none longer than a leaf may be.
    pub(super) fn into_pieces(mut self) -> impl Iterator<Item = Self> {
        let pieces = self.len().div_ceil(LEAF_ROWS).max(1);
        let rows = self.len().div_ceil(pieces).max(1);
        let mut cut = Vec::with_capacity(pieces);
        while self.len() > rows {
            let start = (self.len() - 1) / rows * rows;
            let (times, values) = (self.times.split_off(start), self.values.split_off(start));
            cut.push(Self { times, values });
        }
        if !cut.is_empty() {
            self.times.shrink_to(rows);
            self.values.shrink_to(rows);
        }
        cut.push(self);
        cut.into_iter().rev()
    }
}

impl<T: Clone> Leaf<T> {
    /// A copy of some rows.
    pub(super) fn copy(&self, rows: Range<usize>) -> Self {
        Self {
            times: self.times.get(rows.clone()).unwrap_or_default().to_vec(),
            values: self.values.get(rows).unwrap_or_default().to_vec(),
        }
    }

    /// A copy of some rows and of some others behind them.
    pub(super) fn copy_of(&self, first: Range<usize>, second: Range<usize>) -> Self {
        let mut copy = self.copy(first);
        copy.extend(
            self.times.get(second.clone()).unwrap_or_default(),
            self.values.get(second).unwrap_or_default(),
        );
        copy
    }

    /// Adds rows that are not before the last one.
    pub(super) fn extend(&mut self, times: &[i64], values: &[T]) {
        self.times.extend_from_slice(times);
        self.values.extend_from_slice(values);
    }
}
