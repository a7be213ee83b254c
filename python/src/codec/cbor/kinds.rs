//! What `timestrata.kinds` knows of objects that CBOR has no word for: imported when the first one comes.

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyType;

static PLAIN_OF: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
static VALUE_OF: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
static IS_REGISTERED: PyOnceLock<Py<PyAny>> = PyOnceLock::new();

const MODULE: &str = "timestrata.kinds";

/// The tag and the content of an object; `None` if it has none.
pub(super) fn plain_of<'py>(
    value: &Bound<'py, PyAny>,
) -> PyResult<Option<(u64, Bound<'py, PyAny>)>> {
    PLAIN_OF.import(value.py(), MODULE, "plain_of")?.call1((value,))?.extract()
}

/// The object of a tag and its content.
///
/// # Errors
/// What making the object raises, for content that is none of it too.
pub(super) fn value_of<'py>(tag: u64, content: Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    VALUE_OF.import(content.py(), MODULE, "value_of")?.call1((tag, content))
}

/// Whether the program has registered a type that is plain data by its base.
pub(super) fn is_registered(class: &Bound<'_, PyType>) -> PyResult<bool> {
    IS_REGISTERED.import(class.py(), MODULE, "is_registered")?.call1((class,))?.extract()
}
