//! Arguments of `Timelog`'s methods that take more than one form.

use std::convert::Infallible;
use std::fmt;
use std::ops::Bound as End;

use pyo3::exceptions::{PyOverflowError, PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDateTime, PyInt, PySlice};
use timestrata_timelog::Unit;

use crate::error::{type_name, wrong_type};
use crate::timestamp::{out_of_range, timestamp};

/// An argument that may be left out, where `None` is a value like any other.
pub(super) struct AnyObject<'py>(pub(super) Option<Bound<'py, PyAny>>);

impl AnyObject<'_> {
    /// It was left out.
    pub(super) fn nothing() -> Self {
        Self(None)
    }
}

impl<'py> FromPyObject<'_, 'py> for AnyObject<'py> {
    type Error = Infallible;

    fn extract(value: Borrowed<'_, 'py, PyAny>) -> Result<Self, Infallible> {
        Ok(Self(Some(value.to_owned())))
    }
}

/// A range of time. Half-open; an open end reaches the last entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TimeRange(pub(super) End<i64>, pub(super) End<i64>);

impl TimeRange {
    /// All time.
    pub(super) const ALL: Self = Self(End::Unbounded, End::Unbounded);

    /// From `start` to before `stop`.
    pub(super) fn between(start: i64, stop: i64) -> Self {
        Self(End::Included(start), End::Excluded(stop))
    }

    /// One time.
    pub(super) fn at(time: i64) -> Self {
        Self(End::Included(time), End::Included(time))
    }

    /// Of optional ends.
    pub(super) fn of(start: Option<i64>, stop: Option<i64>) -> Self {
        Self(
            start.map_or(End::Unbounded, End::Included),
            stop.map_or(End::Unbounded, End::Excluded),
        )
    }

    /// Reads a slice, whose ends are read by `time`.
    ///
    /// # Errors
    /// `ValueError` for a step other than 1, and as for timestamps.
    pub(super) fn of_slice(
        slice: &Bound<'_, PySlice>,
        time: impl Fn(&Bound<'_, PyAny>) -> PyResult<i64>,
    ) -> PyResult<Self> {
        let py = slice.py();
        let step = slice.getattr(intern!(py, "step"))?;
        let is_one = || -> PyResult<bool> {
            let is_int = step.is_instance_of::<PyInt>() && !step.is_instance_of::<PyBool>();
            Ok(is_int && step.eq(1)?)
        };
        if !step.is_none() && !is_one()? {
            return Err(PyValueError::new_err("a slice of time has no step: leave it out"));
        }
        let end = |name| -> PyResult<Option<i64>> {
            let end = slice.getattr(name)?;
            if end.is_none() { Ok(None) } else { time(&end).map(Some) }
        };
        Ok(Self::of(end(intern!(py, "start"))?, end(intern!(py, "stop"))?))
    }

    /// Whether it ends before it begins.
    pub(super) fn is_reversed(self) -> bool {
        matches!(self, Self(End::Included(start), End::Excluded(stop)) if start > stop)
    }

    /// The range.
    ///
    /// # Errors
    /// `ValueError` if it ends before it begins.
    pub(super) fn not_reversed(self) -> PyResult<Self> {
        if self.is_reversed() {
            let message = "t1 must be <= t2: the range ends before it begins";
            return Err(PyValueError::new_err(message));
        }
        Ok(self)
    }

    /// The range, or an empty one where it ends before it begins: reading nothing is no mistake.
    pub(super) fn or_empty(self) -> Self {
        match self {
            Self(End::Included(start), _) if self.is_reversed() => Self::between(start, start),
            range => range,
        }
    }

    /// As `std` takes it.
    pub(super) fn bounds(self) -> (End<i64>, End<i64>) {
        (self.0, self.1)
    }
}

impl fmt::Display for TimeRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            End::Included(start) => write!(f, "[{start}..")?,
            _ => write!(f, "[..")?,
        }
        match self.1 {
            End::Excluded(stop) => write!(f, "{stop})"),
            End::Included(last) => write!(f, "{last}]"),
            End::Unbounded => write!(f, ")"),
        }
    }
}

/// A time of a method that takes any integer, as the raw methods do: a bool is one.
pub(super) fn raw_time(value: &Bound<'_, PyAny>, unit: Unit) -> PyResult<i64> {
    if value.is_instance_of::<PyDateTime>() {
        return timestamp(value, unit);
    }
    value.extract().map_err(|error: PyErr| {
        let py = value.py();
        if error.is_instance_of::<PyOverflowError>(py) {
            out_of_range(value)
        } else if error.is_instance_of::<PyTypeError>(py) {
            wrong_type("timestamp must be int", value)
        } else {
            error
        }
    })
}

/// How many entries are wanted.
///
/// # Errors
/// `ValueError` for a negative number.
pub(super) fn count(n: isize) -> PyResult<usize> {
    usize::try_from(n).map_err(|_| PyValueError::new_err(format!("n must be >= 0, not {n}")))
}

/// Refuses a datetime of any library, with what to write instead.
///
/// # Errors
/// `TypeError`.
pub(super) fn whole_number(value: &Bound<'_, PyAny>) -> PyResult<()> {
    if value.is_instance_of::<PyDateTime>() || type_name(value) == "datetime64" {
        return Err(PyTypeError::new_err(
            "timestamps are integers in the log's time_unit: of a datetime give int(dt.timestamp() * 1000), \
             where the unit is 'ms'; timestrata.Timelog takes datetimes as they are",
        ));
    }
    Ok(())
}
