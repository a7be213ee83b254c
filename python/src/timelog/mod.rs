//! `Timelog`: Python objects by timestamp.
//!
//! One class over two kinds of log: one in memory, of the objects themselves ([`memory`]), and
//! one that a store keeps, of objects as bytes ([`stored`]). No lock is held while Python code
//! may run: what a log in memory lets go of is dropped after its lock.

mod arguments;
mod by_path;
mod drop_in;
mod export;
mod iterator;
mod lifecycle;
mod memory;
mod object;
mod open;
mod options;
mod page_objects;
mod pairs;
mod read;
mod reopen;
mod staged;
mod stored;
mod tail;
mod typed;
mod upkeep;
mod views;
mod write;

use std::sync::Arc;

pub(crate) use drop_in::DropInTimelog;
pub(crate) use iterator::TimelogIter;
use memory::{Counters, MemoryLog};
use options::Options;
pub(crate) use page_objects::PageSpanObjectsView;
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use reopen::Origin;
pub(crate) use staged::CommitTimelog;
use stored::Stored;
pub(crate) use tail::TimelogTail;
use timestrata_timelog::{Timelog as TimelogModel, Unit};
pub(crate) use views::{PageSpan, PageSpanIter};

use crate::error::timelog_error;
use crate::handle::Handle;
use crate::lock::Lock;

/// Python objects by timestamp: a sorted multimap that is durable.
///
/// Timestamps are ints, counted in the log's unit since 1970, over the whole signed 64-bit
/// range; an aware datetime is converted, rounded down to the unit. Objects with the same
/// timestamp stay in the order in which they were appended, also when they came late. Ranges
/// are half-open; an open end reaches the last entry. What is read is what was there when it
/// was asked for; writing while iterating is fine.
///
/// Made by `Store.timelog`.
///
/// Examples
/// --------
/// >>> import timestrata
/// >>> log = timestrata.open().timelog("door")
/// >>> log.append(30, "closed")
/// >>> log[10] = "opened"
/// >>> log.extend([(20, "held"), (20, "held again")])
/// >>> list(log[10:30])
/// [(10, 'opened'), (20, 'held'), (20, 'held again')]
/// >>> log[20]
/// ['held', 'held again']
/// >>> len(log), log.min_ts(), log.max_ts()
/// (4, 10, 30)
/// >>> del log[:20]
/// >>> list(reversed(log))
/// [(30, 'closed'), (20, 'held again'), (20, 'held')]
#[pyclass(frozen, subclass, module = "timestrata", weakref)]
#[derive(Debug)]
pub(crate) struct Timelog {
    state: Lock<State>,
    times: Times,
}

/// What its methods take as times.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Times {
    /// Whole numbers, datetimes, numpy's times.
    Any,
    /// Whole numbers, as programs expect that were written for a log that takes nothing else.
    WholeNumbers,
}

#[derive(Debug)]
enum State {
    /// Made, but not initialised.
    New,
    Memory(Box<MemoryLog>),
    Stored(Arc<Stored>),
    Closed(Box<Closed>),
}

/// What a closed log still tells, and is opened anew with.
#[derive(Debug)]
struct Closed {
    options: Options,
    counters: Counters,
    /// `None` for one in memory.
    origin: Option<Origin>,
}

/// What a question to a log in memory came to: its answer, or the log that a store keeps.
enum Asked<T> {
    Answer(T),
    Of(Arc<Stored>),
}

impl<T: Send> Asked<T> {
    /// The answer; else what the log in a store says, as [`Stored::ask`] asks it.
    fn or_ask(
        self,
        py: Python<'_>,
        question: impl FnOnce(&TimelogModel) -> timestrata_engine::Result<T> + Send,
    ) -> PyResult<T> {
        match self {
            Self::Answer(answer) => Ok(answer),
            Self::Of(stored) => stored.ask(py, question),
        }
    }
}

impl Timelog {
    fn in_state(state: State) -> Self {
        Self { state: Lock::new(state), times: Times::Any }
    }

    /// Asks a log in memory. `question` must neither call Python nor drop an object.
    fn ask<T>(&self, question: impl FnOnce(&mut MemoryLog) -> T) -> PyResult<Asked<T>> {
        let stored = match &mut *self.state.lock() {
            State::Memory(log) => return Ok(Asked::Answer(question(log))),
            State::Stored(stored) => Arc::clone(stored),
            State::Closed(_) | State::New => return Err(closed()),
        };
        self.renewed(stored).map(Asked::Of)
    }

    /// The log that a store keeps, with the columns that it has by now: somebody may have added some.
    fn renewed(&self, stored: Arc<Stored>) -> PyResult<Arc<Stored>> {
        if stored.decoder.typed().is_none() {
            return Ok(stored);
        }
        let Some(renewed) = Python::attach(|py| stored.renewed(py))? else { return Ok(stored) };
        let renewed = Arc::new(renewed);
        let mut state = self.state.lock();
        if let State::Stored(known) = &mut *state
            && Arc::ptr_eq(known, &stored)
        {
            *known = Arc::clone(&renewed);
        }
        drop(state);
        // The one before goes here, where no lock is held.
        drop(stored);
        Ok(renewed)
    }

    /// The store that it is in; `None` in memory.
    pub(crate) fn stored_handle(&self) -> Option<Arc<Handle>> {
        match &*self.state.lock() {
            State::Stored(stored) => Some(Arc::clone(&stored.handle)),
            _ => None,
        }
    }

    /// The unit of its times, also once it is closed.
    fn unit(&self) -> PyResult<Unit> {
        match &*self.state.lock() {
            State::Memory(log) => Ok(log.options.unit),
            State::Stored(stored) => stored.unit(),
            State::Closed(told) => Ok(told.options.unit),
            State::New => Ok(Unit::default()),
        }
    }

    /// What is told of a log in memory even once it is closed; the defaults of one in a store.
    fn told<T>(&self, tell: impl FnOnce(&Options, &Counters) -> T) -> T {
        match &*self.state.lock() {
            State::Memory(log) => tell(&log.options, &log.counters),
            State::Closed(told) => tell(&told.options, &told.counters),
            State::Stored(_) | State::New => tell(&Options::default(), &Counters::default()),
        }
    }
}

/// The error of any use after close.
fn closed() -> PyErr {
    timelog_error("TimelogError", "Timelog is closed", None)
}

#[pymethods]
impl Timelog {
    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        match self.state.try_lock().as_deref() {
            Some(State::Memory(log)) => log.rows.for_each_held(|object| object.visit(&visit)),
            _ => Ok(()),
        }
    }

    fn __clear__(&self) {
        let removed = match &mut *self.state.lock() {
            State::Memory(log) => Some(log.rows.clear()),
            _ => None,
        };
        drop(removed);
    }
}
