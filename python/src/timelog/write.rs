//! Writing: appends, bulk loads, deletes.

use std::sync::LazyLock;

use pyo3::buffer::{PyBuffer, PyUntypedBuffer};
use pyo3::exceptions::{
    PyBufferError, PyOverflowError, PyRuntimeWarning, PyTypeError, PyValueError,
};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PyMemoryView, PySlice, PyString, PyTuple};
use timestrata_engine::Io;
use timestrata_timelog::Unit;
use timestrata_timelog::memory::Removed;

use super::arguments::{AnyObject, TimeRange};
use super::lifecycle::flag;
use super::memory::After;
use super::object::Object;
use super::{Asked, State, Timelog, Times, closed};
use crate::error::{timelog_error, wrong_type};
use crate::interrupt::{SIGNAL_ROWS, Turns};
use crate::rows;
use crate::timestamp::timestamp;
use crate::typed::is_arrow;

static SURROUNDINGS: LazyLock<Io> = LazyLock::new(Io::os);

/// Rows of an iterator that are stored at once.
const CHUNK_ROWS: usize = 1024;
/// Rows that are stored before other threads have their turn: some milliseconds.
const TURN_ROWS: usize = 1 << 16;

impl Timelog {
    /// Drops what a write let go of, and says if it found the queue full.
    fn finish(after: After) -> PyResult<()> {
        drop(after.removed);
        if !after.is_busy {
            return Ok(());
        }
        Err(timelog_error(
            "TimelogBusyError",
            "the queue of flushes is full. All records were committed: do not write them again",
            Some("call flush(), or choose busy_policy='flush'"),
        ))
    }

    fn append_at(&self, time: i64, object: &Bound<'_, PyAny>, sync: bool) -> PyResult<()> {
        let mut state = self.state.lock();
        match &mut *state {
            State::Memory(log) => {
                log.options.check_floor(time)?;
                if !log.append(time, Object::of(object)) {
                    return Ok(());
                }
                let after = log.after_write();
                drop(state);
                Self::finish(after)
            }
            State::Stored(stored) => {
                let stored = std::sync::Arc::clone(stored);
                drop(state);
                let stored = self.renewed(stored)?;
                stored.append(time, object, stored.durability(sync))
            }
            State::Closed(told) => {
                told.options.check_floor(time)?;
                Err(closed())
            }
            State::New => Err(closed()),
        }
    }

    /// Stores rows of a log in memory, all or none. `rows` is empty then, but where none were.
    fn store(
        &self,
        py: Python<'_>,
        rows: &mut Vec<(i64, Object)>,
        turns: &mut Turns,
    ) -> PyResult<()> {
        let mut is_checked = false;
        let (mut done, mut busy) = (0, Ok(()));
        // What is left goes where no lock is held, also if the log is closed between two parts.
        let mut rows = std::mem::take(rows).into_iter();
        loop {
            let mut state = self.state.lock();
            let State::Memory(log) = &mut *state else { return Err(closed()) };
            if !is_checked {
                let floors = rows.as_slice().iter();
                floors.map(|(time, _)| *time).try_for_each(|time| log.options.check_floor(time))?;
                is_checked = true;
            }
            let mut is_full = false;
            let before = done;
            for (time, object) in rows.by_ref().take(TURN_ROWS) {
                is_full |= log.append(time, object);
                done += 1;
            }
            let after = if is_full { log.after_write() } else { After::default() };
            drop(state);
            busy = Self::finish(after).and(busy);
            if done - before < TURN_ROWS || rows.len() == 0 {
                return busy;
            }
            // What other threads see of the rows are the first ones.
            turns.give(py);
        }
    }

    fn delete_range_of(&self, py: Python<'_>, range: TimeRange) -> PyResult<()> {
        let range = range.not_reversed()?;
        match self.ask(|log| log.delete(range.bounds()))? {
            Asked::Answer(removed) => drop::<Removed<Object>>(removed),
            Asked::Of(stored) => {
                let durability = stored.durability(false);
                stored.ask(py, |log| log.delete_range_with(range.bounds(), durability))?;
            }
        }
        Ok(())
    }

    fn count_skipped(&self, py: Python<'_>, skipped: u64) -> PyResult<()> {
        if skipped == 0 {
            return Ok(());
        }
        if let State::Memory(log) = &mut *self.state.lock() {
            log.counters.skipped += skipped;
        }
        let message = std::ffi::CString::new(format!(
            "extend() skipped {skipped} record(s) with invalid timestamps; \
             pass insert_on_error=False to refuse them"
        ))?;
        PyErr::warn(py, &py.get_type::<PyRuntimeWarning>(), &message, 1)
    }
}

/// Rows on their way from Python into a log in memory.
struct MemoryWriter<'a> {
    log: &'a Timelog,
    unit: Unit,
    rows: Vec<(i64, Object)>,
    skips: bool,
    skipped: u64,
    taken: usize,
    turns: Turns,
    /// Rows after which those so far are stored.
    chunk_rows: usize,
    /// The write that filled the queue of flushes: told when all is stored.
    busy: Option<PyErr>,
}

impl MemoryWriter<'_> {
    fn time(&self, time: &Bound<'_, PyAny>) -> PyResult<i64> {
        match self.log.times {
            Times::Any => timestamp(time, self.unit),
            Times::WholeNumbers => self.log.time(time),
        }
    }

    fn push(&mut self, time: &Bound<'_, PyAny>, object: &Bound<'_, PyAny>) -> PyResult<()> {
        let py = time.py();
        let time = match self.time(time) {
            Ok(time) => time,
            Err(error)
                if self.skips
                    && (error.is_instance_of::<PyTypeError>(py)
                        || error.is_instance_of::<PyOverflowError>(py)) =>
            {
                self.skipped += 1;
                return Ok(());
            }
            Err(error) => return Err(error),
        };
        self.rows.push((time, Object::of(object)));
        if self.rows.len() >= self.chunk_rows {
            self.store(py)?;
        }
        self.taken += 1;
        if self.taken.is_multiple_of(SIGNAL_ROWS) {
            py.check_signals()?;
            // An iterator of no Python code never lets other threads have their turn.
            self.turns.give(py);
        }
        Ok(())
    }

    fn store(&mut self, py: Python<'_>) -> PyResult<()> {
        match self.log.store(py, &mut self.rows, &mut self.turns) {
            Err(error) if self.rows.is_empty() && is_busy(py, &error) => {
                self.busy = Some(error);
                Ok(())
            }
            stored => stored,
        }
    }
}

fn is_busy(py: Python<'_>, error: &PyErr) -> bool {
    error.get_type(py).name().is_ok_and(|name| name == "TimelogBusyError")
}

impl Timelog {
    fn extend_in_memory(
        &self,
        rows: &Bound<'_, PyAny>,
        objects: Option<&Bound<'_, PyAny>>,
        skips: bool,
        is_atomic: Option<bool>,
    ) -> PyResult<()> {
        let py = rows.py();
        let is_sized = rows::is_sized(rows, objects)?;
        let is_atomic = is_atomic.unwrap_or(is_sized);
        if !is_atomic && !skips {
            return Err(PyTypeError::new_err(
                "extend(insert_on_error=False) needs input with a length, a list for instance",
            ));
        }
        let mut writer = MemoryWriter {
            log: self,
            unit: self.unit()?,
            rows: Vec::with_capacity(rows.len().unwrap_or_default()),
            skips,
            skipped: 0,
            taken: 0,
            turns: Turns::new(),
            chunk_rows: if is_atomic { usize::MAX } else { CHUNK_ROWS },
            busy: None,
        };
        let written = rows::for_each(rows, objects, |time, object| writer.push(time, object));
        let stored = written.and_then(|()| writer.store(py));
        let MemoryWriter { skipped, busy, .. } = writer;
        stored.and(self.count_skipped(py, skipped))?;
        busy.map_or(Ok(()), Err)
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
    ///     The timestamp of a single object. Ignored if a second argument was given.
    /// sync : bool
    ///     Return only when a power cut can't take it any more, where a store keeps it.
    ///
    /// Examples
    /// --------
    /// >>> import timestrata
    /// >>> log = timestrata.Timelog()
    /// >>> log.append(5, None)
    /// >>> log.append("b", ts=6)
    /// >>> log.append("now")
    /// >>> list(log[:7])
    /// [(5, None), (6, 'b')]
    #[pyo3(signature = (obj_or_ts, obj_or_none=AnyObject::nothing(), *, ts=None, sync=false))]
    pub(super) fn append(
        &self,
        obj_or_ts: &Bound<'_, PyAny>,
        obj_or_none: AnyObject<'_>,
        ts: Option<&Bound<'_, PyAny>>,
        sync: bool,
    ) -> PyResult<()> {
        match (obj_or_none.0, ts) {
            (Some(object), _) => self.append_at(self.time(obj_or_ts)?, &object, sync),
            (None, Some(ts)) => self.append_at(self.time(ts)?, obj_or_ts, sync),
            (None, None) => {
                let unit_ns = 1_000_000_000 / self.unit()?.per_second();
                let now = SURROUNDINGS.clock.wall_ns().div_euclid(unit_ns);
                self.append_at(now, obj_or_ts, sync)
            }
        }
    }

    /// Append many objects, in any order of time.
    ///
    /// ``extend(pairs)`` with an iterable of ``(ts, obj)``, or ``extend(timestamps, objects)``. A
    /// log of codec "arrow" takes Arrow data too (anything with ``__arrow_c_stream__`` or
    /// ``__arrow_c_array__``: a column ``time``, and those of its schema), a commit a batch; and
    /// arrays of numbers as timestamps and objects.
    ///
    /// Input with a length is stored whole or not at all: where a store keeps the log, as one commit,
    /// however long it is (beyond 64 MiB encoded it goes straight to files). An iterator is stored in
    /// parts, in memory of 1,024 rows, in a store of 8,192 rows or 1 MiB, of which those before an
    /// error stay; a note on the exception says how many rows are stored. Arrow data is a commit a batch.
    ///
    /// Parameters
    /// ----------
    /// pairs_or_timestamps : iterable
    /// objects : iterable, optional
    /// mostly_ordered : bool, optional
    ///     A hint; order is always checked.
    /// insert_on_error : bool, optional
    ///     True: skip rows whose timestamp is of a wrong type or outside of 64 bits, with one
    ///     RuntimeWarning. False: refuse the whole input, which must have a length. Default:
    ///     True in memory, False where a store keeps the log.
    /// atomic : bool, optional
    ///     Whether all of it is one commit. Default: as said above.
    /// sync : bool
    ///     Return only when a power cut can't take it any more, where a store keeps it.
    ///
    /// Examples
    /// --------
    /// >>> import timestrata
    /// >>> log = timestrata.Timelog()
    /// >>> log.extend([(2, "b"), (1, "a")])
    /// >>> log.extend(range(3, 5), "cd")
    /// >>> list(log)
    /// [(1, 'a'), (2, 'b'), (3, 'c'), (4, 'd')]
    #[pyo3(signature = (pairs_or_timestamps, objects=None, *, mostly_ordered=None,
                        insert_on_error=None, atomic=None, sync=false))]
    pub(super) fn extend(
        &self,
        pairs_or_timestamps: &Bound<'_, PyAny>,
        objects: Option<&Bound<'_, PyAny>>,
        mostly_ordered: Option<&Bound<'_, PyAny>>,
        insert_on_error: Option<&Bound<'_, PyAny>>,
        atomic: Option<&Bound<'_, PyAny>>,
        sync: bool,
    ) -> PyResult<()> {
        flag("mostly_ordered", mostly_ordered)?;
        let skips = flag("insert_on_error", insert_on_error)?;
        let is_atomic = flag("atomic", atomic)?;
        match self.ask(|_| ())? {
            Asked::Answer(()) => {
                let skips = skips.unwrap_or(true);
                self.extend_in_memory(pairs_or_timestamps, objects, skips, is_atomic)
            }
            Asked::Of(stored) => {
                let durability = stored.durability(sync);
                if skips == Some(true) {
                    return Err(PyValueError::new_err(
                        "insert_on_error=True: a log that a store keeps skips no row",
                    ));
                }
                if let Some(typed) = stored.decoder.typed() {
                    if objects.is_none() && is_arrow(pairs_or_timestamps)? {
                        let is_atomic = is_atomic.unwrap_or(false);
                        let rows = pairs_or_timestamps;
                        return stored.extend_arrow(typed, rows, is_atomic, durability);
                    }
                    if let Some(objects) = objects
                        && let Ok(times) = times_of(pairs_or_timestamps)
                        && stored.extend_buffer(typed, &times, objects, durability)?
                    {
                        return Ok(());
                    }
                }
                let log = stored.log()?;
                let (decoder, rows) = (&stored.decoder, pairs_or_timestamps);
                rows::extend(log, decoder, rows, objects, is_atomic, durability)
            }
        }
    }

    /// Append many objects whose timestamps lie side by side in memory; all or none.
    ///
    /// Parameters
    /// ----------
    /// timestamps : buffer
    ///     One-dimensional, contiguous, of native 64-bit integers: a numpy int64 array, an
    ///     ``array('q')``, a memoryview of one.
    /// objects : list or tuple
    ///     As many.
    ///
    /// Examples
    /// --------
    /// >>> import array, timestrata
    /// >>> log = timestrata.Timelog()
    /// >>> log.bulk_append(array.array("q", [1, 2]), ["a", "b"])
    /// >>> list(log)
    /// [(1, 'a'), (2, 'b')]
    #[pyo3(signature = (timestamps, objects, *, mostly_ordered=None))]
    pub(super) fn bulk_append(
        &self,
        timestamps: &Bound<'_, PyAny>,
        objects: &Bound<'_, PyAny>,
        mostly_ordered: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        flag("mostly_ordered", mostly_ordered)?;
        let times = times_of(timestamps)?;
        if let Asked::Of(stored) = self.ask(|_| ())?
            && let Some(typed) = stored.decoder.typed()
            && stored.extend_buffer(typed, &times, objects, stored.durability(false))?
        {
            return Ok(());
        }
        let values = objects_of(objects)?;
        if times.len() != values.len() {
            return Err(rows::different_lengths(times.len(), values.len()));
        }
        match self.ask(|_| ())? {
            Asked::Answer(()) => {
                let mut rows = times.into_iter().zip(values).collect();
                self.store(timestamps.py(), &mut rows, &mut Turns::new())
            }
            Asked::Of(stored) => {
                let py = timestamps.py();
                let objects = values.iter().map(|object| object.bind(py).clone());
                let times = PyList::new(py, times)?;
                let objects = PyList::new(py, objects.collect::<Vec<_>>())?;
                let durability = stored.durability(false);
                let (log, objects) = (stored.log()?, Some(objects.as_any()));
                rows::extend(log, &stored.decoder, &times, objects, None, durability)
            }
        }
    }

    fn __setitem__(&self, key: &Bound<'_, PyAny>, value: &Bound<'_, PyAny>) -> PyResult<()> {
        if key.is_instance_of::<PySlice>() {
            return Err(PyTypeError::new_err(
                "a slice can't be assigned to: delete it with del, then extend()",
            ));
        }
        self.append_at(self.time(key)?, value, false)
    }

    fn __delitem__(&self, key: &Bound<'_, PyAny>) -> PyResult<()> {
        let Ok(slice) = key.cast::<PySlice>() else { return self.delete(key, None) };
        self.delete_range_of(key.py(), TimeRange::of_slice(slice, |end| self.time(end))?)
    }

    /// Delete the entries at ``t1``, or those from ``t1`` to before ``t2``.
    ///
    /// Hides only what was appended before.
    ///
    /// Examples
    /// --------
    /// >>> import timestrata
    /// >>> log = timestrata.Timelog()
    /// >>> log.extend(range(5), "abcde")
    /// >>> log.delete(0)
    /// >>> log.delete(2, 4)
    /// >>> list(log)
    /// [(1, 'b'), (4, 'e')]
    #[pyo3(signature = (t1, t2=None))]
    fn delete(&self, t1: &Bound<'_, PyAny>, t2: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
        let from = self.time(t1)?;
        let range = match t2 {
            None => TimeRange::at(from),
            Some(t2) => TimeRange::between(from, self.time(t2)?),
        };
        self.delete_range_of(t1.py(), range)
    }

    /// Delete everything before ``ts``.
    ///
    /// Examples
    /// --------
    /// >>> import timestrata
    /// >>> door = timestrata.open().timelog("door")
    /// >>> door.extend([(1, "opened"), (5, "closed"), (9, "opened")])
    /// >>> door.cutoff(9)
    /// >>> list(door)
    /// [(9, 'opened')]
    fn cutoff(&self, ts: &Bound<'_, PyAny>) -> PyResult<()> {
        self.delete_range_of(ts.py(), TimeRange::of(None, Some(self.time(ts)?)))
    }

    /// Delete the entries from ``t1`` to before ``t2``.
    #[pyo3(signature = (t1, t2, /))]
    fn delete_range(&self, t1: &Bound<'_, PyAny>, t2: &Bound<'_, PyAny>) -> PyResult<()> {
        self.delete_range_of(
            t1.py(),
            TimeRange::between(self.raw_of_open(t1)?, self.raw_of_open(t2)?),
        )
    }

    /// Delete everything before ``t``.
    #[pyo3(signature = (t, /))]
    fn delete_before(&self, t: &Bound<'_, PyAny>) -> PyResult<()> {
        self.delete_range_of(t.py(), TimeRange::of(None, Some(self.raw_of_open(t)?)))
    }
}

/// The objects of a sequence.
fn objects_of(objects: &Bound<'_, PyAny>) -> PyResult<Vec<Object>> {
    if let Ok(list) = objects.cast::<PyList>() {
        return Ok(list.iter().map(|object| Object::of(&object)).collect());
    }
    if let Ok(tuple) = objects.cast::<PyTuple>() {
        return Ok(tuple.iter_borrowed().map(|object| Object::of(&object)).collect());
    }
    let is_sequence = objects.len().is_ok() && objects.hasattr("__getitem__")?;
    let is_other = objects.is_instance_of::<PyDict>()
        || objects.is_instance_of::<PyString>()
        || objects.is_instance_of::<PyBytes>();
    if !is_sequence || is_other {
        return Err(wrong_type(
            "bulk_append() takes objects as a sequence: a list or tuple",
            objects,
        ));
    }
    objects.try_iter()?.map(|object| Ok(Object::of(&object?))).collect()
}

/// The timestamps in a buffer.
fn times_of(timestamps: &Bound<'_, PyAny>) -> PyResult<Vec<i64>> {
    let py = timestamps.py();
    // Some exporters leave out shape and strides; a memoryview has them always.
    let view = match PyMemoryView::from(timestamps) {
        Ok(view) => view,
        Err(error) if error.is_instance_of::<PyBufferError>(py) => return Err(error),
        Err(_) => {
            return Err(wrong_type(
                "timestamps must be a buffer of int64 (a numpy array, array('q'))",
                timestamps,
            ));
        }
    };
    if view.getattr("ndim")?.extract::<usize>()? != 1 {
        return Err(PyValueError::new_err("timestamps must be 1-D"));
    }
    let format: String = view.getattr("format")?.extract()?;
    let (order, kind) = match format.as_bytes() {
        [order @ (b'@' | b'=' | b'<' | b'>' | b'!'), kind] => (*order, *kind),
        [kind] => (b'@', *kind),
        _ => (b'@', b'?'),
    };
    let item_bytes: usize = view.getattr("itemsize")?.extract()?;
    if item_bytes != size_of::<i64>() || !matches!(kind, b'q' | b'l') {
        return Err(PyValueError::new_err("timestamps must be 8-byte signed integers (int64)"));
    }
    let is_foreign = match cfg!(target_endian = "little") {
        true => matches!(order, b'>' | b'!'),
        false => order == b'<',
    };
    if is_foreign {
        return Err(PyValueError::new_err("timestamps must be in native byte order"));
    }
    if !view.getattr("c_contiguous")?.is_truthy()? {
        return Err(PyValueError::new_err("timestamps must be contiguous"));
    }
    if view.len()? == 0 {
        return Ok(Vec::new());
    }
    if !(PyUntypedBuffer::get(&view)?.buf_ptr() as usize).is_multiple_of(align_of::<i64>()) {
        return Err(PyValueError::new_err("timestamps must be aligned to 8 bytes"));
    }
    // By another name of the same format where the exporter's is '<q'.
    let plain = view.call_method1("cast", ("B",))?.call_method1("cast", ("q",))?;
    PyBuffer::<i64>::get(&plain)?.to_vec(py)
}
