//! Columns as numpy arrays.

use arrow_array::{Array, ArrayRef};
use arrow_buffer::Buffer;
use arrow_schema::{DataType, Field, TimeUnit};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PySlice};
use timestrata_engine::ErrorKind;
use timestrata_timelog::Unit;

use super::arrow::buffer;
use crate::error::refused;

/// Buffers of one numpy type, as one array: the only one's own memory, or a copy of all.
pub(crate) fn joined<'py>(
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
fn numpy_type(data_type: &DataType) -> Option<(String, String)> {
    let counts = |kind: &str, unit: TimeUnit| {
        Some((format!("{kind}[{}]", Unit::from(unit)), "int64".to_owned()))
    };
    match data_type {
        DataType::Timestamp(unit, _) => counts("datetime64", *unit),
        DataType::Duration(unit) => counts("timedelta64", *unit),
        number
            if number.is_integer() || matches!(number, DataType::Float32 | DataType::Float64) =>
        {
            let name = number.to_string().to_lowercase();
            Some((name.clone(), name))
        }
        _ => None,
    }
}

/// A column as a numpy array. Where all rows lie in one part it is the store's own memory.
///
/// # Errors
/// `TypeError` for a column that numpy has no type for, and for nulls that it can't mark.
pub(crate) fn column<'py>(
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
    let mut array = joined(numpy, &stored, &buffers)?;
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
