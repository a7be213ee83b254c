//! `CommitTable`: what a commit over several models changes in a table.

use arrow_array::RecordBatch;
use pyo3::prelude::*;
use timestrata_table::TableWrite;

use super::Table;
use super::write::batch_of;
use crate::staging::{Staged, Staging};
use crate::store::Store;

/// What a commit appends to a table. Made by `Commit.table`.
///
/// Examples
/// --------
/// >>> import timestrata
/// >>> store = timestrata.open()
/// >>> with store.commit() as commit:
/// ...     commit.table("rooms").append({"time": "2024-05-01", "celsius": 20.5})
/// >>> store.table("rooms").count()
/// 1
#[pyclass(frozen, module = "timestrata")]
pub(crate) struct CommitTable {
    table: Py<Table>,
    staging: Staging,
    rows: Staged<Vec<RecordBatch>>,
}

impl CommitTable {
    pub(crate) fn new(store: &Bound<'_, Store>, name: &str, staging: Staging) -> PyResult<Self> {
        let table = store.call_method1("table", (name,))?;
        Ok(Self { table: table.cast_into::<Table>()?.unbind(), staging, rows: Staged::default() })
    }

    /// What it has; `None`: nothing. The table is made if it is missing.
    pub(crate) fn take(&self, py: Python<'_>) -> PyResult<Option<TableWrite>> {
        let rows = self.rows.take().unwrap_or_default();
        let Some(first) = rows.first() else { return Ok(None) };
        let mut write = TableWrite::new(&self.table.get().model_for(py, first)?);
        rows.into_iter().for_each(|rows| write.append(rows));
        Ok(Some(write))
    }
}

#[pymethods]
impl CommitTable {
    /// Append rows, as `Table.append` takes them: columns that the table lacks are added to it, and values that don't fit theirs are
    /// refused, both at the end of the block.
    fn append(&self, rows: &Bound<'_, PyAny>) -> PyResult<()> {
        self.staging.check()?;
        let batch = batch_of(rows)?;
        if batch.num_rows() == 0 {
            return Ok(());
        }
        self.rows.add(|rows| rows.push(batch))
    }
}
