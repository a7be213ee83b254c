//! `TimelogIter`: entries of a time log, one after the other.

use std::sync::{Mutex, PoisonError};

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyList;
use timestrata_models::timelog::{Blocks, Codec, EntryBlock, Selection};

use crate::codec::decode;
use crate::error::to_python;
use crate::fork::Guarded;

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
    state: Mutex<State>,
}

enum State {
    Ready(Box<Reading>),
    /// A call is under way, maybe in another thread. The lock is not held meanwhile: reading
    /// runs Python code, which may come back here.
    Busy,
    /// As Busy, and closed meanwhile.
    BusyClosed,
    Done,
}

struct Reading {
    source: Guarded<Source>,
    codec: Codec,
}

/// Where entries come from; it keeps files of the store alive.
struct Source {
    blocks: Blocks,
    block: Option<EntryBlock>,
    next: usize,
}

impl Source {
    /// The block that has the next entry; `false` at the end. Hears Ctrl-C at each block.
    fn advance(&mut self, py: Python<'_>) -> PyResult<bool> {
        while self.block.as_ref().is_none_or(|block| self.next >= block.len()) {
            py.check_signals()?;
            self.next = 0;
            self.block = match py.detach(|| self.blocks.next()) {
                None => return Ok(false),
                Some(Ok(block)) => Some(block),
                Some(Err(error)) => return Err(to_python(py, &error)),
            };
        }
        Ok(true)
    }
}

impl Reading {
    fn new(py: Python<'_>, selection: Selection, codec: Codec) -> Self {
        let blocks = py.detach(|| selection.blocks());
        Self { source: Guarded::new(Source { blocks, block: None, next: 0 }), codec }
    }

    fn entry<'py>(&mut self, py: Python<'py>) -> PyResult<Option<(i64, Bound<'py, PyAny>)>> {
        let source = self.source.get_mut()?;
        if !source.advance(py)? {
            return Ok(None);
        }
        let Some(block) = &source.block else { return Ok(None) };
        let index = source.next;
        let (Some(time), Some(bytes)) = (block.times().get(index), block.value(index)) else {
            return Ok(None);
        };
        source.next += 1;
        match decode(self.codec, py, bytes) {
            Ok(value) => Ok(Some((*time, value))),
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
    /// Over a selection of a log with this codec.
    pub(crate) fn new(py: Python<'_>, selection: Selection, codec: Codec) -> Self {
        let reading = Reading::new(py, selection, codec);
        Self { state: Mutex::new(State::Ready(Box::new(reading))) }
    }

    /// Every entry of a selection, at once.
    pub(crate) fn collect<'py>(
        py: Python<'py>,
        selection: Selection,
        codec: Codec,
    ) -> PyResult<Vec<(i64, Bound<'py, PyAny>)>> {
        Reading::new(py, selection, codec).batch(py, usize::MAX)
    }

    fn replace(&self, change: impl FnOnce(&mut State) -> State) -> State {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let new = change(&mut state);
        std::mem::replace(&mut *state, new)
    }

    /// Runs a read; an `is_last` outcome or an error ends the iterator.
    fn read<T>(
        &self,
        read: impl FnOnce(&mut Reading) -> PyResult<T>,
        is_last: impl FnOnce(&T) -> bool,
    ) -> PyResult<Option<T>> {
        let mut reading = match self.replace(|state| match state {
            State::Ready(_) | State::Busy => State::Busy,
            State::BusyClosed => State::BusyClosed,
            State::Done => State::Done,
        }) {
            State::Ready(reading) => reading,
            State::Done => return Ok(None),
            State::Busy | State::BusyClosed => {
                return Err(PyValueError::new_err("TimelogIter is already being read"));
            }
        };
        let outcome = read(&mut reading);
        let is_over = outcome.as_ref().map_or(true, is_last);
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let was_closed = matches!(*state, State::BusyClosed);
        let old = if is_over || was_closed {
            *state = State::Done;
            Some(reading)
        } else {
            *state = State::Ready(reading);
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

    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<(i64, Bound<'py, PyAny>)>> {
        self.read(|reading| reading.entry(py), Option::is_none).map(Option::flatten)
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
        let batch = self.read(|reading| reading.batch(py, wanted), |batch| batch.len() < wanted)?;
        PyList::new(py, batch.unwrap_or_default())
    }

    /// Let go of the snapshot it reads. Fine to call twice.
    fn close(&self) {
        let old = self.replace(|state| match state {
            State::Ready(_) | State::Done => State::Done,
            State::Busy | State::BusyClosed => State::BusyClosed,
        });
        std::mem::drop(old);
    }

    /// Whether it was closed, or has come to its end.
    #[getter]
    fn closed(&self) -> bool {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        matches!(*state, State::Done | State::BusyClosed)
    }

    fn __enter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    #[pyo3(signature = (exception_type, exception, traceback, /))]
    fn __exit__(
        &self,
        exception_type: &Bound<'_, PyAny>,
        exception: &Bound<'_, PyAny>,
        traceback: &Bound<'_, PyAny>,
    ) -> bool {
        let _ = (exception_type, exception, traceback);
        self.close();
        false
    }

    fn __repr__(&self) -> &'static str {
        if self.closed() { "<TimelogIter closed>" } else { "<TimelogIter open>" }
    }
}
