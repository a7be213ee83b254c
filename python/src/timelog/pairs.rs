//! Rows of a log of objects as Python has them: pairs of a time and an object.

use pyo3::ffi;
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};
use timestrata_timelog::memory::Part;

use super::object::{AHEAD, Object, each_ahead};

/// So many pairs on end that were kept by the program tell that it keeps them all.
const KEPT_MAX: u8 = 3;

/// From this version on a tuple keeps its hash, which can't be taken from it through the stable
/// interface: filled anew, it would be found in a set by what it held before.
const KEEPS_HASHES: (u8, u8) = (3, 14);

/// The two pairs given last. As `zip` does, one that nobody else holds any more is given again,
/// filled anew. Two, because a program may let go of a row only once it has the next.
pub(super) struct Pairs {
    last: Option<Py<PyTuple>>,
    before: Option<Py<PyTuple>>,
    /// How many on end could not be given again.
    kept: u8,
}

impl Pairs {
    /// Of this interpreter.
    pub(super) fn new(py: Python<'_>) -> Self {
        let kept = if py.version_info() >= KEEPS_HASHES { KEPT_MAX } else { 0 };
        Self { last: None, before: None, kept }
    }

    /// A row as a pair.
    #[inline]
    pub(super) fn give<'py>(
        &mut self,
        py: Python<'py>,
        time: i64,
        object: &Object,
    ) -> PyResult<Bound<'py, PyTuple>> {
        if self.kept >= KEPT_MAX {
            return pair_of(py, time, object);
        }
        if !is_free(&self.last) {
            std::mem::swap(&mut self.last, &mut self.before);
        }
        if let Some(pair) = &self.last
            && is_free(&self.last)
        {
            let pair = pair.bind(py);
            refill(pair, time, object)?;
            self.kept = 0;
            return Ok(pair.clone());
        }
        let pair = pair_of(py, time, object)?;
        self.kept += 1;
        let is_pointless = self.kept >= KEPT_MAX;
        self.last = (!is_pointless).then(|| pair.clone().unbind());
        if is_pointless {
            self.before = None;
        }
        Ok(pair)
    }

    /// Shows them to Python's collector.
    pub(super) fn visit(&self, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
        self.last.iter().chain(&self.before).try_for_each(|pair| visit.call(pair))
    }
}

/// Whether nobody else holds a pair.
#[inline]
fn is_free(pair: &Option<Py<PyTuple>>) -> bool {
    // SAFETY: a reference to a live object; its count is only read, by a thread that is
    // attached, as all that read a log of objects are.
    pair.as_ref().is_some_and(|pair| unsafe { ffi::Py_REFCNT(pair.as_ptr()) } == 1)
}

/// Fills a pair anew whose only holder is the caller.
#[inline]
fn refill(pair: &Bound<'_, PyTuple>, time: i64, object: &Object) -> PyResult<()> {
    let py = pair.py();
    // SAFETY: this thread is attached; what is set is checked for null and given away, once.
    // A tuple may be set while there is one reference to it, which is the caller's. One that
    // the collector has stopped tracking, because it held nothing of interest, is tracked
    // again: what it holds now may be.
    unsafe {
        let time = ffi::PyLong_FromLongLong(time);
        if time.is_null() {
            return Err(PyErr::fetch(py));
        }
        let object = object.bind(py).clone().into_ptr();
        if ffi::PyTuple_SetItem(pair.as_ptr(), 0, time) != 0
            || ffi::PyTuple_SetItem(pair.as_ptr(), 1, object) != 0
        {
            return Err(PyErr::fetch(py));
        }
        if ffi::PyObject_GC_IsTracked(pair.as_ptr()) == 0 {
            ffi::PyObject_GC_Track(pair.as_ptr().cast());
        }
    }
    Ok(())
}

/// A new pair.
#[inline]
fn pair_of<'py>(py: Python<'py>, time: i64, object: &Object) -> PyResult<Bound<'py, PyTuple>> {
    // SAFETY: this thread is attached; what is made is checked for null. The tuple takes
    // references of its own.
    unsafe {
        let time = Bound::from_owned_ptr_or_err(py, ffi::PyLong_FromLongLong(time))?;
        let pair = ffi::PyTuple_Pack(2, time.as_ptr(), object.bind(py).as_ptr());
        Ok(Bound::from_owned_ptr_or_err(py, pair)?.cast_into_unchecked())
    }
}

/// The rows of some parts as a list of pairs, each part from its end if they are reversed.
pub(super) fn list_of<'py>(
    py: Python<'py>,
    parts: &[Part<Object>],
    is_reversed: bool,
) -> PyResult<Bound<'py, PyList>> {
    let rows: usize = parts.iter().map(|part| part.times().len()).sum();
    // SAFETY: this thread is attached; the new list is checked for null.
    let list = unsafe { Bound::from_owned_ptr_or_err(py, ffi::PyList_New(rows as isize))? };
    let mut place = 0;
    let mut put = |(time, object): (&i64, &Object)| -> PyResult<()> {
        let pair = pair_of(py, *time, object)?.into_ptr();
        // SAFETY: the list is one; it checks the place, and takes the reference in any case.
        if unsafe { ffi::PyList_SetItem(list.as_ptr(), place, pair) } != 0 {
            return Err(PyErr::fetch(py));
        }
        place += 1;
        Ok(())
    };
    for part in parts {
        let values = part.values();
        values.iter().take(AHEAD).for_each(Object::prefetch);
        match is_reversed {
            false => part
                .times()
                .iter()
                .zip(each_ahead(values, 0..values.len()))
                .try_for_each(&mut put)?,
            true => part.times().iter().zip(values).rev().try_for_each(&mut put)?,
        }
    }
    Ok(list.cast_into::<PyList>()?)
}
