//! Views: pages of a log as memory that others can read.

use std::ffi::{c_int, c_void};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::vec::IntoIter;

use pyo3::exceptions::{PyBufferError, PyIndexError, PyValueError};
use pyo3::ffi;
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use pyo3::types::{PyList, PyMemoryView};
use timestrata_timelog::memory::Part;
use timestrata_timelog::{Blocks, EntryBlock};

use super::arguments::TimeRange;
use super::object::{Object, each_ahead};
use super::page_objects::{Lent, LentList, PageSpanObjectsView};
use super::{Asked, Timelog};
use crate::codec::Decoder;
use crate::error::to_python;
use crate::fork::Guarded;
use crate::lock::Lock;

/// How views choose their rows.
fn is_logical(kind: &str) -> PyResult<bool> {
    match kind {
        "segment" => Ok(false),
        "logical" => Ok(true),
        _ => {
            Err(PyValueError::new_err(format!("kind must be 'segment' or 'logical', not '{kind}'")))
        }
    }
}

#[pymethods]
impl Timelog {
    /// Give pages of rows whose timestamps can be read without copying them.
    ///
    /// Parameters
    /// ----------
    /// t1, t2 : int, optional
    ///     From ``t1`` to before ``t2``; both or neither.
    /// kind : {"segment", "logical"}
    ///     "segment": the rows published by the last flush, the deleted ones among them until
    ///     they are compacted, in order but for those; none at the greatest timestamp there
    ///     is. "logical": the rows that a slice would give.
    ///
    /// Examples
    /// --------
    /// >>> import timestrata
    /// >>> log = timestrata.Timelog()
    /// >>> log.extend(range(3), "abc")
    /// >>> [list(span.timestamps) for span in log.views(kind="logical")]
    /// [[0, 1, 2]]
    #[pyo3(signature = (t1=None, t2=None, *, kind="segment"))]
    fn views(
        slf: &Bound<'_, Self>,
        t1: Option<&Bound<'_, PyAny>>,
        t2: Option<&Bound<'_, PyAny>>,
        kind: &str,
    ) -> PyResult<PageSpanIter> {
        let is_logical = is_logical(kind)?;
        let log = slf.get();
        let range = match (t1, t2) {
            (None, None) if is_logical => TimeRange::ALL,
            (None, None) => TimeRange::between(i64::MIN, i64::MAX),
            (Some(t1), Some(t2)) => TimeRange::between(log.time(t1)?, log.time(t2)?),
            _ => return Err(PyValueError::new_err("views() takes both bounds, or neither")),
        };
        PageSpanIter::of(slf, range, is_logical)
    }

    /// Give pages of rows from ``t1`` to before ``t2``.
    #[pyo3(signature = (t1, t2, kind="segment"))]
    fn page_spans(
        slf: &Bound<'_, Self>,
        t1: &Bound<'_, PyAny>,
        t2: &Bound<'_, PyAny>,
        kind: &str,
    ) -> PyResult<PageSpanIter> {
        let is_logical = is_logical(kind)?;
        let range = TimeRange::between(slf.get().raw(t1)?, slf.get().raw(t2)?);
        PageSpanIter::of(slf, range, is_logical)
    }
}

/// A page and what keeps its log from being closed.
pub(super) struct Page {
    rows: PageRows,
    owner: Py<Timelog>,
    /// Counted by a log in memory, which can't be closed meanwhile.
    _reader: Option<Arc<()>>,
    /// Objects of it that iterators have.
    lent: Lent,
}

/// The rows of a page.
enum PageRows {
    Objects(Part<Object>),
    Stored(Arc<EntryBlock>, Decoder),
}

impl Page {
    pub(super) fn times(&self) -> &[i64] {
        match &self.rows {
            PageRows::Objects(part) => part.times(),
            PageRows::Stored(block, _) => block.times(),
        }
    }

    /// Whether it has objects as they are, which takes no code of Python's to give.
    pub(super) fn has_objects(&self) -> bool {
        matches!(self.rows, PageRows::Objects(_))
    }

    /// What can be made objects without the lock of the page: of these rows, as far as it has them.
    pub(super) fn values(&self, rows: Range<usize>) -> PageValues {
        let rows = rows.start..rows.end.min(self.times().len());
        match &self.rows {
            PageRows::Objects(part) => PageValues::Objects(part.clone(), rows),
            PageRows::Stored(block, decoder) => {
                PageValues::Stored(Arc::clone(block), decoder.clone(), rows)
            }
        }
    }

    fn visit(&self, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.owner)?;
        match &self.rows {
            // Leaves that the log, or another reader, holds too are shown by the log.
            PageRows::Objects(part) if part.is_sole() => {
                part.leaf_values().iter().try_for_each(|object| object.visit(visit))
            }
            PageRows::Objects(_) | PageRows::Stored(..) => Ok(()),
        }
    }
}

/// Rows of a page whose objects are on their way out of it: what is made of them is made without its lock.
pub(super) enum PageValues {
    Objects(Part<Object>, Range<usize>),
    Stored(Arc<EntryBlock>, Decoder, Range<usize>),
}

impl PageValues {
    /// The object of the first of them, if there is any.
    pub(super) fn first<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        match self {
            Self::Objects(part, rows) => {
                Ok(part.values().get(rows.start).map(|object| object.bind(py).clone()))
            }
            Self::Stored(block, decoder, rows) => decoder.object(py, block, rows.start),
        }
    }

    /// The objects of all of them.
    pub(super) fn list<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        match self {
            Self::Objects(part, rows) => {
                let objects = each_ahead(part.values(), rows.clone());
                PyList::new(py, objects.map(|object| object.bind(py)))
            }
            Self::Stored(block, decoder, rows) => {
                let behind = || PyIndexError::new_err("the row is behind the end of its page");
                let object = |row| decoder.object(py, block, row)?.ok_or_else(behind);
                PyList::new(py, rows.clone().map(object).collect::<PyResult<Vec<_>>>()?)
            }
        }
    }
}

/// The pages of a view, one after the other, as `PageSpan`. Made by `Timelog.views`.
///
/// Examples
/// --------
/// >>> import timestrata
/// >>> log = timestrata.Timelog()
/// >>> log.extend([(1, "a"), (2, "b")])
/// >>> log.flush()
/// >>> with log.views() as pages:
/// ...     [len(page) for page in pages]
/// [2]
#[pyclass(frozen, module = "timestrata")]
pub(crate) struct PageSpanIter {
    state: Lock<Option<Pages>>,
}

/// Pages still to be given.
enum Pages {
    Objects { parts: IntoIter<Part<Object>>, owner: Py<Timelog>, reader: Arc<()> },
    Stored { blocks: Box<Guarded<Blocks>>, decoder: Decoder, owner: Py<Timelog> },
}

impl PageSpanIter {
    /// Over a range of a log. Where a store keeps the log, both kinds of view are what a slice
    /// would give.
    pub(super) fn of(
        log: &Bound<'_, Timelog>,
        range: TimeRange,
        is_logical: bool,
    ) -> PyResult<Self> {
        let range = range.not_reversed()?;
        let owner = log.clone().unbind();
        let pages =
            log.get().ask(|rows| (rows.pages(range.bounds(), is_logical), rows.reader()))?;
        let pages = match pages {
            Asked::Answer((parts, reader)) => {
                Pages::Objects { parts: parts.into_iter(), owner, reader }
            }
            Asked::Of(stored) => {
                let decoder = stored.decoder.clone();
                let blocks = stored.ask(log.py(), |log| Ok(log.range(range.bounds())?.blocks()))?;
                Pages::Stored { blocks: Box::new(Guarded::new(blocks)), decoder, owner }
            }
        };
        Ok(Self { state: Lock::new(Some(pages)) })
    }
}

#[pymethods]
impl PageSpanIter {
    fn __iter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Option<PageSpan>> {
        let mut state = self.state.lock();
        if let Some(Pages::Objects { parts, owner, reader }) = &mut *state
            && let Some(part) = parts.next()
        {
            return Ok(Some(PageSpan::of(Page {
                rows: PageRows::Objects(part),
                owner: owner.clone_ref(py),
                _reader: Some(Arc::clone(reader)),
                lent: Lent::default(),
            })));
        }
        // Taken out meanwhile: reading a store lets other threads run.
        let pages = state.take();
        drop(state);
        let Some(Pages::Stored { mut blocks, decoder, owner }) = pages else { return Ok(None) };
        let reader = blocks.get_mut()?;
        let block = match py.detach(|| reader.next()) {
            None => return Ok(None),
            Some(Err(error)) => return Err(to_python(error)),
            Some(Ok(block)) => block,
        };
        let page = Page {
            rows: PageRows::Stored(Arc::new(block), decoder.clone()),
            owner: owner.clone_ref(py),
            _reader: None,
            lent: Lent::default(),
        };
        *self.state.lock() = Some(Pages::Stored { blocks, decoder, owner });
        Ok(Some(PageSpan::of(page)))
    }

    /// Let go of the pages not yet given. Fine to call twice.
    fn close(&self) {
        let old = self.state.lock().take();
        drop(old);
    }

    /// Whether it was closed, or has come to its end.
    #[getter]
    fn closed(&self) -> bool {
        self.state.lock().is_none()
    }

    fn __enter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    #[pyo3(signature = (_kind=None, _raised=None, _trace=None))]
    fn __exit__(
        &self,
        _kind: Option<&Bound<'_, PyAny>>,
        _raised: Option<&Bound<'_, PyAny>>,
        _trace: Option<&Bound<'_, PyAny>>,
    ) -> bool {
        self.close();
        false
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        let Some(state) = self.state.try_lock() else { return Ok(()) };
        match &*state {
            None => Ok(()),
            Some(Pages::Stored { owner, .. }) => visit.call(owner),
            Some(Pages::Objects { parts, owner, .. }) => {
                visit.call(owner)?;
                let sole = parts.as_slice().iter().filter(|part| part.is_sole());
                sole.flat_map(Part::leaf_values).try_for_each(|object| object.visit(&visit))
            }
        }
    }

    fn __clear__(&self) {
        self.close();
    }
}

/// One page of rows: their timestamps as memory, their objects as a sequence.
///
/// Supports the buffer protocol: ``numpy.frombuffer(span, "int64")`` copies nothing.
///
/// Examples
/// --------
/// >>> import timestrata
/// >>> log = timestrata.Timelog()
/// >>> log.extend([(1, "a"), (2, "b")])
/// >>> log.flush()
/// >>> span = next(log.views())
/// >>> len(span), span.start_ts, span.end_ts, list(span.objects())
/// (2, 1, 2, ['a', 'b'])
#[pyclass(frozen, module = "timestrata")]
pub(crate) struct PageSpan {
    page: Lock<Option<Page>>,
    /// Rows, and bytes from one time to the next: the shape and the strides of its buffer.
    layout: [ffi::Py_ssize_t; 2],
    /// Buffers of others that point into the page.
    exports: AtomicUsize,
}

pub(super) fn span_closed() -> PyErr {
    PyValueError::new_err("PageSpan is closed")
}

impl PageSpan {
    fn of(page: Page) -> Self {
        Self {
            layout: [page.times().len() as ffi::Py_ssize_t, size_of::<i64>() as isize],
            page: Lock::new(Some(page)),
            exports: AtomicUsize::new(0),
        }
    }

    /// A place for what one iterator more has of its objects.
    pub(super) fn lend(&self) -> PyResult<Arc<LentList>> {
        self.page.lock().as_mut().map(|page| page.lent.add()).ok_or_else(span_closed)
    }

    pub(super) fn with<T>(&self, read: impl FnOnce(&Page) -> T) -> PyResult<T> {
        self.page.lock().as_ref().map(read).ok_or_else(span_closed)
    }

    fn time_at(&self, end: impl FnOnce(&[i64]) -> Option<&i64>) -> PyResult<i64> {
        self.with(|page| end(page.times()).copied())?.ok_or_else(span_closed)
    }
}

#[pymethods]
impl PageSpan {
    fn __len__(&self) -> usize {
        self.with(|page| page.times().len()).unwrap_or_default()
    }

    /// The timestamps, as a memoryview of int64 that can't be written to.
    #[getter]
    fn timestamps<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyMemoryView>> {
        PyMemoryView::from(slf)
    }

    /// The first timestamp.
    #[getter]
    fn start_ts(&self) -> PyResult<i64> {
        self.time_at(<[i64]>::first)
    }

    /// The last timestamp, which is in the page.
    #[getter]
    fn end_ts(&self) -> PyResult<i64> {
        self.time_at(<[i64]>::last)
    }

    /// The same as `end_ts`.
    #[getter]
    fn last_ts(&self) -> PyResult<i64> {
        self.end_ts()
    }

    /// Give the timestamps as a list.
    fn copy_timestamps(&self) -> PyResult<Vec<i64>> {
        self.with(|page| page.times().to_vec())
    }

    /// Give the objects as a sequence.
    fn objects(slf: &Bound<'_, Self>) -> PyResult<PageSpanObjectsView> {
        slf.get().with(|_| ())?;
        Ok(PageSpanObjectsView::of(slf))
    }

    /// Let go of the page.
    ///
    /// Raises
    /// ------
    /// BufferError
    ///     A memoryview or an array still points into it.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        if self.exports.load(Ordering::Acquire) > 0 {
            return Err(PyBufferError::new_err("PageSpan can't be closed: its buffer is in use"));
        }
        let old = self.page.lock().take();
        old.map_or(Ok(()), |page| page.lent.take_back(py))
    }

    /// Whether it was closed.
    #[getter]
    pub(super) fn closed(&self) -> bool {
        self.page.lock().is_none()
    }

    fn __enter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    #[pyo3(signature = (_kind=None, _raised=None, _trace=None))]
    fn __exit__(
        &self,
        py: Python<'_>,
        _kind: Option<&Bound<'_, PyAny>>,
        _raised: Option<&Bound<'_, PyAny>>,
        _trace: Option<&Bound<'_, PyAny>>,
    ) -> bool {
        // One that is still pointed into goes with what points there.
        let _ = self.close(py);
        false
    }

    /// # Safety
    /// Python calls this with a `view` of its own to fill.
    unsafe fn __getbuffer__(
        slf: &Bound<'_, Self>,
        view: *mut ffi::Py_buffer,
        flags: c_int,
    ) -> PyResult<()> {
        if view.is_null() {
            return Err(PyBufferError::new_err("no view to fill"));
        }
        if flags & ffi::PyBUF_WRITABLE == ffi::PyBUF_WRITABLE {
            return Err(PyBufferError::new_err("a PageSpan can't be written to"));
        }
        let start = slf.get().with(|page| page.times().as_ptr())?;
        let [rows, item_bytes] = &slf.get().layout;
        // SAFETY: `view` is Python's to fill, and each of its fields is written. The rows don't
        // move or go while an export is counted: `close` refuses, a page's leaf is never
        // changed while it is shared, and the view holds a reference to this object. Shape and
        // strides lie in this object, which is frozen; by convention nobody writes to them.
        unsafe {
            (*view).obj = slf.clone().into_any().into_ptr();
            (*view).buf = start.cast_mut().cast::<c_void>();
            (*view).len = rows * item_bytes;
            (*view).readonly = 1;
            (*view).itemsize = *item_bytes;
            (*view).format = match flags & ffi::PyBUF_FORMAT == ffi::PyBUF_FORMAT {
                true => c"q".as_ptr().cast_mut(),
                false => std::ptr::null_mut(),
            };
            (*view).ndim = 1;
            (*view).shape = std::ptr::from_ref(rows).cast_mut();
            (*view).strides = std::ptr::from_ref(item_bytes).cast_mut();
            (*view).suboffsets = std::ptr::null_mut();
            (*view).internal = std::ptr::null_mut();
        }
        slf.get().exports.fetch_add(1, Ordering::AcqRel);
        Ok(())
    }

    /// # Safety
    /// Python calls this once for each view that `__getbuffer__` has filled.
    unsafe fn __releasebuffer__(&self, _view: *mut ffi::Py_buffer) {
        self.exports.fetch_sub(1, Ordering::AcqRel);
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        let Some(page) = self.page.try_lock() else { return Ok(()) };
        page.iter().try_for_each(|page| page.visit(&visit))
    }

    fn __clear__(&self) {
        if self.exports.load(Ordering::Acquire) == 0 {
            let old = self.page.lock().take();
            drop(old);
        }
    }
}
