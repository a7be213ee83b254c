//! `Store`: an open store.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::{IntoPyDict, PyDict, PyString, PyTuple};
use timestrata_engine::{
    BackupOptions, CacheStats, Error, ErrorKind, Moment, ScrubStats, SeqNo, StreamStats,
};

use crate::error::invalid;
use crate::handle::{Handle, leave};
use crate::lock::Lock;
use crate::path::GivenPath;
use crate::reports::{BackupReport, CheckReport, Pin, PurgeReport, RecoveryReport, missing_rows};
use crate::timestamp::time_ns;

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
    pub(crate) handle: Arc<Handle>,
    kept: Lock<KeptObjects>,
}

/// Models whose objects a store keeps.
#[derive(Debug, Clone, Copy)]
pub(crate) enum KeptModel {
    Table,
    Timelog,
}

impl KeptModel {
    /// The method of `Store` that makes one.
    fn method(self) -> &'static str {
        match self {
            Self::Table => "table",
            Self::Timelog => "timelog",
        }
    }
}

type ByName = HashMap<String, Py<PyAny>>;

#[derive(Debug, Default)]
struct KeptObjects {
    tables: ByName,
    timelogs: ByName,
}

impl KeptObjects {
    fn of(&mut self, model: KeptModel) -> &mut ByName {
        match model {
            KeptModel::Table => &mut self.tables,
            KeptModel::Timelog => &mut self.timelogs,
        }
    }
}

/// Objects of a model that a store keeps, at most.
const KEPT_MAX: usize = 64;

impl Store {
    pub(crate) fn new(handle: Arc<Handle>) -> Self {
        Self { handle, kept: Lock::default() }
    }

    /// What `store.table(name)` or its like gave when this was asked for the first time, or a while ago: to make such an object takes longer than
    /// the small change of a commit that needs it. Whoever asks sees to it that what it stands for is still there.
    pub(crate) fn kept<'py>(
        store: &Bound<'py, Self>,
        model: KeptModel,
        name: &str,
    ) -> PyResult<Bound<'py, PyAny>> {
        match Self::known(store, model, name) {
            Some(known) => Ok(known),
            None => Self::keep(store, model, name),
        }
    }

    /// What [`kept`](Self::kept) gives, if it was asked for.
    pub(crate) fn known<'py>(
        store: &Bound<'py, Self>,
        model: KeptModel,
        name: &str,
    ) -> Option<Bound<'py, PyAny>> {
        let py = store.py();
        let known = store.get().kept.lock().of(model).get(name).map(|known| known.clone_ref(py));
        known.map(|known| known.into_bound(py))
    }

    /// As [`kept`](Self::kept), made anew.
    pub(crate) fn keep<'py>(
        store: &Bound<'py, Self>,
        model: KeptModel,
        name: &str,
    ) -> PyResult<Bound<'py, PyAny>> {
        let made = store.call_method1(model.method(), (name,))?;
        let mut objects = store.get().kept.lock();
        let kept = objects.of(model);
        let all = if kept.len() >= KEPT_MAX { std::mem::take(kept) } else { HashMap::new() };
        let before = kept.insert(name.to_owned(), made.clone().unbind());
        drop(objects);
        // Without the lock.
        drop((all, before));
        Ok(made)
    }

    /// Names of all streams.
    pub(crate) fn names(&self) -> PyResult<impl Iterator<Item = String>> {
        let streams = self.handle.store()?.streams();
        Ok(streams.into_iter().map(|stream| stream.name().to_owned()))
    }
}

#[pymethods]
impl Store {
    /// The names of all streams, of whatever model.
    #[getter]
    fn streams(&self) -> PyResult<Vec<String>> {
        Ok(self.names()?.collect())
    }

    /// Remove what has this name with all that it holds, durably: a time log, a table, a log, a topic or a
    /// graph.
    ///
    /// Raises
    /// ------
    /// InvalidArgumentError
    ///     It is a part of a topic, a graph or a table.
    ///
    /// Examples
    /// --------
    /// >>> import timestrata
    /// >>> store = timestrata.open()
    /// >>> store.table("rooms").append({"time": "2024-05-01", "celsius": 20.0})
    /// 1
    /// >>> store.drop("rooms")
    /// >>> store.tables()
    /// []
    fn drop(&self, py: Python<'_>, name: &str) -> PyResult<()> {
        self.handle.detached(py, |store| timestrata::drop_by_name(store, name))
    }

    /// Make every commit so far survive a power cut. Gives the last one.
    ///
    /// Examples
    /// --------
    /// >>> import timestrata
    /// >>> store = timestrata.open()
    /// >>> store.timelog("door").append(1, "opened")
    /// >>> store.sync() == store.stats()["synced_seq"]
    /// True
    fn sync(&self, py: Python<'_>) -> PyResult<u64> {
        self.handle.detached(py, |store| store.sync()).map(|seq| seq.0)
    }

    /// Write what is in memory to run files.
    ///
    /// Examples
    /// --------
    /// >>> import timestrata
    /// >>> store = timestrata.open()
    /// >>> store.timelog("door").append(1, "opened")
    /// >>> store.flush()
    /// >>> store.stats()["streams"]["door"]["runs"]
    /// 1
    fn flush(&self, py: Python<'_>) -> PyResult<()> {
        self.handle.interruptible(py, |store| store.flush())
    }

    /// Compact one stream, or all, until nothing is left to do. Ctrl-C ends the waiting.
    #[pyo3(signature = (name=None))]
    fn compact(&self, py: Python<'_>, name: Option<&str>) -> PyResult<()> {
        let name = name.map(str::to_owned);
        self.handle.interruptible(py, move |store| {
            let missing = |name| Error::new(ErrorKind::NotFound, format!("no stream '{name}'"));
            let stream = name.map(|name| store.stream(&name).ok_or_else(|| missing(name)));
            store.compact(stream.transpose()?.map(|stream| stream.id()))
        })
    }

    /// Erase what was deleted, replaced or dropped, in the models of these names or in all: no file of the store has it any more.
    ///
    /// A delete hides rows at once; their bytes stay in run files, in the log and in the history until these are let go of. This lets go of
    /// them now. Earlier commits can't be read behind it, and backups are not reached. A topic's hashes stay, so every proof can
    /// still be made. Can be called again after an error. Ctrl-C ends the waiting.
    ///
    /// Raises
    /// ------
    /// ConflictError
    ///     A pin keeps such rows, or a follower has not seen all commits: they are named.
    /// NotFoundError
    ///     There is nothing of a name.
    ///
    /// Examples
    /// --------
    /// >>> import timestrata
    /// >>> store = timestrata.open()
    /// >>> store.timelog("door").append(1, "opened")
    /// >>> store.timelog("door").delete_range(0, 2)
    /// >>> store.purge("door").still_read
    /// []
    #[pyo3(signature = (*names))]
    fn purge(&self, py: Python<'_>, names: Vec<String>) -> PyResult<PurgeReport> {
        let report = self.handle.interruptible(py, move |store| {
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            timestrata::purge_by_name(store, &names)
        });
        report.map(PurgeReport::from)
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
        self.handle.interruptible(py, |store| store.check()).map(CheckReport::from)
    }

    /// Copy the store to a new directory, consistently, while writing goes on.
    ///
    /// Where a run is damaged or missing, CorruptionError says which rows of which stream, and there is no
    /// copy; with `with_damage` there is one that has the same damage, which its report lists.
    ///
    /// Examples
    /// --------
    /// >>> import tempfile, timestrata
    /// >>> folder = tempfile.TemporaryDirectory()
    /// >>> with timestrata.open(folder.name + "/store") as store:
    /// ...     store.timelog("door").append(1, "opened")
    /// ...     report = store.backup(folder.name + "/copy")
    /// >>> with timestrata.open(folder.name + "/copy", mode="r") as copy:
    /// ...     copy.timelog("door")[1]
    /// ['opened']
    /// >>> folder.cleanup()
    #[pyo3(signature = (path, *, with_damage = false))]
    fn backup(&self, py: Python<'_>, path: GivenPath, with_damage: bool) -> PyResult<BackupReport> {
        let options = BackupOptions { with_damage };
        let backup =
            self.handle.interruptible(py, move |store| store.backup_with(&path.0, options));
        backup.map(BackupReport::from)
    }

    /// Make a named, durable snapshot of now. Gives the commit it sees.
    ///
    /// Examples
    /// --------
    /// >>> import timestrata
    /// >>> store = timestrata.open()
    /// >>> commit = store.pin("monday")
    /// >>> [pin.name for pin in store.pins()]
    /// ['monday']
    fn pin(&self, py: Python<'_>, name: &str) -> PyResult<u64> {
        self.handle.detached(py, |store| store.pin(name)).map(|seq| seq.0)
    }

    /// Remove a pin; files that only it kept are removed.
    fn unpin(&self, py: Python<'_>, name: &str) -> PyResult<()> {
        self.handle.detached(py, |store| store.unpin(name))
    }

    /// Give the store as it was: a store for reading, which never changes.
    ///
    /// It stays readable whatever becomes of this one. How far back commits can be read the setting `history_min` says; what a
    /// pin keeps can be read as long as the pin is there, with the columns that its tables have now.
    ///
    /// Parameters
    /// ----------
    /// seq : int, optional
    ///     Behind this commit.
    /// pin : str, optional
    ///     As the pin of this name has it.
    /// time : datetime or str, optional
    ///     Behind the last commit that was made by then: a datetime, or a time in ISO 8601, such as ``"2026-05-01T09:30:00Z"``. Commits are
    ///     dated to the millisecond, by a clock that never goes back.
    ///
    /// Raises
    /// ------
    /// HistoryLostError
    ///     Not all of what was there behind that commit is kept any more.
    /// InvalidArgumentError
    ///     The commit was not made yet, or the time has not come; none of a commit, a pin and a time is given, or more than one; a time of a
    ///     store in memory.
    /// NotFoundError
    ///     There is no such pin.
    ///
    /// Examples
    /// --------
    /// >>> import timestrata
    /// >>> store = timestrata.open()
    /// >>> door = store.timelog("door")
    /// >>> door.append(1, "opened")
    /// >>> commit = store.pin("monday")
    /// >>> door.append(2, "closed")
    /// >>> with store.at(pin="monday") as then:
    /// ...     list(then.timelog("door"))
    /// [(1, 'opened')]
    /// >>> store.at(commit + 1).timelog("door")[2]
    /// ['closed']
    #[pyo3(signature = (seq=None, /, *, pin=None, time=None))]
    fn at(
        &self,
        py: Python<'_>,
        seq: Option<u64>,
        pin: Option<&str>,
        time: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let time = time.map(time_ns).transpose()?.flatten();
        let moment = match (seq, pin, time) {
            (Some(seq), None, None) => Moment::Commit(SeqNo(seq)),
            (None, Some(pin), None) => Moment::Pin(pin.to_owned()),
            (None, None, Some(time_ns)) => Moment::Time(time_ns),
            _ => {
                return Err(invalid("at() takes one of a commit's number, pin=... and time=..."));
            }
        };
        let then = self.handle.detached(py, |store| store.at(&moment))?;
        Ok(Self::new(Handle::new(then, "r", self.handle.durability)))
    }

    /// Give the oldest commit that `at` can read.
    ///
    /// Examples
    /// --------
    /// >>> import timestrata
    /// >>> store = timestrata.open()
    /// >>> store.oldest_commit() == store.last_commit()
    /// True
    fn oldest_commit(&self, py: Python<'_>) -> PyResult<u64> {
        self.handle.detached(py, |store| store.oldest_commit()).map(|seq| seq.0)
    }

    /// Give the last commit that readers see: behind it begin `changes`, and conditions of a commit that was read for.
    ///
    /// Examples
    /// --------
    /// >>> import timestrata
    /// >>> store = timestrata.open()
    /// >>> with store.commit() as commit:
    /// ...     commit.logs("app").write("begun")
    /// >>> store.last_commit() == commit.seq
    /// True
    fn last_commit(&self, py: Python<'_>) -> PyResult<u64> {
        self.handle.detached(py, |store| Ok(store.snapshot()?.seq().0))
    }

    /// Tell what is kept of the past, and the bytes that it takes on disk.
    ///
    /// Returns
    /// -------
    /// dict
    ///     ``oldest_commit``; ``run_bytes`` and ``log_bytes``, of runs that were replaced and of log that no recovery needs, both kept for
    ///     `at` alone; and ``pinned_bytes``, of runs that only pins keep.
    ///
    /// Examples
    /// --------
    /// >>> import timestrata
    /// >>> timestrata.open().history()
    /// {'oldest_commit': 0, 'run_bytes': 0, 'log_bytes': 0, 'pinned_bytes': 0}
    fn history<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let history = self.handle.detached(py, |store| store.history())?;
        [
            ("oldest_commit", history.oldest_seq.0),
            ("run_bytes", history.run_bytes),
            ("log_bytes", history.log_bytes),
            ("pinned_bytes", history.pinned_bytes),
        ]
        .into_py_dict(py)
    }

    /// List all pins.
    fn pins(&self) -> PyResult<Vec<Pin>> {
        Ok(self.handle.store()?.pins().into_iter().map(Pin::from).collect())
    }

    /// Catch up with the writer, in a store opened for reading. Gives the last commit seen.
    ///
    /// Examples
    /// --------
    /// >>> import tempfile, timestrata
    /// >>> folder = tempfile.TemporaryDirectory()
    /// >>> writer = timestrata.open(folder.name)
    /// >>> writer.timelog("door").append(1, "opened")
    /// >>> reader = timestrata.open(folder.name, mode="r")
    /// >>> writer.timelog("door").append(2, "closed")
    /// >>> commit = reader.refresh()
    /// >>> list(reader.timelog("door"))
    /// [(1, 'opened'), (2, 'closed')]
    /// >>> reader.close(), writer.close(), folder.cleanup()
    /// (None, None, None)
    fn refresh(&self, py: Python<'_>) -> PyResult<u64> {
        self.handle.detached(py, |store| store.refresh()).map(|seq| seq.0)
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
        shown.set_item("cache", cache_stats(py, &stats.cache)?)?;
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

/// Figures of the cache of decoded blocks.
fn cache_stats<'py>(py: Python<'py>, stats: &CacheStats) -> PyResult<Bound<'py, PyDict>> {
    let shown = [
        ("hits", stats.hits),
        ("misses", stats.misses),
        ("bytes", stats.bytes),
        ("bytes_max", stats.bytes_max),
    ]
    .into_py_dict(py)?;
    shown.set_item("hit_rate", stats.hit_rate())?;
    Ok(shown)
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
        ("level0_runs", stream.level0_runs),
        ("run_rows", stream.run_rows),
        ("run_bytes", stream.run_bytes),
        ("memtable_rows", stream.memtable_rows),
        ("late_rows", stream.late_rows),
        ("sealed_memtables", stream.sealed_memtables),
        ("sealed_rows", stream.sealed_rows),
        ("memtable_bytes", stream.memtable_bytes),
        ("tombstones", stream.tombstones),
        ("compaction_debt_bytes", stream.compaction_debt_bytes),
    ]
    .into_py_dict(py)
}
