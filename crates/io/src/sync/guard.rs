//! Who holds a lock: that it lets go is told to the schedule.

use std::fmt;
use std::ops::{Deref, DerefMut};

use super::schedule::{self, LockId};

/// A cover of one of the system's guards.
#[must_use]
pub struct Guard<G> {
    place: LockId,
    /// `None` only while a condition is waited for, and at the very end.
    held: Option<G>,
}

impl<G> Guard<G> {
    /// Waits for a lock: an actor in its schedule, others by `wait`.
    pub(super) fn wait_for(
        place: LockId,
        wait: impl FnOnce() -> G,
        attempt: impl Fn() -> Option<G>,
    ) -> Self {
        if !schedule::is_scheduled() {
            return Self { place, held: Some(wait()) };
        }
        schedule::pause();
        Self { place, held: Some(schedule::acquire(place, attempt)) }
    }

    /// The lock, if it is free.
    pub(super) fn attempt(place: LockId, attempt: impl FnOnce() -> Option<G>) -> Option<Self> {
        schedule::pause();
        let held = Some(attempt()?);
        Some(Self { place, held })
    }

    /// Lets go of the lock, waits, and takes it again.
    pub(super) fn let_go_for<T>(
        &mut self,
        wait: impl FnOnce() -> T,
        attempt: impl Fn() -> Option<G>,
    ) -> T {
        self.held = None;
        schedule::free(self.place);
        let outcome = wait();
        self.held = Some(schedule::acquire(self.place, attempt));
        outcome
    }

    /// What is covered.
    pub(super) fn covered(&self) -> &G {
        match &self.held {
            Some(held) => held,
            None => unreachable!("a guard that lives holds its lock"),
        }
    }

    pub(super) fn covered_mut(&mut self) -> &mut G {
        match &mut self.held {
            Some(held) => held,
            None => unreachable!("a guard that lives holds its lock"),
        }
    }
}

impl<G: Deref> Deref for Guard<G> {
    type Target = G::Target;

    fn deref(&self) -> &G::Target {
        self.covered()
    }
}

impl<G: DerefMut> DerefMut for Guard<G> {
    fn deref_mut(&mut self) -> &mut G::Target {
        self.covered_mut()
    }
}

impl<G> Drop for Guard<G> {
    fn drop(&mut self) {
        self.held = None;
        if schedule::is_scheduled() {
            schedule::free(self.place);
            schedule::pause();
        }
    }
}

impl<G: Deref<Target: fmt::Debug>> fmt::Debug for Guard<G> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}
