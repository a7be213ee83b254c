//! Codecs that Python's own library has.

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBytes, PyDict};
use timestrata_engine::ErrorKind;
use timestrata_timelog::VALUE_BYTES_MAX;

use crate::error::refused;

static DUMPS: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
static LOADS: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
static PICKLE: PyOnceLock<Py<PyModule>> = PyOnceLock::new();

/// Adds an object as JSON text, without what JSON has no word for (NaN, infinities).
pub(super) fn json(value: &Bound<'_, PyAny>, out: &mut Vec<u8>) -> PyResult<()> {
    let py = value.py();
    // Made once: an encoder with these settings is not among those that `json` keeps.
    let dumps = DUMPS.get_or_try_init(py, || {
        let settings = PyDict::new(py);
        settings.set_item("ensure_ascii", false)?;
        settings.set_item("allow_nan", false)?;
        settings.set_item("separators", (",", ":"))?;
        let encoder = py.import("json")?.call_method("JSONEncoder", (), Some(&settings))?;
        Ok::<_, PyErr>(encoder.getattr("encode")?.unbind())
    })?;
    let text: String = dumps.bind(py).call1((value,))?.extract()?;
    put(text.as_bytes(), out)
}

/// The object of a JSON text.
pub(super) fn from_json<'py>(py: Python<'py>, bytes: &[u8]) -> PyResult<Bound<'py, PyAny>> {
    let loads = LOADS.import(py, "json", "loads")?;
    loads.call1((PyBytes::new(py, bytes),)).map_err(|error| {
        refused(ErrorKind::InvalidData, format!("a value is not JSON: {}", error.value(py)))
    })
}

/// Adds an object as pickle makes it.
pub(super) fn pickle(value: &Bound<'_, PyAny>, out: &mut Vec<u8>) -> PyResult<()> {
    let bytes = module(value.py())?.call_method1("dumps", (value, 5))?;
    put(bytes.cast::<PyBytes>()?.as_bytes(), out)
}

/// The object of a pickle. Runs what is in it: only for logs whose codec the caller has named.
pub(super) fn from_pickle<'py>(py: Python<'py>, bytes: &[u8]) -> PyResult<Bound<'py, PyAny>> {
    module(py)?.call_method1("loads", (PyBytes::new(py, bytes),))
}

fn module(py: Python<'_>) -> PyResult<&Bound<'_, PyModule>> {
    let module = PICKLE.get_or_try_init(py, || Ok::<_, PyErr>(py.import("pickle")?.unbind()))?;
    Ok(module.bind(py))
}

fn put(bytes: &[u8], out: &mut Vec<u8>) -> PyResult<()> {
    if bytes.len() > VALUE_BYTES_MAX {
        return Err(refused(
            ErrorKind::TooLarge,
            format!("the encoded value is larger than {VALUE_BYTES_MAX} bytes"),
        ));
    }
    out.extend_from_slice(bytes);
    Ok(())
}
