//! `CommitTopic`: what a commit over several models appends to a topic.

use pyo3::prelude::*;
use pyo3::types::PyList;
use timestrata_topic::{Receipt as ModelReceipt, Topic as TopicModel, TopicWrite};

use super::arguments::GivenRecord;
use super::{Receipt, Topic};
use crate::lock::Lock;
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
    name: String,
    staging: Staging,
    given: Staged<Given>,
    receipts: Lock<Vec<ModelReceipt>>,
}

#[derive(Default)]
struct Given {
    records: Vec<GivenRecord>,
    expected_offset: Option<u64>,
}

impl Given {
    fn add(&mut self, records: Vec<GivenRecord>, expected_offset: Option<u64>) {
        self.records.extend(records);
        self.expected_offset = self.expected_offset.or(expected_offset);
    }
}

/// Records on their way into a commit.
pub(crate) struct TopicRecords {
    topic: TopicModel,
    records: Vec<GivenRecord>,
    expected_offset: Option<u64>,
}

impl TopicRecords {
    pub(crate) fn write(&self) -> TopicWrite<'_> {
        let mut write = TopicWrite::new(&self.topic);
        self.records.iter().for_each(|given| write.send(given.record()));
        if let Some(offset) = self.expected_offset {
            write.expect_offset(offset);
        }
        write
    }
}

impl CommitTopic {
    pub(crate) fn new(name: &str, staging: Staging) -> Self {
        let receipts = Lock::new(Vec::new());
        Self { name: name.to_owned(), staging, given: Staged::default(), receipts }
    }

    /// What it has; `None`: nothing. The topic is made if it is missing.
    pub(crate) fn take(&self, store: &Bound<'_, Store>) -> PyResult<Option<TopicRecords>> {
        let Given { records, expected_offset } = self.given.take().unwrap_or_default();
        if records.is_empty() {
            return Ok(None);
        }
        let topic = store.call_method1("topic", (&self.name,))?.cast_into::<Topic>()?;
        let topic = topic.get().topic.model()?.clone();
        Ok(Some(TopicRecords { topic, records, expected_offset }))
    }

    pub(crate) fn set_receipts(&self, receipts: &[ModelReceipt]) {
        *self.receipts.lock() = receipts.to_vec();
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
    #[pyo3(signature = (record, *, partition=None, expected_offset=None))]
    fn send(
        &self,
        record: &Bound<'_, PyAny>,
        partition: Option<u32>,
        expected_offset: Option<u64>,
    ) -> PyResult<()> {
        self.staging.check()?;
        let mut given = GivenRecord::of(record)?;
        given.partition = partition.or(given.partition);
        self.given.add(|all| all.add(vec![given], expected_offset))
    }

    /// Append records, behind those before; see `send`.
    #[pyo3(signature = (records, *, partition=None, expected_offset=None))]
    fn send_batch(
        &self,
        records: &Bound<'_, PyAny>,
        partition: Option<u32>,
        expected_offset: Option<u64>,
    ) -> PyResult<()> {
        self.staging.check()?;
        let given = records.try_iter()?.map(|record| {
            let mut given = GivenRecord::of(&record?)?;
            given.partition = partition.or(given.partition);
            Ok(given)
        });
        let given = given.collect::<PyResult<Vec<_>>>()?;
        self.given.add(|all| all.add(given, expected_offset))
    }
}
