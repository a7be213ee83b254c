//! The dictionary of one column of one row group: all values that its rows have, read without
//! decoding a row.

use std::sync::Arc;

use arrow_array::{ArrayRef, StringArray};
use arrow_schema::DataType;
use bytes::Bytes;
use parquet::basic::{Encoding, Type as PhysicalType};
use parquet::column::page::{Page, PageReader};
use parquet::errors::ParquetError;
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::serialized_reader::SerializedPageReader;

use crate::scan::Values;

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

/// The texts in the dictionary of a chunk of `rows` rows, whose bytes have been verified.
///
/// # Errors
/// Those of the page reader, and for a first page that is no dictionary of text.
pub(super) fn read(
    file: &Bytes,
    chunk: &ColumnChunkMetaData,
    rows: usize,
) -> Result<Values, ParquetError> {
    let mut pages = SerializedPageReader::new(Arc::new(file.clone()), chunk, rows, None)?;
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
fn plain_texts(mut bytes: &[u8], count: usize) -> Option<Vec<&str>> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_that_end_early_or_are_no_text_are_refused() {
        let bytes = b"\x02\0\0\0ab\x00\0\0\0\x01\0\0\0c";
        assert_eq!(plain_texts(bytes, 3), Some(vec!["ab", "", "c"]));
        assert_eq!(plain_texts(bytes, 4), None);
        assert_eq!(plain_texts(&bytes[..bytes.len() - 1], 3), None);
        assert_eq!(plain_texts(b"\x01\0\0\0\xff", 1), None);
        assert_eq!(plain_texts(b"\xff\xff\xff\xff", usize::MAX), None);
    }
}
