//! `TimelogTail`: entries of a time log as they come.

mod memory;
mod stored;

use std::sync::Arc;
use std::time::Duration;

use pyo3::exceptions::PyValueError;
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use timestrata_timelog::{TailCursor, TailOptions};

use self::memory::MemoryTail;
pub(super) use self::memory::Tails;
use self::stored::StoredTail;
use super::{State, Timelog, closed};
use crate::awaiting;
use crate::error::{invalid, to_python};
use crate::interrupt::next_followed;
use crate::settings::span_ns;

/// Follows a time log: each entry that comes, as ``(timestamp, object)``. Made by `Timelog.tail`.
///
/// Iterate over it, also with ``async for``: it waits for entries until the log is closed, and then ends. Commits wake it;
/// beside a process that writes it looks each ``interval``. One that isn't read costs nothing, but for late entries of a log
/// in memory: a million of them wait, and then `HistoryLostError` is raised.
///
/// Examples
/// --------
/// >>> import timestrata
/// >>> store = timestrata.open()
/// >>> door = store.timelog("door")
/// >>> tail = door.tail()
/// >>> door.extend([(5, "opened"), (9, "closed")])
/// >>> next(tail)
/// (5, 'opened')
/// >>> place = tail.cursor
/// >>> next(door.tail(after=place))
/// (9, 'closed')
/// >>> store.close()
/// >>> list(tail)
/// [(9, 'closed')]
#[pyclass(frozen, module = "timestrata", weakref)]
#[derive(Debug)]
pub(crate) struct TimelogTail {
    log: Py<Timelog>,
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    Memory(MemoryTail),
    Stored(Box<StoredTail>),
}

/// What came of a look.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Found {
    Some,
    Nothing,
    Closed,
}

/// What a tail is asked to be.
pub(super) struct TailWanted<'a, 'py> {
    pub(super) since: Option<&'a Bound<'py, PyAny>>,
    pub(super) after: Option<&'a str>,
    pub(super) late: bool,
    pub(super) name: Option<String>,
    pub(super) interval: f64,
}

impl TimelogTail {
    pub(super) fn begin(log: &Bound<'_, Timelog>, wanted: TailWanted<'_, '_>) -> PyResult<Self> {
        let TailWanted { since, after, late, name, interval } = wanted;
        if interval.is_nan() || interval <= 0.0 {
            return Err(PyValueError::new_err(format!("interval must be > 0, not {interval}")));
        }
        let look_every = span_ns("interval", Some(interval))?.map(Duration::from_nanos);
        if name.is_some() && !late {
            return Err(invalid(
                "a place that the store keeps is one in the order of commits: say late=True as well, or keep \
                 tail.cursor yourself",
            ));
        }
        if since.is_some() && after.is_some() {
            return Err(invalid("a tail begins since a time or after a place, not both"));
        }
        if name.is_some() && after.is_some() {
            return Err(invalid("a tail with a name begins where it has saved: leave out after"));
        }
        let since = since.map(|since| log.get().time(since)).transpose()?;
        let after = after.map(str::parse::<TailCursor>).transpose().map_err(to_python)?;
        let stored = match &*log.get().state.lock() {
            State::Memory(_) => None,
            State::Stored(stored) => Some(Arc::clone(stored)),
            State::Closed(_) | State::New => return Err(closed()),
        };
        let kind = match stored {
            Some(stored) => {
                let stored = log.get().renewed(stored)?;
                let options = TailOptions { since, after, late, look_every };
                Kind::Stored(Box::new(StoredTail::begin(log.py(), stored, options, name)?))
            }
            None if name.is_some() => {
                return Err(invalid("a log in memory keeps no places: leave out name"));
            }
            None => Kind::Memory(in_memory(log.get(), since, after, late)?),
        };
        Ok(Self { log: log.clone().unbind(), kind })
    }

    fn look(&self, py: Python<'_>, timeout: Duration) -> PyResult<Found> {
        let of = |found: bool| if found { Found::Some } else { Found::Nothing };
        match &self.kind {
            Kind::Memory(tail) => tail.fill(py, self.log.get(), timeout).map(|found| match found {
                None => Found::Closed,
                Some(found) => of(found),
            }),
            Kind::Stored(tail) => Ok(tail.fill(py, timeout)?.map_or(Found::Closed, of)),
        }
    }

    fn take<'py>(&self, py: Python<'py>) -> PyResult<Option<(i64, Bound<'py, PyAny>)>> {
        match &self.kind {
            Kind::Memory(tail) => {
                Ok(tail.take().map(|(time, object)| (time, object.into_bound(py))))
            }
            Kind::Stored(tail) => tail.take(py),
        }
    }
}

/// The tail of a log in memory.
fn in_memory(
    log: &Timelog,
    since: Option<i64>,
    after: Option<TailCursor>,
    late: bool,
) -> PyResult<MemoryTail> {
    let place = match after {
        None => since.map(|since| (since, 0)),
        Some(after) => {
            let place = after.time_place().filter(|_| !late);
            Some(place.ok_or_else(|| {
                invalid(
                    "a log in memory goes on behind a place by time only: leave out after, or late",
                )
            })?)
        }
    };
    match log.ask(|log| MemoryTail::begin(log, place, late))? {
        super::Asked::Answer(tail) => Ok(tail),
        super::Asked::Of(_) => Err(closed()),
    }
}

#[pymethods]
impl TimelogTail {
    /// The place behind the last entry that was given, as text: ``log.tail(after=...)`` goes on there, also in another process. With
    /// late entries it needs ``late=True`` again, and is good as long as the store keeps its history. None for late entries of a log
    /// in memory.
    #[getter]
    fn cursor(&self) -> Option<String> {
        match &self.kind {
            Kind::Memory(tail) => tail.cursor(),
            Kind::Stored(tail) => Some(tail.cursor()),
        }
    }

    /// Note durably that all is done that was given so far: a tail of this name goes on behind it. Of a commit that was given in part all
    /// is given again.
    ///
    /// Raises
    /// ------
    /// InvalidArgumentError
    ///     It has no name.
    /// ReadOnlyError
    ///     The store was opened for reading.
    fn save(&self, py: Python<'_>) -> PyResult<()> {
        match &self.kind {
            Kind::Memory(_) => Err(invalid("only a tail with a name notes how far it has come")),
            Kind::Stored(tail) => tail.save(py),
        }
    }

    /// Wait for entries, so many seconds at most; False once none will come. For ``async for``.
    fn _fill(&self, py: Python<'_>, seconds: f64) -> PyResult<bool> {
        let timeout = span_ns("seconds", Some(seconds))?.map(Duration::from_nanos);
        Ok(self.look(py, timeout.unwrap_or_default())? != Found::Closed)
    }

    /// The next entry of those that are there. For ``async for``.
    fn _take<'py>(&self, py: Python<'py>) -> PyResult<Option<(i64, Bound<'py, PyAny>)>> {
        self.take(py)
    }

    fn __iter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<(i64, Bound<'py, PyAny>)>> {
        next_followed(py, || self.take(py), |timeout| Ok(self.look(py, timeout)? != Found::Closed))
    }

    fn __aiter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    fn __anext__<'py>(slf: Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        awaiting::next(&slf, "next_followed")
    }

    fn __repr__(&self) -> String {
        match self.cursor() {
            Some(cursor) => format!("<TimelogTail behind {cursor}>"),
            None => "<TimelogTail>".to_owned(),
        }
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.log)?;
        match &self.kind {
            Kind::Memory(tail) => tail.traverse(&visit),
            Kind::Stored(_) => Ok(()),
        }
    }

    fn __clear__(&self) {
        if let Kind::Memory(tail) = &self.kind {
            tail.clear();
        }
    }
}
