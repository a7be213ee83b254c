//! `Store.topic`: the topic of a name. `Store.consumer`: who reads several.

use std::sync::Arc;

use pyo3::prelude::*;
use timestrata_topic::{Topic as TopicModel, TopicOptions, TopicRetention};

use super::arguments::stamp_of;
use super::consumer::ConsumerAsked;
use super::object::WAYS;
use super::{Consumer, Topic};
use crate::opened::Opened;
use crate::settings::{compression as compression_named, span_ns};
use crate::store::Store;

#[pymethods]
impl Store {
    /// Give the topic of this name; make it if it is missing.
    ///
    /// What is not said stays as it is in a topic that exists, and is the default in a new one.
    ///
    /// Parameters
    /// ----------
    /// name : str
    ///     1 to 249 letters, digits, dots, underscores and hyphens.
    /// partitions : int, optional
    ///     A new topic has 1.
    /// record_bytes_max : int, optional
    ///     Most bytes of a record's key, value and headers; 1 MiB in a new one.
    /// timestamp : {"producer", "store"}, optional
    ///     Whose clock records have; a producer that says no time has the store's too.
    /// retention_age, retention_bytes, retention_records : float, int, int, optional
    ///     Throw away, of each partition, records older than so many seconds, or the oldest beyond
    ///     so many bytes or records. Proofs of the others stay valid.
    /// compact : bool, optional
    ///     Throw away of each key all but the last record.
    /// compression : str, optional
    ///     How compacted records of a new topic are packed: "zstd", "zstd:LEVEL" (1 to 22), "lz4" or "none", in Parquet
    ///     files. None: they lie in Arrow files, which take more room and are read without decoding.
    /// create : bool, optional
    ///     False: it must exist.
    ///
    /// Raises
    /// ------
    /// AlreadyExistsError
    ///     It exists with other options than asked for.
    ///
    /// Examples
    /// --------
    /// >>> import timestrata
    /// >>> store = timestrata.open()
    /// >>> store.topic("payments", partitions=2, retention_age=30 * 86_400)
    /// <Topic "payments" partitions=2>
    #[pyo3(signature = (name, *, partitions=None, record_bytes_max=None, timestamp=None,
                        retention_age=None, retention_bytes=None, retention_records=None,
                        compact=None, compression=None, create=true))]
    #[expect(clippy::too_many_arguments, reason = "keyword arguments of a Python method")]
    fn topic(
        &self,
        py: Python<'_>,
        name: &str,
        partitions: Option<u32>,
        record_bytes_max: Option<u64>,
        timestamp: Option<&str>,
        retention_age: Option<f64>,
        retention_bytes: Option<u64>,
        retention_records: Option<u64>,
        compact: Option<bool>,
        compression: Option<&str>,
        create: bool,
    ) -> PyResult<Topic> {
        let stamp = timestamp.map(stamp_of).transpose()?;
        let compression = compression_named(compression)?;
        let age_ns = span_ns("retention_age", retention_age)?;
        // What was not asked for is as it is.
        let wanted = |found: TopicOptions| TopicOptions {
            partitions: partitions.unwrap_or(found.partitions),
            record_bytes_max: record_bytes_max.unwrap_or(found.record_bytes_max),
            stamp: stamp.unwrap_or(found.stamp),
            retention: TopicRetention {
                age_ns: age_ns.or(found.retention.age_ns),
                bytes: retention_bytes.or(found.retention.bytes),
                records: retention_records.or(found.retention.records),
                compact: compact.unwrap_or(found.retention.compact),
            },
            compression: compression.or(found.compression),
        };
        Ok(Topic { topic: Opened::named(py, &self.handle, name, create, &WAYS, wanted)? })
    }

    /// List the names of all topics.
    fn topics(&self) -> PyResult<Vec<String>> {
        Ok(TopicModel::names(self.handle.store()?))
    }

    /// Give a consumer of several topics; see `Topic.consumer`.
    ///
    /// Parameters
    /// ----------
    /// topics : list of str
    ///     Names, or beginnings of names with a star behind; topics may be made later.
    ///
    /// Examples
    /// --------
    /// >>> import timestrata
    /// >>> store = timestrata.open()
    /// >>> for name in ["orders.eu", "orders.us"]:
    /// ...     receipt = store.topic(name).send("paid")
    /// >>> sorted(record.topic for record in store.consumer(["orders.*"]).poll())
    /// ['orders.eu', 'orders.us']
    #[pyo3(signature = (topics, group=None, *, member=None, reset="earliest", strategy="sticky",
                        session=30.0, auto_commit=None, idle_timeout=None))]
    #[expect(clippy::too_many_arguments, reason = "keyword arguments of a Python method")]
    fn consumer(
        &self,
        py: Python<'_>,
        topics: Vec<String>,
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
        Consumer::new(py, Arc::clone(&self.handle), None, &topics, &asked)
    }
}
