//! `DropInTimelog`: the native base of `timestrata.compat.timelog.Timelog`.
//!
//! What programs of that module tell apart from our own class, and what would be slower in Python: how
//! `append` and `bulk_append` are called, and that times are whole numbers. All else is inherited.

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use super::arguments::AnyObject;
use super::{Asked, State, Timelog, Times, closed};

/// Python objects by timestamp, as programs of the module `timelog` call them: see
/// `timestrata.compat.timelog`.
#[pyclass(frozen, subclass, extends = Timelog, name = "_DropInTimelog", module = "timestrata")]
pub(crate) struct DropInTimelog;

#[pymethods]
impl DropInTimelog {
    #[new]
    #[pyo3(signature = (*_arguments, **_keywords))]
    fn new(
        _arguments: &Bound<'_, PyTuple>,
        _keywords: Option<&Bound<'_, PyDict>>,
    ) -> PyClassInitializer<Self> {
        let log = Timelog { times: Times::WholeNumbers, ..Timelog::in_state(State::New) };
        PyClassInitializer::from(log).add_subclass(Self)
    }

    /// Append one object: ``append(ts, obj)``, ``append(obj, ts=ts)``, ``append(obj)`` at the
    /// wall clock's time.
    #[pyo3(
        signature = (obj_or_ts, obj_or_none=AnyObject::nothing(), *, ts=None),
        text_signature = "($self, obj_or_ts, obj_or_none=None, *, ts=None)"
    )]
    fn append(
        slf: &Bound<'_, Self>,
        obj_or_ts: &Bound<'_, PyAny>,
        obj_or_none: AnyObject<'_>,
        ts: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        slf.as_super().get().append(obj_or_ts, obj_or_none, ts, false)
    }

    /// Append many objects: ``extend(pairs)``, ``extend(timestamps, objects)``.
    #[pyo3(signature = (ts_or_iterable, objects=None, *, mostly_ordered=None, insert_on_error=None))]
    fn extend(
        slf: &Bound<'_, Self>,
        ts_or_iterable: &Bound<'_, PyAny>,
        objects: Option<&Bound<'_, PyAny>>,
        mostly_ordered: Option<&Bound<'_, PyAny>>,
        insert_on_error: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let log = slf.as_super().get();
        log.extend(ts_or_iterable, objects, mostly_ordered, insert_on_error, None, false)
    }

    /// Append many objects whose timestamps lie side by side in memory; all or none.
    #[pyo3(
        signature = (timestamps, objects=AnyObject::nothing(), *, mostly_ordered=None),
        text_signature = "($self, timestamps, objects, *, mostly_ordered=None)"
    )]
    fn bulk_append(
        slf: &Bound<'_, Self>,
        timestamps: &Bound<'_, PyAny>,
        objects: AnyObject<'_>,
        mostly_ordered: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let Some(objects) = objects.0 else {
            // In the words of the functions by which C reads arguments.
            let message = "bulk_append() missing required argument 'objects' (pos 2)";
            return Err(PyTypeError::new_err(message));
        };
        slf.as_super().get().bulk_append(timestamps, &objects, mostly_ordered)
    }

    fn __reversed__(&self) -> PyResult<()> {
        Err(PyTypeError::new_err(
            "Timelog does not support reversed(): walk back with prev_ts(ts), or iterate forward over a \
             slice and reverse the list of it; timestrata.Timelog does support it",
        ))
    }

    /// The timestamp below which writes are refused, or None.
    fn _min_ts_floor(slf: &Bound<'_, Self>) -> Option<i64> {
        slf.as_super().get().min_ts_floor()
    }

    /// Refuse writes below this timestamp from now on; None: none.
    #[pyo3(signature = (min_ts, /))]
    fn _set_min_ts_floor(slf: &Bound<'_, Self>, min_ts: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
        let log = slf.as_super().get();
        let floor = min_ts.map(|min_ts| log.time(min_ts)).transpose()?;
        match log.ask(|log| log.options.min_ts = floor)? {
            Asked::Answer(()) => Ok(()),
            Asked::Of(_) => Err(closed()),
        }
    }
}
