//! Whether a commit can still be added to.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use pyo3::prelude::*;
use timestrata_engine::ErrorKind;

use crate::error::refused;
use crate::lock::Lock;

/// What is answered to who comes too late.
pub(crate) fn is_over() -> PyErr {
    refused(
        ErrorKind::Closed,
        "a commit takes changes within its block: with store.commit() as commit: ...",
    )
}

/// What a model is to change: nothing can be added once it was taken into the commit, whichever thread is quicker.
#[derive(Debug)]
pub(crate) struct Staged<T>(Lock<Option<T>>);

impl<T: Default + Send> Default for Staged<T> {
    fn default() -> Self {
        Self(Lock::new(Some(T::default())))
    }
}

impl<T: Send> Staged<T> {
    /// Adds to it.
    ///
    /// # Errors
    /// `ClosedError` once it was taken.
    pub(crate) fn add<R>(&self, add: impl FnOnce(&mut T) -> R) -> PyResult<R> {
        self.0.lock().as_mut().map(add).ok_or_else(is_over)
    }

    /// All of it, once.
    pub(crate) fn take(&self) -> Option<T> {
        self.0.lock().take()
    }
}

/// Shared by a commit and what its models are to change.
#[derive(Debug, Clone, Default)]
pub(crate) struct Staging(Arc<AtomicBool>);

impl Staging {
    /// An error once the commit has ended, or before its block has begun.
    pub(crate) fn check(&self) -> PyResult<()> {
        match self.0.load(Ordering::Acquire) {
            true => Ok(()),
            false => Err(is_over()),
        }
    }

    pub(crate) fn begin(&self) {
        self.0.store(true, Ordering::Release);
    }

    /// Whether it was open until now.
    pub(crate) fn end(&self) -> bool {
        self.0.swap(false, Ordering::AcqRel)
    }
}
