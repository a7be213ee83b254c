//! A mask of a stretch selects what a mask of the whole block would.

use proptest::prelude::*;

use super::*;

const ROWS: usize = 300;

/// Ranges in order and apart, of a block's rows.
fn ranges() -> impl Strategy<Value = Vec<Range<usize>>> {
    prop::collection::btree_set(0..ROWS, 0..8).prop_map(|ends| {
        let ends: Vec<usize> = ends.into_iter().collect();
        ends.as_chunks::<2>().0.iter().map(|[start, end]| *start..*end).collect()
    })
}

fn rows(mask: &RowMask) -> Vec<usize> {
    mask.runs().flatten().collect()
}

proptest! {
    #[test]
    fn rows_of_a_stretch_are_those_of_the_block(ranges in ranges(), seed in any::<u64>()) {
        let mask = RowMask::of_ranges(&ranges);
        let selected: Vec<usize> = ranges.iter().cloned().flatten().collect();
        prop_assert_eq!(rows(&mask), selected.clone());
        prop_assert_eq!(mask.count(), selected.len());
        let is_in = |row: usize| (row as u64 ^ seed).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 63 == 1;
        let expected: Vec<usize> = selected.iter().copied().filter(|row| is_in(*row)).collect();
        let passes: BooleanArray = selected.iter().map(|row| Some(is_in(*row))).collect();
        let all = BooleanBuffer::collect_bool(ROWS, is_in);
        for both in [mask.within(&passes), mask.and(&all)] {
            prop_assert_eq!(rows(&both), expected.clone());
            prop_assert_eq!(both.count(), expected.len());
            prop_assert_eq!(both.stretch(), mask.stretch());
            prop_assert_eq!(both.of_stretch().true_count(), expected.len());
        }
        for range in &ranges {
            prop_assert_eq!(mask.slice(range).count_set_bits(), range.len());
        }
    }
}
