//! The system's locks, as `std` has them: a panic of who holds one doesn't close it to others, and a
//! wait gives the lock back in the guard that it was called with.
//!
//! What matters here is what they don't have: a table of waiting threads beside them. A child of a
//! `fork` inherits such a table with threads that it doesn't have, in memory that its own threads are
//! given next, and runs in circles as soon as it looks for one to wake. These locks are a word each,
//! and those of stores that the child opens are its own.

use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::{PoisonError, TryLockError};
use std::time::Duration;

pub use std::sync::{RwLockReadGuard, RwLockWriteGuard};

/// A lock for one.
#[derive(Default)]
pub struct Mutex<T: ?Sized>(std::sync::Mutex<T>);

/// Who holds a [`Mutex`].
#[must_use]
pub struct MutexGuard<'a, T: ?Sized> {
    mutex: &'a Mutex<T>,
    /// `None` only while a condition is waited for.
    held: Option<std::sync::MutexGuard<'a, T>>,
}

/// A lock for many readers or one writer.
#[derive(Default)]
pub struct RwLock<T: ?Sized>(std::sync::RwLock<T>);

/// What threads with a [`Mutex`] wait for.
#[derive(Debug, Default)]
pub struct Condvar(std::sync::Condvar);

/// How a wait with an end came to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WaitTimeoutResult(pub(super) bool);

impl WaitTimeoutResult {
    /// Whether the time had passed.
    #[must_use]
    pub fn timed_out(&self) -> bool {
        self.0
    }
}

impl<T> Mutex<T> {
    /// An open lock.
    pub const fn new(value: T) -> Self {
        Self(std::sync::Mutex::new(value))
    }

    /// What is in it.
    pub fn into_inner(self) -> T {
        self.0.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T: ?Sized> Mutex<T> {
    /// Waits for the lock.
    #[inline]
    pub fn lock(&self) -> MutexGuard<'_, T> {
        let held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        MutexGuard { mutex: self, held: Some(held) }
    }

    /// The lock, if it is free.
    #[inline]
    pub fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
        let held = unless_taken(self.0.try_lock())?;
        Some(MutexGuard { mutex: self, held: Some(held) })
    }

    /// What is in it, to its only holder.
    pub fn get_mut(&mut self) -> &mut T {
        self.0.get_mut().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<'a, T: ?Sized> MutexGuard<'a, T> {
    /// Which lock it holds.
    pub fn mutex(guard: &Self) -> &'a Mutex<T> {
        guard.mutex
    }

    fn give(&mut self) -> std::sync::MutexGuard<'a, T> {
        match self.held.take() {
            Some(held) => held,
            None => unreachable!("a guard that lives holds its lock"),
        }
    }
}

impl<T: ?Sized> Deref for MutexGuard<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        match &self.held {
            Some(held) => held,
            None => unreachable!("a guard that lives holds its lock"),
        }
    }
}

impl<T: ?Sized> DerefMut for MutexGuard<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        match &mut self.held {
            Some(held) => held,
            None => unreachable!("a guard that lives holds its lock"),
        }
    }
}

impl<T> RwLock<T> {
    /// An open lock.
    pub const fn new(value: T) -> Self {
        Self(std::sync::RwLock::new(value))
    }

    /// What is in it.
    pub fn into_inner(self) -> T {
        self.0.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T: ?Sized> RwLock<T> {
    /// Waits until nobody writes.
    #[inline]
    pub fn read(&self) -> RwLockReadGuard<'_, T> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until nobody else reads or writes.
    #[inline]
    pub fn write(&self) -> RwLockWriteGuard<'_, T> {
        self.0.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// The lock, if nobody writes.
    #[inline]
    pub fn try_read(&self) -> Option<RwLockReadGuard<'_, T>> {
        unless_taken(self.0.try_read())
    }

    /// The lock, if nobody else reads or writes.
    #[inline]
    pub fn try_write(&self) -> Option<RwLockWriteGuard<'_, T>> {
        unless_taken(self.0.try_write())
    }

    /// What is in it, to its only holder.
    pub fn get_mut(&mut self) -> &mut T {
        self.0.get_mut().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Condvar {
    /// Nobody waits.
    pub const fn new() -> Self {
        Self(std::sync::Condvar::new())
    }

    /// Wakes one who waits.
    pub fn notify_one(&self) {
        self.0.notify_one();
    }

    /// Wakes all who wait.
    pub fn notify_all(&self) {
        self.0.notify_all();
    }

    /// Lets go of the lock until it is notified, or for no reason at all.
    pub fn wait<T>(&self, guard: &mut MutexGuard<'_, T>) {
        let held = self.0.wait(guard.give()).unwrap_or_else(PoisonError::into_inner);
        guard.held = Some(held);
    }

    /// The same, for a time at most.
    pub fn wait_for<T>(
        &self,
        guard: &mut MutexGuard<'_, T>,
        timeout: Duration,
    ) -> WaitTimeoutResult {
        let waited = self.0.wait_timeout(guard.give(), timeout);
        let (held, result) = waited.unwrap_or_else(PoisonError::into_inner);
        guard.held = Some(held);
        WaitTimeoutResult(result.timed_out())
    }

    /// The same, while the condition holds.
    pub fn wait_while_for<T>(
        &self,
        guard: &mut MutexGuard<'_, T>,
        condition: impl FnMut(&mut T) -> bool,
        timeout: Duration,
    ) -> WaitTimeoutResult {
        let waited = self.0.wait_timeout_while(guard.give(), timeout, condition);
        let (held, result) = waited.unwrap_or_else(PoisonError::into_inner);
        guard.held = Some(held);
        WaitTimeoutResult(result.timed_out())
    }
}

/// A guard, unless somebody else has the lock.
fn unless_taken<G>(attempt: Result<G, TryLockError<G>>) -> Option<G> {
    match attempt {
        Ok(guard) => Some(guard),
        Err(TryLockError::Poisoned(held)) => Some(held.into_inner()),
        Err(TryLockError::WouldBlock) => None,
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for Mutex<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for MutexGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for RwLock<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
