use std::sync::Arc;

use arrow_array::types::Int32Type;
use arrow_array::{
    BinaryArray, Date32Array, Decimal128Array, DictionaryArray, Float32Array, Float64Array,
    Int64Array, ListArray, StringArray, StructArray, TimestampMicrosecondArray, UInt64Array,
};
use arrow_schema::{Field, Schema};
use serde_json::json;

use super::*;

fn first_row(columns: Vec<ArrayRef>) -> Value {
    let fields = columns.iter().map(|column| Field::new("x", column.data_type().clone(), true));
    let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
    let batch = RecordBatch::try_new(schema, columns).unwrap();
    Columns::of(&batch).row(0)
}

#[test]
fn no_digit_of_a_number_is_lost() {
    let row = first_row(vec![
        Arc::new(Int64Array::from(vec![i64::MIN])),
        Arc::new(UInt64Array::from(vec![u64::MAX])),
        Arc::new(Float64Array::from(vec![0.1 + 0.2])),
        Arc::new(Float32Array::from(vec![0.1_f32])),
        Arc::new(Float64Array::from(vec![f64::NAN])),
        Arc::new(
            Decimal128Array::from(vec![123_456_789_012_345_678_901_234_567_i128])
                .with_precision_and_scale(38, 9)
                .unwrap(),
        ),
    ]);
    assert_eq!(
        row,
        json!([i64::MIN, u64::MAX, 0.1 + 0.2, 0.1, null, "123456789012345678.901234567"])
    );
}

#[test]
fn times_and_dates_and_bytes_are_text() {
    let time = TimestampMicrosecondArray::from(vec![1_714_550_400_250_000]);
    let row = first_row(vec![
        Arc::new(time.clone().with_timezone("UTC")),
        Arc::new(time.with_timezone("+02:00")),
        Arc::new(Date32Array::from(vec![19_844])),
        Arc::new(BinaryArray::from(vec![&b"plain\ntext"[..]])),
        Arc::new(BinaryArray::from(vec![&[0xa1, 0x00, 0xff][..]])),
        Arc::new(BinaryArray::from(vec![&[0x05][..]])),
    ]);
    let times = ["2024-05-01T08:00:00.250Z", "2024-05-01T10:00:00.250+02:00", "2024-05-01"];
    assert_eq!(row, json!([times[0], times[1], times[2], "plain\ntext", "0xa100ff", "0x05"]));
}

#[test]
fn what_is_nested_or_coded_or_missing_is_shown_as_it_is() {
    let list = ListArray::from_iter_primitive::<Int32Type, _, _>(vec![Some(vec![Some(1), None])]);
    let members: Vec<(_, ArrayRef)> = vec![
        (Arc::new(Field::new("a", DataType::Utf8, true)), Arc::new(StringArray::from(vec!["b"]))),
        (Arc::new(Field::new("n", DataType::Int64, true)), Arc::new(Int64Array::from(vec![None]))),
    ];
    let coded: DictionaryArray<Int32Type> = vec!["EWR"].into_iter().collect();
    let row = first_row(vec![
        Arc::new(list),
        Arc::new(StructArray::from(members)),
        Arc::new(coded),
        Arc::new(StringArray::from(vec![None::<&str>])),
    ]);
    assert_eq!(row, json!([[1, null], {"a": "b", "n": null}, "EWR", null]));
}
