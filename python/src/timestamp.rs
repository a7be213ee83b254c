//! What Python programs call a time, as the store's signed 64-bit count of units, and back.

use pyo3::exceptions::{PyOverflowError, PyTypeError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBool, PyDateTime, PyDelta, PyDeltaAccess, PyDict, PyInt, PyString};
use timestrata_engine::ErrorKind;
use timestrata_table::parse_time;
use timestrata_timelog::Unit;

use crate::error::{refused, to_python, type_name};
use crate::lock::Lock;

static EPOCH: PyOnceLock<Py<PyAny>> = PyOnceLock::new();

/// What becomes of the digits of a time that its unit has no room for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Finer {
    /// They are left out, as automatic times leave them out.
    RoundedDown,
    Refused,
}

/// A timestamp given by the caller: an int (anything with `__index__`, but no bool), or a
/// datetime (without a zone it is UTC), converted by integer arithmetic and rounded down to the
/// unit, as automatic times are.
///
/// # Errors
/// `TypeError` for anything else, `OverflowError` outside signed 64 bits.
pub(crate) fn timestamp(value: &Bound<'_, PyAny>, unit: Unit) -> PyResult<i64> {
    of(value, unit, Finer::RoundedDown)
}

/// As [`timestamp`], of a value that is kept: what the unit has no room for is refused.
///
/// # Errors
/// Those of [`timestamp`], and `InvalidDataError` for a time that is finer than the unit.
pub(crate) fn exact_timestamp(value: &Bound<'_, PyAny>, unit: Unit) -> PyResult<i64> {
    of(value, unit, Finer::Refused)
}

fn of(value: &Bound<'_, PyAny>, unit: Unit, finer: Finer) -> PyResult<i64> {
    if value.is_exact_instance_of::<PyInt>() {
        return value.extract().map_err(|_| out_of_range(value));
    }
    if value.is_instance_of::<PyBool>() {
        return Err(PyTypeError::new_err("timestamp must be int (bool not allowed)"));
    }
    if value.is_instance_of::<PyDateTime>() {
        return units(value, ns_of_datetime(value)?, NANOSECONDS, unit, finer);
    }
    if type_name(value) == "datetime64" {
        return units(value, attoseconds_of(value)?, ATTOSECONDS, unit, finer);
    }
    if value.hasattr("__index__")? {
        return value.extract().map_err(|error: PyErr| {
            if error.is_instance_of::<PyOverflowError>(value.py()) {
                out_of_range(value)
            } else {
                error
            }
        });
    }
    Err(wrong_type(value, unit))
}

/// A time in nanoseconds: an int of them, a datetime, an ISO string, a numpy or pandas time.
pub(crate) fn time_ns(value: &Bound<'_, PyAny>) -> PyResult<Option<i64>> {
    if value.is_none() {
        return Ok(None);
    }
    if let Ok(text) = value.cast::<PyString>() {
        let unit = arrow_schema::TimeUnit::Nanosecond;
        let kind = arrow_schema::DataType::Timestamp(unit, Some("UTC".into()));
        let time = parse_time(&text.to_string(), &kind);
        return time.map(Some).map_err(to_python);
    }
    timestamp(value, Unit::Nano).map(Some)
}

fn wrong_type(value: &Bound<'_, PyAny>, unit: Unit) -> PyErr {
    let given = type_name(value);
    let advice = if given == "float" {
        format!(
            "round it yourself, with int(x), or choose a finer time_unit; of seconds, int(t * {})",
            unit.per_second()
        )
    } else if value.is_instance_of::<PyString>() {
        "parse it first, for instance with datetime.fromisoformat()".to_owned()
    } else {
        "give an int or a datetime".to_owned()
    };
    PyTypeError::new_err(format!(
        "timestamp must be int (a count of '{unit}' since 1970), not '{given}': {advice}"
    ))
}

pub(crate) fn out_of_range(value: &Bound<'_, PyAny>) -> PyErr {
    PyOverflowError::new_err(format!("timestamp {value} is outside int64 range [-2**63, 2**63-1]"))
}

/// Nanoseconds since 1970 of a datetime. One without a zone is UTC, as everywhere.
fn ns_of_datetime(value: &Bound<'_, PyAny>) -> PyResult<i128> {
    let py = value.py();
    if value.is_exact_instance_of::<PyDateTime>()
        && let Some(epoch) = epoch_in(&value.getattr(intern!(py, "tzinfo"))?)?
    {
        return ns_since(value, &epoch);
    }
    let has_zone = !value.call_method0(intern!(py, "utcoffset"))?.is_none();
    let mut ns = match has_zone {
        true => ns_since(value, epoch(py)?)?,
        false => ns_since(&in_utc(value)?, epoch(py)?)?,
    };
    if !value.is_exact_instance_of::<PyDateTime>() && value.hasattr("nanosecond")? {
        // Finer than a datetime: a pandas Timestamp.
        ns += i128::from(value.getattr("nanosecond")?.extract::<u16>()?);
    }
    Ok(ns)
}

/// The same reading of the clock, in UTC.
fn in_utc<'py>(value: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let py = value.py();
    let keywords = PyDict::new(py);
    keywords.set_item(intern!(py, "tzinfo"), epoch(py)?.getattr(intern!(py, "tzinfo"))?)?;
    value.call_method(intern!(py, "replace"), (), Some(&keywords))
}

/// The first instant of 1970, in UTC.
fn epoch(py: Python<'_>) -> PyResult<&Bound<'_, PyAny>> {
    let epoch = EPOCH.get_or_try_init(py, || {
        let datetime = py.import("datetime")?;
        let utc = datetime.getattr("timezone")?.getattr("utc")?;
        let epoch = datetime.getattr("datetime")?.call1((1970, 1, 1, 0, 0, 0, 0, utc))?;
        Ok::<_, PyErr>(epoch.unbind())
    })?;
    Ok(epoch.bind(py))
}

/// The aware datetime of nanoseconds since 1970-01-01 UTC, rounded down to microseconds.
pub(crate) fn datetime_of_ns(py: Python<'_>, ns: i64) -> PyResult<Bound<'_, PyAny>> {
    let microseconds = ns.div_euclid(1_000);
    let seconds = microseconds.div_euclid(1_000_000);
    // What 64 bits of nanoseconds hold are less than 107,000 days in both directions.
    let days = seconds.div_euclid(86_400) as i32;
    let of_day = seconds.rem_euclid(86_400) as i32;
    let rest = microseconds.rem_euclid(1_000_000) as i32;
    epoch(py)?.add(PyDelta::new(py, days, of_day, rest, true)?)
}

fn ns_since(value: &Bound<'_, PyAny>, epoch: &Bound<'_, PyAny>) -> PyResult<i128> {
    let since = value.sub(epoch)?;
    let since = since.cast::<PyDelta>()?;
    let seconds = i128::from(since.get_days()) * 86_400 + i128::from(since.get_seconds());
    Ok(seconds * 1_000_000_000 + i128::from(since.get_microseconds()) * 1_000)
}

/// An amount of time since 1970, of which so many are a second, in a unit.
fn units(
    value: &Bound<'_, PyAny>,
    amount: i128,
    per_second: i128,
    unit: Unit,
    finer: Finer,
) -> PyResult<i64> {
    let step = per_second / i128::from(unit.per_second());
    if finer == Finer::Refused && amount.rem_euclid(step) != 0 {
        return Err(refused(
            ErrorKind::InvalidData,
            format!(
                "{value} is finer than unit '{unit}' can keep: round it first, or choose a finer unit"
            ),
        ));
    }
    i64::try_from(amount.div_euclid(step)).map_err(|_| too_far(value, unit))
}

fn too_far(value: &Bound<'_, PyAny>, unit: Unit) -> PyErr {
    PyOverflowError::new_err(format!(
        "timestamp {value} is outside int64 range in unit '{unit}': choose a coarser unit"
    ))
}

/// The zone of the last time that was in UTC, and the epoch in it. Times of one zone object are
/// subtracted by Python without asking the zone, which takes a quarter of the time.
static UTC_EPOCH: Lock<Option<(Py<PyAny>, Py<PyAny>)>> = Lock::new(None);

/// The epoch as a datetime of the same zone object, if that is UTC.
fn epoch_in<'py>(zone: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
    let py = zone.py();
    let known = UTC_EPOCH.lock();
    if let Some((known, epoch)) = known.as_ref()
        && known.is(zone)
    {
        return Ok(Some(epoch.bind(py).clone()));
    }
    // No Python code runs while the lock is held.
    drop(known);
    let datetime = py.import(intern!(py, "datetime"))?;
    let utc = datetime.getattr(intern!(py, "timezone"))?.getattr(intern!(py, "utc"))?;
    let is_utc = zone.is(&utc)
        || type_name(zone) == "ZoneInfo"
            && zone
                .getattr(intern!(py, "key"))
                .and_then(|key| key.extract::<String>())
                .is_ok_and(|key| key == "UTC");
    if !is_utc {
        return Ok(None);
    }
    let epoch = datetime.getattr("datetime")?.call1((1970, 1, 1, 0, 0, 0, 0, zone))?;
    let entry = (zone.clone().unbind(), epoch.clone().unbind());
    let replaced = UTC_EPOCH.lock().replace(entry);
    drop(replaced);
    Ok(Some(epoch))
}

/// Attoseconds since 1970 of a numpy datetime64, which has no time zone by definition and is taken as UTC.
fn attoseconds_of(value: &Bound<'_, PyAny>) -> PyResult<i128> {
    let py = value.py();
    let numpy = py.import("numpy")?;
    if numpy.call_method1("isnat", (value,))?.is_truthy()? {
        return Err(PyTypeError::new_err("timestamp must be a time, not NaT"));
    }
    // Numpy's own conversion wraps around without a word.
    let data = |value: &Bound<'_, PyAny>| -> PyResult<(String, i64)> {
        numpy.call_method1("datetime_data", (value.getattr("dtype")?,))?.extract()
    };
    let mut value = value.clone();
    let (mut name, mut step) = data(&value)?;
    if matches!(name.as_str(), "Y" | "M") {
        value = value.call_method1("astype", ("datetime64[D]",))?;
        (name, step) = data(&value)?;
    }
    let Some((_, attoseconds)) = NUMPY_UNITS.iter().find(|(known, _)| *known == name) else {
        return Err(PyTypeError::new_err(format!("timestamp {value} has no unit of time")));
    };
    let count: i64 = value.call_method1("astype", ("int64",))?.extract()?;
    let time = i128::from(count).checked_mul(i128::from(step));
    time.and_then(|steps| steps.checked_mul(*attoseconds)).ok_or_else(|| out_of_range(&value))
}

const NANOSECONDS: i128 = 1_000_000_000;
const ATTOSECONDS: i128 = 1_000_000_000_000_000_000;

/// What numpy calls its units, in attoseconds.
const NUMPY_UNITS: [(&str, i128); 11] = [
    ("W", 604_800 * ATTOSECONDS),
    ("D", 86_400 * ATTOSECONDS),
    ("h", 3_600 * ATTOSECONDS),
    ("m", 60 * ATTOSECONDS),
    ("s", ATTOSECONDS),
    ("ms", ATTOSECONDS / 1_000),
    ("us", ATTOSECONDS / 1_000_000),
    ("ns", ATTOSECONDS / 1_000_000_000),
    ("ps", 1_000_000),
    ("fs", 1_000),
    ("as", 1),
];
