//! `Producer`: sends to a topic.

use arrow_array::RecordBatch;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use timestrata_engine::Durability;
use timestrata_table::{Table as TableModel, append_together};
use timestrata_topic::{Record as ModelRecord, SendOptions, Topic as TopicModel};

use super::Receipt;
use super::arguments::{GivenRecord, also_of};
use super::number::{maybe_number, number};
use crate::error::invalid;
use crate::opened::Opened;
use crate::settings::word;
use crate::table::Table;

/// Sends records to a topic. Made by `Topic.producer`. Safe to use from several threads, which share
/// syncs.
///
/// Examples
/// --------
/// >>> import timestrata
/// >>> store = timestrata.open()
/// >>> producer = store.topic("payments").producer()
/// >>> producer.send({"key": b"alice", "value": b"10", "timestamp": 5})
/// <Receipt payments/0 @0 timestamp=5>
#[pyclass(frozen, module = "timestrata", weakref)]
#[derive(Debug)]
pub(crate) struct Producer {
    pub(super) topic: Opened<TopicModel>,
    pub(super) durability: Durability,
    /// Who sends, if it may repeat itself, and the epoch that it began with.
    pub(super) id: Option<(String, u64)>,
}

/// How to send, as Python says it.
#[derive(Debug, Default, Clone)]
pub(super) struct SendAsked<'a> {
    pub(super) partition: Option<u32>,
    pub(super) durability: Option<&'a str>,
    pub(super) expected_offset: Option<u64>,
    pub(super) sequence: Sequences,
}

/// A producer's numbers of records.
#[derive(Debug, Default, Clone)]
pub(super) enum Sequences {
    /// Those that come next.
    #[default]
    Next,
    /// That of the first, of records for one partition.
    First(u64),
    /// Those of the first of each partition.
    ByPartition(Vec<(u32, u64)>),
}

impl From<Option<u64>> for Sequences {
    fn from(sequence: Option<u64>) -> Self {
        sequence.map_or(Self::Next, Self::First)
    }
}

/// As callers give them: a number, or a dict of numbers by partition.
impl<'a, 'py> FromPyObject<'a, 'py> for Sequences {
    type Error = PyErr;

    fn extract(given: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        let Ok(by_partition) = given.cast::<PyDict>() else {
            return number(&given).map(Self::First);
        };
        let each = by_partition
            .iter()
            .map(|(partition, sequence)| Ok((number(&partition)?, number(&sequence)?)));
        Ok(Self::ByPartition(each.collect::<PyResult<_>>()?))
    }
}

pub(super) fn durability_of(name: &str) -> PyResult<Durability> {
    let known = [("synced", Durability::Synced), ("written", Durability::Written)];
    word("durability", name, &known)
}

impl Producer {
    /// Sends records of one partition, or of any.
    fn send_given(
        &self,
        py: Python<'_>,
        given: &[GivenRecord],
        asked: SendAsked<'_>,
        also: &[(TableModel, RecordBatch)],
    ) -> PyResult<Vec<Receipt>> {
        self.topic.model()?;
        let records: Vec<ModelRecord<'_>> = given.iter().map(GivenRecord::record).collect();
        let durability = asked.durability.map(durability_of).transpose()?;
        let (first, by_partition) = match &asked.sequence {
            Sequences::Next => (None, &[][..]),
            Sequences::First(sequence) => (Some(*sequence), &[][..]),
            Sequences::ByPartition(each) => (None, each.as_slice()),
        };
        let options = SendOptions {
            partition: asked.partition,
            durability: durability.unwrap_or(self.durability),
            expected_offset: asked.expected_offset,
            sequence: self.id.as_ref().map(|(id, _)| (id.as_str(), first)),
            sequences: by_partition,
            epoch: self.id.as_ref().map(|(_, epoch)| *epoch),
        };
        if self.id.is_none() && !matches!(asked.sequence, Sequences::Next) {
            return Err(invalid(
                "a sequence is a producer's: name it, as in topic.producer(producer_id='x')",
            ));
        }
        let mut receipts = Vec::new();
        self.topic.detached(py, |topic| {
            append_together(also, &mut |changes| {
                receipts = topic.send_batch_with(&records, &options, changes)?;
                Ok(())
            })
        })?;
        Ok(receipts.iter().map(|receipt| Receipt::of(self.topic_name(), receipt)).collect())
    }

    /// Sends one record.
    pub(super) fn send_one(
        &self,
        record: &Bound<'_, PyAny>,
        asked: SendAsked<'_>,
    ) -> PyResult<Receipt> {
        let receipts = self.send_given(record.py(), &[GivenRecord::of(record)?], asked, &[])?;
        receipts.into_iter().next().ok_or_else(|| invalid("no record"))
    }

    /// Sends records, all of them or none.
    pub(super) fn send_all(
        &self,
        records: &Bound<'_, PyAny>,
        asked: SendAsked<'_>,
        also: &[(TableModel, RecordBatch)],
    ) -> PyResult<Vec<Receipt>> {
        let given = records.try_iter()?.map(|record| GivenRecord::of(&record?));
        self.send_given(records.py(), &given.collect::<PyResult<Vec<_>>>()?, asked, also)
    }

    pub(super) fn topic_name(&self) -> &str {
        self.topic.even_closed().name()
    }
}

#[pymethods]
impl Producer {
    /// Append one record and give its receipt.
    ///
    /// Parameters
    /// ----------
    /// record : Record, mapping, bytes or str
    ///     A mapping has ``key``, ``value``, ``headers``, ``timestamp`` and ``partition``, all of them
    ///     optional; bytes or text are the value alone.
    /// partition : int, optional
    ///     Else the one that the record names, or that of the key, as Kafka's clients choose it, or without a key each in its turn.
    /// durability : {"synced", "written"}, optional
    ///     What the record survives once this returns: a power cut, or the end of the process.
    /// expected_offset : int, optional
    ///     The offset that it must get: else nothing is sent, and `ConflictError` is raised.
    /// sequence : int, optional
    ///     With a ``producer_id``: its number among those of this producer in the partition, from 0.
    ///     One that was sent before is answered with the first receipt; a gap is refused.
    ///
    /// Examples
    /// --------
    /// >>> import timestrata
    /// >>> producer = timestrata.open().topic("payments").producer()
    /// >>> producer.send("10", expected_offset=0).offset
    /// 0
    #[pyo3(signature = (record, *, partition=None, durability=None, expected_offset=None,
                        sequence=None))]
    fn send(
        &self,
        record: &Bound<'_, PyAny>,
        #[pyo3(from_py_with = maybe_number)] partition: Option<u32>,
        durability: Option<&str>,
        #[pyo3(from_py_with = maybe_number)] expected_offset: Option<u64>,
        #[pyo3(from_py_with = maybe_number)] sequence: Option<u64>,
    ) -> PyResult<Receipt> {
        let sequence = sequence.into();
        self.send_one(record, SendAsked { partition, durability, expected_offset, sequence })
    }

    /// Append records, all of them or none, with one sync. Gives their receipts, in order.
    ///
    /// Parameters are those of `send`; ``sequence`` and ``expected_offset`` are the first record's, and
    /// all must be for one partition then; of records for several, ``sequence`` is a dict that has that of each partition's
    /// first. ``also`` is a list of (Table, rows): rows of tables that are
    /// in the same commit, there with the records or not at all.
    ///
    /// Examples
    /// --------
    /// >>> import timestrata
    /// >>> store = timestrata.open()
    /// >>> producer, ledger = store.topic("payments").producer(), store.table("ledger")
    /// >>> row = {"time": "2024-05-01", "amount": 10}
    /// >>> [receipt.offset for receipt in producer.send_batch(["10"], also=[(ledger, row)])]
    /// [0]
    /// >>> ledger.count()
    /// 1
    #[pyo3(signature = (records, *, partition=None, durability=None, expected_offset=None,
                        sequence=None, also=None))]
    #[expect(clippy::too_many_arguments, reason = "keyword arguments of a Python method")]
    fn send_batch(
        &self,
        py: Python<'_>,
        records: &Bound<'_, PyAny>,
        #[pyo3(from_py_with = maybe_number)] partition: Option<u32>,
        durability: Option<&str>,
        #[pyo3(from_py_with = maybe_number)] expected_offset: Option<u64>,
        sequence: Option<Sequences>,
        also: Option<Vec<(Bound<'_, Table>, Bound<'_, PyAny>)>>,
    ) -> PyResult<Vec<Receipt>> {
        let also = also_of(py, &self.topic.handle, also)?;
        let sequence = sequence.unwrap_or_default();
        let asked = SendAsked { partition, durability, expected_offset, sequence };
        self.send_all(records, asked, &also)
    }

    /// The sequence that comes next for this producer in a partition: what arrived, after a crash.
    #[pyo3(signature = (partition=0))]
    fn next_sequence(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = number)] partition: u32,
    ) -> PyResult<u64> {
        let (id, _) = self
            .id
            .as_ref()
            .ok_or_else(|| invalid("a producer without producer_id has no sequence"))?;
        self.topic.detached(py, |topic| topic.next_sequence(partition, id))
    }

    fn __repr__(&self) -> String {
        match &self.id {
            None => format!("<Producer of {:?}>", self.topic_name()),
            Some((id, _)) => format!("<Producer {id:?} of {:?}>", self.topic_name()),
        }
    }
}
