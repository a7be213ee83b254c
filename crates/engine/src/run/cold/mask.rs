//! Which rows of a block are selected, as they are stored.

use std::ops::Range;

use arrow_array::BooleanArray;
use arrow_buffer::{BooleanBuffer, BooleanBufferBuilder};

/// Rows of one stretch of a block that are selected. Outside of it none is: of a long block mostly a page is looked at.
#[derive(Debug, Clone)]
pub(super) struct RowMask {
    first: usize,
    bits: BooleanBuffer,
    count: usize,
}

impl RowMask {
    /// Of rows from one on those that have a bit.
    pub(super) fn new(first: usize, bits: BooleanBuffer) -> Self {
        let count = bits.count_set_bits();
        Self { first, bits, count }
    }

    /// All rows of some ranges, which are in order and apart.
    pub(super) fn of_ranges(ranges: &[Range<usize>]) -> Self {
        let (first, last) = (ranges.first(), ranges.last());
        let whole = first.zip(last).map_or(0..0, |(first, last)| first.start..last.end);
        let mut bits = BooleanBufferBuilder::new(whole.len());
        for range in ranges {
            bits.append_n(range.start - whole.start - bits.len(), false);
            bits.append_n(range.len(), true);
        }
        let count = ranges.iter().map(Range::len).sum();
        Self { first: whole.start, bits: bits.finish(), count }
    }

    /// How many rows are selected.
    pub(super) fn count(&self) -> usize {
        self.count
    }

    /// The rows of the stretch.
    pub(super) fn stretch(&self) -> Range<usize> {
        self.first..self.first + self.bits.len()
    }

    /// Which rows of it are selected.
    pub(super) fn of_stretch(&self) -> BooleanArray {
        BooleanArray::new(self.bits.clone(), None)
    }

    /// Which of some of its rows are selected.
    pub(super) fn slice(&self, rows: &Range<usize>) -> BooleanBuffer {
        self.bits.slice(rows.start - self.first, rows.len())
    }

    /// The rows that follow each other.
    pub(super) fn runs(&self) -> impl Iterator<Item = Range<usize>> {
        self.bits.set_slices().map(|(start, end)| self.first + start..self.first + end)
    }

    /// Of the rows that are selected those that pass; there is a value for each of them.
    pub(super) fn within(&self, passes: &BooleanArray) -> Self {
        if self.count == self.bits.len() && passes.len() == self.count {
            return Self::new(self.first, passes.values().clone());
        }
        let mut both = BooleanBufferBuilder::new(self.bits.len());
        both.append_n(self.bits.len(), false);
        for (row, is_in) in self.bits.set_indices().zip(passes.values()) {
            if is_in {
                both.set_bit(row, true);
            }
        }
        Self::new(self.first, both.finish())
    }

    /// Those of which a bit is set among those of all rows of the block.
    pub(super) fn and(&self, all: &BooleanBuffer) -> Self {
        self.and_of_stretch(&all.slice(self.first, self.bits.len()))
    }

    /// Those of which a bit is set among those of the rows of the stretch.
    pub(super) fn and_of_stretch(&self, bits: &BooleanBuffer) -> Self {
        Self::new(self.first, &self.bits & bits)
    }
}

#[cfg(test)]
mod tests;
