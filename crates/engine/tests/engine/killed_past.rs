//! Kills: wherever a writer is killed, all commits that it has acknowledged are read again as they were.
#![expect(clippy::unwrap_used, reason = "the helpers of a test fail as the test does")]

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::Arc;

use timestrata_engine::{Access, Changes, Durability, Io, Moment, SeqNo, Store, StreamId};
use timestrata_io::Disk;
use timestrata_io::sync::Mutex;

use crate::moments::{kept, last};
use crate::support::*;
use crate::watched_disk::{Step, WatchedDisk, Watcher};

type Seen = BTreeMap<SeqNo, Vec<Pair>>;

/// What a kill would leave before each call of the disk, with what had been acknowledged by then.
#[derive(Debug, Default)]
struct Kills {
    machine: Mutex<Option<Machine>>,
    seen: Mutex<Seen>,
    left: Mutex<Vec<(Machine, Seen, String)>>,
}

impl Watcher for Kills {
    fn before(&self, step: Step, path: &Path) -> io::Result<()> {
        if let Some(machine) = &*self.machine.lock() {
            let what = format!("killed before {step:?} of {}", path.display());
            self.left.lock().push((machine.copy(), self.seen.lock().clone(), what));
        }
        Ok(())
    }
}

impl Kills {
    fn note(&self, store: &Store) {
        self.seen.lock().insert(last(store), read(store, "events"));
    }
}

fn change(kills: &Kills, store: &Store, events: StreamId, round: i64) {
    for place in 0..2 {
        append(store, events, &[pair(round * 10 + place, "row")]);
        kills.note(store);
    }
    store.flush().unwrap();
    delete(store, events, round * 10, round * 10 + 1);
    kills.note(store);
    store.compact(Some(events)).unwrap();
    let mut bulk = store.bulk().unwrap();
    bulk.insert(events, batch(&[pair(round * 10 + 5, "bulk")])).unwrap();
    bulk.commit().unwrap();
    kills.note(store);
    store.create_stream(keep(&format!("other{round}"))).unwrap();
    let other = store.expect_stream(&format!("other{round}")).unwrap().id();
    store.commit(Changes::new().insert(other, batch(&[pair(1, "x")])), Durability::Synced).unwrap();
    kills.note(store);
    store.compact(None).unwrap();
}

fn holds(store: &Store, seen: &Seen, what: &str) {
    for (seq, rows) in seen {
        let then = store.at(&Moment::Commit(*seq));
        let then = then.unwrap_or_else(|error| panic!("{what}: commit {seq}: {error}"));
        assert_eq!(&read(&then, "events"), rows, "{what}: commit {seq}");
    }
}

/// The surroundings of a machine in which kills are noted.
fn watched(machine: &Machine, kills: &Arc<Kills>) -> Io {
    let disk = WatchedDisk::new(Arc::clone(&machine.io.disk), Arc::clone(kills) as _);
    let disk: Arc<dyn Disk> = Arc::new(disk);
    Io { disk, ..machine.io.clone() }
}

/// What kills leave that fall into the next opening.
fn killed_again(machine: &Machine, seen: &Seen, what: &str) {
    let kills = Arc::new(Kills::default());
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
    let kills = Arc::new(Kills::default());
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
