//! The objects of a page: as a sequence, and one after the other.
//!
//! An iterator that asks whether its page is still open at each object costs more than the object. So objects are lent in
//! lists, which Python goes through by itself, and a page that is closed takes back what it has lent. (Pages of a stored log
//! have bytes, of which each object is made when it is its turn.)
//!
//! ```text
//!   iter(objects)  =  chain.from_iterable(lists)      list of 8, 16, ..., 256 objects
//!                                          |             ^
//!                                          +-- next -----+        closing the page empties it, so that the chain
//!                                                        |        asks for the next, which is an error
//!                       PageSpan -- Lent -- (weak) ------+
//! ```

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Weak};

use pyo3::exceptions::PyIndexError;
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBool, PyInt, PyList};

use super::views::{Page, PageSpan, span_closed};
use crate::error::wrong_type;
use crate::lock::Lock;

/// Objects of the first list of an iterator: who wants one doesn't pay for many.
const LENT_MIN: usize = 8;
/// Objects of a list at most.
const LENT_MAX: usize = 256;

static FROM_ITERABLE: PyOnceLock<Py<PyAny>> = PyOnceLock::new();

/// The list of an iterator that is under way.
pub(super) type LentList = Lock<Option<Py<PyList>>>;

/// What the iterators of a page have.
#[derive(Debug, Default)]
pub(super) struct Lent(Vec<Weak<LentList>>);

impl Lent {
    /// A place for the list of one iterator more.
    pub(super) fn add(&mut self) -> Arc<LentList> {
        let list = Arc::new(LentList::default());
        self.0.retain(|list| list.strong_count() > 0);
        self.0.push(Arc::downgrade(&list));
        list
    }

    /// Empties all lists: their iterators have to ask for more.
    pub(super) fn take_back(&self, py: Python<'_>) -> PyResult<()> {
        for list in self.0.iter().filter_map(Weak::upgrade) {
            let list = list.lock().take();
            list.map_or(Ok(()), |list| emptied(list.bind(py)))?;
        }
        Ok(())
    }
}

fn emptied(list: &Bound<'_, PyList>) -> PyResult<()> {
    list.del_slice(0, list.len())
}

/// The objects of a `PageSpan`, as a sequence.
///
/// Examples
/// --------
/// >>> import timestrata
/// >>> log = timestrata.Timelog()
/// >>> log.extend([(1, "a"), (2, "b")])
/// >>> log.flush()
/// >>> objects = next(log.views()).objects()
/// >>> objects[-1], objects.copy()
/// ('b', ['a', 'b'])
#[pyclass(frozen, module = "timestrata")]
pub(crate) struct PageSpanObjectsView {
    span: Py<PageSpan>,
}

impl PageSpanObjectsView {
    pub(super) fn of(span: &Bound<'_, PageSpan>) -> Self {
        Self { span: span.clone().unbind() }
    }
}

#[pymethods]
impl PageSpanObjectsView {
    fn __len__(&self) -> PyResult<usize> {
        self.span.get().with(|page| page.times().len())
    }

    fn __getitem__<'py>(&self, index: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let py = index.py();
        if !index.is_instance_of::<PyInt>() && !index.hasattr("__index__")? {
            return Err(wrong_type("indices must be integers", index));
        }
        let index: isize = match index.is_instance_of::<PyBool>() {
            true => isize::from(index.is_truthy()?),
            false => index.extract()?,
        };
        let found = self.span.get().with(|page| {
            let rows = page.times().len();
            let place = match usize::try_from(index) {
                Ok(place) => Some(place),
                Err(_) => rows.checked_add_signed(index),
            };
            place.filter(|place| *place < rows).map(|place| page.values(place..place + 1))
        })?;
        let object = found.map(|values| values.first(py)).transpose()?.flatten();
        object.ok_or_else(|| PyIndexError::new_err("index out of range"))
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let span = self.span.get();
        let (next, held) = (AtomicUsize::new(0), self.span.clone_ref(py));
        if !span.with(Page::has_objects)? {
            let each = PageSpanObjectsIter { span: held, next };
            return Ok(Bound::new(py, each)?.into_any());
        }
        let lists = PageSpanObjectLists { span: held, next, lent: span.lend()? };
        let from_iterable = FROM_ITERABLE.get_or_try_init(py, || {
            let chain = py.import("itertools")?.getattr("chain")?;
            chain.getattr("from_iterable").map(Bound::unbind)
        })?;
        from_iterable.bind(py).call1((lists,))
    }

    /// Give the objects as a list.
    fn copy<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let all = self.span.get().with(|page| page.values(0..page.times().len()))?;
        all.list(py)
    }

    /// Whether the page was closed.
    #[getter]
    fn closed(&self) -> bool {
        self.span.get().closed()
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.span)
    }
}

/// The objects of a page, one after the other, each made as it is asked for: that may run Python code, and so another thread
/// that asks the same iterator. A chain would lose what is left of a list then.
#[pyclass(frozen, module = "timestrata")]
pub(crate) struct PageSpanObjectsIter {
    span: Py<PageSpan>,
    next: AtomicUsize,
}

#[pymethods]
impl PageSpanObjectsIter {
    fn __iter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let next = self.next.fetch_add(1, Ordering::Relaxed);
        let values = self.span.get().with(|page| page.values(next..next + 1))?;
        values.first(py)
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.span)
    }
}

/// The objects of a page in lists, one after the other.
#[pyclass(frozen, module = "timestrata")]
pub(crate) struct PageSpanObjectLists {
    span: Py<PageSpan>,
    /// The row after those that have been lent.
    next: AtomicUsize,
    lent: Arc<LentList>,
}

#[pymethods]
impl PageSpanObjectLists {
    fn __iter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyList>>> {
        let span = self.span.get();
        let values = span.with(|page| {
            let begin = self.next.load(Ordering::Relaxed);
            let end = page.times().len().min(begin + begin.clamp(LENT_MIN, LENT_MAX));
            self.next.store(end, Ordering::Relaxed);
            page.values(begin..end)
        })?;
        let list = values.list(py)?;
        if list.is_empty() {
            return Ok(None);
        }
        let old = self.lent.lock().replace(list.clone().unbind());
        drop(old);
        // Closed while the list was made: nobody has taken it back.
        if span.closed() {
            emptied(&list)?;
            return Err(span_closed());
        }
        Ok(Some(list))
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.span)?;
        match self.lent.try_lock() {
            Some(list) => list.as_ref().map_or(Ok(()), |list| visit.call(list)),
            None => Ok(()),
        }
    }

    fn __clear__(&self) {
        let list = self.lent.lock().take();
        drop(list);
    }
}
