//! Rows in, rows gone.

use std::sync::Arc;

use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_schema::SchemaRef;
use arrow_select::concat::concat_batches;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use timestrata_engine::{Durability, Error, ErrorKind, Result, Stream, ask_for_copy};
use timestrata_table::{
    Commits, IngestOptions, OnMismatch, Table as TableModel, WriteOptions, ingest,
};

use super::Table;
use super::input::{Input, owned};
use super::values::RowConverter;
use crate::error::{invalid, to_python};
use crate::handle::Handle;
use crate::interrupt::detached;
use crate::settings::word;
use crate::typed::Held;

/// Rows of a stream that may wait in memory for its end.
const WAITING_BYTES_MAX: usize = 8 << 20;

/// Rows as one batch, whatever they are given as.
pub(crate) fn batch_of(rows: &Bound<'_, PyAny>) -> PyResult<RecordBatch> {
    match Input::of(rows)? {
        Input::One(batch) => Ok(batch),
        Input::Stream(reader) => {
            let schema = reader.schema();
            let batches = rows.py().detach(|| reader.collect::<std::result::Result<Vec<_>, _>>());
            let all = batches.map_err(failed).and_then(|batches| joined(&schema, &batches));
            all.map_err(to_python)
        }
    }
}

pub(super) fn on_mismatch_of(name: &str) -> PyResult<OnMismatch> {
    word("on_mismatch", name, &[("error", OnMismatch::Error), ("widen", OnMismatch::Widen)])
}

/// A row as cells, with the table that it is for and the columns that this had then.
pub(super) struct HeldRow {
    table: TableModel,
    pub(super) stream: Arc<Stream>,
    pub(super) held: Vec<Held>,
}

impl Table {
    /// The fast way of a single row: no batch. `false`, and nothing was done, if it needs another.
    fn append_dict(&self, row: &Bound<'_, PyDict>, durability: Durability) -> PyResult<bool> {
        let py = row.py();
        let Some(HeldRow { table: model, stream, held }) = self.held(row)? else {
            return Ok(false);
        };
        let model = model.with_times_of(&stream);
        let cells: Vec<_> = held.iter().map(Held::cell).collect();
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
            Err(error) => Err(to_python(error)),
        }
    }

    /// The cells of a dict of one row, and the table with the columns that they are for; `None` if it needs the long way.
    pub(super) fn held(&self, row: &Bound<'_, PyDict>) -> PyResult<Option<HeldRow>> {
        let py = row.py();
        let Some(model) = self.existing(py)?.filter(TableModel::takes_cells) else {
            return Ok(None);
        };
        let Some(converter) = self.converter_for(py, &model)? else { return Ok(None) };
        let held = converter.held(row)?;
        let stream = Arc::clone(&converter.stream);
        Ok(held.map(|held| HeldRow { table: model, stream, held }))
    }

    fn converter_for(
        &self,
        py: Python<'_>,
        model: &TableModel,
    ) -> PyResult<Option<Arc<RowConverter>>> {
        let stream = self.handle.store()?.stream_of(model.id()).map_err(to_python)?;
        let is_of_schema =
            |known: &Arc<RowConverter>| Arc::ptr_eq(known.stream.schema(), stream.schema());
        if let Some(known) = self.converter.get().filter(is_of_schema) {
            return Ok(Some(known));
        }
        let converter = RowConverter::new(py, &stream).map(Arc::new);
        drop(self.converter.replace(converter.clone()));
        Ok(converter)
    }

    /// All rows of a stream as one commit. Few of them are one batch; the others go to run files
    /// as they come.
    fn append_stream(
        &self,
        py: Python<'_>,
        reader: Box<dyn RecordBatchReader + Send>,
        options: WriteOptions,
    ) -> PyResult<usize> {
        let mut interrupted = None;
        let mut incoming = Incoming { reader, interrupted: &mut interrupted };
        let (mut first, mut bytes) = (Vec::new(), 0);
        let read = detached(py, || {
            while bytes < WAITING_BYTES_MAX {
                let Some(batch) = incoming.next() else { return Ok(true) };
                let batch = batch?;
                bytes += batch.get_array_memory_size();
                first.push(batch);
            }
            Ok(false)
        });
        let done = match read {
            Ok(true) => match first.as_slice() {
                [] => Ok(0),
                [only] => self.append_batch(py, only, options).map(|()| only.num_rows()),
                [some, ..] => {
                    let all = joined(&some.schema(), &first).map_err(to_python)?;
                    self.append_batch(py, &all, options).map(|()| all.num_rows())
                }
            },
            Ok(false) => {
                let asked = IngestOptions {
                    table: self.wanted.clone(),
                    write: options,
                    commits: Commits::One,
                    ..IngestOptions::default()
                };
                let store = self.handle.store()?;
                let mut all = first.into_iter().map(Ok).chain(&mut incoming);
                let done = detached(py, || ingest(store, &self.name, &mut all, &asked));
                done.map(|done| {
                    if let Some(table) = done.table {
                        self.has_become(table);
                    }
                    usize::try_from(done.rows).unwrap_or(usize::MAX)
                })
            }
            Err(error) => Err(error),
        };
        match interrupted {
            Some(error) => Err(error),
            None => done,
        }
    }

    /// Rows as one batch, with the table that they are for, which is made if it isn't there; for a
    /// commit of this store that somebody else makes.
    pub(crate) fn rows_for(
        &self,
        py: Python<'_>,
        handle: &Handle,
        rows: &Bound<'_, PyAny>,
    ) -> PyResult<(TableModel, RecordBatch)> {
        if !std::ptr::eq(self.handle.as_ref(), handle) {
            let name = &self.name;
            let message = format!("table '{name}' is of another store: one commit is of one store");
            return Err(invalid(message));
        }
        let batch = batch_of(rows)?;
        Ok((self.model_for(py, &batch)?, batch))
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
    /// call are one atomic commit, however many they are.
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
    ///
    /// Examples
    /// --------
    /// >>> import timestrata
    /// >>> rooms = timestrata.open().table("rooms")
    /// >>> rooms.append({"time": ["2024-05-01", "2024-05-02"], "celsius": [20.0, 21.5]})
    /// 2
    /// >>> rooms.append([{"time": "2024-05-03", "celsius": 19.0}])
    /// 1
    #[pyo3(signature = (rows, *, sync=false, on_mismatch="error"))]
    fn append(&self, rows: &Bound<'_, PyAny>, sync: bool, on_mismatch: &str) -> PyResult<usize> {
        let durability = self.handle.durability(sync);
        // Lists and arrays are no cells, so a dict of columns is refused by it.
        if let Ok(row) = rows.cast_exact::<PyDict>()
            && self.append_dict(row, durability)?
        {
            return Ok(1);
        }
        let options = WriteOptions { durability, on_mismatch: on_mismatch_of(on_mismatch)? };
        match Input::of(rows)? {
            Input::One(batch) if batch.num_columns() == 0 => Ok(0),
            Input::One(batch) => {
                self.append_batch(rows.py(), &batch, options)?;
                Ok(batch.num_rows())
            }
            Input::Stream(reader) => self.append_stream(rows.py(), reader, options),
        }
    }
}

/// Batches of a stream, in memory of their own; ends early at Ctrl-C.
struct Incoming<'a> {
    reader: Box<dyn RecordBatchReader + Send>,
    interrupted: &'a mut Option<PyErr>,
}

impl Iterator for Incoming<'_> {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Result<RecordBatch>> {
        if let Err(error) = Python::attach(|py| py.check_signals()) {
            *self.interrupted = Some(error);
            return Some(Err(Error::new(ErrorKind::InvalidData, "append() was interrupted")));
        }
        let batch = self.reader.next()?;
        Some(batch.map_err(failed).and_then(|batch| owned(&batch)))
    }
}

fn joined(schema: &SchemaRef, batches: &[RecordBatch]) -> Result<RecordBatch> {
    ask_for_copy(batches, "to join the rows of one commit")?;
    concat_batches(schema, batches).map_err(failed)
}

fn failed(error: arrow_schema::ArrowError) -> Error {
    Error::new(ErrorKind::InvalidData, format!("the Arrow stream failed: {error}"))
}
