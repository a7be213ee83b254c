//! Wall and monotonic time.

use std::fmt::Debug;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// Where a store reads the time.
pub trait Clock: Send + Sync + Debug + 'static {
    /// Nanoseconds since 1970-01-01T00:00:00Z; may jump in either direction.
    fn wall_ns(&self) -> i64;
    /// Nanoseconds since some fixed point; never goes back.
    fn monotonic_ns(&self) -> u64;
}

/// The machine's clocks.
#[derive(Debug)]
pub struct OsClock {
    start: Instant,
}

impl OsClock {
    /// A clock whose monotonic zero is now.
    #[expect(clippy::disallowed_methods, reason = "this is the one place that reads clocks")]
    pub fn new() -> Self {
        Self { start: Instant::now() }
    }
}

impl Default for OsClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for OsClock {
    #[expect(clippy::disallowed_methods, reason = "this is the one place that reads clocks")]
    fn wall_ns(&self) -> i64 {
        match SystemTime::now().duration_since(UNIX_EPOCH) {
            Ok(since) => i64::try_from(since.as_nanos()).unwrap_or(i64::MAX),
            Err(before) => i64::try_from(before.duration().as_nanos()).map_or(i64::MIN, |ns| -ns),
        }
    }

    fn monotonic_ns(&self) -> u64 {
        u64::try_from(self.start.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }
}

/// A clock that stands still until a test moves it; wall and monotonic time are one.
#[derive(Debug, Default)]
pub struct ManualClock {
    now_ns: AtomicI64,
}

impl ManualClock {
    /// A clock that shows `now_ns`.
    pub fn new(now_ns: i64) -> Self {
        Self { now_ns: AtomicI64::new(now_ns) }
    }

    /// Moves the clock.
    pub fn advance_ns(&self, by_ns: i64) {
        self.now_ns.fetch_add(by_ns, Ordering::SeqCst);
    }
}

impl Clock for ManualClock {
    fn wall_ns(&self) -> i64 {
        self.now_ns.load(Ordering::SeqCst)
    }

    fn monotonic_ns(&self) -> u64 {
        u64::try_from(self.wall_ns()).unwrap_or(0)
    }
}
