//! Python objects as cells.

use arrow_schema::FieldRef;
use pyo3::exceptions::PyOverflowError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;
use pyo3::types::{
    PyBool, PyBytes, PyDate, PyDateTime, PyDelta, PyDeltaAccess, PyDict, PyFloat, PyInt,
    PyMemoryView, PyString, PyTime,
};
use timestrata_engine::{Cell, ErrorKind};
use timestrata_timelog::{Unit, ValueColumns};

use super::arrow::names;
use super::kind::Kind;
use crate::error::{refused, type_name, wrong_type};
use crate::timestamp::exact_timestamp;

/// Days from the first of January of year 1 to that of 1970, as Python counts them.
const EPOCH_ORDINAL: i64 = 719_163;

/// A value, and what keeps its bytes alive.
#[derive(Debug)]
pub(crate) enum Held {
    Null,
    Bool(bool),
    Int(i64),
    UInt(u64),
    Float(f64),
    Text(PyBackedStr),
    Bytes(Vec<u8>),
}

impl Held {
    pub(crate) fn cell(&self) -> Cell<'_> {
        match self {
            Self::Null => Cell::Null,
            Self::Bool(value) => Cell::Bool(*value),
            Self::Int(value) => Cell::Int(*value),
            Self::UInt(value) => Cell::UInt(*value),
            Self::Float(value) => Cell::Float(*value),
            Self::Text(value) => Cell::Text(value),
            Self::Bytes(value) => Cell::Bytes(value),
        }
    }

    /// # Errors
    /// `TypeError` if the column takes no such object, `OverflowError` for a number too large.
    pub(crate) fn of(kind: Kind, field: &FieldRef, value: &Bound<'_, PyAny>) -> PyResult<Self> {
        if value.is_none() {
            return Ok(Self::Null);
        }
        let held = match kind {
            Kind::Float => float(value)?.map(Self::Float),
            Kind::Int => integer::<i64>(field, value)?.map(Self::Int),
            Kind::UInt => integer::<u64>(field, value)?.map(Self::UInt),
            Kind::Text => match value.cast::<PyString>() {
                Ok(text) => Some(Self::Text(text.clone().try_into()?)),
                Err(_) => None,
            },
            Kind::Bytes => bytes(value)?.map(Self::Bytes),
            Kind::Bool => truth(value)?.map(Self::Bool),
            Kind::Timestamp { unit, is_aware } => instant(value, unit, is_aware)?.map(Self::Int),
            Kind::Date { per_day } => days(value)?.map(|days| Self::Int(days * per_day)),
            Kind::TimeOfDay(unit) => match value.cast::<PyTime>() {
                Ok(time) => Some(Self::Int(since_midnight(time, unit)?)),
                Err(_) => count(field, value)?,
            },
            Kind::Duration(unit) => match value.cast::<PyDelta>() {
                Ok(delta) => Some(Self::Int(length(delta, unit)?)),
                Err(_) => count(field, value)?,
            },
        };
        held.ok_or_else(|| {
            let wanted = format_args!("column '{}' takes {}", field.name(), field.data_type());
            wrong_type(wanted, value)
        })
    }
}

fn float(value: &Bound<'_, PyAny>) -> PyResult<Option<f64>> {
    if let Ok(float) = value.cast::<PyFloat>() {
        return Ok(Some(float.value()));
    }
    let is_number = !value.is_instance_of::<PyBool>()
        && (value.is_instance_of::<PyInt>() || value.hasattr("__float__")?);
    if is_number { value.extract().map(Some) } else { Ok(None) }
}

/// Anything with `__index__`, but no bool.
fn integer<'py, T>(field: &FieldRef, value: &Bound<'py, PyAny>) -> PyResult<Option<T>>
where
    T: for<'a> FromPyObject<'a, 'py, Error = PyErr>,
{
    if value.is_instance_of::<PyBool>()
        || !(value.is_instance_of::<PyInt>() || value.hasattr("__index__")?)
    {
        return Ok(None);
    }
    value.extract::<T>().map(Some).map_err(|error| {
        if !error.is_instance_of::<PyOverflowError>(value.py()) {
            return error;
        }
        PyOverflowError::new_err(format!(
            "column '{}' takes {}, which {value} is outside of",
            field.name(),
            field.data_type()
        ))
    })
}

fn count(field: &FieldRef, value: &Bound<'_, PyAny>) -> PyResult<Option<Held>> {
    Ok(integer::<i64>(field, value)?.map(Held::Int))
}

fn bytes(value: &Bound<'_, PyAny>) -> PyResult<Option<Vec<u8>>> {
    if let Ok(bytes) = value.cast::<PyBytes>() {
        return Ok(Some(bytes.as_bytes().to_vec()));
    }
    let Ok(view) = PyMemoryView::from(value) else { return Ok(None) };
    let bytes = view.call_method0("tobytes")?;
    Ok(Some(bytes.cast::<PyBytes>()?.as_bytes().to_vec()))
}

/// A bool, or numpy's.
fn truth(value: &Bound<'_, PyAny>) -> PyResult<Option<bool>> {
    if let Ok(truth) = value.cast::<PyBool>() {
        return Ok(Some(truth.is_true()));
    }
    let is_numpy = matches!(type_name(value).as_str(), "bool" | "bool_");
    if is_numpy { value.is_truthy().map(Some) } else { Ok(None) }
}

/// A count of units since 1970, or a datetime that the unit has room for; one without a zone is UTC. A column
/// without a zone takes none that has one.
fn instant(value: &Bound<'_, PyAny>, unit: Unit, is_aware: bool) -> PyResult<Option<i64>> {
    if value.is_instance_of::<PyBool>()
        || value.is_instance_of::<PyFloat>()
        || value.is_instance_of::<PyString>()
    {
        return Ok(None);
    }
    let is_datetime = value.is_instance_of::<PyDateTime>();
    if is_datetime && !is_aware && !value.call_method0("utcoffset")?.is_none() {
        return Ok(None);
    }
    exact_timestamp(value, unit).map(Some)
}

fn days(value: &Bound<'_, PyAny>) -> PyResult<Option<i64>> {
    if !value.is_instance_of::<PyDate>() || value.is_instance_of::<PyDateTime>() {
        return Ok(None);
    }
    let ordinal: i64 = value.call_method0("toordinal")?.extract()?;
    Ok(Some(ordinal - EPOCH_ORDINAL))
}

fn since_midnight(time: &Bound<'_, PyTime>, unit: Unit) -> PyResult<i64> {
    let part = |name: &str| -> PyResult<i64> { time.getattr(name)?.extract() };
    let seconds = (part("hour")? * 60 + part("minute")?) * 60 + part("second")?;
    scaled(i128::from(seconds) * 1_000_000 + i128::from(part("microsecond")?), unit)
}

fn length(delta: &Bound<'_, PyDelta>, unit: Unit) -> PyResult<i64> {
    let seconds = i128::from(delta.get_days()) * 86_400 + i128::from(delta.get_seconds());
    scaled(seconds * 1_000_000 + i128::from(delta.get_microseconds()), unit)
}

/// Microseconds in `unit`, where that is exact.
fn scaled(microseconds: i128, unit: Unit) -> PyResult<i64> {
    let units = microseconds * i128::from(unit.per_second());
    if units.rem_euclid(1_000_000) != 0 {
        return Err(refused(
            ErrorKind::InvalidData,
            format!(
                "{microseconds} microseconds are finer than unit '{unit}' can keep: round them first, or \
                 choose a finer unit"
            ),
        ));
    }
    i64::try_from(units / 1_000_000).map_err(|_| {
        PyOverflowError::new_err(format!("a duration is outside int64 in unit '{unit}'"))
    })
}

pub(super) fn not_a_record(columns: &ValueColumns, value: &Bound<'_, PyAny>) -> PyErr {
    wrong_type(format_args!("this log takes dicts of {}", names(columns.fields())), value)
}

pub(super) fn unknown_part(columns: &ValueColumns, parts: &Bound<'_, PyDict>) -> PyErr {
    let is_known = |name: &Bound<'_, PyAny>| {
        name.extract::<String>().is_ok_and(|name| columns.fields().find(&name).is_some())
    };
    let unknown = parts.keys().iter().find(|name| !is_known(name));
    let unknown = unknown.map_or_else(String::new, |name| name.to_string());
    refused(
        ErrorKind::InvalidData,
        format!("this log has no column '{unknown}': it has {}", names(columns.fields())),
    )
}
