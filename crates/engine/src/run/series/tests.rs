//! Which columns tell series apart, and how their rows lie.

use std::sync::Arc;

use arrow_array::{Int32Array, Int64Array};
use arrow_select::take::take_record_batch;
use proptest::prelude::*;

use super::*;

fn block(batch: &RecordBatch) -> Block {
    // In two parts, as they may come.
    let half = batch.num_rows() / 2;
    let parts = vec![batch.slice(0, half), batch.slice(half, batch.num_rows() - half)];
    Block::new(batch.schema_ref(), parts)
}

fn told(rows: &[(Option<u8>, u8)], columns: &[usize]) -> Vec<usize> {
    telling(&block(&batch(rows)), columns).unwrap().0
}

/// Two columns that tell series apart, and the number of the row.
fn batch(rows: &[(Option<u8>, u8)]) -> RecordBatch {
    let hosts = rows.iter().map(|(host, _)| host.map(|host| format!("host {host}")));
    let cores = rows.iter().map(|(_, core)| i32::from(*core));
    let numbers = 0..rows.len() as i64;
    let columns: [(&str, ArrayRef); 3] = [
        ("host", Arc::new(hosts.collect::<StringArray>())),
        ("core", Arc::new(Int32Array::from_iter_values(cores))),
        ("number", Arc::new(Int64Array::from_iter_values(numbers))),
    ];
    let columns = columns.map(|(name, column)| (name, column, true));
    RecordBatch::try_from_iter_with_nullable(columns).unwrap()
}

#[test]
fn as_few_columns_as_tell_series_apart_are_taken() {
    let rows: Vec<_> = (0..100).map(|row| (Some(row % 10), row % 10 / 5)).collect();
    assert_eq!(told(&rows, &[0, 1]), [0]);
    assert_eq!(told(&rows, &[1, 0]), [0]);
    assert_eq!(told(&rows, &[1]), [1]);
    let rows: Vec<_> = (0..100).map(|row| (Some(row), 0)).collect();
    assert_eq!(told(&rows, &[0, 1]), [0]);
    assert_eq!(told(&rows, &[1]), [0_usize; 0]);
    let rows: Vec<_> = (0..100).map(|row| (Some(row % 10), row / 50)).collect();
    assert_eq!(told(&rows, &[1, 0]), [0, 1]);
}

proptest! {
    #[test]
    fn rows_by_series_are_those_that_a_stable_sort_gives(
        rows in prop::collection::vec((prop::option::weighted(0.9, 0..7_u8), 0..3_u8), 0..200)
    ) {
        let batch = batch(&rows);
        let order = by_series(&block(&batch), &[0, 1]).unwrap().unwrap();
        let mut expected: Vec<_> = (0..rows.len()).collect();
        expected.sort_by_key(|row| (rows[*row].0.is_none(), rows[*row]));
        prop_assert!(order.values().iter().map(|row| *row as usize).eq(expected));
        let stored = take_record_batch(&batch, &order).unwrap();
        let places = by_key(&order).unwrap();
        prop_assert_eq!(take_record_batch(&stored, &places).unwrap(), batch);
    }

    #[test]
    fn what_are_not_the_places_of_all_rows_is_refused(rows in prop::collection::vec(0..6_u32, 0..6)) {
        let mut sorted = rows.clone();
        sorted.sort_unstable();
        let is_whole = sorted.iter().copied().eq(0..rows.len() as u32);
        prop_assert_eq!(by_key(&UInt32Array::from(rows)).is_some(), is_whole);
    }
}

/// Names of so many bytes at most, some of which begin alike or are null, and numbers.
fn names(bytes_max: usize) -> impl Strategy<Value = Vec<(Option<String>, Option<i32>)>> {
    let name = prop::option::weighted(0.9, ("[ab\\x00]", 0..bytes_max));
    let name = name.prop_map(|name| name.map(|(letter, times)| letter.repeat(times)));
    prop::collection::vec((name, prop::option::weighted(0.9, -2..2_i32)), 1..200)
}

proptest! {
    #[test]
    fn keys_tell_the_series_apart_that_their_values_do(
        rows in prop_oneof![names(8), names(16), names(20)]
    ) {
        let texts: StringArray = rows.iter().map(|(name, _)| name.clone()).collect();
        let numbers: ArrayRef = Arc::new(rows.iter().map(|(_, number)| *number).collect::<Int32Array>());
        let columns = [SeriesValues::Text(&texts), values(&numbers).unwrap()];
        let expected = Numbered::by_values(&columns);
        let longest = rows.iter().flat_map(|(name, _)| name).map(String::len).max();
        let short = Numbered::by_keys::<u64>(&columns);
        let long = Numbered::by_keys::<u128>(&columns);
        prop_assert_eq!(short.is_some(), longest <= Some(7));
        prop_assert_eq!(long.is_some(), longest <= Some(15));
        for found in short.into_iter().chain(long) {
            prop_assert_eq!((&found.ids, &found.firsts), (&expected.ids, &expected.firsts));
        }
    }
}

#[test]
fn places_without_a_value_are_refused() {
    assert!(by_key(&UInt32Array::from(vec![Some(0), None])).is_none());
}
