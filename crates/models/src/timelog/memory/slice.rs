//! Reading: rows as they were when they were asked for.

use std::ops::Range;
use std::sync::Arc;

use super::leaf::Leaf;

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

    /// Cuts it into parts of at most so many rows.
    pub(super) fn cut(self, rows_max: usize) -> impl Iterator<Item = Self> {
        let Self { leaf, rows } = self;
        let end = rows.end;
        rows.step_by(rows_max.max(1)).map(move |start| Self {
            leaf: Arc::clone(&leaf),
            rows: start..end.min(start.saturating_add(rows_max)),
        })
    }
}

/// Rows in order of time, read from both ends. Doesn't change, whatever becomes of the log.
#[derive(Debug)]
pub struct Slice<T> {
    /// The parts still to be read, none of them empty; the first and the last may have been
    /// read in part, which their ranges tell.
    parts: std::collections::VecDeque<Part<T>>,
    left: usize,
}

impl<T> Slice<T> {
    pub(super) fn new(parts: Vec<Part<T>>) -> Self {
        let left = parts.iter().map(|part| part.rows.len()).sum();
        Self { parts: parts.into(), left }
    }

    /// Rows still to be read.
    pub fn left(&self) -> usize {
        self.left
    }

    /// The parts still to be read, in order.
    pub fn parts(&self) -> impl Iterator<Item = &Part<T>> {
        self.parts.iter()
    }
}

impl<T: Clone> Slice<T> {
    /// The next row from the front.
    #[inline]
    pub fn next_row(&mut self) -> Option<(i64, T)> {
        let part = self.parts.front_mut()?;
        let row = part.rows.next()?;
        let found = row_of(&part.leaf, row);
        if part.rows.is_empty() {
            self.parts.pop_front();
        }
        self.left -= 1;
        found
    }

    /// The next row from the back.
    pub fn next_row_back(&mut self) -> Option<(i64, T)> {
        let part = self.parts.back_mut()?;
        let row = part.rows.next_back()?;
        let found = row_of(&part.leaf, row);
        if part.rows.is_empty() {
            self.parts.pop_back();
        }
        self.left -= 1;
        found
    }
}

#[inline]
fn row_of<T: Clone>(leaf: &Leaf<T>, row: usize) -> Option<(i64, T)> {
    Some((*leaf.times().get(row)?, leaf.values().get(row)?.clone()))
}
