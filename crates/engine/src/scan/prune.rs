//! Which parts of a range may have rows of a kind, where blocks can tell that unread: by the words
//! they have, and by what their numbers are between.

use std::ops::RangeInclusive;

use timestrata_format::{KeyRange, LeadKey};

use super::StreamView;
use super::view::blocks_met;
use crate::words::{self, Letters};
use crate::{Error, ErrorKind, Result};

/// A word that rows must have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SoughtWord {
    pub(crate) hash: u64,
    /// Other builds than this one may have told other letters from the rest, or folded them otherwise.
    pub(crate) letters: Letters,
}

/// What rows are wanted for, as far as blocks of cold runs can tell that they have none: all of
/// it must hold. An empty one lets everything through.
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
/// # for (time, celsius) in [(1_000, 20.5), (2_000, 21.0), (3_000, 21.5)] {
/// #     appender.append(&[Cell::Int(time), Cell::Float(celsius)], Durability::Written)?;
/// # }
/// let warm = PruneFilter::default().with_range(0, 2_000..=3_000);
/// let parts = store.snapshot()?.prune(kitchen, &KeyRange::ALL, &warm)?;
/// assert!(!parts.is_empty(), "what isn't compacted may have anything");
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PruneFilter {
    words: Vec<Vec<SoughtWord>>,
    ranges: Vec<(usize, RangeInclusive<i64>)>,
}

impl PruneFilter {
    /// Rows must have at least one of these words, whatever their case; see [`words::each`].
    #[must_use]
    pub fn with_any_word<'a>(mut self, any_of: impl IntoIterator<Item = &'a str>) -> Self {
        let sought = any_of.into_iter().map(|word| {
            let folded = words::folded(word);
            SoughtWord { hash: words::hash(folded.as_bytes()), letters: Letters::of(&folded) }
        });
        self.words.push(sought.collect());
        self
    }

    /// The value of a column of whole numbers or times, which must not be null, must be in a range.
    #[must_use]
    pub fn with_range(mut self, column: usize, range: RangeInclusive<i64>) -> Self {
        self.ranges.push((column, range));
        self
    }

    /// Whether it lets everything through.
    pub fn is_empty(&self) -> bool {
        self.words.is_empty() && self.ranges.is_empty()
    }

    pub(crate) fn words(&self) -> &[Vec<SoughtWord>] {
        &self.words
    }

    pub(crate) fn ranges(&self) -> &[(usize, RangeInclusive<i64>)] {
        &self.ranges
    }
}

impl StreamView {
    /// The parts of `range` outside of which no row has all that `filter` asks for: disjoint,
    /// ascending, none empty.
    pub(crate) fn prune(&self, range: &KeyRange, filter: &PruneFilter) -> Result<Vec<KeyRange>> {
        if self.stream.is_latest() {
            let message = format!(
                "stream '{}' keeps the latest row a key: one that is left out may replace others",
                self.stream.name()
            );
            return Err(Error::new(ErrorKind::InvalidArgument, message));
        }
        let mut parts = Vec::new();
        for seen in self.seen(range)? {
            for (index, block, part) in blocks_met(&seen)? {
                if filter.is_empty() || seen.0.may_match(index, filter)? {
                    parts.push(KeyRange::closed(block.key_min, block.key_max).intersect(&part));
                }
            }
        }
        Ok(joined(parts))
    }
}

/// The same keys in ranges that neither overlap nor touch.
fn joined(mut parts: Vec<KeyRange>) -> Vec<KeyRange> {
    parts.sort_unstable_by_key(|part| part.lo);
    let mut joined: Vec<KeyRange> = Vec::with_capacity(parts.len());
    for part in parts {
        match joined.last_mut() {
            Some(last) if reaches(last.hi, part.lo) => {
                last.hi = last.hi.zip(part.hi).map(|(one, other)| one.max(other));
            }
            _ => joined.push(part),
        }
    }
    joined
}

/// Whether a range that ends at `hi` leaves no key before `lo`. All parts have a `lo`.
fn reaches(hi: Option<LeadKey>, lo: Option<LeadKey>) -> bool {
    hi.is_none_or(|hi| lo.is_none_or(|lo| lo <= hi))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_that_touch_are_one() {
        let parts = vec![
            KeyRange::times(5, 9),
            KeyRange::times(0, 3),
            KeyRange::times(3, 4),
            KeyRange::times(6, 7),
        ];
        assert_eq!(joined(parts), [KeyRange::times(0, 4), KeyRange::times(5, 9)]);
        let open = KeyRange::new(LeadKey::Time(4), None);
        assert_eq!(joined(vec![open, KeyRange::times(9, 12)]), [open]);
    }
}
