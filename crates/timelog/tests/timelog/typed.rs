//! What a typed time log promises: columns of one type each, in long pieces, nothing half stored.

#![expect(clippy::unwrap_used, reason = "a test ends where something is not as it must be")]

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type};
use arrow_array::{ArrayRef, Float64Array, Int64Array, StringArray};
use arrow_buffer::ScalarBuffer;
use arrow_schema::{DataType, Field};
use timestrata_engine::{Access, Cell, Durability, ErrorKind, Io, Settings, Store};
use timestrata_timelog::{Codec, Timelog, TimelogOptions, ValueColumns};

fn memory() -> Store {
    Store::memory(Settings::default()).unwrap()
}

fn floats(store: &Store) -> Timelog {
    let columns = ValueColumns::scalar(DataType::Float64).unwrap();
    Timelog::create(store, "floats", TimelogOptions::typed(columns)).unwrap()
}

fn trades() -> ValueColumns {
    ValueColumns::record([
        Field::new("symbol", DataType::Utf8, false),
        Field::new("price", DataType::Float64, true),
    ])
    .unwrap()
}

fn values(log: &Timelog) -> Vec<(i64, Option<f64>)> {
    let mut found = Vec::new();
    for block in log.range(..).unwrap().blocks() {
        let block = block.unwrap();
        let column = block.columns()[0].as_primitive::<Float64Type>();
        found.extend(block.times().iter().copied().zip(column.iter()));
    }
    found
}

#[test]
fn rows_and_columns_come_back_by_time() {
    let store = memory();
    let log = floats(&store);
    log.append_cells(&[Cell::Int(3), Cell::Float(0.3)], Durability::Written).unwrap();
    let columns: Vec<ArrayRef> = vec![Arc::new(Float64Array::from(vec![Some(0.5), None]))];
    log.extend_columns(ScalarBuffer::from(vec![5, 1]), columns, Durability::Written).unwrap();
    let mut batch = log.typed_batch().unwrap();
    batch.push(&[Cell::Int(2), Cell::Float(0.2)]).unwrap();
    log.extend_typed(&mut batch, Durability::Written).unwrap();
    let expected = vec![(1, None), (2, Some(0.2)), (3, Some(0.3)), (5, Some(0.5))];
    assert_eq!(values(&log), expected);
    log.flush().unwrap();
    log.compact().unwrap();
    assert_eq!(values(&log), expected);
}

#[test]
fn a_flushed_column_is_one_piece_that_is_never_copied() {
    let directory = tempfile::tempdir().unwrap();
    let open = || Store::open(directory.path(), Settings::default()).unwrap();
    let rows = 300_000_i64;
    let store = open();
    let column: Vec<ArrayRef> =
        vec![Arc::new(Float64Array::from_iter_values((0..rows).map(|row| row as f64)))];
    floats(&store).extend_columns((0..rows).collect(), column, Durability::Written).unwrap();
    store.flush().unwrap();
    drop(store);

    let store = open();
    let log = floats(&store);
    let place = || {
        let blocks: Vec<_> = log.range(..).unwrap().blocks().collect::<Result<_, _>>().unwrap();
        assert_eq!(blocks.len(), 1, "more rows than run_batch_rows, and still one block");
        let column = blocks[0].columns()[0].as_primitive::<Float64Type>().values().clone();
        (column.len(), column.as_ptr(), blocks[0].times().as_ptr())
    };
    let first = place();
    assert_eq!(first.0 as i64, rows);
    assert_eq!(first, place(), "both reads are of the same memory: the file's map");
}

#[test]
fn a_typed_log_keeps_its_columns() {
    let store = memory();
    let options = TimelogOptions::typed(trades());
    Timelog::create(&store, "trades", options.clone()).unwrap();
    let log = Timelog::open(&store, "trades").unwrap();
    assert_eq!((log.codec(), log.columns()), (Codec::Arrow, Some(trades())));
    Timelog::create(&store, "trades", options).unwrap();
    let other = ValueColumns::record([Field::new("price", DataType::Int64, true)]).unwrap();
    let error = Timelog::create(&store, "trades", TimelogOptions::typed(other)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::AlreadyExists, "{error}");
    let one = ValueColumns::scalar(DataType::Utf8).unwrap();
    let error = Timelog::create(&store, "trades", TimelogOptions::typed(one)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::AlreadyExists, "{error}");
}

#[test]
fn codec_and_columns_belong_together() {
    let store = memory();
    let typed = TimelogOptions { codec: Codec::Arrow, ..Default::default() };
    let bytes = TimelogOptions { columns: Some(trades()), ..Default::default() };
    for options in [typed, bytes] {
        let error = Timelog::create(&store, "log", options).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
    }
    assert!(store.streams().is_empty());
}

#[test]
fn columns_that_a_log_cannot_have_are_named() {
    let list = DataType::List(Arc::new(Field::new("item", DataType::Int64, true)));
    let refused = [
        ValueColumns::record([Field::new("time", DataType::Int64, true)]),
        ValueColumns::record([Field::new("many", list, true)]),
        ValueColumns::record(Vec::<Field>::new()),
    ];
    for (result, named) in refused.into_iter().zip(["'time'", "'many'", "a column"]) {
        let error = result.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
        assert!(error.to_string().contains(named), "{error}");
    }
}

#[test]
fn what_does_not_fit_is_refused_and_nothing_is_stored() {
    let store = memory();
    let log = Timelog::create(&store, "trades", TimelogOptions::typed(trades())).unwrap();
    let append = |cells: &[Cell<'_>]| log.append_cells(cells, Durability::Written).unwrap_err();
    let number = append(&[Cell::Int(1), Cell::Int(7), Cell::Null]);
    assert!(number.to_string().contains("'symbol'"), "{number}");
    let few = append(&[Cell::Int(1), Cell::Text("A")]);
    assert!(few.to_string().contains("2 cells"), "{few}");
    let bytes = log.append(1, b"x").unwrap_err();
    assert_eq!(bytes.kind(), ErrorKind::InvalidData, "{bytes}");

    let symbols = || Arc::new(StringArray::from(vec!["A", "B"])) as ArrayRef;
    let short: ArrayRef = Arc::new(Float64Array::from(vec![1.0]));
    let whole: ArrayRef = Arc::new(Int64Array::from(vec![1, 2]));
    for columns in [vec![symbols(), short], vec![symbols(), whole], vec![symbols()]] {
        let times = ScalarBuffer::from(vec![1, 2]);
        let error = log.extend_columns(times, columns, Durability::Written).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidData, "{error}");
    }
    assert_eq!(log.len().unwrap(), 0);

    let plain = Timelog::create(&store, "plain", TimelogOptions::default()).unwrap();
    let error = plain.append_cells(&[Cell::Int(1), Cell::Bytes(b"x")], Durability::Written);
    assert_eq!(error.unwrap_err().kind(), ErrorKind::InvalidArgument);
    assert!(plain.typed_batch().is_err() && plain.columns().is_none());
}

#[test]
fn entries_of_a_typed_log_are_refused_with_advice() {
    let store = memory();
    let log = floats(&store);
    log.append_cells(&[Cell::Int(1), Cell::Null], Durability::Written).unwrap();
    let error = log.range(..).unwrap().entries().next().unwrap().unwrap_err();
    assert!(error.to_string().contains("by blocks"), "{error}");
    assert_eq!(log.min_time().unwrap(), Some(1));
}

#[test]
fn a_typed_log_survives_a_crash_of_its_process() {
    let disk = Io::memory();
    let open =
        || Store::open_with(disk.clone(), "/store".as_ref(), Access::Write, Settings::default());
    let store = open().unwrap();
    let log = floats(&store);
    for time in 0..100 {
        let cells = [Cell::Int(time), Cell::Float(time as f64 / 2.0)];
        log.append_cells(&cells, Durability::Written).unwrap();
    }
    let before = values(&log);
    drop((log, store));
    assert_eq!(values(&floats(&open().unwrap())), before);
}

#[test]
fn columns_that_are_added_hold_nothing_in_entries_that_are_there_and_older_handles_go_on() {
    let store = memory();
    let price = ValueColumns::record([Field::new("price", DataType::Float64, false)]).unwrap();
    let log = Timelog::create(&store, "trades", TimelogOptions::typed(price)).unwrap();
    log.append_cells(&[Cell::Int(1), Cell::Float(7.5)], Durability::Written).unwrap();
    let before = log.snapshot().unwrap();
    let shares: arrow_schema::FieldRef = Field::new("shares", DataType::Int64, false).into();
    assert!(log.add_columns(std::slice::from_ref(&shares)).unwrap());
    assert!(!log.add_columns(&[shares]).unwrap());
    assert!(log.is_outdated().unwrap());
    // What this handle writes, one by one or many at once, has nothing in it.
    log.append_cells(&[Cell::Int(2), Cell::Float(8.0)], Durability::Written).unwrap();
    let mut batch = log.typed_batch().unwrap();
    batch.push(&[Cell::Int(3), Cell::Float(9.0)]).unwrap();
    log.extend_typed(&mut batch, Durability::Written).unwrap();
    let log = log.current().unwrap();
    let cells = [Cell::Int(4), Cell::Float(1.0), Cell::Int(5)];
    log.append_cells(&cells, Durability::Written).unwrap();
    assert_eq!(log.columns().map(|columns| columns.fields().len()), Some(2));
    assert_eq!(before.stream().schema().fields().len(), 2);
    store.flush().unwrap();
    log.compact().unwrap();
    let blocks = log.range(..).unwrap().blocks().map(|block| block.unwrap());
    let shares: Vec<_> = blocks
        .flat_map(|block| {
            let column = block.columns()[1].as_primitive::<Int64Type>().clone();
            column.iter().collect::<Vec<_>>()
        })
        .collect();
    assert_eq!(shares, [None, None, None, Some(5)]);
    let other = Field::new("shares", DataType::Utf8, true).into();
    assert_eq!(log.add_columns(&[other]).unwrap_err().kind(), ErrorKind::AlreadyExists);
    let time = Field::new("time", DataType::Utf8, true).into();
    assert_eq!(log.add_columns(&[time]).unwrap_err().kind(), ErrorKind::AlreadyExists);
}
