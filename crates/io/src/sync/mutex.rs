//! A lock that an actor waits for in its schedule, and not in the kernel.

use std::fmt;
use std::ops::{Deref, DerefMut};

use super::schedule::{self, LockId};

/// As `parking_lot::Mutex`.
#[derive(Default)]
pub struct Mutex<T: ?Sized>(parking_lot::Mutex<T>);

/// As `parking_lot::MutexGuard`.
#[must_use]
pub struct MutexGuard<'a, T: ?Sized> {
    mutex: &'a Mutex<T>,
    /// `None` only while a condition is waited for, and at the very end.
    guard: Option<parking_lot::MutexGuard<'a, T>>,
}

impl<T> Mutex<T> {
    /// An open lock.
    pub const fn new(value: T) -> Self {
        Self(parking_lot::Mutex::new(value))
    }

    /// What is in it.
    pub fn into_inner(self) -> T {
        self.0.into_inner()
    }
}

impl<T: ?Sized> Mutex<T> {
    /// Waits for the lock.
    pub fn lock(&self) -> MutexGuard<'_, T> {
        MutexGuard { mutex: self, guard: Some(self.acquire()) }
    }

    /// The lock, if it is free.
    pub fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
        schedule::pause();
        self.0.try_lock().map(|guard| MutexGuard { mutex: self, guard: Some(guard) })
    }

    /// What is in it, to its only holder.
    pub fn get_mut(&mut self) -> &mut T {
        self.0.get_mut()
    }

    fn acquire(&self) -> parking_lot::MutexGuard<'_, T> {
        if !schedule::is_scheduled() {
            return self.0.lock();
        }
        schedule::pause();
        schedule::acquire(self.place(), || self.0.try_lock())
    }

    fn place(&self) -> LockId {
        LockId::of(&self.0)
    }
}

impl<'a, T: ?Sized> MutexGuard<'a, T> {
    /// Lets go of the lock, without a word to the schedule.
    pub(super) fn let_go(&mut self) {
        self.guard = None;
    }

    /// Tells who waits for the lock that it is free.
    pub(super) fn tell_free(&self) {
        schedule::free(self.mutex.place());
    }

    /// Takes the lock again.
    pub(super) fn take_again(&mut self) {
        let place = self.mutex.place();
        self.guard = Some(schedule::acquire(place, || self.mutex.0.try_lock()));
    }

    /// The lock itself, for threads that are no actors.
    pub(super) fn covered(&mut self) -> &mut parking_lot::MutexGuard<'a, T> {
        match &mut self.guard {
            Some(guard) => guard,
            None => unreachable!("a guard that lives holds its lock"),
        }
    }
}

impl<T: ?Sized> Deref for MutexGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        match &self.guard {
            Some(guard) => guard,
            None => unreachable!("a guard that lives holds its lock"),
        }
    }
}

impl<T: ?Sized> DerefMut for MutexGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        self.covered()
    }
}

impl<T: ?Sized> Drop for MutexGuard<'_, T> {
    fn drop(&mut self) {
        self.let_go();
        if schedule::is_scheduled() {
            self.tell_free();
            schedule::pause();
        }
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
