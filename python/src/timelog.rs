//! `Timelog`: Python objects by timestamp.

mod arguments;

use std::cell::Cell;
use std::sync::{Arc, LazyLock};

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyList, PySlice};
use timestrata_engine::{Durability, Io};
use timestrata_models::timelog::{Selection, Timelog as TimelogModel};

use crate::codec::{decode, encode};
use crate::fork::Guarded;
use crate::handle::Handle;
use crate::interrupt::{detached, interruptible};
use crate::rows;
use crate::timelog_iterator::TimelogIter;
use crate::timestamp::timestamp;
use arguments::{Given, Slice};

static SURROUNDINGS: LazyLock<Io> = LazyLock::new(Io::os);

/// Memory for one encoded value that a thread keeps between appends.
const SCRATCH_BYTES_MAX: usize = 1 << 20;

thread_local! {
    static SCRATCH: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

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
    log: Guarded<TimelogModel>,
    handle: Arc<Handle>,
}

impl Timelog {
    pub(crate) fn new(handle: Arc<Handle>, log: TimelogModel) -> Self {
        Self { log: Guarded::new(log), handle }
    }

    /// The log of an open store of this process.
    fn log(&self) -> PyResult<&TimelogModel> {
        self.handle.store()?;
        self.log.get()
    }

    fn select<'py>(
        &self,
        py: Python<'py>,
        choose: impl FnOnce(&TimelogModel) -> timestrata_engine::Result<Selection> + Send,
    ) -> PyResult<TimelogIter> {
        let log = self.log()?;
        let selection = detached(py, || choose(log))?;
        Ok(TimelogIter::new(py, selection, log.codec()))
    }

    fn append_at(
        &self,
        time: i64,
        value: &Bound<'_, PyAny>,
        durability: Durability,
    ) -> PyResult<()> {
        let log = self.log()?;
        // Taken, not borrowed: encoding may run Python code that appends as well.
        let mut scratch = SCRATCH.take();
        scratch.clear();
        let outcome = encode(log.codec(), value, &mut scratch)
            .and_then(|()| detached(value.py(), || log.append_with(time, &scratch, durability)));
        if scratch.capacity() <= SCRATCH_BYTES_MAX {
            SCRATCH.set(scratch);
        }
        outcome.map(|_| ())
    }

    fn delete_slice(&self, py: Python<'_>, slice: &Bound<'_, PySlice>) -> PyResult<()> {
        let log = self.log()?;
        let range = Slice::read(slice, log.unit())?.range;
        let durability = self.handle.durability(false);
        detached(py, || log.delete_range_with(range, durability)).map(|_| ())
    }
}

#[pymethods]
impl Timelog {
    /// Append one object.
    ///
    /// ``append(ts, obj)`` or ``append(obj, ts=ts)`` at a time of one's own, ``append(obj)`` at
    /// the wall clock's.
    ///
    /// Parameters
    /// ----------
    /// obj_or_ts : object
    ///     The object; or the timestamp, if a second argument follows.
    /// obj_or_none : object, optional
    ///     The object, if the first argument is its timestamp. None is stored as None.
    /// ts : int or aware datetime, optional
    ///     The timestamp of a single object.
    /// sync : bool
    ///     Return only when a power cut can't take it any more.
    ///
    /// Examples
    /// --------
    /// >>> import timestrata
    /// >>> log = timestrata.open().timelog("door")
    /// >>> log.append(5, None)
    /// >>> log.append("b", ts=6, sync=True)
    /// >>> log.append("now")
    /// >>> list(log[:7])
    /// [(5, None), (6, 'b')]
    #[pyo3(signature = (obj_or_ts, obj_or_none=Given::nothing(), *, ts=None, sync=false))]
    fn append(
        &self,
        obj_or_ts: &Bound<'_, PyAny>,
        obj_or_none: Given<'_>,
        ts: Option<&Bound<'_, PyAny>>,
        sync: bool,
    ) -> PyResult<()> {
        let unit = self.log()?.unit();
        let durability = self.handle.durability(sync);
        match (obj_or_none.0, ts) {
            (None, None) => {
                let unit_ns = 1_000_000_000 / unit.per_second();
                let now = SURROUNDINGS.clock.wall_ns().div_euclid(unit_ns);
                self.append_at(now, obj_or_ts, durability)
            }
            (None, Some(ts)) => self.append_at(timestamp(ts, unit)?, obj_or_ts, durability),
            (Some(value), None) => self.append_at(timestamp(obj_or_ts, unit)?, &value, durability),
            (Some(_), Some(_)) => {
                Err(PyTypeError::new_err("append() got the timestamp twice: first, and as ts="))
            }
        }
    }

    /// Append many objects, in any order of time.
    ///
    /// ``extend(pairs)`` with an iterable of ``(ts, obj)``, or ``extend(timestamps, objects)``.
    ///
    /// Input with a length (a list, say) is one commit, kept whole or not at all, as long as it
    /// has at most 64 MiB encoded; what is longer is committed in parts of that size. An
    /// iterator is committed in parts of 8,192 rows or 1 MiB. When a row is refused, or the
    /// iterator raises, the parts before stay; a note on the exception says how many rows
    /// those are.
    ///
    /// Parameters
    /// ----------
    /// pairs_or_timestamps : iterable
    /// objects : iterable, optional
    /// sync : bool
    ///     Return only when a power cut can't take it any more.
    ///
    /// Examples
    /// --------
    /// >>> import timestrata
    /// >>> log = timestrata.open().timelog("door")
    /// >>> log.extend([(2, "b"), (1, "a")])
    /// >>> log.extend(range(3, 5), "cd")
    /// >>> list(log)
    /// [(1, 'a'), (2, 'b'), (3, 'c'), (4, 'd')]
    #[pyo3(signature = (pairs_or_timestamps, objects=None, *, sync=false))]
    fn extend(
        &self,
        pairs_or_timestamps: &Bound<'_, PyAny>,
        objects: Option<&Bound<'_, PyAny>>,
        sync: bool,
    ) -> PyResult<()> {
        rows::extend(self.log()?, pairs_or_timestamps, objects, self.handle.durability(sync))
    }

    /// Give the objects at exactly this timestamp, in the order of their appends.
    fn at<'py>(&self, ts: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyList>> {
        let (py, log) = (ts.py(), self.log()?);
        let time = timestamp(ts, log.unit())?;
        let values = detached(py, || log.at(time))?;
        let values = values.iter().map(|value| decode(log.codec(), py, value));
        PyList::new(py, values.collect::<PyResult<Vec<_>>>()?)
    }

    fn __getitem__<'py>(&self, key: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let py = key.py();
        let Ok(slice) = key.cast::<PySlice>() else {
            return self.at(key).map(Bound::into_any);
        };
        let range = Slice::read(slice, self.log()?.unit())?.or_empty();
        let entries = self.select(py, |log| log.range(range))?;
        Ok(Bound::new(py, entries)?.into_any())
    }

    fn __setitem__(&self, key: &Bound<'_, PyAny>, value: &Bound<'_, PyAny>) -> PyResult<()> {
        if key.is_instance_of::<PySlice>() {
            return Err(PyTypeError::new_err(
                "a slice can't be assigned to: delete it with del, then extend()",
            ));
        }
        let time = timestamp(key, self.log()?.unit())?;
        self.append_at(time, value, self.handle.durability(false))
    }

    fn __delitem__(&self, key: &Bound<'_, PyAny>) -> PyResult<()> {
        match key.cast::<PySlice>() {
            Ok(slice) => self.delete_slice(key.py(), slice),
            Err(_) => self.delete(key, None),
        }
    }

    /// Delete the entries at ``t1``, or those from ``t1`` to before ``t2``.
    ///
    /// Takes the same short time whatever their number, and hides only what was appended
    /// before.
    ///
    /// Examples
    /// --------
    /// >>> import timestrata
    /// >>> log = timestrata.open().timelog("door")
    /// >>> log.extend(range(5), "abcde")
    /// >>> log.delete(0)
    /// >>> log.delete(2, 4)
    /// >>> list(log)
    /// [(1, 'b'), (4, 'e')]
    #[pyo3(signature = (t1, t2=None))]
    fn delete(&self, t1: &Bound<'_, PyAny>, t2: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
        let log = self.log()?;
        let from = timestamp(t1, log.unit())?;
        let durability = self.handle.durability(false);
        match t2 {
            None => detached(t1.py(), || log.delete_range_with(from..=from, durability))?,
            Some(t2) => {
                let to = timestamp(t2, log.unit())?;
                detached(t1.py(), || log.delete_range_with(from..to, durability))?
            }
        };
        Ok(())
    }

    /// Delete everything before ``t``.
    fn cutoff(&self, t: &Bound<'_, PyAny>) -> PyResult<()> {
        let log = self.log()?;
        let to = timestamp(t, log.unit())?;
        let durability = self.handle.durability(false);
        detached(t.py(), || log.delete_range_with(..to, durability)).map(|_| ())
    }

    /// Give the first n entries, oldest first.
    #[pyo3(signature = (n=1, /))]
    fn first<'py>(&self, py: Python<'py>, n: isize) -> PyResult<Bound<'py, PyList>> {
        let log = self.log()?;
        let count = arguments::count(n)?;
        let selection = detached(py, || Ok(log.range(..)?.limit(count)))?;
        PyList::new(py, TimelogIter::collect(py, selection, log.codec())?)
    }

    /// Give the last n entries, oldest first.
    ///
    /// Examples
    /// --------
    /// >>> import timestrata
    /// >>> log = timestrata.open().timelog("door")
    /// >>> log.extend(range(5), "abcde")
    /// >>> log.last(2)
    /// [(3, 'd'), (4, 'e')]
    #[pyo3(signature = (n=1, /))]
    fn last<'py>(&self, py: Python<'py>, n: isize) -> PyResult<Bound<'py, PyList>> {
        let log = self.log()?;
        let count = arguments::count(n)?;
        let selection = detached(py, || Ok(log.range(..)?.reverse().limit(count)))?;
        let mut entries = TimelogIter::collect(py, selection, log.codec())?;
        entries.reverse();
        PyList::new(py, entries)
    }

    fn __iter__(&self, py: Python<'_>) -> PyResult<TimelogIter> {
        self.select(py, |log| log.range(..))
    }

    fn __reversed__(&self, py: Python<'_>) -> PyResult<TimelogIter> {
        self.select(py, |log| Ok(log.range(..)?.reverse()))
    }

    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        let log = self.log()?;
        Ok(usize::try_from(detached(py, || log.len())?)?)
    }

    fn __bool__(&self, py: Python<'_>) -> PyResult<bool> {
        let log = self.log()?;
        detached(py, || log.is_empty()).map(|is_empty| !is_empty)
    }

    fn __contains__(&self, ts: &Bound<'_, PyAny>) -> PyResult<bool> {
        let log = self.log()?;
        let time = timestamp(ts, log.unit())?;
        detached(ts.py(), || log.range(time..=time)?.limit(1).count()).map(|count| count > 0)
    }

    /// The smallest timestamp, or None.
    fn min_ts(&self, py: Python<'_>) -> PyResult<Option<i64>> {
        let log = self.log()?;
        detached(py, || log.min_time())
    }

    /// The greatest timestamp, or None.
    fn max_ts(&self, py: Python<'_>) -> PyResult<Option<i64>> {
        let log = self.log()?;
        detached(py, || log.max_time())
    }

    /// The smallest timestamp after ``t`` that has an entry, or None.
    #[pyo3(signature = (t, /))]
    fn next_ts(&self, t: &Bound<'_, PyAny>) -> PyResult<Option<i64>> {
        let log = self.log()?;
        let time = timestamp(t, log.unit())?;
        detached(t.py(), || log.next_time(time))
    }

    /// The greatest timestamp before ``t`` that has an entry, or None.
    #[pyo3(signature = (t, /))]
    fn prev_ts(&self, t: &Bound<'_, PyAny>) -> PyResult<Option<i64>> {
        let log = self.log()?;
        let time = timestamp(t, log.unit())?;
        detached(t.py(), || log.previous_time(time))
    }

    /// Write what is in memory to run files; of the whole store.
    fn flush(&self, py: Python<'_>) -> PyResult<()> {
        let log = self.log()?.clone();
        interruptible(py, move || log.flush())
    }

    /// Compact this log until nothing is left to do. Ctrl-C ends the waiting.
    fn compact(&self, py: Python<'_>) -> PyResult<()> {
        let log = self.log()?.clone();
        interruptible(py, move || log.compact())
    }

    /// Make every commit of the store so far survive a power cut.
    fn sync(&self, py: Python<'_>) -> PyResult<()> {
        let log = self.log()?;
        detached(py, || log.sync()).map(|_| ())
    }

    /// Its name.
    #[getter]
    fn name(&self) -> PyResult<&str> {
        Ok(self.log.get()?.name())
    }

    /// How its values are stored: "cbor" or "bytes".
    #[getter]
    fn codec(&self) -> PyResult<&'static str> {
        Ok(self.log.get()?.codec().name())
    }

    /// The unit of its timestamps: "s", "ms", "us" or "ns".
    #[getter]
    fn unit(&self) -> PyResult<&'static str> {
        Ok(self.log.get()?.unit().name())
    }

    /// Whether its store was closed.
    #[getter]
    fn closed(&self) -> bool {
        self.handle.is_closed()
    }

    fn __repr__(&self) -> String {
        let Ok(log) = self.log.get() else {
            return "<Timelog of the parent process>".to_owned();
        };
        let closed = if self.handle.is_closed() { " closed" } else { "" };
        format!("<Timelog '{}' codec={} unit={}{closed}>", log.name(), log.codec(), log.unit())
    }
}
