//! `Receipt`: where a record is now.

use pyo3::prelude::*;
use timestrata_topic::Receipt as ModelReceipt;

/// Where a record is that was sent.
///
/// Examples
/// --------
/// >>> import timestrata
/// >>> receipt = timestrata.open().topic("payments").send("10")
/// >>> receipt.topic, receipt.partition, receipt.offset
/// ('payments', 0, 0)
#[pyclass(frozen, module = "timestrata", get_all, eq, hash)]
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Receipt {
    /// Name of the topic.
    topic: String,
    /// Its partition.
    partition: u32,
    /// Its offset in the partition.
    offset: u64,
    /// Nanoseconds since the epoch.
    timestamp: i64,
}

impl Receipt {
    pub(super) fn of(topic: &str, receipt: &ModelReceipt) -> Self {
        Self {
            topic: topic.to_owned(),
            partition: receipt.partition,
            offset: receipt.offset,
            timestamp: receipt.timestamp_ns,
        }
    }
}

#[pymethods]
impl Receipt {
    /// One of these parts, for `timestrata.connect`.
    #[staticmethod]
    fn _of(topic: String, partition: u32, offset: u64, timestamp: i64) -> Self {
        Self { topic, partition, offset, timestamp }
    }

    fn __repr__(&self) -> String {
        let Self { topic, partition, offset, timestamp } = self;
        format!("<Receipt {topic}/{partition} @{offset} timestamp={timestamp}>")
    }
}
