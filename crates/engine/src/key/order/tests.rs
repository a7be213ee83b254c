use std::sync::Arc;

use arrow_array::{FixedSizeBinaryArray, Float64Array, Int64Array, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema};
use proptest::prelude::*;
use timestrata_format::StreamId;

use super::*;
use crate::StreamSpec;

fn stream(fields: Vec<(&str, DataType)>, key: &[&str]) -> Stream {
    let fields: Vec<Field> =
        fields.into_iter().map(|(name, data_type)| Field::new(name, data_type, false)).collect();
    let mut spec = StreamSpec::new("s", Arc::new(Schema::new(fields)));
    spec.key = key.iter().map(|name| (*name).to_owned()).collect();
    Stream::new(StreamId(1), spec).unwrap()
}

fn times(values: Vec<i64>) -> RecordBatch {
    RecordBatch::try_from_iter([("t", Arc::new(Int64Array::from(values)) as ArrayRef)]).unwrap()
}

fn times_and_names(rows: &[(i64, &str)]) -> RecordBatch {
    let names = StringArray::from_iter_values(rows.iter().map(|row| row.1));
    let times = Int64Array::from_iter_values(rows.iter().map(|row| row.0));
    let columns = [("n", Arc::new(names) as ArrayRef), ("t", Arc::new(times) as ArrayRef)];
    RecordBatch::try_from_iter(columns).unwrap()
}

#[test]
fn both_ends_of_time_sort_where_they_belong_and_equals_keep_their_order() {
    let order = KeyOrder::new(&stream(vec![("t", DataType::Int64)], &["t"])).unwrap();
    let batch = times(vec![5, i64::MAX, i64::MIN, 5, 0, i64::MIN]);
    let rows = order.rows(&batch).unwrap();
    let mut sorted = rows.sort_indices();
    assert_eq!(sorted, [2, 5, 4, 0, 3, 1]);
    rows.keep_last(&mut sorted);
    assert_eq!(sorted, [5, 4, 3, 1]);
}

#[test]
fn a_composite_key_orders_by_each_column_in_key_order_not_schema_order() {
    let stream = stream(vec![("n", DataType::Utf8), ("t", DataType::Int64)], &["t", "n"]);
    let order = KeyOrder::new(&stream).unwrap();
    let batch = times_and_names(&[(2, "a"), (1, "b"), (1, "a"), (1, "ab"), (-1, "z"), (1, "a")]);
    let rows = order.rows(&batch).unwrap();
    assert_eq!(rows.sort_indices(), [4, 2, 5, 3, 1, 0]);
    assert!(!order.is_sorted(&batch, false).unwrap());
    let keys = batch.project(&[1, 0]).unwrap();
    let keys = order.rows_of_keys(&keys).unwrap();
    assert_eq!(rows.compare(2, &keys, 5), Ordering::Equal);
    assert_eq!(rows.compare(1, &keys, 3), Ordering::Greater);
}

#[test]
fn sortedness_looks_past_ties_of_the_leading_key() {
    let stream = stream(vec![("n", DataType::Utf8), ("t", DataType::Int64)], &["t", "n"]);
    let order = KeyOrder::new(&stream).unwrap();
    let verdict = |rows: &[(i64, &str)]| {
        let batch = times_and_names(rows);
        (order.is_sorted(&batch, false).unwrap(), order.is_sorted(&batch, true).unwrap())
    };
    assert_eq!(verdict(&[]), (true, true));
    assert_eq!(verdict(&[(1, "b"), (2, "a")]), (true, true));
    assert_eq!(verdict(&[(1, "a"), (1, "b")]), (true, true));
    assert_eq!(verdict(&[(1, "a"), (1, "a")]), (true, false));
    assert_eq!(verdict(&[(1, "b"), (1, "a")]), (false, false));
}

#[test]
fn a_single_key_with_ties_is_sorted_but_not_strictly() {
    let order = KeyOrder::new(&stream(vec![("t", DataType::Int64)], &["t"])).unwrap();
    assert!(order.is_sorted(&times(vec![1, 1, 2]), false).unwrap());
    assert!(!order.is_sorted(&times(vec![1, 1, 2]), true).unwrap());
    assert!(!order.is_sorted(&times(vec![2, 1]), false).unwrap());
}

#[test]
fn the_lower_bound_is_the_first_row_not_below_a_key() {
    let order = KeyOrder::new(&stream(vec![("t", DataType::Int64)], &["t"])).unwrap();
    let (sorted, probes) = (times(vec![1, 3, 3, 7]), times(vec![0, 3, 4, 8]));
    let (sorted, probes) = (order.rows(&sorted).unwrap(), order.rows(&probes).unwrap());
    let bounds: Vec<usize> = (0..4).map(|probe| sorted.lower_bound(&probes, probe)).collect();
    assert_eq!(bounds, [0, 1, 3, 4]);
}

#[test]
fn ids_compare_as_bytes() {
    let stream = stream(vec![("id", DataType::FixedSizeBinary(16))], &["id"]);
    let ids = [[0x80; 16], [0x7f; 16], [0; 16]];
    let ids = FixedSizeBinaryArray::try_from_iter(ids.iter()).unwrap();
    let batch = RecordBatch::try_from_iter([("id", Arc::new(ids) as ArrayRef)]).unwrap();
    let order = KeyOrder::new(&stream).unwrap();
    assert_eq!(order.rows(&batch).unwrap().sort_indices(), [2, 1, 0]);
}

#[test]
fn floats_in_a_key_have_a_total_order() {
    let stream = stream(vec![("t", DataType::Int64), ("f", DataType::Float64)], &["t", "f"]);
    let floats = Float64Array::from(vec![f64::NAN, 0.0, -0.0, f64::NEG_INFINITY]);
    let columns = [
        ("t", Arc::new(Int64Array::from(vec![1; 4])) as ArrayRef),
        ("f", Arc::new(floats) as ArrayRef),
    ];
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let order = KeyOrder::new(&stream).unwrap();
    assert_eq!(order.rows(&batch).unwrap().sort_indices(), [3, 2, 1, 0]);
}

#[test]
fn a_missing_key_column_is_an_error_not_a_panic() {
    let stream = stream(vec![("n", DataType::Utf8), ("t", DataType::Int64)], &["t", "n"]);
    let order = KeyOrder::new(&stream).unwrap();
    assert!(order.rows(&times(vec![1])).is_err());
}

proptest! {
    #[test]
    fn rows_sort_as_a_plain_stable_sort_says(
        mut keys in proptest::collection::vec(0..40_i64, 0..200),
        places in proptest::collection::vec((0..200_usize, 0..40_i64), 0..40),
        mostly_sorted: bool,
    ) {
        if mostly_sorted {
            keys.sort_unstable();
        }
        for (place, key) in places {
            if let Some(moved) = keys.get_mut(place) {
                *moved = key;
            }
        }
        let mut expected: Vec<u32> = (0..keys.len() as u32).collect();
        expected.sort_by_key(|row| keys[*row as usize]);
        prop_assert_eq!(sorted_rows(keys.iter()), expected);
    }
}
