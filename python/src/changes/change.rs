//! `CommittedChanges` and `Change`: what one commit has changed.

use std::borrow::Cow;
use std::sync::Arc;

use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBytes, PyTuple};
use timestrata::{ChangeKind, LeadKey, StreamRole, role_of};

use crate::table::Rows;
use crate::timestamp::datetime_of_ns;

/// What a commit has changed. Given by `Store.changes`.
///
/// Examples
/// --------
/// >>> import tempfile, timestrata
/// >>> folder = tempfile.TemporaryDirectory()
/// >>> store = timestrata.open(folder.name, history_min=600)
/// >>> store.timelog("door").append(1, "opened")
/// >>> [commit] = store.changes(0)
/// >>> commit.seq, commit.changes
/// (1, [<Change timelog 'door': inserted>])
/// >>> store.close(); folder.cleanup()
#[pyclass(frozen, module = "timestrata", weakref)]
pub(crate) struct CommittedChanges {
    seq: u64,
    time_ms: Option<u64>,
    /// What a store here tells.
    told: Vec<Arc<timestrata::StreamChange>>,
    /// Made when somebody asks for them: who follows gets every commit, and looks into some.
    changes: PyOnceLock<Vec<Py<Change>>>,
}

impl CommittedChanges {
    pub(super) fn new(commit: timestrata::CommittedChanges) -> Self {
        let told = commit.changes.into_iter().map(Arc::new).collect();
        let (seq, time_ms) = (commit.seq.0, commit.time_ms);
        Self { seq, time_ms, told, changes: PyOnceLock::new() }
    }

    fn all(&self, py: Python<'_>) -> PyResult<&Vec<Py<Change>>> {
        self.changes.get_or_try_init(py, || {
            let wanted = self.told.iter().filter_map(Change::new);
            wanted.map(|change| Py::new(py, change)).collect()
        })
    }
}

#[pymethods]
impl CommittedChanges {
    /// One of these parts, for `timestrata.connect`.
    #[staticmethod]
    fn _of(
        py: Python<'_>,
        seq: u64,
        time_ns: Option<i64>,
        changes: Vec<Py<Change>>,
    ) -> PyResult<Self> {
        let time_ms = time_ns.and_then(|ns| u64::try_from(ns.div_euclid(1_000_000)).ok());
        let commit = Self { seq, time_ms, told: Vec::new(), changes: PyOnceLock::new() };
        commit.changes.get_or_init(py, || changes);
        Ok(commit)
    }

    /// The commit's number. Of what no commit did, because rows have expired or something was dropped, that of the last commit before.
    #[getter]
    fn seq(&self) -> u64 {
        self.seq
    }

    /// When it was made: a datetime in UTC, to the millisecond; None of a commit that an earlier build made.
    #[getter]
    fn time<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let time_ms = self.time_ms.and_then(|time_ms| i64::try_from(time_ms).ok());
        time_ms.map(|time_ms| datetime_of_ns(py, time_ms.saturating_mul(1_000_000))).transpose()
    }

    /// What it changed, in the order in which it counts: range deletes come first, for they hide rows of earlier commits only.
    #[getter]
    fn changes(&self, py: Python<'_>) -> PyResult<Vec<Py<Change>>> {
        Ok(self.all(py)?.iter().map(|change| change.clone_ref(py)).collect())
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        Ok(format!("<CommittedChanges seq={} changes={}>", self.seq, self.all(py)?.len()))
    }
}

/// One change of a commit.
///
/// Examples
/// --------
/// >>> import tempfile, timestrata
/// >>> folder = tempfile.TemporaryDirectory()
/// >>> store = timestrata.open(folder.name, history_min=600)
/// >>> rooms = store.table("rooms")
/// >>> rooms.append({"time": ["2024-05-01", "2024-05-02"], "celsius": [20.0, 21.5]})
/// 2
/// >>> [change] = next(store.changes(0)).changes
/// >>> change.kind, change.model, change.name
/// ('inserted', 'table', 'rooms')
/// >>> [row["celsius"] for row in change.rows]
/// [20.0, 21.5]
/// >>> store.close(); folder.cleanup()
#[pyclass(frozen, module = "timestrata", weakref)]
#[derive(Debug)]
pub(crate) struct Change {
    kind: Cow<'static, str>,
    model: Cow<'static, str>,
    name: String,
    part: Cow<'static, str>,
    partition: Option<u32>,
    told: Told,
}

/// What a change tells of rows.
#[derive(Debug)]
enum Told {
    Store(Arc<timestrata::StreamChange>),
    Server { rows: Option<Py<Rows>>, range: Option<Py<PyTuple>> },
}

impl Change {
    /// `None` where it only repeats what others say.
    fn new(change: &Arc<timestrata::StreamChange>) -> Option<Self> {
        let StreamRole { model, name, part, partition } = role_of(change.stream())?;
        let kind = match change.kind() {
            ChangeKind::Inserted => "inserted",
            ChangeKind::DeletedKeys => "deleted_keys",
            ChangeKind::DeletedRange => "deleted_range",
            ChangeKind::DeletedRows => "deleted_rows",
            ChangeKind::Expired => "expired",
            ChangeKind::Dropped => "dropped",
        };
        let told = Told::Store(Arc::clone(change));
        let (model, part) = (model.into(), part.into());
        Some(Self { kind: kind.into(), model, name, part, partition, told })
    }
}

#[pymethods]
impl Change {
    /// One of these parts, for `timestrata.connect`.
    #[staticmethod]
    fn _of(
        kind: String,
        model: String,
        name: String,
        part: String,
        partition: Option<u32>,
        rows: Option<Py<Rows>>,
        range: Option<Py<PyTuple>>,
    ) -> Self {
        let told = Told::Server { rows, range };
        let (kind, model, part) = (kind.into(), model.into(), part.into());
        Self { kind, model, name, part, partition, told }
    }

    /// What was done: ``inserted``; ``deleted_keys``, rows by their keys; ``deleted_range``, all rows of earlier commits in a range;
    /// ``deleted_rows``, these rows; ``expired``, rows in a range that retention has let go; ``dropped``, all of it.
    #[getter]
    fn kind(&self) -> &str {
        &self.kind
    }

    /// What was changed: a ``table``, ``logs``, a ``topic``, a ``graph``, a ``timelog``, or a ``stream`` that belongs to none of these.
    #[getter]
    fn model(&self) -> &str {
        &self.model
    }

    /// Its name.
    #[getter]
    fn name(&self) -> &str {
        &self.name
    }

    /// What the rows are: ``rows`` of a table, ``entries`` of a log or a time log, ``records`` of a topic or its ``state`` (offsets of
    /// groups, producers, checkpoints), ``blocks``, ``edges`` or earlier ``versions`` of a graph.
    #[getter]
    fn part(&self) -> &str {
        &self.part
    }

    /// The partition of a topic's records; else None.
    #[getter]
    fn partition(&self) -> Option<u32> {
        self.partition
    }

    /// The rows that were added or deleted, with their columns as the store has them; of ``deleted_keys`` the keys. None where there are
    /// none to tell of. They are read when they are used, and can be read whatever becomes of the store meanwhile.
    #[getter]
    fn rows(&self, py: Python<'_>) -> PyResult<Option<Py<Rows>>> {
        let change = match &self.told {
            Told::Store(change) => Arc::clone(change),
            Told::Server { rows, .. } => return Ok(rows.as_ref().map(|rows| rows.clone_ref(py))),
        };
        let has_rows = matches!(
            change.kind(),
            ChangeKind::Inserted | ChangeKind::DeletedKeys | ChangeKind::DeletedRows
        );
        let rows = has_rows.then(|| Rows::new(change.schema(), move || change.batches()));
        rows.map(|rows| Py::new(py, rows)).transpose()
    }

    /// The range that was deleted or has expired: a tuple of its start and its end, which is not in it, as whole numbers in the unit of
    /// the time column, as offsets, or as bytes of ids; None for an end that is open. None where there is no range.
    #[getter]
    fn range<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyTuple>>> {
        let change = match &self.told {
            Told::Store(change) => change,
            Told::Server { range, .. } => {
                return Ok(range.as_ref().map(|range| range.bind(py).clone()));
            }
        };
        let Some(range) = change.range() else { return Ok(None) };
        let ends = [range.lo, range.hi].map(|end| end.map(|key| key_object(py, key)).transpose());
        let [start, end] = ends;
        PyTuple::new(py, [start?, end?]).map(Some)
    }

    fn __repr__(&self) -> String {
        format!("<Change {} {:?}: {}>", self.model, self.name, self.kind).replace('"', "'")
    }
}

fn key_object(py: Python<'_>, key: LeadKey) -> PyResult<Bound<'_, PyAny>> {
    match key {
        LeadKey::Time(time) => time.into_bound_py_any(py),
        LeadKey::Offset(offset) => offset.into_bound_py_any(py),
        LeadKey::Id16(id) => Ok(PyBytes::new(py, &id).into_any()),
        LeadKey::Id32(id) => Ok(PyBytes::new(py, &id).into_any()),
    }
}
