//! The engine's errors as Python exceptions: every kind has a class in `timestrata.errors`.

use std::fmt::Display;

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyModule};
use timestrata_engine::{Error, ErrorKind};

static ERRORS: PyOnceLock<Py<PyModule>> = PyOnceLock::new();

/// Name of the class for a kind. The kinds may grow: one that this version doesn't know is
/// the base class, never a panic.
fn class_name(kind: ErrorKind) -> &'static str {
    match kind {
        ErrorKind::InvalidArgument => "InvalidArgumentError",
        ErrorKind::InvalidData => "InvalidDataError",
        ErrorKind::TooLarge => "TooLargeError",
        ErrorKind::NotFound => "NotFoundError",
        ErrorKind::OutOfRange => "OutOfRangeError",
        ErrorKind::Conflict => "ConflictError",
        ErrorKind::AlreadyExists => "AlreadyExistsError",
        ErrorKind::NotAStore => "NotAStoreError",
        ErrorKind::UnsupportedVersion => "UnsupportedVersionError",
        ErrorKind::Locked => "LockedError",
        ErrorKind::ReadOnly => "ReadOnlyError",
        ErrorKind::Busy => "BusyError",
        ErrorKind::NoSpace => "NoSpaceError",
        ErrorKind::OutOfMemory => "OutOfMemoryError",
        ErrorKind::Io => "IoError",
        ErrorKind::Corruption => "CorruptionError",
        ErrorKind::Poisoned => "PoisonedError",
        ErrorKind::Closed => "ClosedError",
        ErrorKind::Cancelled => "CancelledError",
        ErrorKind::TimedOut => "TimedOutError",
        _ => "TimestrataError",
    }
}

/// The exception for an engine's error, with its path, offset and hint.
pub(crate) fn to_python(py: Python<'_>, error: &Error) -> PyErr {
    let build = || -> PyResult<PyErr> {
        let details = PyDict::new(py);
        if let Some(path) = error.path() {
            details.set_item("path", path.display().to_string())?;
        }
        details.set_item("offset", error.offset())?;
        details.set_item("hint", error.hint())?;
        raise(py, class_name(error.kind()), &error.to_string(), Some(&details))
    };
    // An error while making an error (no memory, interpreter going down) takes its place.
    build().unwrap_or_else(|failure| failure)
}

/// An exception of kind `kind` for a mistake that this layer noticed.
pub(crate) fn refused(kind: ErrorKind, message: impl Into<String>) -> PyErr {
    Python::attach(|py| to_python(py, &Error::new(kind, message)))
}

/// An exception for an argument that has no meaning here.
pub(crate) fn invalid(message: impl Into<String>) -> PyErr {
    refused(ErrorKind::InvalidArgument, message)
}

/// A `TypeError`: what is wanted, and of which type the object is that was given.
pub(crate) fn wrong_type(wanted: impl Display, given: &Bound<'_, PyAny>) -> PyErr {
    PyTypeError::new_err(format!("{wanted}, not '{}'", type_name(given)))
}

/// An error of the log itself: of class `class`, with a hint.
pub(crate) fn timelog_error(class: &str, message: &str, hint: Option<&str>) -> PyErr {
    Python::attach(|py| {
        let build = || -> PyResult<PyErr> {
            let details = PyDict::new(py);
            details.set_item("hint", hint)?;
            raise(py, class, message, Some(&details))
        };
        build().unwrap_or_else(|failure| failure)
    })
}

const UNVERIFIED: &str = "VerificationError";

/// The exception for a proof that doesn't hold.
pub(crate) fn unverified(why: &str) -> PyErr {
    Python::attach(|py| raise(py, UNVERIFIED, why, None).unwrap_or_else(|failure| failure))
}

/// Whether an exception says that a proof doesn't hold.
pub(crate) fn is_unverified(py: Python<'_>, error: &PyErr) -> bool {
    error.get_type(py).name().is_ok_and(|name| name == UNVERIFIED)
}

/// The exception for a store of the parent process.
pub(crate) fn forked() -> PyErr {
    Python::attach(|py| {
        let build = || -> PyResult<PyErr> {
            let details = PyDict::new(py);
            details
                .set_item("hint", "open stores after the fork, in the process that uses them")?;
            let message = "this store was opened by the parent process, before the fork";
            raise(py, "ForkedError", message, Some(&details))
        };
        build().unwrap_or_else(|failure| failure)
    })
}

fn raise(
    py: Python<'_>,
    class: &str,
    message: &str,
    details: Option<&Bound<'_, PyDict>>,
) -> PyResult<PyErr> {
    let errors = ERRORS
        .get_or_try_init(py, || Ok::<_, PyErr>(py.import("timestrata.errors")?.unbind()))?
        .bind(py);
    Ok(PyErr::from_value(errors.getattr(class)?.call((message,), details)?))
}

/// The name of a value's type, for messages.
pub(crate) fn type_name(value: &Bound<'_, PyAny>) -> String {
    match value.get_type().name() {
        Ok(name) => name.to_string(),
        Err(_) => "object".to_owned(),
    }
}
