//! Settings as Python programs write them: sizes as int or "64MiB", durations as "100ms".

use std::time::Duration;

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDelta, PyDict, PyString};
use timestrata_engine::{
    BusyPolicy, Durability, Maintenance, RunCompression, Setting, SettingForm, Settings,
    duration_of_text, size_of_text,
};

use crate::error::{invalid, to_python, wrong_type};

/// Settings from keywords; what is missing or `None` keeps its default.
///
/// # Errors
/// `TypeError` for a name that is not a setting, or a value of the wrong type;
/// `InvalidArgumentError` for what can't be read. What can't work together the engine refuses.
pub(crate) fn settings(
    maintenance: &str,
    busy_policy: &str,
    rest: Option<&Bound<'_, PyDict>>,
) -> PyResult<Settings> {
    let mut settings = Settings {
        maintenance: choice(
            "maintenance",
            maintenance,
            &[("background", Maintenance::Background), ("manual", Maintenance::Manual)],
        )?,
        busy_policy: choice(
            "busy_policy",
            busy_policy,
            &[
                ("block", BusyPolicy::Block),
                ("raise", BusyPolicy::Raise),
                ("flush", BusyPolicy::Flush),
            ],
        )?,
        ..Settings::default()
    };
    for (name, value) in rest.into_iter().flat_map(|rest| rest.iter()) {
        let name: String = name.extract()?;
        set(&mut settings, &name, &value)?;
    }
    Ok(settings)
}

/// The durability of a name.
///
/// # Errors
/// `InvalidArgumentError` for another one.
pub(crate) fn durability(name: &str) -> PyResult<Durability> {
    choice(
        "durability",
        name,
        &[
            ("buffered", Durability::Buffered),
            ("written", Durability::Written),
            ("synced", Durability::Synced),
        ],
    )
}

/// How files are packed, by its name.
///
/// # Errors
/// `InvalidArgumentError` for another one.
pub(crate) fn compression(name: Option<&str>) -> PyResult<Option<RunCompression>> {
    name.map(str::parse).transpose().map_err(to_python)
}

/// Of a few named values, the one asked for.
pub(crate) fn choice<T: Copy>(what: &str, name: &str, choices: &[(&str, T)]) -> PyResult<T> {
    if let Some((_, value)) = choices.iter().find(|(known, _)| *known == name) {
        return Ok(*value);
    }
    let known: Vec<_> = choices.iter().map(|(known, _)| format!("'{known}'")).collect();
    Err(invalid(format!("{what} '{name}': must be {}", known.join(" or "))))
}

/// One of the words of an argument; `ValueError` names those that there are.
pub(crate) fn word<T: Copy>(what: &str, given: &str, words: &[(&str, T)]) -> PyResult<T> {
    words.iter().find(|(known, _)| *known == given).map(|(_, value)| *value).ok_or_else(|| {
        let known: Vec<_> = words.iter().map(|(known, _)| format!("'{known}'")).collect();
        let known = match known.as_slice() {
            [one, other] => format!("{one} or {other}"),
            _ => format!("one of {}", known.join(", ")),
        };
        PyValueError::new_err(format!("{what}={given:?}: it must be {known}"))
    })
}

fn set(settings: &mut Settings, name: &str, value: &Bound<'_, PyAny>) -> PyResult<()> {
    let Some(setting) = Setting::named(name) else {
        let names: Vec<_> = Setting::all().iter().map(Setting::name).collect();
        return Err(PyTypeError::new_err(format!(
            "open() got an unexpected keyword argument '{name}'; the settings are {}",
            names.join(", ")
        )));
    };
    if value.is_none() {
        return Ok(());
    }
    let is_none = |text: &str| text == "none" || (text == "0" && name == "scrub_bytes_per_second");
    let text = match setting.form() {
        SettingForm::SizeOrNone | SettingForm::CountOrNone
            if is_none(&value.str()?.to_string_lossy()) =>
        {
            "none".to_owned()
        }
        SettingForm::Size
        | SettingForm::SizeOrNone
        | SettingForm::Count
        | SettingForm::CountOrNone => size(name, value)?.to_string(),
        SettingForm::Time => format!("{}ns", duration(name, value)?.as_nanos()),
        SettingForm::Word => value.extract()?,
    };
    setting.set(settings, &text).map_err(to_python)
}

fn size(name: &str, value: &Bound<'_, PyAny>) -> PyResult<u64> {
    if let Ok(text) = value.cast::<PyString>() {
        let text = text.to_str()?;
        return size_of_text(text).ok_or_else(|| {
            invalid(format!("{name} '{text}': must be a size such as '64MiB', '1GB' or 4096"))
        });
    }
    if value.is_instance_of::<PyBool>() || !value.hasattr("__index__")? {
        return Err(wrong_type(
            format_args!("{name} must be an int or a str such as '64MiB'"),
            value,
        ));
    }
    value.extract().map_err(|_| invalid(format!("{name} {value}: must be 0 to 2**64-1")))
}

/// A length of time: text such as "100ms", a timedelta, or a number of seconds.
pub(crate) fn duration(name: &str, value: &Bound<'_, PyAny>) -> PyResult<Duration> {
    let unreadable = |shown: &str| {
        invalid(format!("{name} '{shown}': must be a duration such as '100ms' or '2s'"))
    };
    if let Ok(text) = value.cast::<PyString>() {
        let text = text.to_str()?;
        return duration_of_text(text).ok_or_else(|| unreadable(text));
    }
    if value.is_instance_of::<PyDelta>() {
        return value.extract().map_err(|_| unreadable(&value.to_string()));
    }
    if value.is_instance_of::<PyBool>() {
        return Err(PyTypeError::new_err(format!("{name} must be a duration, not 'bool'")));
    }
    let seconds: f64 = value.extract().map_err(|_| {
        wrong_type(
            format_args!(
                "{name} must be a str such as '100ms', a timedelta or a number of seconds"
            ),
            value,
        )
    })?;
    Duration::try_from_secs_f64(seconds).map_err(|_| unreadable(&value.to_string()))
}

/// A span of seconds, as nanoseconds.
pub(crate) fn span_ns(what: &str, seconds: Option<f64>) -> PyResult<Option<u64>> {
    match seconds {
        None => Ok(None),
        Some(seconds) if (0.0..9.2e9).contains(&seconds) => Ok(Some((seconds * 1e9) as u64)),
        Some(seconds) => Err(PyValueError::new_err(format!(
            "{what}={seconds}: it must be a number of seconds from 0 to below 9.2e9"
        ))),
    }
}
