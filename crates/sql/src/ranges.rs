//! Sets of leading keys: disjoint ranges in ascending order.

use timestrata_engine::KeyRange;

/// Disjoint, ascending, none empty, no two that touch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Ranges(Vec<KeyRange>);

impl Ranges {
    /// Every key.
    pub(crate) fn all() -> Self {
        Self(vec![KeyRange::ALL])
    }

    /// No key.
    pub(crate) fn none() -> Self {
        Self(Vec::new())
    }

    /// The keys of one range.
    pub(crate) fn of(range: KeyRange) -> Self {
        Self(if range.is_empty() { Vec::new() } else { vec![range] })
    }

    pub(crate) fn as_slice(&self) -> &[KeyRange] {
        &self.0
    }

    pub(crate) fn is_all(&self) -> bool {
        self.0 == [KeyRange::ALL]
    }

    /// From the first key to the last.
    pub(crate) fn hull(&self) -> KeyRange {
        match (self.0.first(), self.0.last()) {
            (Some(first), Some(last)) => KeyRange { lo: first.lo, hi: last.hi },
            _ => KeyRange::ALL,
        }
    }

    /// Keys of either.
    pub(crate) fn union(mut self, other: Self) -> Self {
        self.0.extend(other.0);
        // An open `lo` is the least, as `None` is.
        self.0.sort_unstable_by_key(|range| range.lo);
        let mut joined: Vec<KeyRange> = Vec::with_capacity(self.0.len());
        for range in self.0 {
            match joined.last_mut() {
                Some(last) if last.hi.is_none_or(|hi| range.lo.is_none_or(|lo| lo <= hi)) => {
                    last.hi = last.hi.zip(range.hi).map(|(end, hi)| end.max(hi));
                }
                _ => joined.push(range),
            }
        }
        Self(joined)
    }

    /// Keys of both.
    pub(crate) fn intersect(&self, other: &Self) -> Self {
        let mut both = Vec::new();
        for range in &self.0 {
            both.extend(other.0.iter().map(|with| range.intersect(with)));
        }
        both.retain(|range| !range.is_empty());
        Self(both)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use timestrata_engine::LeadKey;

    use super::*;

    fn ranges() -> impl Strategy<Value = Vec<KeyRange>> {
        let end = || proptest::option::weighted(0.8, (-6_i64..6).prop_map(LeadKey::Time));
        let range = (end(), end()).prop_map(|(lo, hi)| KeyRange { lo, hi });
        proptest::collection::vec(range, 0..5)
    }

    fn set(ranges: &[KeyRange]) -> Ranges {
        ranges.iter().fold(Ranges::none(), |set, range| set.union(Ranges::of(*range)))
    }

    proptest! {
        #[test]
        fn sets_hold_what_their_ranges_hold(a in ranges(), b in ranges()) {
            let (left, right) = (set(&a), set(&b));
            let holds = |ranges: &[KeyRange], key| ranges.iter().any(|range| range.contains(key));
            for key in (-8..8).map(LeadKey::Time) {
                prop_assert_eq!(holds(left.as_slice(), key), holds(&a, key));
                let both = left.intersect(&right);
                prop_assert_eq!(holds(both.as_slice(), key), holds(&a, key) && holds(&b, key));
            }
            for pair in left.as_slice().windows(2) {
                prop_assert!(pair[0].hi.is_some() && pair[0].hi < pair[1].lo);
            }
        }
    }
}
