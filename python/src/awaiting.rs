//! What the await forms stand on: calls in threads of their own, which can be given up.
//!
//! The threads, and what it means to cancel a task that waits for one, are `timestrata.awaiting`'s.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use crate::interrupt::until_given_up;

/// A call in a thread of its own, which another thread can give up. For the await forms.
///
/// What hears Ctrl-C hears this too: queries and reads of rows, and requests to a server.
#[pyclass(frozen, module = "timestrata", name = "_Asking")]
#[derive(Debug)]
pub(crate) struct Asking {
    call: Py<PyAny>,
    given_up: Arc<AtomicBool>,
}

#[pymethods]
impl Asking {
    #[new]
    fn new(call: Py<PyAny>) -> Self {
        Self { call, given_up: Arc::default() }
    }

    /// Make the call, and give what it gives.
    fn run(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        until_given_up(&self.given_up, || self.call.call0(py))
    }

    /// Have the call end within a moment, with `CancelledError`.
    fn give_up(&self) {
        self.given_up.store(true, Ordering::Release);
    }
}

/// The coroutine of `object.method(...)` where that writes.
pub(crate) fn write<'py, T>(
    object: &Bound<'py, T>,
    method: &str,
    given: &Bound<'py, PyTuple>,
    named: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyAny>> {
    begin(object.as_any(), "write", method, given, named)
}

/// The same where it gives rows, which are read too.
pub(crate) fn rows<'py, T>(
    object: &Bound<'py, T>,
    method: &str,
    given: &Bound<'py, PyTuple>,
    named: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyAny>> {
    begin(object.as_any(), "rows", method, given, named)
}

/// The coroutine that enters the block of `object`.
pub(crate) fn enter<'py, T>(object: &Bound<'py, T>) -> PyResult<Bound<'py, PyAny>> {
    object.py().import("timestrata.awaiting")?.call_method1("enter", (object.as_any(),))
}

/// The coroutine of the next one of what `object` follows; `way` says how it is waited for.
pub(crate) fn next<'py, T>(object: &Bound<'py, T>, way: &str) -> PyResult<Bound<'py, PyAny>> {
    object.py().import("timestrata.awaiting")?.call_method1(way, (object.as_any(),))
}

fn begin<'py>(
    object: &Bound<'py, PyAny>,
    way: &str,
    method: &str,
    given: &Bound<'py, PyTuple>,
    named: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = object.py();
    let mut all = vec![object.getattr(method)?];
    all.extend(given.iter());
    let awaiting = py.import("timestrata.awaiting")?;
    awaiting.call_method(way, PyTuple::new(py, all)?, named)
}
