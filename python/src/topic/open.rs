//! `Store.topic`: the topic of a name. `Store.consumer`: who reads several.

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::PyDict;
use timestrata_topic::{Topic as TopicModel, TopicOptions, TopicRetention};

use super::arguments::stamp_of;
use super::asked::ConsumerAsked;
use super::number::maybe_number;
use super::object::WAYS;
use super::{Consumer, Topic};
use crate::interrupt::detached;
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
    /// retention_groups_age : float, optional
    ///     Forget what groups have committed that have no members, and committed nothing for so many seconds.
    /// compression : str, optional
    ///     How records of a new topic are packed once they have settled: "zstd", as it is where nothing is said, "zstd:LEVEL"
    ///     (1 to 22) or "lz4", in Parquet files; or "none": in Arrow files, which take more room and are read without decoding.
    /// keep_entries : bool, optional
    ///     True: of records that are thrown away a new topic keeps the entries, hashes of their parts. So
    ///     `Topic.export_tiles` stays whole, for some 60 to 170 bytes a record.
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
                        compact=None, retention_groups_age=None, compression=None, keep_entries=None,
                        create=true))]
    #[expect(clippy::too_many_arguments, reason = "keyword arguments of a Python method")]
    fn topic(
        &self,
        py: Python<'_>,
        name: &str,
        #[pyo3(from_py_with = maybe_number)] partitions: Option<u32>,
        #[pyo3(from_py_with = maybe_number)] record_bytes_max: Option<u64>,
        timestamp: Option<&str>,
        retention_age: Option<f64>,
        #[pyo3(from_py_with = maybe_number)] retention_bytes: Option<u64>,
        #[pyo3(from_py_with = maybe_number)] retention_records: Option<u64>,
        compact: Option<bool>,
        retention_groups_age: Option<f64>,
        compression: Option<&str>,
        keep_entries: Option<bool>,
        create: bool,
    ) -> PyResult<Topic> {
        let stamp = timestamp.map(stamp_of).transpose()?;
        let compression = compression_named(compression)?;
        let age_ns = span_ns("retention_age", retention_age)?;
        let groups_age_ns = span_ns("retention_groups_age", retention_groups_age)?;
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
                groups_age_ns: groups_age_ns.or(found.retention.groups_age_ns),
            },
            compression: compression.or(found.compression),
            keep_entries: keep_entries.unwrap_or(found.keep_entries),
        };
        Ok(Topic { topic: Opened::named(py, &self.handle, name, create, &WAYS, wanted)? })
    }

    /// List the names of all topics.
    fn topics(&self) -> PyResult<Vec<String>> {
        Ok(TopicModel::names(self.handle.store()?))
    }

    /// All groups of the store that have committed something, or have members now, by name.
    ///
    /// Returns
    /// -------
    /// dict
    ///     Of each group ``{"offsets": {(topic, partition): offset}, "members": {member: [(topic, partition)]}}``.
    ///
    /// Examples
    /// --------
    /// >>> import timestrata
    /// >>> store = timestrata.open()
    /// >>> at = store.topic("payments").reset_group("ledger", 0)
    /// >>> store.groups()
    /// {'ledger': {'offsets': {('payments', 0): 0}, 'members': {}}}
    fn groups<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let store = self.handle.store()?;
        let groups = PyDict::new(py);
        for group in detached(py, || TopicModel::groups_of(store))? {
            let (offsets, members) = (PyDict::new(py), PyDict::new(py));
            for (place, offset) in group.offsets {
                offsets.set_item((place.topic, place.partition), offset)?;
            }
            for (member, reads) in group.members {
                let reads = reads.into_iter().map(|place| (place.topic, place.partition));
                members.set_item(member, reads.collect::<Vec<_>>())?;
            }
            let one = PyDict::new(py);
            one.set_item("offsets", offsets)?;
            one.set_item("members", members)?;
            groups.set_item(group.name, one)?;
        }
        Ok(groups)
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
    #[pyo3(
        signature = (topics, group=None, **named),
        text_signature = "($self, topics, group=None, *, member=None, reset=\"earliest\", strategy=\"sticky\", session=30.0, poll_interval_max=300.0, auto_commit=None, idle_timeout=None, on_assigned=None, on_revoked=None, on_lost=None)"
    )]
    fn consumer(
        &self,
        py: Python<'_>,
        topics: Vec<String>,
        group: Option<String>,
        named: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Consumer> {
        let asked = ConsumerAsked::of(group, named)?;
        Consumer::new(py, Arc::clone(&self.handle), None, &topics, asked)
    }
}
