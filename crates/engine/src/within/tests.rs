//! What is asked of many numbers at once is what is asked of each.

use proptest::prelude::*;

use super::*;

fn number() -> impl Strategy<Value = i64> {
    prop_oneof![Just(i64::MIN), Just(i64::MAX), -4_i64..4]
}

proptest! {
    #[test]
    fn numbers_between_two_are_those_that_each_by_itself_is(
        numbers in prop::collection::vec(number(), 0..200),
        first in number(),
        last in number(),
    ) {
        let expected: Vec<bool> = numbers.iter().map(|n| (first..=last).contains(n)).collect();
        prop_assert_eq!(within(&numbers, first, last), BooleanBuffer::from(expected.clone()));
        prop_assert_eq!(are_within(&numbers, first, last), !expected.contains(&false));
    }
}

#[test]
fn bits_of_eight_bytes_are_gathered_in_their_order() {
    for bits in 0..=255_u64 {
        let bytes = std::array::from_fn(|byte| (bits >> byte & 1) as u8);
        assert_eq!(gathered(bytes), bits);
    }
}
