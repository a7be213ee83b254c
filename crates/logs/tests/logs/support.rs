//! What the tests of logs share.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use timestrata_engine::{Access, Clock, Durability, Io, Maintenance, Settings, Store};
use timestrata_logs::{Entries, Level, Logs, LogsOptions, NewEntry, Query};

pub(crate) const SECOND: i64 = 1_000_000_000;

/// A clock that stands where a test puts it.
#[derive(Debug, Default)]
pub(crate) struct Standing(AtomicI64);

impl Standing {
    pub(crate) fn set(&self, ns: i64) {
        self.0.store(ns, Ordering::Relaxed);
    }
}

impl Clock for Standing {
    fn wall_ns(&self) -> i64 {
        self.0.load(Ordering::Relaxed)
    }

    fn monotonic_ns(&self) -> u64 {
        0
    }
}

pub(crate) fn manual() -> Settings {
    Settings { maintenance: Maintenance::Manual, ..Settings::default() }
}

/// A log in memory, and the clock that it goes by.
pub(crate) fn with_clock() -> (Logs, Arc<Standing>) {
    let clock = Arc::new(Standing::default());
    clock.set(1_000 * SECOND);
    let io = Io { clock: Arc::clone(&clock) as Arc<dyn Clock>, ..Io::memory() };
    let store = Store::open_with(io, Path::new("/store"), Access::Write, manual()).unwrap();
    (Logs::create(&store, "app", &LogsOptions::default()).unwrap(), clock)
}

pub(crate) fn log() -> Logs {
    with_clock().0
}

pub(crate) fn entry(message: &str, level: Option<Level>) -> NewEntry {
    NewEntry { level, ..NewEntry::new(message) }
}

/// An entry whose sender says when it happened.
pub(crate) fn at(index: usize, source_time: i64) -> NewEntry {
    NewEntry { source_time: Some(source_time), ..NewEntry::new(format!("m{index}")) }
}

/// The messages of all that a query finds.
pub(crate) fn found(logs: &Logs, query: &Query) -> Vec<String> {
    messages(&logs.search(query).unwrap().collect::<Result<Vec<_>, _>>().unwrap())
}

pub(crate) fn messages(batches: &[Entries]) -> Vec<String> {
    batches
        .iter()
        .flat_map(|batch| batch.iter().map(|entry| entry.message().to_owned()).collect::<Vec<_>>())
        .collect()
}

/// Writes `count` messages as one commit.
pub(crate) fn fill(logs: &Logs, count: usize, make: impl Fn(usize) -> NewEntry) -> i64 {
    let entries: Vec<_> = (0..count).map(make).collect();
    logs.write_many(&entries, Durability::Written).unwrap().unwrap()
}

/// What was written goes to compacted runs.
pub(crate) fn settle(logs: &Logs) {
    logs.flush().unwrap();
    logs.compact().unwrap();
}
