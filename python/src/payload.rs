//! Bytes and text that callers give, without a copy where they can't change.

use pyo3::prelude::*;
use pyo3::pybacked::{PyBackedBytes, PyBackedStr};
use pyo3::types::{PyByteArray, PyBytes, PyMemoryView, PyString};

/// Bytes or text of a caller.
#[derive(Debug)]
pub(crate) enum Payload {
    Bytes(PyBackedBytes),
    Text(PyBackedStr),
}

impl Payload {
    /// What bytes, a str, a bytearray or a memoryview hold; `None` of other objects.
    pub(crate) fn of(value: &Bound<'_, PyAny>) -> PyResult<Option<Self>> {
        if let Ok(bytes) = value.cast::<PyBytes>() {
            return Ok(Some(Self::Bytes(bytes.clone().into())));
        }
        if let Ok(text) = value.cast::<PyString>() {
            return Ok(Some(Self::Text(text.clone().try_into()?)));
        }
        if let Ok(bytes) = value.cast::<PyByteArray>() {
            return Ok(Some(Self::Bytes(bytes.clone().into())));
        }
        value.cast::<PyMemoryView>().ok().map(Self::of_view).transpose()
    }

    /// A copy of what a view shows.
    pub(crate) fn of_view(view: &Bound<'_, PyMemoryView>) -> PyResult<Self> {
        let bytes = view.call_method0("tobytes")?;
        Ok(Self::Bytes(bytes.cast_into::<PyBytes>()?.into()))
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        match self {
            Self::Bytes(bytes) => bytes,
            Self::Text(text) => text.as_bytes(),
        }
    }

    pub(crate) fn is_text(&self) -> bool {
        matches!(self, Self::Text(_))
    }
}
