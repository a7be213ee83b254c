//! `Commit`: what a commit is to change, and what became of it.

use pyo3::exceptions::PyValueError;
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use timestrata_engine::Durability;

use super::end::commit_parts;
use super::parts::{Parts, StagedPart};
use crate::awaiting;
use crate::error::invalid;
use crate::graph::CommitGraph;
use crate::lock::Lock;
use crate::logs::CommitLogs;
use crate::settings::word;
use crate::staging::{Staging, is_over};
use crate::store::Store;
use crate::table::CommitTable;
use crate::timelog::CommitTimelog;
use crate::topic::{CommitTopic, Consumer};

/// One commit over several models. Made by `Store.commit`, for a ``with`` block.
///
/// Within the block nothing is written, and no lock is held: its methods note what is to change, and check what can be
/// checked. At the end of the block all of it is committed, or, where the block raises, none. What doesn't exist yet is made
/// then, as `Store.table` and its like make it; who wants other options than theirs makes it before.
///
/// Examples
/// --------
/// >>> import timestrata
/// >>> store = timestrata.open()
/// >>> with store.commit() as commit:
/// ...     commit.table("rooms").append({"time": "2024-05-01", "celsius": 20.5})
/// ...     commit.topic("events").send("measured")
/// ...     commit.logs("app").write("measured", level="info")
/// ...     block = commit.graph("code").put("measure()")
/// ...     commit.timelog("door").append(1, "opened")
/// >>> commit.seq == store.last_commit()
/// True
/// >>> store.table("rooms").count(), len(store.graph("code")), store.timelog("door")[1]
/// (1, 1, ['opened'])
#[pyclass(frozen, module = "timestrata", weakref)]
pub(crate) struct Commit {
    store: Py<Store>,
    durability: Option<Durability>,
    staging: Staging,
    state: Lock<State>,
}

#[derive(Default)]
struct State {
    /// `None` while they are being committed.
    parts: Option<Parts>,
    has_begun: bool,
    /// Nothing can be added any more.
    is_over: bool,
    seq: Option<u64>,
}

impl State {
    /// What is noted so far, to add to it.
    ///
    /// # Errors
    /// `ClosedError` once the block has ended.
    fn change_parts(&mut self) -> PyResult<&mut Parts> {
        match self.is_over {
            true => Err(is_over()),
            false => Ok(self.parts.get_or_insert_default()),
        }
    }
}

impl Commit {
    /// The part of this kind with this name, or a new one.
    fn part<T: StagedPart>(
        &self,
        py: Python<'_>,
        name: &str,
        make: impl FnOnce(Staging) -> PyResult<Py<T>>,
    ) -> PyResult<Py<T>> {
        self.staging.check()?;
        if let Some(known) = self.state.lock().change_parts()?.find(py, name) {
            return Ok(known);
        }
        // Without the lock: making it may run Python code.
        let made = make(self.staging.clone())?;
        let mut state = self.state.lock();
        let parts = state.change_parts()?;
        if let Some(known) = parts.find(py, name) {
            return Ok(known);
        }
        parts.add(made.clone_ref(py));
        Ok(made)
    }
}

#[pymethods]
impl Store {
    /// Begin one commit over several models: all that its block changes is there from the same moment on, or nothing is.
    ///
    /// Parameters
    /// ----------
    /// durability : {"written", "buffered", "synced"}, optional
    ///     What it survives once the block has ended: else "synced" where a topic or a consumer is part of it, as their own methods do, and
    ///     what the store was opened for otherwise.
    ///
    /// Raises
    /// ------
    /// ConflictError
    ///     At the end of the block: an offset that was expected is not the next one, or a block of a graph has a later version. Nothing was
    ///     changed.
    ///
    /// Examples
    /// --------
    /// >>> import timestrata
    /// >>> store = timestrata.open()
    /// >>> with store.commit(durability="synced") as commit:
    /// ...     commit.topic("payments").send({"key": "ada", "value": "10"})
    /// ...     commit.table("ledger").append({"time": "2024-05-01", "amount": 10})
    /// >>> [receipt.offset for receipt in commit.topic_receipts("payments")]
    /// [0]
    #[pyo3(signature = (*, durability=None))]
    fn commit(slf: &Bound<'_, Self>, durability: Option<&str>) -> PyResult<Commit> {
        slf.get().handle.store()?;
        let known = [
            ("buffered", Durability::Buffered),
            ("written", Durability::Written),
            ("synced", Durability::Synced),
        ];
        let durability = durability.map(|name| word("durability", name, &known)).transpose()?;
        Ok(Commit {
            store: slf.clone().unbind(),
            durability,
            staging: Staging::default(),
            state: Lock::new(State::default()),
        })
    }
}

#[pymethods]
impl Commit {
    /// What the commit changes in the table of this name.
    fn table(&self, py: Python<'_>, name: &str) -> PyResult<Py<CommitTable>> {
        let store = self.store.bind(py);
        let make = |staging| Py::new(py, CommitTable::new(store, name, staging)?);
        self.part(py, name, make)
    }

    /// What the commit appends to the topic of this name.
    fn topic(&self, py: Python<'_>, name: &str) -> PyResult<Py<CommitTopic>> {
        let store = self.store.bind(py);
        let make = |staging| Py::new(py, CommitTopic::new(store, name, staging));
        self.part(py, name, make)
    }

    /// What the commit writes to the log of this name.
    fn logs(&self, py: Python<'_>, name: &str) -> PyResult<Py<CommitLogs>> {
        let make = |staging| Py::new(py, CommitLogs::new(name, staging));
        self.part(py, name, make)
    }

    /// What the commit changes in the graph of this name.
    fn graph(&self, py: Python<'_>, name: &str) -> PyResult<Py<CommitGraph>> {
        let make = |staging| Py::new(py, CommitGraph::new(name, staging));
        self.part(py, name, make)
    }

    /// What the commit changes in the time log of this name.
    fn timelog(&self, py: Python<'_>, name: &str) -> PyResult<Py<CommitTimelog>> {
        let store = self.store.bind(py);
        let make = |staging| Py::new(py, CommitTimelog::new(store, name, staging)?);
        self.part(py, name, make)
    }

    /// Commit how far a consumer has been read at the end of the block: what came of its records and that they are done are both
    /// there or none, so nothing is done twice. Of one consumer.
    ///
    /// Examples
    /// --------
    /// >>> import timestrata
    /// >>> store = timestrata.open()
    /// >>> raw = store.topic("raw")
    /// >>> receipts = raw.send_batch(["1", "2"])
    /// >>> consumer = raw.consumer("sum")
    /// >>> with store.commit() as commit:
    /// ...     for record in consumer.poll():
    /// ...         commit.topic("doubled").send(str(2 * int(record.value)))
    /// ...     commit.consumed(consumer)
    /// >>> consumer.committed(), len(store.topic("doubled").offsets())
    /// (2, 2)
    fn consumed(&self, consumer: &Bound<'_, Consumer>) -> PyResult<()> {
        let mut state = self.state.lock();
        // Behind the lock, which the end of the block takes too: so it is part of it, or refused.
        self.staging.check()?;
        let parts = state.change_parts()?;
        if parts.consumer.as_ref().is_some_and(|known| !known.is(consumer)) {
            return Err(invalid("a commit takes one consumer: commit those of another by another"));
        }
        let before = parts.consumer.replace(consumer.clone().unbind());
        drop(state);
        drop(before);
        Ok(())
    }

    /// Its place in the order of commits; None until the block has ended well.
    #[getter]
    fn seq(&self) -> Option<u64> {
        self.state.lock().seq
    }

    /// The receipts of the records of a topic, in the order in which they were given. Empty until the block has ended well.
    fn topic_receipts<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        let state = self.state.lock();
        let part = state.parts.as_ref().and_then(|parts| parts.find::<CommitTopic>(py, name));
        drop(state);
        let part = part.ok_or_else(|| {
            PyValueError::new_err(format!("the commit has nothing for a topic {name:?}"))
        })?;
        part.get().receipts(py)
    }

    fn __enter__(slf: Bound<'_, Self>) -> PyResult<Bound<'_, Self>> {
        let commit = slf.get();
        let mut state = commit.state.lock();
        if std::mem::replace(&mut state.has_begun, true) {
            return Err(invalid("a commit has one block: begin another with store.commit()"));
        }
        drop(state);
        commit.staging.begin();
        Ok(slf)
    }

    #[pyo3(signature = (*raised))]
    fn __exit__(&self, py: Python<'_>, raised: &Bound<'_, PyTuple>) -> PyResult<bool> {
        if !self.staging.end() {
            return Ok(false);
        }
        let mut state = self.state.lock();
        state.is_over = true;
        let parts = state.parts.take().unwrap_or_default();
        drop(state);
        let is_given_up = raised.get_item(0).is_ok_and(|class| !class.is_none());
        if is_given_up {
            return Ok(false);
        }
        let committed = commit_parts(py, self.store.bind(py), &parts, self.durability);
        let mut state = self.state.lock();
        // For the receipts of its topics.
        state.parts = Some(parts);
        state.seq = committed.as_ref().ok().copied();
        drop(state);
        committed.map(|_| false)
    }

    fn __aenter__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        awaiting::enter(slf)
    }

    #[pyo3(signature = (*raised))]
    fn __aexit__<'py>(
        slf: &Bound<'py, Self>,
        raised: &Bound<'py, PyTuple>,
    ) -> PyResult<Bound<'py, PyAny>> {
        awaiting::write(slf, "__exit__", raised, None)
    }

    fn __repr__(&self) -> String {
        match self.seq() {
            Some(seq) => format!("<Commit seq={seq}>"),
            None => "<Commit>".to_owned(),
        }
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.store)
    }
}
