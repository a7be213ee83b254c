use std::sync::Arc;

use arrow_schema::{DataType, Field, Schema};
use timestrata_format::manifest::Retention;

use super::*;
use crate::{Cell, Changes, Durability, ErrorKind, KeyRange, SeqNo, Snapshot, StreamSpec};

fn store() -> Store {
    let settings = Settings { maintenance: Maintenance::Manual, ..Settings::default() };
    Store::memory(settings).unwrap()
}

fn spec(name: &str) -> StreamSpec {
    let schema = Schema::new(vec![Field::new("time", DataType::Int64, false)]);
    StreamSpec::new(name, Arc::new(schema))
}

fn append(store: &Store, stream: StreamId, time: i64) {
    store.appender(stream).unwrap().append(&[Cell::Int(time)], Durability::Written).unwrap();
}

#[test]
fn streams_of_which_nothing_has_changed_are_not_looked_at_again() {
    let store = store();
    let specs: Vec<StreamSpec> = (0..20).map(|number| spec(&number.to_string())).collect();
    let ids = store.create_streams(&specs).unwrap();
    let aged = Retention { age_ns: Some(u64::MAX), ..Retention::default() };
    store.set_retention(ids[0], aged).unwrap();
    ids.iter().for_each(|id| append(&store, *id, 1));
    assert_eq!(store.engine().maintenance_candidates(), 0, "nothing is in runs yet");
    store.flush().unwrap();
    assert_eq!(store.engine().maintenance_candidates(), 20);
    while store.maintain_step().unwrap() {}
    // Rows grow too old without a change.
    assert_eq!(store.engine().maintenance_candidates(), 1);
    append(&store, ids[7], 2);
    store.flush().unwrap();
    assert_eq!(store.engine().maintenance_candidates(), 2);
    store.set_retention(ids[3], aged).unwrap();
    assert_eq!(store.engine().maintenance_candidates(), 3);
}

#[test]
fn slots_of_dropped_streams_are_used_again_and_memory_is_counted_right() {
    let store = store();
    for round in 0..50 {
        let ids = store.create_streams(&[spec("a"), spec("b"), spec("c")]).unwrap();
        for id in &ids {
            (0..round).for_each(|time| append(&store, *id, time));
        }
        let snapshot = store.snapshot().unwrap();
        let range = KeyRange::times(0, round / 2);
        store.commit(Changes::new().delete_range(ids[0], range), Durability::Written).unwrap();
        drop(snapshot);
        if round % 3 == 0 {
            store.flush().unwrap();
        }
        store.snapshot().unwrap();
        let core = store.engine().core.lock();
        assert_eq!(core.streams.len(), 3);
        drop(core);
        store.drop_streams(&["a", "b", "c"]).unwrap();
        assert_eq!(store.engine().core.lock().memory_bytes, 0);
    }
}

#[test]
fn writers_go_on_while_readers_merge_many_late_rows_and_the_merge_is_made_once() {
    const ROWS: i64 = 30_000;
    let store = store();
    let id = store.create_stream(spec("late")).unwrap();
    let mut appender = store.appender(id).unwrap();
    for time in (0..ROWS).rev() {
        appender.append(&[Cell::Int(time)], Durability::Written).unwrap();
    }
    let to_merge = store.engine().core.lock().merge_due(None).expect("much to merge");
    let count = |snapshot: &Snapshot| snapshot.count(id, &KeyRange::ALL).unwrap();
    // As if another reader were in the middle of it.
    let held = to_merge.merging.lock();
    std::thread::scope(|scope| {
        let all = scope.spawn(|| count(&store.snapshot().unwrap()));
        let one = scope.spawn(|| count(&store.snapshot_of(id).unwrap()));
        (ROWS..2 * ROWS).for_each(|time| append(&store, id, time));
        assert!(!all.is_finished() && !one.is_finished(), "they wait for the merge");
        drop(held);
        for found in [all.join().unwrap(), one.join().unwrap()] {
            assert!(found >= ROWS as u64, "{found}");
        }
    });
    assert!(store.engine().core.lock().merge_due(None).is_none(), "it is made again");
    assert_eq!(count(&store.snapshot().unwrap()), 2 * ROWS as u64);
}

#[test]
fn what_is_flushed_deleted_or_dropped_during_a_merge_for_readers_stays_so() {
    let store = store();
    let id = store.create_stream(spec("late")).unwrap();
    let engine = store.engine();
    let fill = || {
        let mut appender = store.appender(id).unwrap();
        for time in (0..20_000).rev() {
            appender.append(&[Cell::Int(time)], Durability::Written).unwrap();
        }
        let slot = engine.core.lock().slot_of(id).unwrap();
        let parts = engine.core.lock().streams[slot].active.next_large_merge().unwrap();
        (slot, parts)
    };
    let count = || store.snapshot().unwrap().count(id, &KeyRange::ALL).unwrap();
    // A range delete that comes meanwhile hides rows of what was merged without it.
    let (slot, parts) = fill();
    let merged = parts.run();
    let delete = Changes::new().delete_range(id, KeyRange::times(0, 15_000));
    store.commit(delete, Durability::Written).unwrap();
    engine.core.lock().streams[slot].active.adopt(&parts, merged);
    assert_eq!(count(), 5_000);
    // A flush that comes meanwhile has the rows: they don't come back.
    let (slot, parts) = fill();
    let merged = parts.run();
    store.flush().unwrap();
    engine.core.lock().streams[slot].active.adopt(&parts, merged);
    assert_eq!(count(), 25_000);
    assert_eq!(engine.core.lock().streams[slot].active.rows(), 0);
    store.drop_stream("late").unwrap();
}

#[test]
fn some_streams_are_seen_at_one_instant_and_no_others() {
    let store = store();
    let ids = store.create_streams(&[spec("a"), spec("b"), spec("c")]).unwrap();
    ids.iter().for_each(|id| append(&store, *id, 1));
    let some = store.snapshot_of_streams(&ids[..2]).unwrap();
    ids.iter().for_each(|id| append(&store, *id, 2));
    let count = |snapshot: &Snapshot, id| snapshot.count(id, &KeyRange::ALL);
    assert_eq!(some.seq(), SeqNo(3));
    assert_eq!((count(&some, ids[0]).unwrap(), count(&some, ids[1]).unwrap()), (1, 1));
    assert_eq!(count(&some, ids[2]).unwrap_err().kind(), ErrorKind::NotFound);
    store.drop_stream("b").unwrap();
    assert_eq!(store.snapshot_of_streams(&ids).unwrap_err().kind(), ErrorKind::NotFound);
    assert_eq!(store.snapshot_of_streams(&[]).unwrap().seq(), SeqNo(6));
}
