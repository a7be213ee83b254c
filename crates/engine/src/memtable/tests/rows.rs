//! Single rows: every type that cells express, and the messages for what doesn't fit.

use std::sync::Arc;

use arrow_array::{Array, RecordBatch};
use arrow_schema::{DataType, Field, Schema, TimeUnit};
use timestrata_format::{SeqNo, StreamId};

use super::super::{Memtable, check_row};
use crate::{Cell, ErrorKind, Stream, StreamSpec};

fn stream(fields: Vec<Field>) -> Arc<Stream> {
    let spec = StreamSpec::new("rows", Arc::new(Schema::new(fields)));
    Arc::new(Stream::new(StreamId(1), spec).unwrap())
}

fn whole(memtable: &mut Memtable, columns: usize) -> RecordBatch {
    let view = memtable.view();
    assert_eq!(view.sources.len(), 1);
    view.sources[0].read(0, &(0..columns).collect::<Vec<_>>()).unwrap()
}

#[test]
fn every_type_that_cells_express_comes_back_as_it_went_in() {
    let cases: Vec<(DataType, Cell<'_>, &str)> = vec![
        (DataType::Boolean, Cell::Bool(true), "true"),
        (DataType::Int8, Cell::Int(-128), "-128"),
        (DataType::Int16, Cell::Int(-32_768), "-32768"),
        (DataType::Int32, Cell::Int(-7), "-7"),
        (DataType::Int64, Cell::Int(i64::MIN), "-9223372036854775808"),
        (DataType::UInt8, Cell::UInt(255), "255"),
        (DataType::UInt16, Cell::UInt(65_535), "65535"),
        (DataType::UInt32, Cell::UInt(9), "9"),
        (DataType::UInt64, Cell::UInt(u64::MAX), "18446744073709551615"),
        (DataType::Float32, Cell::Float(1.5), "1.5"),
        (DataType::Float64, Cell::Float(-0.25), "-0.25"),
        (DataType::Date32, Cell::Int(1), "1970-01-02"),
        (DataType::Time64(TimeUnit::Nanosecond), Cell::Int(1), "00:00:00.000000001"),
        (DataType::Utf8, Cell::Text("héllo"), "\"héllo\""),
        (DataType::LargeUtf8, Cell::Text(""), "\"\""),
        (DataType::Binary, Cell::Bytes(&[1, 2]), "[1, 2]"),
        (DataType::LargeBinary, Cell::Bytes(&[]), "[]"),
        (DataType::FixedSizeBinary(3), Cell::Bytes(&[1, 2, 3]), "[1, 2, 3]"),
    ];
    let mut fields = vec![Field::new("time", DataType::Int64, false)];
    let columns = cases.iter().enumerate();
    fields.extend(columns.map(|(i, case)| Field::new(format!("c{i}"), case.0.clone(), true)));
    let stream = stream(fields);
    let mut memtable = Memtable::new(Arc::clone(&stream)).unwrap();
    for (time, full) in [(1, false), (2, true), (3, false), (4, true)] {
        let values = cases.iter().map(|case| if full { case.1 } else { Cell::Null });
        let cells: Vec<Cell<'_>> = std::iter::once(Cell::Int(time)).chain(values).collect();
        check_row(&stream, &cells).unwrap();
        memtable.append_row(SeqNo(time as u64), &cells);
    }
    let batch = whole(&mut memtable, cases.len() + 1);
    for (index, (data_type, _, shown)) in cases.iter().enumerate() {
        let column = batch.column(index + 1);
        assert_eq!(column.data_type(), data_type);
        let nulls: Vec<bool> = (0..4).map(|row| column.is_null(row)).collect();
        assert_eq!(nulls, [true, false, true, false], "{data_type}");
        let text = format!("{column:?}");
        let shown = shown.trim_matches(['[', ']']);
        for item in shown.split(", ") {
            assert!(text.matches(item).count() >= 2, "{data_type}: {item} in {text}");
        }
    }
}

#[test]
fn a_row_that_does_not_fit_is_refused_by_column_expected_and_found() {
    let stream = stream(vec![
        Field::new("time", DataType::Int64, false),
        Field::new("small", DataType::Int8, true),
        Field::new("id", DataType::FixedSizeBinary(4), false),
    ]);
    let id = Cell::Bytes(&[0; 4]);
    let message = |cells: &[Cell<'_>]| {
        let error = check_row(&stream, cells).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidData);
        error.to_string()
    };
    assert!(check_row(&stream, &[Cell::Int(1), Cell::Null, id]).is_ok());
    assert_eq!(
        message(&[Cell::Int(1), Cell::Null]),
        "stream 'rows': a row has 3 columns, found 2 cells"
    );
    assert_eq!(
        message(&[Cell::Null, Cell::Null, id]),
        "stream 'rows': column 'time' takes Int64 without nulls, found null"
    );
    assert_eq!(
        message(&[Cell::Int(1), Cell::Int(128), id]),
        "stream 'rows': column 'small' takes Int8 or null, found the integer 128"
    );
    assert_eq!(
        message(&[Cell::Int(1), Cell::Null, Cell::Bytes(&[0; 5])]),
        "stream 'rows': column 'id' takes FixedSizeBinary(4) without nulls, found 5 bytes"
    );
    assert!(check_row(&stream, &[Cell::UInt(1), Cell::Null, id]).is_err());
    assert!(check_row(&stream, &[Cell::Int(1), Cell::Float(1.0), id]).is_err());
}

#[test]
fn a_type_that_cells_can_not_express_is_told_to_come_in_batches() {
    let stream = stream(vec![
        Field::new("time", DataType::Int64, false),
        Field::new("price", DataType::Decimal128(10, 2), true),
    ]);
    let error = check_row(&stream, &[Cell::Int(1), Cell::Null]).unwrap_err();
    assert!(error.to_string().contains("'price'"), "{error}");
    assert!(error.to_string().contains("insert record batches"), "{error}");
    assert!(Memtable::new(stream).is_ok());
}

#[test]
fn appends_and_views_in_turn_leave_few_sources_and_every_row() {
    let stream = stream(vec![Field::new("time", DataType::Int64, false)]);
    let mut memtable = Memtable::new(stream).unwrap();
    for row in 0..3000_i64 {
        // Every third row is late.
        let time = if row % 3 == 2 { -row } else { row };
        memtable.append_row(SeqNo(row as u64 + 1), &[Cell::Int(time)]);
        let view = memtable.view();
        assert_eq!(view.rows, row as usize + 1);
        assert!(view.sources.len() <= 24, "{} sources of {row} rows", view.sources.len());
    }
    let rows: u64 = memtable.view().sources.iter().map(|source| source.rows()).sum();
    assert_eq!(rows, 3000);
}

#[test]
fn memory_is_told_within_a_third_of_what_rows_take() {
    let stream = stream(vec![
        Field::new("time", DataType::Int64, false),
        Field::new("data", DataType::Binary, false),
    ]);
    let mut memtable = Memtable::new(stream).unwrap();
    let rows = 100_000_i64;
    for row in 0..rows {
        let time = if row % 5 == 4 { row - 1000 } else { row };
        memtable.append_row(SeqNo(row as u64 + 1), &[Cell::Int(time), Cell::Bytes(&[7; 64])]);
    }
    assert_eq!(memtable.rows(), rows as usize);
    let needed = rows as usize * (8 + 4 + 64);
    let view = memtable.view();
    assert!(view.bytes >= needed, "{} of {needed}", view.bytes);
    assert!(view.bytes <= needed + needed * 3 / 10, "{} of {needed}", view.bytes);
    // Views let a reader skip within a chunk.
    for source in &view.sources {
        assert!(source.blocks().unwrap().iter().all(|block| block.rows <= 8192));
    }
}
