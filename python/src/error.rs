//! The engine's errors as Python exceptions: every kind has a class in `timestrata.errors`.

use std::fmt::Display;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use pyo3::exceptions::{PySystemExit, PyTypeError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyModule};
use timestrata_engine::{Error, ErrorKind};

static ERRORS: PyOnceLock<Py<PyModule>> = PyOnceLock::new();
/// Whether the interpreter has closed all stores, as it exits.
static EXITING: AtomicBool = AtomicBool::new(false);
const CLOSED: &str = "ClosedError";

/// From now on a thread that the interpreter doesn't wait for ends in silence where it uses a store: nobody can do anything about
/// its error any more, and it isn't one.
pub(crate) fn interpreter_exits() {
    EXITING.store(true, Ordering::Release);
}

/// Whether this is a thread that the interpreter, which exits, doesn't wait for.
fn is_left_behind(py: Python<'_>) -> PyResult<bool> {
    if !EXITING.load(Ordering::Acquire) {
        return Ok(false);
    }
    let threading = py.import("threading")?;
    let main = threading.call_method0("main_thread")?.getattr("ident")?;
    Ok(!threading.call_method0("get_ident")?.eq(main)?)
}

/// The exception for an engine's error, with its path, offset and hint. Its class has the name of the
/// kind. The kinds may grow: one that this version doesn't know is the base class, never a panic.
pub(crate) fn to_python(error: Error) -> PyErr {
    let class = format!("{:?}Error", error.kind());
    raise(&class, &error.to_string(), error.path(), error.offset(), Some(error.hint()))
}

/// An exception of kind `kind` for a mistake that this layer noticed.
pub(crate) fn refused(kind: ErrorKind, message: impl Into<String>) -> PyErr {
    to_python(Error::new(kind, message))
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
    raise(class, message, None, None, hint)
}

const UNVERIFIED: &str = "VerificationError";

/// The exception for a proof that doesn't hold.
pub(crate) fn unverified(why: &str) -> PyErr {
    raise(UNVERIFIED, why, None, None, None)
}

/// Whether an exception says that a proof doesn't hold.
pub(crate) fn is_unverified(py: Python<'_>, error: &PyErr) -> bool {
    error.get_type(py).name().is_ok_and(|name| name == UNVERIFIED)
}

/// The exception for a store of the parent process.
pub(crate) fn forked() -> PyErr {
    let message = "this store was opened by the parent process, before the fork";
    let hint = "open stores after the fork, in the process that uses them";
    raise("ForkedError", message, None, None, Some(hint))
}

fn raise(
    class: &str,
    message: &str,
    path: Option<&Path>,
    offset: Option<u64>,
    hint: Option<&str>,
) -> PyErr {
    let build = |py: Python<'_>| -> PyResult<PyErr> {
        if class == CLOSED && is_left_behind(py)? {
            return Ok(PySystemExit::new_err(()));
        }
        let errors = ERRORS
            .get_or_try_init(py, || Ok::<_, PyErr>(py.import("timestrata.errors")?.unbind()))?
            .bind(py);
        let class = match errors.getattr_opt(class)? {
            Some(class) => class,
            None => errors.getattr("TimestrataError")?,
        };
        let details = PyDict::new(py);
        details.set_item("path", path.map(|path| path.display().to_string()))?;
        details.set_item("offset", offset)?;
        details.set_item("hint", hint)?;
        Ok(PyErr::from_value(class.call((message,), Some(&details))?))
    };
    // An error while making an error (no memory, interpreter going down) takes its place.
    Python::attach(|py| build(py).unwrap_or_else(|failure| failure))
}

/// The name of a value's type, for messages.
pub(crate) fn type_name(value: &Bound<'_, PyAny>) -> String {
    match value.get_type().name() {
        Ok(name) => name.to_string(),
        Err(_) => "object".to_owned(),
    }
}
