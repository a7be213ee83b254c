//! Single rows that are encoded for a commit: what batches would have come to, and nothing of what does not fit.
#![expect(clippy::unwrap_used, reason = "the helpers of a test fail as the test does")]

use std::sync::Arc;

use arrow_array::{
    ArrayRef, BinaryArray, BooleanArray, Date32Array, DurationMicrosecondArray,
    FixedSizeBinaryArray, Float32Array, Float64Array, Int8Array, Int64Array, LargeBinaryArray,
    LargeStringArray, RecordBatch, StringArray, Time64NanosecondArray, TimestampSecondArray,
    UInt16Array, UInt64Array,
};
use arrow_schema::{DataType, Field, Schema};
use timestrata_engine::{
    Access, Cell, Changes, Durability, ErrorKind, Io, KeyRange, Settings, Store, StreamSpec,
};

use crate::quota_disk::{Quota, QuotaDisk};
use crate::support::*;

#[test]
fn rows_of_all_sizes_are_there_after_a_kill() {
    // Some stay rows, more become a batch, and those after them are too many for the log.
    for count in [1, 3, 200, 2_000, 20_000_i64] {
        let machine = Machine::new();
        let settings = Settings { wal_segment_bytes: 256 << 10, ..manual() };
        let store = machine.open(settings.clone());
        let streams =
            [keep("kept"), latest("newest")].map(|spec| store.create_stream(spec).unwrap());
        let mut changes = Changes::new();
        for stream in streams {
            let encoder = store.row_encoder(stream).unwrap();
            for time in (0..count).rev() {
                encoder.put(&mut changes, &[Cell::Int(time), Cell::Bytes(b"value")]).unwrap();
            }
        }
        store.commit(changes, Durability::Written).unwrap();
        let expected: Vec<Pair> = (0..count).map(|time| pair(time, "value")).collect();
        for store in [store, machine.copy().open(settings)] {
            assert_eq!(read(&store, "kept"), expected);
            assert_eq!(read(&store, "newest"), expected);
        }
    }
}

#[test]
fn keys_are_deleted_behind_the_rows_before_them_however_many() {
    for count in [2, 20_000_i64] {
        let machine = Machine::new();
        let store = machine.open(manual());
        let newest = store.create_stream(latest("newest")).unwrap();
        let encoder = store.row_encoder(newest).unwrap();
        let mut changes = Changes::new();
        for time in 0..count {
            encoder.put(&mut changes, &[Cell::Int(time), Cell::Bytes(b"first")]).unwrap();
        }
        store.commit(changes, Durability::Written).unwrap();
        let mut changes = Changes::new();
        encoder.put(&mut changes, &[Cell::Int(0), Cell::Bytes(b"second")]).unwrap();
        for time in 0..count {
            encoder.delete_key(&mut changes, &[Cell::Int(time)]).unwrap();
        }
        encoder.put(&mut changes, &[Cell::Int(1), Cell::Bytes(b"third")]).unwrap();
        store.commit(changes, Durability::Written).unwrap();
        assert_eq!(read(&store, "newest"), [pair(1, "third")]);
        assert_eq!(read(&machine.copy().open(manual()), "newest"), [pair(1, "third")]);
    }
}

#[test]
fn a_range_delete_of_the_same_commit_spares_the_rows() {
    let machine = Machine::new();
    let store = machine.open(manual());
    let kept = store.create_stream(keep("kept")).unwrap();
    let encoder = store.row_encoder(kept).unwrap();
    for value in ["first", "second"] {
        let mut changes = Changes::new();
        encoder.put(&mut changes, &[Cell::Int(1), Cell::Bytes(value.as_bytes())]).unwrap();
        store.commit(changes.delete_range(kept, KeyRange::ALL), Durability::Written).unwrap();
    }
    assert_eq!(read(&store, "kept"), [pair(1, "second")]);
    assert_eq!(read(&machine.copy().open(manual()), "kept"), [pair(1, "second")]);
}

#[test]
fn what_does_not_fit_leaves_the_changes_as_they_were() {
    let store = Store::memory(manual()).unwrap();
    let kept = store.create_stream(keep("kept")).unwrap();
    let encoder = store.row_encoder(kept).unwrap();
    for is_first in [true, false] {
        let mut changes = Changes::new();
        if !is_first {
            encoder.put(&mut changes, &[Cell::Int(1), Cell::Bytes(b"one")]).unwrap();
        }
        for (wrong, words) in [
            (vec![Cell::Int(1)], "a row has 2 columns"),
            (vec![Cell::Int(1), Cell::Text("text")], "found a text of 4 bytes"),
        ] {
            let error = encoder.put(&mut changes, &wrong).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidData);
            assert!(error.to_string().contains(words), "{error}");
        }
        let error = encoder.delete_key(&mut changes, &[Cell::Int(1)]).unwrap_err();
        assert!(error.to_string().contains("keeps every row"), "{error}");
        assert_eq!(changes.is_empty(), is_first);
        store.commit(changes, Durability::Written).unwrap();
    }
    assert_eq!(read(&store, "kept"), [pair(1, "one")]);
    let lists = DataType::new_list(DataType::Int64, true);
    let fields = vec![Field::new("time", DataType::Int64, false), Field::new("list", lists, false)];
    let spec = StreamSpec::new("lists", Arc::new(Schema::new(fields)));
    let lists = store.create_stream(spec).unwrap();
    let error = store.row_encoder(lists).unwrap_err();
    assert!(error.to_string().contains("column 'list'"), "{error}");
}

#[test]
fn rows_for_other_columns_or_another_store_are_refused() {
    let store = Store::memory(manual()).unwrap();
    let kept = store.create_stream(keep("kept")).unwrap();
    let encoder = store.row_encoder(kept).unwrap();
    let mut changes = Changes::new();
    encoder.put(&mut changes, &[Cell::Int(1), Cell::Bytes(b"one")]).unwrap();
    let other = Store::memory(manual()).unwrap();
    let fields = vec![Field::new("time", DataType::Int64, false)];
    other.create_stream(StreamSpec::new("kept", Arc::new(Schema::new(fields)))).unwrap();
    let error = other.commit(changes.clone(), Durability::Written).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    assert!(error.to_string().contains("another store"), "{error}");

    let mut fields: Vec<_> = schema().fields().iter().cloned().collect();
    fields.push(Arc::new(Field::new("more", DataType::UInt64, true)));
    store.alter_stream(kept, Arc::new(Schema::new(fields))).unwrap();
    let error = store.commit(changes, Durability::Written).unwrap_err();
    assert!(error.to_string().contains("has got other columns"), "{error}");
    assert_eq!(read(&store, "kept"), []);
}

#[test]
fn keys_are_deleted_where_the_disk_is_full() {
    let quota = Arc::new(Quota::default());
    quota.set(1 << 30);
    let machine = Machine::new();
    let io = Io { disk: Arc::new(QuotaDisk::new(&quota)), ..machine.io };
    let store = Store::open_with(io, &machine.dir, Access::Write, tiny()).unwrap();
    let newest = store.create_stream(latest("newest")).unwrap();
    let encoder = store.row_encoder(newest).unwrap();
    quota.set(quota.used() + (16 << 10));
    let value = vec![7; 500];
    let mut written = 0;
    loop {
        let mut changes = Changes::new();
        encoder.put(&mut changes, &[Cell::Int(written), Cell::Bytes(&value)]).unwrap();
        match store.commit(changes, Durability::Written) {
            Ok(_) => written += 1,
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::NoSpace, "{error}");
                break;
            }
        }
    }
    let mut changes = Changes::new();
    for time in 0..written {
        encoder.delete_key(&mut changes, &[Cell::Int(time)]).unwrap();
    }
    store.commit(changes, Durability::Written).unwrap();
    assert_eq!(store.snapshot().unwrap().count(newest, &KeyRange::ALL).unwrap(), 0);
}

/// A few rows of every type that cells can express, with nulls, the least and the greatest.
fn of_all_types() -> RecordBatch {
    let fixed = [Some([1_u8; 3]), None, Some([0; 3])];
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("time", Arc::new(Int64Array::from(vec![1, 1, 2]))),
        ("int8", Arc::new(Int8Array::from(vec![Some(i8::MIN), None, Some(i8::MAX)]))),
        ("int64", Arc::new(Int64Array::from(vec![Some(i64::MIN), None, Some(i64::MAX)]))),
        ("uint16", Arc::new(UInt16Array::from(vec![Some(0), None, Some(u16::MAX)]))),
        ("uint64", Arc::new(UInt64Array::from(vec![Some(0), None, Some(u64::MAX)]))),
        ("float32", Arc::new(Float32Array::from(vec![Some(-0.0), None, Some(f32::NAN)]))),
        ("float64", Arc::new(Float64Array::from(vec![Some(f64::MIN_POSITIVE), None, Some(-0.0)]))),
        ("flag", Arc::new(BooleanArray::from(vec![Some(true), None, Some(false)]))),
        ("text", Arc::new(StringArray::from(vec![Some(""), None, Some("äöü")]))),
        ("long_text", Arc::new(LargeStringArray::from(vec![Some("a"), None, Some("")]))),
        ("bytes", Arc::new(BinaryArray::from_opt_vec(vec![Some(b""), None, Some(b"\xff")]))),
        ("long_bytes", Arc::new(LargeBinaryArray::from_opt_vec(vec![Some(b"a"), None, Some(b"")]))),
        ("date", Arc::new(Date32Array::from(vec![Some(i32::MIN), None, Some(20_000)]))),
        ("clock", Arc::new(Time64NanosecondArray::from(vec![Some(0), None, Some(1)]))),
        ("span", Arc::new(DurationMicrosecondArray::from(vec![Some(-1), None, Some(1)]))),
        (
            "at",
            Arc::new(
                TimestampSecondArray::from(vec![Some(-1), None, Some(1)]).with_timezone("UTC"),
            ),
        ),
        (
            "fixed",
            Arc::new(
                FixedSizeBinaryArray::try_from_sparse_iter_with_size(fixed.into_iter(), 3).unwrap(),
            ),
        ),
    ];
    let fields: Vec<Field> = columns
        .iter()
        .map(|(name, column)| Field::new(*name, column.data_type().clone(), *name != "time"))
        .collect();
    let columns = columns.into_iter().map(|(_, column)| column).collect();
    RecordBatch::try_new(Arc::new(Schema::new(fields)), columns).unwrap()
}

#[test]
fn a_small_batch_of_any_types_comes_back_as_a_large_one_does() {
    let small = of_all_types();
    // Beyond what is written as rows, three at a time.
    let many: Vec<RecordBatch> = (0..40).map(|_| small.clone()).collect();
    let large = arrow_select::concat::concat_batches(&small.schema(), &many).unwrap();
    for rows in [small, large] {
        let machine = Machine::new();
        let store = machine.open(manual());
        let stream = store.create_stream(StreamSpec::new("all", rows.schema())).unwrap();
        store.commit(Changes::new().insert(stream, rows.clone()), Durability::Written).unwrap();
        for store in [store, machine.copy().open(manual())] {
            let snapshot = store.snapshot().unwrap();
            let found = snapshot.collect(stream, &Default::default()).unwrap();
            assert_eq!(found.num_rows(), rows.num_rows());
            // Rows of one time keep their order, and those of one batch repeat themselves.
            let of_time = |batch: &RecordBatch, time: i64| -> Vec<String> {
                let times = batch.column(0).as_any().downcast_ref::<Int64Array>().unwrap();
                (0..batch.num_rows())
                    .filter(|row| times.value(*row) == time)
                    .map(|row| format!("{:?}", batch.slice(row, 1).columns()))
                    .collect()
            };
            for time in [1, 2] {
                assert_eq!(of_time(&found, time), of_time(&rows, time));
            }
        }
    }
}
