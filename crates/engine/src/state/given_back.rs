//! When memory that flushes and compactions took is given back: the allocator keeps it, and each thread has a share of its own.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// It is given back no more often: who reads next meets the pages of memory anew.
const INTERVAL: Duration = Duration::from_secs(60);
/// Nor before so much was flushed and compacted.
const WRITTEN_BYTES_MIN: u64 = 16 << 20;

/// When memory was given back.
#[derive(Debug, Default)]
pub(crate) struct GivenBack {
    at_ns: AtomicU64,
    /// What had been flushed and compacted by then.
    written_bytes: AtomicU64,
}

impl GivenBack {
    /// Whether it is time again; if so, notes that it is done. For one thread.
    pub(crate) fn is_due(&self, now_ns: u64, written_bytes: u64) -> bool {
        let interval = u64::try_from(INTERVAL.as_nanos()).unwrap_or(u64::MAX);
        let is_due = now_ns.saturating_sub(self.at_ns.load(Ordering::Relaxed)) >= interval
            && written_bytes.saturating_sub(self.written_bytes.load(Ordering::Relaxed))
                >= WRITTEN_BYTES_MIN;
        if is_due {
            self.at_ns.store(now_ns, Ordering::Relaxed);
            self.written_bytes.store(written_bytes, Ordering::Relaxed);
        }
        is_due
    }
}

#[cfg(test)]
mod tests;
