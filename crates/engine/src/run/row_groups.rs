//! How many rows a row group of a cold run has.
//!
//! Each row group has its own dictionaries, so that longer ones take less room. Where rows lie by series, the rows of each lie
//! together once a row group. Where they lie in the order of the key, readers take each page of a row group as a block
//! (`cold/groups`): few rows are read as quickly from a long one.

use arrow_array::Array;
use arrow_array::cast::AsArray;
use arrow_schema::{ArrowError, DataType};
use hashbrown::HashSet;
use parquet::file::properties::DEFAULT_DICTIONARY_PAGE_SIZE_LIMIT;

use super::block_builder::{Block, BlockLimits};
use super::encodings::DISTINCT_TENTHS_MAX;
use crate::Stream;

/// A row group of a stream whose series are told apart is as long as so many blocks: each series has more rows in it; and where
/// rows lie in the order of the key, more of them share its dictionaries.
const BLOCKS_BY_SERIES: usize = 4;

/// And as so many where there are many series, so that each has as many rows as are wanted.
const BLOCKS_BY_SERIES_MAX: usize = 32;
const ROWS_A_SERIES: usize = 256;

/// A row group of many series may have so many bytes.
const BYTES_OF_MANY_SERIES_MAX: usize = 128 << 20;

/// Where no series are told apart only dictionaries count. A year of flights by departure takes 4.78 MB if each block has its own,
/// 4.59 in row groups of four blocks, and 4.56 in these.
const BLOCKS_BY_KEY: usize = 8;
/// What gathers in memory for them. Of wide rows fewer blocks share a dictionary.
const BYTES_BY_KEY_MAX: usize = 32 << 20;

/// A row group in the order of the key that has fewer pages of keys is one block.
pub(super) const BLOCKS_MIN: usize = 3;

/// How long row groups are whose blocks, of so many rows each, may share dictionaries, as long as nothing is known of the rows.
pub(super) fn at_first(stream: &Stream, block_rows: usize) -> BlockLimits {
    of_blocks(stream, block_rows, usual(stream))
}

/// As many blocks as lie in a row group if nothing forbids it.
fn usual(stream: &Stream) -> usize {
    match stream.series_columns().is_empty() {
        true => BLOCKS_BY_KEY,
        false => BLOCKS_BY_SERIES,
    }
}

fn of_blocks(stream: &Stream, block_rows: usize, blocks: usize) -> BlockLimits {
    let limits = BlockLimits::of_rows(block_rows.saturating_mul(blocks));
    match blocks > 1 && stream.series_columns().is_empty() {
        true => BlockLimits { bytes_max: BYTES_BY_KEY_MAX, ..limits },
        false => limits,
    }
}

/// The same where so many series are told apart, if that is more than at first.
pub(super) fn of_many_series(
    series: usize,
    block_rows: usize,
    at_first: BlockLimits,
) -> Option<BlockLimits> {
    let rows = series.saturating_mul(ROWS_A_SERIES).next_multiple_of(block_rows.max(1));
    let rows = rows.min(block_rows.saturating_mul(BLOCKS_BY_SERIES_MAX));
    let bytes_max = BYTES_OF_MANY_SERIES_MAX;
    (rows > at_first.rows_max).then(|| BlockLimits { bytes_max, ..BlockLimits::of_rows(rows) })
}

/// The same where rows lie in the order of the key: as many blocks as have room in one dictionary if each has other texts, of which
/// the first block tells how many there are. A dictionary that is full is given up for the rest of its row group.
///
/// # Errors
/// Arrow's, of a block that lacks a column.
pub(super) fn in_key_order(
    stream: &Stream,
    first: &Block,
    block_rows: usize,
) -> Result<BlockLimits, ArrowError> {
    // What tells series apart is in a dictionary whatever its type, and else there may be nothing to share.
    let mut blocks = (!stream.series_columns().is_empty()).then(|| usual(stream));
    for (column, field) in stream.schema().fields().iter().enumerate() {
        if field.data_type() == &DataType::Utf8
            && let Some(bytes) = dictionary_bytes(first, column, block_rows)?
        {
            let fit = DEFAULT_DICTIONARY_PAGE_SIZE_LIMIT / bytes.max(1);
            blocks = Some(blocks.unwrap_or_else(|| usual(stream)).min(fit));
        }
    }
    let blocks = blocks.filter(|blocks| *blocks >= BLOCKS_MIN).unwrap_or(1);
    Ok(of_blocks(stream, block_rows, blocks))
}

/// Bytes of the dictionary of a column of text, as the first rows have it; `None` where too few of them repeat for one.
fn dictionary_bytes(
    first: &Block,
    column: usize,
    rows_max: usize,
) -> Result<Option<usize>, ArrowError> {
    let (mut distinct, mut rows, mut bytes) = (HashSet::new(), 0, 0);
    for part in first.parts(column)? {
        let Some(texts) = part.as_string_opt::<i32>() else { return Ok(None) };
        let of_part = texts.len().min(rows_max - rows);
        rows += of_part;
        for text in texts.iter().take(of_part).flatten() {
            if distinct.insert(text) {
                bytes += size_of::<u32>() + text.len();
            }
        }
    }
    let repeats = distinct.len() * 10 <= rows * DISTINCT_TENTHS_MAX;
    Ok(repeats.then_some(bytes))
}
