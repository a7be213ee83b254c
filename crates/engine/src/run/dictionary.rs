//! Text that is stored by a dictionary: all values of one column of one row group without decoding a
//! row, and the rows themselves.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int32Type;
use arrow_array::{Array, ArrayRef, Int32Array, StringArray, StringViewArray};
use arrow_buffer::{Buffer, OffsetBuffer, ScalarBuffer};
use arrow_schema::{DataType, Field, FieldRef};
use arrow_select::take::take;
use parquet::basic::{Encoding, Type as PhysicalType};
use parquet::column::page::{Page, PageReader};
use parquet::errors::ParquetError;
use parquet::file::metadata::ColumnChunkMetaData;
use timestrata_io::Arena;

use super::value_buffer::ValueBuffer;
use crate::scan::Values;

/// Texts up to this length are copied as if all had it: one store, and no call.
const SHORT_BYTES: usize = 16;
/// Bytes of a length before each text.
const LENGTH_BYTES: usize = 4;

/// Whether [`read`] can tell the values of a chunk: every page refers to the dictionary.
pub(super) fn tells_all(chunk: &ColumnChunkMetaData, data_type: &DataType) -> bool {
    data_type == &DataType::Utf8
        && chunk.column_type() == PhysicalType::BYTE_ARRAY
        && chunk.dictionary_page_offset().is_some()
        && chunk
            .page_encoding_stats_mask()
            .is_some_and(|mask| mask.is_only(Encoding::RLE_DICTIONARY))
}

/// The texts in the dictionary of a chunk, which is the first of its `pages`.
///
/// # Errors
/// Those of the page reader, and for a first page that is no dictionary of text.
pub(super) fn read(
    pages: &mut dyn PageReader,
    chunk: &ColumnChunkMetaData,
) -> Result<Values, ParquetError> {
    let Some(Page::DictionaryPage { buf, num_values, .. }) = pages.get_next_page()? else {
        return Err(ParquetError::General("the dictionary page is missing".to_owned()));
    };
    let texts = plain_texts(&buf, num_values as usize).ok_or_else(|| {
        ParquetError::General("a dictionary page has other bytes than texts".to_owned())
    })?;
    let nulls = chunk.statistics().and_then(|statistics| statistics.null_count_opt());
    let column: ArrayRef = Arc::new(StringArray::from(texts));
    Ok(Values { columns: vec![column], may_be_null: nulls != Some(0) })
}

/// Texts with their lengths before them, as Parquet's PLAIN encoding has them.
pub(super) fn plain_texts(mut bytes: &[u8], count: usize) -> Option<Vec<&str>> {
    // Each takes its length at least.
    let mut texts = Vec::with_capacity(count.min(bytes.len() / LENGTH_BYTES));
    for _ in 0..count {
        let (length, rest) = bytes.split_first_chunk::<LENGTH_BYTES>()?;
        let (text, rest) = rest.split_at_checked(u32::from_le_bytes(*length) as usize)?;
        texts.push(std::str::from_utf8(text).ok()?);
        bytes = rest;
    }
    Some(texts)
}

/// A field of text, as keys of a dictionary.
pub(super) fn field(field: &FieldRef) -> Option<FieldRef> {
    let keys = || DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8));
    (field.data_type() == &DataType::Utf8)
        .then(|| Arc::new(Field::clone(field).with_data_type(keys())) as FieldRef)
}

/// The texts of a dictionary, and views of them.
pub(super) type ViewedDictionary = (StringArray, StringViewArray);

/// Views of the texts that keys stand for. Where all are short the views hold them, and nothing else
/// is kept. `last` has the views of the dictionary that was seen last, which is mostly the same.
///
/// # Errors
/// For a column that is no dictionary of text.
pub(super) fn viewed(
    column: &ArrayRef,
    last: &mut Option<ViewedDictionary>,
) -> Result<ArrayRef, ParquetError> {
    let wrong = || ParquetError::General("a dictionary column has no texts".to_owned());
    let column = column.as_dictionary_opt::<Int32Type>().ok_or_else(wrong)?;
    let texts = column.values().as_string_opt::<i32>().ok_or_else(wrong)?;
    // The last one is held, so that another one can't lie in its place.
    let is_same = |(last, _): &ViewedDictionary| {
        last.value_data().as_ptr() == texts.value_data().as_ptr()
            && last.value_offsets().as_ptr() == texts.value_offsets().as_ptr()
            && last.len() == texts.len()
    };
    let (_, views) = match last.take_if(|last| is_same(last)) {
        Some(same) => last.insert(same),
        None => last.insert((texts.clone(), StringViewArray::from(texts).gc())),
    };
    Ok(take(views, column.keys(), None)?)
}

/// The texts that keys stand for; the same as a cast, several times as fast.
///
/// # Errors
/// For keys without a value, and for more bytes than 32-bit offsets reach.
pub(super) fn expanded(column: &ArrayRef, arena: Option<&Arena>) -> Result<ArrayRef, ParquetError> {
    let wrong = |what: &str| ParquetError::General(format!("a dictionary column {what}"));
    let column = column.as_dictionary_opt::<Int32Type>();
    let column = column.ok_or_else(|| wrong("has other keys than of 32 bits"))?;
    let texts = column.values().as_string_opt::<i32>().ok_or_else(|| wrong("has no texts"))?;
    let (keys, nulls) = (column.keys(), column.nulls().filter(|nulls| nulls.null_count() > 0));
    let texts: Vec<&str> = texts.iter().map(Option::unwrap_or_default).collect();
    let mut ends = ValueBuffer::<i32>::default();
    ends.reserve(keys.len() + 1, arena);
    ends.push(0);
    let lengths: Vec<usize> = texts.iter().map(|text| text.len()).collect();
    let (mut length, mut has_no_text) = (0, false);
    // What has no text, and what gets too long, is refused behind the last.
    let end = |(row, key): (usize, &i32)| {
        if nulls.is_none_or(|nulls| nulls.is_valid(row)) {
            let text = usize::try_from(*key).ok().and_then(|key| lengths.get(key));
            has_no_text |= text.is_none();
            length += text.copied().unwrap_or_default();
        }
        length as i32
    };
    ends.extend(keys.values().iter().enumerate().map(end));
    if has_no_text {
        return Err(wrong("has keys of no value"));
    }
    i32::try_from(length).map_err(|_| wrong("has too much text"))?;
    let bytes = text_of_keys(keys, (&texts, &ends), length, arena);
    let offsets = OffsetBuffer::new(ScalarBuffer::from(ends.into_buffer()));
    let texts = StringArray::try_new(offsets, bytes, nulls.cloned())?;
    Ok(Arc::new(texts))
}

/// The texts of keys one behind the other, `length` bytes in all; each ends where `ends` says, and none is of a null.
fn text_of_keys(
    keys: &Int32Array,
    (texts, ends): (&[&str], &[i32]),
    length: usize,
    arena: Option<&Arena>,
) -> Buffer {
    let is_short = texts.iter().all(|text| text.len() <= SHORT_BYTES);
    let mut bytes = ValueBuffer::<u8>::default();
    bytes.reserve(length + SHORT_BYTES, arena);
    let room = bytes.grow(length + SHORT_BYTES);
    let padded: Vec<[u8; SHORT_BYTES]> = match is_short {
        true => texts.iter().map(|text| padded(text)).collect(),
        false => Vec::new(),
    };
    let mut start = 0;
    for (key, end) in keys.values().iter().zip(ends.iter().skip(1)) {
        let (key, end) = (*key as usize, *end as usize);
        let rest = room.get_mut(start..).unwrap_or_default();
        match (padded.get(key), rest.first_chunk_mut()) {
            // What is copied too much the next one covers.
            (Some(text), Some(place)) => *place = *text,
            _ => {
                // None of a null, whatever its key is.
                let text = texts.get(key).and_then(|text| text.as_bytes().get(..end - start));
                let text = text.unwrap_or_default();
                if let Some(place) = rest.get_mut(..text.len()) {
                    place.copy_from_slice(text);
                }
            }
        }
        start = end;
    }
    bytes.truncate(length);
    bytes.into_buffer()
}

fn padded(text: &str) -> [u8; SHORT_BYTES] {
    let mut padded = [0; SHORT_BYTES];
    padded.iter_mut().zip(text.bytes()).for_each(|(place, byte)| *place = byte);
    padded
}

#[cfg(test)]
mod tests;
