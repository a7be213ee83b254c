use std::sync::Arc;

use arrow_array::{
    ArrayRef, BinaryArray, BooleanArray, Date32Array, DurationSecondArray, Float32Array,
    Float64Array, Int8Array, StringArray, TimestampMicrosecondArray, UInt16Array,
};
use proptest::prelude::*;

use super::*;

proptest! {
    #[test]
    fn interpolation_agrees_with_a_linear_search(
        mut keys in proptest::collection::vec(
            prop_oneof![any::<i64>(), -50_i64..50, Just(i64::MIN), Just(i64::MAX)], 0..60),
        others in proptest::collection::vec(any::<i64>(), 5),
    ) {
        keys.sort_unstable();
        for key in keys.iter().chain(&others).copied() {
            let expected = keys.iter().filter(|other| **other < key).count();
            let found = lower_bound(&KeyView::Time(&keys), LeadKey::Time(key)).unwrap();
            prop_assert_eq!(found, expected);
            let ids: Vec<[u8; 16]> = keys.iter().map(|key| {
                let mut id = [0; 16];
                id[3..11].copy_from_slice(&(key.cast_unsigned() ^ (1 << 63)).to_be_bytes());
                id
            }).collect();
            if let Ok(row) = keys.binary_search(&key) {
                let found = lower_bound(&KeyView::Id16(&ids), LeadKey::Id16(ids[row])).unwrap();
                prop_assert_eq!(found, expected);
            }
        }
    }
}

#[test]
fn cells_compare_with_every_type_that_they_fit() {
    let columns: Vec<(ArrayRef, [Cell<'_>; 3])> = vec![
        (Arc::new(Int8Array::from(vec![5])), [Cell::Int(4), Cell::Int(5), Cell::Int(600)]),
        (Arc::new(UInt16Array::from(vec![5])), [Cell::UInt(4), Cell::UInt(5), Cell::UInt(600)]),
        (Arc::new(Date32Array::from(vec![5])), [Cell::Int(4), Cell::Int(5), Cell::Int(6)]),
        (
            Arc::new(TimestampMicrosecondArray::from(vec![-5])),
            [Cell::Int(-6), Cell::Int(-5), Cell::Int(6)],
        ),
        (Arc::new(DurationSecondArray::from(vec![5])), [Cell::Int(4), Cell::Int(5), Cell::Int(6)]),
        (
            Arc::new(Float32Array::from(vec![0.5])),
            [Cell::Float(0.25), Cell::Float(0.5), Cell::Float(f64::NAN)],
        ),
        (
            Arc::new(Float64Array::from(vec![0.0])),
            [Cell::Float(-0.0), Cell::Float(0.0), Cell::Float(1.0)],
        ),
        (
            Arc::new(StringArray::from(vec!["b"])),
            [Cell::Text("az"), Cell::Text("b"), Cell::Text("ba")],
        ),
        (
            Arc::new(BinaryArray::from(vec![b"b".as_slice()])),
            [Cell::Bytes(b"az"), Cell::Bytes(b"b"), Cell::Bytes(&[0xff])],
        ),
    ];
    for (array, cells) in columns {
        let orders = cells.map(|cell| compare_cell(array.as_ref(), 0, &cell));
        let expected = [Ordering::Greater, Ordering::Equal, Ordering::Less].map(Some);
        assert_eq!(orders, expected, "{}", array.data_type());
        assert_eq!(compare_cell(array.as_ref(), 0, &Cell::Null), None);
        assert_eq!(compare_cell(array.as_ref(), 0, &Cell::Bool(true)), None);
    }
    let truth = BooleanArray::from(vec![true]);
    assert_eq!(compare_cell(&truth, 0, &Cell::Bool(false)), Some(Ordering::Greater));
}
