//! `Store`: an open store.

use std::path::PathBuf;
use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::{IntoPyDict, PyDict, PyList, PyString, PyTuple};
use timestrata_engine::{Error, ErrorKind, ScrubStats, StreamStats};
use timestrata_graph::Graph as GraphModel;
use timestrata_table::{Table as TableModel, TableOptions};
use timestrata_timelog::{Codec, Timelog as TimelogModel, TimelogOptions, Unit};
use timestrata_topic::Topic as TopicModel;

use crate::error::to_python;
use crate::graph::Graph;
use crate::handle::{Handle, leave};
use crate::interrupt::{detached, interruptible};
use crate::path::GivenPath;
use crate::reports::{BackupReport, CheckReport, Pin, RecoveryReport, missing_rows};
use crate::table::{Table, TableAsked};
use crate::timelog::Timelog;
use crate::topic::{Consumer, ConsumerAsked, Topic, TopicAsked};
use crate::typed::columns_of;

/// An open store: a directory, or memory. Made by `timestrata.open`.
///
/// Safe to use from several threads. After a fork the child must open it anew.
///
/// Examples
/// --------
/// >>> import timestrata
/// >>> with timestrata.open() as store:
/// ...     store.timelog("door").append(1, "opened")
/// ...     store
/// <Store in memory, open, streams=1>
#[pyclass(frozen, module = "timestrata", weakref)]
#[derive(Debug)]
pub(crate) struct Store {
    handle: Arc<Handle>,
}

impl Store {
    pub(crate) fn new(handle: Arc<Handle>) -> Self {
        Self { handle }
    }

    pub(crate) fn handle(&self) -> &Arc<Handle> {
        &self.handle
    }
}

/// The time log of a store; made if it is missing and may be.
pub(crate) fn timelog_of(
    py: Python<'_>,
    handle: &Handle,
    name: &str,
    codec: Option<&str>,
    unit: Option<&str>,
    schema: Option<&Bound<'_, PyAny>>,
) -> PyResult<TimelogModel> {
    let columns = schema.map(columns_of).transpose()?;
    let wrong = |error| to_python(py, &error);
    let mut codec = codec.map(str::parse::<Codec>).transpose().map_err(wrong)?;
    if columns.is_some() {
        // Only one codec has columns.
        codec = codec.or(Some(Codec::Arrow));
    }
    let unit = unit.map(str::parse::<Unit>).transpose().map_err(wrong)?;
    let store = handle.store()?;
    let must_exist = handle.mode == "r";
    detached(py, || {
        let (codec_default, unit_default, columns_default) = if must_exist
            || store.stream(name).is_some()
        {
            let log = TimelogModel::open(store, name)?;
            if log.codec() == Codec::Pickle && codec.is_none() {
                return Err(Error::new(
                    ErrorKind::InvalidArgument,
                    format!(
                        "time log '{name}' holds pickles, and reading a pickle runs what is in it: \
                         if you trust who wrote it, say codec='pickle'"
                    ),
                ));
            }
            let same_codec = codec.is_none_or(|codec| codec == log.codec());
            let same_unit = unit.is_none_or(|unit| unit == log.unit());
            let same_columns = columns.is_none() || columns == log.columns();
            if same_codec && same_unit && same_columns {
                return Ok(log);
            }
            (log.codec(), log.unit(), if same_codec { log.columns() } else { None })
        } else {
            (Codec::Cbor, Unit::default(), None)
        };
        let options = TimelogOptions {
            codec: codec.unwrap_or(codec_default),
            columns: columns.or(columns_default),
            unit: unit.unwrap_or(unit_default),
            ..TimelogOptions::default()
        };
        TimelogModel::create(store, name, options)
    })
}

#[pymethods]
impl Store {
    /// Give the time log of this name; make it if it is missing.
    ///
    /// Parameters
    /// ----------
    /// name : str
    /// codec : {"cbor", "bytes", "json", "arrow", "pickle"}, optional
    ///     How values are stored: plain Python data as CBOR (RFC 8949) or as JSON, bytes as they
    ///     are, columns of Arrow types, or any object as a pickle. A new log has "cbor"; one that
    ///     exists keeps its own. "pickle" must be said at each open: reading a pickle runs what is
    ///     in it.
    /// unit : {"ms", "s", "us", "ns"}, optional
    ///     Unit of its timestamps. A new log has "ms"; one that exists keeps its own.
    /// schema : str, dict or Arrow schema, optional
    ///     What values are in a log of codec "arrow", needed when it is made: the name of a type
    ///     ("float64": every value is a float or None), a dict from column to type, or any object
    ///     with ``__arrow_c_schema__`` (every value is a dict of the columns).
    ///
    /// Raises
    /// ------
    /// AlreadyExistsError
    ///     It exists with another codec, unit or schema than asked for.
    /// NotFoundError
    ///     It doesn't exist, and the store was opened for reading.
    ///
    /// Examples
    /// --------
    /// >>> import timestrata
    /// >>> store = timestrata.open()
    /// >>> store.timelog("raw", codec="bytes", unit="ns")
    /// <Timelog 'raw' codec=bytes unit=ns>
    /// >>> trades = store.timelog("trades", schema={"price": "float64", "shares": "int64"})
    /// >>> trades.append(1, {"price": 7.5, "shares": 100})
    /// >>> trades[1]
    /// [{'price': 7.5, 'shares': 100}]
    #[pyo3(signature = (name, *, codec=None, unit=None, schema=None))]
    fn timelog(
        &self,
        py: Python<'_>,
        name: &str,
        codec: Option<&str>,
        unit: Option<&str>,
        schema: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Timelog> {
        let log = timelog_of(py, &self.handle, name, codec, unit, schema)?;
        Timelog::of_store(py, Arc::clone(&self.handle), log)
    }

    /// List the names of all time logs.
    fn timelogs(&self) -> PyResult<Vec<String>> {
        let store = self.handle.store()?;
        let is_timelog = |name: &String| TimelogModel::open(store, name).is_ok();
        Ok(names(store).filter(is_timelog).collect())
    }

    /// Give the table of this name, which comes into being with its first rows.
    ///
    /// Parameters
    /// ----------
    /// name : str
    /// time : str, optional
    ///     Its time column; else the first column of times, those called "timestamp", "time",
    ///     "ts", "datetime" or "date" before others.
    /// key : str or list of str, optional
    ///     The upsert key: of rows that are equal in these columns the last one written is kept.
    ///     Without one every row is kept.
    /// tags : str or list of str, optional
    ///     Columns that say which series a row belongs to.
    /// schema : dict or Arrow schema, optional
    ///     Its columns, so that it exists at once: a dict from column to type
    ///     (``{"time": "timestamp[us, tz=UTC]", "price": "float64"}``), or any object with
    ///     ``__arrow_c_schema__``.
    /// ids : bool, optional
    ///     Tell rows apart by a column "id" of whole numbers from 1, and give rows that come
    ///     without one the next.
    ///
    /// Raises
    /// ------
    /// AlreadyExistsError
    ///     It exists with another time column, key or tags.
    ///
    /// Examples
    /// --------
    /// >>> import timestrata
    /// >>> store = timestrata.open()
    /// >>> rooms = store.table("rooms", key=["room", "time"])
    /// >>> rooms.append({"time": "2024-05-01", "room": "kitchen", "celsius": 20.0})
    /// 1
    /// >>> rooms.append({"time": "2024-05-01", "room": "kitchen", "celsius": 21.5})
    /// 1
    /// >>> [row["celsius"] for row in rooms.scan()]
    /// [21.5]
    #[pyo3(signature = (name, *, time=None, key=None, tags=None, schema=None, ids=false))]
    #[expect(clippy::too_many_arguments, reason = "keyword arguments of a Python method")]
    fn table(
        &self,
        py: Python<'_>,
        name: &str,
        time: Option<String>,
        key: Option<&Bound<'_, PyAny>>,
        tags: Option<&Bound<'_, PyAny>>,
        schema: Option<&Bound<'_, PyAny>>,
        ids: bool,
    ) -> PyResult<Table> {
        let options = TableOptions {
            time,
            key: names_of(key)?,
            tags: names_of(tags)?,
            hand_out_ids: ids,
            ..TableOptions::default()
        };
        Table::new(py, Arc::clone(&self.handle), name, TableAsked::of(options, schema)?)
    }

    /// List the names of all tables.
    fn tables(&self) -> PyResult<Vec<String>> {
        Ok(TableModel::names(self.handle.store()?))
    }

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
    /// create : bool, optional
    ///     False: it must exist.
    ///
    /// Raises
    /// ------
    /// AlreadyExistsError
    ///     It exists with other options than asked for.
    #[pyo3(signature = (name, *, partitions=None, record_bytes_max=None, timestamp=None,
                        retention_age=None, retention_bytes=None, retention_records=None,
                        compact=None, create=true))]
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
        create: bool,
    ) -> PyResult<Topic> {
        let asked = TopicAsked {
            partitions,
            record_bytes_max,
            stamp: timestamp.map(crate::topic::stamp_of).transpose()?,
            age_ns: crate::topic::span_ns("retention_age", retention_age)?,
            bytes: retention_bytes,
            records: retention_records,
            compact,
        };
        Topic::new(py, Arc::clone(&self.handle), name, &asked, create)
    }

    /// List the names of all topics.
    fn topics(&self) -> PyResult<Vec<String>> {
        Ok(TopicModel::names(self.handle.store()?))
    }

    /// Give the graph of this name; make it if it is missing.
    ///
    /// Parameters
    /// ----------
    /// name : str
    ///     1 to 249 letters, digits, dots, underscores and hyphens.
    /// keep_versions : int, optional
    ///     How many versions of a block stay readable, the latest among them. A new graph has 1; one
    ///     that exists keeps its own.
    /// create : bool, optional
    ///     False: it must exist.
    ///
    /// Raises
    /// ------
    /// AlreadyExistsError
    ///     It exists with another number of versions than asked for.
    /// NotFoundError
    ///     It doesn't exist, and may not be made.
    ///
    /// Examples
    /// --------
    /// >>> import timestrata
    /// >>> store = timestrata.open()
    /// >>> store.graph("code", keep_versions=3)
    /// <Graph "code" keep_versions=3>
    #[pyo3(signature = (name, *, keep_versions=None, create=true))]
    fn graph<'py>(
        &self,
        py: Python<'py>,
        name: &str,
        keep_versions: Option<u32>,
        create: bool,
    ) -> PyResult<Bound<'py, Graph>> {
        Graph::named(py, Arc::clone(&self.handle), name, keep_versions, create)
    }

    /// List the names of all graphs.
    fn graphs(&self) -> PyResult<Vec<String>> {
        Ok(GraphModel::names(self.handle.store()?))
    }

    /// Give a consumer of several topics; see `Topic.consumer`.
    ///
    /// Parameters
    /// ----------
    /// topics : list of str
    ///     Names, or beginnings of names with a star behind; topics may be made later.
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

    /// The names of all streams, of whatever model.
    #[getter]
    fn streams(&self) -> PyResult<Vec<String>> {
        Ok(names(self.handle.store()?).collect())
    }

    /// Remove what has this name with all that it holds, durably: a time log, a table, a log, a topic or a
    /// graph.
    ///
    /// Raises
    /// ------
    /// InvalidArgumentError
    ///     It is a part of a topic, a graph or a table.
    fn drop(&self, py: Python<'_>, name: &str) -> PyResult<()> {
        let store = self.handle.store()?;
        detached(py, || timestrata::drop_by_name(store, name))
    }

    /// Make every commit so far survive a power cut. Gives the last one.
    fn sync(&self, py: Python<'_>) -> PyResult<u64> {
        let store = self.handle.store()?;
        detached(py, || store.sync()).map(|seq| seq.0)
    }

    /// Write what is in memory to run files.
    fn flush(&self, py: Python<'_>) -> PyResult<()> {
        let store = self.handle.store()?.clone();
        interruptible(py, move || store.flush())
    }

    /// Compact one stream, or all, until nothing is left to do. Ctrl-C ends the waiting.
    #[pyo3(signature = (name=None))]
    fn compact(&self, py: Python<'_>, name: Option<&str>) -> PyResult<()> {
        let store = self.handle.store()?.clone();
        let stream = match name {
            None => None,
            Some(name) => Some(stream_id(&store, name)?),
        };
        interruptible(py, move || store.compact(stream))
    }

    /// Read every byte of the store's files and say what is wrong and where.
    ///
    /// Nothing is flushed for it: its `rows` are those of run files, `memory_rows` those that are in none yet.
    ///
    /// Examples
    /// --------
    /// >>> import timestrata
    /// >>> bool(timestrata.open().check())
    /// True
    fn check(&self, py: Python<'_>) -> PyResult<CheckReport> {
        let store = self.handle.store()?.clone();
        interruptible(py, move || store.check()).map(CheckReport::from)
    }

    /// Copy the store to a new directory, consistently, while writing goes on.
    ///
    /// Where a run is damaged or missing, CorruptionError says which rows of which stream, and there is no
    /// copy; with `with_damage` there is one that has the same damage, which its report lists.
    #[pyo3(signature = (path, *, with_damage = false))]
    fn backup(&self, py: Python<'_>, path: GivenPath, with_damage: bool) -> PyResult<BackupReport> {
        let store = self.handle.store()?.clone();
        let options = timestrata_engine::BackupOptions { with_damage };
        interruptible(py, move || store.backup_with(&path.0, options)).map(BackupReport::from)
    }

    /// Make a named, durable snapshot of now. Gives the commit it sees.
    fn pin(&self, py: Python<'_>, name: &str) -> PyResult<u64> {
        let store = self.handle.store()?;
        detached(py, || store.pin(name)).map(|seq| seq.0)
    }

    /// Remove a pin; files that only it kept are removed.
    fn unpin(&self, py: Python<'_>, name: &str) -> PyResult<()> {
        let store = self.handle.store()?;
        detached(py, || store.unpin(name))
    }

    /// List all pins.
    fn pins<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let pins = self.handle.store()?.pins();
        let pins = pins.into_iter().map(|pin| Py::new(py, Pin::from(pin)));
        PyList::new(py, pins.collect::<PyResult<Vec<_>>>()?)
    }

    /// Catch up with the writer, in a store opened for reading. Gives the last commit seen.
    fn refresh(&self, py: Python<'_>) -> PyResult<u64> {
        let store = self.handle.store()?;
        detached(py, || store.refresh()).map(|seq| seq.0)
    }

    /// Give figures of the store and of each stream.
    ///
    /// Examples
    /// --------
    /// >>> import timestrata
    /// >>> store = timestrata.open()
    /// >>> store.timelog("door").append(1, "opened")
    /// >>> store.stats()["streams"]["door"]["memtable_rows"]
    /// 1
    fn stats<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let store = self.handle.store()?;
        let stats = py.detach(|| store.stats());
        let shown = [
            ("last_seq", stats.last_seq.0),
            ("synced_seq", stats.synced_seq.0),
            ("wal_bytes", stats.wal_bytes),
            ("wal_segments", stats.wal_segments),
            ("memtable_bytes", stats.memtable_bytes),
            ("flushes", stats.flushes),
            ("compactions", stats.compactions),
            ("flush_bytes", stats.flush_bytes),
            ("compaction_bytes", stats.compaction_bytes),
        ]
        .into_py_dict(py)?;
        shown.set_item("background_error", stats.background_error)?;
        shown.set_item("troubles", stats.troubles)?;
        let damaged = stats.damaged.iter().map(|missing| missing_rows(py, missing));
        shown.set_item("damaged", damaged.collect::<PyResult<Vec<_>>>()?)?;
        shown.set_item("scrub", scrub_stats(py, &stats.scrub)?)?;
        let streams = PyDict::new(py);
        for stream in stats.streams {
            streams.set_item(&stream.name, stream_stats(py, &stream)?)?;
        }
        shown.set_item("streams", streams)?;
        Ok(shown)
    }

    /// What opening the store found and did.
    #[getter]
    fn recovery(&self) -> PyResult<RecoveryReport> {
        Ok(RecoveryReport::from(self.handle.store_even_closed()?.recovery_report()))
    }

    /// Its directory; None in memory.
    #[getter]
    fn path(&self) -> PyResult<Option<PathBuf>> {
        Ok(self.handle.store_even_closed()?.path().map(PathBuf::from))
    }

    /// The mode it was opened with.
    #[getter]
    fn mode(&self) -> &'static str {
        self.handle.mode
    }

    /// Whether it was closed.
    #[getter]
    fn closed(&self) -> bool {
        self.handle.is_closed()
    }

    /// Flush, sync and close. Fine to call twice.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        self.handle.close(py)
    }

    fn __enter__(slf: Bound<'_, Self>) -> PyResult<Bound<'_, Self>> {
        slf.get().handle.store()?;
        Ok(slf)
    }

    #[pyo3(signature = (*raised))]
    fn __exit__(&self, py: Python<'_>, raised: &Bound<'_, PyTuple>) -> PyResult<bool> {
        leave(raised, self.close(py))
    }

    fn __repr__(&self) -> String {
        let Ok(store) = self.handle.store_even_closed() else {
            return "<Store of the parent process>".to_owned();
        };
        let place = match store.path() {
            Some(path) => format!("{:?}", path.display().to_string()),
            None => "in memory".to_owned(),
        };
        if self.handle.is_closed() {
            return format!("<Store {place}, closed>");
        }
        let mode = if self.handle.mode == "r" { "read-only" } else { "open" };
        format!("<Store {place}, {mode}, streams={}>", store.streams().len())
    }
}

/// One name, or several.
pub(crate) fn names_of(names: Option<&Bound<'_, PyAny>>) -> PyResult<Vec<String>> {
    match names {
        None => Ok(Vec::new()),
        Some(name) => match name.cast::<PyString>() {
            Ok(name) => Ok(vec![name.to_string()]),
            Err(_) => name.extract(),
        },
    }
}

fn names(store: &timestrata_engine::Store) -> impl Iterator<Item = String> {
    store.streams().into_iter().map(|stream| stream.name().to_owned())
}

fn stream_id(
    store: &timestrata_engine::Store,
    name: &str,
) -> PyResult<timestrata_engine::StreamId> {
    match store.stream(name) {
        Some(stream) => Ok(stream.id()),
        None => Err(crate::error::refused(
            timestrata_engine::ErrorKind::NotFound,
            format!("no stream '{name}'"),
        )),
    }
}

/// Figures of the scrubber.
fn scrub_stats<'py>(py: Python<'py>, stats: &ScrubStats) -> PyResult<Bound<'py, PyDict>> {
    let shown = PyDict::new(py);
    shown.set_item("rounds", stats.rounds)?;
    shown.set_item("round_ended_ns", stats.round_ended_wall_ns)?;
    shown.set_item("round_bytes", stats.round_bytes)?;
    shown.set_item("bytes", stats.bytes)?;
    shown.set_item("found_damage", stats.found_damage)?;
    Ok(shown)
}

fn stream_stats<'py>(py: Python<'py>, stream: &StreamStats) -> PyResult<Bound<'py, PyDict>> {
    [
        ("runs", stream.runs),
        ("run_rows", stream.run_rows),
        ("run_bytes", stream.run_bytes),
        ("memtable_rows", stream.memtable_rows),
        ("memtable_bytes", stream.memtable_bytes),
        ("tombstones", stream.tombstones),
        ("compaction_debt_bytes", stream.compaction_debt_bytes),
    ]
    .into_py_dict(py)
}
