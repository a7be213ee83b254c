//! `CommitTopic`: what a commit over several models appends to a topic.

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::PyList;
use timestrata_topic::{Receipt as ModelReceipt, Topic as TopicModel, TopicWrite};

use super::arguments::GivenRecord;
use super::object::WAYS;
use super::{Producer, Receipt};
use crate::error::invalid;
use crate::handle::Handle;
use crate::lock::Lock;
use crate::opened::MadeForCommit;
use crate::staging::{Staged, Staging};
use crate::store::Store;

/// What a commit appends to a topic. Made by `Commit.topic`.
///
/// Examples
/// --------
/// >>> import timestrata
/// >>> store = timestrata.open()
/// >>> with store.commit() as commit:
/// ...     commit.topic("events").send("opened", expected_offset=0)
/// ...     commit.topic("events").send({"key": "door", "value": "closed"})
/// >>> commit.topic_receipts("events")[1].offset
/// 1
#[pyclass(frozen, module = "timestrata")]
pub(crate) struct CommitTopic {
    handle: Arc<Handle>,
    name: String,
    staging: Staging,
    given: Staged<Given>,
    receipts: Lock<Vec<ModelReceipt>>,
}

#[derive(Default)]
struct Given {
    records: Vec<GivenRecord>,
    expected_offset: Option<u64>,
    /// Who sends them, and the epoch that it began with.
    producer: Option<(String, u64)>,
}

/// How records are to be sent.
struct GivenHow {
    expected_offset: Option<u64>,
    producer: Option<(String, u64)>,
}

impl GivenHow {
    fn of(
        (handle, name): (&Arc<Handle>, &str),
        expected_offset: Option<u64>,
        producer: Option<&Bound<'_, Producer>>,
    ) -> PyResult<Self> {
        let Some(producer) = producer.map(Bound::get) else {
            return Ok(Self { expected_offset, producer: None });
        };
        if producer.topic_name() != name {
            return Err(invalid(format!(
                "the producer is of topic {:?}, and the records are for {name:?}",
                producer.topic_name()
            )));
        }
        if !Arc::ptr_eq(&producer.topic.handle, handle) {
            return Err(invalid("the producer is of another store than the commit"));
        }
        let Some(id) = producer.id.clone() else {
            return Err(invalid(
                "only a producer with an id has an epoch: topic.producer(producer_id='x')",
            ));
        };
        Ok(Self { expected_offset, producer: Some(id) })
    }
}

impl Given {
    fn add(
        &mut self,
        records: impl IntoIterator<Item = GivenRecord>,
        how: GivenHow,
    ) -> PyResult<()> {
        if !self.records.is_empty() && self.producer != how.producer {
            return Err(invalid("a commit's records of one topic are of one producer, or of none"));
        }
        self.records.extend(records);
        self.producer = how.producer;
        self.expected_offset = self.expected_offset.or(how.expected_offset);
        Ok(())
    }
}

/// Records on their way into a commit.
pub(crate) struct TopicRecords {
    topic: TopicModel,
    given: Given,
}

impl TopicRecords {
    pub(crate) fn write(&self) -> TopicWrite<'_> {
        let mut write = TopicWrite::new(&self.topic);
        self.given.records.iter().for_each(|given| write.send(given.record()));
        if let Some(offset) = self.given.expected_offset {
            write.expect_offset(offset);
        }
        if let Some((id, epoch)) = &self.given.producer {
            write.by_producer(id, *epoch);
        }
        write
    }
}

impl CommitTopic {
    pub(crate) fn new(store: &Bound<'_, Store>, name: &str, staging: Staging) -> Self {
        let (handle, receipts) = (Arc::clone(&store.get().handle), Lock::new(Vec::new()));
        Self { handle, name: name.to_owned(), staging, given: Staged::default(), receipts }
    }

    /// What it has; `None`: nothing. The topic is made if it is missing.
    pub(crate) fn take(
        &self,
        py: Python<'_>,
        made: &MadeForCommit<'_>,
    ) -> PyResult<Option<TopicRecords>> {
        let given = self.given.take().unwrap_or_default();
        if given.records.is_empty() {
            return Ok(None);
        }
        let topic = WAYS.or_made(py, made, &self.name)?;
        Ok(Some(TopicRecords { topic, given }))
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn set_receipts(&self, receipts: Vec<ModelReceipt>) {
        *self.receipts.lock() = receipts;
    }

    pub(crate) fn receipts<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let receipts = self.receipts.lock().clone();
        let receipts = receipts.iter().map(|receipt| Receipt::of(&self.name, receipt));
        Ok(PyList::new(py, receipts.collect::<Vec<_>>())?.into_any())
    }
}

#[pymethods]
impl CommitTopic {
    /// Append one record, behind those before.
    ///
    /// Parameters
    /// ----------
    /// record : Record, mapping, bytes or str
    ///     As `Producer.send` takes it.
    /// partition : int, optional
    /// expected_offset : int, optional
    ///     The offset that the commit's first record must get: all are for one partition then, and if it is another one, the end of the
    ///     block raises `ConflictError`.
    /// producer : Producer, optional
    ///     One of this topic with a ``producer_id``: if another one of that name has begun since, the end of the block raises
    ///     `ConflictError`. All of the commit's records of the topic are of it then, and for one partition.
    #[pyo3(signature = (record, *, partition=None, expected_offset=None, producer=None))]
    fn send(
        &self,
        record: &Bound<'_, PyAny>,
        partition: Option<u32>,
        expected_offset: Option<u64>,
        producer: Option<&Bound<'_, Producer>>,
    ) -> PyResult<()> {
        self.staging.check()?;
        let how = GivenHow::of((&self.handle, &self.name), expected_offset, producer)?;
        let mut given = GivenRecord::of(record)?;
        given.partition = partition.or(given.partition);
        self.given.add(|all| all.add([given], how))?
    }

    /// Append records, behind those before; see `send`.
    #[pyo3(signature = (records, *, partition=None, expected_offset=None, producer=None))]
    fn send_batch(
        &self,
        records: &Bound<'_, PyAny>,
        partition: Option<u32>,
        expected_offset: Option<u64>,
        producer: Option<&Bound<'_, Producer>>,
    ) -> PyResult<()> {
        self.staging.check()?;
        let how = GivenHow::of((&self.handle, &self.name), expected_offset, producer)?;
        let given = records.try_iter()?.map(|record| {
            let mut given = GivenRecord::of(&record?)?;
            given.partition = partition.or(given.partition);
            Ok(given)
        });
        let given = given.collect::<PyResult<Vec<_>>>()?;
        self.given.add(|all| all.add(given, how))?
    }
}
