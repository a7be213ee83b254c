//! `RepairReport`: what a repair could take over, and what is lost.

use pyo3::prelude::*;
use pyo3::types::PyDict;
use timestrata_engine::RepairReport as Report;

use super::{missing_rows, shown};

/// What a repair found and did. Given by `timestrata.repair`; as text it tells all of it, a line each.
///
/// Examples
/// --------
/// >>> import tempfile, timestrata
/// >>> folder = tempfile.TemporaryDirectory()
/// >>> timestrata.open(folder.name + "/store").close()
/// >>> report = timestrata.repair(folder.name + "/store", dry_run=True)
/// >>> report.lost_nothing, report.missing
/// (True, [])
/// >>> folder.cleanup()
#[pyclass(frozen, module = "timestrata")]
#[derive(Debug)]
pub(crate) struct RepairReport(pub(crate) Report);

#[pymethods]
impl RepairReport {
    /// The repaired store's directory; None after a dry run.
    #[getter]
    fn to(&self) -> Option<String> {
        self.0.to.as_deref().map(shown)
    }

    /// Whether all that the store held was there.
    #[getter]
    fn lost_nothing(&self) -> bool {
        self.0.lost_nothing()
    }

    /// What was wrong with the manifest, if the runs had to say what makes the store; None if it was
    /// whole, or its copy was.
    #[getter]
    fn manifest_lost(&self) -> Option<&str> {
        self.0.manifest_lost.as_deref()
    }

    /// The streams, by name: a list of dicts of ``name``; ``runs`` taken over, whole or in part; ``rows``
    /// that could be read in them; ``commits_from_log``, those that only the log had.
    #[getter]
    fn streams<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyDict>>> {
        let shown = self.0.streams.iter().map(|stream| {
            let dict = PyDict::new(py);
            dict.set_item("name", &stream.name)?;
            dict.set_item("runs", stream.runs)?;
            dict.set_item("rows", stream.rows)?;
            dict.set_item("commits_from_log", stream.commits_from_log)?;
            Ok(dict)
        });
        shown.collect()
    }

    /// Pins that were taken over, by name.
    #[getter]
    fn pins(&self) -> Vec<String> {
        self.0.pins.clone()
    }

    /// Rows that could not be read: a list of dicts of ``stream``; ``key_min`` and ``key_max``, both
    /// inclusive, as text; ``rows``, how many; ``path`` and ``offset`` of the damage, in bytes; ``why``.
    #[getter]
    fn missing<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyDict>>> {
        self.0.missing.iter().map(|missing| missing_rows(py, missing)).collect()
    }

    /// Other losses, a sentence each: a part of the log, a run whose file is gone.
    #[getter]
    fn lost(&self) -> Vec<String> {
        self.0.lost.clone()
    }

    /// Files that are not part of the repaired store: a list of dicts of ``path`` and ``why``. Nothing
    /// is lost with them but what ``missing`` and ``lost`` say.
    #[getter]
    fn left_out<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyDict>>> {
        let told = self.0.left_out.iter().map(|file| {
            let dict = PyDict::new(py);
            dict.set_item("path", shown(&file.path))?;
            dict.set_item("why", &file.why)?;
            Ok(dict)
        });
        told.collect()
    }

    /// What could not be known for certain, a sentence each.
    #[getter]
    fn doubts(&self) -> Vec<String> {
        self.0.doubts.clone()
    }

    fn __str__(&self) -> String {
        self.0.to_string()
    }

    fn __repr__(&self) -> String {
        let verdict = if self.0.lost_nothing() { "nothing lost" } else { "with losses" };
        let to = match &self.0.to {
            Some(to) => format!("to {:?}", shown(to)),
            None => "dry run".to_owned(),
        };
        format!(
            "<RepairReport {verdict}, {to} streams={} missing={} lost={}>",
            self.0.streams.len(),
            self.0.missing.len(),
            self.0.lost.len()
        )
    }
}
