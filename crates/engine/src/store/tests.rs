use std::sync::Arc;

use arrow_schema::{DataType, Field, Schema};
use timestrata_format::manifest::Retention;

use super::*;
use crate::{Cell, Changes, Durability, KeyRange};

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
