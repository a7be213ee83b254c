use std::sync::Arc;

use arrow_array::types::Int32Type;
use arrow_array::{
    Array, ArrayRef, BooleanArray, DictionaryArray, FixedSizeBinaryArray, Float64Array, Int64Array,
    LargeStringArray, ListArray, NullArray, StringArray, StringViewArray, StructArray,
};
use arrow_schema::Field;
use proptest::prelude::*;

use super::*;

/// One of many types: nullable, nested, views.
fn batch(rows: usize) -> RecordBatch {
    let ids = (0..rows).map(|row| [row as u8; 16]);
    let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values(0..rows as i64));
    let maybe = (0..rows).map(|row| (row % 3 > 0).then_some(row as f64));
    let text =
        |row: usize| (!row.is_multiple_of(4)).then(|| format!("row number {row}, spelled out"));
    let lists = (0..rows).map(|row| Some((0..row % 3).map(|item| Some(item as i32))));
    let inner = Field::new("inner", numbers.data_type().clone(), true);
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("number", Arc::clone(&numbers)),
        ("maybe", Arc::new(Float64Array::from_iter(maybe))),
        ("flag", Arc::new(BooleanArray::from_iter((0..rows).map(|row| Some(row % 2 == 0))))),
        ("text", Arc::new(StringArray::from_iter((0..rows).map(text)))),
        ("large", Arc::new(LargeStringArray::from_iter((0..rows).map(text)))),
        ("view", Arc::new(StringViewArray::from_iter((0..rows).map(text)))),
        ("id", Arc::new(FixedSizeBinaryArray::try_from_iter(ids).unwrap())),
        ("list", Arc::new(ListArray::from_iter_primitive::<Int32Type, _, _>(lists))),
        ("none", Arc::new(NullArray::new(rows))),
        ("pair", Arc::new(StructArray::from(vec![(Arc::new(inner), numbers)]))),
    ];
    RecordBatch::try_from_iter_with_nullable(
        columns.into_iter().map(|(name, column)| (name, column, true)),
    )
    .unwrap()
}

fn message(batch: &RecordBatch) -> Bytes {
    let pieces = encode_batch(batch).unwrap();
    Bytes::from(pieces.iter().flat_map(|piece| piece.as_slice()).copied().collect::<Vec<u8>>())
}

#[test]
fn batches_and_slices_of_them_are_read_back() {
    let whole = batch(100);
    for (offset, length) in [(0, 100), (0, 1), (3, 40), (64, 36), (99, 1), (50, 50)] {
        let slice = whole.slice(offset, length);
        let read = decode_batch(&message(&slice), &whole.schema()).unwrap();
        assert_eq!(read, slice, "{length} rows from {offset}");
    }
}

#[test]
fn an_aligned_message_is_decoded_without_copying() {
    let schema_batch = RecordBatch::try_from_iter([(
        "number",
        Arc::new(Int64Array::from_iter_values(0..1000)) as ArrayRef,
    )])
    .unwrap();
    let pieces = encode_batch(&schema_batch).unwrap();
    let bytes: Vec<u8> = pieces.iter().flat_map(|piece| piece.as_slice()).copied().collect();
    let mut space = vec![0; bytes.len() + 64];
    let start = space.as_ptr().align_offset(64);
    space[start..start + bytes.len()].copy_from_slice(&bytes);
    let body = Bytes::from(space).slice(start..start + bytes.len());
    let read = decode_batch(&body, &schema_batch.schema()).unwrap();
    let values = read.column(0).to_data().buffers()[0].as_ptr();
    assert!(body.as_ptr_range().contains(&values));
}

#[test]
fn large_buffers_are_shared_and_not_copied_when_encoding() {
    let batch = batch(10_000);
    let column = batch.column(0).to_data().buffers()[0].as_ptr();
    assert!(encode_batch(&batch).unwrap().iter().any(|piece| piece.as_ptr() == column));
}

#[test]
fn dictionaries_are_refused_by_name_of_the_column() {
    let column: DictionaryArray<Int32Type> = ["a", "b"].into_iter().collect();
    let batch = RecordBatch::try_from_iter([("kind", Arc::new(column) as ArrayRef)]).unwrap();
    let error = encode_batch(&batch).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    assert!(error.to_string().contains("'kind'"), "{error}");
}

#[test]
fn a_message_for_another_schema_is_an_error() {
    let numbers = Arc::new(Int64Array::from(vec![1, 2])) as ArrayRef;
    let small = RecordBatch::try_from_iter([("number", numbers)]).unwrap();
    assert!(decode_batch(&message(&small), &batch(2).schema()).is_err());
    let text = StringArray::from(vec!["a", "b"]);
    let text = RecordBatch::try_from_iter([("text", Arc::new(text) as ArrayRef)]).unwrap();
    assert!(decode_batch(&message(&small), &text.schema()).is_err());
}

#[test]
fn a_message_with_any_byte_changed_never_panics() {
    let batch = batch(20);
    let whole = message(&batch);
    for place in 0..whole.len() {
        for change in [0x01, 0x80, 0xFF] {
            let mut damaged = whole.to_vec();
            damaged[place] ^= change;
            let _ = decode_batch(&Bytes::from(damaged), &batch.schema());
        }
    }
    for cut in 0..whole.len() {
        let _ = decode_batch(&whole.slice(..cut), &batch.schema());
    }
}

proptest! {
    #[test]
    fn a_message_with_several_bytes_changed_never_panics(
        changes in prop::collection::vec((0_usize..1200, any::<u8>()), 1..6)
    ) {
        let batch = batch(5);
        let mut damaged = message(&batch).to_vec();
        for (place, value) in changes {
            if let Some(byte) = damaged.get_mut(place) {
                *byte = value;
            }
        }
        let _ = decode_batch(&Bytes::from(damaged), &batch.schema());
    }
}
