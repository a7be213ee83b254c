//! Values of arrays as Python objects.

use arrow_array::Array;
use arrow_schema::DataType;
use pyo3::exceptions::{PyException, PyOverflowError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBool, PyBytes, PyDelta, PyFloat, PyInt, PyString, PyTime};
use timestrata_engine::{Cell, ErrorKind};
use timestrata_timelog::Unit;

use super::kind::Kind;
use crate::error::refused;

const DAY_SECONDS: i64 = 86_400;

static EPOCHS: PyOnceLock<Epochs> = PyOnceLock::new();

/// The first instant of 1970, with and without zone, and its day.
struct Epochs {
    aware: Py<PyAny>,
    naive: Py<PyAny>,
    day: Py<PyAny>,
}

fn epochs(py: Python<'_>) -> PyResult<&'static Epochs> {
    EPOCHS.get_or_try_init(py, || {
        let module = py.import("datetime")?;
        let (datetime, date) = (module.getattr("datetime")?, module.getattr("date")?);
        let utc = module.getattr("timezone")?.getattr("utc")?;
        Ok(Epochs {
            aware: datetime.call1((1970, 1, 1, 0, 0, 0, 0, utc))?.unbind(),
            naive: datetime.call1((1970, 1, 1))?.unbind(),
            day: date.call1((1970, 1, 1))?.unbind(),
        })
    })
}

/// The object of a value.
///
/// Nanoseconds come as ints: Python's own types of time would lose them. A time of a column with a zone is a
/// datetime of that zone.
///
/// # Errors
/// `OverflowError` for a time that Python's types can't hold, `CorruptionError` where the array
/// has no such value.
#[inline]
pub(crate) fn object<'py>(
    py: Python<'py>,
    kind: Kind,
    column: &dyn Array,
    row: usize,
) -> PyResult<Bound<'py, PyAny>> {
    let Some(cell) = Cell::of(column, row) else {
        return Err(refused(
            ErrorKind::Corruption,
            format!("a column of type {} has no value in row {row}", column.data_type()),
        ));
    };
    Ok(match cell {
        Cell::Null => py.None().into_bound(py),
        Cell::Float(value) => PyFloat::new(py, value).into_any(),
        Cell::UInt(value) => PyInt::new(py, value).into_any(),
        Cell::Text(value) => PyString::new(py, value).into_any(),
        Cell::Bytes(value) => PyBytes::new(py, value).into_any(),
        Cell::Bool(value) => PyBool::new(py, value).to_owned().into_any(),
        Cell::Int(value) => match kind {
            Kind::Timestamp { unit, is_aware } if unit != Unit::Nano => {
                let epochs = epochs(py)?;
                let epoch = if is_aware { &epochs.aware } else { &epochs.naive };
                let time = epoch.bind(py).add(delta(py, value, unit)?)?;
                match column.data_type() {
                    DataType::Timestamp(_, Some(zone)) if !is_utc(zone) => in_zone(time, zone)?,
                    _ => time,
                }
            }
            Kind::Date { per_day } => {
                let days = value.div_euclid(per_day);
                epochs(py)?.day.bind(py).add(delta_of_days(py, days)?)?
            }
            Kind::TimeOfDay(unit) if unit != Unit::Nano => time_of_day(py, value, unit)?,
            Kind::Duration(unit) if unit != Unit::Nano => delta(py, value, unit)?.into_any(),
            _ => PyInt::new(py, value).into_any(),
        },
    })
}

fn is_utc(zone: &str) -> bool {
    matches!(zone, "UTC" | "+00:00" | "Z" | "utc")
}

/// A time of UTC as a clock of a zone shows it: the same instant. Where this machine knows no such zone, and
/// for the first and the last hours that datetimes have, it stays in UTC.
fn in_zone<'py>(time: Bound<'py, PyAny>, zone: &str) -> PyResult<Bound<'py, PyAny>> {
    let py = time.py();
    let zone = match offset_of(zone) {
        Some(minutes) => {
            let offset = PyDelta::new(py, 0, minutes * 60, 0, true)?;
            py.import("datetime")?.getattr("timezone")?.call1((offset,))
        }
        // It keeps those that were asked for before.
        None => py.import("zoneinfo")?.getattr("ZoneInfo")?.call1((zone,)),
    };
    match zone.and_then(|zone| time.call_method1("astimezone", (zone,))) {
        Ok(shown) => Ok(shown),
        Err(error) if error.is_instance_of::<PyException>(py) => Ok(time),
        Err(error) => Err(error),
    }
}

/// Minutes of an offset as Arrow writes it: `+02:00`, `+0200` or `+02`.
fn offset_of(zone: &str) -> Option<i32> {
    let (sign, digits) = match zone.split_at_checked(1)? {
        ("+", digits) => (1, digits),
        ("-", digits) => (-1, digits),
        _ => return None,
    };
    let (hours, minutes) = match digits.len() {
        5 => digits.split_once(':')?,
        4 | 2 => digits.split_at_checked(2)?,
        _ => return None,
    };
    let number = |text: &str| if text.is_empty() { Some(0) } else { text.parse::<i32>().ok() };
    Some(sign * (number(hours)? * 60 + number(minutes)?))
}

/// A length of time in a unit not finer than a microsecond.
fn delta(py: Python<'_>, count: i64, unit: Unit) -> PyResult<Bound<'_, PyDelta>> {
    let seconds = count.div_euclid(unit.per_second());
    let rest = count.rem_euclid(unit.per_second());
    let days = i32::try_from(seconds.div_euclid(DAY_SECONDS)).map_err(|_| beyond(count, unit))?;
    // Both are below what an i32 holds: a day's seconds, a second's microseconds.
    let microseconds = rest * (1_000_000 / unit.per_second());
    PyDelta::new(py, days, seconds.rem_euclid(DAY_SECONDS) as i32, microseconds as i32, true)
}

fn delta_of_days(py: Python<'_>, days: i64) -> PyResult<Bound<'_, PyDelta>> {
    let days = i32::try_from(days)
        .map_err(|_| PyOverflowError::new_err(format!("day {days} since 1970 has no date")))?;
    PyDelta::new(py, days, 0, 0, true)
}

fn time_of_day(py: Python<'_>, count: i64, unit: Unit) -> PyResult<Bound<'_, PyAny>> {
    let seconds = count.div_euclid(unit.per_second());
    if !(0..DAY_SECONDS).contains(&seconds) {
        return Err(beyond(count, unit));
    }
    let microseconds = count.rem_euclid(unit.per_second()) * (1_000_000 / unit.per_second());
    let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    let time = PyTime::new(py, hour as u8, minute as u8, second as u8, microseconds as u32, None)?;
    Ok(time.into_any())
}

fn beyond(count: i64, unit: Unit) -> PyErr {
    PyOverflowError::new_err(format!(
        "{count} {unit} is more than Python's datetime can hold: read it with to_arrow() or to_numpy()"
    ))
}
