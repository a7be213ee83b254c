//! Keys keep their numbers, and runs of rows have those of each row.

use super::*;

#[test]
fn each_key_keeps_its_number_however_many_there_are() {
    let mut ids: Ids<u64> = Ids::default();
    let keys: Vec<u64> = (0..100_000).map(|n: u64| n.wrapping_mul(n) << 20).collect();
    let numbers: Vec<usize> = keys.iter().map(|key| ids.of(*key)).collect();
    let null = ids.of_null();
    for (key, number) in keys.iter().zip(&numbers).rev() {
        assert_eq!(ids.of(*key), *number);
    }
    assert_eq!((ids.of_null(), ids.len()), (null, null + 1));
    let taken: Vec<Option<u64>> = ids.take().collect();
    assert_eq!(taken[null], None);
    assert!(numbers.iter().zip(&keys).all(|(number, key)| taken[*number] == Some(*key)));
    assert_eq!((ids.len(), ids.of(7)), (0, 0));
}

proptest::proptest! {
    #[test]
    fn numbers_of_runs_are_those_of_each_value_by_itself(
        runs in proptest::collection::vec((0_u64..5, 0_u64..3, 1_usize..40), 0..20),
    ) {
        let rows = runs.iter().flat_map(|(one, other, rows)| vec![(*one, *other); *rows]);
        let rows: Vec<(u64, u64)> = rows.collect();
        let ones: Vec<u64> = rows.iter().map(|(one, _)| *one).collect();
        let others: Vec<usize> = rows.iter().map(|(_, other)| *other as usize).collect();
        let (mut ids, mut by_itself) = (Ids::default(), Ids::default());
        let mut numbers = vec![7];
        number_each(&ones, &mut numbers, |value| ids.of(value));
        let expected: Vec<usize> = ones.iter().map(|value| by_itself.of(*value)).collect();
        proptest::prop_assert_eq!(&numbers[1..], &expected[..]);
        let (mut ids, mut by_itself) = (Ids::default(), Ids::default());
        let of = |ids: &mut Ids<u64>, one, other| ids.of((one as u64) << 32 | other as u64);
        let mut pairs = numbers.split_off(1);
        number_pairs(&mut pairs, &others, |one, other| of(&mut ids, one, other));
        let each = expected.iter().zip(&others);
        let expected: Vec<usize> = each.map(|(one, other)| of(&mut by_itself, *one, *other)).collect();
        proptest::prop_assert_eq!(pairs, expected);
    }
}
