//! Locks of objects that several threads of a Python program share.
//!
//! Whoever waits for a lock while it holds the interpreter waits for ever if the lock's holder needs
//! the interpreter to get on. So nobody does: [`Lock::lock`] lets go of the interpreter before it
//! waits. And what takes time, or may run Python code, is done before a lock is taken or after it was
//! let go: [`Kept`] is for values that are made at their first use.
//!
//! No other part of this crate waits for a mutex.

use std::sync::{Mutex, MutexGuard, TryLockError};

use pyo3::prelude::*;

/// A value that one thread at a time uses.
#[derive(Debug, Default)]
pub(crate) struct Lock<T>(Mutex<T>);

impl<T: Send> Lock<T> {
    pub(crate) const fn new(value: T) -> Self {
        Self(Mutex::new(value))
    }

    /// The value, once nobody else uses it, also where one of them has panicked: it is whole between
    /// any two steps. For threads that are attached to the interpreter as for those that aren't.
    #[inline]
    pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
        loop {
            match self.try_lock() {
                Some(guard) => return guard,
                None => self.wait(),
            }
        }
    }

    /// The value if nobody uses it.
    #[inline]
    pub(crate) fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
        match self.0.try_lock() {
            Ok(guard) => Some(guard),
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    #[cold]
    fn wait(&self) {
        // Where the interpreter is going down, there is nothing to let go of.
        let waited = Python::try_attach(|py| py.detach(|| drop(self.0.lock())));
        if waited.is_none() {
            drop(self.0.lock());
        }
    }
}

/// A value that is made at its first use, and may be made anew. It is never made under the lock: two
/// threads that need the first one each make theirs, and one of the two is kept.
#[derive(Debug, Default)]
pub(crate) struct Kept<T>(Lock<Option<T>>);

impl<T: Clone + Send> Kept<T> {
    pub(crate) const fn new(value: Option<T>) -> Self {
        Self(Lock::new(value))
    }

    /// What is kept.
    pub(crate) fn get(&self) -> Option<T> {
        self.0.lock().clone()
    }

    /// Keeps another value, or none. Gives the one before, which goes where the caller drops it.
    pub(crate) fn replace(&self, value: Option<T>) -> Option<T> {
        std::mem::replace(&mut *self.0.lock(), value)
    }

    /// What is kept; `value` from now on if that is nothing. Of two it is always the first.
    pub(crate) fn get_or_keep(&self, value: T) -> T {
        self.0.lock().get_or_insert(value).clone()
    }
}
