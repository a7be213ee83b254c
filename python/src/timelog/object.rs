//! A Python object that Rust code may copy: one more reference to it.

use std::ops::Range;

use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;

/// So many rows ahead objects are prefetched: as far as the next row or two would come too late.
pub(crate) const AHEAD: usize = 12;

/// A reference to an object of a program's own.
#[derive(Debug)]
pub(crate) struct Object(Py<PyAny>);

impl Object {
    /// One more reference.
    #[inline]
    pub(crate) fn of(object: &Bound<'_, PyAny>) -> Self {
        Self(object.clone().unbind())
    }

    /// The object, this reference given up.
    #[inline]
    pub(crate) fn into_bound(self, py: Python<'_>) -> Bound<'_, PyAny> {
        self.0.into_bound(py)
    }

    /// The object.
    #[inline]
    pub(crate) fn bind<'py>(&self, py: Python<'py>) -> &Bound<'py, PyAny> {
        self.0.bind(py)
    }

    /// Brings it nearer, where the processor can: it will be counted soon, and reading cold
    /// objects is waiting for little else.
    #[inline]
    pub(crate) fn prefetch(&self) {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: a hint, which changes nothing that a program can see, whatever the address.
        unsafe {
            use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
            _mm_prefetch::<_MM_HINT_T0>(self.0.as_ptr().cast());
        }
    }

    /// Shows it to Python's collector.
    pub(crate) fn visit(&self, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.0)
    }
}

/// Some of a leaf's objects, each with one of those to come prefetched.
pub(crate) fn each_ahead(
    objects: &[Object],
    rows: Range<usize>,
) -> impl ExactSizeIterator<Item = &Object> {
    let rows = rows.start.min(objects.len())..rows.end.min(objects.len());
    let first = rows.start;
    objects.get(rows).unwrap_or_default().iter().enumerate().map(move |(place, object)| {
        objects.get(first + place + AHEAD).inspect(|object| object.prefetch());
        object
    })
}

impl Clone for Object {
    #[inline]
    fn clone(&self) -> Self {
        // SAFETY: logs of objects are only read inside of calls from Python, which never let
        // go of the interpreter meanwhile, so this thread is attached to it.
        let py = unsafe { Python::assume_attached() };
        Self(self.0.clone_ref(py))
    }
}
