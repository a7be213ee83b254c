//! Rows gathered cell by cell: what is refused, and what may be missing.

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_schema::{DataType, Field, Schema};

use super::*;
use crate::{Settings, Store, StreamSpec};

fn stream_of(fields: Vec<Field>) -> Arc<Stream> {
    let store = Store::memory(Settings::default()).unwrap();
    store.create_stream(StreamSpec::new("s", Arc::new(Schema::new(fields)))).unwrap();
    store.stream("s").unwrap()
}

#[test]
fn a_refused_row_leaves_the_batch_as_it_was() {
    let stream = stream_of(vec![
        Field::new("time", DataType::Int64, false),
        Field::new("text", DataType::Utf8, true),
        Field::new("small", DataType::Int8, false),
    ]);
    let mut rows = RowBatch::new(&stream).unwrap();
    rows.push(&[Cell::Int(2), Cell::Text("b"), Cell::Int(-1)]).unwrap();
    let error = rows.push(&[Cell::Int(1), Cell::Text("a"), Cell::Int(128)]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidData);
    assert!(error.to_string().contains("'small'"), "{error}");
    rows.push(&[Cell::Int(1), Cell::Null, Cell::Int(127)]).unwrap();
    let batch = rows.finish().unwrap();
    assert_eq!(batch.num_rows(), 2);
    assert_eq!(batch.column(0).as_primitive::<Int64Type>().values(), &[2, 1]);
    assert_eq!(batch.column(1).null_count(), 1);
    assert!(rows.is_empty() && rows.bytes() == 0);
}

#[test]
fn a_column_that_cells_cannot_express_is_named() {
    let list = DataType::List(Arc::new(Field::new("item", DataType::Int64, true)));
    let stream = stream_of(vec![
        Field::new("time", DataType::Int64, false),
        Field::new("many", list.clone(), false),
    ]);
    assert!(!Cell::can_express(&list));
    let error = RowBatch::new(&stream).unwrap_err();
    assert!(error.to_string().contains("'many'"), "{error}");
}

#[test]
fn a_list_that_may_be_missing_is_missing_in_single_rows() {
    let list = DataType::List(Arc::new(Field::new("item", DataType::Int64, true)));
    let stream = stream_of(vec![
        Field::new("time", DataType::Int64, false),
        Field::new("many", list.clone(), true),
    ]);
    let mut rows = RowBatch::new(&stream).unwrap();
    assert!(rows.push(&[Cell::Int(1), Cell::Int(2)]).is_err());
    rows.push(&[Cell::Int(1), Cell::Null]).unwrap();
    rows.push(&[Cell::Int(2), Cell::Null]).unwrap();
    let batch = rows.finish().unwrap();
    assert_eq!((batch.column(1).data_type(), batch.column(1).null_count()), (&list, 2));
}
