//! Python objects to CBOR.

use ciborium_ll::{Encoder, Header};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{
    PyBool, PyByteArray, PyBytes, PyDateTime, PyDict, PyFloat, PyFrozenSet, PyInt, PyList,
    PyMemoryView, PySet, PyString, PyTuple,
};
use timestrata_engine::ErrorKind;
use timestrata_models::timelog::VALUE_BYTES_MAX;

use super::{
    DEPTH_MAX, SIMPLE_FALSE, SIMPLE_NULL, SIMPLE_TRUE, TAG_BIGNUM_NEGATIVE, TAG_BIGNUM_POSITIVE,
    TAG_DATETIME_TEXT, TAG_SET,
};
use crate::error::refused;
use crate::timestamp::type_name;

/// Adds `value` to `out` as one CBOR item. After an error `out` holds a part of it.
///
/// # Errors
/// `TypeError` that names a type that is not plain data and where in the object it is;
/// `InvalidDataError` for what nests too deep or contains itself; `TooLargeError`.
pub(crate) fn encode(value: &Bound<'_, PyAny>, out: &mut Vec<u8>) -> PyResult<()> {
    let bytes_max = out.len().saturating_add(VALUE_BYTES_MAX);
    let mut writer = Writer { out, bytes_max, depth: 0 };
    writer.value(value).map_err(|failure| failure.into_error())
}

/// Why a value was refused, with the way to it, innermost step first. Built only on failure.
struct Failure {
    steps: Vec<String>,
    reason: Reason,
}

enum Reason {
    Type(String),
    Refused(ErrorKind, String),
    Python(PyErr),
}

impl Failure {
    fn inside(mut self: Box<Self>, step: impl FnOnce() -> String) -> Box<Self> {
        // A cycle would name every level; the outer ones are the ones to look at.
        if self.steps.len() >= 8 {
            self.steps.remove(0);
        }
        self.steps.push(step());
        self
    }

    fn into_error(self) -> PyErr {
        let path: String = self.steps.iter().rev().map(String::as_str).collect();
        match self.reason {
            Reason::Type(message) => PyTypeError::new_err(format!("value{path}: {message}")),
            Reason::Refused(kind, message) => refused(kind, format!("value{path}: {message}")),
            Reason::Python(error) => error,
        }
    }
}

impl From<PyErr> for Box<Failure> {
    fn from(error: PyErr) -> Self {
        Box::new(Failure { steps: Vec::new(), reason: Reason::Python(error) })
    }
}

fn type_failure(message: String) -> Box<Failure> {
    Box::new(Failure { steps: Vec::new(), reason: Reason::Type(message) })
}

fn refusal(kind: ErrorKind, message: String) -> Box<Failure> {
    Box::new(Failure { steps: Vec::new(), reason: Reason::Refused(kind, message) })
}

type Outcome = Result<(), Box<Failure>>;

struct Writer<'a> {
    out: &'a mut Vec<u8>,
    bytes_max: usize,
    depth: usize,
}

impl Writer<'_> {
    fn header(&mut self, header: Header) -> Outcome {
        // Writing to memory can't fail.
        Encoder::from(&mut *self.out).push(header).map_err(|error| PyErr::from(error).into())
    }

    fn raw(&mut self, bytes: &[u8]) -> Outcome {
        if bytes.len() > self.bytes_max.saturating_sub(self.out.len()) {
            return Err(refusal(
                ErrorKind::TooLarge,
                format!("the encoded value is larger than {VALUE_BYTES_MAX} bytes"),
            ));
        }
        self.out.extend_from_slice(bytes);
        Ok(())
    }

    fn value(&mut self, value: &Bound<'_, PyAny>) -> Outcome {
        // Exact types first, in order of likelihood; subclasses and the rest after them.
        if let Ok(text) = value.cast_exact::<PyString>() {
            self.text(text)
        } else if value.is_exact_instance_of::<PyInt>() {
            self.integer(value)
        } else if let Ok(number) = value.cast_exact::<PyFloat>() {
            self.header(Header::Float(number.value()))
        } else if let Ok(dict) = value.cast_exact::<PyDict>() {
            self.nested(|writer| writer.dict(dict))
        } else if let Ok(list) = value.cast_exact::<PyList>() {
            self.nested(|writer| writer.items(list.len(), list.iter()))
        } else if value.is_none() {
            self.header(Header::Simple(SIMPLE_NULL))
        } else if let Ok(flag) = value.cast::<PyBool>() {
            let simple = if flag.is_true() { SIMPLE_TRUE } else { SIMPLE_FALSE };
            self.header(Header::Simple(simple))
        } else if let Ok(bytes) = value.cast::<PyBytes>() {
            self.bytes(bytes.as_bytes())
        } else {
            self.less_common(value)
        }
    }

    fn less_common(&mut self, value: &Bound<'_, PyAny>) -> Outcome {
        if let Ok(tuple) = value.cast::<PyTuple>() {
            self.nested(|writer| writer.items(tuple.len(), tuple.iter()))
        } else if value.is_instance_of::<PyDateTime>() {
            self.datetime(value)
        } else if let Ok(dict) = value.cast::<PyDict>() {
            self.nested(|writer| writer.dict(dict))
        } else if let Ok(list) = value.cast::<PyList>() {
            self.nested(|writer| writer.items(list.len(), list.iter()))
        } else if let Ok(text) = value.cast::<PyString>() {
            self.text(text)
        } else if value.is_instance_of::<PyInt>() {
            self.integer(value)
        } else if let Ok(number) = value.cast::<PyFloat>() {
            self.header(Header::Float(number.value()))
        } else if let Ok(set) = value.cast::<PySet>() {
            self.header(Header::Tag(TAG_SET))?;
            self.nested(|writer| writer.items(set.len(), set.iter()))
        } else if let Ok(set) = value.cast::<PyFrozenSet>() {
            self.header(Header::Tag(TAG_SET))?;
            self.nested(|writer| writer.items(set.len(), set.iter()))
        } else if value.is_instance_of::<PyByteArray>() || value.is_instance_of::<PyMemoryView>() {
            let bytes = PyMemoryView::from(value)?.call_method0("tobytes")?;
            self.bytes(bytes.cast::<PyBytes>().map_err(PyErr::from)?.as_bytes())
        } else {
            self.foreign(value)
        }
    }

    /// Numpy's scalars are plain data in another coat; all else is refused.
    fn foreign(&mut self, value: &Bound<'_, PyAny>) -> Outcome {
        let module = value.get_type().module()?;
        if module.to_string_lossy() == "numpy"
            && value.hasattr("item")?
            && !value.hasattr("__len__")?
        {
            let plain = value.call_method0("item")?;
            if !plain.get_type().is(value.get_type()) {
                return self.value(&plain);
            }
        }
        Err(type_failure(format!(
            "can't store a '{}' with the cbor codec, which takes None, bool, int, float, str, \
             bytes, list, tuple, dict, set and aware datetime: convert it first",
            type_name(value)
        )))
    }

    fn text(&mut self, text: &Bound<'_, PyString>) -> Outcome {
        let text = text.to_str()?;
        self.header(Header::Text(Some(text.len())))?;
        self.raw(text.as_bytes())
    }

    fn bytes(&mut self, bytes: &[u8]) -> Outcome {
        self.header(Header::Bytes(Some(bytes.len())))?;
        self.raw(bytes)
    }

    fn integer(&mut self, value: &Bound<'_, PyAny>) -> Outcome {
        if let Ok(number) = value.extract::<i64>() {
            return self.header(match u64::try_from(number) {
                Ok(number) => Header::Positive(number),
                // All bits inverted is -1 - n, and of a negative number not negative.
                Err(_) => Header::Negative((!number).cast_unsigned()),
            });
        }
        if let Ok(number) = value.extract::<i128>() {
            if let Ok(number) = u64::try_from(number) {
                return self.header(Header::Positive(number));
            }
            if let Ok(number) = u64::try_from(!number) {
                return self.header(Header::Negative(number));
            }
        }
        let negative = value.lt(0)?;
        let magnitude = if negative { value.call_method0("__invert__")? } else { value.clone() };
        let bits: usize = magnitude.call_method0("bit_length")?.extract()?;
        let bytes = magnitude.call_method1("to_bytes", (bits.div_ceil(8), "big"))?;
        self.header(Header::Tag(if negative { TAG_BIGNUM_NEGATIVE } else { TAG_BIGNUM_POSITIVE }))?;
        self.bytes(bytes.cast::<PyBytes>().map_err(PyErr::from)?.as_bytes())
    }

    fn datetime(&mut self, value: &Bound<'_, PyAny>) -> Outcome {
        let offset = value.call_method0("utcoffset")?;
        if offset.is_none() {
            return Err(type_failure(format!(
                "the datetime {value} has no time zone, so it names no instant: make it aware, \
                 for instance with .replace(tzinfo=datetime.timezone.utc)"
            )));
        }
        // RFC 3339 has no seconds in an offset; such old local times go in as UTC.
        let seconds: f64 = offset.call_method0("total_seconds")?.extract()?;
        let text = if seconds % 60.0 == 0.0 {
            value.call_method0("isoformat")?
        } else {
            let utc = value.py().import("datetime")?.getattr("timezone")?.getattr("utc")?;
            value.call_method1("astimezone", (utc,))?.call_method0("isoformat")?
        };
        self.header(Header::Tag(TAG_DATETIME_TEXT))?;
        self.text(text.cast::<PyString>().map_err(PyErr::from)?)
    }

    fn nested(&mut self, fill: impl FnOnce(&mut Self) -> Outcome) -> Outcome {
        if self.depth == DEPTH_MAX {
            return Err(refusal(
                ErrorKind::InvalidData,
                format!("nested deeper than {DEPTH_MAX} levels, or contains itself"),
            ));
        }
        self.depth += 1;
        let outcome = fill(self);
        self.depth -= 1;
        outcome
    }

    fn items<'py>(
        &mut self,
        count: usize,
        items: impl Iterator<Item = Bound<'py, PyAny>>,
    ) -> Outcome {
        self.header(Header::Array(Some(count)))?;
        let mut written = 0;
        for item in items {
            self.value(&item).map_err(|failure| failure.inside(|| format!("[{written}]")))?;
            written += 1;
        }
        unchanged(count, written)
    }

    fn dict(&mut self, dict: &Bound<'_, PyDict>) -> Outcome {
        let count = dict.len();
        self.header(Header::Map(Some(count)))?;
        let mut written = 0;
        for (key, value) in dict.iter() {
            self.value(&key).map_err(|failure| failure.inside(|| format!(" key {key}")))?;
            self.value(&value).map_err(|failure| {
                failure.inside(|| match key.repr() {
                    Ok(shown) => format!("[{shown}]"),
                    Err(_) => "[?]".to_owned(),
                })
            })?;
            written += 1;
        }
        unchanged(count, written)
    }
}

/// Refuses a container that another thread changed meanwhile: its length is already written.
fn unchanged(count: usize, written: usize) -> Outcome {
    if count == written {
        return Ok(());
    }
    Err(refusal(
        ErrorKind::InvalidData,
        format!("changed while it was stored (had {count} items, then {written})"),
    ))
}
