//! Batches: what is refused, what is copied, and what a delete by key turns into.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, ArrayRef, Int64Array, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema};
use timestrata_format::manifest::Merge;
use timestrata_format::{KeyRange, LeadKey, SeqNo, StreamId, Tombstone};

use super::super::chunks::GATHERED_MAX;
use super::super::{Memtable, PreparedBatch};
use crate::{ErrorKind, Stream, StreamSpec};

fn stream(merge: Merge) -> Arc<Stream> {
    let list = DataType::List(Arc::new(Field::new("item", DataType::Int64, true)));
    let inner = vec![Field::new("x", DataType::Utf8, false)];
    let schema = Schema::new(vec![
        Field::new("time", DataType::Int64, false),
        Field::new("text", DataType::Utf8, false),
        Field::new("list", list, false),
        Field::new("struct", DataType::Struct(inner.into()), false),
    ]);
    let mut spec = StreamSpec::new("batches", Arc::new(schema));
    spec.merge = merge;
    Arc::new(Stream::new(StreamId(1), spec).unwrap())
}

fn pair_stream() -> Arc<Stream> {
    let schema = Schema::new(vec![
        Field::new("time", DataType::Int64, false),
        Field::new("value", DataType::Int64, true),
    ]);
    let spec = StreamSpec::new("pairs", Arc::new(schema));
    Arc::new(Stream::new(StreamId(1), spec).unwrap())
}

fn pairs(times: Vec<i64>) -> RecordBatch {
    let values = Int64Array::from_iter_values(0..times.len() as i64);
    let columns =
        [("a", Arc::new(Int64Array::from(times)) as ArrayRef), ("b", Arc::new(values) as ArrayRef)];
    RecordBatch::try_from_iter(columns).unwrap()
}

fn data_address(batch: &RecordBatch) -> *const i64 {
    batch.column(0).as_primitive::<Int64Type>().values().as_ptr()
}

#[test]
fn sorted_rows_are_taken_without_a_copy_whatever_their_names() {
    let batch = pairs((0..1000).collect());
    let prepared = PreparedBatch::insert(&pair_stream(), batch.clone()).unwrap();
    assert_eq!(data_address(prepared.batch()), data_address(&batch));
    assert_eq!(prepared.batch().schema().field(0).name(), "time");
}

#[test]
fn a_small_slice_of_a_large_batch_does_not_keep_the_large_one_alive() {
    let batch = pairs((0..100_000).collect()).slice(500, 10);
    let prepared = PreparedBatch::insert(&pair_stream(), batch).unwrap();
    assert_eq!(prepared.rows(), 10);
    assert!(prepared.bytes() < 8192, "{}", prepared.bytes());
    let expected = pairs((500..510).collect());
    assert_eq!(prepared.batch().column(0), expected.column(0));
}

#[test]
fn unsorted_rows_are_sorted_and_equal_keys_keep_their_order() {
    let batch = pairs(vec![3, 1, 3, i64::MIN, 1]);
    let prepared = PreparedBatch::insert(&pair_stream(), batch).unwrap();
    let values = prepared.batch().column(1).as_primitive::<Int64Type>().values().to_vec();
    assert_eq!(values, [3, 1, 4, 0, 2]);
}

#[test]
fn a_batch_that_does_not_fit_is_refused_by_its_first_bad_column() {
    let stream = pair_stream();
    let message = |columns: Vec<(&str, ArrayRef)>| {
        let batch = RecordBatch::try_from_iter(columns).unwrap();
        let error = PreparedBatch::insert(&stream, batch).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidData);
        error.to_string()
    };
    let times = || Arc::new(Int64Array::from(vec![1, 2])) as ArrayRef;
    let texts = Arc::new(StringArray::from(vec!["a", "b"])) as ArrayRef;
    assert_eq!(
        message(vec![("a", times()), ("b", texts)]),
        "stream 'pairs': column 'value': expected type Int64, found Utf8"
    );
    let nulls = Arc::new(Int64Array::from(vec![Some(1), None])) as ArrayRef;
    assert_eq!(
        message(vec![("a", nulls), ("b", times())]),
        "stream 'pairs': column 'time': expected no nulls, found 1"
    );
    assert_eq!(
        message(vec![("a", times())]),
        "stream 'pairs': a batch has 2 columns (time, value), found 1"
    );
}

#[test]
fn keys_are_deleted_from_streams_that_keep_the_latest_row_only() {
    let keys = || {
        let times = Arc::new(Int64Array::from(vec![5, 3, 5])) as ArrayRef;
        RecordBatch::try_from_iter([("k", times)]).unwrap()
    };
    let error = PreparedBatch::delete_keys(&stream(Merge::Keep), keys()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    let prepared = PreparedBatch::delete_keys(&stream(Merge::Latest), keys()).unwrap();
    let batch = prepared.batch();
    assert_eq!(batch.column(0).as_primitive::<Int64Type>().values().to_vec(), [3, 5]);
    assert_eq!(batch.column(1).as_string::<i32>().value(0), "");
    assert_eq!(batch.column(2).as_list::<i32>().value(1).len(), 0);
    assert_eq!(batch.column(3).as_struct().column(0).as_string::<i32>().value(1), "");
    assert_eq!(batch.column(4).as_boolean().true_count(), 2);
}

#[test]
fn an_empty_batch_and_an_empty_range_change_nothing() {
    let stream = pair_stream();
    let mut memtable = Memtable::new(Arc::clone(&stream)).unwrap();
    memtable.insert(SeqNo(1), PreparedBatch::insert(&stream, pairs(vec![])).unwrap());
    memtable.delete_range(Tombstone { range: KeyRange::times(3, 3), seq: SeqNo(2) });
    assert!(memtable.is_empty());
    assert_eq!((memtable.seq_min(), memtable.seq_max()), (None, None));
    memtable.delete_range(Tombstone { range: KeyRange::ALL, seq: SeqNo(3) });
    assert_eq!((memtable.seq_min(), memtable.seq_max()), (Some(SeqNo(3)), Some(SeqNo(3))));
    assert!(!memtable.is_empty());
}

#[test]
fn rows_that_a_range_delete_covers_are_freed_once_no_view_holds_them() {
    let stream = pair_stream();
    let mut memtable = Memtable::new(Arc::clone(&stream)).unwrap();
    let batch = PreparedBatch::insert(&stream, pairs((0..50_000).collect())).unwrap();
    memtable.insert(SeqNo(1), batch);
    let before = memtable.view();
    memtable.delete_range(Tombstone { range: KeyRange::times(0, 50_000), seq: SeqNo(2) });
    assert_eq!(memtable.rows(), 0);
    assert!(memtable.bytes() < 4096, "{}", memtable.bytes());
    assert_eq!(before.rows, 50_000);
    let source = Arc::downgrade(&before.sources[0]);
    drop(before);
    assert!(source.upgrade().is_none());
    // A late row stays late: rows with its key may have been in order before the delete.
    memtable.insert(SeqNo(3), PreparedBatch::insert(&stream, pairs(vec![7])).unwrap());
    assert_eq!(memtable.view().rows, 1);
}

#[test]
fn a_straddling_batch_is_split_where_its_rows_come_into_order() {
    let stream = pair_stream();
    let mut memtable = Memtable::new(Arc::clone(&stream)).unwrap();
    memtable.insert(SeqNo(1), PreparedBatch::insert(&stream, pairs(vec![10, 20])).unwrap());
    memtable.insert(SeqNo(2), PreparedBatch::insert(&stream, pairs(vec![5, 20, 30])).unwrap());
    let view = memtable.view();
    let ends: Vec<_> = view.sources.iter().map(|s| (s.key_min(), s.key_max())).collect();
    let time = LeadKey::Time;
    assert_eq!(ends, [(time(10), time(30)), (time(5), time(5))]);
}

#[test]
fn small_late_batches_gather_and_a_reader_finds_them_merged_in_commit_order() {
    let stream = pair_stream();
    let mut memtable = Memtable::new(Arc::clone(&stream)).unwrap();
    let batch = |times: Vec<i64>, value: i64| {
        let values = Int64Array::from(vec![value; times.len()]);
        let columns = [
            ("a", Arc::new(Int64Array::from(times)) as ArrayRef),
            ("b", Arc::new(values) as ArrayRef),
        ];
        let batch = RecordBatch::try_from_iter(columns).unwrap();
        PreparedBatch::insert(&stream, batch).unwrap()
    };
    memtable.insert(SeqNo(1), batch(vec![1_000], 1));
    for seq in 2..1_000 {
        memtable.insert(SeqNo(seq), batch(vec![seq as i64 % 7, seq as i64 % 5], seq as i64));
        assert!(memtable.late.list().len() <= GATHERED_MAX + 10);
    }
    let view = memtable.view();
    assert!(view.sources.len() <= 8, "{} sources", view.sources.len());
    assert_eq!(view.sources.iter().map(|source| source.rows()).sum::<u64>(), 1 + 2 * 998);
    let mut newest = 0;
    for late in &view.sources[1..] {
        let rows = late.read(0, &[0, 1]).unwrap();
        let column = |index: usize| rows.column(index).as_primitive::<Int64Type>().values().iter();
        assert!(column(0).zip(column(1)).is_sorted());
        assert!(column(1).all(|commit| *commit > newest));
        newest = column(1).copied().max().unwrap();
    }
}
