//! Whole numbers that callers give, and arguments that may be left out beside None.

use std::fmt::Display;

use pyo3::exceptions::PyOverflowError;
use pyo3::prelude::*;
use pyo3::types::PyEllipsis;

use crate::error::invalid;

/// The least and the greatest number of a kind.
pub(super) trait Whole: for<'a, 'py> FromPyObject<'a, 'py, Error = PyErr> {
    const MAX: u64;
}

impl Whole for u32 {
    const MAX: u64 = u32::MAX as u64;
}

impl Whole for u64 {
    const MAX: u64 = u64::MAX;
}

impl Whole for usize {
    const MAX: u64 = usize::MAX as u64;
}

fn out_of_range<T: Whole>(given: &impl Display) -> PyErr {
    invalid(format!("{given}: it must be a whole number from 0 to {}", T::MAX))
}

/// A number of an argument. One that can't be is an argument that is wrong, as all others are, and no overflow.
pub(super) fn number<T: Whole>(given: &Bound<'_, PyAny>) -> PyResult<T> {
    given.extract().map_err(|error: PyErr| {
        match error.is_instance_of::<PyOverflowError>(given.py()) {
            true => out_of_range::<T>(given),
            false => error,
        }
    })
}

/// The same of an argument that may be None.
pub(super) fn maybe_number<T: Whole>(given: &Bound<'_, PyAny>) -> PyResult<Option<T>> {
    if given.is_none() { Ok(None) } else { number(given).map(Some) }
}

/// What an argument says, if it was given: None may mean something of its own.
#[derive(Debug, Clone, Copy)]
pub(super) enum Said<T> {
    No,
    Yes(T),
}

impl<T> Said<T> {
    pub(super) fn or(self, before: T) -> T {
        match self {
            Self::No => before,
            Self::Yes(said) => said,
        }
    }

    pub(super) fn map<U>(self, work: impl FnOnce(T) -> PyResult<U>) -> PyResult<Said<U>> {
        Ok(match self {
            Self::No => Said::No,
            Self::Yes(said) => Said::Yes(work(said)?),
        })
    }
}

impl<'a, 'py, T: FromPyObject<'a, 'py>> FromPyObject<'a, 'py> for Said<T> {
    type Error = PyErr;

    fn extract(given: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        if given.is_instance_of::<PyEllipsis>() {
            return Ok(Self::No);
        }
        let said = given.extract::<T>().map_err(Into::into);
        said.map(Self::Yes).map_err(|error: PyErr| {
            match error.is_instance_of::<PyOverflowError>(given.py()) {
                true => out_of_range::<u64>(&given.to_owned()),
                false => error,
            }
        })
    }
}
