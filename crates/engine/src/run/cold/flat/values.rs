//! What the pages of a column hold: numbers, or codes of texts.

use std::sync::Arc;

use arrow_array::types::Int32Type;
use arrow_array::{ArrayRef, DictionaryArray, PrimitiveArray, StringArray, make_array};
use arrow_data::ArrayData;
use arrow_schema::DataType;
use bytes::Bytes;
use parquet::basic::Encoding;
use parquet::errors::{ParquetError, Result};
use timestrata_io::Arena;

use super::super::super::dictionary::plain_texts;
use super::super::super::value_buffer::ValueBuffer;
use super::deltas::Deltas;
use super::hybrid::{Hybrid, Piece};
use super::split::Split;
use super::{Word, damaged};
use crate::CodeTable;

/// Decodes the pages of a column, in their order.
pub(super) trait Values: Send {
    /// The dictionary page, with so many values.
    fn dictionary(&mut self, bytes: Bytes, values: usize) -> Result<()>;

    /// A page of so many values.
    fn page(&mut self, bytes: Bytes, encoding: Encoding, values: usize) -> Result<()>;

    /// Makes room for so many values that will be read, in an arena where one is given that has it.
    fn reserve(&mut self, values: usize, arena: Option<&Arena>);

    /// Passes over the next values of the page.
    fn skip(&mut self, values: usize) -> Result<()>;

    /// Reads the next values of the page.
    fn read(&mut self, values: usize) -> Result<()>;

    /// Of the next values of the page those at some places, in ascending order, where the first one is at `first`.
    fn pick(&mut self, values: usize, first: u32, places: &[u32]) -> Result<()>;

    /// What they are read as.
    fn data_type(&self) -> DataType;

    /// What has been read.
    fn take(&mut self) -> Result<ArrayRef>;
}

/// The pieces of the next values of a page.
fn pieces(
    codes: &mut Hybrid,
    mut values: usize,
    mut each: impl FnMut(Piece<'_>) -> Result<()>,
) -> Result<()> {
    while values > 0 {
        let piece = codes.next(values)?;
        values -= piece.len();
        each(piece)?;
    }
    Ok(())
}

/// The codes at some places, where the first code is at `first`.
fn pick(
    codes: &mut Hybrid,
    values: usize,
    mut first: u32,
    mut places: &[u32],
    mut each: impl FnMut(u32, usize) -> Result<()>,
) -> Result<()> {
    pieces(codes, values, |piece| {
        let end = first.saturating_add(u32::try_from(piece.len())?);
        match piece {
            Piece::Repeated(code, _) => {
                let here = places.iter().take_while(|place| **place < end).count();
                if here > 0 {
                    each(code, here)?;
                }
                places = places.get(here..).unwrap_or_default();
            }
            Piece::Each(codes) => {
                while let Some((place, rest)) = places.split_first().filter(|(at, _)| **at < end) {
                    let code = place.checked_sub(first).and_then(|at| codes.get(at as usize));
                    each(*code.ok_or_else(no_such_place)?, 1)?;
                    places = rest;
                }
            }
        }
        first = end;
        Ok(())
    })
}

/// Texts, all of which the dictionary has.
pub(super) struct Texts {
    texts: Option<ArrayRef>,
    codes: Hybrid,
    keys: Vec<i32>,
}

impl Texts {
    pub(super) fn new() -> Self {
        Self { texts: None, codes: Hybrid::default(), keys: Vec::new() }
    }
}

impl Values for Texts {
    fn dictionary(&mut self, bytes: Bytes, values: usize) -> Result<()> {
        let texts = plain_texts(&bytes, values)
            .ok_or_else(|| damaged("a dictionary", "has other bytes than texts"))?;
        self.texts = Some(Arc::new(StringArray::from(texts)));
        Ok(())
    }

    fn page(&mut self, bytes: Bytes, encoding: Encoding, values: usize) -> Result<()> {
        if !is_by_dictionary(encoding) {
            return Err(damaged("a page of texts", format!("is encoded as {encoding}")));
        }
        self.codes = Hybrid::of_codes(&bytes, values)?;
        Ok(())
    }

    /// The keys are shorter than their texts, and texts are made of most of them.
    fn reserve(&mut self, values: usize, _: Option<&Arena>) {
        self.keys.reserve(values);
    }

    fn skip(&mut self, values: usize) -> Result<()> {
        self.codes.skip(values)
    }

    fn read(&mut self, values: usize) -> Result<()> {
        let keys = &mut self.keys;
        pieces(&mut self.codes, values, |piece| {
            match piece {
                Piece::Repeated(code, count) => keys.resize(keys.len() + count, code.cast_signed()),
                Piece::Each(codes) => keys.extend(codes.iter().map(|code| code.cast_signed())),
            }
            Ok(())
        })
    }

    fn pick(&mut self, values: usize, first: u32, places: &[u32]) -> Result<()> {
        let keys = &mut self.keys;
        pick(&mut self.codes, values, first, places, |code, count| {
            keys.resize(keys.len() + count, code.cast_signed());
            Ok(())
        })
    }

    fn data_type(&self) -> DataType {
        DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8))
    }

    fn take(&mut self) -> Result<ArrayRef> {
        let texts = match &self.texts {
            Some(texts) => Arc::clone(texts),
            // Nobody wanted a row yet.
            None if self.keys.is_empty() => Arc::new(StringArray::new_null(0)) as ArrayRef,
            None => return Err(damaged("a column of codes", "has no dictionary")),
        };
        let keys = PrimitiveArray::from(std::mem::take(&mut self.keys));
        // Holds each key against the number of values.
        Ok(Arc::new(DictionaryArray::<Int32Type>::try_new(keys, texts)?))
    }
}

fn is_by_dictionary(encoding: Encoding) -> bool {
    matches!(encoding, Encoding::RLE_DICTIONARY | Encoding::PLAIN_DICTIONARY)
}

/// Of split numbers, of which those are put together that are wanted, all are where one in so many is.
const SPLIT_READ_SHARE: usize = 8;

/// How the values of the present page are stored.
enum Stored {
    Codes(Hybrid),
    Deltas(Box<Deltas>),
    Split(Split),
    Plain(Bytes),
}

/// Numbers of 32 or 64 bits, whatever they stand for.
pub(super) struct Numbers<W> {
    data_type: DataType,
    /// Of decimal numbers that are to be floats.
    float_digits: Option<u32>,
    /// The dictionary as it is stored,
    stored_dictionary: Bytes,
    /// and as a table of what is wanted, once that has paid.
    known: Option<CodeTable<W>>,
    /// So many codes were looked up without it.
    looked_up: usize,
    stored: Stored,
    values: ValueBuffer<W>,
    /// What some are picked of.
    all: ValueBuffer<W>,
}

impl<W: Word> Numbers<W> {
    pub(super) fn new(data_type: &DataType, float_digits: Option<u32>) -> Self {
        Self {
            data_type: data_type.clone(),
            float_digits,
            stored_dictionary: Bytes::new(),
            known: None,
            looked_up: 0,
            stored: Stored::Plain(Bytes::new()),
            values: ValueBuffer::default(),
            all: ValueBuffer::default(),
        }
    }
}

impl<W> Numbers<W> {
    /// Whether whole numbers are stored.
    fn has_integers(&self) -> bool {
        self.float_digits.is_some() || !self.data_type.is_floating()
    }
}

impl<W: Word> Numbers<W> {
    /// Makes floats of the decimal numbers from a place on, where floats are wanted.
    fn make_floats_from(&mut self, first: usize) {
        if let (Some(digits), Some(numbers)) = (self.float_digits, self.values.get_mut(first..)) {
            W::make_floats(numbers, digits);
        }
    }
}

impl<W: Word> Numbers<W> {
    /// Makes a table of the dictionary before so many codes are looked up, where that takes less time than these would without
    /// it: each block of a row group, and each few rows of it, begins with the whole dictionary.
    fn know(&mut self, values: usize) {
        let distinct = self.stored_dictionary.len() / size_of::<W>();
        if self.known.is_some() || !matches!(self.stored, Stored::Codes(_)) {
            return;
        }
        self.looked_up = self.looked_up.saturating_add(values);
        if self.looked_up < distinct {
            return;
        }
        let mut numbers: Vec<W> = W::all(&self.stored_dictionary).collect();
        if let Some(digits) = self.float_digits {
            W::make_floats(&mut numbers, digits);
        }
        self.known = Some(CodeTable::new(numbers));
    }
}

/// The number that a code of a dictionary stands for, as it is stored.
fn stored_number<W: Word>(dictionary: &[u8], code: u32) -> Result<W> {
    W::at(dictionary, code as usize).ok_or_else(no_such_code)
}

/// Takes so many bytes of what is left of a page of plain numbers.
fn plain_bytes(rest: &mut Bytes, bytes: usize) -> Result<Bytes> {
    match rest.len() < bytes {
        true => Err(damaged("numbers", "end before all rows have one")),
        false => Ok(rest.split_to(bytes)),
    }
}

impl<W: Word> Values for Numbers<W> {
    fn dictionary(&mut self, bytes: Bytes, values: usize) -> Result<()> {
        let end = values.checked_mul(size_of::<W>()).filter(|end| *end <= bytes.len());
        let end =
            end.ok_or_else(|| damaged("a dictionary", format!("has fewer numbers than {values}")))?;
        (self.stored_dictionary, self.known, self.looked_up) = (bytes.slice(..end), None, 0);
        Ok(())
    }

    fn page(&mut self, bytes: Bytes, encoding: Encoding, values: usize) -> Result<()> {
        self.stored = match encoding {
            Encoding::PLAIN => Stored::Plain(bytes),
            Encoding::DELTA_BINARY_PACKED if self.has_integers() => {
                Stored::Deltas(Box::new(Deltas::new(bytes, values)?))
            }
            Encoding::BYTE_STREAM_SPLIT if self.has_integers() => {
                Stored::Split(Split::new::<W>(bytes, values)?)
            }
            other if is_by_dictionary(other) => Stored::Codes(Hybrid::of_codes(&bytes, values)?),
            other => return Err(damaged("a page of numbers", format!("is encoded as {other}"))),
        };
        Ok(())
    }

    fn reserve(&mut self, values: usize, arena: Option<&Arena>) {
        self.values.reserve(values, arena);
    }

    fn skip(&mut self, values: usize) -> Result<()> {
        match &mut self.stored {
            Stored::Codes(codes) => codes.skip(values),
            Stored::Deltas(deltas) => deltas.skip(values),
            Stored::Split(split) => split.skip(values),
            Stored::Plain(rest) => {
                plain_bytes(rest, values.saturating_mul(size_of::<W>())).map(drop)
            }
        }
    }

    fn read(&mut self, values: usize) -> Result<()> {
        self.know(values);
        let first = self.values.len();
        match &mut self.stored {
            Stored::Codes(codes) => {
                let into = &mut self.values;
                if let Some(known) = &self.known {
                    return pieces(codes, values, |piece| {
                        let are_known = match piece {
                            Piece::Each(codes) => known.look_up(codes, into),
                            Piece::Repeated(code, count) => known
                                .get(code)
                                .map(|number| into.push_times(number, count))
                                .is_some(),
                        };
                        if are_known { Ok(()) } else { Err(no_such_code()) }
                    });
                }
                let stored = &self.stored_dictionary;
                pieces(codes, values, |piece| {
                    match piece {
                        Piece::Each(codes) => {
                            for code in codes {
                                into.push(stored_number(stored, *code)?);
                            }
                        }
                        Piece::Repeated(code, count) => {
                            into.push_times(stored_number(stored, code)?, count);
                        }
                    }
                    Ok(())
                })?;
            }
            Stored::Deltas(deltas) => deltas.read(values, &mut self.values)?,
            Stored::Split(split) => split.read(values, &mut self.values)?,
            Stored::Plain(rest) => {
                let bytes = plain_bytes(rest, values.saturating_mul(size_of::<W>()))?;
                self.values.extend(W::all(&bytes));
            }
        }
        self.make_floats_from(first);
        Ok(())
    }

    fn pick(&mut self, values: usize, first: u32, places: &[u32]) -> Result<()> {
        self.know(places.len());
        if let Stored::Codes(codes) = &mut self.stored {
            let (known, stored) = (&self.known, &self.stored_dictionary);
            let (begin, into) = (self.values.len(), &mut self.values);
            pick(codes, values, first, places, |code, count| {
                let number = match known {
                    Some(known) => known.get(code).ok_or_else(no_such_code)?,
                    None => stored_number(stored, code)?,
                };
                into.push_times(number, count);
                Ok(())
            })?;
            if self.known.is_none() {
                self.make_floats_from(begin);
            }
            return Ok(());
        }
        if let Stored::Split(split) = &mut self.stored
            && places.len() < values / SPLIT_READ_SHARE
        {
            let begin = self.values.len();
            for place in places {
                let number = place.checked_sub(first).and_then(|behind| split.get(behind as usize));
                self.values.push(number.ok_or_else(no_such_place)?);
            }
            split.skip(values)?;
            self.make_floats_from(begin);
            return Ok(());
        }
        let before = std::mem::replace(&mut self.values, std::mem::take(&mut self.all));
        let read = self.read(values);
        self.all = std::mem::replace(&mut self.values, before);
        read?;
        for place in places {
            let number = place.checked_sub(first).and_then(|at| self.all.get(at as usize));
            self.values.push(*number.ok_or_else(no_such_place)?);
        }
        self.all.truncate(0);
        Ok(())
    }

    fn data_type(&self) -> DataType {
        self.data_type.clone()
    }

    fn take(&mut self) -> Result<ArrayRef> {
        let values = std::mem::take(&mut self.values);
        let data = ArrayData::builder(self.data_type.clone())
            .len(values.len())
            .add_buffer(values.into_buffer());
        Ok(make_array(data.build()?))
    }
}

fn no_such_code() -> ParquetError {
    damaged("a column of codes", "has one that its dictionary has no value for")
}

fn no_such_place() -> ParquetError {
    damaged("a page", "has no row at a place that is wanted")
}
