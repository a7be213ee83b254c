//! Reading: slices, times, counts.

use pyo3::prelude::*;
use pyo3::types::{PyInt, PyList, PySlice};
use timestrata_timelog::memory::Found;

use super::arguments::{self, TimeRange, raw_time, whole_number};
use super::iterator::TimelogIter;
use super::pairs::list_of;
use super::tail::{TailWanted, TimelogTail};
use super::{Asked, Timelog, Times, closed};
use crate::timestamp::{out_of_range, timestamp};

impl Timelog {
    /// A timestamp given by the caller.
    #[inline]
    pub(super) fn time(&self, value: &Bound<'_, PyAny>) -> PyResult<i64> {
        if value.is_exact_instance_of::<PyInt>() {
            return value.extract().map_err(|_| out_of_range(value));
        }
        self.time_of_other(value)
    }

    /// A time that is no plain int.
    fn time_of_other(&self, value: &Bound<'_, PyAny>) -> PyResult<i64> {
        if self.times == Times::WholeNumbers {
            whole_number(value)?;
        }
        timestamp(value, self.unit()?)
    }

    /// As [`Timelog::raw`], of a method that says first that a log is closed.
    pub(super) fn raw_of_open(&self, value: &Bound<'_, PyAny>) -> PyResult<i64> {
        self.raw(value).map_err(|error| if self.closed() { closed() } else { error })
    }

    pub(super) fn raw(&self, value: &Bound<'_, PyAny>) -> PyResult<i64> {
        if value.is_exact_instance_of::<PyInt>() {
            return value.extract().map_err(|_| out_of_range(value));
        }
        if self.times == Times::WholeNumbers {
            whole_number(value)?;
        }
        raw_time(value, self.unit()?)
    }

    pub(super) fn entries(
        slf: &Bound<'_, Self>,
        range: TimeRange,
        is_reversed: bool,
    ) -> PyResult<TimelogIter> {
        let owner = slf.clone().unbind();
        match slf.get().ask(|log| (log.rows.slice(range.bounds()), log.reader()))? {
            Asked::Answer((slice, reader)) => {
                Ok(TimelogIter::objects(slf.py(), slice, is_reversed, owner, reader, range))
            }
            Asked::Of(stored) => {
                let chosen = stored.ask(slf.py(), |log| log.range(range.bounds()))?;
                let chosen = if is_reversed { chosen.reverse() } else { chosen };
                let decoder = stored.decoder.clone();
                Ok(TimelogIter::stored(slf.py(), chosen, decoder, owner, range))
            }
        }
    }

    pub(super) fn few<'py>(
        &self,
        py: Python<'py>,
        n: isize,
        from_the_end: bool,
    ) -> PyResult<Bound<'py, PyList>> {
        let count = arguments::count(n)?;
        let rows = self.ask(|log| match from_the_end {
            true => log.rows.last(count),
            false => log.rows.first(count),
        })?;
        match rows {
            Asked::Of(stored) => stored.few(py, count, from_the_end),
            Asked::Answer(slice) => list_of(py, &slice.parts().cloned().collect::<Vec<_>>(), false),
        }
    }
}

#[pymethods]
impl Timelog {
    /// Give the objects at exactly this timestamp, in the order of their appends.
    ///
    /// Examples
    /// --------
    /// >>> import timestrata
    /// >>> door = timestrata.open().timelog("door")
    /// >>> door.extend([(1, "opened"), (5, "closed"), (9, "opened")])
    /// >>> door.at(5), door.at(6)
    /// (['closed'], [])
    fn at<'py>(&self, ts: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyList>> {
        let (py, time) = (ts.py(), self.time(ts)?);
        match self.ask(|log| log.rows.at(time))? {
            Asked::Answer(Found::Nothing) => Ok(PyList::empty(py)),
            Asked::Answer(Found::One(object)) => PyList::new(py, [object.into_bound(py)]),
            Asked::Answer(Found::Several(objects)) => {
                PyList::new(py, objects.into_iter().map(|object| object.into_bound(py)))
            }
            Asked::Of(stored) => stored.at(py, time),
        }
    }

    fn __getitem__<'py>(
        slf: &Bound<'py, Self>,
        key: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        // A time is told by its own type: a failed cast to a slice would cost more than finding it.
        if key.is_exact_instance_of::<PyInt>() {
            return slf.get().at(key).map(Bound::into_any);
        }
        let Ok(slice) = key.cast::<PySlice>() else {
            return slf.get().at(key).map(Bound::into_any);
        };
        let range = TimeRange::of_slice(slice, |end| slf.get().time(end))?.or_empty();
        Ok(Bound::new(key.py(), Self::entries(slf, range, false)?)?.into_any())
    }

    /// Give the entries from ``t1`` to before ``t2``.
    ///
    /// Examples
    /// --------
    /// >>> import timestrata
    /// >>> door = timestrata.open().timelog("door")
    /// >>> door.extend([(1, "opened"), (5, "closed"), (9, "opened")])
    /// >>> list(door.range(1, 9))
    /// [(1, 'opened'), (5, 'closed')]
    #[pyo3(signature = (t1, t2, /))]
    fn range(
        slf: &Bound<'_, Self>,
        t1: &Bound<'_, PyAny>,
        t2: &Bound<'_, PyAny>,
    ) -> PyResult<TimelogIter> {
        let range = TimeRange::between(slf.get().raw(t1)?, slf.get().raw(t2)?);
        Self::entries(slf, range.not_reversed()?, false)
    }

    /// Give the entries from ``t`` on.
    ///
    /// Examples
    /// --------
    /// >>> import timestrata
    /// >>> door = timestrata.open().timelog("door")
    /// >>> door.extend([(1, "opened"), (5, "closed"), (9, "opened")])
    /// >>> list(door.since(5))
    /// [(5, 'closed'), (9, 'opened')]
    #[pyo3(signature = (t, /))]
    fn since(slf: &Bound<'_, Self>, t: &Bound<'_, PyAny>) -> PyResult<TimelogIter> {
        Self::entries(slf, TimeRange::of(Some(slf.get().raw(t)?), None), false)
    }

    /// Give the entries before ``t``.
    ///
    /// Examples
    /// --------
    /// >>> import timestrata
    /// >>> door = timestrata.open().timelog("door")
    /// >>> door.extend([(1, "opened"), (5, "closed"), (9, "opened")])
    /// >>> list(door.until(5))
    /// [(1, 'opened')]
    #[pyo3(signature = (t, /))]
    fn until(slf: &Bound<'_, Self>, t: &Bound<'_, PyAny>) -> PyResult<TimelogIter> {
        Self::entries(slf, TimeRange::of(None, Some(slf.get().raw(t)?)), false)
    }

    /// Give all entries.
    fn all(slf: &Bound<'_, Self>) -> PyResult<TimelogIter> {
        Self::entries(slf, TimeRange::ALL, false)
    }

    /// Give the entries at exactly ``t``.
    #[pyo3(signature = (t, /))]
    fn equal(slf: &Bound<'_, Self>, t: &Bound<'_, PyAny>) -> PyResult<TimelogIter> {
        Self::entries(slf, TimeRange::at(slf.get().raw(t)?), false)
    }

    /// The same as `equal`.
    #[pyo3(signature = (t, /))]
    fn point(slf: &Bound<'_, Self>, t: &Bound<'_, PyAny>) -> PyResult<TimelogIter> {
        Self::equal(slf, t)
    }

    fn __iter__(slf: &Bound<'_, Self>) -> PyResult<TimelogIter> {
        Self::entries(slf, TimeRange::ALL, false)
    }

    fn __reversed__(slf: &Bound<'_, Self>) -> PyResult<TimelogIter> {
        Self::entries(slf, TimeRange::ALL, true)
    }

    /// Give the first n entries, oldest first.
    ///
    /// Examples
    /// --------
    /// >>> import timestrata
    /// >>> door = timestrata.open().timelog("door")
    /// >>> door.extend([(1, "opened"), (5, "closed"), (9, "opened")])
    /// >>> door.first(2)
    /// [(1, 'opened'), (5, 'closed')]
    #[pyo3(signature = (n=1, /))]
    fn first<'py>(&self, py: Python<'py>, n: isize) -> PyResult<Bound<'py, PyList>> {
        self.few(py, n, false)
    }

    /// Give the last n entries, oldest first.
    ///
    /// Examples
    /// --------
    /// >>> import timestrata
    /// >>> log = timestrata.Timelog()
    /// >>> log.extend(range(5), "abcde")
    /// >>> log.last(2)
    /// [(3, 'd'), (4, 'e')]
    #[pyo3(signature = (n=1, /))]
    fn last<'py>(&self, py: Python<'py>, n: isize) -> PyResult<Bound<'py, PyList>> {
        self.few(py, n, true)
    }

    /// Follow the log: ``for time, value in log.tail(): ...``, also with ``async for``.
    ///
    /// By time, an entry that comes late, before one that was given, has been passed and is not given; what is deleted before it is
    /// read is not given either, and a place never grows too old. With ``late`` all entries are given that commits add, each once and in
    /// the order of commits, those too that were deleted since; how far back a place may lie the setting ``history_min`` says.
    ///
    /// Parameters
    /// ----------
    /// since : int or datetime, optional
    ///     Begin with the entries from here on; unless given, with what comes from now on.
    /// after : str, optional
    ///     Go on behind a place that a tail has told (`TimelogTail.cursor`), in place of ``since``.
    /// late : bool
    ///     Whether to give entries that come late too. A store in memory can't, as it keeps no history.
    /// name : str, optional
    ///     The store keeps how far a tail of this name has come (`TimelogTail.save`), and what it has not seen, as of followers by name
    ///     (`Store.changes`); takes ``late=True``. One that is new begins with ``since``, or now.
    /// interval : float
    ///     Seconds between two looks at a store that another process writes. All others are woken by commits.
    ///
    /// Returns
    /// -------
    /// TimelogTail
    ///
    /// Raises
    /// ------
    /// HistoryLostError
    ///     Not all is kept that comes behind the place of a tail with late entries.
    ///
    /// Examples
    /// --------
    /// >>> import asyncio, timestrata
    /// >>> log = timestrata.Timelog()
    /// >>> log.extend([(1, "a"), (2, "b")])
    /// >>> async def first():
    /// ...     async for entry in log.tail(since=0):
    /// ...         return entry
    /// >>> asyncio.run(first())
    /// (1, 'a')
    #[pyo3(signature = (since=None, *, after=None, late=false, name=None, interval=0.05))]
    fn tail(
        slf: &Bound<'_, Self>,
        since: Option<&Bound<'_, PyAny>>,
        after: Option<&str>,
        late: bool,
        name: Option<String>,
        interval: f64,
    ) -> PyResult<TimelogTail> {
        TimelogTail::begin(slf, TailWanted { since, after, late, name, interval })
    }

    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        let rows = self.ask(|log| log.rows.len())?.or_ask(py, |log| log.len())?;
        Ok(usize::try_from(rows)?)
    }

    fn __bool__(&self, py: Python<'_>) -> PyResult<bool> {
        Ok(!self.ask(|log| log.rows.is_empty())?.or_ask(py, |log| log.is_empty())?)
    }

    fn __contains__(&self, ts: &Bound<'_, PyAny>) -> PyResult<bool> {
        let time = self.time(ts)?;
        self.ask(|log| log.rows.contains(time))?
            .or_ask(ts.py(), |log| Ok(log.range(time..=time)?.limit(1).count()? > 0))
    }

    /// The smallest timestamp, or None.
    ///
    /// Examples
    /// --------
    /// >>> import timestrata
    /// >>> door = timestrata.open().timelog("door")
    /// >>> door.extend([(1, "opened"), (5, "closed"), (9, "opened")])
    /// >>> door.min_ts(), door.max_ts()
    /// (1, 9)
    fn min_ts(&self, py: Python<'_>) -> PyResult<Option<i64>> {
        self.ask(|log| log.rows.min_time())?.or_ask(py, |log| log.min_time())
    }

    /// The greatest timestamp, or None.
    fn max_ts(&self, py: Python<'_>) -> PyResult<Option<i64>> {
        self.ask(|log| log.rows.max_time())?.or_ask(py, |log| log.max_time())
    }

    /// The smallest timestamp after ``t`` that has an entry, or None.
    #[pyo3(signature = (t, /))]
    fn next_ts(&self, t: &Bound<'_, PyAny>) -> PyResult<Option<i64>> {
        let time = self.raw_of_open(t)?;
        self.ask(|log| log.rows.next_time(time))?.or_ask(t.py(), |log| log.next_time(time))
    }

    /// The greatest timestamp before ``t`` that has an entry, or None.
    #[pyo3(signature = (t, /))]
    fn prev_ts(&self, t: &Bound<'_, PyAny>) -> PyResult<Option<i64>> {
        let time = self.raw_of_open(t)?;
        self.ask(|log| log.rows.previous_time(time))?.or_ask(t.py(), |log| log.previous_time(time))
    }
}
