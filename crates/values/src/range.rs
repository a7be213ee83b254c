//! Ranges of times as Rust writes them, as the engine's half-open key ranges; and their deletion.

use std::ops::{Bound, RangeBounds};

use timestrata_engine::{
    Changes, Durability, Error, ErrorKind, KeyRange, LeadKey, Result, SeqNo, Store, StreamId,
};

/// Deletes every row of a stream whose time is in `range`, in one commit. `None`: no time is.
///
/// # Errors
/// `InvalidArgument` if the range ends before it begins, and what a commit may fail with.
pub fn delete_range(
    store: &Store,
    stream: StreamId,
    range: &impl RangeBounds<i64>,
    durability: Durability,
) -> Result<Option<SeqNo>> {
    let range = key_range(range)?;
    if range.is_empty() {
        return store.acknowledge(durability).map(|_| None);
    }
    store.commit(Changes::new().delete_range(stream, range), durability).map(Some)
}

/// The half-open range for `bounds`. An inclusive end at the greatest time becomes an open
/// end; a range without any time in it becomes an empty one.
///
/// # Errors
/// `InvalidArgument` if the range ends before it begins.
pub fn key_range(bounds: &impl RangeBounds<i64>) -> Result<KeyRange> {
    let (start, end) = (bounds.start_bound(), bounds.end_bound());
    if let (
        Bound::Included(&from) | Bound::Excluded(&from),
        Bound::Included(&to) | Bound::Excluded(&to),
    ) = (start, end)
        && from > to
    {
        return Err(Error::new(
            ErrorKind::InvalidArgument,
            format!("range from time {from} to {to}: it ends before it begins"),
        ));
    }
    let lo = match start {
        Bound::Unbounded => None,
        Bound::Included(&from) => Some(from),
        Bound::Excluded(&from) => match from.checked_add(1) {
            Some(next) => Some(next),
            None => return Ok(KeyRange::times(i64::MAX, i64::MAX)),
        },
    };
    let hi = match end {
        Bound::Unbounded => None,
        Bound::Excluded(&to) => Some(to),
        Bound::Included(&to) => to.checked_add(1),
    };
    Ok(KeyRange { lo: lo.map(LeadKey::Time), hi: hi.map(LeadKey::Time) })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn range(lo: Option<i64>, hi: Option<i64>) -> KeyRange {
        KeyRange { lo: lo.map(LeadKey::Time), hi: hi.map(LeadKey::Time) }
    }

    #[test]
    fn every_way_to_write_a_range_has_its_half_open_form() {
        assert_eq!(key_range(&(..)).unwrap(), KeyRange::ALL);
        assert_eq!(key_range(&(3..7)).unwrap(), range(Some(3), Some(7)));
        assert_eq!(key_range(&(3..=7)).unwrap(), range(Some(3), Some(8)));
        assert_eq!(key_range(&(..=7)).unwrap(), range(None, Some(8)));
        assert_eq!(key_range(&(3..)).unwrap(), range(Some(3), None));
    }

    #[test]
    fn an_inclusive_end_at_the_greatest_time_is_open() {
        assert_eq!(key_range(&(5..=i64::MAX)).unwrap(), range(Some(5), None));
        assert_eq!(key_range(&(i64::MAX..=i64::MAX)).unwrap(), range(Some(i64::MAX), None));
    }

    #[test]
    fn nothing_is_after_the_greatest_time() {
        let after = (Bound::Excluded(i64::MAX), Bound::Unbounded);
        assert!(key_range(&after).unwrap().is_empty());
    }

    #[test]
    fn a_range_that_ends_before_it_begins_is_refused_with_both_ends_named() {
        let (from, to) = (7, 3);
        let error = key_range(&(from..to)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
        assert!(error.to_string().contains("from time 7 to 3"), "{error}");
        assert!(key_range(&(3..3)).unwrap().is_empty());
    }

    proptest! {
        #[test]
        fn a_time_is_in_the_half_open_form_if_it_is_in_the_range(
            a in prop_oneof![any::<i64>(), Just(i64::MIN), Just(i64::MAX), -3..3i64],
            b in prop_oneof![any::<i64>(), Just(i64::MIN), Just(i64::MAX), -3..3i64],
            time in prop_oneof![any::<i64>(), Just(i64::MIN), Just(i64::MAX), -3..3i64],
            kinds in 0..9u8,
        ) {
            let bound = |kind: u8, at: i64| match kind {
                0 => Bound::Unbounded,
                1 => Bound::Included(at),
                _ => Bound::Excluded(at),
            };
            let bounds = (bound(kinds % 3, a.min(b)), bound(kinds / 3, a.max(b)));
            let range = key_range(&bounds).unwrap();
            prop_assert_eq!(range.contains(LeadKey::Time(time)), bounds.contains(&time));
        }
    }
}
