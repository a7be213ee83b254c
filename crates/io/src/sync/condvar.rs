//! A condition that an actor waits for in its schedule, by its simulated clock.

use std::time::Duration;

use super::MutexGuard;
use super::schedule::{self, LockId, Woken};
use crate::locks::{self, WaitTimeoutResult};

/// As `locks::Condvar`.
#[derive(Debug, Default)]
pub struct Condvar(locks::Condvar);

impl Condvar {
    /// Nobody waits.
    pub const fn new() -> Self {
        Self(locks::Condvar::new())
    }

    /// Wakes one who waits.
    pub fn notify_one(&self) {
        if !schedule::notify(self.place(), 1) {
            self.0.notify_one();
        }
    }

    /// Wakes all who wait.
    pub fn notify_all(&self) {
        schedule::notify(self.place(), usize::MAX);
        self.0.notify_all();
    }

    /// Lets go of the lock until it is notified.
    pub fn wait<T>(&self, guard: &mut MutexGuard<'_, T>) {
        if schedule::is_scheduled() {
            self.wait_scheduled(guard, None);
        } else {
            self.0.wait(guard.covered_mut());
        }
    }

    /// The same, for a time at most.
    pub fn wait_for<T>(
        &self,
        guard: &mut MutexGuard<'_, T>,
        timeout: Duration,
    ) -> WaitTimeoutResult {
        if schedule::is_scheduled() {
            WaitTimeoutResult(self.wait_scheduled(guard, Some(timeout)) == Woken::ByTime)
        } else {
            self.0.wait_for(guard.covered_mut(), timeout)
        }
    }

    /// The same, while the condition holds.
    pub fn wait_while_for<T>(
        &self,
        guard: &mut MutexGuard<'_, T>,
        mut condition: impl FnMut(&mut T) -> bool,
        timeout: Duration,
    ) -> WaitTimeoutResult {
        if !schedule::is_scheduled() {
            return self.0.wait_while_for(guard.covered_mut(), condition, timeout);
        }
        let end = schedule::now_ns().saturating_add(schedule::as_ns(timeout));
        while condition(&mut *guard) {
            let left = end.saturating_sub(schedule::now_ns());
            if left <= 0 {
                return WaitTimeoutResult(true);
            }
            self.wait_scheduled(guard, Some(Duration::from_nanos(left.unsigned_abs())));
        }
        WaitTimeoutResult(false)
    }

    /// One actor runs at a time, so nothing comes between letting go and waiting.
    fn wait_scheduled<T>(&self, guard: &mut MutexGuard<'_, T>, timeout: Option<Duration>) -> Woken {
        let mutex = locks::MutexGuard::mutex(guard.covered());
        guard.let_go_for(|| schedule::wait(self.place(), timeout), || mutex.try_lock())
    }

    fn place(&self) -> LockId {
        LockId::of(&self.0)
    }
}
