//! Streams that are made for one commit: they are there with it, or have never been.
#![expect(clippy::unwrap_used, reason = "the helpers of a test fail as the test does")]

use std::path::PathBuf;
use std::sync::Arc;
use std::thread;

use timestrata_engine::{
    Access, Changes, Durability, ErrorKind, Moment, ProvisionalStreams, SeqNo, Store, StreamId,
    check,
};
use timestrata_io::Io;

use crate::kills::{Kills, watched};
use crate::moments::kept;
use crate::quota_disk::{Quota, QuotaDisk};
use crate::support::*;

fn names(store: &Store) -> Vec<String> {
    store.streams().iter().map(|stream| stream.name().to_owned()).collect()
}

/// Two streams that belong together, of which the commit changes one.
fn made(store: &Store) -> (ProvisionalStreams, StreamId) {
    let made = store.provisional();
    let ids = made.store().create_streams(&[keep("parts"), keep("whole")]).unwrap();
    (made, ids[1])
}

#[test]
fn streams_of_a_commit_that_is_given_up_have_never_been() {
    let machine = Machine::new();
    let store = machine.open(manual());
    let (given_up, _) = made(&store);
    assert_eq!(names(given_up.store()), ["parts", "whole"]);
    assert!(names(&store).is_empty());
    drop(given_up);
    assert!(store.stream("whole").is_none());
    // The name is free, for another kind of stream too.
    store.create_stream(latest("whole")).unwrap();
    store.close().unwrap();
    assert_eq!(names(&machine.open(manual())), ["whole"]);
}

#[test]
fn streams_of_a_commit_come_with_it_and_are_like_others_after_an_opening() {
    let machine = Machine::new();
    let store = machine.open(manual());
    let (made, whole) = made(&store);
    insert(made.store(), whole, &[pair(1, "a")], Durability::Written);
    made.keep().unwrap();
    assert_eq!(names(&store), ["parts", "whole"]);
    // Made again as it was: it is there.
    assert_eq!(store.create_stream(keep("whole")).unwrap(), whole);
    store.close().unwrap();
    let store = machine.open(manual());
    assert_eq!(names(&store), ["parts", "whole"]);
    assert_eq!(read(&store, "whole"), [pair(1, "a")]);
    assert!(store.expect_stream("whole").unwrap().spec().properties.is_empty());
}

#[test]
fn what_a_commit_has_not_changed_is_kept_too() {
    let machine = Machine::new();
    let store = machine.open(manual());
    let (made, _) = made(&store);
    made.keep().unwrap();
    assert_eq!(names(&store), ["parts", "whole"]);
    // As a kill would leave it.
    assert_eq!(names(&machine.copy().open(manual())), ["parts", "whole"]);
}

#[test]
fn what_somebody_else_has_seen_stays_without_the_commit() {
    let store = Machine::new().open(manual());
    let (opened, whole) = made(&store);
    assert_eq!(store.expect_stream("whole").unwrap().id(), whole);
    drop(opened);
    assert_eq!(names(&store), ["parts", "whole"]);
    store.drop_streams(&["parts", "whole"]).unwrap();

    let (first, whole) = made(&store);
    let second = store.provisional();
    assert_eq!(second.store().create_stream(keep("whole")).unwrap(), whole);
    drop(first);
    insert(second.store(), whole, &[pair(1, "a")], Durability::Synced);
    second.keep().unwrap();
    assert_eq!(read(&store, "whole"), [pair(1, "a")]);
}

#[test]
fn a_stream_of_another_kind_is_refused_while_one_is_made() {
    let store = Machine::new().open(manual());
    let (made, _) = made(&store);
    let error = store.create_stream(latest("whole")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::AlreadyExists, "{error}");
    drop(made);
}

#[test]
fn wherever_a_process_is_killed_streams_are_there_with_their_commit() {
    let inner = Machine::new();
    let kills = Arc::new(Kills::<bool>::default());
    let (io, dir) = (watched(&inner, &kills), inner.dir.clone());
    let store = Store::open_with(io, &dir, Access::Write, kept(manual())).unwrap();
    *kills.machine.lock() = Some(inner);
    let (given_up, _) = made(&store);
    drop(given_up);
    let (made, whole) = made(&store);
    insert(made.store(), whole, &[pair(1, "a")], Durability::Written);
    *kills.seen.lock() = true;
    made.keep().unwrap();
    store.flush().unwrap();
    delete(&store, whole, 0, 10);
    store.flush().unwrap();
    store.compact(None).unwrap();
    store.close().unwrap();
    *kills.machine.lock() = None;
    let left = std::mem::take(&mut *kills.left.lock());
    println!("{} kills", left.len());
    assert!(left.len() > 20);
    for (machine, is_made, what) in &left {
        let reader = machine.try_open(Access::Read, kept(manual())).unwrap();
        let seen = names(&reader);
        drop(reader);
        let store = machine.open(kept(manual()));
        assert_eq!(names(&store), seen, "{what}: a reader saw others");
        assert!(seen.is_empty() || seen == ["parts", "whole"], "{what}: {seen:?}");
        assert!(!is_made || !seen.is_empty(), "{what}: the commit was acknowledged");
        if let Some(whole) = store.stream("whole") {
            assert!(whole.spec().properties.is_empty(), "{what}");
            let first = store.at(&Moment::Commit(SeqNo(1))).unwrap();
            assert_eq!(read(&first, "whole"), [pair(1, "a")], "{what}");
        }
        // Whatever is there, the name can be had.
        store.create_streams(&[keep("parts"), keep("whole")]).unwrap();
        store.close().unwrap();
        assert_eq!(names(&machine.open(kept(manual()))), ["parts", "whole"], "{what}");
    }
}

#[test]
fn a_power_cut_takes_streams_with_a_commit_that_was_not_synced() {
    let machine = Machine::new();
    let store = machine.open(manual());
    let (made, whole) = made(&store);
    let is_log = |path: &PathBuf| path.parent().is_some_and(|dir| dir.ends_with("wal"));
    let log = machine.files().into_iter().find(is_log).unwrap();
    let before = machine.read_file(&log);
    insert(made.store(), whole, &[pair(1, "a")], Durability::Written);
    made.keep().unwrap();
    // The manifest was synced, and the log was not.
    let cut = || {
        let cut = machine.copy();
        cut.write_file(&log, &before);
        names(&cut.open(manual()))
    };
    assert!(cut().is_empty());
    // Somebody is told that it is there: now it outlives that.
    store.settle_stream("whole").unwrap();
    assert_eq!(cut(), ["parts", "whole"]);
}

#[test]
fn on_a_full_disk_streams_come_with_their_commit_or_not_at_all() {
    const PLENTY: u64 = 1 << 30;
    let (mut refused, mut committed, mut opened) = (0, 0, 0);
    for room in (0..64).map(|step: u64| step << 10) {
        let quota = Arc::new(Quota::default());
        quota.set(PLENTY);
        let mut machine = Machine::new();
        machine.io = Io { disk: Arc::new(QuotaDisk::new(&quota)), ..machine.io };
        let store = machine.open(tiny());
        let other = store.create_stream(keep("other")).unwrap();
        quota.set(quota.used() + room);
        // Many rounds, since an edit of the manifest may find room where the one that takes it back finds none.
        let given_up = (0..50).find(|&round| {
            let made = store.provisional();
            let specs = [keep(&format!("parts {round}")), keep(&format!("whole {round}"))];
            let rows = batch(&[(1, vec![7; 3_000])]);
            let commit = || {
                let ids = made.store().create_streams(&specs)?;
                let changes = Changes::new().insert(ids[1], rows.clone()).insert(other, rows);
                made.store().commit(changes, Durability::Written)
            };
            match commit() {
                Ok(_) => made.keep().is_err(),
                Err(error) => {
                    assert_eq!(error.kind(), ErrorKind::NoSpace, "{room}: {error}");
                    drop(made);
                    true
                }
            }
        });
        let rounds = given_up.unwrap_or(50);
        refused += u32::from(given_up.is_some());
        committed += rounds;
        let mut expected: Vec<String> = vec!["other".to_owned()];
        for round in 0..rounds {
            expected.extend([format!("parts {round}"), format!("whole {round}")]);
        }
        let sorted = |store: &Store| {
            let mut names = names(store);
            names.sort();
            names
        };
        expected.sort();
        assert_eq!(sorted(&store), expected, "{room}");
        let killed = machine.copy();
        assert!(check(&killed.io, &killed.dir).unwrap().is_sound(), "{room}: killed");
        assert_eq!(sorted(&killed.open(tiny())), expected, "{room}: killed");
        // Opened while the disk is full: what can't be taken out then stays hidden.
        let _ = store.close();
        match machine.try_open(Access::Write, tiny()) {
            Ok(store) => {
                opened += 1;
                assert_eq!(sorted(&store), expected, "{room}: opened while it is full");
            }
            Err(error) => assert_eq!(error.kind(), ErrorKind::NoSpace, "{room}: {error}"),
        }
        quota.set(PLENTY);
        let store = machine.open(tiny());
        assert_eq!(sorted(&store), expected, "{room}: opened with room");
        // The names can be had once there is room.
        store.create_streams(&[keep(&format!("parts {rounds}")), latest("whole")]).unwrap();
        store.close().unwrap();
        assert!(check(&machine.io, &machine.dir).unwrap().is_sound(), "{room}");
    }
    println!("{refused} refused, {committed} committed, {opened} opened while it was full");
    assert!(refused > 20 && committed > 20 && opened > 20);
}

#[test]
fn a_pin_has_no_stream_of_a_commit_that_was_not_there() {
    let machine = Machine::new();
    let store = machine.open(manual());
    let (given_up, _) = made(&store);
    store.pin("before").unwrap();
    drop(given_up);
    let (kept, whole) = made(&store);
    store.pin("between").unwrap();
    insert(kept.store(), whole, &[pair(1, "a")], Durability::Written);
    kept.keep().unwrap();
    store.pin("behind").unwrap();
    let pinned = |store: &Store, pin: &str| {
        let moment = store.at(&Moment::Pin(pin.to_owned())).unwrap();
        names(&moment)
    };
    for store in [store.clone(), machine.copy().open(manual())] {
        assert_eq!(names(&store), ["parts", "whole"]);
        assert!(pinned(&store, "before").is_empty());
        assert!(pinned(&store, "between").is_empty());
        assert_eq!(pinned(&store, "behind"), ["parts", "whole"]);
    }
    // A pin from before keeps nobody from dropping what came later.
    store.unpin("behind").unwrap();
    store.drop_stream("whole").unwrap();
}

#[test]
fn makers_and_finders_beside_each_other_agree() {
    let store = Machine::new().open(manual());
    for round in 0..50 {
        let name = format!("stream{round}");
        thread::scope(|scope| {
            let giving_up = scope.spawn(|| {
                let made = store.provisional();
                // The other may have it already, for good.
                let _ = made.store().create_stream(keep(&name)).unwrap();
            });
            let making = scope.spawn(|| {
                let made = store.provisional();
                let id = made.store().create_stream(keep(&name)).unwrap();
                let changes = Changes::new().insert(id, batch(&[pair(1, "a")]));
                made.store().commit(changes, Durability::Written).unwrap();
                made.keep().unwrap();
            });
            let finding = scope.spawn(|| {
                let id = store.create_stream(keep(&name)).unwrap();
                insert(&store, id, &[pair(2, "b")], Durability::Written);
            });
            for thread in [giving_up, making, finding] {
                thread.join().unwrap();
            }
        });
        assert_eq!(read(&store, &name), [pair(1, "a"), pair(2, "b")], "{name}");
    }
}
