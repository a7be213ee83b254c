//! Who reads beside a writer sees a state that there was after some commit, whatever is committed
//! between two of its looks.
//!
//! A reader read the manifest, then the log. A commit that went straight to runs in between was in neither
//! as the reader had them, and a small commit behind it was in the log: the reader showed the second
//! without the first.
#![expect(clippy::unwrap_used, reason = "the helpers of a test fail as the test does")]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

use crate::stepped_disk::stepped;
use crate::support::*;
use timestrata_engine::{Access, Changes, Durability, ErrorKind, Io, Store, StreamId, check};

/// Rows of a commit that goes straight to runs.
const LARGE_ROWS: i64 = 80;

/// What the writer does between two looks of a reader.
type Work = fn(&Store, StreamId);

fn large(store: &Store, stream: StreamId, first: i64) {
    let rows: Vec<Pair> = (first..first + LARGE_ROWS).map(|at| (at, vec![b'x'; 1000])).collect();
    store.commit(Changes::new().insert(stream, batch(&rows)), Durability::Written).unwrap();
}

fn large_then_small(store: &Store, stream: StreamId) {
    large(store, stream, 1_000);
    append(store, stream, &[pair(2_000, "small")]);
}

/// Both kinds in turn, so that what a second look finds has changed as well; a stream that was committed to
/// and dropped leaves gaps in the log that no manifest explains.
fn everything(store: &Store, stream: StreamId) {
    let passing = store.create_stream(keep("passing")).unwrap();
    large(store, passing, 0);
    store.drop_stream("passing").unwrap();
    append(store, stream, &[pair(1_000, "small")]);
    large(store, stream, 2_000);
    append(store, stream, &[pair(3_000, "small")]);
    store.flush().unwrap();
    large(store, stream, 4_000);
    append(store, stream, &[pair(5_000, "small")]);
}

fn times(rows: &[Pair]) -> Vec<i64> {
    rows.iter().map(|(time, _)| *time).collect()
}

/// A reader of a store in use, before whose call of the disk with this number the writer works; false if
/// it makes fewer calls. All that it shows must be the first rows of what the writer has, `steps` of them.
fn shows_a_prefix(call: u64, is_open: bool, work: Work, steps: &[usize]) -> bool {
    let (machine, store, stream) = with_events();
    append(&store, stream, &[pair(1, "first"), pair(2, "second")]);
    // Counted from when the reader is to look.
    let looks_from = Arc::new(AtomicU64::new(u64::MAX));
    let (calls, worked) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
    let before = {
        let (looks_from, calls, worked) =
            (Arc::clone(&looks_from), Arc::clone(&calls), Arc::clone(&worked));
        let store = store.clone();
        move |number: u64| {
            calls.store(number + 1, Ordering::SeqCst);
            let due = looks_from.load(Ordering::SeqCst).checked_add(call);
            if due == Some(number) {
                worked.store(1, Ordering::SeqCst);
                work(&store, stream);
            }
            Ok(())
        }
    };
    let io = stepped(&machine, Box::new(before));
    if !is_open {
        looks_from.store(0, Ordering::SeqCst);
    }
    let reader = Store::open_with(io, &machine.dir, Access::Read, tiny()).unwrap();
    if is_open {
        looks_from.store(calls.load(Ordering::SeqCst), Ordering::SeqCst);
        reader.refresh().unwrap();
    }
    let was_worked = worked.load(Ordering::SeqCst) == 1;
    for _ in 0..2 {
        let (shown, all) = (read(&reader, "events"), read(&store, "events"));
        assert_eq!(times(&shown), times(&all)[..shown.len()], "call {call}");
        assert!(steps.contains(&shown.len()), "call {call}: {} rows", shown.len());
        assert!(shown == all[..shown.len()], "call {call}: other values");
        reader.refresh().unwrap();
    }
    assert!(read(&reader, "events") == read(&store, "events"), "call {call}");
    was_worked
}

#[test]
fn a_reader_misses_no_commit_that_goes_straight_to_runs_and_shows_a_later_one() {
    let large = LARGE_ROWS as usize;
    let of_two = [2, 2 + large, 3 + large];
    let of_all = [2, 3, 3 + large, 4 + large, 4 + 2 * large, 5 + 2 * large];
    for (work, steps) in [(large_then_small as Work, &of_two[..]), (everything, &of_all)] {
        for is_open in [false, true] {
            let shows = |call: &u64| shows_a_prefix(*call, is_open, work, steps);
            let calls = (0..).take_while(shows).count();
            assert!(calls >= 3, "a reader reads a manifest and a log: {calls} calls");
        }
    }
}

/// The surroundings of somebody before each of whose first `busy` calls of the disk a writer comes, replaces
/// all files of the store, and goes.
fn beside_coming_and_going(machine: &Machine, events: StreamId, busy: u64) -> Io {
    let (io, dir) = (machine.io.clone(), machine.dir.clone());
    let before = move |number: u64| {
        if number < busy {
            let store = Store::open_with(io.clone(), &dir, Access::Write, tiny()).unwrap();
            append(&store, events, &[pair(number as i64, "row")]);
            store.flush().unwrap();
            store.compact(None).unwrap();
            store.close().unwrap();
        }
        Ok(())
    };
    stepped(machine, Box::new(before))
}

#[test]
fn a_writer_that_replaces_files_before_each_look_is_outlasted() {
    let busy = 300;
    let machine = Machine::new();
    let store = machine.open(tiny());
    let events = store.create_stream(keep("events")).unwrap();
    append(&store, events, &[pair(-1, "first")]);
    store.close().unwrap();
    let io = beside_coming_and_going(&machine, events, busy);
    let reader = Store::open_with(io, &machine.dir, Access::Read, tiny()).unwrap();
    assert_eq!(read(&reader, "events").len() as u64, busy + 1, "it opened in fewer looks");
    let io = beside_coming_and_going(&machine, events, busy);
    let report = check(&io, &machine.dir).unwrap();
    assert!(report.is_sound(), "{:?}", report.findings);
}

#[test]
fn a_reader_opens_beside_a_writer_that_comes_and_goes() {
    let machine = Machine::new();
    let first = machine.open(tiny());
    let events = first.create_stream(keep("events")).unwrap();
    first.close().unwrap();
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        let readers = (0..2).map(|_| {
            scope.spawn(|| {
                let mut opened = 0;
                while !done.load(Ordering::SeqCst) {
                    // Closing cuts the manifest's room off, also between a look at its length and its reading.
                    let store = machine.try_open(Access::Read, tiny()).unwrap();
                    assert!(store.expect_stream("events").is_ok());
                    opened += 1;
                }
                opened
            })
        });
        let readers: Vec<_> = readers.collect();
        for number in 0..400 {
            let store = machine.open(tiny());
            append(&store, events, &[pair(number, "row")]);
            store.close().unwrap();
        }
        done.store(true, Ordering::SeqCst);
        let opened: i32 = readers.into_iter().map(|reader| reader.join().unwrap()).sum();
        assert!(opened > 0);
    });
    assert_eq!(read(&machine.open(tiny()), "events").len(), 400);
}

#[test]
fn a_reader_is_told_that_another_store_has_taken_the_place_of_its_own() {
    let machine = Machine::new();
    let first = machine.open(tiny());
    append(&first, first.create_stream(keep("events")).unwrap(), &[pair(1, "one")]);
    let reader = machine.try_open(Access::Read, tiny()).unwrap();
    first.close().unwrap();
    machine.files().iter().for_each(|path| machine.io.disk.remove(path).unwrap());
    let other = machine.open(tiny());
    append(&other, other.create_stream(latest("events")).unwrap(), &[pair(2, "two")]);
    let error = reader.refresh().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound, "{error}");
    assert!(error.to_string().contains("another store"), "{error}");
    assert_eq!(read(&reader, "events"), [pair(1, "one")], "what it has seen stays");
}
