//! Rows in, rows gone.

use std::sync::{Arc, PoisonError};

use arrow_array::RecordBatch;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use timestrata_engine::{Durability, Error, ErrorKind};
use timestrata_models::table::{OnMismatch, Table as TableModel, WriteOptions};

use super::Table;
use super::input::{Input, is_single_row, owned};
use super::values::RowConverter;
use crate::interrupt::detached;

pub(super) fn on_mismatch_of(word: &str) -> PyResult<OnMismatch> {
    match word {
        "error" => Ok(OnMismatch::Error),
        "widen" => Ok(OnMismatch::Widen),
        other => Err(PyValueError::new_err(format!(
            "on_mismatch={other:?}: it must be 'error' or 'widen'"
        ))),
    }
}

impl Table {
    /// The fast way of a single row: no batch. `false`, and nothing was done, if it needs another.
    fn append_dict(&self, row: &Bound<'_, PyDict>, durability: Durability) -> PyResult<bool> {
        let py = row.py();
        let Some(model) = self.existing(py)?.filter(TableModel::takes_cells) else {
            return Ok(false);
        };
        let Some(converter) = self.converter_for(py, &model)? else { return Ok(false) };
        let Some(held) = converter.held(row)? else { return Ok(false) };
        let cells: Vec<_> = held.iter().map(crate::typed::Held::cell).collect();
        if durability == Durability::Written
            && let Ok(Some(_)) = model.try_append_row(&cells)
        {
            return Ok(true);
        }
        match detached(py, || Ok(model.append_row(&cells, durability)))? {
            Ok(_) => Ok(true),
            // A null where none may be: the long way says it in the table's words. So it does if
            // the columns have changed meanwhile.
            Err(error) if error.kind() == ErrorKind::InvalidData => Ok(false),
            Err(error) => Err(crate::error::to_python(py, &error)),
        }
    }

    fn converter_for(
        &self,
        py: Python<'_>,
        model: &TableModel,
    ) -> PyResult<Option<Arc<RowConverter>>> {
        let schema = model.schema().map_err(|error| crate::error::to_python(py, &error))?;
        let mut converter = self.converter.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = converter.as_ref().filter(|known| Arc::ptr_eq(known.schema(), &schema))
        {
            return Ok(Some(Arc::clone(known)));
        }
        *converter = RowConverter::new(py, &schema).map(Arc::new);
        Ok(converter.clone())
    }

    fn append_batch(
        &self,
        py: Python<'_>,
        batch: &RecordBatch,
        options: WriteOptions,
    ) -> PyResult<()> {
        let model = self.model_for(py, batch)?;
        detached(py, || model.append(batch, options))?;
        Ok(())
    }
}

#[pymethods]
impl Table {
    /// Add rows. Gives how many there were.
    ///
    /// Columns are found by name; new ones are added to the table, null before. The rows of one
    /// call are one atomic commit, except that a stream of Arrow batches is one commit a batch.
    ///
    /// Parameters
    /// ----------
    /// rows : object
    ///     An Arrow, pandas or polars table (anything with ``__arrow_c_stream__``), a dict of
    ///     columns (lists, numpy or Arrow arrays), a dict of one row, or a list of such dicts.
    ///     Times are ints in the table's unit (in a new table, of the unit that their magnitude
    ///     tells), datetimes, or ISO strings; UTC where no zone is given.
    /// sync : bool, optional
    ///     Wait until the rows survive a power cut.
    /// on_mismatch : {"error", "widen"}, optional
    ///     What to do with values of another type than their column's: refuse, or widen the
    ///     column (whole numbers to floats, others to text).
    ///
    /// Raises
    /// ------
    /// InvalidDataError
    ///     A value doesn't fit; it names row, column, value and expected type. Nothing of the
    ///     commit was written.
    #[pyo3(signature = (rows, *, sync=false, on_mismatch="error"))]
    fn append(
        &self,
        py: Python<'_>,
        rows: &Bound<'_, PyAny>,
        sync: bool,
        on_mismatch: &str,
    ) -> PyResult<usize> {
        let durability = self.handle.durability(sync);
        if let Ok(row) = rows.cast_exact::<PyDict>()
            && is_single_row(row)?
            && self.append_dict(row, durability)?
        {
            return Ok(1);
        }
        let options = WriteOptions { durability, on_mismatch: on_mismatch_of(on_mismatch)? };
        let mut reader = match Input::of(rows)? {
            Input::One(batch) => {
                self.append_batch(py, &batch, options)?;
                return Ok(batch.num_rows());
            }
            Input::Stream(reader) => reader,
        };
        let mut stored = 0;
        loop {
            let next = detached(py, || match reader.next() {
                None => Ok(None),
                Some(batch) => owned(&batch.map_err(failed)?).map(Some),
            });
            let step = next.and_then(|batch| match batch {
                None => Ok(false),
                Some(batch) => {
                    self.append_batch(py, &batch, options)?;
                    stored += batch.num_rows();
                    py.check_signals().map(|()| true)
                }
            });
            match step {
                Ok(true) => {}
                Ok(false) => return Ok(stored),
                Err(error) => {
                    let note = format!("append(): the first {stored} rows are stored");
                    let _ = error.value(py).call_method1("add_note", (note,));
                    return Err(error);
                }
            }
        }
    }
}

fn failed(error: arrow_schema::ArrowError) -> Error {
    Error::new(ErrorKind::InvalidData, format!("the Arrow stream failed: {error}"))
}
