//! Rows that Python brings: Arrow data, a dict of columns, a list of dicts, a single dict.

use std::sync::Arc;

use arrow_array::builder::{
    BinaryBuilder, BooleanBuilder, Date32Builder, Float64Builder, Int64Builder, StringBuilder,
    UInt64Builder,
};
use arrow_array::{Array, ArrayRef, NullArray, RecordBatch, RecordBatchReader};
use arrow_schema::{DataType, Field, FieldRef, Schema, TimeUnit};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{
    PyBool, PyBytes, PyDate, PyDateTime, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple,
};
use pyo3_arrow::input::AnyRecordBatch;
use timestrata_engine::{Cell, ErrorKind, Result, ask_for_copy};
use timestrata_timelog::Unit;
use timestrata_values::normalize;
use timestrata_values::time::relabeled;

use crate::error::{invalid, refused, to_python, type_name, wrong_type};
use crate::typed::{Held, Kind, array_of_buffer, fitted_to, is_arrow};

/// Rows on their way into a table.
pub(crate) enum Input {
    /// Batches of another library.
    Stream(Box<dyn RecordBatchReader + Send>),
    One(RecordBatch),
}

impl Input {
    /// # Errors
    /// `TypeError` for what holds no rows, `ValueError` for columns of different lengths.
    pub(crate) fn of(rows: &Bound<'_, PyAny>) -> PyResult<Self> {
        if let Some(frame) = frame_of(rows)? {
            return Self::of(&frame);
        }
        if is_arrow(rows)? {
            return Ok(Self::Stream(rows.extract::<AnyRecordBatch>()?.into_reader()?));
        }
        if let Ok(columns) = rows.cast::<PyDict>() {
            let is_row = is_single_row(columns)?;
            return if is_row {
                of_rows(rows.py(), std::slice::from_ref(columns))
            } else {
                of_columns(columns)
            };
        }
        if rows.is_instance_of::<PyList>() || rows.is_instance_of::<PyTuple>() {
            let dicts = rows
                .try_iter()?
                .map(|row| {
                    let row = row?;
                    row.cast_into::<PyDict>().map_err(|error| {
                        PyTypeError::new_err(format!("rows must be dicts, not {error}"))
                    })
                })
                .collect::<PyResult<Vec<_>>>()?;
            return of_rows(rows.py(), &dicts);
        }
        Err(wrong_type(
            "rows must be an Arrow, pandas or polars table, a dict of columns, a dict, or a list \
             of dicts",
            rows,
        ))
    }
}

/// The frame that stands for a column by itself, or for a query that was not run yet: of pandas or polars.
fn frame_of<'py>(rows: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
    match type_name(rows).as_str() {
        "LazyFrame" if rows.hasattr("collect")? => rows.call_method0("collect").map(Some),
        "Series" if rows.hasattr("to_frame")? => {
            let name = rows.getattr("name")?;
            let is_named = name.extract::<String>().is_ok_and(|name| !name.is_empty());
            let name = if is_named { name } else { PyString::new(rows.py(), "value").into_any() };
            rows.call_method1("to_frame", (name,)).map(Some)
        }
        _ => Ok(None),
    }
}

/// Batches of another library in memory of their own, checked, of types that tables keep: what
/// others may still change must not become part of a store.
pub(crate) fn owned(batch: &RecordBatch) -> Result<RecordBatch> {
    ask_for_copy([batch], "to copy the rows of another library")?;
    let batch = normalize(batch)?;
    // Whether null is allowed is the table's to say.
    let fields = batch.schema_ref().fields().iter();
    let fields: Vec<Field> =
        fields.map(|field| field.as_ref().clone().with_nullable(true)).collect();
    let fitted = batch.columns().iter().zip(&fields);
    let columns = fitted.map(|(column, field)| fitted_to(column, field));
    let columns = columns.collect::<Result<Vec<_>>>()?;
    RecordBatch::try_new(Arc::new(Schema::new(fields)), columns).map_err(|error| {
        timestrata_engine::Error::new(ErrorKind::InvalidData, "the rows make no batch")
            .caused_by(error)
    })
}

/// Whether a dict is one row: none of its values holds many.
fn is_single_row(columns: &Bound<'_, PyDict>) -> PyResult<bool> {
    let mut is_row = !columns.is_empty();
    for value in columns.values() {
        let is_scalar = value.is_none()
            || value.is_instance_of::<PyString>()
            || value.is_instance_of::<PyBytes>()
            || value.is_instance_of::<PyDict>()
            || value.is_instance_of::<PyInt>()
            || value.is_instance_of::<PyFloat>()
            || !(value.hasattr("__len__")? || value.hasattr("__arrow_c_array__")?);
        // An array without dimensions has a length only to say that it has none.
        is_row &= is_scalar;
    }
    Ok(is_row)
}

fn of_columns(columns: &Bound<'_, PyDict>) -> PyResult<Input> {
    if columns.is_empty() {
        return Err(invalid("rows have columns, a time at least: there are none"));
    }
    let mut fields: Vec<FieldRef> = Vec::new();
    let mut arrays: Vec<ArrayRef> = Vec::new();
    for (name, values) in columns {
        let name: String =
            name.extract().map_err(|_| wrong_type("names of columns are text", &name))?;
        let array = column(&name, &values)?;
        if let Some(first) = arrays.first()
            && first.len() != array.len()
        {
            return Err(refused(
                ErrorKind::InvalidData,
                format!(
                    "column '{name}' has {} values, '{}' has {}",
                    array.len(),
                    fields[0].name(),
                    first.len()
                ),
            ));
        }
        fields.push(Arc::new(Field::new(name, array.data_type().clone(), true)));
        arrays.push(array);
    }
    batch(fields, arrays)
}

fn batch(fields: Vec<FieldRef>, arrays: Vec<ArrayRef>) -> PyResult<Input> {
    RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays)
        .map(Input::One)
        .map_err(|error| PyValueError::new_err(error.to_string()))
}

fn of_rows(py: Python<'_>, rows: &[Bound<'_, PyDict>]) -> PyResult<Input> {
    if rows.is_empty() {
        return Ok(Input::One(RecordBatch::new_empty(Arc::new(Schema::empty()))));
    }
    // Columns in the order in which they are first seen.
    let names = PyDict::new(py);
    for row in rows {
        for name in row.keys() {
            names.set_item(name, py.None())?;
        }
    }
    let columns = PyDict::new(py);
    for name in names.keys() {
        let values = PyList::empty(py);
        for row in rows {
            values.append(row.get_item(&name)?)?;
        }
        columns.set_item(name, values)?;
    }
    of_columns(&columns)
}

/// One column: an Arrow array, a numpy array, or a sequence of objects.
fn column(name: &str, values: &Bound<'_, PyAny>) -> PyResult<ArrayRef> {
    if values.hasattr("__arrow_c_array__")? || values.hasattr("__arrow_c_stream__")? {
        let array: pyo3_arrow::input::AnyArray = values.extract()?;
        let chunks = array.into_chunked_array()?;
        let parts: Vec<&dyn Array> = chunks.chunks().iter().map(AsRef::as_ref).collect();
        return match parts[..] {
            [] => Ok(Arc::new(NullArray::new(0))),
            _ => arrow_select::concat::concat(&parts)
                .map_err(|error| PyValueError::new_err(format!("column '{name}': {error}"))),
        };
    }
    if let Some(array) = array_of_buffer(values) {
        return Ok(array);
    }
    if let Some(array) = times_of_numpy(values)? {
        return Ok(array);
    }
    let objects: Vec<Bound<'_, PyAny>> = values.try_iter()?.collect::<PyResult<_>>()?;
    of_objects(name, &objects)
}

/// A numpy array of `datetime64`, as timestamps in UTC.
fn times_of_numpy(values: &Bound<'_, PyAny>) -> PyResult<Option<ArrayRef>> {
    let Ok(dtype) = values.getattr("dtype") else { return Ok(None) };
    if dtype.getattr("kind")?.extract::<String>()? != "M" {
        return Ok(None);
    }
    let numpy = values.py().import("numpy")?;
    let (name, step): (String, i64) = numpy.call_method1("datetime_data", (&dtype,))?.extract()?;
    let (Ok(unit), 1) = (name.parse::<Unit>(), step) else {
        // Days and the like: the rows to come may be finer.
        let finer = values.call_method1("astype", ("datetime64[us]",))?;
        return times_of_numpy(&finer);
    };
    let Some(numbers) = array_of_buffer(&values.call_method1("view", ("int64",))?) else {
        return Ok(None);
    };
    // Numpy's "not a time" is the smallest number.
    let numbers =
        arrow_array::cast::AsArray::as_primitive::<arrow_array::types::Int64Type>(&numbers);
    let numbers: arrow_array::Int64Array =
        numbers.values().iter().map(|time| (*time != i64::MIN).then_some(*time)).collect();
    let numbers: ArrayRef = Arc::new(numbers);
    relabeled(&numbers, &times(unit.to_arrow())).map(Some).map_err(to_python)
}

/// Times in UTC.
fn times(unit: TimeUnit) -> DataType {
    DataType::Timestamp(unit, Some("UTC".into()))
}

/// The type that a column of such objects has, a time without its zone; `None` for those that only come
/// in arrays.
fn type_of(value: &Bound<'_, PyAny>) -> Option<DataType> {
    Some(if value.is_none() {
        DataType::Null
    } else if value.is_instance_of::<PyBool>() || type_name(value) == "bool_" {
        DataType::Boolean
    } else if value.is_instance_of::<PyFloat>() {
        DataType::Float64
    } else if value.is_instance_of::<PyInt>() || value.hasattr("__index__").ok()? {
        if value.extract::<i64>().is_ok() { DataType::Int64 } else { DataType::UInt64 }
    } else if value.is_instance_of::<PyString>() {
        DataType::Utf8
    } else if value.is_instance_of::<PyDateTime>() || type_name(value) == "datetime64" {
        DataType::Timestamp(TimeUnit::Microsecond, None)
    } else if value.is_instance_of::<PyDate>() {
        DataType::Date32
    } else if value.is_instance_of::<PyBytes>() || type_name(value) == "bytearray" {
        DataType::Binary
    } else if value.hasattr("__float__").ok()? && type_name(value).starts_with("float") {
        DataType::Float64
    } else {
        return None;
    })
}

/// The type that values of two types have in common.
fn common_type(one: DataType, other: DataType) -> Option<DataType> {
    use DataType::{Float64, Int64, Null, UInt64};
    match (one, other) {
        (a, b) if a == b => Some(a),
        (Null, other) | (other, Null) => Some(other),
        (Int64 | Float64, Int64 | Float64) => Some(Float64),
        (Int64 | UInt64, Int64 | UInt64) => Some(UInt64),
        _ => None,
    }
}

/// An array of objects that have a type in common.
fn of_objects(name: &str, objects: &[Bound<'_, PyAny>]) -> PyResult<ArrayRef> {
    let mut common = DataType::Null;
    for (row, object) in objects.iter().enumerate() {
        common = type_of(object).and_then(|own| common_type(common, own)).ok_or_else(|| {
            refused(
                ErrorKind::InvalidData,
                format!(
                    "column '{name}', row {row} (the first is 0): a value of type '{}' does not go \
                     with those before it; give an Arrow array for other types",
                    type_name(object)
                ),
            )
        })?;
    }
    let array_of = |data_type: DataType| {
        let kind = Kind::of(&data_type)?;
        let field: FieldRef = Arc::new(Field::new(name, data_type, true));
        let held = objects.iter().map(|object| Held::of(kind, &field, object));
        built(field.data_type(), &held.collect::<PyResult<Vec<_>>>()?)
    };
    match common {
        DataType::Null => Ok(Arc::new(NullArray::new(objects.len()))),
        // Pandas has finer ones than Python.
        DataType::Timestamp(..) => array_of(times(TimeUnit::Microsecond))
            .or_else(|_| array_of(times(TimeUnit::Nanosecond))),
        common => array_of(common),
    }
}

fn built(data_type: &DataType, held: &[Held]) -> PyResult<ArrayRef> {
    macro_rules! build {
        ($builder:expr, $variant:ident => $value:expr) => {{
            let mut builder = $builder;
            for value in held {
                match value.cell() {
                    Cell::$variant(value) => builder.append_value($value(value)),
                    _ => builder.append_null(),
                }
            }
            Arc::new(builder.finish()) as ArrayRef
        }};
    }
    Ok(match data_type {
        DataType::Boolean => build!(BooleanBuilder::new(), Bool => |value| value),
        DataType::UInt64 => build!(UInt64Builder::new(), UInt => |value| value),
        DataType::Float64 => build!(Float64Builder::new(), Float => |value| value),
        DataType::Utf8 => build!(StringBuilder::new(), Text => |value| value),
        DataType::Binary => build!(BinaryBuilder::new(), Bytes => |value| value),
        DataType::Date32 => build!(Date32Builder::new(), Int => |value: i64| value as i32),
        _ => {
            let numbers = build!(Int64Builder::new(), Int => |value| value);
            relabeled(&numbers, data_type).map_err(to_python)?
        }
    })
}
