//! Bad input gets an error of the right kind that names what and where; nothing is written.
#![expect(clippy::unwrap_used, reason = "the helpers of a test fail as the test does")]

use std::sync::Arc;

use crate::support::*;
use arrow_array::{
    ArrayRef, BinaryArray, Int64Array, RecordBatch, StringArray, TimestampMillisecondArray,
};
use arrow_schema::{DataType, Field, Schema};
use timestrata_engine::{
    Cell, Changes, Durability, ErrorKind, KeyRange, LeadKey, Retention, ScanSpec, Settings, Store,
    StreamId, StreamSpec,
};

fn store() -> (Store, StreamId) {
    let store = Machine::new().open(tiny());
    let stream = store.create_stream(keep("events")).unwrap();
    (store, stream)
}

fn batch_of(columns: Vec<(&str, ArrayRef)>) -> RecordBatch {
    RecordBatch::try_from_iter_with_nullable(
        columns.into_iter().map(|(name, column)| (name, column, true)),
    )
    .unwrap()
}

#[test]
fn batches_that_do_not_fit_name_the_column() {
    let (store, stream) = store();
    let times: ArrayRef = Arc::new(TimestampMillisecondArray::from(vec![1, 2]));
    let null_time: ArrayRef = Arc::new(TimestampMillisecondArray::from(vec![Some(1), None]));
    let integers: ArrayRef = Arc::new(Int64Array::from(vec![1, 2]));
    let values: ArrayRef = Arc::new(BinaryArray::from_vec(vec![b"a", b"b"]));
    let text: ArrayRef = Arc::new(StringArray::from(vec!["a", "b"]));
    let cases = [
        (batch_of(vec![("time", times.clone())]), "column"),
        (batch_of(vec![("time", times.clone()), ("value", text)]), "value"),
        (batch_of(vec![("time", integers), ("value", values.clone())]), "time"),
        (batch_of(vec![("time", null_time), ("value", values.clone())]), "time"),
        (
            batch_of(vec![("time", times.clone()), ("value", values.clone()), ("more", times)]),
            "column",
        ),
    ];
    let before = store.snapshot().unwrap().seq();
    for (batch, named) in cases {
        let error =
            store.commit(Changes::new().insert(stream, batch), Durability::Written).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidData, "{error}");
        assert!(error.to_string().contains(named), "{error} should name {named}");
    }
    assert_eq!(store.snapshot().unwrap().seq(), before);
    assert_eq!(read(&store, "events"), vec![]);
}

#[test]
fn one_bad_change_refuses_the_whole_commit() {
    let (store, stream) = store();
    let wrong = batch_of(vec![("time", Arc::new(Int64Array::from(vec![1])) as ArrayRef)]);
    let changes = Changes::new().insert(stream, batch(&[pair(1, "a")])).insert(stream, wrong);
    assert!(store.commit(changes, Durability::Written).is_err());
    let unknown = Changes::new()
        .insert(stream, batch(&[pair(1, "a")]))
        .insert(StreamId(99), batch(&[pair(1, "a")]));
    assert_eq!(store.commit(unknown, Durability::Written).unwrap_err().kind(), ErrorKind::NotFound);
    assert_eq!(read(&store, "events"), vec![]);
}

#[test]
fn rows_that_do_not_fit_name_the_column() {
    let (store, stream) = store();
    let mut appender = store.appender(stream).unwrap();
    let cases: [(&[Cell<'_>], &str); 5] = [
        (&[Cell::Int(1)], "2"),
        (&[Cell::Null, Cell::Bytes(b"a")], "time"),
        (&[Cell::Text("x"), Cell::Bytes(b"a")], "time"),
        (&[Cell::Int(1), Cell::Int(1)], "value"),
        (&[Cell::Int(1), Cell::Bytes(b"a"), Cell::Null], "2"),
    ];
    for (cells, named) in cases {
        let error = appender.append(cells, Durability::Written).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidData, "{error}");
        assert!(error.to_string().contains(named), "{error} should name {named}");
    }
    assert_eq!(read(&store, "events"), vec![]);
}

#[test]
fn a_row_that_no_segment_can_hold_is_too_large_and_harms_nothing() {
    let (store, stream) = store();
    let mut appender = store.appender(stream).unwrap();
    let huge = vec![0; 1 << 20];
    let error =
        appender.append(&[Cell::Int(1), Cell::Bytes(&huge)], Durability::Written).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TooLarge, "{error}");
    appender.append(&[Cell::Int(2), Cell::Bytes(b"fits")], Durability::Written).unwrap();
    // As a batch it goes straight to a run.
    insert(&store, stream, &[(1, huge.clone())], Durability::Written);
    assert_eq!(read(&store, "events"), vec![(1, huge), pair(2, "fits")]);
}

#[test]
fn specs_that_make_no_sense_are_refused() {
    let store = Machine::new().open(tiny());
    let field = |name: &str, data_type| Field::new(name, data_type, false);
    let with = |fields: Vec<Field>| StreamSpec::new("s", Arc::new(Schema::new(fields)));
    let time = || field("time", DataType::Int64);
    let cases = [
        (StreamSpec { name: String::new(), ..keep("s") }, "name"),
        (StreamSpec { name: "a\0b".into(), ..keep("s") }, "control"),
        (StreamSpec { name: "x".repeat(10_000), ..keep("s") }, "255"),
        (with(vec![]), "key"),
        (with(vec![field("t", DataType::Utf8)]), "Utf8"),
        (with(vec![Field::new("time", DataType::Int64, true)]), "nullable"),
        (with(vec![time(), time()]), "twice"),
        (with(vec![time(), field("__deleted", DataType::Boolean)]), "underscores"),
        (StreamSpec { key: vec!["gone".into()], ..keep("s") }, "gone"),
        (StreamSpec { key: vec!["time".into(), "time".into()], ..keep("s") }, "twice"),
        (
            StreamSpec {
                retention: Retention { age_ns: Some(1), bytes: None },
                ..with(vec![field("id", DataType::FixedSizeBinary(16))])
            },
            "retention",
        ),
    ];
    for (spec, named) in cases {
        let error = store.create_stream(spec).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
        assert!(error.to_string().contains(named), "{error} should name {named}");
    }
    assert!(store.streams().is_empty());
    let first = store.create_stream(keep("s")).unwrap();
    assert_eq!(store.create_stream(keep("s")).unwrap(), first);
    assert_eq!(store.create_stream(latest("s")).unwrap_err().kind(), ErrorKind::AlreadyExists);
}

#[test]
fn hostile_names_never_reach_the_file_system_as_paths() {
    let machine = Machine::new();
    let store = machine.open(tiny());
    for name in ["../../../escaped", "/etc/passwd", "a/b", "..", "C:\\x", "\u{202e}txt", "'; DROP"]
    {
        let stream = store.create_stream(keep(name)).unwrap();
        append(&store, stream, &[pair(1, "a")]);
    }
    store.close().unwrap();
    let inside = |path: &std::path::PathBuf| path.starts_with(&machine.dir);
    assert!(machine.files().iter().all(inside), "{:?}", machine.files());
    assert_eq!(read(&machine.open(tiny()), "../../../escaped"), vec![pair(1, "a")]);
}

#[test]
fn keys_and_columns_of_the_wrong_kind_are_refused() {
    let (store, stream) = store();
    append(&store, stream, &[pair(1, "a")]);
    let snapshot = store.snapshot().unwrap();
    let wrong = KeyRange::point(LeadKey::Offset(1));
    let delete = Changes::new().delete_range(stream, wrong);
    assert_eq!(
        store.commit(delete, Durability::Written).unwrap_err().kind(),
        ErrorKind::InvalidArgument
    );
    let spec = ScanSpec { range: wrong, ..ScanSpec::default() };
    assert_eq!(snapshot.scan(stream, &spec).err().unwrap().kind(), ErrorKind::InvalidArgument);
    let spec = ScanSpec { columns: Some(vec![2]), ..ScanSpec::default() };
    assert_eq!(snapshot.scan(stream, &spec).err().unwrap().kind(), ErrorKind::InvalidArgument);
    assert!(snapshot.get(stream, &[Cell::Text("x")]).is_err());
    assert!(snapshot.get(stream, &[]).is_err());
    let inverted = KeyRange::times(5, 1);
    assert_eq!(snapshot.count(stream, &inverted).unwrap(), 0);
    assert_eq!(
        snapshot.count(StreamId(99), &KeyRange::ALL).unwrap_err().kind(),
        ErrorKind::NotFound
    );
    let keys = Changes::new().delete_keys(stream, keys(&[1]));
    let error = store.commit(keys, Durability::Written).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
    assert_eq!(read(&store, "events"), vec![pair(1, "a")]);
}

#[test]
fn settings_that_do_not_go_together_are_refused() {
    let cases = [
        Settings { memory_bytes_max: 1, ..tiny() },
        Settings { memtable_bytes_max: 0, ..tiny() },
        Settings { wal_segment_bytes: 1, ..tiny() },
        Settings { wal_bytes_max: 1, ..tiny() },
        Settings { run_batch_rows: 0, ..tiny() },
        Settings { compaction_bytes_per_second: Some(0), ..tiny() },
    ];
    for settings in cases {
        let error = Store::memory(settings).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
    }
}
