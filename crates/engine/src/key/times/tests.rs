//! What is asked of many times at once is what is asked of each.

use proptest::prelude::*;

use super::*;

fn time() -> impl Strategy<Value = i64> {
    prop_oneof![Just(i64::MIN), Just(i64::MAX), -4_i64..4]
}

proptest! {
    #[test]
    fn times_between_two_are_those_that_each_by_itself_is(
        times in prop::collection::vec(time(), 0..200),
        first in time(),
        last in time(),
    ) {
        let expected: Vec<bool> = times.iter().map(|t| (first..=last).contains(t)).collect();
        prop_assert_eq!(within(&times, first, last), BooleanBuffer::from(expected.clone()));
        prop_assert_eq!(are_within(&times, first, last), !expected.contains(&false));
    }
}

#[test]
fn bits_of_eight_bytes_are_gathered_in_their_order() {
    for bits in 0..=255_u64 {
        let bytes = std::array::from_fn(|byte| (bits >> byte & 1) as u8);
        assert_eq!(gathered(bytes), bits);
    }
}
