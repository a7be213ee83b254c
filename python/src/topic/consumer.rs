//! `Consumer`: reads partitions on from where it, or its group, was.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, MutexGuard};
use std::time::Duration;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};
use timestrata_table::append_together;
use timestrata_topic::{Consumer as ConsumerModel, PollLimits, Polled, TopicPartition};

use super::Record;
use super::also::{Also, Pairs, commit_consumed};
use super::asked::ConsumerAsked;
use super::consumer_state::ConsumerState;
use super::number::number;
use super::told::Told;
use crate::awaiting;
use crate::handle::{Handle, leave};
use crate::interrupt::{SIGNAL_INTERVAL, detached};
use crate::lock::Lock;
use crate::settings::span_ns;
use crate::timestamp::time_ns;

/// Reads topics on from where it, or its group, was. Made by `Topic.consumer` and `Store.consumer`.
///
/// Iterate over it, also with ``async for``, or call `poll`. Records that a call gave are done when
/// the next one is asked for: `commit` says so durably, with ``auto_commit`` it is said by itself. An
/// exception that leaves the ``with`` block says that what was given last is not done.
/// A member of a group that asks for nothing during ``session`` seconds loses its partitions to
/// the others, unless it says by `heartbeat` that it is at work; and after ``poll_interval_max`` seconds it does in any case.
///
/// Examples
/// --------
/// >>> import timestrata
/// >>> store = timestrata.open()
/// >>> topic = store.topic("payments")
/// >>> receipts = topic.send_batch([b"10", b"20"])
/// >>> with topic.consumer(group="ledger") as consumer:
/// ...     [record.value for record in consumer.poll()]
/// ...     consumer.commit()
/// [b'10', b'20']
#[pyclass(frozen, module = "timestrata", weakref)]
#[derive(Debug)]
pub(crate) struct Consumer {
    handle: Arc<Handle>,
    /// The topic that is meant where none is named.
    topic: Option<String>,
    idle_timeout: Option<Duration>,
    told: Told,
    state: Lock<ConsumerState>,
}

impl Consumer {
    pub(crate) fn new(
        py: Python<'_>,
        handle: Arc<Handle>,
        topic: Option<String>,
        topics: &[String],
        asked: ConsumerAsked,
    ) -> PyResult<Self> {
        let (store, options) = (handle.store()?, asked.options()?);
        let idle_timeout = span_ns("idle_timeout", asked.idle_timeout)?.map(Duration::from_nanos);
        let consumer = detached(py, || {
            let mut consumer = ConsumerModel::new(store, options)?;
            if !topics.is_empty() {
                consumer.subscribe(topics.iter().map(String::as_str))?;
            }
            Ok(consumer)
        })?;
        let (ahead, undone) = (VecDeque::new(), BTreeMap::new());
        let state = ConsumerState { consumer: Some(consumer), ahead, row: 0, undone, only: None };
        Ok(Self { handle, topic, idle_timeout, told: asked.told, state: Lock::new(state) })
    }

    /// Held while the consumer reads: whoever waits for it has let go of the interpreter.
    fn lock(&self) -> PyResult<MutexGuard<'_, ConsumerState>> {
        self.handle.store()?;
        Ok(self.state.lock())
    }

    /// The consumer for a commit of its offsets, which nobody else uses meanwhile.
    pub(crate) fn reading(&self) -> PyResult<MutexGuard<'_, ConsumerState>> {
        self.lock()
    }

    fn with<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut ConsumerModel) -> timestrata_engine::Result<T> + Send,
    ) -> PyResult<T> {
        let mut state = self.lock()?;
        let consumer = state.open()?;
        detached(py, || work(consumer))
    }

    fn place(&self, topic: Option<String>, partition: u32) -> PyResult<TopicPartition> {
        let topic = topic.or_else(|| self.topic.clone()).ok_or_else(|| {
            PyValueError::new_err("the consumer reads several topics: say which, as topic='name'")
        })?;
        Ok(TopicPartition { topic, partition })
    }

    /// Polls until `take` is content with what there is; it is told whether the time is over. Waits
    /// without the consumer, so that other threads may use it, in pieces between which signals are heard.
    fn poll_for<T>(
        &self,
        py: Python<'_>,
        timeout: Option<Duration>,
        limits: PollLimits,
        take: impl Fn(&mut ConsumerState, Vec<Polled>, bool) -> Option<T>,
    ) -> PyResult<T> {
        let timeout_ns =
            timeout.map(|timeout| u64::try_from(timeout.as_nanos()).unwrap_or(u64::MAX));
        let end = timeout_ns.map(|timeout| Ok::<_, PyErr>(self.now_ns()?.saturating_add(timeout)));
        let end = end.transpose()?.unwrap_or(u64::MAX);
        loop {
            let (waiting, left) = {
                let mut state = self.lock()?;
                let consumer = state.open()?;
                let (found, waiting) = detached(py, || consumer.try_poll(limits))?;
                let changes = consumer.take_changes();
                if !changes.is_empty() {
                    // Nothing was found then. Without the consumer, which whoever is told may use.
                    drop(state);
                    self.told.tell(py, &changes)?;
                    py.check_signals()?;
                    continue;
                }
                let left = Duration::from_nanos(end.saturating_sub(self.now_ns()?));
                if let Some(taken) = take(&mut state, found, left.is_zero()) {
                    return Ok(taken);
                }
                (waiting, left)
            };
            py.detach(|| waiting.wait(left.min(SIGNAL_INTERVAL)));
            py.check_signals()?;
        }
    }

    fn now_ns(&self) -> PyResult<u64> {
        Ok(self.handle.store()?.monotonic_ns())
    }

    /// Reads ahead for iterating, if nothing is there; whether there is something then.
    fn fill(&self, py: Python<'_>, timeout: Option<Duration>) -> PyResult<bool> {
        if !self.lock()?.ahead.is_empty() {
            return Ok(true);
        }
        self.poll_for(py, timeout, PollLimits::default(), |state, found, is_over| {
            state.ahead.extend(found);
            let is_some = !state.ahead.is_empty();
            (is_some || is_over).then_some(is_some)
        })
    }

    /// Leaves the group. `is_failed`: whoever handled what the last call gave did not get to its end.
    fn end(&self, py: Python<'_>, is_failed: bool) -> PyResult<()> {
        let mut state = self.lock()?;
        if state.consumer.is_none() {
            return Ok(());
        }
        state.put_back()?;
        let undone = std::mem::take(&mut state.undone);
        let Some(mut consumer) = state.consumer.take() else { return Ok(()) };
        if is_failed {
            consumer.put_back(&undone);
        }
        detached(py, || consumer.close())
    }
}

#[pymethods]
impl Consumer {
    /// Read these topics from now on, those that will be made too.
    ///
    /// Parameters
    /// ----------
    /// topics : list of str
    ///     Names, or beginnings of names with a star behind. In a group its members share them.
    fn subscribe(&self, py: Python<'_>, topics: Vec<String>) -> PyResult<()> {
        self.lock()?.put_back()?;
        self.with(py, |consumer| consumer.subscribe(topics.iter().map(String::as_str)))
    }

    /// Read these partitions from now on, whoever else reads them.
    ///
    /// Parameters
    /// ----------
    /// partitions : list of (str, int) or of int
    ///     Topics and partitions; a number alone is a partition of the consumer's topic.
    fn assign(&self, py: Python<'_>, partitions: Vec<Bound<'_, PyAny>>) -> PyResult<()> {
        let mut places = Vec::new();
        for partition in partitions {
            let (topic, partition) = match partition.extract::<(String, u32)>() {
                Ok((topic, partition)) => (Some(topic), partition),
                Err(_) => (None, partition.extract()?),
            };
            places.push(self.place(topic, partition)?);
        }
        self.lock()?.put_back()?;
        self.with(py, |consumer| consumer.assign(places))
    }

    /// The partitions that are read now, as (topic, partition).
    #[getter]
    fn assignment(&self) -> PyResult<Vec<(String, u32)>> {
        let mut state = self.lock()?;
        let places = state.open()?.assignment();
        Ok(places.map(|place| (place.topic.clone(), place.partition)).collect())
    }

    /// The member's name in its group.
    #[getter]
    fn member(&self) -> PyResult<String> {
        Ok(self.lock()?.open()?.member().to_owned())
    }

    /// Give the records that there are; wait for some, ``timeout`` seconds at most.
    ///
    /// Parameters
    /// ----------
    /// timeout : float, optional
    ///     0: don't wait. None: as long as it takes.
    /// max_records : int, optional
    /// max_bytes : int, optional
    ///     Bytes of keys, values and headers; one record always fits.
    ///
    /// Returns
    /// -------
    /// list of Record
    ///     In the order of their offsets, partition by partition. Empty where nothing came.
    ///
    /// Raises
    /// ------
    /// OutOfRangeError
    ///     What comes next isn't kept any more, and ``reset`` is "error".
    /// CorruptionError
    ///     Records can't be read; it names their offsets. `skip` goes on behind them.
    ///
    /// Examples
    /// --------
    /// >>> import timestrata
    /// >>> payments = timestrata.open().topic("payments")
    /// >>> receipts = payments.send_batch([{"key": "ada", "value": "10"}, {"key": "bob", "value": "20"}])
    /// >>> consumer = payments.consumer("ledger")
    /// >>> [record.value for record in consumer.poll(max_records=1)]
    /// [b'10']
    #[pyo3(signature = (timeout=0.0, *, max_records=500, max_bytes=52_428_800))]
    fn poll<'py>(
        &self,
        py: Python<'py>,
        timeout: Option<f64>,
        #[pyo3(from_py_with = number)] max_records: usize,
        #[pyo3(from_py_with = number)] max_bytes: u64,
    ) -> PyResult<Bound<'py, PyList>> {
        self.lock()?.put_back()?;
        let timeout = span_ns("timeout", timeout)?.map(Duration::from_nanos);
        let limits = PollLimits { records: max_records, bytes: max_bytes };
        let first = |polled: &Polled| {
            polled.records.get(0).map(|(offset, _)| (polled.place.clone(), offset))
        };
        let polled = self.poll_for(py, timeout, limits, |state, found, is_over| {
            if found.is_empty() && !is_over {
                return None;
            }
            state.undone = found.iter().filter_map(first).collect();
            Some(found)
        })?;
        let records = PyList::empty(py);
        for Polled { place, records: rows } in &polled {
            for (offset, record) in rows.iter() {
                let (topic, partition) = (&place.topic, place.partition);
                records.append(Record::read(py, topic, partition, offset, &record))?;
            }
        }
        Ok(records)
    }

    /// Say that this member is alive while it works on what it was given: its session begins anew.
    ///
    /// It may be called by another thread. Nothing is committed, and asking for records is not put off: after
    /// ``poll_interval_max`` seconds without that the member loses its partitions all the same.
    ///
    /// Returns
    /// -------
    /// list of (str, int)
    ///     Topics and partitions that others wait for; they get them once this member asks for records again.
    ///
    /// Raises
    /// ------
    /// ConflictError
    ///     The member was taken for dead meanwhile. It joins again when it asks for records.
    ///
    /// Examples
    /// --------
    /// >>> import timestrata
    /// >>> payments = timestrata.open().topic("payments")
    /// >>> consumer = payments.consumer("ledger")
    /// >>> consumer.poll(), consumer.heartbeat()
    /// ([], [])
    fn heartbeat(&self, py: Python<'_>) -> PyResult<Vec<(String, u32)>> {
        let wanted = self.with(py, |consumer| consumer.heartbeat())?;
        Ok(wanted.into_iter().map(|place| (place.topic, place.partition)).collect())
    }

    /// Go on at an offset.
    ///
    /// Examples
    /// --------
    /// >>> import timestrata
    /// >>> payments = timestrata.open().topic("payments")
    /// >>> receipts = payments.send_batch([{"key": "ada", "value": "10"}, {"key": "bob", "value": "20"}])
    /// >>> consumer = payments.consumer("ledger")
    /// >>> records = consumer.poll()
    /// >>> consumer.seek(1)
    /// >>> [record.offset for record in consumer.poll()]
    /// [1]
    #[pyo3(signature = (offset, partition=0, *, topic=None))]
    fn seek(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = number)] offset: u64,
        #[pyo3(from_py_with = number)] partition: u32,
        topic: Option<String>,
    ) -> PyResult<()> {
        let place = self.place(topic, partition)?;
        self.lock()?.put_back()?;
        self.with(py, |consumer| consumer.seek(&place, offset))
    }

    /// Go on at the first record whose time is this or later. Gives its offset.
    #[pyo3(signature = (time, partition=0, *, topic=None))]
    fn seek_to_time(
        &self,
        time: &Bound<'_, PyAny>,
        #[pyo3(from_py_with = number)] partition: u32,
        topic: Option<String>,
    ) -> PyResult<u64> {
        let place = self.place(topic, partition)?;
        let none = || PyValueError::new_err("seek_to_time needs a time");
        let time_ns = time_ns(time)?.ok_or_else(none)?;
        self.lock()?.put_back()?;
        self.with(time.py(), |consumer| consumer.seek_to_time(&place, time_ns))
    }

    /// Go on behind records that can't be read. Gives the offset that comes next.
    #[pyo3(signature = (partition=0, *, topic=None))]
    fn skip(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = number)] partition: u32,
        topic: Option<String>,
    ) -> PyResult<u64> {
        let place = self.place(topic, partition)?;
        self.lock()?.put_back()?;
        self.with(py, |consumer| consumer.skip(&place))
    }

    /// The offset that comes next; None for a partition that isn't read here now.
    #[pyo3(signature = (partition=0, *, topic=None))]
    fn position(
        &self,
        #[pyo3(from_py_with = number)] partition: u32,
        topic: Option<String>,
    ) -> PyResult<Option<u64>> {
        let place = self.place(topic, partition)?;
        let mut state = self.lock()?;
        let given = state.given().get(&place).copied();
        Ok(given.or(state.open()?.position(&place)))
    }

    /// How many offsets of a partition come yet.
    ///
    /// Examples
    /// --------
    /// >>> import timestrata
    /// >>> payments = timestrata.open().topic("payments")
    /// >>> receipts = payments.send_batch([{"key": "ada", "value": "10"}, {"key": "bob", "value": "20"}])
    /// >>> consumer = payments.consumer("ledger")
    /// >>> records = consumer.poll(max_records=1)
    /// >>> consumer.lag()
    /// 1
    #[pyo3(signature = (partition=0, *, topic=None))]
    fn lag(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = number)] partition: u32,
        topic: Option<String>,
    ) -> PyResult<u64> {
        let place = self.place(topic, partition)?;
        self.lock()?.put_back()?;
        self.with(py, |consumer| consumer.lag(&place))
    }

    /// Give no records of a partition until `resume`.
    #[pyo3(signature = (partition=0, *, topic=None))]
    fn pause(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = number)] partition: u32,
        topic: Option<String>,
    ) -> PyResult<()> {
        let place = self.place(topic, partition)?;
        self.lock()?.put_back()?;
        self.with(py, |consumer| consumer.pause(&place, true))
    }

    /// Give records of a partition again.
    #[pyo3(signature = (partition=0, *, topic=None))]
    fn resume(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = number)] partition: u32,
        topic: Option<String>,
    ) -> PyResult<()> {
        let place = self.place(topic, partition)?;
        self.with(py, |consumer| consumer.pause(&place, false))
    }

    /// Where the group goes on in a partition; None if it has committed nothing there.
    #[pyo3(signature = (partition=0, *, topic=None))]
    fn committed(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = number)] partition: u32,
        topic: Option<String>,
    ) -> PyResult<Option<u64>> {
        let place = self.place(topic, partition)?;
        let store = self.handle.store()?;
        self.with(py, |consumer| {
            let topic = timestrata_topic::Topic::open(store, &place.topic)?;
            match consumer.group() {
                Some(group) => topic.committed(group, place.partition),
                None => Ok(None),
            }
        })
    }

    /// Say durably that the records given so far are done, or those up to ``record``.
    ///
    /// Parameters
    /// ----------
    /// record : Record, optional
    /// also : list of (Table, rows), optional
    ///     Rows that came of the records, in the same commit: both are there or none, so that
    ///     nothing is done twice. As `Table.append` takes them; and with a topic, a log, a graph or a time log what
    ///     `Topic.send_batch`, `Logs.write_many`, `Graph.put_many` or `Timelog.extend` takes.
    ///
    /// Raises
    /// ------
    /// ConflictError
    ///     A partition is another member's meanwhile, or an offset would go back. Nothing is
    ///     committed then.
    ///
    /// Examples
    /// --------
    /// >>> import timestrata
    /// >>> payments = timestrata.open().topic("payments")
    /// >>> receipts = payments.send_batch([{"key": "ada", "value": "10"}, {"key": "bob", "value": "20"}])
    /// >>> consumer = payments.consumer("ledger")
    /// >>> records = consumer.poll()
    /// >>> consumer.commit(records[0])
    /// >>> consumer.committed()
    /// 1
    #[pyo3(signature = (record=None, *, also=None))]
    fn commit<'py>(
        slf: &Bound<'py, Self>,
        py: Python<'py>,
        record: Option<&Record>,
        also: Option<Pairs<'py>>,
    ) -> PyResult<()> {
        let this = slf.get();
        let also = Also::of(py, &this.handle, also)?;
        let mut state = this.lock()?;
        let offsets = match record {
            Some(record) => {
                let (topic, partition, offset) = record
                    .place()
                    .ok_or_else(|| PyValueError::new_err("the record was not read from a topic"))?;
                let place = TopicPartition { topic: topic.to_owned(), partition };
                BTreeMap::from([(place, offset + 1)])
            }
            None => state.given_so_far()?,
        };
        let rows = match also {
            Also::Rows(rows) => rows,
            Also::Models(pairs) => {
                // The commit asks the consumer itself how far it is.
                state.only = Some(offsets);
                drop(state);
                let committed = commit_consumed(slf, &this.handle, &pairs);
                this.state.lock().only = None;
                return committed;
            }
        };
        let consumer = state.open()?;
        detached(py, || {
            append_together(&rows, &mut |changes| consumer.commit_offsets(&offsets, changes))
        })
    }

    /// Leave the group; with ``auto_commit`` what was given is committed. Fine to call twice.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        self.end(py, false)
    }

    /// Wait for records to iterate over; whether there are some. For ``async for``.
    fn _fill(&self, py: Python<'_>, seconds: f64) -> PyResult<bool> {
        self.fill(py, span_ns("seconds", Some(seconds))?.map(Duration::from_nanos))
    }

    /// The next record of those that are there. For ``async for``.
    fn _take(&self, py: Python<'_>) -> PyResult<Option<Record>> {
        Ok(self.lock()?.take(py))
    }

    /// Seconds without a record after which iterating ends.
    #[getter]
    fn idle_timeout(&self) -> Option<f64> {
        self.idle_timeout.map(|timeout| timeout.as_secs_f64())
    }

    fn __iter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Option<Record>> {
        loop {
            if let Some(record) = self.lock()?.take(py) {
                return Ok(Some(record));
            }
            if !self.fill(py, self.idle_timeout)? {
                return Ok(None);
            }
        }
    }

    fn __aiter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    fn __anext__<'py>(slf: Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        awaiting::next(&slf, "next_record")
    }

    fn __enter__(slf: Bound<'_, Self>) -> PyResult<Bound<'_, Self>> {
        slf.get().lock()?.open()?;
        Ok(slf)
    }

    #[pyo3(signature = (*raised))]
    fn __exit__(&self, py: Python<'_>, raised: &Bound<'_, PyTuple>) -> PyResult<bool> {
        let is_failed = raised.get_item(0).is_ok_and(|kind| !kind.is_none());
        leave(raised, self.end(py, is_failed))
    }

    fn __repr__(&self) -> String {
        let state = self.state.try_lock();
        match state.as_ref().map(|state| state.consumer.as_ref()) {
            Some(None) => "<Consumer, closed>".to_owned(),
            Some(Some(consumer)) => match consumer.group() {
                Some(group) => format!("<Consumer {:?} of group {group:?}>", consumer.member()),
                None => format!("<Consumer {:?}>", consumer.member()),
            },
            None => "<Consumer, in use>".to_owned(),
        }
    }
}
