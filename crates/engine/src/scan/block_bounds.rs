//! What blocks tell unread of a column of whole numbers or times: between what its values lie.

use timestrata_format::KeyRange;

use super::StreamView;
use super::view::blocks_met;
use crate::{Error, ErrorKind, Result};

/// Between what the values of a column lie in some rows, and whether some may have none.
///
/// ```
/// use timestrata_engine::BlockBounds;
///
/// let first = BlockBounds { values: Some((3, 5)), may_be_null: false };
/// let second = BlockBounds { values: None, may_be_null: true };
/// assert_eq!(first.and(second), BlockBounds { values: Some((3, 5)), may_be_null: true });
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BlockBounds {
    /// No value is less than the first, none greater than the second; `None`: all are null.
    pub values: Option<(i64, i64)>,
    /// Whether a row may have no value.
    pub may_be_null: bool,
}

impl BlockBounds {
    /// Those of the rows of both.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        let values = match (self.values, other.values) {
            (Some((min, max)), Some((least, most))) => Some((min.min(least), max.max(most))),
            (one, other) => one.or(other),
        };
        Self { values, may_be_null: self.may_be_null || other.may_be_null }
    }
}

/// A part of a range of keys, and what is known of a column there.
///
/// ```
/// # use std::sync::Arc;
/// # use arrow_schema::{DataType, Field, Schema};
/// # use timestrata_engine::*;
/// # fn main() -> timestrata_engine::Result<()> {
/// # let store = Store::memory(Settings::default())?;
/// # let schema = Schema::new(vec![
/// #     Field::new("time", DataType::Int64, false),
/// #     Field::new("celsius", DataType::Float64, true),
/// # ]);
/// # let kitchen = store.create_stream(StreamSpec::new("kitchen", Arc::new(schema)))?;
/// # let mut appender = store.appender(kitchen)?;
/// appender.append(&[Cell::Int(1_000), Cell::Float(20.5)], Durability::Written)?;
/// let parts = store.snapshot()?.block_bounds(kitchen, &KeyRange::ALL, 0)?;
/// assert!(parts[0].bounds.is_none(), "what isn't compacted may have anything");
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PartBounds {
    /// The keys of its rows.
    pub range: KeyRange,
    /// What blocks tell; `None`: values may be anything.
    pub bounds: Option<BlockBounds>,
}

impl StreamView {
    /// The parts of `range` that have rows, as their blocks are, and what these tell of `column`: disjoint,
    /// ascending, none empty. Blocks that share keys are one part.
    pub(crate) fn block_bounds(&self, range: &KeyRange, column: usize) -> Result<Vec<PartBounds>> {
        if self.stream.is_latest() {
            let message = format!(
                "stream '{}' keeps the latest row a key: one block doesn't tell what a key has",
                self.stream.name()
            );
            return Err(Error::new(ErrorKind::InvalidArgument, message));
        }
        let mut parts = Vec::new();
        for seen in self.seen(range)? {
            for (index, block, part) in blocks_met(&seen)? {
                let range = KeyRange::closed(block.key_min, block.key_max).intersect(&part);
                parts.push(PartBounds { range, bounds: seen.0.block_bounds(index, column)? });
            }
        }
        Ok(disjoint(parts))
    }
}

/// The same parts, where those that share keys are one.
fn disjoint(mut parts: Vec<PartBounds>) -> Vec<PartBounds> {
    parts.sort_unstable_by_key(|part| part.range.lo);
    let mut joined: Vec<PartBounds> = Vec::with_capacity(parts.len());
    for part in parts {
        // All parts have a first key; ends are excluded.
        let last = joined.last_mut().filter(|last| {
            let (hi, lo) = (last.range.hi, part.range.lo);
            hi.is_none_or(|hi| lo.is_none_or(|lo| lo < hi))
        });
        match last {
            Some(last) => {
                let hi = last.range.hi.zip(part.range.hi);
                last.range.hi = hi.map(|(one, other)| one.max(other));
                last.bounds = last.bounds.zip(part.bounds).map(|(one, other)| one.and(other));
            }
            None => joined.push(part),
        }
    }
    joined
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(from: i64, to: i64, values: (i64, i64)) -> PartBounds {
        let bounds = Some(BlockBounds { values: Some(values), may_be_null: false });
        PartBounds { range: KeyRange::times(from, to), bounds }
    }

    #[test]
    fn parts_that_share_keys_are_one() {
        let parts = vec![part(5, 9, (1, 2)), part(0, 4, (7, 8)), part(3, 5, (0, 9))];
        assert_eq!(disjoint(parts), [part(0, 5, (0, 9)), part(5, 9, (1, 2))]);
        let unknown = PartBounds { bounds: None, ..part(0, 2, (0, 0)) };
        let all = disjoint(vec![unknown, part(1, 3, (4, 5))]);
        assert_eq!(all, [PartBounds { range: KeyRange::times(0, 3), bounds: None }]);
    }
}
