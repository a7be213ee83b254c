//! `CommitTable`: what a commit over several models changes in a table.

use std::sync::Arc;

use arrow_array::RecordBatch;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use timestrata_engine::{RowBatch, Stream};
use timestrata_table::{Table as TableModel, TableWrite};

use super::Table;
use super::write::batch_of;
use crate::error::to_python;
use crate::staging::{Staged, Staging};
use crate::store::Store;
use crate::typed::Held;

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
    rows: Staged<Vec<StagedRows>>,
}

enum StagedRows {
    Batch(RecordBatch),
    /// One, for the columns that the table had then.
    One(Arc<Stream>, Vec<Held>),
}

/// Rows on their way into a commit.
pub(crate) struct TableRows {
    table: TableModel,
    rows: Vec<StagedRows>,
}

impl TableRows {
    pub(crate) fn write(&self) -> TableWrite<'_> {
        let mut write = TableWrite::new(&self.table);
        for rows in &self.rows {
            match rows {
                StagedRows::Batch(batch) => write.append(batch.clone()),
                StagedRows::One(stream, held) => {
                    write.append_row(Arc::clone(stream), held.iter().map(Held::cell).collect());
                }
            }
        }
        write
    }
}

impl CommitTable {
    pub(crate) fn new(store: &Bound<'_, Store>, name: &str, staging: Staging) -> PyResult<Self> {
        let table = store.call_method1("table", (name,))?;
        Ok(Self { table: table.cast_into::<Table>()?.unbind(), staging, rows: Staged::default() })
    }

    /// What it has; `None`: nothing. The table is made if it is missing.
    pub(crate) fn take(&self, py: Python<'_>) -> PyResult<Option<TableRows>> {
        let rows = self.rows.take().unwrap_or_default();
        let table = match rows.first() {
            None => return Ok(None),
            Some(StagedRows::Batch(batch)) => self.table.get().model_for(py, batch)?,
            Some(StagedRows::One(stream, held)) => match self.table.get().existing(py)? {
                Some(table) => table,
                // It was there, and was dropped since.
                None => self.table.get().model_for(py, &batch_of_one(stream, held)?)?,
            },
        };
        Ok(Some(TableRows { table, rows }))
    }
}

fn batch_of_one(stream: &Arc<Stream>, held: &[Held]) -> PyResult<RecordBatch> {
    let cells: Vec<_> = held.iter().map(Held::cell).collect();
    let mut batch = RowBatch::new(stream).map_err(to_python)?;
    batch.push(&cells).and_then(|()| batch.finish()).map_err(to_python)
}

#[pymethods]
impl CommitTable {
    /// Append rows, as `Table.append` takes them: columns that the table lacks are added to it, and values that don't fit theirs are
    /// refused, both at the end of the block.
    fn append(&self, rows: &Bound<'_, PyAny>) -> PyResult<()> {
        self.staging.check()?;
        if let Ok(row) = rows.cast_exact::<PyDict>()
            && let Some((_, stream, held)) = self.table.get().held(row)?
        {
            return self.rows.add(|rows| rows.push(StagedRows::One(stream, held)));
        }
        let batch = batch_of(rows)?;
        if batch.num_rows() == 0 {
            return Ok(());
        }
        self.rows.add(|rows| rows.push(StagedRows::Batch(batch)))
    }
}
