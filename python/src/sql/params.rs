//! Python's values for placeholders.

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{
    PyBool, PyBytes, PyDate, PyDateTime, PyDict, PyFloat, PyFrozenSet, PyInt, PyList, PyRange,
    PySet, PyString, PyTuple,
};
use timestrata_sql::{Params, ScalarValue};
use timestrata_timelog::Unit;

use crate::error::{to_python, type_name, wrong_type};
use crate::timestamp::{exact_timestamp, timestamp};

/// Values by place, or by name.
pub(super) fn params_of(params: &Bound<'_, PyAny>) -> PyResult<Params> {
    if let Ok(named) = params.cast::<PyDict>() {
        let value = |(name, value): (Bound<'_, PyAny>, Bound<'_, PyAny>)| -> PyResult<_> {
            Ok((name.extract::<String>()?, scalar(&value)?))
        };
        return Ok(Params::named(named.iter().map(value).collect::<PyResult<Vec<_>>>()?));
    }
    if params.is_instance_of::<PyString>() {
        return Err(PyTypeError::new_err("params must be a list or a dict of values, not 'str'"));
    }
    let values = params.try_iter()?.map(|value| scalar(&value?)).collect::<PyResult<Vec<_>>>()?;
    Ok(Params::from(values))
}

fn scalar(value: &Bound<'_, PyAny>) -> PyResult<ScalarValue> {
    if value.is_none() {
        return Ok(ScalarValue::Null);
    }
    if let Ok(truth) = value.cast::<PyBool>() {
        return Ok(truth.is_true().into());
    }
    if let Ok(float) = value.cast::<PyFloat>() {
        return Ok(float.value().into());
    }
    if let Ok(text) = value.cast::<PyString>() {
        return Ok(ScalarValue::Utf8(Some(text.to_str()?.to_owned())));
    }
    if let Ok(bytes) = value.cast::<PyBytes>() {
        return Ok(ScalarValue::Binary(Some(bytes.as_bytes().to_vec())));
    }
    if value.is_instance_of::<PyDateTime>() || type_name(value) == "datetime64" {
        let zone = Some("UTC".into());
        // Nanoseconds end in 2262.
        return Ok(match exact_timestamp(value, Unit::Micro) {
            Ok(time) => ScalarValue::TimestampMicrosecond(Some(time), zone),
            Err(_) => ScalarValue::TimestampNanosecond(Some(timestamp(value, Unit::Nano)?), zone),
        });
    }
    if value.is_instance_of::<PyDate>() {
        return Ok(ScalarValue::Utf8(Some(value.call_method0("isoformat")?.extract()?)));
    }
    if let Some(values) = values_of(value)? {
        let values =
            values.try_iter()?.map(|value| scalar(&value?)).collect::<PyResult<Vec<_>>>()?;
        return Params::list(values).map_err(to_python);
    }
    if value.is_instance_of::<PyInt>() || value.hasattr("__index__")? {
        return match value.extract::<i64>() {
            Ok(number) => Ok(number.into()),
            Err(_) => Ok(value.extract::<u64>()?.into()),
        };
    }
    Err(wrong_type(
        "a parameter must be None, a bool, a number, text, bytes, a date, a datetime or a list of these",
        value,
    ))
}

/// The values of a list, a tuple, a set or a range, or of an array or a series of another library.
fn values_of<'py>(value: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
    let holds_values = value.is_instance_of::<PyList>()
        || value.is_instance_of::<PyTuple>()
        || value.is_instance_of::<PySet>()
        || value.is_instance_of::<PyFrozenSet>()
        || value.is_instance_of::<PyRange>();
    if holds_values {
        return Ok(Some(value.clone()));
    }
    if value.hasattr("to_pylist")? {
        return value.call_method0("to_pylist").map(Some);
    }
    // An array of numpy, a series of pandas or polars: each gives values that are known here.
    let is_series = value.hasattr("dtype")? && value.hasattr("__iter__")?;
    Ok(is_series.then(|| value.clone()))
}
