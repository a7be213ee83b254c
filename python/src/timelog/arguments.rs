//! Arguments of `Timelog`'s methods that take more than one form.

use std::convert::Infallible;
use std::ops::Bound as End;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyInt, PySlice};
use timestrata_models::timelog::Unit;

use crate::timestamp::bound;

/// An argument that may be left out, where `None` is a value like any other.
pub(super) struct Given<'py>(pub(super) Option<Bound<'py, PyAny>>);

impl Given<'_> {
    /// It was left out.
    pub(super) fn nothing() -> Self {
        Self(None)
    }
}

impl<'py> FromPyObject<'_, 'py> for Given<'py> {
    type Error = Infallible;

    fn extract(value: Borrowed<'_, 'py, PyAny>) -> Result<Self, Infallible> {
        Ok(Self(Some(value.to_owned())))
    }
}

/// A slice of time: half-open, an open end reaches the last entry.
pub(super) struct Slice {
    pub(super) range: (End<i64>, End<i64>),
}

impl Slice {
    /// Reads a slice.
    ///
    /// # Errors
    /// `ValueError` for a step other than 1, and as for timestamps.
    pub(super) fn read(slice: &Bound<'_, PySlice>, unit: Unit) -> PyResult<Self> {
        let step = slice.getattr("step")?;
        let is_one =
            step.is_instance_of::<PyInt>() && !step.is_instance_of::<PyBool>() && step.eq(1)?;
        if !step.is_none() && !is_one {
            return Err(PyValueError::new_err("a slice of time has no step: leave it out"));
        }
        let start = bound(&slice.getattr("start")?, unit)?;
        let stop = bound(&slice.getattr("stop")?, unit)?;
        let start = start.map_or(End::Unbounded, End::Included);
        Ok(Self { range: (start, stop.map_or(End::Unbounded, End::Excluded)) })
    }

    /// The range, or an empty one where it ends before it begins: reading nothing is no mistake.
    pub(super) fn or_empty(self) -> (End<i64>, End<i64>) {
        match self.range {
            (End::Included(start), End::Excluded(stop)) if start > stop => {
                (End::Included(start), End::Excluded(start))
            }
            range => range,
        }
    }
}

/// How many entries are wanted.
///
/// # Errors
/// `ValueError` for a negative number.
pub(super) fn count(n: isize) -> PyResult<usize> {
    usize::try_from(n).map_err(|_| PyValueError::new_err(format!("n must be >= 0, not {n}")))
}
