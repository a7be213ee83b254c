//! A lock that an actor waits for in its schedule, and not in the kernel.

use std::fmt;

use super::guard::Guard;
use super::schedule::LockId;
use crate::locks;

/// As `locks::Mutex`.
#[derive(Default)]
pub struct Mutex<T: ?Sized>(locks::Mutex<T>);

/// As `locks::MutexGuard`.
pub type MutexGuard<'a, T> = Guard<locks::MutexGuard<'a, T>>;

impl<T> Mutex<T> {
    /// An open lock.
    pub const fn new(value: T) -> Self {
        Self(locks::Mutex::new(value))
    }

    /// What is in it.
    pub fn into_inner(self) -> T {
        self.0.into_inner()
    }
}

impl<T: ?Sized> Mutex<T> {
    /// Waits for the lock.
    pub fn lock(&self) -> MutexGuard<'_, T> {
        Guard::wait_for(LockId::of(&self.0), || self.0.lock(), || self.0.try_lock())
    }

    /// The lock, if it is free.
    pub fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
        Guard::attempt(LockId::of(&self.0), || self.0.try_lock())
    }

    /// What is in it, to its only holder.
    pub fn get_mut(&mut self) -> &mut T {
        self.0.get_mut()
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for Mutex<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
