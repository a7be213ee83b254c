//! Kills: wherever a writer is killed, all commits that it has acknowledged are read again as they were.
#![expect(clippy::unwrap_used, reason = "the helpers of a test fail as the test does")]

use std::collections::BTreeMap;
use std::sync::Arc;

use timestrata_engine::{Access, Changes, Durability, Moment, SeqNo, Settings, Store, StreamId};

use crate::kills::{Kills, watched};
use crate::moments::{kept, last};
use crate::support::*;

type Seen = BTreeMap<SeqNo, Vec<Pair>>;

fn note(kills: &Kills<Seen>, store: &Store) {
    kills.seen.lock().insert(last(store), read(store, "events"));
}

fn change(kills: &Kills<Seen>, store: &Store, events: StreamId, round: i64) {
    for place in 0..2 {
        append(store, events, &[pair(round * 10 + place, "row")]);
        note(kills, store);
    }
    store.flush().unwrap();
    delete(store, events, round * 10, round * 10 + 1);
    note(kills, store);
    store.compact(Some(events)).unwrap();
    let mut bulk = store.bulk().unwrap();
    bulk.insert(events, batch(&[pair(round * 10 + 5, "bulk")])).unwrap();
    bulk.commit().unwrap();
    note(kills, store);
    store.create_stream(keep(&format!("other{round}"))).unwrap();
    let other = store.expect_stream(&format!("other{round}")).unwrap().id();
    store.commit(Changes::new().insert(other, batch(&[pair(1, "x")])), Durability::Synced).unwrap();
    note(kills, store);
    store.compact(None).unwrap();
}

fn holds(store: &Store, seen: &Seen, what: &str) {
    for (seq, rows) in seen {
        let then = store.at(&Moment::Commit(*seq));
        let then = then.unwrap_or_else(|error| panic!("{what}: commit {seq}: {error}"));
        assert_eq!(&read(&then, "events"), rows, "{what}: commit {seq}");
    }
}

/// What kills leave that fall into the next opening.
fn killed_again(machine: &Machine, seen: &Seen, what: &str) {
    let kills = Arc::new(Kills::<Seen>::default());
    let again = machine.copy();
    let (io, dir) = (watched(&again, &kills), again.dir.clone());
    *kills.machine.lock() = Some(again);
    *kills.seen.lock() = seen.clone();
    drop(Store::open_with(io, &dir, Access::Write, kept(manual())).unwrap());
    *kills.machine.lock() = None;
    for (machine, seen, then) in std::mem::take(&mut *kills.left.lock()) {
        holds(&machine.open(kept(manual())), &seen, &format!("{what}, then {then}"));
    }
}

#[test]
fn wherever_a_writer_is_killed_all_commits_are_read_as_they_were() {
    let inner = Machine::new();
    let kills = Arc::new(Kills::<Seen>::default());
    let (io, dir) = (watched(&inner, &kills), inner.dir.clone());
    let mut inner = Some(inner);
    for round in 0..2 {
        let store = Store::open_with(io.clone(), &dir, Access::Write, kept(manual())).unwrap();
        let events = match store.stream("events") {
            Some(events) => events.id(),
            None => store.create_stream(keep("events")).unwrap(),
        };
        if let Some(inner) = inner.take() {
            *kills.machine.lock() = Some(inner);
        }
        change(&kills, &store, events, round);
        store.close().unwrap();
    }
    *kills.machine.lock() = None;
    let left = std::mem::take(&mut *kills.left.lock());
    println!("{} kills", left.len());
    assert!(left.len() > 100);
    for (machine, seen, what) in &left {
        // One is enough: who reads beside waits a while for a writer who may be alive.
        let reader = machine.try_open(Access::Read, kept(manual())).unwrap();
        let first: Seen = seen.iter().take(1).map(|(seq, rows)| (*seq, rows.clone())).collect();
        holds(&reader, &first, &format!("{what}, read beside"));
        drop(reader);
        // By then the manifest has an edit that nobody has noted.
        if what.contains("Sync of /store/MANIFEST") {
            killed_again(machine, seen, what);
        }
        holds(&machine.open(kept(manual())), seen, what);
    }
}

/// What an earlier process wrote in short segments counts as long as it is, also for one whose own are long.
#[test]
fn the_history_counts_log_of_other_settings_by_its_files() {
    let machine = Machine::new();
    let short = Settings { wal_segment_bytes: 16 << 10, ..kept(manual()) };
    let store = machine.open(short);
    let events = store.create_stream(keep("events")).unwrap();
    for place in 0..100 {
        append(&store, events, &[pair(place, &"row".repeat(400))]);
    }
    // As a kill leaves it.
    let left = machine.copy();
    let long =
        Settings { wal_segment_bytes: 1 << 20, history_bytes_max: 1 << 20, ..kept(manual()) };
    let store = left.open(long);
    store.flush().unwrap();
    store.close().unwrap();
    let store = left.open(kept(manual()));
    assert_eq!(read(&store.at(&Moment::Commit(SeqNo(1))).unwrap(), "events").len(), 1);
}
