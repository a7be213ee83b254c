//! What typed logs can do beside the rest: whole columns in and out.

use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_buffer::{Buffer, ScalarBuffer};
use arrow_schema::SchemaRef;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use timestrata_engine::{Durability, Result};
use timestrata_timelog::EntryBlock;

use super::arguments::TimeRange;
use super::stored::Stored;
use crate::error::to_python;
use crate::interrupt::detached;
use crate::rows::different_lengths;
use crate::typed::{ArrowInput, Typed, array_of_buffer, fitted_to, numpy};

impl Stored {
    /// Appends the batches of an Arrow stream, each as one commit or all as one.
    ///
    /// # Errors
    /// What doesn't fit the log, with a note that says how many rows are stored.
    pub(super) fn extend_arrow(
        &self,
        typed: &Typed,
        object: &Bound<'_, PyAny>,
        is_atomic: bool,
        durability: Durability,
    ) -> PyResult<()> {
        let (py, log) = (object.py(), self.log()?);
        let mut input = ArrowInput::of(object, &typed.columns)?;
        let mut bulk = is_atomic.then(|| log.bulk()).transpose().map_err(to_python)?;
        let mut stored = 0;
        loop {
            let step = || match input.next(log.unit(), &typed.columns).transpose()? {
                Some((times, columns)) => match &mut bulk {
                    Some(bulk) => bulk.append_columns(times, columns).map(|()| Some(0)),
                    None => {
                        log.extend_columns(times, columns, durability)?;
                        Ok(Some(input.rows))
                    }
                },
                None => Ok(None),
            };
            match detached(py, step).and_then(|rows| py.check_signals().map(|()| rows)) {
                Ok(Some(rows)) => stored = rows,
                Ok(None) => {
                    let commit = || bulk.map_or(Ok(()), |bulk| bulk.commit().map(drop));
                    return detached(py, commit);
                }
                Err(error) => {
                    let note = format!("extend(): the first {stored} rows are stored");
                    let _ = error.value(py).call_method1("add_note", (note,));
                    return Err(error);
                }
            }
        }
    }

    /// Appends times and the numbers of a buffer, without an object a value, as one commit;
    /// `false`, and nothing was done, if `objects` is no such buffer or the log has several
    /// columns.
    ///
    /// # Errors
    /// `InvalidDataError` if lengths differ or the log's column can't hold the numbers.
    pub(super) fn extend_buffer(
        &self,
        typed: &Typed,
        times: &[i64],
        objects: &Bound<'_, PyAny>,
        durability: Durability,
    ) -> PyResult<bool> {
        let [field] = typed.columns.fields().as_ref() else { return Ok(false) };
        if typed.columns.is_record() {
            return Ok(false);
        }
        let Some(values) = array_of_buffer(objects) else { return Ok(false) };
        if values.len() != times.len() {
            return Err(different_lengths(times.len(), values.len()));
        }
        self.ask(objects.py(), |log| {
            let values = fitted_to(&values, field)?;
            log.extend_columns(ScalarBuffer::from(times.to_vec()), vec![values], durability)
        })?;
        Ok(true)
    }

    fn blocks(&self, py: Python<'_>, range: TimeRange) -> PyResult<Vec<EntryBlock>> {
        self.ask(py, |log| log.range(range.bounds())?.blocks().collect())
    }

    /// The range as numpy arrays: of times, and of values, or a dict of those of each column.
    /// Where all rows lie in one block they are the store's own memory.
    pub(super) fn typed_numpy<'py>(
        &self,
        py: Python<'py>,
        typed: &Typed,
        range: TimeRange,
        dtype: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
        let module = py.import("numpy")?;
        let blocks = self.blocks(py, range)?;
        let times: Vec<Buffer> =
            blocks.iter().map(|block| block.times_buffer().inner().clone()).collect();
        let times = numpy::joined(&module, "int64", &times)?;
        let mut columns = Vec::new();
        for (index, field) in typed.columns.fields().iter().enumerate() {
            let parts: Vec<&ArrayRef> =
                blocks.iter().filter_map(|block| block.columns().get(index)).collect();
            columns.push((field.name(), numpy::column(&module, field, &parts, dtype)?));
        }
        if !typed.columns.is_record()
            && let Some((_, only)) = columns.pop()
        {
            return Ok((times, only));
        }
        let record = PyDict::new(py);
        columns.into_iter().try_for_each(|(name, column)| record.set_item(name, column))?;
        Ok((times, record.into_any()))
    }

    /// The range in batches.
    pub(super) fn batches(
        &self,
        py: Python<'_>,
        range: TimeRange,
    ) -> PyResult<(SchemaRef, impl Iterator<Item = Result<RecordBatch>> + Send + 'static)> {
        let blocks = self.ask(py, |log| Ok(log.range(range.bounds())?.blocks()))?;
        let batches = blocks.map(|block| block.map(|block| block.record_batch().clone()));
        Ok((self.log()?.stream().schema().clone(), batches))
    }
}
