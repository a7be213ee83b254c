//! A full disk: nothing acknowledged is lost, nothing is in doubt, what frees space works, and writes
//! go on by themselves when there is room.
#![expect(clippy::unwrap_used, reason = "the helpers of a test fail as the test does")]

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use crate::quota_disk::{Quota, QuotaDisk};
use crate::support::*;
use timestrata_engine::{
    Access, BusyPolicy, Changes, Durability, ErrorKind, Io, Maintenance, Result, SeqNo, Settings,
    Store, StreamId,
};
use timestrata_format::manifest::Retention;

const PLENTY: u64 = 1 << 30;

/// A machine whose disk holds so many bytes.
fn small(bytes: u64) -> (Machine, Arc<Quota>) {
    let quota = Arc::new(Quota::default());
    quota.set(bytes);
    let mut machine = Machine::new();
    machine.io = Io { disk: Arc::new(QuotaDisk::new(&quota)), ..machine.io };
    (machine, quota)
}

/// What was acknowledged: rows of each stream.
#[derive(Debug, Default)]
struct Known(BTreeMap<&'static str, Vec<Pair>>);

impl Known {
    fn check(&self, store: &Store) {
        for (name, rows) in &self.0 {
            assert!(read(store, name) == *rows, "rows of '{name}' are not those acknowledged");
        }
    }
}

/// Streams, rows by the log and straight to runs, flushes, compactions and deletes, until one fails.
fn fill(store: &Store, known: &mut Known) -> Result<()> {
    let a = create(store, "a", known)?;
    let b = create(store, "b", known)?;
    for turn in 0..12 {
        for (stream, name) in [(a, "a"), (b, "b")] {
            for row in 0..8 {
                commit(store, stream, name, &[(turn * 100 + row, vec![7; 700])], known)?;
            }
        }
        if turn % 4 == 3 {
            let large: Vec<Pair> = (50..90).map(|n| (turn * 100 + n, vec![9; 2000])).collect();
            commit(store, a, "a", &large, known)?;
        }
        if turn % 3 == 2 {
            store.flush()?;
        }
        if turn == 7 {
            delete_below(store, b, "b", 300, known)?;
            store.compact(None)?;
        }
    }
    Ok(())
}

fn create(store: &Store, name: &'static str, known: &mut Known) -> Result<StreamId> {
    let id = store.create_stream(keep(name))?;
    known.0.entry(name).or_default();
    Ok(id)
}

fn commit(
    store: &Store,
    stream: StreamId,
    name: &'static str,
    rows: &[Pair],
    known: &mut Known,
) -> Result<()> {
    store.commit(Changes::new().insert(stream, batch(rows)), Durability::Synced)?;
    let all = known.0.entry(name).or_default();
    all.extend_from_slice(rows);
    all.sort();
    Ok(())
}

fn delete_below(
    store: &Store,
    stream: StreamId,
    name: &'static str,
    time: i64,
    known: &mut Known,
) -> Result<()> {
    let changes = Changes::new().delete_range(stream, range(i64::MIN, time));
    store.commit(changes, Durability::Synced)?;
    known.0.entry(name).or_default().retain(|(at, _)| *at >= time);
    Ok(())
}

/// Once a full disk poisoned the store, needed it to be opened again, and more room for that than there
/// was: what could have freed some was not to be had either.
#[test]
fn at_every_size_of_the_disk_nothing_is_lost_and_space_can_be_freed_and_used_again() {
    let (mut was_full, mut was_freed, mut bytes) = (0, 0, 24 << 10);
    loop {
        let (machine, quota) = small(bytes);
        let store = match machine.try_open(Access::Write, tiny()) {
            Ok(store) => store,
            Err(error) => {
                // Not even an empty store fits; with room it is made all the same.
                assert_eq!(error.kind(), ErrorKind::NoSpace, "{bytes} bytes: {error}");
                quota.set(PLENTY);
                machine.open(tiny()).close().unwrap();
                bytes += 8 << 10;
                continue;
            }
        };
        let mut known = Known::default();
        let has_reserve = machine.dir.join("RESERVE");
        let has_reserve = machine.io.disk.exists(&has_reserve).unwrap();
        let outcome = fill(&store, &mut known);
        known.check(&store);
        let Err(error) = outcome else { break };
        was_full += 1;
        assert_eq!(error.kind(), ErrorKind::NoSpace, "{bytes} bytes: {error}");
        assert!(!store.is_poisoned(), "{bytes} bytes: {error}");
        // On a disk that has never had room for the reserve, only what is there can be promised.
        let store = match has_reserve {
            false => store,
            true => free_space(&machine, store, &mut known)
                .unwrap_or_else(|error| panic!("{bytes} bytes: {error}; {:?}", error.kind())),
        };
        was_freed += u32::from(has_reserve);
        quota.set(PLENTY);
        fill_again(&store, &mut known);
        known.check(&store);
        store.close().unwrap();
        let store = machine.open(tiny());
        known.check(&store);
        assert!(store.check().unwrap().is_sound());
        bytes += 8 << 10;
    }
    assert!(was_full > 30 && was_freed > 20, "full at {was_full} sizes, freed at {was_freed}");
}

/// Deletes, drops, retention, closing and opening while the disk is full.
fn free_space(machine: &Machine, store: Store, known: &mut Known) -> Result<Store> {
    let names: Vec<&'static str> = known.0.keys().copied().collect();
    for name in &names {
        let stream = store.expect_stream(name)?;
        delete_below(&store, stream.id(), name, 100, known)?;
        store.set_retention(stream.id(), Retention { age_ns: None, bytes: Some(1 << 40) })?;
    }
    known.check(&store);
    store.close()?;
    let store = machine.try_open(Access::Write, tiny())?;
    known.check(&store);
    if names.contains(&"b") {
        store.drop_stream("b")?;
        known.0.remove("b");
    }
    known.check(&store);
    store.close()?;
    let store = machine.try_open(Access::Write, tiny())?;
    known.check(&store);
    Ok(store)
}

/// In the same open store, with room again.
fn fill_again(store: &Store, known: &mut Known) {
    let a = match store.stream("a") {
        Some(stream) => stream.id(),
        None => create(store, "a", known).unwrap(),
    };
    for row in 0..100 {
        commit(store, a, "a", &[(9_000 + row, vec![3; 700])], known).unwrap();
    }
    store.flush().unwrap();
    store.compact(None).unwrap();
}

#[test]
fn on_a_full_disk_history_goes_first() {
    let (machine, quota) = small(PLENTY);
    let history_min = Duration::from_secs(3600);
    let store = machine.open(Settings { history_min, ..tiny() });
    let mut known = Known::default();
    let a = create(&store, "a", &mut known).unwrap();
    let mut write = |turn: i64| {
        for row in 0..20 {
            commit(&store, a, "a", &[(turn * 100 + row, vec![7; 700])], &mut known)?;
        }
        store.flush()
    };
    for turn in 0..10 {
        write(turn).unwrap();
        store.compact(Some(a)).unwrap();
    }
    let (kept, with_history) = (store.oldest_commit().unwrap(), quota.used());
    assert!(kept < SeqNo(20), "{kept}");
    // As good as full: there is room for a round, and not for what may be needed next.
    quota.set(with_history + (64 << 10));
    for turn in 10..20 {
        write(turn).unwrap_or_else(|error| panic!("round {turn}: {error}"));
        store.compact(Some(a)).unwrap();
    }
    assert!(store.oldest_commit().unwrap() > SeqNo(200), "none is kept of before");
    assert!(quota.used() < with_history, "{} bytes, and {with_history}", quota.used());
    known.check(&store);
    store.close().unwrap();
    known.check(&machine.open(tiny()));
}

#[test]
fn a_manifest_takes_edits_where_the_disk_has_no_room_for_more_than_these() {
    let (machine, quota) = small(PLENTY);
    let store = machine.open(tiny());
    let manifest = machine.dir.join("MANIFEST");
    let mut lengths = Vec::new();
    for number in 0..120 {
        // For this edit and its copy, and not for the 16 KiB that the file grows by else.
        quota.set(quota.used() + 2 * 1024);
        store.create_stream(keep(&format!("stream {number}"))).unwrap();
        lengths.push(machine.read_file(&manifest).len());
    }
    let without_room = lengths.iter().filter(|length| **length % 16_384 != 0).count();
    assert!(without_room > 20, "{lengths:?}");
    // And one for which there is no room at all is not made.
    quota.set(quota.used());
    let failed =
        (0..20).find_map(|number| store.create_stream(keep(&format!("more {number}"))).err());
    assert_eq!(failed.unwrap().kind(), ErrorKind::NoSpace);
    quota.set(PLENTY);
    store.create_stream(keep("with room again")).unwrap();
    assert_eq!(machine.read_file(&manifest).len() % 16_384, 0);
    let streams = store.streams().len();
    std::mem::forget(store);
    let machine = machine.copy();
    assert_eq!(machine.open(tiny()).streams().len(), streams);
}

#[test]
fn writers_that_wait_for_room_in_memory_are_told_that_the_disk_is_full_and_go_on_when_it_is_not() {
    for policy in [BusyPolicy::Block, BusyPolicy::Raise, BusyPolicy::Flush] {
        let (machine, quota) = small(PLENTY);
        let background = Maintenance::Background;
        let store =
            machine.open(Settings { maintenance: background, busy_policy: policy, ..tiny() });
        let mut known = Known::default();
        let a = create(&store, "a", &mut known).unwrap();
        quota.set(quota.used());
        let mut row = 0;
        let refused = loop {
            match commit(&store, a, "a", &[(row, vec![7; 700])], &mut known) {
                Ok(()) => row += 1,
                Err(error) => break error,
            }
        };
        assert!(matches!(refused.kind(), ErrorKind::NoSpace | ErrorKind::Busy), "{refused}");
        known.check(&store);
        quota.set(PLENTY);
        // By themselves: nothing is opened again, nobody flushes.
        for row in 0..600 {
            while let Err(error) = commit(&store, a, "a", &[(row, vec![8; 700])], &mut known) {
                let kind = error.kind();
                assert!(matches!(kind, ErrorKind::NoSpace | ErrorKind::Busy), "{error}");
                // The flush that failed is tried again after a pause by this clock.
                machine.clock.advance_ns(1_000_000);
                std::thread::yield_now();
            }
        }
        assert!(!store.is_poisoned());
        known.check(&store);
        store.close().unwrap();
        known.check(&machine.open(tiny()));
    }
}
