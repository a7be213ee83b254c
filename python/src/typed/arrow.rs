//! Arrow data from other libraries, over the Arrow C data interface, and to them.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
    UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{
    Array, ArrayRef, PrimitiveArray, RecordBatch, RecordBatchIterator, RecordBatchReader,
    StructArray, make_array, new_null_array,
};
use arrow_buffer::{Buffer, ScalarBuffer};
use arrow_data::transform::MutableArrayData;
use arrow_schema::{ArrowError, DataType, Field, Fields, Schema, SchemaRef};
use pyo3::buffer::{Element, PyBuffer};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use pyo3_arrow::PyRecordBatchReader;
use pyo3_arrow::buffer::PyArrowBuffer;
use pyo3_arrow::ffi::{ArrayIterator, to_schema_pycapsule, to_stream_pycapsule};
use pyo3_arrow::input::AnyRecordBatch;
use timestrata_engine::{Error, ErrorKind, Result};
use timestrata_timelog::{Unit, ValueColumns};
use timestrata_values::fit;

use crate::error::to_python;

const TIME: &str = "time";

/// Whether an object offers Arrow columns.
pub(crate) fn is_arrow(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    Ok(object.hasattr("__arrow_c_stream__")? || object.hasattr("__arrow_c_array__")?)
}

/// Whether an object offers an Arrow schema, type or field.
pub(super) fn is_schema(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    object.hasattr("__arrow_c_schema__")
}

/// Batches of another library on their way into a typed log.
pub(crate) struct ArrowInput {
    reader: Box<dyn RecordBatchReader + Send>,
    time: usize,
    /// Where the log's columns are among the reader's; one that is missing is null, as in a dict.
    columns: Vec<Option<usize>>,
    /// Rows given so far.
    pub(crate) rows: usize,
}

impl ArrowInput {
    /// # Errors
    /// `InvalidDataError` if there is no column of times, or one of the log's that takes no nulls is
    /// missing, or there are others.
    pub(crate) fn of(object: &Bound<'_, PyAny>, wanted: &ValueColumns) -> PyResult<Self> {
        let reader = object.extract::<AnyRecordBatch>()?.into_reader()?;
        let schema = reader.schema();
        let time = time_column(&schema).map_err(to_python)?;
        let columns = value_columns(&schema, time, wanted).map_err(to_python)?;
        Ok(Self { reader, time, columns, rows: 0 })
    }

    /// The next rows: times in `unit`, and one array a value column, in memory of their own.
    /// Rows before them that were given: [`ArrowInput::rows`].
    pub(crate) fn next(
        &mut self,
        unit: Unit,
        wanted: &ValueColumns,
    ) -> Option<Result<(ScalarBuffer<i64>, Vec<ArrayRef>)>> {
        let batch = match self.reader.next()? {
            Ok(batch) => batch,
            Err(error) => return Some(Err(invalid(format!("the Arrow stream failed: {error}")))),
        };
        Some(self.columns_of(&batch, unit, wanted))
    }

    fn columns_of(
        &mut self,
        batch: &RecordBatch,
        unit: Unit,
        wanted: &ValueColumns,
    ) -> Result<(ScalarBuffer<i64>, Vec<ArrayRef>)> {
        let column = |index: usize| {
            batch
                .columns()
                .get(index)
                .ok_or_else(|| invalid("a batch has fewer columns than its schema".to_owned()))
        };
        let times = times_in(column(self.time)?.as_ref(), unit, self.rows)?;
        let fitted = self.columns.iter().zip(wanted.fields());
        let columns = fitted.map(|(index, field)| match index {
            Some(index) => fitted_to(column(*index)?, field),
            None => Ok(new_null_array(field.data_type(), batch.num_rows())),
        });
        let columns = columns.collect::<Result<Vec<_>>>()?;
        self.rows += batch.num_rows();
        Ok((times, columns))
    }
}

fn invalid(message: String) -> Error {
    Error::new(ErrorKind::InvalidData, message)
}

/// The column called `time`, else the only one of timestamps.
fn time_column(schema: &SchemaRef) -> Result<usize> {
    if let Ok(index) = schema.index_of(TIME) {
        return Ok(index);
    }
    let is_time = |field: &Field| matches!(field.data_type(), DataType::Timestamp(_, _));
    let mut times = schema.fields().iter().enumerate().filter(|(_, field)| is_time(field));
    match (times.next(), times.next()) {
        (Some((index, _)), None) => Ok(index),
        _ => Err(invalid(format!(
            "none of the columns ({}) is the time: call it '{TIME}'",
            names(schema.fields())
        ))),
    }
}

fn value_columns(
    schema: &SchemaRef,
    time: usize,
    wanted: &ValueColumns,
) -> Result<Vec<Option<usize>>> {
    let others: Vec<usize> = (0..schema.fields().len()).filter(|index| *index != time).collect();
    if !wanted.is_record()
        && let [only] = others.as_slice()
    {
        return Ok(vec![Some(*only)]);
    }
    let find = |field: &Arc<Field>| match schema.index_of(field.name()) {
        Ok(index) => Ok(Some(index)),
        Err(_) if wanted.is_record() && field.is_nullable() => Ok(None),
        Err(_) => Err(invalid(format!(
            "there is no column '{}' among {}",
            field.name(),
            names(schema.fields())
        ))),
    };
    let columns = wanted.fields().iter().map(find).collect::<Result<Vec<_>>>()?;
    match others.iter().find(|index| !columns.contains(&Some(**index))) {
        Some(index) => Err(invalid(format!(
            "the log has no column '{}': leave it out, or make a log that has it",
            schema.field(*index).name()
        ))),
        None => Ok(columns),
    }
}

/// The columns' names, for messages.
pub(super) fn names(fields: &Fields) -> String {
    let names: Vec<_> = fields.iter().map(|field| format!("'{}'", field.name())).collect();
    names.join(", ")
}

/// Times as counts of `unit`, where that is exact; integers are taken as counts of it already.
fn times_in(column: &dyn Array, unit: Unit, first_row: usize) -> Result<ScalarBuffer<i64>> {
    if let Some(row) = (0..column.len()).find(|row| column.is_null(*row)) {
        return Err(invalid(format!("the time in row {} is null", first_row + row)));
    }
    let from = match column.data_type() {
        DataType::Timestamp(from, _) => Some(Unit::from(*from)),
        DataType::Int64 => None,
        other => {
            return Err(invalid(format!(
                "the column of times has type {other}: it must be timestamps or int64"
            )));
        }
    };
    // Timestamps of every unit are the same integers.
    let data = column.to_data().into_builder().data_type(DataType::Int64).build();
    let data = data.map_err(|error| invalid(format!("the times can't be read: {error}")))?;
    let counts = make_array(data);
    let counts = counts.as_primitive::<Int64Type>().values();
    let (per_second, from) = (unit.per_second(), from.map_or(unit.per_second(), Unit::per_second));
    if from == per_second {
        return Ok(counts.iter().copied().collect());
    }
    if from > per_second {
        let step = from / per_second;
        if let Some(row) = counts.iter().position(|count| count % step != 0) {
            return Err(invalid(format!(
                "the time in row {} is finer than unit '{unit}' can keep: round the times first, or make \
                 a log of a finer unit",
                first_row + row
            )));
        }
        return Ok(counts.iter().map(|count| count / step).collect());
    }
    let step = per_second / from;
    let scaled = counts.iter().enumerate().map(|(row, count)| {
        count.checked_mul(step).ok_or_else(|| {
            invalid(format!(
                "the time in row {} is outside int64 in unit '{unit}'",
                first_row + row
            ))
        })
    });
    scaled.collect()
}

/// A column in memory of its own, of the field's type: what others may still change, or hold
/// much more memory with, must not become part of a store.
pub(crate) fn fitted_to(column: &ArrayRef, field: &Field) -> Result<ArrayRef> {
    let wrong = |error: ArrowError| invalid(format!("column '{}': {error}", field.name()));
    column.to_data().validate_full().map_err(wrong)?;
    let data = fit(column, field)?.to_data();
    let mut copy = MutableArrayData::new(vec![&data], false, data.len());
    copy.try_extend(0, 0, data.len()).map_err(wrong)?;
    Ok(make_array(copy.freeze()))
}

/// The numbers of a buffer of one dimension (a numpy array, an `array.array`), copied; `None` if
/// it is no such buffer.
pub(crate) fn array_of_buffer(object: &Bound<'_, PyAny>) -> Option<ArrayRef> {
    fn copied<T>(object: &Bound<'_, PyAny>) -> Option<ArrayRef>
    where
        T: ArrowPrimitiveType,
        T::Native: Element,
    {
        let buffer = PyBuffer::<T::Native>::get(object).ok()?;
        if buffer.dimensions() != 1 {
            return None;
        }
        let values = buffer.to_vec(object.py()).ok()?;
        Some(Arc::new(PrimitiveArray::<T>::new(values.into(), None)))
    }
    copied::<Float64Type>(object)
        .or_else(|| copied::<Int64Type>(object))
        .or_else(|| copied::<Float32Type>(object))
        .or_else(|| copied::<Int32Type>(object))
        .or_else(|| copied::<Int16Type>(object))
        .or_else(|| copied::<Int8Type>(object))
        .or_else(|| copied::<UInt64Type>(object))
        .or_else(|| copied::<UInt32Type>(object))
        .or_else(|| copied::<UInt16Type>(object))
        .or_else(|| copied::<UInt8Type>(object))
}

/// Memory of the store as an object of Python's buffer protocol, not copied.
pub(crate) fn buffer<'py>(py: Python<'py>, buffer: &Buffer) -> PyResult<Bound<'py, PyAny>> {
    Ok(Bound::new(py, PyArrowBuffer::new(buffer.clone()))?.into_any())
}

/// Batches as a capsule of the Arrow C stream interface.
pub(crate) fn batches_as_stream<'py>(
    py: Python<'py>,
    schema: SchemaRef,
    batches: impl Iterator<Item = Result<RecordBatch>> + Send + 'static,
    requested_schema: Option<&Bound<'py, PyCapsule>>,
) -> PyResult<Bound<'py, PyCapsule>> {
    let field = Field::new_struct("", schema.fields().clone(), false);
    let arrays =
        batches.map(|batch| Ok(Arc::new(StructArray::from(batch.map_err(external)?)) as ArrayRef));
    let arrays = ArrayIterator::new(arrays, Arc::new(field));
    let capsule = to_stream_pycapsule(py, Box::new(arrays), requested_schema.cloned());
    capsule.map_err(|error| no_arrow_form(error.into()))
}

/// A schema as a capsule of the Arrow C data interface.
///
/// # Errors
/// `InvalidDataError` for a name that the interface has no room for, as one with a zero byte.
pub(crate) fn schema_as_capsule<'py>(
    py: Python<'py>,
    schema: &Schema,
) -> PyResult<Bound<'py, PyCapsule>> {
    to_schema_pycapsule(py, schema).map_err(|error| no_arrow_form(error.into()))
}

fn no_arrow_form(error: PyErr) -> PyErr {
    to_python(invalid(format!("the columns can't be given to other libraries: {error}")))
}

/// Batches as a `pyarrow.Table`.
pub(crate) fn batches_as_table<'py>(
    py: Python<'py>,
    schema: SchemaRef,
    batches: impl Iterator<Item = Result<RecordBatch>> + Send + 'static,
) -> PyResult<Bound<'py, PyAny>> {
    let batches = RecordBatchIterator::new(batches.map(|batch| batch.map_err(external)), schema);
    PyRecordBatchReader::new(Box::new(batches)).into_pyarrow(py)?.call_method0("read_all")
}

fn external(error: Error) -> ArrowError {
    ArrowError::ExternalError(Box::new(error))
}
