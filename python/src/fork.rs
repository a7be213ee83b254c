//! What may not be touched after `fork`: a child must neither use nor drop the parent's store.
//!
//! A child process inherits the parent's store without its threads: using it would write the
//! parent's files twice, dropping it would wait for threads that aren't there. So whatever
//! belongs to an open store is kept in a [`Guarded`], which knows the process it was made in.
//! Python tells of every fork through `os.register_at_fork`, which costs a call nothing.

use std::sync::atomic::{AtomicU64, Ordering};

use pyo3::prelude::*;

use crate::error::forked;

static GENERATION: AtomicU64 = AtomicU64::new(0);

/// Called in a child right after a fork.
#[pyfunction]
#[pyo3(name = "_after_fork_in_child")]
pub(crate) fn after_fork_in_child() {
    GENERATION.fetch_add(1, Ordering::Relaxed);
}

/// Has Python call [`after_fork_in_child`]; nothing to do where there is no fork.
pub(crate) fn watch(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let hook = wrap_pyfunction!(after_fork_in_child, module)?;
    let os = module.py().import("os")?;
    if os.hasattr("register_at_fork")? {
        let arguments = pyo3::types::PyDict::new(module.py());
        arguments.set_item("after_in_child", hook)?;
        os.call_method("register_at_fork", (), Some(&arguments))?;
    }
    Ok(())
}

/// A value that only the process that made it may use or drop.
#[derive(Debug)]
pub(crate) struct Guarded<T> {
    value: Option<T>,
    generation: u64,
}

impl<T> Guarded<T> {
    /// Of this process.
    pub(crate) fn new(value: T) -> Self {
        Self { value: Some(value), generation: GENERATION.load(Ordering::Relaxed) }
    }

    /// Whether this process made it.
    pub(crate) fn is_own(&self) -> bool {
        self.generation == GENERATION.load(Ordering::Relaxed)
    }

    /// The value.
    ///
    /// # Errors
    /// `ForkedError` in a child of the process that made it.
    pub(crate) fn get(&self) -> PyResult<&T> {
        match &self.value {
            Some(value) if self.is_own() => Ok(value),
            _ => Err(forked()),
        }
    }

    /// The value, to be changed; as [`Guarded::get`].
    pub(crate) fn get_mut(&mut self) -> PyResult<&mut T> {
        let is_own = self.is_own();
        match &mut self.value {
            Some(value) if is_own => Ok(value),
            _ => Err(forked()),
        }
    }

    /// The value, to be used up; `None` in a child of the process that made it.
    pub(crate) fn take_own(&mut self) -> Option<T> {
        if self.is_own() { self.value.take() } else { None }
    }
}

impl<T> Drop for Guarded<T> {
    fn drop(&mut self) {
        if !self.is_own() {
            std::mem::forget(self.value.take());
        }
    }
}
