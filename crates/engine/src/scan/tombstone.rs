//! Range deletes, turned round: the parts of a range that a source still shows.
//!
//! Tombstones are made into disjoint ranges once a source, so that the merge cuts a block
//! by binary search and no row is ever compared with a tombstone.

use timestrata_format::{KeyRange, LeadKey, Tombstone};

use super::Source;

/// Whether `tombstone` hides the rows of `source` that are in its range.
pub(super) fn applies(tombstone: &Tombstone, source: &dyn Source) -> bool {
    tombstone.seq > source.seq_max() && tombstone.seq > source.tombstones_applied_through()
}

/// The parts of `range` whose rows of `source` no tombstone hides, and which may have some:
/// disjoint, ascending, none empty.
pub(super) fn visible(
    range: &KeyRange,
    tombstones: &[Tombstone],
    source: &dyn Source,
) -> Vec<KeyRange> {
    let (min, max) = (source.key_min(), source.key_max());
    if !range.overlaps(min, max) {
        return Vec::new();
    }
    let hidden = tombstones
        .iter()
        .filter(|tombstone| applies(tombstone, source) && tombstone.range.overlaps(min, max))
        .map(|tombstone| tombstone.range);
    subtract(range, hidden.collect()).into_iter().filter(|part| part.overlaps(min, max)).collect()
}

/// `range` without `hidden`: disjoint, ascending, none empty.
fn subtract(range: &KeyRange, mut hidden: Vec<KeyRange>) -> Vec<KeyRange> {
    // An open `lo` is the least, as `None` is.
    hidden.sort_unstable_by_key(|hidden| hidden.lo);
    let mut parts = Vec::with_capacity(hidden.len() + 1);
    let mut rest = *range;
    for hole in hidden {
        let hole = hole.intersect(range);
        if hole.is_empty() {
            continue;
        }
        if let Some(hi) = hole.lo {
            let part = KeyRange { lo: rest.lo, hi: Some(hi) };
            if rest.lo < Some(hi) && !part.is_empty() {
                parts.push(part);
            }
        }
        match hole.hi {
            Some(hi) => rest.lo = rest.lo.max(Some(hi)),
            None => return parts,
        }
    }
    if !rest.is_empty() {
        parts.push(rest);
    }
    parts
}

/// The parts of disjoint ascending ranges that are outside of `holes`.
pub(super) fn without(parts: &[KeyRange], holes: &[KeyRange]) -> Vec<KeyRange> {
    parts.iter().flat_map(|part| subtract(part, holes.to_vec())).collect()
}

/// Of disjoint ascending ranges: the first that ends after `key` (the length if none).
pub(super) fn first_ending_after(parts: &[KeyRange], key: LeadKey) -> usize {
    parts.partition_point(|part| part.hi.is_some_and(|hi| hi <= key))
}

/// The least key at which the parts from `start` on can meet the inclusive `[min, max]`.
pub(super) fn first_overlap(
    parts: &[KeyRange],
    start: usize,
    min: LeadKey,
    max: LeadKey,
) -> Option<LeadKey> {
    let rest = parts.get(start..)?;
    let part = rest.get(first_ending_after(rest, min))?;
    let key = part.lo.map_or(min, |lo| lo.max(min));
    (key <= max).then_some(key)
}

/// The parts of disjoint ascending ranges that are in `range`.
pub(super) fn clip(parts: &[KeyRange], range: &KeyRange) -> Vec<KeyRange> {
    let start = range.lo.map_or(0, |lo| first_ending_after(parts, lo));
    let inside = parts[start..]
        .iter()
        .take_while(|part| range.hi.is_none_or(|hi| part.lo.is_none_or(|lo| lo < hi)));
    inside.map(|part| part.intersect(range)).filter(|part| !part.is_empty()).collect()
}

/// Whether one of disjoint ascending ranges holds every key of the inclusive `[min, max]`.
pub(super) fn covered(parts: &[KeyRange], min: LeadKey, max: LeadKey) -> bool {
    parts.get(first_ending_after(parts, min)).is_some_and(|part| part.covers(min, max))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn end() -> impl Strategy<Value = Option<LeadKey>> {
        prop_oneof![
            1 => Just(None),
            1 => Just(Some(LeadKey::Time(i64::MIN))),
            1 => Just(Some(LeadKey::Time(i64::MAX))),
            8 => (-9_i64..9).prop_map(|key| Some(LeadKey::Time(key))),
        ]
    }

    fn range() -> impl Strategy<Value = KeyRange> {
        (end(), end()).prop_map(|(lo, hi)| KeyRange { lo, hi })
    }

    fn keys() -> impl Iterator<Item = LeadKey> {
        (-10..10).chain([i64::MIN, i64::MIN + 1, i64::MAX - 1, i64::MAX]).map(LeadKey::Time)
    }

    proptest! {
        #[test]
        fn what_is_left_holds_just_the_keys_that_no_hole_holds(
            whole in range(),
            holes in proptest::collection::vec(range(), 0..6),
            window in range(),
        ) {
            let parts = subtract(&whole, holes.clone());
            for pair in parts.windows(2) {
                prop_assert!(pair[0].hi.is_some() && pair[0].hi <= pair[1].lo);
            }
            prop_assert!(parts.iter().all(|part| !part.is_empty()));
            let clipped = clip(&parts, &window);
            for key in keys() {
                let expected = whole.contains(key) && !holes.iter().any(|h| h.contains(key));
                prop_assert_eq!(parts.iter().any(|part| part.contains(key)), expected);
                let at = first_ending_after(&parts, key);
                prop_assert_eq!(parts.get(at).is_some_and(|part| part.contains(key)), expected);
                prop_assert_eq!(covered(&parts, key, key), expected);
                let expected = expected && window.contains(key);
                prop_assert_eq!(clipped.iter().any(|part| part.contains(key)), expected);
            }
        }
    }
}
