//! Reading: rows as they were when they were asked for.

use std::ops::Range;
use std::sync::Arc;

use super::leaf::{Leaf, rows_between};
use super::parts::Run;

/// Some rows of a leaf.
#[derive(Debug)]
pub struct Part<T> {
    pub(super) leaf: Arc<Leaf<T>>,
    pub(super) rows: Range<usize>,
}

impl<T> Clone for Part<T> {
    fn clone(&self) -> Self {
        Self { leaf: Arc::clone(&self.leaf), rows: self.rows.clone() }
    }
}

impl<T> Part<T> {
    /// All rows of a leaf.
    pub(super) fn whole(leaf: Leaf<T>) -> Self {
        let rows = 0..leaf.len();
        Self { leaf: Arc::new(leaf), rows }
    }

    /// Whether it has all rows of its leaf.
    pub(super) fn is_whole(&self) -> bool {
        self.rows == (0..self.leaf.len())
    }

    /// How many rows it has.
    pub(super) fn len(&self) -> usize {
        self.rows.len()
    }

    pub(super) fn first(&self) -> Option<i64> {
        self.times().first().copied()
    }

    pub(super) fn last(&self) -> Option<i64> {
        self.times().last().copied()
    }

    /// Those of its rows with times from `first` to `last`, both included, as places in its leaf.
    pub(super) fn rows_between(&self, first: i64, last: i64) -> Range<usize> {
        let within = rows_between(self.times(), first, last);
        self.rows.start + within.start..self.rows.start + within.end
    }

    /// Times of the rows; never empty in a slice.
    pub fn times(&self) -> &[i64] {
        self.leaf.times().get(self.rows.clone()).unwrap_or_default()
    }

    /// Values of the rows.
    pub fn values(&self) -> &[T] {
        self.leaf.values().get(self.rows.clone()).unwrap_or_default()
    }

    /// Whether nobody else holds the leaf.
    pub fn is_sole(&self) -> bool {
        Arc::strong_count(&self.leaf) == 1
    }

    /// All values of the leaf, those of other rows included.
    pub fn leaf_values(&self) -> &[T] {
        self.leaf.values()
    }

    /// Some of its rows, as places in its leaf, in parts of at most so many.
    pub(super) fn cut(
        &self,
        rows: Range<usize>,
        rows_max: usize,
    ) -> impl Iterator<Item = Self> + use<'_, T> {
        let end = rows.end;
        rows.step_by(rows_max.max(1)).map(move |start| Self {
            leaf: Arc::clone(&self.leaf),
            rows: start..end.min(start.saturating_add(rows_max)),
        })
    }
}

impl<T> Leaf<T> {
    /// All of its rows, if it has any.
    pub(super) fn into_part(self) -> Option<Part<T>> {
        (self.len() > 0).then(|| Part::whole(self))
    }
}

impl<T: Clone> Part<T> {
    /// Its rows as a leaf that nobody else has: the leaf itself where that is so, else a copy.
    pub(super) fn take_leaf(&mut self) -> Leaf<T> {
        let is_whole = self.is_whole();
        match Arc::get_mut(&mut self.leaf) {
            Some(leaf) if is_whole => std::mem::take(leaf),
            _ => self.leaf.copy(self.rows.clone()),
        }
    }
}

/// Rows in order of time, read from both ends. Doesn't change, whatever becomes of the log.
#[derive(Debug)]
pub struct Slice<T> {
    /// What is read from the front, until nothing of it is left: most slices are within one
    /// leaf, and need no list.
    front: Option<Part<T>>,
    /// Whole parts behind it.
    between: Run<T>,
    /// The part behind those; what is read from the back, once there is no row of the tail left.
    last: Option<Part<T>>,
    /// Rows that were in the tail.
    tail: Option<Part<T>>,
}

impl<T> Default for Slice<T> {
    fn default() -> Self {
        Self { front: None, between: Run::default(), last: None, tail: None }
    }
}

impl<T> Slice<T> {
    /// Over parts in order.
    pub(super) fn new(parts: Vec<Part<T>>) -> Self {
        let mut parts = parts.into_iter();
        let (front, last) = (parts.next(), parts.next_back());
        let between = if parts.len() > 0 { parts.collect() } else { Run::default() };
        Self { front, between, last, tail: None }
    }

    /// Over the first and the last of several parts, those between them, and rows of the tail.
    pub(super) fn over(
        [front, last]: [Option<Part<T>>; 2],
        between: Run<T>,
        tail: Option<Part<T>>,
    ) -> Self {
        let [front, last] = [front, last].map(|part| part.filter(|part| !part.rows.is_empty()));
        let mut slice = Self { front, between, last, tail };
        if slice.front.is_none() {
            slice.front = slice.next_part();
        }
        slice
    }

    /// Rows still to be read.
    pub fn left(&self) -> usize {
        self.parts().map(|part| part.rows.len()).sum()
    }

    /// The parts still to be read, in order. The first may have no row left.
    pub fn parts(&self) -> impl Iterator<Item = &Part<T>> {
        self.front.iter().chain(self.between.as_slice()).chain(&self.last).chain(&self.tail)
    }

    /// Parts whose leaves nobody else holds.
    pub fn sole_parts(&self) -> impl Iterator<Item = &Part<T>> {
        let ends = self.front.iter().chain(&self.last).chain(&self.tail);
        // A list that two hold would show its leaves twice.
        ends.chain(self.between.sole()).filter(|part| part.is_sole())
    }

    /// The part behind the first.
    fn next_part(&mut self) -> Option<Part<T>> {
        self.between.next().or_else(|| self.last.take()).or_else(|| self.tail.take())
    }

    /// A value that comes so many rows behind the next from the front, if it is near it.
    #[inline]
    pub fn ahead(&self, rows: usize) -> Option<&T> {
        let part = self.front.as_ref()?;
        part.leaf.values().get(part.rows.start + rows)
    }

    /// The part that has the next row from the front.
    #[inline]
    fn first_part(&mut self) -> Option<&mut Part<T>> {
        while self.front.as_ref()?.rows.is_empty() {
            self.front = self.next_part();
        }
        self.front.as_mut()
    }

    /// The part that has the next row from the back, if any is left.
    #[inline]
    fn last_part(&mut self) -> Option<&mut Part<T>> {
        let has_rows =
            |part: &Option<Part<T>>| part.as_ref().is_some_and(|part| !part.rows.is_empty());
        if has_rows(&self.tail) {
            return self.tail.as_mut();
        }
        self.tail = None;
        while !has_rows(&self.last) {
            self.last = self.between.next_back();
            if self.last.is_none() {
                return self.front.as_mut();
            }
        }
        self.last.as_mut()
    }

    /// The next row from the front.
    #[inline]
    pub fn next_row(&mut self) -> Option<(i64, &T)> {
        let part = self.first_part()?;
        let row = part.rows.next()?;
        row_of(&part.leaf, row)
    }

    /// The next row from the back.
    #[inline]
    pub fn next_row_back(&mut self) -> Option<(i64, &T)> {
        let part = self.last_part()?;
        let row = part.rows.next_back()?;
        row_of(&part.leaf, row)
    }

    /// Takes rows that lie side by side from the front, at most so many.
    pub fn take_part(&mut self, rows_max: usize) -> Option<Part<T>> {
        let part = self.first_part()?;
        let end = part.rows.end.min(part.rows.start.saturating_add(rows_max));
        let taken = Part { leaf: Arc::clone(&part.leaf), rows: part.rows.start..end };
        part.rows.start = end;
        Some(taken)
    }

    /// The same from the back; the rows are still in order of time.
    pub fn take_part_back(&mut self, rows_max: usize) -> Option<Part<T>> {
        let part = self.last_part().filter(|part| !part.rows.is_empty())?;
        let start = part.rows.start.max(part.rows.end.saturating_sub(rows_max));
        let taken = Part { leaf: Arc::clone(&part.leaf), rows: start..part.rows.end };
        part.rows.end = start;
        Some(taken)
    }
}

#[inline]
fn row_of<T>(leaf: &Leaf<T>, row: usize) -> Option<(i64, &T)> {
    Some((*leaf.times().get(row)?, leaf.values().get(row)?))
}
