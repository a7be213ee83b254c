//! A lock for many readers or one writer that an actor waits for in its schedule.

use std::fmt;

use super::guard::Guard;
use super::schedule::LockId;
use crate::locks;

/// As `locks::RwLock`.
#[derive(Default)]
pub struct RwLock<T: ?Sized>(locks::RwLock<T>);

/// As `locks::RwLockReadGuard`.
pub type RwLockReadGuard<'a, T> = Guard<locks::RwLockReadGuard<'a, T>>;

/// As `locks::RwLockWriteGuard`.
pub type RwLockWriteGuard<'a, T> = Guard<locks::RwLockWriteGuard<'a, T>>;

impl<T> RwLock<T> {
    /// An open lock.
    pub const fn new(value: T) -> Self {
        Self(locks::RwLock::new(value))
    }

    /// What is in it.
    pub fn into_inner(self) -> T {
        self.0.into_inner()
    }
}

impl<T: ?Sized> RwLock<T> {
    /// Waits until nobody writes.
    pub fn read(&self) -> RwLockReadGuard<'_, T> {
        Guard::wait_for(LockId::of(&self.0), || self.0.read(), || self.0.try_read())
    }

    /// Waits until nobody else reads or writes.
    pub fn write(&self) -> RwLockWriteGuard<'_, T> {
        Guard::wait_for(LockId::of(&self.0), || self.0.write(), || self.0.try_write())
    }

    /// The lock, if nobody writes.
    pub fn try_read(&self) -> Option<RwLockReadGuard<'_, T>> {
        Guard::attempt(LockId::of(&self.0), || self.0.try_read())
    }

    /// The lock, if nobody else reads or writes.
    pub fn try_write(&self) -> Option<RwLockWriteGuard<'_, T>> {
        Guard::attempt(LockId::of(&self.0), || self.0.try_write())
    }

    /// What is in it, to its only holder.
    pub fn get_mut(&mut self) -> &mut T {
        self.0.get_mut()
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for RwLock<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
