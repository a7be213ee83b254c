//! `try_append` does what `append` does, or nothing at all where something has to be waited for.
#![expect(clippy::unwrap_used, reason = "the helpers of a test fail as the test does")]

use crate::support::*;
use timestrata_engine::{Cell, Durability, ErrorKind, RowAppender, Settings, Store};

/// Appends each row, hurried if that goes; gives how many were.
fn append_hurried(appender: &mut RowAppender, rows: &[Pair]) -> usize {
    let mut hurried = 0;
    for (time, value) in rows {
        let cells = [Cell::Int(*time), Cell::Bytes(value)];
        match appender.try_append(&cells).unwrap() {
            Some(_) => hurried += 1,
            None => drop(appender.append(&cells, Durability::Written).unwrap()),
        }
    }
    hurried
}

fn many(rows: i64) -> Vec<Pair> {
    (0..rows).map(|i| pair((i * 7) % 1000, &format!("row {i}, of some length"))).collect()
}

#[test]
fn hurried_rows_are_stored_as_all_others_and_outlive_a_killed_process() {
    let (machine, store, stream) = with_events();
    let (other_machine, other, other_stream) = with_events();
    let rows = many(3_000);
    let mut appender = store.appender(stream).unwrap();
    let hurried = append_hurried(&mut appender, &rows);
    append(&other, other_stream, &rows);
    assert!(hurried > rows.len() / 2, "only {hurried} rows did not have to wait");
    assert!(hurried < rows.len(), "segments and memtables were full, and no row waited");
    assert_eq!(read(&store, "events"), read(&other, "events"));
    assert_eq!(store.snapshot().unwrap().seq(), other.snapshot().unwrap().seq());
    let killed = machine.copy().open(tiny());
    assert_eq!(read(&killed, "events"), read(&store, "events"));
    assert_eq!(machine.files().len(), other_machine.files().len());
}

#[test]
fn a_hurried_row_never_flushes() {
    for settings in [
        Settings { wal_bytes_max: u64::MAX, ..tiny() },
        Settings { wal_bytes_max: u64::MAX, memory_bytes_max: 64 << 10, ..tiny() },
        Settings { memtable_bytes_max: u64::MAX, memory_bytes_max: u64::MAX, ..tiny() },
    ] {
        for store in [Machine::new().open(settings.clone()), Store::memory(settings).unwrap()] {
            let stream = store.create_stream(keep("events")).unwrap();
            let mut appender = store.appender(stream).unwrap();
            for (time, value) in many(4_000) {
                let cells = [Cell::Int(time), Cell::Bytes(&value)];
                let before = store.stats().flushes;
                match appender.try_append(&cells).unwrap() {
                    Some(_) => assert_eq!(store.stats().flushes, before),
                    None => drop(appender.append(&cells, Durability::Written).unwrap()),
                }
            }
            assert_eq!(read(&store, "events").len(), 4_000);
        }
    }
}

#[test]
fn a_row_that_is_not_small_is_not_hurried() {
    let (_machine, store, stream) = with_events();
    let mut appender = store.appender(stream).unwrap();
    let value = vec![1; 4_000];
    assert_eq!(appender.try_append(&[Cell::Int(1), Cell::Bytes(&value)]).unwrap(), None);
    assert_eq!(read(&store, "events"), []);
}

#[test]
fn a_hurried_row_meets_the_same_refusals() {
    let (_machine, store, stream) = with_events();
    let mut appender = store.appender(stream).unwrap();
    let error = appender.try_append(&[Cell::Int(1)]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidData);
    store.drop_stream("events").unwrap();
    let row = [Cell::Int(1), Cell::Bytes(b"a")];
    assert_eq!(appender.try_append(&row).unwrap_err().kind(), ErrorKind::NotFound);
    store.close().unwrap();
    assert_eq!(appender.try_append(&row).unwrap_err().kind(), ErrorKind::Closed);
}
