//! Several threads, and syncs that fail.

#[path = "../../../tests/engine/support/watched_disk.rs"]
mod watched_disk;

use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use timestrata_io::sync::{Condvar, Mutex};
use watched_disk::{Step, WatchedDisk, Watcher};

use super::*;

/// A disk in memory that counts syncs, can hold them back and can fail them.
#[derive(Debug, Default)]
struct Gate {
    syncs: AtomicU64,
    fails: AtomicBool,
    closed: Mutex<bool>,
    waiting: AtomicU64,
    opened: Condvar,
}

impl Gate {
    fn sync(&self) -> io::Result<()> {
        self.syncs.fetch_add(1, Ordering::SeqCst);
        let mut closed = self.closed.lock();
        self.waiting.fetch_add(1, Ordering::SeqCst);
        while *closed {
            self.opened.wait(&mut closed);
        }
        match self.fails.load(Ordering::SeqCst) {
            true => Err(io::Error::other("planted failure of a sync")),
            false => Ok(()),
        }
    }
}

impl Watcher for Gate {
    fn before(&self, step: Step, _: &Path) -> io::Result<()> {
        if step == Step::Sync { self.sync() } else { Ok(()) }
    }
}

fn gated() -> (Io, Arc<Gate>) {
    let gate = Arc::new(Gate::default());
    let memory: Arc<dyn Disk> = Arc::new(MemoryDisk::new());
    let disk = Arc::new(WatchedDisk::new(memory, Arc::clone(&gate) as _));
    (Io { disk, ..io() }, gate)
}

#[test]
fn who_waits_while_another_syncs_shares_the_next_sync() {
    let (io, gate) = gated();
    let wal = create(&io, 1 << 20, fresh(FIRST));
    let before = gate.syncs.load(Ordering::SeqCst);
    *gate.closed.lock() = true;
    std::thread::scope(|scope| {
        append(&wal, 1, 50);
        let reached = gate.waiting.load(Ordering::SeqCst) + 1;
        scope.spawn(|| wal.sync_through(SeqNo(1)).unwrap());
        while gate.waiting.load(Ordering::SeqCst) < reached {
            std::thread::yield_now();
        }
        // The first sync is under way: these come too late for it, and appends go on.
        for seq in 2..=9 {
            append(&wal, seq, 50);
        }
        assert_eq!(wal.synced_seq(), SeqNo(0));
        let waiters: Vec<_> = (2..=9)
            .map(|seq| {
                let wal = &wal;
                scope.spawn(move || assert!(wal.sync_through(SeqNo(seq)).unwrap() >= SeqNo(seq)))
            })
            .collect();
        *gate.closed.lock() = false;
        gate.opened.notify_all();
        waiters.into_iter().for_each(|waiter| waiter.join().unwrap());
    });
    assert_eq!(gate.syncs.load(Ordering::SeqCst) - before, 2);
    assert_eq!(wal.synced_seq(), SeqNo(9));
}

#[test]
fn a_failed_sync_is_never_tried_again_and_ends_all_writing() {
    let (io, gate) = gated();
    let wal = create(&io, 1 << 20, fresh(FIRST));
    append(&wal, 1, 50);
    gate.fails.store(true, Ordering::SeqCst);
    assert_eq!(wal.sync_through(SeqNo(1)).unwrap_err().kind(), ErrorKind::Io);
    gate.fails.store(false, Ordering::SeqCst);
    let syncs = gate.syncs.load(Ordering::SeqCst);
    let error = wal.sync_through(SeqNo(1)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Poisoned);
    assert!(error.to_string().contains("planted failure"), "{error}");
    let refused = wal.append(SeqNo(2), &[b"x"], None, false).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Poisoned);
    assert_eq!(wal.prepare_spare().unwrap_err().kind(), ErrorKind::Poisoned);
    assert_eq!(gate.syncs.load(Ordering::SeqCst), syncs);
    assert_eq!(wal.synced_seq(), SeqNo(0));
}

#[test]
fn a_sync_covers_the_segments_filled_since_the_last_one() {
    let (io, gate) = gated();
    let wal = create(&io, 4096, fresh(FIRST));
    (1..=40).for_each(|seq| append(&wal, seq, 200));
    let full = wal.segments() - 1;
    assert!(full >= 2);
    let before = gate.syncs.load(Ordering::SeqCst);
    assert_eq!(wal.sync_through(SeqNo(3)).unwrap(), SeqNo(40));
    assert_eq!(gate.syncs.load(Ordering::SeqCst) - before, full + 1);
    append(&wal, 41, 10);
    wal.sync_through(SeqNo(41)).unwrap();
    assert_eq!(gate.syncs.load(Ordering::SeqCst) - before, full + 2);
    // Commits without a record have nothing to wait for.
    assert_eq!(wal.sync_through(SeqNo(1000)).unwrap(), SeqNo(41));
    assert_eq!(gate.syncs.load(Ordering::SeqCst) - before, full + 2);
}

#[test]
fn many_threads_that_commit_and_sync_lose_nothing() {
    let temporary = tempfile::tempdir().unwrap();
    let dir = temporary.path().join("wal");
    let io = Io::os();
    let wal = Wal::create(&io, &dir, STORE, &settings(1 << 16), fresh(FIRST), REUSE).unwrap();
    let next = Mutex::new(1);
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                for _ in 0..100 {
                    let mut next = next.lock();
                    let seq = *next;
                    wal.append(SeqNo(seq), &[&payload(seq, 150)], None, false).unwrap();
                    *next += 1;
                    drop(next);
                    assert!(wal.sync_through(SeqNo(seq)).unwrap() >= SeqNo(seq));
                }
            });
        }
    });
    drop(wal);
    let mut reader = WalReader::open(&io, &dir, STORE, ReadMode::Recovery, FIRST, None).unwrap();
    for seq in 1..=800 {
        let record = reader.next_record().unwrap().unwrap();
        assert_eq!((record.seq, record.payload), (SeqNo(seq), &payload(seq, 150)[..]));
    }
    assert!(reader.next_record().unwrap().is_none());
}
