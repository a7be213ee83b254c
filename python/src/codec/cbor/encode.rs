//! Python objects to CBOR.

use std::fmt::Display;
use std::{mem, ptr, slice};

use ciborium_ll::{Encoder, Header, simple, tag};
use pyo3::PyTypeInfo;
use pyo3::exceptions::PyTypeError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{
    PyBool, PyByteArray, PyBytes, PyDateTime, PyDict, PyFloat, PyFrozenSet, PyInt, PyList,
    PyMemoryView, PySet, PyString, PyTuple,
};
use timestrata_engine::ErrorKind;
use timestrata_timelog::VALUE_BYTES_MAX;

use super::{DEPTH_MAX, FROZENSET, TAG_DATETIME_TEXT, TAG_OBJECT, TAG_SET, TUPLE, kinds};
use crate::error::{refused, type_name};

/// An item's major type: the upper three bits of its first byte.
#[derive(Debug, Clone, Copy)]
#[repr(u8)]
enum Major {
    Positive = 0 << 5,
    Negative = 1 << 5,
    Bytes = 2 << 5,
    Text = 3 << 5,
    Array = 4 << 5,
    Map = 5 << 5,
    Tag = 6 << 5,
    Other = 7 << 5,
}

/// In the lower five bits: how many bytes the number takes that follows.
const NEXT_1: u8 = 24;
const NEXT_2: u8 = 25;
const NEXT_4: u8 = 26;
const NEXT_8: u8 = 27;

/// Of a major type and its number.
const HEAD_BYTES_MAX: usize = 9;

/// Adds `value` to `out` as one CBOR item. After an error `out` holds a part of it.
///
/// # Errors
/// `TypeError` that names a type that is not plain data and where in the object it is;
/// `InvalidDataError` for what nests too deep or contains itself; `TooLargeError`.
pub(crate) fn encode(value: &Bound<'_, PyAny>, out: &mut Vec<u8>) -> PyResult<()> {
    encode_as(&"value", Keys::Any, value, out)
}

/// [`encode`] of what errors call `name`, with such keys.
pub(crate) fn encode_as(
    name: &dyn Display,
    keys: Keys,
    value: &Bound<'_, PyAny>,
    out: &mut Vec<u8>,
) -> PyResult<()> {
    let bytes_max = out.len().saturating_add(VALUE_BYTES_MAX);
    let mut writer =
        CborWriter { out: mem::take(out), bytes_max, depth: 0, keys, is_in_key: false };
    let outcome = writer.value(value);
    *out = writer.out;
    outcome.map_err(|failure| failure.into_error(name))
}

/// What the keys of dicts may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Keys {
    /// Whatever a value may be, and Python takes as a key.
    Any,
    /// Text, as JSON has them.
    Text,
}

/// Why a value was refused, with the way to it, innermost step first. Built only on failure.
struct EncodeFailure {
    steps: Vec<String>,
    reason: Reason,
}

enum Reason {
    Type(String),
    Refused(ErrorKind, String),
    Python(PyErr),
}

impl EncodeFailure {
    fn inside(mut self: Box<Self>, step: impl FnOnce() -> String) -> Box<Self> {
        // A cycle would name every level; the outer ones are the ones to look at.
        if self.steps.len() >= 8 {
            self.steps.remove(0);
        }
        self.steps.push(step());
        self
    }

    fn into_error(self, name: &dyn Display) -> PyErr {
        let path: String = self.steps.iter().rev().map(String::as_str).collect();
        match self.reason {
            Reason::Type(message) => PyTypeError::new_err(format!("{name}{path}: {message}")),
            Reason::Refused(kind, message) => refused(kind, format!("{name}{path}: {message}")),
            Reason::Python(error) => error,
        }
    }
}

impl From<PyErr> for Box<EncodeFailure> {
    fn from(error: PyErr) -> Self {
        Box::new(EncodeFailure { steps: Vec::new(), reason: Reason::Python(error) })
    }
}

fn type_failure(message: String) -> Box<EncodeFailure> {
    Box::new(EncodeFailure { steps: Vec::new(), reason: Reason::Type(message) })
}

fn refusal(kind: ErrorKind, message: String) -> Box<EncodeFailure> {
    Box::new(EncodeFailure { steps: Vec::new(), reason: Reason::Refused(kind, message) })
}

#[cold]
fn too_large() -> Box<EncodeFailure> {
    refusal(
        ErrorKind::TooLarge,
        format!("the encoded value is larger than {VALUE_BYTES_MAX} bytes"),
    )
}

type Outcome = Result<(), Box<EncodeFailure>>;

struct CborWriter {
    out: Vec<u8>,
    bytes_max: usize,
    depth: usize,
    keys: Keys,
    /// Within the key of a dict or an item of a set: there lists are read as tuples, and sets as frozen ones.
    is_in_key: bool,
}

impl CborWriter {
    /// An item's major type and number, in the shortest form, and `bytes` behind them: what most
    /// of encoding a small object is.
    #[inline(always)]
    fn put(&mut self, major: Major, number: u64, bytes: &[u8]) {
        let (minor, width) = match number {
            0..=23 => (number as u8, 0),
            24..=0xFF => (NEXT_1, 1),
            0x100..=0xFFFF => (NEXT_2, 2),
            0x1_0000..=0xFFFF_FFFF => (NEXT_4, 4),
            _ => (NEXT_8, 8),
        };
        // Its last `width` bytes come first.
        let number = number.wrapping_shl(64 - 8 * width as u32).to_be_bytes();
        self.out.reserve(HEAD_BYTES_MAX + bytes.len());
        let end = self.out.len();
        // SAFETY: there is room for a head of any width and for `bytes`, which are not part of
        // `out`; every byte below the new length is written. The number is written whole: what
        // is too much of it lies below `bytes` or behind the new length.
        unsafe {
            let place = self.out.as_mut_ptr().add(end);
            place.write(major as u8 | minor);
            place.add(1).cast::<[u8; 8]>().write(number);
            ptr::copy_nonoverlapping(bytes.as_ptr(), place.add(1 + width), bytes.len());
            self.out.set_len(end + 1 + width + bytes.len());
        }
    }

    #[inline]
    fn head(&mut self, major: Major, number: u64) {
        self.put(major, number, &[]);
    }

    fn simple(&mut self, simple: u8) {
        self.head(Major::Other, u64::from(simple));
    }

    /// In the shortest of three widths that loses nothing.
    #[inline]
    fn float(&mut self, number: f64) -> Outcome {
        // What no 32-bit number is, no 16-bit one is either.
        if f64::from(number as f32).to_bits() != number.to_bits() {
            let [a, b, c, d, e, f, g, h] = number.to_be_bytes();
            self.out.extend_from_slice(&[Major::Other as u8 | NEXT_8, a, b, c, d, e, f, g, h]);
            return Ok(());
        }
        // Writing to memory can't fail.
        let header = Header::Float(number);
        Encoder::from(&mut self.out).push(header).map_err(|error| PyErr::from(error).into())
    }

    fn value(&mut self, value: &Bound<'_, PyAny>) -> Outcome {
        if self.scalar(value)? {
            Ok(())
        } else if let Some(dict) = exactly::<PyDict>(value) {
            self.nested(|writer| writer.dict(dict))
        } else if let Some(list) = exactly::<PyList>(value) {
            self.nested(|writer| writer.items(list.len(), list.iter()))
        } else {
            self.less_common(value)
        }
    }

    /// Writes what holds no other object; false, and nothing written, for all else, and for what
    /// is rare. Exact types, in order of likelihood; subclasses are left for later.
    ///
    /// Runs no Python code where it succeeds, so that a borrowed `value` is still there.
    #[inline(always)]
    fn scalar(&mut self, value: &Bound<'_, PyAny>) -> Result<bool, Box<EncodeFailure>> {
        if let Some(text) = exactly::<PyString>(value) {
            self.string(Major::Text, utf8(text)?)?;
        } else if value.is_exact_instance_of::<PyInt>() {
            let mut overflow = 0;
            // SAFETY: an int, and this thread is attached to the interpreter. Sets no exception
            // for a large one.
            let number =
                unsafe { ffi::PyLong_AsLongLongAndOverflow(value.as_ptr(), &raw mut overflow) };
            if overflow != 0 {
                return Ok(false);
            }
            self.number(number);
        } else if let Some(number) = exactly::<PyFloat>(value) {
            self.float(number.value())?;
        } else if value.is_none() {
            self.simple(simple::NULL);
        } else if let Some(flag) = exactly::<PyBool>(value) {
            self.simple(if flag.is_true() { simple::TRUE } else { simple::FALSE });
        } else if let Some(bytes) = exactly::<PyBytes>(value) {
            self.string(Major::Bytes, bytes.as_bytes())?;
        } else {
            return Ok(false);
        }
        Ok(true)
    }

    #[inline]
    fn number(&mut self, number: i64) {
        match u64::try_from(number) {
            Ok(number) => self.head(Major::Positive, number),
            // All bits inverted is -1 - n, and of a negative number not negative.
            Err(_) => self.head(Major::Negative, (!number).cast_unsigned()),
        }
    }

    fn less_common(&mut self, value: &Bound<'_, PyAny>) -> Outcome {
        if self.keys == Keys::Any && self.kin(value)? {
            return Ok(());
        }
        if let Ok(tuple) = value.cast::<PyTuple>() {
            self.tuple(tuple)
        } else if value.is_instance_of::<PyDateTime>() {
            self.nested(|writer| writer.datetime(value))
        } else if let Ok(dict) = value.cast::<PyDict>() {
            self.nested(|writer| writer.dict(dict))
        } else if let Ok(list) = value.cast::<PyList>() {
            self.nested(|writer| writer.items(list.len(), list.iter()))
        } else if let Ok(text) = value.cast::<PyString>() {
            self.string(Major::Text, utf8(text)?)
        } else if let Ok(bytes) = value.cast::<PyBytes>() {
            self.string(Major::Bytes, bytes.as_bytes())
        } else if value.is_instance_of::<PyInt>() {
            self.nested(|writer| writer.integer(value))
        } else if let Ok(number) = value.cast::<PyFloat>() {
            self.float(number.value())
        } else if let Ok(set) = value.cast::<PySet>() {
            self.set(set.len(), set.iter())
        } else if let Ok(set) = value.cast::<PyFrozenSet>() {
            if self.keys == Keys::Text || self.is_in_key {
                return self.set(set.len(), set.iter());
            }
            self.object(FROZENSET, |writer| writer.set(set.len(), set.iter()))
        } else if value.is_instance_of::<PyByteArray>() || value.is_instance_of::<PyMemoryView>() {
            let bytes = PyMemoryView::from(value)?.call_method0("tobytes")?;
            let bytes = bytes.cast::<PyBytes>().map_err(PyErr::from)?;
            self.string(Major::Bytes, bytes.as_bytes())
        } else {
            self.foreign(value)
        }
    }

    /// Writes an object of a type that the program has registered, though its base is plain data.
    fn kin(&mut self, value: &Bound<'_, PyAny>) -> Result<bool, Box<EncodeFailure>> {
        let class = value.get_type();
        let is_plain = class.is(value.py().get_type::<PyTuple>())
            || class.is(value.py().get_type::<PyInt>())
            || class.is(value.py().get_type::<PySet>())
            || class.is(value.py().get_type::<PyFrozenSet>());
        if is_plain || !kinds::is_registered(&class)? {
            return Ok(false);
        }
        self.other(value)
    }

    /// Writes what Python code knows a tag for; false, and nothing written, for all else.
    fn other(&mut self, value: &Bound<'_, PyAny>) -> Result<bool, Box<EncodeFailure>> {
        let Some((tag, content)) = kinds::plain_of(value)? else { return Ok(false) };
        self.head(Major::Tag, tag);
        // What a registered function gives may hold its own object, and so on.
        self.nested(|writer| writer.value(&content)).map(|()| true)
    }

    /// An object of a name.
    fn object(&mut self, name: &str, fill: impl FnOnce(&mut Self) -> Outcome) -> Outcome {
        self.head(Major::Tag, TAG_OBJECT);
        self.head(Major::Array, 2);
        self.put(Major::Text, name.len() as u64, name.as_bytes());
        self.nested_by(2, fill)
    }

    fn tuple(&mut self, tuple: &Bound<'_, PyTuple>) -> Outcome {
        let fill =
            |writer: &mut Self| writer.nested(|writer| writer.items(tuple.len(), tuple.iter()));
        match self.keys == Keys::Text || self.is_in_key {
            true => fill(self),
            false => self.object(TUPLE, fill),
        }
    }

    fn set<'py>(
        &mut self,
        count: usize,
        items: impl Iterator<Item = Bound<'py, PyAny>>,
    ) -> Outcome {
        self.head(Major::Tag, TAG_SET);
        self.nested_by(2, |writer| writer.as_key(|writer| writer.items(count, items)))
    }

    fn as_key(&mut self, write: impl FnOnce(&mut Self) -> Outcome) -> Outcome {
        let before = mem::replace(&mut self.is_in_key, true);
        let outcome = write(self);
        self.is_in_key = before;
        outcome
    }

    /// What Python code knows a tag for, and numpy's scalars, which are plain data in another coat; all
    /// else is refused.
    fn foreign(&mut self, value: &Bound<'_, PyAny>) -> Outcome {
        if self.keys == Keys::Any && self.other(value)? {
            return Ok(());
        }
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
            "can't store a '{}' with the cbor codec: convert it first, or tell timestrata.register_type() \
             what it is made of",
            type_name(value)
        )))
    }

    #[inline(always)]
    fn string(&mut self, major: Major, bytes: &[u8]) -> Outcome {
        if bytes.len() > self.bytes_max.saturating_sub(self.out.len()) {
            return Err(too_large());
        }
        self.put(major, bytes.len() as u64, bytes);
        Ok(())
    }

    /// An integer of any length.
    fn integer(&mut self, value: &Bound<'_, PyAny>) -> Outcome {
        if let Ok(number) = value.extract::<i64>() {
            self.number(number);
            return Ok(());
        }
        if let Ok(number) = value.extract::<i128>() {
            if let Ok(number) = u64::try_from(number) {
                self.head(Major::Positive, number);
                return Ok(());
            }
            if let Ok(number) = u64::try_from(!number) {
                self.head(Major::Negative, number);
                return Ok(());
            }
        }
        let negative = value.lt(0)?;
        let magnitude = if negative { value.call_method0("__invert__")? } else { value.clone() };
        let bits: usize = magnitude.call_method0("bit_length")?.extract()?;
        let bytes = magnitude.call_method1("to_bytes", (bits.div_ceil(8), "big"))?;
        self.head(Major::Tag, if negative { tag::BIGNEG } else { tag::BIGPOS });
        self.string(Major::Bytes, bytes.cast::<PyBytes>().map_err(PyErr::from)?.as_bytes())
    }

    fn datetime(&mut self, value: &Bound<'_, PyAny>) -> Outcome {
        if self.keys == Keys::Any && !is_plain_datetime(value)? && self.other(value)? {
            return Ok(());
        }
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
        self.head(Major::Tag, TAG_DATETIME_TEXT);
        let text = text.cast::<PyString>().map_err(PyErr::from)?;
        self.string(Major::Text, utf8(text)?)
    }

    fn nested(&mut self, fill: impl FnOnce(&mut Self) -> Outcome) -> Outcome {
        self.nested_by(1, fill)
    }

    /// So many levels deeper: a tag is one, as it is for who reads.
    fn nested_by(&mut self, levels: usize, fill: impl FnOnce(&mut Self) -> Outcome) -> Outcome {
        if self.depth + levels > DEPTH_MAX {
            return Err(refusal(
                ErrorKind::InvalidData,
                format!("nested deeper than {DEPTH_MAX} levels, or contains itself"),
            ));
        }
        self.depth += levels;
        let outcome = fill(self);
        self.depth -= levels;
        outcome
    }

    fn items<'py>(
        &mut self,
        count: usize,
        items: impl Iterator<Item = Bound<'py, PyAny>>,
    ) -> Outcome {
        self.head(Major::Array, count as u64);
        let mut written = 0;
        for item in items {
            self.value(&item).map_err(|failure| failure.inside(|| format!("[{written}]")))?;
            written += 1;
        }
        unchanged(count, written)
    }

    fn dict(&mut self, dict: &Bound<'_, PyDict>) -> Outcome {
        let count = dict.len();
        self.head(Major::Map, count as u64);
        let (mut written, mut place) = (0, 0);
        let (mut key, mut value) = (ptr::null_mut(), ptr::null_mut());
        // One more than there were shows that it has grown.
        while written <= count {
            // SAFETY: a dict, and this thread is attached to the interpreter.
            let found =
                unsafe { ffi::PyDict_Next(dict.as_ptr(), &mut place, &mut key, &mut value) };
            if found == 0 {
                break;
            }
            // SAFETY: references that the dict holds, and `pair` takes its own before anything
            // runs that could change the dict.
            let (key, value) = unsafe {
                (Borrowed::from_ptr(dict.py(), key), Borrowed::from_ptr(dict.py(), value))
            };
            self.pair(key, value)?;
            written += 1;
        }
        unchanged(count, written)
    }

    /// A key and its value, which are taken hold of where writing them may run Python code.
    #[inline(always)]
    fn pair(&mut self, key: Borrowed<'_, '_, PyAny>, value: Borrowed<'_, '_, PyAny>) -> Outcome {
        let start = self.out.len();
        let may_be_key = self.keys == Keys::Any || key.is_exact_instance_of::<PyString>();
        // An error of Python's own has run code, and tells of no way: nothing is looked at again.
        match self
            .scalar(&key)
            .and_then(|is_key| Ok(may_be_key && is_key && self.scalar(&value)?))
        {
            Ok(true) => return Ok(()),
            Err(failure) if matches!(failure.reason, Reason::Python(_)) => return Err(failure),
            Ok(false) | Err(_) => self.out.truncate(start),
        }
        self.pair_of_any(&key.to_owned(), &value.to_owned())
    }

    #[inline(never)]
    fn pair_of_any(&mut self, key: &Bound<'_, PyAny>, value: &Bound<'_, PyAny>) -> Outcome {
        if self.keys == Keys::Text && !key.is_instance_of::<PyString>() {
            return Err(type_failure(format!("key {key} must be a str, not '{}'", type_name(key))));
        }
        self.as_key(|writer| writer.value(key))
            .map_err(|failure| failure.inside(|| format!(" key {key}")))?;
        self.value(value).map_err(|failure| {
            failure.inside(|| match key.repr() {
                Ok(shown) => format!("[{shown}]"),
                Err(_) => "[?]".to_owned(),
            })
        })
    }
}

/// Whether a datetime is an instant whose offset is all that there is to its zone.
fn is_plain_datetime(value: &Bound<'_, PyAny>) -> PyResult<bool> {
    if !value.is_exact_instance_of::<PyDateTime>() {
        return Ok(false);
    }
    let zone = value.getattr("tzinfo")?;
    Ok(match type_name(&zone).as_str() {
        "NoneType" => false,
        "ZoneInfo" => zone.getattr("key")?.extract::<String>().is_ok_and(|key| key == "UTC"),
        _ => true,
    })
}

/// The value, if it is of this type and no subclass: as `cast_exact`, which makes an error with
/// references of its own where it is not.
#[inline(always)]
fn exactly<'a, 'py, T: PyTypeInfo>(value: &'a Bound<'py, PyAny>) -> Option<&'a Bound<'py, T>> {
    value.is_exact_instance_of::<T>().then(|| value.cast_exact().ok()).flatten()
}

/// A text's bytes, which it keeps: `to_str` without a call of its own for each.
#[inline(always)]
fn utf8<'a>(text: &'a Bound<'_, PyString>) -> PyResult<&'a [u8]> {
    let mut length = 0;
    // SAFETY: a str, and this thread is attached to the interpreter.
    let bytes = unsafe { ffi::PyUnicode_AsUTF8AndSize(text.as_ptr(), &raw mut length) };
    if bytes.is_null() {
        return Err(PyErr::fetch(text.py()));
    }
    // SAFETY: so many bytes, which live as long as the str does and never change.
    Ok(unsafe { slice::from_raw_parts(bytes.cast(), length.cast_unsigned()) })
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
