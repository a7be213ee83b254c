//! A lock for many readers or one writer that an actor waits for in its schedule.

use std::fmt;
use std::ops::{Deref, DerefMut};

use super::schedule::{self, LockId};

/// As `parking_lot::RwLock`.
#[derive(Default)]
pub struct RwLock<T: ?Sized>(parking_lot::RwLock<T>);

/// As `parking_lot::RwLockReadGuard`.
#[must_use]
pub struct RwLockReadGuard<'a, T: ?Sized> {
    place: LockId,
    guard: Option<parking_lot::RwLockReadGuard<'a, T>>,
}

/// As `parking_lot::RwLockWriteGuard`.
#[must_use]
pub struct RwLockWriteGuard<'a, T: ?Sized> {
    place: LockId,
    guard: Option<parking_lot::RwLockWriteGuard<'a, T>>,
}

impl<T> RwLock<T> {
    /// An open lock.
    pub const fn new(value: T) -> Self {
        Self(parking_lot::RwLock::new(value))
    }

    /// What is in it.
    pub fn into_inner(self) -> T {
        self.0.into_inner()
    }
}

impl<T: ?Sized> RwLock<T> {
    /// Waits until nobody writes.
    pub fn read(&self) -> RwLockReadGuard<'_, T> {
        let place = LockId::of(&self.0);
        if !schedule::is_scheduled() {
            return RwLockReadGuard { place, guard: Some(self.0.read()) };
        }
        schedule::pause();
        let guard = Some(schedule::acquire(place, || self.0.try_read()));
        RwLockReadGuard { place, guard }
    }

    /// Waits until nobody else reads or writes.
    pub fn write(&self) -> RwLockWriteGuard<'_, T> {
        let place = LockId::of(&self.0);
        if !schedule::is_scheduled() {
            return RwLockWriteGuard { place, guard: Some(self.0.write()) };
        }
        schedule::pause();
        let guard = Some(schedule::acquire(place, || self.0.try_write()));
        RwLockWriteGuard { place, guard }
    }

    /// The lock, if nobody writes.
    pub fn try_read(&self) -> Option<RwLockReadGuard<'_, T>> {
        schedule::pause();
        let guard = Some(self.0.try_read()?);
        Some(RwLockReadGuard { place: LockId::of(&self.0), guard })
    }

    /// The lock, if nobody else reads or writes.
    pub fn try_write(&self) -> Option<RwLockWriteGuard<'_, T>> {
        schedule::pause();
        let guard = Some(self.0.try_write()?);
        Some(RwLockWriteGuard { place: LockId::of(&self.0), guard })
    }

    /// What is in it, to its only holder.
    pub fn get_mut(&mut self) -> &mut T {
        self.0.get_mut()
    }
}

fn let_go(place: LockId) {
    if schedule::is_scheduled() {
        schedule::free(place);
        schedule::pause();
    }
}

impl<T: ?Sized> Drop for RwLockReadGuard<'_, T> {
    fn drop(&mut self) {
        self.guard = None;
        let_go(self.place);
    }
}

impl<T: ?Sized> Drop for RwLockWriteGuard<'_, T> {
    fn drop(&mut self) {
        self.guard = None;
        let_go(self.place);
    }
}

impl<T: ?Sized> Deref for RwLockReadGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        match &self.guard {
            Some(guard) => guard,
            None => unreachable!("a guard that lives holds its lock"),
        }
    }
}

impl<T: ?Sized> Deref for RwLockWriteGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        match &self.guard {
            Some(guard) => guard,
            None => unreachable!("a guard that lives holds its lock"),
        }
    }
}

impl<T: ?Sized> DerefMut for RwLockWriteGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        match &mut self.guard {
            Some(guard) => guard,
            None => unreachable!("a guard that lives holds its lock"),
        }
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for RwLock<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for RwLockReadGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for RwLockWriteGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}
