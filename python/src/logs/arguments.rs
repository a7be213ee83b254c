//! What callers give: names with values, levels, labels, queries, and places in a log.

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyMapping, PyString};
use timestrata_logs::{Clock, Labels, Level, Position, Query};

use super::LogEntry;
use crate::error::{invalid, to_python, type_name, wrong_type};
use crate::timestamp::time_ns;

/// Calls `take` with each name and value of a mapping. Looks at the pairs as they were at the call:
/// taking one may run Python code, which may change the mapping.
///
/// # Errors
/// `TypeError` that calls the mapping `what`, if it is none or a name is no text; those of `take`.
pub(super) fn each_pair<'py>(
    given: &Bound<'py, PyAny>,
    what: &str,
    mut take: impl FnMut(&str, &Bound<'py, PyAny>) -> PyResult<()>,
) -> PyResult<()> {
    let pairs = match (given.cast::<PyDict>(), given.cast::<PyMapping>()) {
        (Ok(dict), _) => dict.items(),
        (_, Ok(mapping)) => mapping.items()?,
        _ => return Err(wrong_type(format_args!("{what} must be a mapping"), given)),
    };
    for pair in pairs.iter() {
        let (name, value) = pair.extract::<(Bound<'py, PyAny>, Bound<'py, PyAny>)>()?;
        let Ok(name) = name.cast::<PyString>() else {
            let given = type_name(&name);
            return Err(PyTypeError::new_err(format!(
                "{what} must have names that are str, not '{given}' ({name})"
            )));
        };
        take(name.to_str()?, &value)?;
    }
    Ok(())
}

/// A level by its name, or by its number in Python's `logging`, where 0 says that there is none.
pub(crate) fn level_of(given: Option<&Bound<'_, PyAny>>) -> PyResult<Option<Level>> {
    let Some(given) = given.filter(|given| !given.is_none()) else { return Ok(None) };
    if let Ok(name) = given.cast::<PyString>() {
        let level = name.to_str()?.parse().map_err(to_python)?;
        return Ok(Some(level));
    }
    if given.is_instance_of::<PyBool>() || !given.hasattr("__index__")? {
        return Err(wrong_type(
            "level must be a str such as 'warn', a number of logging's such as 30, or None",
            given,
        ));
    }
    match given.extract::<i64>() {
        Ok(0) => Ok(None),
        Ok(number @ 1..) => Ok(Some(Level::of_python(number))),
        _ => Err(invalid(format!("level {given}: a number of logging's is 0 to 2**63-1"))),
    }
}

/// Sets labels that somebody gave, in the place of those with the same names.
pub(super) fn add_labels(labels: &mut Labels, given: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
    let Some(given) = given.filter(|given| !given.is_none()) else { return Ok(()) };
    each_pair(given, "labels", |name, value| {
        let Ok(text) = value.cast::<PyString>() else {
            return Err(wrong_type(format_args!("label {name:?} must be a str"), value));
        };
        labels.set(name, text.to_str()?).map(drop).map_err(to_python)
    })
}

/// A time: nanoseconds, a datetime, ISO text, a numpy or pandas time; `None` for none.
pub(super) fn time_of(given: Option<&Bound<'_, PyAny>>) -> PyResult<Option<i64>> {
    Ok(given.map(time_ns).transpose()?.flatten())
}

/// What is asked for by a filter and, of one clock, from `start` to before `end`.
pub(crate) fn query_of(
    filter: &str,
    start: Option<&Bound<'_, PyAny>>,
    end: Option<&Bound<'_, PyAny>>,
    by: Option<&str>,
) -> PyResult<Query> {
    let (from, to) = (time_of(start)?, time_of(end)?);
    if let (Some(from), Some(to)) = (from, to)
        && from > to
    {
        return Err(invalid(format!("range from time {from} to {to}: it ends before it begins")));
    }
    let by = by.map(str::parse::<Clock>).transpose().map_err(to_python)?;
    Ok(Query { by, from, to, ..Query::of(filter).map_err(to_python)? })
}

/// A place to go on behind: an entry, a position that one had, or a time of arrival.
///
/// # Errors
/// `InvalidArgumentError` for what has no place in the order of the clock.
pub(crate) fn position_of(given: &Bound<'_, PyAny>, by: Option<Clock>) -> PyResult<Position> {
    if let Ok(entry) = given.cast::<LogEntry>() {
        // By no clock that was named it goes on in the order in which the entry was given.
        return by.map_or_else(|| entry.get().own_place(), |by| entry.get().place(by));
    }
    if let Ok(text) = given.cast::<PyString>() {
        return text.to_str()?.parse().map_err(to_python);
    }
    let by = by.unwrap_or_default();
    match (time_of(Some(given))?, by) {
        (Some(time), Clock::Timestamp) => Ok(Position { time, timestamp: time }),
        // Entries may share a source time, so that it alone is no place.
        _ => Err(no_place(&format!("{given}"), by)),
    }
}

fn no_place(what: &str, by: Clock) -> PyErr {
    invalid(format!("{what} has no place by '{by}': give an entry, or the position of one"))
}
