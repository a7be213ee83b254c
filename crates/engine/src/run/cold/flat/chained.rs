//! Parquet's DELTA_BYTE_ARRAY: of each text how many bytes it begins with of the one before, and the rest of it.
//!
//! ```text
//!    kept of the one before   0 9 9 8 9 9     DELTA_BINARY_PACKED
//!    lengths of the rest      9 0 0 1 0 0     DELTA_BINARY_PACKED
//!    the rest                 host-1001 2
//!    texts                    host-1001 host-1001 host-1001 host-1002 host-1002 host-1002
//! ```
//!
//! Where rows lie by series, most texts are the one before: these are told by two numbers, and nothing of them is copied.
//!
//! After the format's description, <https://parquet.apache.org/docs/file-format/data-pages/encodings/>.

use std::sync::Arc;

use arrow_array::types::Int32Type;
use arrow_array::{ArrayRef, DictionaryArray, PrimitiveArray, StringArray};
use arrow_buffer::{OffsetBuffer, ScalarBuffer};
use arrow_schema::DataType;
use bytes::Bytes;
use parquet::basic::Encoding;
use parquet::errors::{ParquetError, Result};
use timestrata_io::Arena;

use super::super::super::value_buffer::ValueBuffer;
use super::damaged;
use super::deltas::Deltas;
use super::values::Values;

/// Texts of pages, each followed by others like it.
#[derive(Default)]
pub(super) struct ChainedTexts {
    /// Of the values of the page: how much of the one before each keeps, and how much follows.
    kept: ValueBuffer<i32>,
    lengths: ValueBuffer<i32>,
    /// The next of them.
    next: usize,
    /// What follows, from here on.
    rest: Bytes,
    at: usize,
    /// The value before.
    last: Vec<u8>,
    /// Its key, if it has one.
    key: Option<i32>,
    /// Different ones that were read, one behind the other.
    texts: Vec<u8>,
    ends: Vec<i32>,
    keys: Vec<i32>,
}

impl ChainedTexts {
    /// Goes to the next value of the page.
    fn advance(&mut self) -> Result<()> {
        let told = self.kept.get(self.next).zip(self.lengths.get(self.next));
        let (kept, length) = told.ok_or_else(ends_early)?;
        let (kept, length) = (usize::try_from(*kept)?, usize::try_from(*length)?);
        self.next += 1;
        if length == 0 && kept == self.last.len() {
            return Ok(());
        }
        let end = self.at.checked_add(length).ok_or_else(ends_early)?;
        let rest = self.rest.get(self.at..end).ok_or_else(ends_early)?;
        if kept > self.last.len() {
            let message = format!("keeps {kept} bytes of one that has {}", self.last.len());
            return Err(damaged("a text", message));
        }
        self.last.truncate(kept);
        self.last.extend_from_slice(rest);
        self.at = end;
        self.key = None;
        Ok(())
    }

    /// How many of the next values, of so many, are the value before.
    fn repeated(&self, values: usize) -> usize {
        let kept = self.kept.get(self.next..).unwrap_or_default();
        let lengths = self.lengths.get(self.next..).unwrap_or_default();
        // None is as long as this where it is too long.
        let length = i32::try_from(self.last.len()).unwrap_or(i32::MAX);
        let each = kept.iter().zip(lengths).take(values);
        each.take_while(|(kept, rest)| **kept == length && **rest == 0).count()
    }

    /// The key of the value before.
    fn key(&mut self) -> Result<i32> {
        if let Some(key) = self.key {
            return Ok(key);
        }
        if std::str::from_utf8(&self.last).is_err() {
            return Err(damaged("a text", "is not UTF-8"));
        }
        let key = i32::try_from(self.ends.len())?;
        self.texts.extend_from_slice(&self.last);
        self.ends.push(i32::try_from(self.texts.len())?);
        self.key = Some(key);
        Ok(key)
    }
}

impl Values for ChainedTexts {
    fn dictionary(&mut self, _: Bytes, _: usize) -> Result<()> {
        Err(damaged("a column of chained texts", "has a dictionary"))
    }

    fn page(&mut self, bytes: Bytes, encoding: Encoding, values: usize) -> Result<()> {
        if encoding != Encoding::DELTA_BYTE_ARRAY {
            return Err(damaged("a page of texts", format!("is encoded as {encoding}")));
        }
        let numbers = |bytes: Bytes, numbers: &mut ValueBuffer<i32>| -> Result<Bytes> {
            numbers.truncate(0);
            let mut deltas = Deltas::new(bytes.clone(), values)?;
            deltas.read(values, numbers)?;
            Ok(bytes.slice(deltas.end()..))
        };
        let behind = numbers(bytes, &mut self.kept)?;
        self.rest = numbers(behind, &mut self.lengths)?;
        (self.next, self.at) = (0, 0);
        self.last.clear();
        self.key = None;
        Ok(())
    }

    fn reserve(&mut self, values: usize, _: Option<&Arena>) {
        self.keys.reserve(values);
    }

    fn skip(&mut self, mut values: usize) -> Result<()> {
        while values > 0 {
            self.advance()?;
            let repeated = self.repeated(values - 1);
            self.next += repeated;
            values -= 1 + repeated;
        }
        Ok(())
    }

    fn read(&mut self, mut values: usize) -> Result<()> {
        while values > 0 {
            self.advance()?;
            let (key, repeated) = (self.key()?, self.repeated(values - 1));
            self.keys.resize(self.keys.len() + 1 + repeated, key);
            self.next += repeated;
            values -= 1 + repeated;
        }
        Ok(())
    }

    fn pick(&mut self, values: usize, first: u32, places: &[u32]) -> Result<()> {
        let mut places = places.iter();
        let mut wanted = places.next();
        for at in (first..).take(values) {
            self.advance()?;
            if wanted == Some(&at) {
                let key = self.key()?;
                self.keys.push(key);
                wanted = places.next();
            }
        }
        Ok(())
    }

    fn data_type(&self) -> DataType {
        DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8))
    }

    fn take(&mut self) -> Result<ArrayRef> {
        self.key = None;
        let ends = std::mem::take(&mut self.ends);
        let offsets = OffsetBuffer::new(ScalarBuffer::from_iter(std::iter::once(0).chain(ends)));
        // Looks at each once more: they are not trusted to be whole because their parts were.
        let texts = StringArray::try_new(offsets, std::mem::take(&mut self.texts).into(), None)?;
        let keys = PrimitiveArray::from(std::mem::take(&mut self.keys));
        Ok(Arc::new(DictionaryArray::<Int32Type>::try_new(keys, Arc::new(texts))?))
    }
}

fn ends_early() -> ParquetError {
    damaged("chained texts", "end before all rows have one")
}
