//! `TimelogIter`: entries of a time log, one after the other.

use std::sync::{Arc, MutexGuard};

use pyo3::exceptions::PyValueError;
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};
use timestrata_timelog::memory::{Part, Slice};
use timestrata_timelog::{Blocks, EntryBlock, Selection};

use super::Timelog;
use super::arguments::TimeRange;
use super::object::{AHEAD, Object};
use super::pairs::{Pairs, list_of};
use super::views::PageSpanIter;
use crate::codec::Decoder;
use crate::error::to_python;
use crate::fork::Guarded;
use crate::interrupt::detached;
use crate::lock::Lock;

/// The entries of a part of a time log, as `(timestamp, object)`, as it was when it was asked for.
///
/// Reads block by block as it goes. Made by slicing or iterating a Timelog.
///
/// Examples
/// --------
/// >>> import timestrata
/// >>> log = timestrata.open().timelog("door")
/// >>> log.extend([(1, "a"), (2, "b"), (3, "c")])
/// >>> entries = log[2:]
/// >>> next(entries)
/// (2, 'b')
/// >>> log.append(9, "later: not in what was asked for before")
/// >>> list(entries)
/// [(3, 'c')]
#[pyclass(frozen, module = "timestrata")]
pub(crate) struct TimelogIter {
    state: Lock<IteratorState>,
    range: TimeRange,
}

enum IteratorState {
    /// Of a log of objects.
    Objects(Objects),
    /// Of a log that a store keeps.
    Ready(Box<EntryReading>),
    /// A call is under way, maybe in another thread. The lock is not held meanwhile: reading
    /// runs Python code, which may come back here.
    Busy,
    /// As Busy, and closed meanwhile.
    BusyClosed,
    Done,
}

struct Objects {
    slice: Slice<Object>,
    is_reversed: bool,
    owner: Py<Timelog>,
    /// Counted by the log, which can't be closed meanwhile.
    _reader: Arc<()>,
    pairs: Pairs,
}

impl Objects {
    /// Takes the next so many rows.
    fn take(&mut self, mut wanted: usize) -> Vec<Part<Object>> {
        let mut parts = Vec::new();
        while wanted > 0 {
            let Some(part) = (match self.is_reversed {
                false => self.slice.take_part(wanted),
                true => self.slice.take_part_back(wanted),
            }) else {
                break;
            };
            wanted -= part.times().len();
            parts.push(part);
        }
        parts
    }
}

struct EntryReading {
    source: Guarded<EntrySource>,
    decoder: Decoder,
    /// To count what is left.
    selection: Guarded<Selection>,
    entries_read: u64,
    owner: Option<Py<Timelog>>,
}

/// Where entries come from; it keeps files of the store alive.
struct EntrySource {
    blocks: Blocks,
    block: Option<EntryBlock>,
    next: usize,
}

impl EntrySource {
    /// The block that has the next entry; `false` at the end. Hears Ctrl-C at each block.
    fn advance(&mut self, py: Python<'_>) -> PyResult<bool> {
        while self.block.as_ref().is_none_or(|block| self.next >= block.len()) {
            py.check_signals()?;
            self.next = 0;
            self.block = match py.detach(|| self.blocks.next()) {
                None => return Ok(false),
                Some(Ok(block)) => Some(block),
                Some(Err(error)) => return Err(to_python(error)),
            };
        }
        Ok(true)
    }
}

impl EntryReading {
    fn new(py: Python<'_>, selection: Selection, decoder: Decoder) -> Self {
        let again = selection.clone();
        let blocks = py.detach(|| selection.blocks());
        Self {
            source: Guarded::new(EntrySource { blocks, block: None, next: 0 }),
            decoder,
            selection: Guarded::new(again),
            entries_read: 0,
            owner: None,
        }
    }

    fn left(&self, py: Python<'_>) -> PyResult<u64> {
        let selection = self.selection.get()?;
        let all = detached(py, || selection.count())?;
        Ok(all.saturating_sub(self.entries_read))
    }

    fn entry<'py>(&mut self, py: Python<'py>) -> PyResult<Option<(i64, Bound<'py, PyAny>)>> {
        let source = self.source.get_mut()?;
        if !source.advance(py)? {
            return Ok(None);
        }
        let Some(block) = &source.block else { return Ok(None) };
        let index = source.next;
        let Some(time) = block.times().get(index) else { return Ok(None) };
        source.next += 1;
        self.entries_read += 1;
        match self.decoder.object(py, block, index) {
            Ok(value) => Ok(value.map(|value| (*time, value))),
            Err(error) => {
                let note = format!("it is the value at timestamp {time}");
                let _ = error.value(py).call_method1("add_note", (note,));
                Err(error)
            }
        }
    }

    fn batch<'py>(
        &mut self,
        py: Python<'py>,
        entries_max: usize,
    ) -> PyResult<Vec<(i64, Bound<'py, PyAny>)>> {
        let mut batch = Vec::new();
        while batch.len() < entries_max {
            match self.entry(py)? {
                Some(entry) => batch.push(entry),
                None => break,
            }
        }
        Ok(batch)
    }
}

impl TimelogIter {
    /// Over a selection of a log that a store keeps.
    pub(super) fn stored(
        py: Python<'_>,
        selection: Selection,
        decoder: Decoder,
        owner: Py<Timelog>,
        range: TimeRange,
    ) -> Self {
        let reading =
            EntryReading { owner: Some(owner), ..EntryReading::new(py, selection, decoder) };
        Self { state: Lock::new(IteratorState::Ready(Box::new(reading))), range }
    }

    /// Over rows of a log of objects.
    pub(super) fn objects(
        py: Python<'_>,
        slice: Slice<Object>,
        is_reversed: bool,
        owner: Py<Timelog>,
        reader: Arc<()>,
        range: TimeRange,
    ) -> Self {
        let first = slice.parts().next().filter(|_| !is_reversed);
        first.iter().flat_map(|part| part.values()).take(AHEAD).for_each(Object::prefetch);
        let pairs = Pairs::new(py);
        let objects = Objects { slice, is_reversed, owner, _reader: reader, pairs };
        Self { state: Lock::new(IteratorState::Objects(objects)), range }
    }

    /// Every entry of a selection, at once.
    pub(crate) fn collect<'py>(
        py: Python<'py>,
        selection: Selection,
        decoder: Decoder,
    ) -> PyResult<Vec<(i64, Bound<'py, PyAny>)>> {
        EntryReading::new(py, selection, decoder).batch(py, usize::MAX)
    }

    /// The state, unless this very call has come back through an object that it let go of.
    fn lock(&self) -> PyResult<MutexGuard<'_, IteratorState>> {
        self.state.try_lock().ok_or_else(already_read)
    }

    /// The next row of a log of objects, as `give` makes it; `None` if this is not of one.
    #[inline]
    fn next_object<T>(
        &self,
        give: impl FnOnce(&mut Pairs, i64, &Object) -> PyResult<T>,
    ) -> PyResult<Option<Option<T>>> {
        let mut state = self.lock()?;
        let IteratorState::Objects(objects) = &mut *state else { return Ok(None) };
        let row = match objects.is_reversed {
            false => {
                objects.slice.ahead(AHEAD).inspect(|object| object.prefetch());
                objects.slice.next_row()
            }
            true => objects.slice.next_row_back(),
        };
        if let Some((time, object)) = row {
            return give(&mut objects.pairs, time, object).map(|given| Some(Some(given)));
        }
        let over = std::mem::replace(&mut *state, IteratorState::Done);
        drop(state);
        drop(over);
        Ok(Some(None))
    }

    /// The next rows of a log of objects; `None` if this is not of one.
    fn next_objects<'py>(
        &self,
        py: Python<'py>,
        wanted: usize,
    ) -> PyResult<Option<Bound<'py, PyList>>> {
        let mut state = self.lock()?;
        let IteratorState::Objects(objects) = &mut *state else { return Ok(None) };
        let (parts, is_reversed) = (objects.take(wanted), objects.is_reversed);
        let rows: usize = parts.iter().map(|part| part.times().len()).sum();
        let over = (rows < wanted).then(|| std::mem::replace(&mut *state, IteratorState::Done));
        drop(state);
        drop(over);
        list_of(py, &parts, is_reversed).map(Some)
    }

    /// The next entry, of either kind of log.
    pub(super) fn next_entry<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<Option<(i64, Bound<'py, PyAny>)>> {
        let given = |_: &mut Pairs, time, object: &Object| Ok((time, object.bind(py).clone()));
        if let Some(entry) = self.next_object(given)? {
            return Ok(entry);
        }
        self.read(|reading| reading.entry(py), Option::is_none).map(Option::flatten)
    }

    fn replace(&self, change: impl FnOnce(&mut IteratorState) -> IteratorState) -> IteratorState {
        let mut state = self.state.lock();
        let new = change(&mut state);
        std::mem::replace(&mut *state, new)
    }

    /// Runs a read; an `is_last` outcome or an error ends the iterator.
    fn read<T>(
        &self,
        read: impl FnOnce(&mut EntryReading) -> PyResult<T>,
        is_last: impl FnOnce(&T) -> bool,
    ) -> PyResult<Option<T>> {
        let mut reading = match self.replace(|state| match state {
            IteratorState::Ready(_) | IteratorState::Busy => IteratorState::Busy,
            IteratorState::BusyClosed => IteratorState::BusyClosed,
            IteratorState::Done | IteratorState::Objects(_) => IteratorState::Done,
        }) {
            IteratorState::Ready(reading) => reading,
            IteratorState::Done | IteratorState::Objects(_) => return Ok(None),
            IteratorState::Busy | IteratorState::BusyClosed => return Err(already_read()),
        };
        let outcome = read(&mut reading);
        let is_over = outcome.as_ref().map_or(true, is_last);
        let mut state = self.state.lock();
        let was_closed = matches!(*state, IteratorState::BusyClosed);
        let old = if is_over || was_closed {
            *state = IteratorState::Done;
            Some(reading)
        } else {
            *state = IteratorState::Ready(reading);
            None
        };
        // Dropped without the lock: a snapshot going away may remove files.
        std::mem::drop(state);
        std::mem::drop(old);
        outcome.map(Some)
    }
}

#[pymethods]
impl TimelogIter {
    fn __iter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyTuple>>> {
        let given = |pairs: &mut Pairs, time, object: &Object| pairs.give(py, time, object);
        if let Some(pair) = self.next_object(given)? {
            return Ok(pair);
        }
        let entry = self.read(|reading| reading.entry(py), Option::is_none)?;
        entry.flatten().map(|entry| entry.into_pyobject(py)).transpose()
    }

    /// Give the next n entries as a list; fewer at the end.
    ///
    /// Examples
    /// --------
    /// >>> import timestrata
    /// >>> log = timestrata.open().timelog("door")
    /// >>> log.extend([(1, "a"), (2, "b"), (3, "c")])
    /// >>> log[:].next_batch(2)
    /// [(1, 'a'), (2, 'b')]
    #[pyo3(signature = (n, /))]
    fn next_batch<'py>(&self, py: Python<'py>, n: isize) -> PyResult<Bound<'py, PyList>> {
        let wanted = usize::try_from(n).map_err(|_| PyValueError::new_err("n must be >= 0"))?;
        if let Some(rows) = self.next_objects(py, wanted)? {
            return Ok(rows);
        }
        let batch = self.read(|reading| reading.batch(py, wanted), |batch| batch.len() < wanted)?;
        PyList::new(py, batch.unwrap_or_default())
    }

    /// Let go of the snapshot it reads. Fine to call twice.
    fn close(&self) -> PyResult<()> {
        let mut state = self.lock()?;
        let closed = match &*state {
            IteratorState::Ready(_) | IteratorState::Objects(_) | IteratorState::Done => {
                IteratorState::Done
            }
            IteratorState::Busy | IteratorState::BusyClosed => IteratorState::BusyClosed,
        };
        let old = std::mem::replace(&mut *state, closed);
        drop(state);
        drop(old);
        Ok(())
    }

    /// How many entries are left; 0 once it is closed.
    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        let state = self.lock()?;
        match &*state {
            IteratorState::Objects(objects) => Ok(objects.slice.left()),
            IteratorState::Ready(_) => {
                drop(state);
                let left = self.read(|reading| reading.left(py), |_| false)?;
                Ok(usize::try_from(left.unwrap_or_default())?)
            }
            IteratorState::Busy => Err(already_read()),
            IteratorState::BusyClosed | IteratorState::Done => Ok(0),
        }
    }

    /// Give pages of the same range, as the log holds them now.
    fn view(&self, py: Python<'_>) -> PyResult<PageSpanIter> {
        let owner = match &*self.lock()? {
            IteratorState::Objects(objects) => Some(objects.owner.clone_ref(py)),
            IteratorState::Ready(reading) => {
                reading.owner.as_ref().map(|owner| owner.clone_ref(py))
            }
            IteratorState::Busy | IteratorState::BusyClosed | IteratorState::Done => None,
        };
        match owner {
            Some(owner) => PageSpanIter::of(owner.bind(py), self.range, false),
            None => Err(PyValueError::new_err("TimelogIter is closed")),
        }
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        let Some(state) = self.state.try_lock() else { return Ok(()) };
        match &*state {
            IteratorState::Objects(objects) => {
                visit.call(&objects.owner)?;
                objects.pairs.visit(&visit)?;
                // Leaves that the log, or another reader, holds too are shown by the log.
                let sole = objects.slice.sole_parts();
                sole.flat_map(|part| part.leaf_values()).try_for_each(|object| object.visit(&visit))
            }
            IteratorState::Ready(reading) => {
                reading.owner.iter().try_for_each(|owner| visit.call(owner))
            }
            IteratorState::Busy | IteratorState::BusyClosed | IteratorState::Done => Ok(()),
        }
    }

    fn __clear__(&self) {
        let _ = self.close();
    }

    /// Whether it was closed, or has come to its end.
    #[getter]
    fn closed(&self) -> bool {
        // One that is being read has not come to its end.
        self.lock()
            .is_ok_and(|state| matches!(*state, IteratorState::Done | IteratorState::BusyClosed))
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
    ) -> PyResult<bool> {
        self.close().map(|()| false)
    }

    fn __repr__(&self) -> PyResult<String> {
        Ok(match &*self.lock()? {
            IteratorState::Objects(objects) => {
                format!("<TimelogIter {} remaining={}>", self.range, objects.slice.left())
            }
            IteratorState::Ready(_) | IteratorState::Busy => {
                format!("<TimelogIter {}>", self.range)
            }
            IteratorState::Done | IteratorState::BusyClosed => "<TimelogIter closed>".to_owned(),
        })
    }
}

fn already_read() -> PyErr {
    PyValueError::new_err("TimelogIter is already being read")
}
