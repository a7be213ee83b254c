//! Entries that callers give, as the model takes them.

use pyo3::exceptions::PyUnicodeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyMapping, PyString};
use timestrata_logs::{Fields, Labels, NewEntry};

use super::LogEntry;
use super::arguments::{add_labels, each_pair, level_of, time_of};
use crate::codec::cbor::{Keys, encode_as};
use crate::error::{invalid, to_python, wrong_type};

/// An entry of its parts, as a call gives them.
///
/// # Errors
/// As [`fill`].
pub(super) fn entry_of(
    message: &str,
    level: Option<&Bound<'_, PyAny>>,
    source_time: Option<&Bound<'_, PyAny>>,
    own: &Labels,
    labels: Option<&Bound<'_, PyAny>>,
    fields: Option<&Bound<'_, PyDict>>,
) -> PyResult<NewEntry> {
    let mut entry = NewEntry::new(message);
    entry.level = level_of(level)?;
    entry.source_time = time_of(source_time)?;
    entry.labels.clone_from(own);
    add_labels(&mut entry.labels, labels)?;
    if let Some(fields) = fields {
        add_fields(&mut entry.fields, fields)?;
    }
    Ok(entry)
}

/// Makes `entry` the one that somebody gave: a message alone, a mapping of its parts, or one that was
/// read. It has `labels` where it says nothing else of them.
///
/// # Errors
/// `TypeError` or `InvalidArgumentError` that names the part; `entry` is of no use then.
pub(super) fn fill(
    entry: &mut NewEntry,
    labels: &Labels,
    given: &Bound<'_, PyAny>,
) -> PyResult<()> {
    if let Ok(read) = given.cast::<LogEntry>() {
        *entry = read.get().to_new()?;
        let own = std::mem::replace(&mut entry.labels, labels.clone());
        return own
            .iter()
            .try_for_each(|(name, value)| entry.labels.set(name, value).map(drop))
            .map_err(to_python);
    }
    entry.clear();
    entry.labels.clone_from(labels);
    if let Ok(message) = given.cast::<PyString>() {
        entry.message.push_str(message.to_str()?);
        return Ok(());
    }
    if given.cast::<PyMapping>().is_err() {
        return Err(wrong_type("an entry must be a str, a mapping or a LogEntry", given));
    }
    let mut has_message = false;
    each_pair(given, "an entry", |name, part| {
        match name {
            "message" => {
                has_message = true;
                message_of(part)?.clone_into(&mut entry.message);
            }
            "level" => entry.level = level_of(Some(part))?,
            "source_time" => entry.source_time = time_of(Some(part))?,
            "labels" => add_labels(&mut entry.labels, Some(part))?,
            "fields" if part.is_none() => {}
            "fields" => add_fields(&mut entry.fields, part)?,
            // What an entry that was read says of itself.
            "timestamp" => {}
            other => {
                return Err(invalid(format!(
                    "an entry has no part {other:?}: it has message, level, source_time, labels \
                         and fields; put it among the fields"
                )));
            }
        }
        Ok(())
    })?;
    match has_message {
        true => Ok(()),
        false => Err(invalid("an entry has no message")),
    }
}

fn message_of<'a>(given: &'a Bound<'_, PyAny>) -> PyResult<&'a str> {
    match given.cast::<PyString>() {
        Ok(message) => message.to_str(),
        Err(_) => Err(wrong_type("an entry's message must be a str", given)),
    }
}

/// Sets fields that somebody gave. Their values are plain data, as the cbor codec takes it, with texts
/// as keys of dicts, so that all of it can be shown as JSON.
///
/// # Errors
/// `TypeError` or `InvalidDataError` that names the field.
pub(super) fn add_fields(fields: &mut Fields, given: &Bound<'_, PyAny>) -> PyResult<()> {
    let mut item = Vec::new();
    each_pair(given, "fields", |name, value| {
        item.clear();
        encode_as(&format_args!("field {name:?}"), Keys::Text, value, &mut item)
            .inspect_err(|error| name_field(value.py(), error, name))?;
        fields.item(name, |out| out.extend_from_slice(&item));
        Ok(())
    })
}

/// Says which field has a text that is no Unicode; Python's own error doesn't.
fn name_field(py: Python<'_>, error: &PyErr, name: &str) {
    if error.is_instance_of::<PyUnicodeError>(py) {
        // A note is a kindness: an exception that takes none is raised without.
        let _ = error.value(py).call_method1("add_note", (format!("it is in field {name:?}"),));
    }
}
