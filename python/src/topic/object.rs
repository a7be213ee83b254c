//! `Topic`: an event log of a store.

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::{IntoPyDict, PyBytes, PyDict, PyList};
use timestrata_engine::{Durability, ErrorKind, Io};
use timestrata_merkle::Hash;
use timestrata_topic::{Stamp, Topic as TopicModel, TopicOptions, TopicRetention, record_schema};

use super::consumer::ConsumerAsked;
use super::producer::{SendAsked, durability_of};
use super::{Consumer, Producer, Proof, Receipt, Record, SigningKey};
use crate::error::{invalid, refused};
use crate::opened::{Opened, Ways};
use crate::path::GivenPath;
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
        let TopicOptions { partitions, record_bytes_max, stamp, retention, compression } =
            model.options();
        let shown = PyDict::new(py);
        shown.set_item("name", model.name())?;
        shown.set_item("created", model.created_ns())?;
        shown.set_item("record_bytes_max", record_bytes_max)?;
        let stamp = if stamp == Stamp::Store { "store" } else { "producer" };
        shown.set_item("timestamp", stamp)?;
        let TopicRetention { age_ns, bytes, records, compact } = retention;
        shown.set_item("retention_age", age_ns.map(|age| age as f64 / 1e9))?;
        shown.set_item("retention_bytes", bytes)?;
        shown.set_item("retention_records", records)?;
        shown.set_item("compact", compact)?;
        shown.set_item("compression", compression.map(|packed| packed.to_string()))?;
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
    fn send(&self, record: &Bound<'_, PyAny>, partition: Option<u32>) -> PyResult<Receipt> {
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
        partition: Option<u32>,
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
    ///     Seconds without a call after which the member loses its partitions.
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
    #[pyo3(signature = (group=None, *, member=None, reset="earliest", strategy="sticky",
                        session=30.0, auto_commit=None, idle_timeout=None))]
    #[expect(clippy::too_many_arguments, reason = "keyword arguments of a Python method")]
    fn consumer(
        &self,
        py: Python<'_>,
        group: Option<String>,
        member: Option<String>,
        reset: &str,
        strategy: &str,
        session: f64,
        auto_commit: Option<f64>,
        idle_timeout: Option<f64>,
    ) -> PyResult<Consumer> {
        let asked =
            ConsumerAsked { group, member, reset, strategy, session, auto_commit, idle_timeout };
        let name = self.topic.model()?.name().to_owned();
        Consumer::new(py, Arc::clone(&self.topic.handle), Some(name.clone()), &[name], &asked)
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
    fn offsets<'py>(&self, py: Python<'py>, partition: u32) -> PyResult<Bound<'py, PyAny>> {
        let offsets = self.topic.detached(py, |topic| topic.offsets(partition))?;
        py.import("builtins")?.getattr("range")?.call1((offsets.start, offsets.end))
    }

    /// The offset of the first record whose time is this or later; None if there is none.
    #[pyo3(signature = (time, partition=0))]
    fn offset_at_time(&self, time: &Bound<'_, PyAny>, partition: u32) -> PyResult<Option<u64>> {
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
    fn get(&self, py: Python<'_>, offset: u64, partition: u32) -> PyResult<Option<Record>> {
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
        start: Option<u64>,
        end: Option<u64>,
        partition: u32,
        limit: Option<usize>,
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

    /// Size and root hash of a partition's tree, now or when it had ``size`` records.
    #[pyo3(signature = (partition=0, size=None))]
    fn root<'py>(
        &self,
        py: Python<'py>,
        partition: u32,
        size: Option<u64>,
    ) -> PyResult<(u64, Bound<'py, PyBytes>)> {
        let (size, root) = self.topic.detached(py, |topic| topic.root(partition, size))?;
        Ok((size, PyBytes::new(py, root.as_bytes())))
    }

    /// The hashes that prove a record to be in the tree of ``size`` records (RFC 6962).
    #[pyo3(signature = (offset, size, partition=0))]
    fn inclusion_proof<'py>(
        &self,
        py: Python<'py>,
        offset: u64,
        size: u64,
        partition: u32,
    ) -> PyResult<Vec<Bound<'py, PyBytes>>> {
        let proof =
            self.topic.detached(py, |topic| topic.inclusion_proof(partition, offset, size))?;
        Ok(hashes(py, &proof))
    }

    /// The hashes that prove the tree of ``old`` records to be the beginning of that of ``new``.
    #[pyo3(signature = (old, new, partition=0))]
    fn consistency_proof<'py>(
        &self,
        py: Python<'py>,
        old: u64,
        new: u64,
        partition: u32,
    ) -> PyResult<Vec<Bound<'py, PyBytes>>> {
        let proof =
            self.topic.detached(py, |topic| topic.consistency_proof(partition, old, new))?;
        Ok(hashes(py, &proof))
    }

    /// The bytes that a record is hashed as (docs/format.md): the entry of its partition's tree.
    #[pyo3(signature = (offset, partition=0))]
    fn entry<'py>(
        &self,
        py: Python<'py>,
        offset: u64,
        partition: u32,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let entry = self.topic.detached(py, |topic| topic.entry(partition, offset))?;
        Ok(PyBytes::new(py, &entry))
    }

    /// Sign what a partition is now, and give the checkpoint, a signed note.
    ///
    /// It is stored too, and beside the key: a store that doesn't go on from there signs no other.
    ///
    /// Raises
    /// ------
    /// ConflictError
    ///     The partition doesn't begin with what was signed last: it was changed, or put back to an
    ///     older copy.
    #[pyo3(signature = (key, partition=0))]
    fn checkpoint(&self, py: Python<'_>, key: &SigningKey, partition: u32) -> PyResult<String> {
        self.topic.detached(py, |topic| topic.checkpoint_by(partition, &key.file))
    }

    /// The checkpoint that was signed last; None if none was.
    #[pyo3(signature = (partition=0))]
    fn last_checkpoint(&self, py: Python<'_>, partition: u32) -> PyResult<Option<String>> {
        let note = self.topic.detached(py, |topic| topic.last_checkpoint(partition))?;
        Ok(note.map(|note| String::from_utf8_lossy(&note).into_owned()))
    }

    /// The proof that a record is in its partition, by the last checkpoint.
    ///
    /// Raises
    /// ------
    /// OutOfRangeError
    ///     The last checkpoint doesn't have it yet, or there is none.
    #[pyo3(signature = (offset, partition=0))]
    fn prove(&self, py: Python<'_>, offset: u64, partition: u32) -> PyResult<Proof> {
        self.topic.detached(py, |topic| topic.prove(partition, offset)).map(Proof)
    }

    /// Write a partition, as it was at its last checkpoint, as the files of C2SP's tlog-tiles. Gives
    /// ``{"size": records, "tiles": files, "gone": files of entries that are not all kept}``.
    #[pyo3(signature = (path, partition=0))]
    fn export_tiles<'py>(
        &self,
        py: Python<'py>,
        path: GivenPath,
        partition: u32,
    ) -> PyResult<Bound<'py, PyDict>> {
        let done = self
            .topic
            .interruptible(py, move |topic| topic.export_tiles(&Io::os(), partition, &path.0))?;
        [("size", done.size), ("tiles", done.tiles), ("gone", done.gone)].into_py_dict(py)
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

    /// Put a group's offset where you say, back too.
    #[pyo3(signature = (group, offset, partition=0))]
    fn reset_group(
        &self,
        py: Python<'_>,
        group: &str,
        offset: u64,
        partition: u32,
    ) -> PyResult<()> {
        self.topic.detached(py, |topic| topic.reset_group(group, partition, offset))
    }

    /// Have more partitions. Keys go to other partitions from then on.
    fn set_partitions(&self, py: Python<'_>, partitions: u32) -> PyResult<()> {
        self.topic.detached(py, |topic| topic.set_partitions(partitions))
    }

    /// Throw away by itself, of each partition, records older than ``age`` seconds, the oldest beyond
    /// so many ``bytes`` or ``records``, and of each key all but the last. None: no bound.
    #[pyo3(signature = (*, age=None, bytes=None, records=None, compact=false))]
    fn set_retention(
        &self,
        py: Python<'_>,
        age: Option<f64>,
        bytes: Option<u64>,
        records: Option<u64>,
        compact: bool,
    ) -> PyResult<()> {
        let retention = TopicRetention { age_ns: span_ns("age", age)?, bytes, records, compact };
        self.topic.detached(py, |topic| topic.set_retention(retention))
    }

    /// Throw away now what the retention says. Gives ``{"expired": n, "superseded": n}``.
    fn retain<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let thrown = self.topic.interruptible(py, move |topic| topic.retain())?;
        [("expired", thrown.expired), ("superseded", thrown.superseded)].into_py_dict(py)
    }

    /// Hold each record of a partition against the hash of the day it was appended, the hashes against
    /// each other, and all against the last checkpoint. Gives how many records were looked at.
    ///
    /// Raises
    /// ------
    /// CorruptionError
    ///     A record, a hash or the checkpoint is another than it was; it says which.
    ///
    /// Examples
    /// --------
    /// >>> import timestrata
    /// >>> payments = timestrata.open().topic("payments")
    /// >>> receipts = payments.send_batch([{"key": "ada", "value": "10"}, {"key": "bob", "value": "20"}])
    /// >>> payments.audit()
    /// 2
    #[pyo3(signature = (partition=0))]
    fn audit(&self, py: Python<'_>, partition: u32) -> PyResult<u64> {
        self.topic
            .interruptible(py, move |topic| topic.audit(partition))
            .map(|audited| audited.records)
    }

    /// Remove the topic and its records, durably.
    fn drop(&self, py: Python<'_>) -> PyResult<()> {
        self.topic.detached(py, |topic| topic.remove())
    }

    fn __repr__(&self) -> String {
        format!("<Topic {:?} partitions={}>", self.name(), self.topic.even_closed().partitions())
    }
}

fn hashes<'py>(py: Python<'py>, proof: &[Hash]) -> Vec<Bound<'py, PyBytes>> {
    proof.iter().map(|hash| PyBytes::new(py, hash.as_bytes())).collect()
}
