//! `CommitTable`: what a commit over several models changes in a table.

use std::sync::Arc;

use arrow_array::RecordBatch;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use timestrata_engine::{KeyRange, RowBatch, SeqNo, Stream};
use timestrata_table::{OnMismatch, Table as TableModel, TableWrite};

use super::Table;
use super::write::{HeldRow, batch_of, on_mismatch_of};
use crate::error::to_python;
use crate::opened::MadeForCommit;
use crate::staging::{Staged, Staging};
use crate::store::{KeptModel, Store};
use crate::typed::Held;

/// What a commit changes in a table. Made by `Commit.table`.
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
    given: Staged<Vec<Given>>,
}

enum StagedRows {
    Batch(RecordBatch),
    /// One, for the columns that the table had then.
    One(Arc<Stream>, Vec<Held>),
    /// No rows, but a range of times whose earlier rows go.
    Deleted(Arc<Stream>, KeyRange),
}

struct Given {
    rows: StagedRows,
    /// The commit since which their keys must be what they were.
    unchanged_since: Option<SeqNo>,
    on_mismatch: OnMismatch,
}

/// Rows on their way into a commit.
pub(crate) struct TableRows {
    table: TableModel,
    given: Vec<Given>,
}

impl TableRows {
    pub(crate) fn write(&self) -> TableWrite<'_> {
        let widens = |given: &Given| given.on_mismatch == OnMismatch::Widen;
        let mut write = TableWrite::new(&self.table);
        if self.given.iter().any(widens) {
            write = write.on_mismatch(OnMismatch::Widen);
        }
        for given in &self.given {
            match &given.rows {
                StagedRows::Batch(batch) => write.append(batch.clone()),
                StagedRows::One(stream, held) => {
                    write.append_row(Arc::clone(stream), held.iter().map(Held::cell).collect());
                }
                StagedRows::Deleted(stream, range) => write.delete_range_of(stream, *range),
            }
            if let Some(since) = given.unchanged_since {
                write.if_unchanged_since(since);
            }
        }
        write
    }
}

impl CommitTable {
    pub(crate) fn new(store: &Bound<'_, Store>, name: &str, staging: Staging) -> PyResult<Self> {
        let table = Store::kept(store, KeptModel::Table, name)?;
        Ok(Self { table: table.cast_into::<Table>()?.unbind(), staging, given: Staged::default() })
    }

    pub(crate) fn name(&self) -> &str {
        &self.table.get().name
    }

    /// What it has; `None`: nothing. The table is made if it is missing.
    pub(crate) fn take(
        &self,
        py: Python<'_>,
        made: &MadeForCommit<'_>,
    ) -> PyResult<Option<TableRows>> {
        let given = self.given.take().unwrap_or_default();
        let table = match given.first().map(|given| &given.rows) {
            None => return Ok(None),
            Some(StagedRows::Batch(batch)) => self.table.get().model_for_commit(py, made, batch)?,
            Some(StagedRows::Deleted(..)) => self.table.get().model(py)?,
            Some(StagedRows::One(stream, held)) => match self.table.get().existing(py)? {
                Some(table) => table,
                // It was there, and was dropped since.
                None => {
                    self.table.get().model_for_commit(py, made, &batch_of_one(stream, held)?)?
                }
            },
        };
        Ok(Some(TableRows { table, given }))
    }

    fn add(&self, given: Given) -> PyResult<()> {
        self.given.add(|all| all.push(given))
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
    /// refused unless their columns are to be widened, all at the end of the block.
    ///
    /// Parameters
    /// ----------
    /// rows : object
    /// if_unchanged_since : int, optional
    ///     What `Store.last_commit` gave before the rows' upsert keys were read: if a commit has changed one of them since, or that is
    ///     not known, the end of the block raises `ConflictError`. Keys are noted from the first such commit on; reading again and trying
    ///     again helps. A number of a commit that was not made yet is refused; don't keep one across an opening of the store.
    /// on_mismatch : {"error", "widen"}, optional
    ///     As in ``Table.append``. Where one call of a block says "widen", it counts for all rows of the table in that block.
    ///
    /// Examples
    /// --------
    /// >>> import timestrata
    /// >>> store = timestrata.open()
    /// >>> stock = store.table("stock", key="item")
    /// >>> stock.append({"time": "2024-05-01", "item": "nut", "left": 5})
    /// 1
    /// >>> seq = store.last_commit()
    /// >>> left = stock.row("nut")["left"]
    /// >>> with store.commit() as commit:
    /// ...     row = {"time": "2024-05-02", "item": "nut", "left": left - 1}
    /// ...     commit.table("stock").append(row, if_unchanged_since=seq)
    /// >>> stock.row("nut")["left"]
    /// 4
    #[pyo3(signature = (rows, *, if_unchanged_since=None, on_mismatch="error"))]
    fn append(
        &self,
        rows: &Bound<'_, PyAny>,
        if_unchanged_since: Option<u64>,
        on_mismatch: &str,
    ) -> PyResult<()> {
        self.staging.check()?;
        let on_mismatch = on_mismatch_of(on_mismatch)?;
        let unchanged_since = if_unchanged_since.map(SeqNo);
        let given = |rows| Given { rows, unchanged_since, on_mismatch };
        // A row by itself is in the types that the table has.
        if on_mismatch == OnMismatch::Error
            && let Ok(row) = rows.cast_exact::<PyDict>()
            && let Some(HeldRow { stream, held, .. }) = self.table.get().held(row)?
        {
            return self.add(given(StagedRows::One(stream, held)));
        }
        let batch = batch_of(rows)?;
        match batch.num_rows() {
            0 => Ok(()),
            _ => self.add(given(StagedRows::Batch(batch))),
        }
    }

    /// Delete the rows of earlier commits from ``start`` to before ``end``, as `Table.delete` takes them.
    #[pyo3(signature = (start=None, end=None))]
    fn delete(
        &self,
        py: Python<'_>,
        start: Option<&Bound<'_, PyAny>>,
        end: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        self.staging.check()?;
        let table = self.table.get();
        // Tells of a table that is not there.
        table.model(py)?;
        let view = table.view(py)?;
        let range = Table::range(&view, start, end)?;
        if range.is_empty() {
            return Ok(());
        }
        let rows = StagedRows::Deleted(Arc::clone(view.stream()), range);
        self.add(Given { rows, unchanged_since: None, on_mismatch: OnMismatch::Error })
    }
}
