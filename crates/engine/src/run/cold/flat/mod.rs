//! Columns of numbers without nulls, and of text that is stored by dictionaries or lies by series, decoded page by page.
//!
//! Parquet's own readers decode each row of each page: where rows lie by series, a text is stored once for all rows of its
//! host, and most of the time went into making a code of it for each row, and holding it against the dictionary, for rows
//! that a filter then left out. Here what is repeated stays so until rows are picked of it. What has nulls, parts or other
//! encodings is read by Parquet's.
//!
//! ```text
//!    pages of a column      dictionary | 4 x a, 2 x b, 3 x c | 9 x c | 5 x d ..
//!    rows that pass                      .  xx..  x.  .x.      ....     x
//!    codes of them                          a a   b    c      not read  d
//! ```

mod chained;
mod deltas;
mod hybrid;
mod split;
mod unpack;
mod values;

use arrow_array::ArrayRef;
use arrow_schema::DataType;
use bytes::Bytes;
use parquet::basic::{Encoding, Type as PhysicalType};
use parquet::column::page::Page;
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::ColumnChunkMetaData;
use timestrata_io::Arena;

use super::super::value_buffer::Plain;
use super::super::{decimals, dictionary};
use super::columns::ColumnPages;
use chained::ChainedTexts;
use hybrid::{Hybrid, Piece};
use values::{Numbers, Texts, Values};

/// The bits of a number.
trait Word: Plain + Send + arrow_buffer::ArrowNativeType {
    /// The lowest bits.
    fn of_bits(bits: u64) -> Self;

    /// The same, with the bits of a byte set, of which the lowest is at place 0.
    fn with_byte(self, place: usize, byte: u8) -> Self;

    /// One of the numbers that whole words of some bytes are.
    fn at(bytes: &[u8], place: usize) -> Option<Self>;

    /// All of them.
    fn all(bytes: &[u8]) -> impl Iterator<Item = Self>;

    /// Puts the bits of floats in the place of decimal numbers with so many digits behind the point.
    fn make_floats(numbers: &mut [Self], digits: u32);
}

impl Word for i32 {
    fn of_bits(bits: u64) -> Self {
        bits as Self
    }

    fn with_byte(self, place: usize, byte: u8) -> Self {
        self | (Self::from(byte) << (8 * place))
    }

    fn at(bytes: &[u8], place: usize) -> Option<Self> {
        bytes.as_chunks().0.get(place).map(|word| Self::from_le_bytes(*word))
    }

    fn all(bytes: &[u8]) -> impl Iterator<Item = Self> {
        bytes.as_chunks().0.iter().map(|word| Self::from_le_bytes(*word))
    }

    /// There are none of so few bits.
    fn make_floats(_: &mut [Self], _: u32) {}
}

impl Word for i64 {
    fn of_bits(bits: u64) -> Self {
        bits.cast_signed()
    }

    fn with_byte(self, place: usize, byte: u8) -> Self {
        self | (Self::from(byte) << (8 * place))
    }

    fn at(bytes: &[u8], place: usize) -> Option<Self> {
        bytes.as_chunks().0.get(place).map(|word| Self::from_le_bytes(*word))
    }

    fn all(bytes: &[u8]) -> impl Iterator<Item = Self> {
        bytes.as_chunks().0.iter().map(|word| Self::from_le_bytes(*word))
    }

    fn make_floats(numbers: &mut [Self], digits: u32) {
        decimals::make_floats(numbers, digits);
    }
}

/// One column of one block, whose bytes have been verified.
pub(super) struct FlatColumn {
    pages: Box<dyn ColumnPages>,
    /// Whether pages tell of each row whether it has a value.
    has_levels: bool,
    /// Rows of pages that are not open yet, at most.
    unread: usize,
    /// Rows of the present page that are left.
    left: usize,
    /// Rows to pass over before the next one that is read.
    skipped: usize,
    values: Box<dyn Values>,
}

/// What decodes a column that is to be of that type; `None` where it isn't flat.
fn values_of(
    chunk: &ColumnChunkMetaData,
    data_type: &DataType,
    float_digits: Option<u32>,
) -> Option<Box<dyn Values>> {
    let column = chunk.column_descr();
    let (levels, repetitions) = (column.max_def_level(), column.max_rep_level());
    let nulls = chunk.statistics().and_then(|statistics| statistics.null_count_opt());
    let has_no_nulls = levels == 0 || (levels == 1 && nulls == Some(0));
    if repetitions > 0 || !has_no_nulls {
        return None;
    }
    if let DataType::Dictionary(_, _) = data_type {
        let is_told = dictionary::tells_all(chunk, &DataType::Utf8);
        return is_told.then(|| Box::new(Texts::new()) as Box<dyn Values>);
    }
    if let DataType::Utf8 | DataType::Utf8View = data_type {
        let is_chained = chunk.page_encoding_stats_mask()?.is_only(Encoding::DELTA_BYTE_ARRAY);
        let is_text = chunk.column_type() == PhysicalType::BYTE_ARRAY;
        return (is_chained && is_text).then(|| Box::<ChainedTexts>::default() as Box<dyn Values>);
    }
    let is_known = |encoding| match encoding {
        Encoding::PLAIN | Encoding::DELTA_BINARY_PACKED | Encoding::RLE_DICTIONARY => true,
        // Parquet's reader puts all bytes of a number together at once: floats, whose bytes all say something, 2.5 ns sooner.
        Encoding::BYTE_STREAM_SPLIT => {
            matches!(chunk.column_type(), PhysicalType::INT32 | PhysicalType::INT64)
        }
        _ => false,
    };
    if !chunk.page_encoding_stats_mask()?.encodings().all(is_known) {
        return None;
    }
    match (chunk.column_type(), data_type) {
        (PhysicalType::INT64, DataType::Decimal64(_, _)) if float_digits.is_some() => {
            Some(Box::new(Numbers::<i64>::new(&DataType::Float64, float_digits)))
        }
        (
            PhysicalType::INT64,
            DataType::Int64
            | DataType::UInt64
            | DataType::Timestamp(_, _)
            | DataType::Duration(_)
            | DataType::Decimal64(_, _),
        )
        | (PhysicalType::DOUBLE, DataType::Float64) => {
            Some(Box::new(Numbers::<i64>::new(data_type, None)))
        }
        (PhysicalType::INT32, DataType::Int32 | DataType::UInt32 | DataType::Date32)
        | (PhysicalType::FLOAT, DataType::Float32) => {
            Some(Box::new(Numbers::<i32>::new(data_type, None)))
        }
        _ => None,
    }
}

impl FlatColumn {
    /// A column of so many rows that is to be of that type, or, where it has decimal numbers of so many digits behind the
    /// point, floats; `None` where it isn't flat.
    ///
    /// # Errors
    /// Those of `pages`.
    pub(super) fn new(
        (chunk, rows): (&ColumnChunkMetaData, usize),
        data_type: &DataType,
        float_digits: Option<u32>,
        pages: impl FnOnce() -> Result<Box<dyn ColumnPages>>,
    ) -> Result<Option<Self>> {
        let Some(values) = values_of(chunk, data_type, float_digits) else { return Ok(None) };
        let has_levels = chunk.column_descr().max_def_level() > 0;
        Ok(Some(Self { pages: pages()?, has_levels, unread: rows, left: 0, skipped: 0, values }))
    }

    /// Passes over rows.
    pub(super) fn skip(&mut self, rows: usize) {
        self.skipped += rows;
    }

    /// Reads the next rows, which are at the places from `first` on; of these only some, where `chosen` has their places, in
    /// ascending order.
    ///
    /// # Errors
    /// For fewer rows, and for pages that are not what metadata says of them.
    pub(super) fn read(&mut self, rows: usize, first: u32, chosen: Option<&[u32]>) -> Result<()> {
        let mut read = 0;
        let mut chosen = chosen;
        while read < rows {
            self.find_page()?;
            let count = self.left.min(rows - read);
            match &mut chosen {
                None => self.values.read(count)?,
                Some(places) => {
                    let first = first + u32::try_from(read)?;
                    let end = first + u32::try_from(count)?;
                    let (here, rest) = places.split_at(places.partition_point(|at| *at < end));
                    *places = rest;
                    self.values.pick(count, first, here)?;
                }
            }
            self.left -= count;
            read += count;
        }
        Ok(())
    }

    /// Makes room for so many values that will be read, in an arena where one is given that has it.
    pub(super) fn reserve(&mut self, rows: usize, arena: Option<&Arena>) {
        self.values.reserve(rows, arena);
    }

    /// What its values are read as.
    pub(super) fn data_type(&self) -> DataType {
        self.values.data_type()
    }

    /// What has been read since the last time.
    ///
    /// # Errors
    /// For codes of no value.
    pub(super) fn take(&mut self) -> Result<ArrayRef> {
        self.values.take()
    }

    /// Goes to the next row that isn't passed over.
    fn find_page(&mut self) -> Result<()> {
        loop {
            let skipped = self.skipped.min(self.left);
            if skipped > 0 {
                self.values.skip(skipped)?;
                self.skipped -= skipped;
                self.left -= skipped;
            }
            if self.left > 0 {
                return Ok(());
            }
            let passed = self.pages.skip_rows(self.skipped)?;
            self.skipped = self.skipped.saturating_sub(passed);
            self.pass_rows(passed)?;
            let next = self.pages.peek_next_page()?;
            let next = next.ok_or_else(|| damaged("a column", "has fewer rows than its block"))?;
            // Each row has one value.
            let rows = next.num_rows.or(next.num_levels).filter(|_| !next.is_dict);
            match rows.filter(|rows| *rows <= self.skipped) {
                Some(rows) => {
                    self.pages.skip_next_page()?;
                    self.skipped -= rows;
                    self.pass_rows(rows)?;
                }
                None => self.open_page()?,
            }
        }
    }

    /// Counts rows of pages, and refuses more than the block has.
    fn pass_rows(&mut self, rows: usize) -> Result<()> {
        let unread = self.unread.checked_sub(rows);
        self.unread = unread.ok_or_else(|| damaged("a column", "has more rows than its block"))?;
        Ok(())
    }

    fn open_page(&mut self) -> Result<()> {
        let page = self.pages.get_next_page()?;
        let page = page.ok_or_else(|| damaged("a column", "has fewer pages than its block"))?;
        let encoding = page.encoding();
        let (bytes, levels, values) = match page {
            Page::DictionaryPage { buf, num_values, .. } => {
                return self.values.dictionary(buf, num_values as usize);
            }
            Page::DataPage { buf, num_values, def_level_encoding, .. } => {
                let values = num_values as usize;
                match self.has_levels {
                    false => (buf, Bytes::new(), values),
                    true if def_level_encoding == Encoding::RLE => {
                        let (bytes, levels) = with_length(&buf)?;
                        (bytes, levels, values)
                    }
                    true => {
                        let what = format!("are encoded as {def_level_encoding}");
                        return Err(damaged("the levels of a page", what));
                    }
                }
            }
            Page::DataPageV2 {
                buf, num_values, def_levels_byte_len, rep_levels_byte_len, ..
            } => {
                let (end, none) = (def_levels_byte_len as usize, rep_levels_byte_len);
                if none > 0 || end > buf.len() {
                    return Err(damaged("the levels of a page", "are longer than the page"));
                }
                (buf.slice(end..), buf.slice(..end), num_values as usize)
            }
        };
        // Before room is made for them.
        self.pass_rows(values)?;
        if self.has_levels {
            expect_values(levels, values)?;
        }
        self.values.page(bytes, encoding, values)?;
        self.left = values;
        Ok(())
    }
}

/// What is behind levels that have their length before them; and the levels.
fn with_length(page: &Bytes) -> Result<(Bytes, Bytes)> {
    let end = page.first_chunk().and_then(|length| {
        let length = usize::try_from(u32::from_le_bytes(*length)).ok()?;
        length.checked_add(4).filter(|end| *end <= page.len())
    });
    let end = end.ok_or_else(|| damaged("the levels of a page", "are longer than the page"))?;
    Ok((page.slice(end..), page.slice(4..end)))
}

/// Refuses levels of rows that have no value: the metadata said that all have one.
fn expect_values(levels: Bytes, values: usize) -> Result<()> {
    let mut left = values;
    let mut levels = Hybrid::new(levels, 1, values)?;
    while left > 0 {
        let piece = levels.next(left)?;
        left -= piece.len();
        let is_whole = match piece {
            Piece::Repeated(level, _) => level == 1,
            Piece::Each(levels) => levels.iter().all(|level| *level == 1),
        };
        if !is_whole {
            return Err(damaged("a column", "has nulls, where its metadata has none"));
        }
    }
    Ok(())
}

/// An unsigned number of seven bits a byte, the lowest first; `None` where it doesn't end.
fn varint(bytes: &[u8], at: &mut usize) -> Option<u64> {
    let mut number = 0;
    for shift in (0..64).step_by(7) {
        let byte = *bytes.get(*at)?;
        *at += 1;
        number |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

fn damaged(what: &str, message: impl std::fmt::Display) -> ParquetError {
    ParquetError::General(format!("{what} {message}"))
}

#[cfg(test)]
mod tests;
