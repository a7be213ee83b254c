use std::sync::Arc;

use arrow_schema::{DataType, Field, TimeUnit};
use proptest::prelude::*;
use timestrata_format::StreamId;

use super::*;
use crate::memtable::check_row;
use crate::{Stream, StreamSpec};

fn schema() -> Schema {
    Schema::new(vec![
        Field::new("time", DataType::Timestamp(TimeUnit::Nanosecond, None), false),
        Field::new("flag", DataType::Boolean, true),
        Field::new("small", DataType::Int8, true),
        Field::new("count", DataType::UInt32, false),
        Field::new("price", DataType::Float64, true),
        Field::new("half", DataType::Float32, true),
        Field::new("id", DataType::FixedSizeBinary(3), true),
        Field::new("blob", DataType::LargeBinary, true),
        Field::new("name", DataType::Utf8, true),
        Field::new("note", DataType::Utf8, false),
    ])
}

/// The values of one row, owned.
type Values = (
    (i64, Option<bool>, Option<i8>, u32),
    (Option<f64>, Option<f32>, Option<[u8; 3]>),
    (Option<Vec<u8>>, Option<String>, String),
);

fn values() -> impl Strategy<Value = Values> {
    let finite = prop::option::of(any::<f32>().prop_filter("equal", |value| !value.is_nan()));
    let wide = prop::option::of(any::<f64>().prop_filter("equal", |value| !value.is_nan()));
    (
        any::<(i64, Option<bool>, Option<i8>, u32)>(),
        (wide, finite, any::<Option<[u8; 3]>>()),
        (any::<Option<Vec<u8>>>(), prop::option::of(".{0,9}"), ".{0,9}"),
    )
}

fn cells(values: &Values) -> Vec<Cell<'_>> {
    let ((time, flag, small, count), (price, half, id), (blob, name, note)) = values;
    vec![
        Cell::Int(*time),
        flag.map_or(Cell::Null, Cell::Bool),
        small.map_or(Cell::Null, |value| Cell::Int(i64::from(value))),
        Cell::UInt(u64::from(*count)),
        price.map_or(Cell::Null, Cell::Float),
        half.map_or(Cell::Null, |value| Cell::Float(f64::from(value))),
        id.as_ref().map_or(Cell::Null, |id| Cell::Bytes(id)),
        blob.as_deref().map_or(Cell::Null, Cell::Bytes),
        name.as_deref().map_or(Cell::Null, Cell::Text),
        Cell::Text(note),
    ]
}

proptest! {
    #[test]
    fn rows_are_read_back(rows in prop::collection::vec(values(), 0..10)) {
        let layout = RowLayout::of(&schema()).unwrap();
        let mut body = Vec::new();
        for row in &rows {
            layout.encode(&cells(row), &mut body).unwrap();
        }
        let mut read = 0;
        layout.decode(&body, |found| {
            assert_eq!(found, cells(&rows[read]));
            read += 1;
        }).unwrap();
        prop_assert_eq!(read, rows.len());
    }

    #[test]
    fn rows_are_encoded_that_a_check_takes_and_no_others(
        row in values(), place in 0..11_usize, other in 0..10_usize,
    ) {
        let others = [
            Cell::Null,
            Cell::Bool(true),
            Cell::Int(-1),
            Cell::Int(1 << 40),
            Cell::UInt(1),
            Cell::UInt(u64::MAX),
            Cell::Float(1e300),
            Cell::Float(f64::INFINITY),
            Cell::Bytes(b"abc"),
            Cell::Text("abcd"),
        ];
        let spec = StreamSpec::new("rows", Arc::new(schema()));
        let stream = Stream::new(StreamId(1), spec).unwrap();
        let mut row = cells(&row);
        match row.get_mut(place) {
            Some(cell) => *cell = others[other],
            None => drop(row.pop()),
        }
        let encoded = RowLayout::of(&schema()).unwrap().encode(&row, &mut Vec::new());
        prop_assert_eq!(encoded.is_ok(), check_row(&stream, &row).is_ok(), "{:?}", row);
    }

    #[test]
    fn arbitrary_bytes_give_rows_of_the_stream_or_an_error(
        body in prop::collection::vec(any::<u8>(), 0..300),
        rows in prop::collection::vec(values(), 0..3),
        place in any::<prop::sample::Index>(),
    ) {
        let spec = StreamSpec::new("rows", Arc::new(schema()));
        let stream = Stream::new(StreamId(1), spec).unwrap();
        let layout = RowLayout::of(&schema()).unwrap();
        let mut damaged = Vec::new();
        for row in &rows {
            layout.encode(&cells(row), &mut damaged).unwrap();
        }
        if let Some(&byte) = body.first() && !damaged.is_empty() {
            *place.get_mut(&mut damaged) = byte;
        }
        for body in [body, damaged] {
            let _ = layout.decode(&body, |cells| check_row(&stream, cells).unwrap());
        }
    }
}

#[test]
fn a_cell_that_does_not_fit_its_column_is_refused() {
    let schema = Schema::new(vec![Field::new("small", DataType::Int8, false)]);
    let layout = RowLayout::of(&schema).unwrap();
    for cell in [Cell::Int(128), Cell::Null, Cell::UInt(1), Cell::Text("1")] {
        let error = layout.encode(&[cell], &mut Vec::new()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidData);
    }
    assert!(layout.encode(&[], &mut Vec::new()).is_err());
}

#[test]
fn columns_that_no_cell_has_are_refused_by_name() {
    let schema = Schema::new(vec![Field::new("money", DataType::Decimal128(10, 2), false)]);
    assert!(RowLayout::of(&schema).unwrap_err().to_string().contains("'money'"));
}
