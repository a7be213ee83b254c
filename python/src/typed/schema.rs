//! What a caller may say about types: names, dicts of names, and other libraries' schemas.

use std::sync::Arc;

use arrow_schema::{DataType, Field, Schema, SchemaRef, TimeUnit};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};
use pyo3_arrow::{PyField, PySchema};
use timestrata_timelog::{Unit, ValueColumns};

use super::arrow::is_schema;
use crate::error::{to_python, wrong_type};

/// Names of types without parts.
const NAMES: [(&str, DataType); 24] = [
    ("bool", DataType::Boolean),
    ("int8", DataType::Int8),
    ("int16", DataType::Int16),
    ("int32", DataType::Int32),
    ("int64", DataType::Int64),
    ("uint8", DataType::UInt8),
    ("uint16", DataType::UInt16),
    ("uint32", DataType::UInt32),
    ("uint64", DataType::UInt64),
    ("float32", DataType::Float32),
    ("float64", DataType::Float64),
    ("float", DataType::Float32),
    ("double", DataType::Float64),
    ("string", DataType::Utf8),
    ("utf8", DataType::Utf8),
    ("large_string", DataType::LargeUtf8),
    ("binary", DataType::Binary),
    ("large_binary", DataType::LargeBinary),
    ("date32", DataType::Date32),
    ("date64", DataType::Date64),
    ("time32[s]", DataType::Time32(TimeUnit::Second)),
    ("time32[ms]", DataType::Time32(TimeUnit::Millisecond)),
    ("time64[us]", DataType::Time64(TimeUnit::Microsecond)),
    ("time64[ns]", DataType::Time64(TimeUnit::Nanosecond)),
];

/// The value columns that `schema=` names: the name of a type, a dict from column to type, or
/// an object with `__arrow_c_schema__` (a type, a field, a schema).
///
/// # Errors
/// `TypeError` for anything else, `ValueError` for a name that is none.
pub(crate) fn columns_of(schema: &Bound<'_, PyAny>) -> PyResult<ValueColumns> {
    let columns = if let Ok(name) = schema.cast::<PyString>() {
        ValueColumns::scalar(named(&name.to_string())?)
    } else if let Ok(columns) = schema.cast::<PyDict>() {
        ValueColumns::record(dict_fields(columns)?)
    } else if is_schema(schema)? {
        match schema_of(schema) {
            Some(schema) => ValueColumns::record(schema.fields().iter().cloned()),
            None => ValueColumns::scalar(type_of(schema)?),
        }
    } else {
        return Err(wrong(schema));
    };
    columns.map_err(to_python)
}

/// The columns of a table that `schema=` names: a dict from column to type, or an object with
/// `__arrow_c_schema__` that has columns.
///
/// # Errors
/// `TypeError` for anything else, `ValueError` for a name that is none.
pub(crate) fn fields_of(schema: &Bound<'_, PyAny>) -> PyResult<SchemaRef> {
    if let Ok(columns) = schema.cast::<PyDict>() {
        return Ok(Arc::new(Schema::new(dict_fields(columns)?)));
    }
    if is_schema(schema)?
        && let Some(schema) = schema_of(schema)
    {
        return Ok(schema);
    }
    Err(wrong(schema))
}

fn dict_fields(columns: &Bound<'_, PyDict>) -> PyResult<Vec<Field>> {
    let field = |(name, kind): (Bound<'_, PyAny>, Bound<'_, PyAny>)| -> PyResult<Field> {
        Ok(Field::new(name.extract::<String>()?, type_of(&kind)?, true))
    };
    columns.iter().map(field).collect()
}

/// The schema of an object that has one of several columns; `None` of a type or a single field.
fn schema_of(schema: &Bound<'_, PyAny>) -> Option<SchemaRef> {
    // Types and fields speak the same protocol, but are no struct.
    let schema: PySchema = schema.extract().ok()?;
    Some(schema.into_inner())
}

/// The type that a name, or an object with `__arrow_c_schema__`, stands for.
fn type_of(kind: &Bound<'_, PyAny>) -> PyResult<DataType> {
    if let Ok(name) = kind.cast::<PyString>() {
        return named(&name.to_string());
    }
    if !is_schema(kind)? {
        return Err(wrong(kind));
    }
    let field: PyField = kind.extract()?;
    Ok(field.into_inner().data_type().clone())
}

fn wrong(given: &Bound<'_, PyAny>) -> PyErr {
    wrong_type(
        "schema must be the name of a type, a dict from column to type, or an Arrow schema or \
         type",
        given,
    )
}

/// Reads names as pyarrow writes them: `float64`, `timestamp[us, tz=UTC]`, `duration[ms]`, ...
fn named(name: &str) -> PyResult<DataType> {
    let unknown = || {
        PyValueError::new_err(format!(
            "'{name}' is not the name of a type: try 'float64', 'int64', 'string', 'binary', \
             'bool', 'date32', 'timestamp[us, tz=UTC]', 'duration[us]' or 'fixed_size_binary[16]'"
        ))
    };
    if let Some((_, data_type)) = NAMES.iter().find(|(known, _)| *known == name) {
        return Ok(data_type.clone());
    }
    let (kind, inside) =
        name.strip_suffix(']').and_then(|name| name.split_once('[')).ok_or_else(unknown)?;
    let (first, zone) = match inside.split_once(',') {
        Some((first, zone)) => (first.trim(), Some(zone.trim())),
        None => (inside.trim(), None),
    };
    let unit = || first.parse::<Unit>().map(Unit::to_arrow).map_err(|_| unknown());
    match (kind, zone) {
        ("timestamp", None) => Ok(DataType::Timestamp(unit()?, None)),
        ("timestamp", Some(zone)) => {
            let zone = zone.strip_prefix("tz=").unwrap_or(zone);
            Ok(DataType::Timestamp(unit()?, Some(zone.into())))
        }
        ("duration", None) => Ok(DataType::Duration(unit()?)),
        ("fixed_size_binary", None) => {
            let width: i32 = first.parse().map_err(|_| unknown())?;
            if width > 0 { Ok(DataType::FixedSizeBinary(width)) } else { Err(unknown()) }
        }
        _ => Err(unknown()),
    }
}
