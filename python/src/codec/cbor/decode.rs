//! CBOR to Python objects. The bytes are input: nothing in them is believed.

use ciborium_ll::{Decoder, Header, simple, tag};
use pyo3::exceptions::{PyException, PyMemoryError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{
    PyBytes, PyDict, PyFloat, PyFrozenSet, PyInt, PyList, PySet, PyString, PyTuple, PyType,
};
use timestrata_engine::ErrorKind;

use super::{
    DEPTH_MAX, FROZENSET, TAG_DATETIME_EPOCH, TAG_DATETIME_TEXT, TAG_OBJECT, TAG_SELF_DESCRIBED,
    TAG_SET, TUPLE, kinds,
};
use crate::error::refused;

static DATETIME: PyOnceLock<Py<PyType>> = PyOnceLock::new();

/// The one item in `bytes`.
///
/// # Errors
/// `InvalidDataError` that names the byte if they are not exactly one well-formed item of the
/// kinds that have a Python object.
pub(crate) fn decode<'py>(py: Python<'py>, bytes: &[u8]) -> PyResult<Bound<'py, PyAny>> {
    let mut reader = Reader { py, bytes, position: 0, depth: 0 };
    let value = reader.value(false)?;
    if reader.position != bytes.len() {
        return Err(reader.bad("bytes follow the value"));
    }
    Ok(value)
}

struct Reader<'py, 'a> {
    py: Python<'py>,
    bytes: &'a [u8],
    position: usize,
    depth: usize,
}

type Object<'py> = Bound<'py, PyAny>;

impl<'py> Reader<'py, '_> {
    fn bad(&self, what: &str) -> PyErr {
        refused(
            ErrorKind::InvalidData,
            format!("stored value is not readable as cbor: {what}, at its byte {}", self.position),
        )
    }

    fn remaining(&self) -> usize {
        self.bytes.len().saturating_sub(self.position)
    }

    fn header(&mut self) -> PyResult<Header> {
        let mut decoder = Decoder::from(self.bytes.get(self.position..).unwrap_or_default());
        match decoder.pull() {
            Ok(header) => {
                self.position += decoder.offset();
                Ok(header)
            }
            Err(ciborium_ll::Error::Io(_)) => Err(self.bad("it ends too early")),
            Err(ciborium_ll::Error::Syntax(_)) => Err(self.bad("malformed item")),
        }
    }

    /// The next value; `as_key`: in a form that can be hashed.
    fn value(&mut self, as_key: bool) -> PyResult<Object<'py>> {
        let header = self.header()?;
        self.item(header, as_key)
    }

    fn item(&mut self, header: Header, as_key: bool) -> PyResult<Object<'py>> {
        let py = self.py;
        Ok(match header {
            Header::Positive(number) => PyInt::new(py, number).into_any(),
            Header::Negative(number) => match i64::try_from(number) {
                Ok(number) => PyInt::new(py, !number).into_any(),
                Err(_) => PyInt::new(py, !i128::from(number)).into_any(),
            },
            Header::Float(number) => PyFloat::new(py, number).into_any(),
            Header::Simple(simple::FALSE) => false.into_pyobject(py)?.to_owned().into_any(),
            Header::Simple(simple::TRUE) => true.into_pyobject(py)?.to_owned().into_any(),
            Header::Simple(simple::NULL | simple::UNDEFINED) => py.None().into_bound(py),
            Header::Simple(_) => return Err(self.bad("unknown simple value")),
            Header::Bytes(Some(length)) => PyBytes::new(py, self.take(length)?).into_any(),
            Header::Text(Some(length)) => self.text(length)?,
            Header::Bytes(None) => PyBytes::new(py, &self.segments(true)?).into_any(),
            Header::Text(None) => {
                let bytes = self.segments(false)?;
                PyString::new(py, self.utf8(&bytes)?).into_any()
            }
            Header::Array(length) => {
                let items = self.nested(|reader| reader.items(length, as_key))?;
                if as_key {
                    PyTuple::new(py, items)?.into_any()
                } else {
                    PyList::new(py, items)?.into_any()
                }
            }
            Header::Map(_) if as_key => return Err(self.bad("a map can't be the key of a map")),
            Header::Map(length) => self.nested(|reader| reader.dict(length))?,
            Header::Tag(tag) => self.nested(|reader| reader.tagged(tag, as_key))?,
            Header::Break => return Err(self.bad("an end without a beginning")),
        })
    }

    fn take(&mut self, length: usize) -> PyResult<&[u8]> {
        let end = self.position.checked_add(length).filter(|end| *end <= self.bytes.len());
        let Some(taken) = end.and_then(|end| self.bytes.get(self.position..end)) else {
            return Err(self.bad("it ends too early"));
        };
        self.position += length;
        Ok(taken)
    }

    fn utf8<'b>(&self, bytes: &'b [u8]) -> PyResult<&'b str> {
        std::str::from_utf8(bytes).map_err(|_| self.bad("text that is not UTF-8"))
    }

    fn text(&mut self, length: usize) -> PyResult<Object<'py>> {
        let py = self.py;
        let start = self.position;
        match std::str::from_utf8(self.take(length)?) {
            Ok(text) => Ok(PyString::new(py, text).into_any()),
            Err(_) => {
                self.position = start;
                Err(self.bad("text that is not UTF-8"))
            }
        }
    }

    /// Bytes or text in pieces of known length.
    fn segments(&mut self, is_bytes: bool) -> PyResult<Vec<u8>> {
        let mut whole = Vec::new();
        loop {
            match self.header()? {
                Header::Break => return Ok(whole),
                Header::Bytes(Some(length)) if is_bytes => {
                    whole.extend_from_slice(self.take(length)?);
                }
                Header::Text(Some(length)) if !is_bytes => {
                    whole.extend_from_slice(self.take(length)?);
                }
                _ => return Err(self.bad("a piece of another kind in a string of pieces")),
            }
        }
    }

    fn nested<T>(&mut self, read: impl FnOnce(&mut Self) -> PyResult<T>) -> PyResult<T> {
        if self.depth == DEPTH_MAX {
            return Err(self.bad("nested too deep"));
        }
        self.depth += 1;
        let outcome = read(self);
        self.depth -= 1;
        outcome
    }

    fn items(&mut self, length: Option<usize>, as_key: bool) -> PyResult<Vec<Object<'py>>> {
        // An item is a byte at least, so a longer list than there are bytes is a lie.
        if length.is_some_and(|length| length > self.remaining()) {
            return Err(self.bad("a list longer than the bytes that are there"));
        }
        let mut items = Vec::with_capacity(length.unwrap_or(0).min(1_024));
        while length.is_none_or(|length| items.len() < length) {
            match self.header()? {
                Header::Break if length.is_none() => break,
                header => items.push(self.item(header, as_key)?),
            }
        }
        Ok(items)
    }

    fn dict(&mut self, length: Option<usize>) -> PyResult<Object<'py>> {
        let dict = PyDict::new(self.py);
        let mut count = 0;
        while length.is_none_or(|length| count < length) {
            let key = match self.header()? {
                Header::Break if length.is_none() => break,
                header => self.item(header, true)?,
            };
            let value = self.value(false)?;
            dict.set_item(key, value).map_err(|_| self.bad("a key that can't be one"))?;
            count += 1;
            if dict.len() != count {
                return Err(self.bad("a key that is there twice"));
            }
        }
        Ok(dict.into_any())
    }

    fn tagged(&mut self, tag: u64, as_key: bool) -> PyResult<Object<'py>> {
        match tag {
            TAG_DATETIME_TEXT | TAG_DATETIME_EPOCH => self.datetime(tag),
            tag::BIGPOS | tag::BIGNEG => {
                let bytes = self.value(true)?;
                let Ok(bytes) = bytes.cast::<PyBytes>() else {
                    return Err(self.bad("a large integer that is not bytes"));
                };
                let int = self.py.get_type::<PyInt>();
                let number = int.call_method1("from_bytes", (bytes, "big"))?;
                if tag == tag::BIGNEG { number.call_method0("__invert__") } else { Ok(number) }
            }
            TAG_SET => {
                let Header::Array(length) = self.header()? else {
                    return Err(self.bad("a set that is not a list"));
                };
                let items = self.nested(|reader| reader.items(length, true))?;
                let set = if as_key {
                    PyFrozenSet::new(self.py, items).map(Bound::into_any)
                } else {
                    PySet::new(self.py, items).map(Bound::into_any)
                };
                set.map_err(|_| self.bad("a set of what can't be in one"))
            }
            TAG_SELF_DESCRIBED => self.value(as_key),
            TAG_OBJECT => self.object(as_key),
            other => {
                let content = self.value(as_key)?;
                self.made(other, content)
            }
        }
    }

    /// An object of a name.
    fn object(&mut self, as_key: bool) -> PyResult<Object<'py>> {
        let Header::Array(length) = self.header()? else {
            return Err(self.bad("an object that is not a list"));
        };
        let mut content = self.nested(|reader| reader.items(length, as_key))?;
        let [name, only] = content.as_slice() else {
            return self.made(TAG_OBJECT, PyTuple::new(self.py, content)?.into_any());
        };
        // Most that are stored are these.
        let is = |wanted| name.cast::<PyString>().is_ok_and(|name| name == wanted);
        if is(TUPLE) && (only.is_instance_of::<PyList>() || only.is_instance_of::<PyTuple>()) {
            return Ok(
                PyTuple::new(self.py, only.try_iter()?.collect::<PyResult<Vec<_>>>()?)?.into_any()
            );
        }
        if is(FROZENSET) && only.is_instance_of::<PySet>() {
            let items = only.try_iter()?.collect::<PyResult<Vec<_>>>()?;
            return Ok(PyFrozenSet::new(self.py, items)?.into_any());
        }
        let content = PyTuple::new(self.py, content.drain(..))?;
        self.made(TAG_OBJECT, content.into_any())
    }

    /// What Python code makes of a tag and its content.
    fn made(&self, tag: u64, content: Object<'py>) -> PyResult<Object<'py>> {
        kinds::value_of(tag, content).map_err(|error| {
            let is_of_content = error.is_instance_of::<PyException>(self.py)
                && !error.is_instance_of::<PyMemoryError>(self.py);
            if !is_of_content {
                return error;
            }
            let refusal = self.bad(&error.value(self.py).to_string());
            refusal.set_cause(self.py, Some(error));
            refusal
        })
    }

    fn datetime(&mut self, tag: u64) -> PyResult<Object<'py>> {
        let content = self.value(true)?;
        let class = DATETIME.import(self.py, "datetime", "datetime")?;
        let read = if tag == TAG_DATETIME_TEXT {
            class.call_method1("fromisoformat", (&content,))
        } else {
            let utc = self.py.import("datetime")?.getattr("timezone")?.getattr("utc")?;
            class.call_method1("fromtimestamp", (&content, utc))
        };
        let read = read.map_err(|_| self.bad("a date and time that Python can't hold"))?;
        if read.getattr("tzinfo")?.is_none() {
            return Err(self.bad("a date and time without an offset from UTC"));
        }
        Ok(read)
    }
}
