//! Rows of a batch of entries: what they take, and copies of them.

use arrow_array::cast::AsArray;
use arrow_array::{ArrayRef, RecordBatch, UInt64Array};
use arrow_schema::ArrowError;
use arrow_select::take::take_record_batch;
use timestrata_engine::{Error, ErrorKind, Result};

/// Bytes of text and CBOR in rows of a batch.
pub(crate) fn bytes_of(batch: &RecordBatch, rows: impl Iterator<Item = usize> + Clone) -> usize {
    let of_column = |column: &ArrayRef| -> usize {
        let (texts, items) = (column.as_string_opt::<i32>(), column.as_binary_opt::<i32>());
        let offsets = texts.map(|texts| texts.value_offsets());
        let Some(offsets) = offsets.or(items.map(|items| items.value_offsets())) else { return 0 };
        let length = |row: usize| Some(offsets.get(row + 1)?.abs_diff(*offsets.get(row)?) as usize);
        rows.clone().filter_map(length).sum()
    };
    batch.columns().iter().map(of_column).sum()
}

/// Rows of a batch in memory of their own.
pub(crate) fn copied(batch: &RecordBatch, rows: Vec<u64>) -> Result<RecordBatch> {
    take_record_batch(batch, &UInt64Array::from(rows)).map_err(|error| unfit(&error))
}

pub(crate) fn unfit(error: &ArrowError) -> Error {
    Error::new(ErrorKind::TooLarge, format!("the entries don't fit into one batch: {error}"))
}
