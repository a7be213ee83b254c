//! `Topic`: an event log of a store.

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;
use pyo3::types::{IntoPyDict, PyDict, PyInt, PyList};
use timestrata_engine::{Durability, ErrorKind};
use timestrata_topic::{
    GroupStart, Stamp, Thrown, Topic as TopicModel, TopicOptions, TopicRetention, record_schema,
};

use super::asked::ConsumerAsked;
use super::number::{Said, maybe_number, number};
use super::producer::{SendAsked, durability_of};
use super::{Consumer, Producer, Receipt, Record};
use crate::error::{invalid, refused};
use crate::opened::{Opened, Ways};
use crate::settings::span_ns;
use crate::table::Rows;
use crate::timestamp::time_ns;

/// An event log: partitions of records by offset, that can be proved to others. Made by
/// `Store.topic`.
///
/// Examples
/// --------
/// >>> import timestrata
/// >>> store = timestrata.open()
/// >>> payments = store.topic("payments")
/// >>> payments.send({"key": b"alice", "value": b"10"}).offset
/// 0
/// >>> payments.get(0).value
/// b'10'
/// >>> payments.offsets()
/// range(0, 1)
#[pyclass(frozen, module = "timestrata", weakref)]
#[derive(Debug)]
pub(crate) struct Topic {
    pub(super) topic: Opened<TopicModel>,
}

pub(super) const WAYS: Ways<TopicModel, TopicOptions> = Ways {
    open: TopicModel::open,
    create: TopicModel::create,
    options: |topic| Ok(topic.options()),
    stream: TopicModel::stream_id,
};

impl Topic {
    /// What sends where nothing is said of it: an event is acknowledged once it is safe.
    fn own_producer(&self) -> PyResult<Producer> {
        self.topic.model()?;
        let (topic, durability) = (self.topic.clone(), Durability::Synced);
        Ok(Producer { topic, durability, id: None })
    }
}

#[pymethods]
impl Topic {
    /// Its name.
    #[getter]
    fn name(&self) -> &str {
        self.topic.even_closed().name()
    }

    /// How many partitions it has.
    #[getter]
    fn partitions(&self) -> PyResult<u32> {
        Ok(self.topic.model()?.partitions())
    }

    /// What it was made as, with what has been changed since: spans in seconds, None for no bound.
    fn describe<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let model = self.topic.model()?;
        let TopicOptions {
            partitions,
            record_bytes_max,
            stamp,
            retention,
            compression,
            keep_entries,
        } = model.options();
        let shown = PyDict::new(py);
        shown.set_item("name", model.name())?;
        shown.set_item("created", model.created_ns())?;
        shown.set_item("record_bytes_max", record_bytes_max)?;
        let stamp = if stamp == Stamp::Store { "store" } else { "producer" };
        shown.set_item("timestamp", stamp)?;
        let TopicRetention { age_ns, bytes, records, compact, groups_age_ns } = retention;
        shown.set_item("retention_age", age_ns.map(|age| age as f64 / 1e9))?;
        shown.set_item("retention_bytes", bytes)?;
        shown.set_item("retention_records", records)?;
        shown.set_item("compact", compact)?;
        shown.set_item("retention_groups_age", groups_age_ns.map(|age| age as f64 / 1e9))?;
        shown.set_item("compression", compression.unwrap_or_default().to_string())?;
        shown.set_item("keep_entries", keep_entries)?;
        let list = PyList::empty(py);
        for partition in 0..partitions {
            list.append(self.offsets(py, partition)?)?;
        }
        shown.set_item("offsets", list)?;
        Ok(shown)
    }

    /// Give a producer, which sends records.
    ///
    /// Parameters
    /// ----------
    /// producer_id : str, optional
    ///     Makes it idempotent: what it sends again with the same sequence is answered with the first
    ///     receipt, also after the store was opened anew. From then on earlier producers of this name are refused with `ConflictError`.
    /// durability : {"synced", "written"}, optional
    ///     What a record survives once it is acknowledged: a power cut, or the end of the process.
    ///
    /// Examples
    /// --------
    /// >>> import timestrata
    /// >>> payments = timestrata.open().topic("payments")
    /// >>> producer = payments.producer(producer_id="till-1")
    /// >>> producer.send("10", sequence=0).offset, producer.send("10", sequence=0).offset
    /// (0, 0)
    #[pyo3(signature = (*, producer_id=None, durability="synced"))]
    fn producer(
        &self,
        py: Python<'_>,
        producer_id: Option<String>,
        durability: &str,
    ) -> PyResult<Producer> {
        self.topic.model()?;
        let durability = durability_of(durability)?;
        let begin = |id: String| -> PyResult<(String, u64)> {
            let epoch = self.topic.detached(py, |topic| topic.begin_producer(&id))?;
            Ok((id, epoch))
        };
        let id = producer_id.map(begin).transpose()?;
        Ok(Producer { topic: self.topic.clone(), durability, id })
    }

    /// Append one record durably; see `Producer.send`.
    ///
    /// Examples
    /// --------
    /// >>> import timestrata
    /// >>> payments = timestrata.open().topic("payments")
    /// >>> payments.send({"key": "ada", "value": "10", "headers": {"currency": "EUR"}}).offset
    /// 0
    #[pyo3(signature = (record, *, partition=None))]
    fn send(
        &self,
        record: &Bound<'_, PyAny>,
        #[pyo3(from_py_with = maybe_number)] partition: Option<u32>,
    ) -> PyResult<Receipt> {
        let asked = SendAsked { partition, ..SendAsked::default() };
        self.own_producer()?.send_one(record, asked)
    }

    /// Append records durably, all of them or none; see `Producer.send_batch`.
    ///
    /// Examples
    /// --------
    /// >>> import timestrata
    /// >>> payments = timestrata.open().topic("payments")
    /// >>> receipts = payments.send_batch([{"key": "ada", "value": "10"}, {"key": "bob", "value": "20"}])
    /// >>> [receipt.offset for receipt in receipts]
    /// [0, 1]
    #[pyo3(signature = (records, *, partition=None))]
    fn send_batch(
        &self,
        records: &Bound<'_, PyAny>,
        #[pyo3(from_py_with = maybe_number)] partition: Option<u32>,
    ) -> PyResult<Vec<Receipt>> {
        let asked = SendAsked { partition, ..SendAsked::default() };
        self.own_producer()?.send_all(records, asked, &[])
    }

    /// Give a consumer of this topic.
    ///
    /// Parameters
    /// ----------
    /// group : str, optional
    ///     Its members share the partitions, and go on where the group has committed.
    /// member : str, optional
    ///     The member's name; else one that no other has.
    /// reset : {"earliest", "latest", "error"}, optional
    ///     Where to begin without a committed offset, or where that isn't kept any more.
    /// strategy : {"sticky", "range", "round_robin"}, optional
    ///     How the group shares partitions.
    /// session : float, optional
    ///     Seconds without a call, or a `Consumer.heartbeat`, after which the member loses its partitions.
    /// poll_interval_max : float, optional
    ///     Seconds after which it loses them in spite of heartbeats, if it asked for no records: it may hang.
    /// on_assigned, on_revoked, on_lost : callable, optional
    ///     Called with a list of (topic, partition) while records are asked for: when partitions are given to this member,
    ///     before any record of them; when others wait for some, which it may still commit then; and when some are
    ///     others' already, as it was taken for dead. Not called by `Consumer.close`.
    /// auto_commit : float, optional
    ///     Commit every so many seconds what was given. None: only `Consumer.commit` does.
    /// idle_timeout : float, optional
    ///     Iterating ends after so many seconds without a record. None: it waits.
    ///
    /// Examples
    /// --------
    /// >>> import timestrata
    /// >>> payments = timestrata.open().topic("payments")
    /// >>> receipts = payments.send_batch([{"key": "ada", "value": "10"}, {"key": "bob", "value": "20"}])
    /// >>> [record.value for record in payments.consumer(idle_timeout=0)]
    /// [b'10', b'20']
    #[pyo3(
        signature = (group=None, **named),
        text_signature = "($self, group=None, *, member=None, reset=\"earliest\", strategy=\"sticky\", session=30.0, poll_interval_max=300.0, auto_commit=None, idle_timeout=None, on_assigned=None, on_revoked=None, on_lost=None)"
    )]
    fn consumer(
        &self,
        py: Python<'_>,
        group: Option<String>,
        named: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Consumer> {
        let asked = ConsumerAsked::of(group, named)?;
        let name = self.topic.model()?.name().to_owned();
        Consumer::new(py, Arc::clone(&self.topic.handle), Some(name.clone()), &[name], asked)
    }

    /// The offsets of a partition: from the first that is kept to before the one that comes next.
    ///
    /// Examples
    /// --------
    /// >>> import timestrata
    /// >>> payments = timestrata.open().topic("payments")
    /// >>> receipts = payments.send_batch([{"key": "ada", "value": "10"}, {"key": "bob", "value": "20"}])
    /// >>> payments.offsets()
    /// range(0, 2)
    #[pyo3(signature = (partition=0))]
    fn offsets<'py>(
        &self,
        py: Python<'py>,
        #[pyo3(from_py_with = number)] partition: u32,
    ) -> PyResult<Bound<'py, PyAny>> {
        let offsets = self.topic.detached(py, |topic| topic.offsets(partition))?;
        py.import("builtins")?.getattr("range")?.call1((offsets.start, offsets.end))
    }

    /// The offset of the first record whose time is this or later; None if there is none.
    #[pyo3(signature = (time, partition=0))]
    fn offset_at_time(
        &self,
        time: &Bound<'_, PyAny>,
        #[pyo3(from_py_with = number)] partition: u32,
    ) -> PyResult<Option<u64>> {
        let time_ns = time_ns(time)?.ok_or_else(|| invalid("offset_at_time needs a time"))?;
        self.topic.detached(time.py(), |topic| topic.offset_at_time(partition, time_ns))
    }

    /// One record; None if it isn't kept any more.
    ///
    /// Raises
    /// ------
    /// OutOfRangeError
    ///     There is no record at this offset yet.
    ///
    /// Examples
    /// --------
    /// >>> import timestrata
    /// >>> payments = timestrata.open().topic("payments")
    /// >>> receipts = payments.send_batch([{"key": "ada", "value": "10"}, {"key": "bob", "value": "20"}])
    /// >>> payments.get(1).value
    /// b'20'
    #[pyo3(signature = (offset, partition=0))]
    fn get(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = number)] offset: u64,
        #[pyo3(from_py_with = number)] partition: u32,
    ) -> PyResult<Option<Record>> {
        let found = self.topic.detached(py, |topic| topic.get(partition, offset))?;
        let Some((offset, record)) = found.as_ref().and_then(|found| found.get(0)) else {
            let end = self.topic.detached(py, |topic| topic.offsets(partition))?.end;
            let what = format!("topic '{}' partition {partition} ends at {end}", self.name());
            return match offset < end {
                true => Ok(None),
                false => Err(refused(
                    ErrorKind::OutOfRange,
                    format!("{what}: there is no record {offset} yet"),
                )),
            };
        };
        Ok(Some(Record::read(py, self.name(), partition, offset, &record)))
    }

    /// Read records of a partition, from offset ``start`` to before ``end``, as Arrow: columns
    /// offset, timestamp, key, value and headers. Nothing is read until the answer is used.
    ///
    /// Examples
    /// --------
    /// >>> import timestrata
    /// >>> payments = timestrata.open().topic("payments")
    /// >>> receipts = payments.send_batch([{"key": "ada", "value": "10"}, {"key": "bob", "value": "20"}])
    /// >>> [row["value"] for row in payments.scan(1)]
    /// [b'20']
    #[pyo3(signature = (start=None, end=None, *, partition=0, limit=None))]
    fn scan(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = maybe_number)] start: Option<u64>,
        #[pyo3(from_py_with = maybe_number)] end: Option<u64>,
        #[pyo3(from_py_with = number)] partition: u32,
        #[pyo3(from_py_with = maybe_number)] limit: Option<usize>,
    ) -> PyResult<Rows> {
        let offsets = start.unwrap_or(0)..end.unwrap_or(u64::MAX);
        if offsets.start > offsets.end {
            let what =
                format!("offsets {} to {}: it ends before it begins", offsets.start, offsets.end);
            return Err(invalid(what));
        }
        let view = self.topic.detached(py, |topic| topic.view(partition))?;
        Ok(Rows::new(record_schema(), move || view.scan(offsets.clone(), limit)))
    }

    /// Groups that have committed offsets: ``{group: {partition: offset}}``.
    ///
    /// Examples
    /// --------
    /// >>> import timestrata
    /// >>> payments = timestrata.open().topic("payments")
    /// >>> receipts = payments.send_batch([{"key": "ada", "value": "10"}, {"key": "bob", "value": "20"}])
    /// >>> consumer = payments.consumer("ledger")
    /// >>> records = consumer.poll()
    /// >>> consumer.commit()
    /// >>> payments.groups()
    /// {'ledger': {0: 2}}
    fn groups<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let groups = PyDict::new(py);
        for (group, offsets) in self.topic.detached(py, |topic| topic.groups())? {
            groups.set_item(group, offsets)?;
        }
        Ok(groups)
    }

    /// Members that a group has now: ``{member: [(topic, partition)]}``.
    fn members<'py>(&self, py: Python<'py>, group: &str) -> PyResult<Bound<'py, PyDict>> {
        let members = PyDict::new(py);
        for (member, places) in self.topic.model()?.members(group) {
            let places = places.into_iter().map(|place| (place.topic, place.partition));
            members.set_item(member, places.collect::<Vec<_>>())?;
        }
        Ok(members)
    }

    /// Put a group elsewhere in a partition, back too. Gives the offset that it goes on with.
    ///
    /// Parameters
    /// ----------
    /// group : str
    /// offset : int, str or datetime
    ///     An offset; "earliest" or "latest"; or a time: the first record of this time or later.
    /// partition : int, optional
    ///
    /// Examples
    /// --------
    /// >>> import timestrata
    /// >>> payments = timestrata.open().topic("payments")
    /// >>> receipts = payments.send_batch([{"value": "10", "timestamp": "2024-05-01"}, {"value": "20", "timestamp": "2024-05-02"}])
    /// >>> payments.reset_group("ledger", "2024-05-02"), payments.reset_group("ledger", "earliest")
    /// (1, 0)
    #[pyo3(signature = (group, offset, partition=0))]
    fn reset_group(
        &self,
        py: Python<'_>,
        group: &str,
        offset: &Bound<'_, PyAny>,
        #[pyo3(from_py_with = number)] partition: u32,
    ) -> PyResult<u64> {
        let to = group_start(offset)?;
        self.topic.detached(py, |topic| topic.reset_group_to(group, partition, to))
    }

    /// Forget what a group has committed in this topic, durably. Gives of how many partitions.
    ///
    /// Raises
    /// ------
    /// ConflictError
    ///     The group has members that share the topic.
    /// NotFoundError
    ///     It has committed nothing here.
    ///
    /// Examples
    /// --------
    /// >>> import timestrata
    /// >>> payments = timestrata.open().topic("payments")
    /// >>> at = payments.reset_group("ledger", 0)
    /// >>> payments.delete_group("ledger"), payments.groups()
    /// (1, {})
    fn delete_group(&self, py: Python<'_>, group: &str) -> PyResult<usize> {
        self.topic.detached(py, |topic| topic.delete_group(group))
    }

    /// Have more partitions. Keys go to other partitions from then on.
    fn set_partitions(&self, py: Python<'_>, partitions: u32) -> PyResult<()> {
        self.topic.detached(py, |topic| topic.set_partitions(partitions))
    }

    /// Throw away by itself, of each partition, records older than ``age`` seconds, the oldest beyond
    /// so many ``bytes`` or ``records``, and of each key all but the last; and what groups have committed that have no
    /// members and committed nothing for ``groups_age`` seconds. None: no bound. What is not named stays as it is.
    ///
    /// Examples
    /// --------
    /// >>> import timestrata
    /// >>> payments = timestrata.open().topic("payments", retention_records=1_000)
    /// >>> payments.set_retention(age=60)
    /// >>> payments.describe()["retention_age"], payments.describe()["retention_records"]
    /// (60.0, 1000)
    /// >>> payments.set_retention(records=None)
    #[pyo3(signature = (*, age=Said::No, bytes=Said::No, records=Said::No, compact=Said::No,
                        groups_age=Said::No))]
    fn set_retention(
        &self,
        py: Python<'_>,
        age: Said<Option<f64>>,
        bytes: Said<Option<u64>>,
        records: Said<Option<u64>>,
        compact: Said<bool>,
        groups_age: Said<Option<f64>>,
    ) -> PyResult<()> {
        let age_ns = age.map(|age| span_ns("age", age))?;
        let groups_age_ns = groups_age.map(|age| span_ns("groups_age", age))?;
        self.topic.detached(py, |topic| {
            let before = topic.options().retention;
            topic.set_retention(TopicRetention {
                age_ns: age_ns.or(before.age_ns),
                bytes: bytes.or(before.bytes),
                records: records.or(before.records),
                compact: compact.or(before.compact),
                groups_age_ns: groups_age_ns.or(before.groups_age_ns),
            })
        })
    }

    /// Throw away now what the retention says. Gives ``{"expired": n, "superseded": n, "groups": n}``.
    fn retain<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let thrown = self.topic.interruptible(py, move |topic| topic.retain())?;
        let Thrown { expired, superseded, groups } = thrown;
        [("expired", expired), ("superseded", superseded), ("groups", groups)].into_py_dict(py)
    }

    /// Remove the topic and its records, durably.
    fn drop(&self, py: Python<'_>) -> PyResult<()> {
        self.topic.detached(py, |topic| topic.remove())
    }

    fn __repr__(&self) -> String {
        format!("<Topic {:?} partitions={}>", self.name(), self.topic.even_closed().partitions())
    }
}

/// Where a group is put: a number is an offset, any other thing but the two words a time.
fn group_start(given: &Bound<'_, PyAny>) -> PyResult<GroupStart> {
    if given.is_instance_of::<PyInt>() {
        return given.extract().map(GroupStart::Offset).map_err(|_| {
            invalid(format!("offset {given}: it must be 0 to {}, or a time", u64::MAX))
        });
    }
    match given.extract::<PyBackedStr>().as_deref() {
        Ok("earliest") => Ok(GroupStart::Earliest),
        Ok("latest") => Ok(GroupStart::Latest),
        _ => {
            let none = || invalid("reset_group needs an offset, a time, 'earliest' or 'latest'");
            Ok(GroupStart::Time(time_ns(given)?.ok_or_else(none)?))
        }
    }
}
