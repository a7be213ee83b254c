//! What waits for its flush is not followed by a memtable a commit.
//!
//! Once the log had grown to its bound, each commit sealed what its oldest stream had in memory, also
//! while the flush that would free the log was under way. A stream with few rows got a run for
//! each of its commits: hundreds a second, which compaction did not keep up with.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::support::*;
use crate::watched_disk::{Step, WatchedDisk, Watcher};
use timestrata_engine::{Durability, Io, Maintenance, Settings};
use timestrata_io::sync::{Condvar, Mutex};

const ROWS_MEANWHILE: i64 = 200;

/// Lets no run be written until it is opened, and counts those that are begun.
#[derive(Debug, Default)]
struct Gate {
    is_open: Mutex<bool>,
    opened: Condvar,
    runs: AtomicUsize,
}

impl Gate {
    fn open(&self) {
        *self.is_open.lock() = true;
        self.opened.notify_all();
    }
}

impl Watcher for Gate {
    fn before(&self, step: Step, path: &Path) -> io::Result<()> {
        if step == Step::Write && path.starts_with("/store/runs") {
            let mut is_open = self.is_open.lock();
            while !*is_open {
                self.opened.wait(&mut is_open);
            }
        }
        Ok(())
    }

    fn before_create(&self, path: &Path) -> io::Result<()> {
        if path.starts_with("/store/runs") {
            self.runs.fetch_add(1, Ordering::SeqCst);
        }
        Ok(())
    }
}

#[test]
fn commits_beside_the_flush_that_frees_the_log_make_no_run_each() {
    let mut machine = Machine::new();
    let gate = Arc::new(Gate::default());
    let disk = WatchedDisk::new(Arc::clone(&machine.io.disk), Arc::clone(&gate) as _);
    machine.io = Io { disk: Arc::new(disk), ..machine.io };
    let store = machine.open(Settings {
        memtable_bytes_max: 8 << 20,
        memory_bytes_max: 32 << 20,
        level0_runs_max: 1_000,
        maintenance: Maintenance::Background,
        ..tiny()
    });
    let small = store.create_stream(keep("small")).unwrap();
    let large = store.create_stream(keep("large")).unwrap();
    insert(&store, small, &[pair(0, "the oldest row in the log")], Durability::Written);
    for time in 0..100 {
        insert(&store, large, &[(time, vec![b'x'; 1_000])], Durability::Written);
    }
    // The log is beyond its bound, and what keeps it waits.
    for time in 1..=ROWS_MEANWHILE {
        insert(&store, small, &[pair(time, "a row of the meantime")], Durability::Written);
    }
    gate.open();
    store.flush().unwrap();
    assert_eq!(read(&store, "small").len() as i64, 1 + ROWS_MEANWHILE);
    store.close().unwrap();
    let runs = gate.runs.load(Ordering::SeqCst);
    assert!(runs < 20, "{runs} runs of {ROWS_MEANWHILE} commits");
}
