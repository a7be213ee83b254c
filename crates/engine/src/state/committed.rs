//! Who waits for the next commit.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use timestrata_format::SeqNo;
use timestrata_io::sync::{Condvar, Mutex};

/// A waiter looks by itself as often as that: nobody tells it of a commit in the instant in which it begins to wait.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Told of each commit. Costs those who commit one look where nobody waits.
#[derive(Debug, Default)]
pub(crate) struct Committed {
    waiting: AtomicU32,
    lock: Mutex<()>,
    changed: Condvar,
}

impl Committed {
    /// Wakes all who wait. To be called without the commit lock.
    #[inline]
    pub(crate) fn announce(&self) {
        if self.waiting.load(Ordering::Relaxed) > 0 {
            self.wake();
        }
    }

    /// The same, also where a waiter has only just begun to wait.
    #[cold]
    pub(crate) fn wake(&self) {
        drop(self.lock.lock());
        self.changed.notify_all();
    }

    /// Waits for some time, unless the store is closed meanwhile.
    pub(crate) fn pause(&self, time: Duration) {
        let mut locked = self.lock.lock();
        self.changed.wait_for(&mut locked, time);
    }

    /// Waits until the last commit is a later one, or time is up: whether it is. Once at most: who is woken is asked to look.
    pub(crate) fn wait_behind(
        &self,
        seen: SeqNo,
        timeout: Duration,
        last_seq: impl Fn() -> SeqNo,
    ) -> bool {
        if last_seq() > seen {
            return true;
        }
        self.waiting.fetch_add(1, Ordering::SeqCst);
        let mut locked = self.lock.lock();
        // The commit lock is taken with this one, and never the other way round.
        let is_new = last_seq() > seen;
        if !is_new {
            self.changed.wait_for(&mut locked, timeout.min(LOOK_EVERY));
        }
        drop(locked);
        self.waiting.fetch_sub(1, Ordering::SeqCst);
        is_new || last_seq() > seen
    }
}
