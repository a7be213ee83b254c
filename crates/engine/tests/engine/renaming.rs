//! A stream gets another name or other properties; its rows and its id stay.

use std::sync::Arc;

use crate::support::*;
use arrow_schema::{DataType, Field, Schema};
use timestrata_engine::{Access, BLOCK_ROWS_PROPERTY, Durability, ErrorKind, StreamId};

fn property(name: &str, value: &str) -> (String, String) {
    (name.to_owned(), value.to_owned())
}

#[test]
fn a_renamed_stream_has_its_rows_and_its_id() {
    let (machine, store, stream) = with_events();
    let other = store.create_stream(keep("other")).unwrap();
    append(&store, stream, &[pair(1, "in a run")]);
    store.flush().unwrap();
    append(&store, stream, &[pair(2, "in memory")]);
    let before = store.snapshot().unwrap();
    let mut appender = store.appender(stream).unwrap();
    let reader = machine.try_open(Access::Read, tiny()).unwrap();
    assert_eq!(store.rename_stream(stream, "past").unwrap().name(), "past");
    assert_eq!(store.rename_stream(stream, "past").unwrap().id(), stream);
    let cells = [timestrata_engine::Cell::Int(3), timestrata_engine::Cell::Bytes(b"later")];
    appender.append(&cells, Durability::Written).unwrap();
    insert(&store, stream, &[pair(4, "last")], Durability::Written);
    // The old name is free at once, and the pair may change places.
    assert!(store.stream("events").is_none());
    store.rename_stream(other, "events").unwrap();
    let rows = [pair(1, "in a run"), pair(2, "in memory"), pair(3, "later"), pair(4, "last")];
    reader.refresh().unwrap();
    let reopened = machine.copy().open(tiny());
    for store in [&store, &reader, &reopened] {
        assert_eq!(read(store, "past"), rows);
        assert_eq!(read(store, "events"), []);
        assert_eq!(store.stream("past").unwrap().id(), stream);
        assert!(store.stream("other").is_none());
    }
    assert_eq!(read_spec(&before, stream, &Default::default()).unwrap(), rows[..2]);
    store.compact(None).unwrap();
    store.close().unwrap();
    assert_eq!(read(&machine.open(tiny()), "past"), rows);
}

#[test]
fn a_name_that_is_taken_or_makes_no_sense_is_refused() {
    let (machine, store, stream) = with_events();
    store.create_stream(keep("other")).unwrap();
    let refused = [
        (stream, "other", ErrorKind::AlreadyExists),
        (stream, "", ErrorKind::InvalidArgument),
        (stream, "a\nb", ErrorKind::InvalidArgument),
        (StreamId(99), "new", ErrorKind::NotFound),
    ];
    for (stream, name, kind) in refused {
        assert_eq!(store.rename_stream(stream, name).unwrap_err().kind(), kind, "{name:?}");
    }
    let names = |store: &timestrata_engine::Store| {
        store.streams().iter().map(|stream| stream.name().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(names(&store), ["events", "other"]);
    assert_eq!(names(&machine.copy().open(tiny())), ["events", "other"]);
}

#[test]
fn properties_are_replaced_and_columns_may_change_before_and_after() {
    let (machine, store, stream) = with_events();
    let lock = store.model_lock(stream).unwrap();
    let wider = |name: &str| {
        let mut fields = store.stream("events").unwrap().schema().fields().to_vec();
        fields.push(Arc::new(Field::new(name, DataType::Int64, true)));
        Arc::new(Schema::new(fields))
    };
    store.alter_stream(stream, wider("one")).unwrap();
    let given = vec![property("time", "time"), property("tags", "a,b")];
    store.alter_stream_properties(stream, given).unwrap();
    store.alter_stream(stream, wider("two")).unwrap();
    let given = vec![property("model", "table"), property(BLOCK_ROWS_PROPERTY, "100")];
    let changed = store.alter_stream_properties(stream, given.clone()).unwrap();
    let reopened = machine.copy().open(tiny());
    for known in [changed, store.stream("events").unwrap(), reopened.stream("events").unwrap()] {
        assert!(given.iter().all(|property| known.spec().properties.contains(property)));
        assert!(!known.spec().properties.iter().any(|(name, _)| name == "tags"));
        assert_eq!(known.schema().fields().len(), 4);
    }
    // Giving back what was read changes nothing.
    let read = store.stream("events").unwrap().spec().properties.clone();
    store.alter_stream_properties(stream, read.clone()).unwrap();
    assert_eq!(store.stream("events").unwrap().spec().properties, read);
    let bad = vec![property(BLOCK_ROWS_PROPERTY, "many")];
    let error = store.alter_stream_properties(stream, bad).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    let missing = store.alter_stream_properties(StreamId(99), Vec::new()).unwrap_err();
    assert_eq!(missing.kind(), ErrorKind::NotFound);
    assert!(Arc::ptr_eq(&lock, &store.model_lock(stream).unwrap()));
}
