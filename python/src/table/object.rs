//! The class itself: which table it stands for.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::FieldRef;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyList};
use timestrata_engine::{ErrorKind, Result, Retention, Store};
use timestrata_table::{Table as TableModel, TableOptions};

use super::preview::{of_table, unless_unread, unless_unread_html};
use super::values::RowConverter;
use crate::error::{invalid, refused};
use crate::handle::Handle;
use crate::interrupt::{detached, interruptible};
use crate::lock::Kept;
use crate::opened::MadeForCommit;
use crate::typed::{fields_of, schema_as_capsule};

/// A table of a store: typed rows by time. Made by `Store.table`; comes into being with its first
/// rows, unless a schema was given.
///
/// Examples
/// --------
/// >>> import timestrata
/// >>> store = timestrata.open()
/// >>> trades = store.table("trades", tags=["symbol"])
/// >>> trades.append({"time": ["2024-05-01T10:00:00Z", "2024-05-01T10:00:01Z"],
/// ...                "symbol": ["ACME", "ACME"], "price": [10.5, 10.75]})
/// 2
/// >>> trades.count()
/// 2
/// >>> [row["price"] for row in trades.scan(start="2024-05-01T10:00:01Z")]
/// [10.75]
#[pyclass(frozen, module = "timestrata", weakref)]
#[derive(Debug)]
pub(crate) struct Table {
    pub(crate) handle: Arc<Handle>,
    pub(super) name: String,
    pub(super) wanted: TableOptions,
    pub(super) model: Kept<TableModel>,
    /// Converts single rows; made for the columns of one time.
    pub(super) converter: Kept<Arc<RowConverter>>,
}

impl Table {
    /// The table, if it has come into being.
    pub(super) fn existing(&self, py: Python<'_>) -> PyResult<Option<TableModel>> {
        let store = self.handle.store()?;
        // Somebody may have dropped it, and made it anew.
        let is_alive = |model: &TableModel| store.stream_of(model.id()).is_ok();
        if let Some(model) = self.model.get().filter(is_alive) {
            return Ok(Some(model));
        }
        let model = detached(py, || match store.stream(&self.name) {
            Some(_) => TableModel::open(store, &self.name).map(Some),
            None => Ok(None),
        })?;
        drop(self.model.replace(model.clone()));
        Ok(model)
    }

    /// # Errors
    /// `NotFoundError` if it has no rows and no columns yet.
    pub(crate) fn model(&self, py: Python<'_>) -> PyResult<TableModel> {
        self.existing(py)?.ok_or_else(|| {
            refused(
                ErrorKind::NotFound,
                format!(
                    "table '{}' has neither rows nor columns yet: append some, or give a schema",
                    self.name
                ),
            )
        })
    }

    /// Runs `work` on the table as [`detached`] does.
    pub(super) fn detached<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&TableModel) -> Result<T> + Send,
    ) -> PyResult<T> {
        let model = self.model(py)?;
        detached(py, || work(&model))
    }

    /// Somebody made the table for this object.
    pub(super) fn has_become(&self, model: TableModel) {
        drop(self.model.replace(Some(model)));
    }

    /// The table, made with the columns of these rows if it isn't there.
    pub(crate) fn model_for(&self, py: Python<'_>, rows: &RecordBatch) -> PyResult<TableModel> {
        if let Some(model) = self.existing(py)? {
            return Ok(model);
        }
        let made = self.make(py, self.handle.store()?, rows)?;
        drop(self.model.replace(Some(made.clone())));
        Ok(made)
    }

    /// As [`model_for`](Self::model_for), for a commit.
    pub(super) fn model_for_commit(
        &self,
        py: Python<'_>,
        made: &MadeForCommit<'_>,
        rows: &RecordBatch,
    ) -> PyResult<TableModel> {
        match self.existing(py)? {
            Some(model) => Ok(model),
            None => self.make(py, made.store()?, rows),
        }
    }

    /// Makes it as it was asked for: here, or else where it was asked for with options last.
    fn make(&self, py: Python<'_>, store: &Store, rows: &RecordBatch) -> PyResult<TableModel> {
        let asked_for = match self.wanted == TableOptions::default() {
            true => self.handle.table_options.lock().get(&self.name).cloned(),
            false => None,
        };
        let wanted = asked_for.as_ref().unwrap_or(&self.wanted);
        detached(py, || TableModel::create_for(store, &self.name, rows, wanted))
    }
}

#[pymethods]
impl Table {
    /// Its name.
    #[getter]
    fn name(&self) -> &str {
        &self.name
    }

    /// Whether it has come into being.
    #[getter]
    fn exists(&self, py: Python<'_>) -> PyResult<bool> {
        Ok(self.existing(py)?.is_some())
    }

    /// Names of its columns, in order; none before it has any.
    #[getter]
    fn columns<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let Some(model) = self.existing(py)? else { return Ok(PyList::empty(py)) };
        let schema = detached(py, || model.schema())?;
        PyList::new(py, schema.fields().iter().map(|field| field.name()))
    }

    /// The types of its columns, as ``{name: type}``.
    #[getter]
    fn types<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, pyo3::types::PyDict>> {
        let types = pyo3::types::PyDict::new(py);
        let Some(model) = self.existing(py)? else { return Ok(types) };
        for field in detached(py, || model.schema())?.fields() {
            types.set_item(field.name(), field.data_type().to_string())?;
        }
        Ok(types)
    }

    /// Name of the time column.
    #[getter]
    fn time(&self, py: Python<'_>) -> PyResult<String> {
        self.detached(py, TableModel::time_column)
    }

    /// Columns of the upsert key; empty where every row is kept.
    #[getter]
    fn key(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        self.detached(py, TableModel::key)
    }

    /// Columns that say which series a row belongs to.
    #[getter]
    fn tags(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        self.detached(py, TableModel::tags)
    }

    /// How its compacted files are packed: "zstd", "zstd:LEVEL", "lz4" or "none".
    #[getter]
    fn compression(&self, py: Python<'_>) -> PyResult<String> {
        self.detached(py, |table| table.compression().map(|compression| compression.to_string()))
    }

    /// Its columns, for other Arrow libraries.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema = self.detached(py, TableModel::schema)?;
        schema_as_capsule(py, schema.as_ref())
    }

    /// Add columns, and give columns types that hold all values of theirs and more. Gives whether anything was to be done.
    ///
    /// Rows aren't rewritten: in new columns they hold nothing. Times, those of the time column too, may get a finer unit: every
    /// row stays at its time. In SQL it is ALTER TABLE.
    ///
    /// Parameters
    /// ----------
    /// add : dict or Arrow schema, optional
    ///     Columns that the table doesn't have, with their types.
    /// widen : dict or Arrow schema, optional
    ///     Columns that it has, with the types that they get.
    ///
    /// Examples
    /// --------
    /// >>> import timestrata
    /// >>> rooms = timestrata.open().table("rooms")
    /// >>> rooms.append({"time": ["2024-05-01"], "people": [3]})
    /// 1
    /// >>> rooms.alter(add={"note": "string"}, widen={"people": "float64"})
    /// True
    /// >>> rooms.types["people"]
    /// 'Float64'
    /// >>> rooms.alter(widen={"time": "timestamp[ns, tz=UTC]"})
    /// True
    /// >>> rooms.types["time"]
    /// 'Timestamp(ns, "UTC")'
    #[pyo3(signature = (*, add=None, widen=None))]
    fn alter(
        &self,
        py: Python<'_>,
        add: Option<&Bound<'_, PyAny>>,
        widen: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<bool> {
        let fields = |given: Option<&Bound<'_, PyAny>>| -> PyResult<Vec<FieldRef>> {
            let fields = given.map(fields_of).transpose()?;
            Ok(fields.map_or_else(Vec::new, |schema| schema.fields().iter().cloned().collect()))
        };
        let (added, widened) = (fields(add)?, fields(widen)?);
        self.detached(py, |table| table.alter_columns(&added, &widened))
    }

    /// Throw away by itself what is older than ``age`` seconds, or the oldest beyond ``bytes``.
    /// None: no bound.
    #[pyo3(signature = (*, age=None, bytes=None))]
    fn set_retention(&self, py: Python<'_>, age: Option<f64>, bytes: Option<u64>) -> PyResult<()> {
        let age_ns = match age {
            None => None,
            Some(seconds) if seconds > 0.0 && seconds < 9.2e9 => Some((seconds * 1e9) as u64),
            Some(seconds) => {
                return Err(invalid(format!(
                    "age={seconds}: it must be a positive number of seconds below 9.2e9"
                )));
            }
        };
        self.detached(py, |table| table.set_retention(Retention { age_ns, bytes }))
    }

    /// Write what is in memory to files and compact them, until nothing is left to do. Ctrl-C
    /// ends the waiting.
    fn compact(&self, py: Python<'_>) -> PyResult<()> {
        let model = self.model(py)?;
        interruptible(py, move || {
            model.store().flush()?;
            model.store().compact(Some(model.id()))
        })
    }

    /// Remove the table and its rows, durably.
    fn drop(&self, py: Python<'_>) -> PyResult<()> {
        self.handle.detached(py, |store| TableModel::drop(store, &self.name))
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        match self.existing(py) {
            Ok(Some(model)) => {
                let columns = detached(py, || model.schema()).map_or(0, |s| s.fields().len());
                let head = |rows: Option<u64>| {
                    let rows = rows.map_or_else(String::new, |rows| format!(" rows={rows}"));
                    format!("<Table {:?} columns={columns}{rows}>", self.name)
                };
                let shown = of_table(py, &model);
                let shown = shown.map(|(preview, rows)| preview.text(&head(rows)));
                unless_unread(py, shown, &head(None))
            }
            Ok(None) => Ok(format!("<Table {:?} without columns yet>", self.name)),
            Err(_) => Ok(format!("<Table {:?}, closed>", self.name)),
        }
    }

    /// The newest rows, as notebooks show them.
    fn _repr_html_(&self, py: Python<'_>) -> PyResult<Option<String>> {
        // None: a notebook shows the other form.
        let Ok(Some(model)) = self.existing(py) else { return Ok(None) };
        let head = format!("Table {}", self.name);
        let shown = of_table(py, &model).map(|(preview, _)| preview.html(&head));
        unless_unread_html(py, shown, &head).map(Some)
    }
}
