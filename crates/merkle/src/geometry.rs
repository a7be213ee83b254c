//! Which complete subtrees a range of leaves is made of.

use std::ops::Range;

/// Levels that a tree of 2^64 leaves could have.
pub(crate) const LEVELS: u8 = 64;

/// A complete subtree: 2^`level` leaves, the `index`-th such at its level.
///
/// ```
/// use timestrata_merkle::Place;
///
/// let place = Place { level: 3, index: 5 };
/// assert_eq!((place.first(), place.leaves()), (40, 8));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Place {
    /// 0 for a leaf.
    pub level: u8,
    /// From the left, from 0.
    pub index: u64,
}

impl Place {
    /// How many leaves are under it.
    #[must_use]
    pub fn leaves(self) -> u64 {
        1_u64.checked_shl(self.level.into()).unwrap_or(u64::MAX)
    }

    /// The lowest leaf under it.
    #[must_use]
    pub fn first(self) -> u64 {
        self.index.saturating_mul(self.leaves())
    }
}

/// The largest power of two below `size`: how many leaves are to the left of a tree's root
/// (RFC 9162, section 2.1.1). `size` is at least 2.
pub(crate) fn split(size: u64) -> u64 {
    1 << (u64::BITS - 1 - (size - 1).leading_zeros())
}

/// The complete subtrees of a range of leaves, from the left, which is from the largest. The range
/// must start where a subtree of its size may start, as all ranges of proofs do.
pub fn peaks(range: Range<u64>) -> impl Iterator<Item = Place> {
    let mut first = range.start;
    std::iter::from_fn(move || {
        let left = range.end.checked_sub(first).filter(|left| *left > 0)?;
        let level = u64::BITS - 1 - left.leading_zeros();
        let place = Place { level: u8::try_from(level).unwrap_or(LEVELS), index: first >> level };
        first += 1 << level;
        Some(place)
    })
}
