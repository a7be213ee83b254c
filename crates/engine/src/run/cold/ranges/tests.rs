//! Numbers held against a range are those that each by itself is in.

use std::sync::Arc;

use arrow_array::{Decimal64Array, Float64Array, Int32Array, Int64Array};
use proptest::prelude::*;

use super::*;

fn number() -> impl Strategy<Value = i64> {
    prop_oneof![
        Just(i64::MIN),
        Just(i64::MAX),
        (-2_i64..3).prop_map(|near| i64::from(i32::MIN) + near),
        (-2_i64..3).prop_map(|near| i64::from(i32::MAX) + near),
        -4_i64..4,
    ]
}

proptest! {
    #[test]
    fn numbers_of_each_type_are_within_a_range_if_they_are(
        numbers in prop::collection::vec(prop::option::of(number()), 0..100),
        (first, last) in (number(), number()),
    ) {
        let narrow = numbers.iter().map(|number| number.and_then(|n| i32::try_from(n).ok()));
        let narrow: Vec<Option<i32>> = narrow.collect();
        let is_in = |number: &Option<i64>| number.is_some_and(|n| (first..=last).contains(&n));
        let wide: Vec<bool> = numbers.iter().map(is_in).collect();
        let of_narrow: Vec<bool> = narrow.iter().map(|n| is_in(&n.map(i64::from))).collect();
        let columns: [(ArrayRef, Vec<bool>); 3] = [
            (Arc::new(Int64Array::from(numbers.clone())), wide.clone()),
            (Arc::new(Decimal64Array::from(numbers)), wide),
            (Arc::new(Int32Array::from(narrow)), of_narrow),
        ];
        for (column, expected) in columns {
            let found = numbers_within(&column, (first, last));
            prop_assert_eq!(found, Some(BooleanBuffer::from(expected)), "{}", column.data_type());
        }
    }
}

#[test]
fn numbers_are_narrowed_where_none_is_lost() {
    let wide = |numbers: Vec<Option<i64>>| Arc::new(Int64Array::from(numbers)) as ArrayRef;
    let mut narrow = vec![7];
    assert!(narrowed(&wide(vec![Some(-1), Some(i64::from(i32::MAX))]), &mut narrow));
    assert!(narrowed(&(Arc::new(Int32Array::from(vec![i32::MIN])) as _), &mut narrow));
    assert!(narrowed(&(Arc::new(Decimal64Array::from(vec![12_001])) as _), &mut narrow));
    assert_eq!(narrow, [7, -1, i32::MAX, i32::MIN, 12_001]);
    for others in [vec![Some(1), None], vec![Some(1), Some(i64::from(i32::MAX) + 1)]] {
        assert!(!narrowed(&wide(others), &mut narrow));
    }
    assert!(!narrowed(&(Arc::new(Float64Array::from(vec![1.0])) as _), &mut narrow));
    assert_eq!(narrow.len(), 5);
}

#[test]
fn of_other_numbers_nothing_is_told() {
    let floats: ArrayRef = Arc::new(Float64Array::from(vec![1.0]));
    assert_eq!(numbers_within(&floats, (0, 2)), None);
}
