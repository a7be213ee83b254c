//! What is committed while a flush is under way survives, wherever in the flush that is.
//!
//! A flush that found nothing else in memory once let go of the log up to its end as it was a moment
//! later. Commits of that moment were acknowledged, in no run, and gone with the log.
#![expect(clippy::unwrap_used, reason = "the helpers of a test fail as the test does")]

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::thread::{self, ThreadId};

use crate::support::*;
use crate::watched_disk::{Step, WatchedDisk, Watcher};
use timestrata_engine::{Durability, Io, Settings, Store, StreamId};
use timestrata_io::sync::Mutex;

/// Rows that another thread commits when its moment comes: more than a segment of the log holds.
const ROWS_BESIDE: i64 = 24;

/// Has another thread commit in the middle of what one thread does to the disk.
#[derive(Debug, Default)]
struct Beside {
    watched: Mutex<Option<Watched>>,
}

#[derive(Debug, Clone)]
struct Watched {
    thread: ThreadId,
    store: Store,
    stream: StreamId,
    /// Writes and syncs until the moment.
    calls_left: usize,
}

impl Watcher for Beside {
    fn before(&self, step: Step, path: &Path) -> io::Result<()> {
        if step == Step::Write && path.starts_with("/store/wal") {
            // Done by who holds the log: a commit would wait for it.
            return Ok(());
        }
        let mut watched = self.watched.lock();
        let Some(due) = watched.take() else { return Ok(()) };
        if due.thread != thread::current().id() {
            *watched = Some(due);
        } else if due.calls_left > 0 {
            *watched = Some(Watched { calls_left: due.calls_left - 1, ..due });
        } else {
            drop(watched);
            thread::spawn(move || commit_rows(&due.store, due.stream, ROWS_BESIDE)).join().unwrap();
        }
        Ok(())
    }
}

fn row(time: i64) -> Pair {
    (time, vec![b'x'; 1000])
}

fn commit_rows(store: &Store, stream: StreamId, rows: i64) {
    (0..rows).for_each(|time| insert(store, stream, &[row(time)], Durability::Written));
}

/// Short segments, of which there may be many.
fn segments() -> Settings {
    Settings {
        wal_bytes_max: 16 << 20,
        memtable_bytes_max: 8 << 20,
        memory_bytes_max: 32 << 20,
        ..tiny()
    }
}

/// What a kill would leave, as the next open finds it.
fn after_kill(machine: &Machine) -> Store {
    let store = machine.copy().open(segments());
    assert!(store.check().unwrap().findings.is_empty());
    store
}

/// A flush beside which another thread commits before its call of the disk with this number; false
/// if it makes fewer calls.
fn holds_with_commits_before_call(call: usize) -> bool {
    let mut machine = Machine::new();
    let beside = Arc::new(Beside::default());
    let disk = WatchedDisk::new(Arc::clone(&machine.io.disk), Arc::clone(&beside) as _);
    machine.io = Io { disk: Arc::new(disk), ..machine.io };
    let store = machine.open(segments());
    let flushed = store.create_stream(keep("flushed")).unwrap();
    let other = store.create_stream(keep("other")).unwrap();
    commit_rows(&store, flushed, ROWS_BESIDE);
    *beside.watched.lock() = Some(Watched {
        thread: thread::current().id(),
        store: store.clone(),
        stream: other,
        calls_left: call,
    });
    store.flush().unwrap();
    let was_called = beside.watched.lock().take().is_none();
    let expected: Vec<Pair> = (0..ROWS_BESIDE).map(row).collect();
    let killed = after_kill(&machine);
    assert_eq!(read(&killed, "flushed"), expected, "call {call}");
    let beside = if was_called { expected } else { Vec::new() };
    assert_eq!(read(&killed, "other"), beside, "call {call}");
    store.close().unwrap();
    assert_eq!(read(&after_kill(&machine), "other"), beside, "closed, call {call}");
    was_called
}

#[test]
fn rows_committed_at_any_call_of_the_disk_in_a_flush_survive_a_kill() {
    let calls = (0..).take_while(|call| holds_with_commits_before_call(*call)).count();
    assert!(calls >= 5, "a flush writes and syncs a run, names and an edit: {calls} calls");
}

/// The moment was between two calls of the disk, and as long as it takes to hold the range deletes
/// of a memtable against all runs.
#[test]
fn rows_committed_while_a_flush_looks_through_range_deletes_survive_a_kill() {
    let machine = Machine::new();
    let store = machine.open(Settings { level0_runs_max: 1_000, ..segments() });
    let flushed = store.create_stream(keep("flushed")).unwrap();
    let other = store.create_stream(keep("other")).unwrap();
    for time in 0..100 {
        append(&store, flushed, &[row(time)]);
        store.flush().unwrap();
    }
    for delete_at in 0..10_000 {
        delete(&store, flushed, 1_000 + 2 * delete_at, 1_001 + 2 * delete_at);
    }
    let (done, committed) = (AtomicBool::new(false), AtomicI64::new(0));
    thread::scope(|scope| {
        let writer = scope.spawn(|| {
            while !done.load(Ordering::SeqCst) && committed.load(Ordering::SeqCst) < 900 {
                let time = committed.load(Ordering::SeqCst);
                insert(&store, other, &[row(time)], Durability::Written);
                committed.store(time + 1, Ordering::SeqCst);
                // Spread over the flush, however long it takes.
                thread::yield_now();
            }
        });
        store.flush().unwrap();
        done.store(true, Ordering::SeqCst);
        writer.join().unwrap();
    });
    let expected: Vec<Pair> = (0..committed.load(Ordering::SeqCst)).map(row).collect();
    assert_eq!(read(&after_kill(&machine), "other"), expected);
}
