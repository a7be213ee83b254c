//! What a filter asks of columns of numbers, in words that a file can answer as it stores them.

use std::ops::Bound;

/// Numbers of one column that pass a [`RowFilter`](super::RowFilter).
///
/// ```
/// use std::ops::Bound;
/// use timestrata_engine::NumberRange;
///
/// let warm = NumberRange::Floats { lo: Bound::Excluded(20.8), hi: Bound::Unbounded };
/// let few = NumberRange::Whole { first: 0, last: 9 };
/// assert_ne!(warm, few);
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum NumberRange {
    /// Of a signed integer column: two numbers and all between them; none where the first is greater.
    Whole {
        /// No number below it passes.
        first: i64,
        /// No number above it passes.
        last: i64,
    },
    /// Of a column of 64-bit floats; none of them is NaN, which doesn't pass.
    Floats {
        /// Where it begins.
        lo: Bound<f64>,
        /// Where it ends.
        hi: Bound<f64>,
    },
}

impl NumberRange {
    /// Numbers that pass both; `None` for ranges of other types.
    ///
    /// ```
    /// use timestrata_engine::NumberRange;
    ///
    /// let from = NumberRange::Whole { first: 3, last: i64::MAX };
    /// let to = NumberRange::Whole { first: i64::MIN, last: 7 };
    /// assert_eq!(from.and(to), Some(NumberRange::Whole { first: 3, last: 7 }));
    /// ```
    pub fn and(self, other: Self) -> Option<Self> {
        match (self, other) {
            (Self::Whole { first, last }, Self::Whole { first: from, last: to }) => {
                Some(Self::Whole { first: first.max(from), last: last.min(to) })
            }
            (Self::Floats { lo, hi }, Self::Floats { lo: from, hi: to }) => {
                let hi = narrower(hi, to, |one, other| one < other);
                Some(Self::Floats { lo: narrower(lo, from, |one, other| one > other), hi })
            }
            _ => None,
        }
    }
}

/// Of two bounds the one that leaves out more, where `is_inner` tells which of two numbers does.
fn narrower(one: Bound<f64>, other: Bound<f64>, is_inner: fn(f64, f64) -> bool) -> Bound<f64> {
    use Bound::{Excluded, Included, Unbounded};
    match (one, other) {
        (Unbounded, bound) | (bound, Unbounded) => bound,
        (Included(a) | Excluded(a), Included(b) | Excluded(b)) => match (is_inner(a, b), one) {
            (true, _) => one,
            (false, Excluded(_)) if a == b => one,
            (false, _) => other,
        },
    }
}

#[cfg(test)]
mod tests {
    use std::ops::RangeBounds;

    use proptest::prelude::*;

    use super::*;

    fn bound() -> impl Strategy<Value = Bound<f64>> {
        (0..3, -3_i8..3).prop_map(|(kind, number)| match kind {
            0 => Bound::Unbounded,
            1 => Bound::Included(number.into()),
            _ => Bound::Excluded(number.into()),
        })
    }

    proptest! {
        #[test]
        fn what_passes_both_ranges_passes_each(
            (one, other) in ((bound(), bound()), (bound(), bound())),
            (first, last, from, to) in (-3_i64..3, -3_i64..3, -3_i64..3, -3_i64..3),
        ) {
            let floats = |(lo, hi)| NumberRange::Floats { lo, hi };
            let Some(NumberRange::Floats { lo, hi }) = floats(one).and(floats(other)) else {
                return Err(TestCaseError::fail("ranges of floats"));
            };
            for number in (-8..8).map(|number| f64::from(number) / 2.0) {
                let passes = one.contains(&number) && other.contains(&number);
                prop_assert_eq!((lo, hi).contains(&number), passes, "{}", number);
            }
            let (left, right) =
                (NumberRange::Whole { first, last }, NumberRange::Whole { first: from, last: to });
            let Some(NumberRange::Whole { first: lo, last: hi }) = left.and(right) else {
                return Err(TestCaseError::fail("ranges of whole numbers"));
            };
            for number in -4..4 {
                let passes = (first..=last).contains(&number) && (from..=to).contains(&number);
                prop_assert_eq!((lo..=hi).contains(&number), passes, "{}", number);
            }
            prop_assert_eq!(left.and(floats(one)), None);
        }
    }
}
