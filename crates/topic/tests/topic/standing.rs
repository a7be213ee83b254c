//! A store whose clock goes on only where a test has it go on.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use timestrata_engine::{Access, Clock, Io, Maintenance, Settings, Store};

/// A wall clock that stands where it is put.
#[derive(Debug)]
pub(crate) struct Standing(AtomicI64);

impl Clock for Standing {
    fn monotonic_ns(&self) -> u64 {
        self.wall_ns().unsigned_abs()
    }

    fn wall_ns(&self) -> i64 {
        self.0.load(Ordering::SeqCst)
    }
}

impl Standing {
    pub(crate) fn go_on(&self, seconds: i64) {
        self.0.fetch_add(seconds * SECOND_NS, Ordering::SeqCst);
    }
}

pub(crate) const SECOND_NS: i64 = 1_000_000_000;
pub(crate) const DAY_S: i64 = 24 * 3_600;

/// A store whose clock stands at the year 2001, and the clock.
pub(crate) fn standing() -> (Store, Arc<Standing>) {
    let clock = Arc::new(Standing(AtomicI64::new(SECOND_NS * SECOND_NS)));
    let io = Io { clock: Arc::clone(&clock) as _, ..Io::memory() };
    let settings = Settings { maintenance: Maintenance::Manual, ..Settings::default() };
    let store = Store::open_with(io, Path::new("store"), Access::Write, settings).unwrap();
    (store, clock)
}
