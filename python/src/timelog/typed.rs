//! What typed logs can do beside the rest: whole columns in and out.

use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_buffer::{Buffer, ScalarBuffer};
use arrow_schema::{DataType, Field, SchemaRef, TimeUnit};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict, PySlice};
use timestrata_engine::{Durability, ErrorKind, Result};
use timestrata_models::timelog::EntryBlock;

use super::arguments::TimeRange;
use super::stored::Stored;
use crate::error::refused;
use crate::interrupt::detached;
use crate::rows::different_lengths;
use crate::typed::{
    ArrowInput, Typed, array_of_buffer, batches_as_stream, batches_as_table, buffer, fitted_to,
};

impl Stored {
    /// Appends the batches of an Arrow stream, each as one commit.
    ///
    /// # Errors
    /// What doesn't fit the log, with a note that says how many rows are stored.
    pub(super) fn extend_arrow(
        &self,
        typed: &Typed,
        object: &Bound<'_, PyAny>,
        durability: Durability,
    ) -> PyResult<()> {
        let (py, log) = (object.py(), self.log()?);
        let mut input = ArrowInput::of(object, typed.columns())?;
        let mut stored = 0;
        loop {
            let step = || match input.next(log.unit(), typed.columns()).transpose()? {
                Some((times, columns)) => {
                    log.extend_columns(times, columns, durability)?;
                    Ok(Some(input.rows()))
                }
                None => Ok(None),
            };
            match detached(py, step).and_then(|rows| py.check_signals().map(|()| rows)) {
                Ok(Some(rows)) => stored = rows,
                Ok(None) => return Ok(()),
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
        let [field] = typed.columns().fields().as_ref() else { return Ok(false) };
        if typed.columns().is_record() {
            return Ok(false);
        }
        let Some(values) = array_of_buffer(objects) else { return Ok(false) };
        if values.len() != times.len() {
            return Err(different_lengths(times.len(), values.len()));
        }
        let log = self.log()?;
        detached(objects.py(), || {
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
        let numpy = py.import("numpy")?;
        let blocks = self.blocks(py, range)?;
        let times: Vec<Buffer> =
            blocks.iter().map(|block| block.times_buffer().inner().clone()).collect();
        let times = joined(&numpy, "int64", &times)?;
        let mut columns = Vec::new();
        for (index, field) in typed.columns().fields().iter().enumerate() {
            let parts: Vec<&ArrayRef> =
                blocks.iter().filter_map(|block| block.columns().get(index)).collect();
            columns.push((field.name(), column(&numpy, field, &parts, dtype)?));
        }
        if !typed.columns().is_record()
            && let Some((_, only)) = columns.pop()
        {
            return Ok((times, only));
        }
        let record = PyDict::new(py);
        columns.into_iter().try_for_each(|(name, column)| record.set_item(name, column))?;
        Ok((times, record.into_any()))
    }

    /// The whole log as a stream of Arrow batches.
    pub(super) fn typed_stream<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyCapsule>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let (schema, batches) = self.batches(py, TimeRange::ALL)?;
        batches_as_stream(py, schema, batches, requested_schema)
    }

    /// The range as a `pyarrow.Table`.
    pub(super) fn typed_table<'py>(
        &self,
        py: Python<'py>,
        range: TimeRange,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (schema, batches) = self.batches(py, range)?;
        batches_as_table(py, schema, batches)
    }

    fn batches(
        &self,
        py: Python<'_>,
        range: TimeRange,
    ) -> PyResult<(SchemaRef, impl Iterator<Item = Result<RecordBatch>> + Send + 'static)> {
        let log = self.log()?;
        let blocks = detached(py, || Ok(log.range(range.bounds())?.blocks()))?;
        let batches = blocks.map(|block| block.map(|block| block.record_batch().clone()));
        Ok((log.stream().schema().clone(), batches))
    }
}

/// Buffers of one numpy type, as one array: the only one's own memory, or a copy of all.
fn joined<'py>(
    numpy: &Bound<'py, PyModule>,
    dtype: &str,
    parts: &[Buffer],
) -> PyResult<Bound<'py, PyAny>> {
    let py = numpy.py();
    let array = |part: &Buffer| match part.is_empty() {
        true => numpy.call_method1("empty", (0, dtype)),
        false => numpy.call_method1("frombuffer", (buffer(py, part)?, dtype)),
    };
    match parts {
        [] => numpy.call_method1("empty", (0, dtype)),
        [only] => array(only),
        several => {
            let arrays = several.iter().map(array).collect::<PyResult<Vec<_>>>()?;
            numpy.call_method1("concatenate", (arrays,))
        }
    }
}

/// Numpy's name for a column's values, and for the integers that they are kept as.
fn numpy_type(data_type: &DataType) -> Option<(String, &'static str)> {
    use DataType as T;
    let plain = |name: &'static str| Some((name.to_owned(), name));
    let unit = |unit: &TimeUnit| match unit {
        TimeUnit::Second => "s",
        TimeUnit::Millisecond => "ms",
        TimeUnit::Microsecond => "us",
        TimeUnit::Nanosecond => "ns",
    };
    match data_type {
        T::Int8 => plain("int8"),
        T::Int16 => plain("int16"),
        T::Int32 => plain("int32"),
        T::Int64 => plain("int64"),
        T::UInt8 => plain("uint8"),
        T::UInt16 => plain("uint16"),
        T::UInt32 => plain("uint32"),
        T::UInt64 => plain("uint64"),
        T::Float32 => plain("float32"),
        T::Float64 => plain("float64"),
        T::Timestamp(of, _) => Some((format!("datetime64[{}]", unit(of)), "int64")),
        T::Duration(of) => Some((format!("timedelta64[{}]", unit(of)), "int64")),
        _ => None,
    }
}

fn column<'py>(
    numpy: &Bound<'py, PyModule>,
    field: &Field,
    parts: &[&ArrayRef],
    dtype: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = numpy.py();
    let Some((name, stored)) = numpy_type(field.data_type()) else {
        return Err(PyTypeError::new_err(format!(
            "to_numpy() takes columns of numbers and times; '{}' has type {}: use to_arrow()",
            field.name(),
            field.data_type()
        )));
    };
    let buffers = parts.iter().map(|part| values_of(part));
    let buffers = buffers.collect::<Option<Vec<_>>>().ok_or_else(|| {
        refused(ErrorKind::Corruption, format!("column '{}' has no values", field.name()))
    })?;
    let mut array = joined(numpy, stored, &buffers)?;
    if name != stored {
        array = array.call_method1("view", (&name,))?;
    }
    let nulls: usize = parts.iter().map(|part| part.null_count()).sum();
    if let Some(dtype) = dtype {
        let keywords = PyDict::new(py);
        keywords.set_item("copy", nulls > 0)?;
        array = array.call_method("astype", (dtype,), Some(&keywords))?;
    } else if nulls > 0 {
        array = array.call_method0("copy")?;
    }
    if nulls > 0 {
        mark_nulls(numpy, field, &array, parts)?;
    }
    Ok(array)
}

/// The values of a column of fixed width, without their nulls.
fn values_of(column: &ArrayRef) -> Option<Buffer> {
    let data = column.to_data();
    let width = column.data_type().primitive_width()?;
    let values = data.buffers().first()?;
    Some(values.slice_with_length(data.offset() * width, data.len() * width))
}

/// Writes NaN or NaT where a value is null.
fn mark_nulls(
    numpy: &Bound<'_, PyModule>,
    field: &Field,
    array: &Bound<'_, PyAny>,
    parts: &[&ArrayRef],
) -> PyResult<()> {
    let py = numpy.py();
    let kind: String = array.getattr("dtype")?.getattr("kind")?.extract()?;
    let missing = match kind.as_str() {
        "f" => numpy.getattr("nan")?,
        "M" | "m" => numpy.call_method1("array", ("NaT", array.getattr("dtype")?))?,
        _ => {
            return Err(PyTypeError::new_err(format!(
                "column '{}' has nulls, which numpy's {} can't hold: ask for dtype='float64', or \
                 use to_arrow()",
                field.name(),
                array.getattr("dtype")?
            )));
        }
    };
    let mut start = 0;
    for part in parts {
        if part.null_count() > 0 {
            let is_null = arrow_nulls(part);
            let place = PySlice::new(py, start as isize, (start + part.len()) as isize, 1);
            let mask = numpy.call_method1("array", (is_null, "bool"))?;
            array.get_item(place)?.set_item(mask, &missing)?;
        }
        start += part.len();
    }
    Ok(())
}

fn arrow_nulls(part: &ArrayRef) -> Vec<bool> {
    (0..part.len()).map(|row| part.is_null(row)).collect()
}
