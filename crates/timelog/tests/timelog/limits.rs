//! The smallest time of a log holds for every way in, and a commit of any size is whole or not at all.

#![expect(clippy::unwrap_used, reason = "a test ends where something is not as it must be")]

use std::sync::Arc;

use arrow_array::Float64Array;
use arrow_buffer::ScalarBuffer;
use arrow_schema::DataType;
use timestrata_engine::{
    Access, Cell, Changes, CommitPart, Durability, ErrorKind, Io, Result, Settings, Store,
};
use timestrata_timelog::{EntryBatch, Timelog, TimelogOptions, TimelogWrite, ValueColumns};

const MIN: i64 = 100;

fn entries(times: &[i64]) -> EntryBatch {
    let mut batch = EntryBatch::new();
    times.iter().try_for_each(|time| batch.push(*time, b"value")).unwrap();
    batch
}

fn log(store: &Store) -> Timelog {
    let options = TimelogOptions { min_time: Some(MIN), ..TimelogOptions::default() };
    Timelog::create(store, "log", options).unwrap()
}

fn typed(store: &Store) -> Timelog {
    let columns = ValueColumns::scalar(DataType::Float64).unwrap();
    let options = TimelogOptions { min_time: Some(MIN), ..TimelogOptions::typed(columns) };
    Timelog::create(store, "typed", options).unwrap()
}

/// Every way in, of an entry at this time.
fn ways(log: &Timelog, typed: &Timelog, time: i64) -> Vec<Result<()>> {
    let written = Durability::Written;
    let cells = [Cell::Int(time), Cell::Float(1.0)];
    let column = || vec![Arc::new(Float64Array::from(vec![1.0])) as _];
    let in_commit = |mut write: TimelogWrite| {
        let store = log.store();
        write.commit(Changes::new(), &mut |changes| store.commit(changes, written)).map(drop)
    };
    let mut rows = typed.typed_batch().unwrap();
    rows.push(&cells).unwrap();
    let mut more = typed.typed_batch().unwrap();
    more.push(&cells).unwrap();
    let (mut part, mut typed_part) = (TimelogWrite::new(log), TimelogWrite::new(typed));
    let mut bulk = log.bulk().unwrap();
    vec![
        log.append(time, b"value").map(drop),
        log.try_append(time, b"value").map(drop),
        log.extend(&[MIN, time], &["a", "b"]).map(drop),
        log.extend_from([(time, "a")], 10).map(drop),
        part.append(entries(&[time])).and_then(|()| in_commit(part)),
        bulk.append(entries(&[time])).and_then(|()| bulk.commit().map(drop)),
        typed.append_cells(&cells, written).map(drop),
        typed.extend_typed(&mut rows, written).map(drop),
        typed.extend_columns(ScalarBuffer::from(vec![time]), column(), written).map(drop),
        typed_part.append_typed(&mut more).and_then(|()| in_commit(typed_part)),
    ]
}

#[test]
fn a_time_below_the_smallest_is_refused_by_every_way_in() {
    let store = Store::memory(Settings::default()).unwrap();
    let (log, typed) = (log(&store), typed(&store));
    for (way, outcome) in ways(&log, &typed, MIN - 1).into_iter().enumerate() {
        assert_eq!(outcome.unwrap_err().kind(), ErrorKind::InvalidData, "way {way}");
    }
    assert_eq!((log.len().unwrap(), typed.len().unwrap()), (0, 0));
    for (way, outcome) in ways(&log, &typed, MIN).into_iter().enumerate() {
        assert!(outcome.is_ok(), "way {way}");
    }
}

#[test]
fn the_smallest_time_is_kept_with_the_log_and_is_that_which_it_was_made_with() {
    let folder = tempfile::tempdir().unwrap();
    let open =
        || Store::open_with(Io::os(), folder.path(), Access::Write, Settings::default()).unwrap();
    let store = open();
    log(&store);
    store.close().unwrap();
    let store = open();
    let log = Timelog::open(&store, "log").unwrap();
    assert_eq!(log.min_time_allowed(), Some(MIN));
    let wanted = TimelogOptions { min_time: Some(MIN + 1), ..TimelogOptions::default() };
    let error = Timelog::create(&store, "log", wanted).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::AlreadyExists);
    assert!(error.to_string().contains("times from 100 on"), "{error}");
    assert!(Timelog::create(&store, "log", TimelogOptions::default()).is_ok());
}

#[test]
fn a_bulk_that_is_given_up_leaves_nothing() {
    let store = Store::memory(Settings::default()).unwrap();
    let log = Timelog::create(&store, "log", TimelogOptions::default()).unwrap();
    let mut bulk = log.bulk().unwrap();
    bulk.append(entries(&[1, 2, 3])).unwrap();
    assert_eq!((bulk.rows(), log.len().unwrap()), (3, 0));
    drop(bulk);
    assert_eq!(log.len().unwrap(), 0);
}
