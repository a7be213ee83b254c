//! Which floats are decimal numbers, and that they come back.

use std::ops::RangeBounds;

use proptest::prelude::*;

use super::*;

fn digits(values: &[f64]) -> Option<u32> {
    let mut digits = Digits::default();
    digits.take(&Float64Array::from(values.to_vec())).then_some(digits.digits)
}

#[test]
fn numbers_that_do_not_come_back_bit_by_bit_are_no_decimal_ones() {
    assert_eq!(digits(&[1.0, -5.0, 100.0]), Some(0));
    assert_eq!(digits(&[1.0, 101.25, -0.5]), Some(2));
    assert_eq!(digits(&[0.1 + 0.2]), None);
    for value in [-0.0, f64::NAN, f64::INFINITY, 1e300, 1.0 / 3.0, f64::MIN_POSITIVE] {
        assert_eq!(digits(&[1.0, value]), None, "{value}");
    }
    // Each by itself is one, but both of them are not with the same digits.
    assert_eq!(digits(&[9e15]), Some(0));
    assert_eq!(digits(&[9e15, 0.001]), None);
}

proptest! {
    #[test]
    fn decimal_numbers_come_back(whole in -1_000_000_000_i64..1_000_000_000, count in 0..7_u32) {
        let value: f64 = format!("{}e-{count}", whole).parse().unwrap();
        let column: ArrayRef = Arc::new(Float64Array::from(vec![Some(value), None]));
        let found = digits(&[value]);
        prop_assert!(found.is_some_and(|found| found <= count));
        let alone: ArrayRef = Arc::new(Float64Array::from(vec![value]));
        for (column, digits) in [(&column, found.unwrap()), (&column, count), (&alone, count)] {
            let stored = as_decimals(column, digits).unwrap();
            // In another place while somebody else has them, and then in theirs.
            prop_assert_eq!(as_floats(Arc::clone(&stored)).to_data(), column.to_data());
            prop_assert_eq!(as_floats(stored).to_data(), column.to_data());
        }
    }

    #[test]
    fn whole_numbers_are_made_the_floats_of_a_cast(
        mut numbers in prop::collection::vec(prop_oneof![
            any::<i64>(),
            -3_i64..3,
            (-3_i64..3).prop_map(|near| (1 << 51) + near),
            (-3_i64..3).prop_map(|near| -(1 << 51) + near),
        ], 1..4),
    ) {
        let expected: Vec<u64> = numbers.iter().map(|n| (*n as f64).to_bits()).collect();
        to_float_bits(&mut numbers);
        let found: Vec<u64> = numbers.iter().map(|bits| bits.cast_unsigned()).collect();
        prop_assert_eq!(found, expected);
    }

    #[test]
    fn any_float_is_refused_or_comes_back(bits: u64, count in 0..7_u32) {
        let value = f64::from_bits(bits);
        let column: ArrayRef = Arc::new(Float64Array::from(vec![value]));
        if let Ok(stored) = as_decimals(&column, count) {
            let back = as_floats(stored);
            prop_assert_eq!(back.as_primitive::<Float64Type>().value(0).to_bits(), bits);
        }
    }
}

/// Numbers of all sizes, and those whose quotients lie closest to the middle between two floats.
#[test]
fn quotients_of_products_are_those_of_a_division() {
    let mut number = 1_u64;
    for digits in 1..=18 {
        let factor = 10_f64.powi(digits);
        let reciprocal = 1.0 / factor;
        let check = |number: f64| {
            // Whole numbers have one zero.
            for number in [number, 0.0 - number] {
                let found = quotient(number, factor, reciprocal);
                assert_eq!(found.to_bits(), (number / factor).to_bits(), "{number} / {factor}");
            }
        };
        (0..2_000).for_each(|number| check(f64::from(number)));
        for _ in 0..20_000 {
            // Knuth's linear congruential generator.
            number = number.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            check((number >> (number & 63)) as f64);
            // The float next to a product with the factor is as close to a quotient as floats come.
            let near = ((number >> 11) as f64 * factor).min(1e19);
            for bits in near.to_bits() - 2..=near.to_bits() + 2 {
                check(f64::from_bits(bits));
            }
        }
    }
}

proptest! {
    #[test]
    fn units_within_bounds_are_those_whose_floats_are(
        digits in 0_u32..=6,
        (lo, hi) in (bound(), bound()),
        near in -3_i64..=3,
    ) {
        let (first, last) = units_within(lo, hi, digits);
        let factor = 10_f64.powi(digits.cast_signed());
        let at = |bound| match bound {
            Bound::Included(float) | Bound::Excluded(float) => (float * factor) as i64,
            Bound::Unbounded => 0,
        };
        for number in [at(lo), at(hi), first, last, 0, i64::MIN, i64::MAX] {
            let number = number.saturating_add(near);
            let passes = (lo, hi).contains(&(number as f64 / factor));
            prop_assert_eq!((first..=last).contains(&number), passes, "{}", number);
        }
    }
}

fn bound() -> impl Strategy<Value = Bound<f64>> {
    let float = prop_oneof![
        (-2_000_i32..2_000).prop_map(|cents| f64::from(cents) / 100.0),
        any::<f64>().prop_filter("a number", |float| !float.is_nan()),
        Just(f64::INFINITY),
        Just(-0.0),
    ];
    (0..3, float).prop_map(|(kind, float)| match kind {
        0 => Bound::Unbounded,
        1 => Bound::Included(float),
        _ => Bound::Excluded(float),
    })
}
