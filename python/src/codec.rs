//! Codecs: a Python object as the bytes that a timelog stores, and back. Which codec a timelog
//! has was chosen when it was created, and is kept with it.

pub(crate) mod cbor;
mod python;

use std::sync::Arc;

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyBytes, PyMemoryView, PyString};
use timestrata_engine::ErrorKind;
use timestrata_timelog::{Codec, EntryBlock, Timelog};
use timestrata_values::cbor::write_json;

use crate::error::{invalid, refused, type_name};
use crate::typed::Typed;

/// How the values in the blocks of a log become objects.
#[derive(Debug, Clone)]
pub(crate) enum Decoder {
    /// Each from its bytes.
    Bytes(Codec),
    /// Each from its columns.
    Typed(Arc<Typed>),
}

impl Decoder {
    pub(crate) fn of(py: Python<'_>, log: &Timelog) -> PyResult<Self> {
        Ok(match log.columns() {
            Some(columns) => Self::Typed(Arc::new(Typed::new(py, columns)?)),
            None => Self::Bytes(log.codec()),
        })
    }

    /// What converts to and from columns, if the log has them.
    pub(crate) fn typed(&self) -> Option<&Arc<Typed>> {
        match self {
            Self::Typed(typed) => Some(typed),
            Self::Bytes(_) => None,
        }
    }

    /// The object in a row of a block; `None` behind the end.
    ///
    /// # Errors
    /// `InvalidDataError` if the bytes are not what the codec writes; `OverflowError` for a time
    /// in a column that Python's types can't hold.
    #[inline]
    pub(crate) fn object<'py>(
        &self,
        py: Python<'py>,
        block: &EntryBlock,
        row: usize,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        match self {
            Self::Bytes(codec) => {
                block.value(row).map(|bytes| decode(*codec, py, bytes)).transpose()
            }
            Self::Typed(_) if row >= block.len() => Ok(None),
            Self::Typed(typed) => typed.object(py, block.columns(), row).map(Some),
        }
    }
}

/// Adds an object's bytes to `out`. After an error `out` may hold a part of them.
///
/// # Errors
/// `TypeError` for what the codec doesn't take; see the codecs.
pub(crate) fn encode(codec: Codec, value: &Bound<'_, PyAny>, out: &mut Vec<u8>) -> PyResult<()> {
    match codec {
        Codec::Cbor => cbor::encode(value, out),
        Codec::Json => python::json(value, out),
        Codec::Arrow => Err(has_columns()),
        Codec::Pickle => python::pickle(value, out),
        Codec::Bytes => {
            if let Ok(bytes) = value.cast::<PyBytes>() {
                out.extend_from_slice(bytes.as_bytes());
                return Ok(());
            }
            let Ok(view) = PyMemoryView::from(value) else {
                return Err(not_bytes(value));
            };
            let bytes = view.call_method0("tobytes")?;
            out.extend_from_slice(bytes.cast::<PyBytes>()?.as_bytes());
            Ok(())
        }
    }
}

/// The object of stored bytes.
///
/// # Errors
/// `InvalidDataError` if they are not what the codec writes.
pub(crate) fn decode<'py>(
    codec: Codec,
    py: Python<'py>,
    bytes: &[u8],
) -> PyResult<Bound<'py, PyAny>> {
    match codec {
        Codec::Bytes => Ok(PyBytes::new(py, bytes).into_any()),
        Codec::Cbor => cbor::decode(py, bytes),
        Codec::Json => python::from_json(py, bytes),
        Codec::Arrow => Err(has_columns()),
        Codec::Pickle => python::from_pickle(py, bytes),
    }
}

/// Values in columns are no bytes: a mistake of this crate's own, told instead of a panic.
fn has_columns() -> PyErr {
    invalid("a log with codec 'arrow' has columns, not encoded values")
}

fn not_bytes(value: &Bound<'_, PyAny>) -> PyErr {
    let advice = if value.is_instance_of::<PyString>() {
        "encode it first"
    } else {
        "make the timelog with codec='cbor' for plain data"
    };
    PyTypeError::new_err(format!(
        "a timelog with codec 'bytes' takes bytes-like objects, not '{}': {advice}",
        type_name(value)
    ))
}

/// The bytes of an object in the cbor codec.
///
/// Examples
/// --------
/// >>> import timestrata
/// >>> timestrata.cbor_encode([1, None]).hex()
/// '8201f6'
#[pyfunction]
#[pyo3(signature = (value, /))]
pub(crate) fn cbor_encode<'py>(value: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyBytes>> {
    let mut out = Vec::new();
    cbor::encode(value, &mut out)?;
    Ok(PyBytes::new(value.py(), &out))
}

/// The JSON text of bytes in the cbor codec, as SQL has it.
#[pyfunction]
#[pyo3(name = "_cbor_to_json", signature = (data, /))]
pub(crate) fn cbor_to_json(data: &Bound<'_, PyBytes>) -> PyResult<String> {
    let mut out = String::new();
    write_json(data.as_bytes(), &mut out).map_err(|error| {
        refused(ErrorKind::InvalidData, format!("the bytes are no CBOR item: {error}"))
    })?;
    Ok(out)
}

/// The object of bytes in the cbor codec.
///
/// Examples
/// --------
/// >>> import timestrata
/// >>> timestrata.cbor_decode(bytes.fromhex("8201f6"))
/// [1, None]
#[pyfunction]
#[pyo3(signature = (data, /))]
pub(crate) fn cbor_decode<'py>(data: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    if let Ok(bytes) = data.cast::<PyBytes>() {
        return cbor::decode(data.py(), bytes.as_bytes());
    }
    let copy = PyByteArray::from(data)?.to_vec();
    cbor::decode(data.py(), &copy)
}
