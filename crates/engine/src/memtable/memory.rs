//! How much memory batches hold, and copies of those that hold too much.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, RecordBatch, UInt32Array, make_array};
use arrow_buffer::Buffer;
use arrow_data::ArrayData;
use arrow_schema::{ArrowError, DataType};
use arrow_select::take::take;

use super::chunks::failed;

/// Slack that is never worth a copy, in bytes.
const SLACK_BYTES: usize = 4096;

/// Bytes of the allocations that a batch holds, each counted once: columns read from one
/// file or message often share one. (Of few bytes it may be counted more than once.)
pub(super) fn held_bytes(batch: &RecordBatch) -> usize {
    let at_most = batch.columns().iter().map(|column| column.get_buffer_memory_size()).sum();
    if at_most <= SLACK_BYTES {
        // Of single rows, which are merged over and over, looking closer costs more than it tells.
        return at_most;
    }
    let mut allocations = Vec::with_capacity(2 * batch.num_columns());
    for column in batch.columns() {
        collect(&column.to_data(), &mut allocations);
    }
    allocations.sort_unstable();
    allocations.dedup_by_key(|(address, _)| *address);
    allocations.iter().map(|(_, bytes)| bytes).sum()
}

fn collect(data: &ArrayData, allocations: &mut Vec<(usize, usize)>) {
    let nulls = data.nulls().map(|nulls| nulls.inner().inner());
    for buffer in data.buffers().iter().chain(nulls) {
        allocations.push((address(buffer), buffer.capacity()));
    }
    for child in data.child_data() {
        collect(child, allocations);
    }
}

fn address(buffer: &Buffer) -> usize {
    buffer.data_ptr().as_ptr().addr()
}

/// The batch itself, or a copy where it would keep far more memory alive than its rows need.
pub(super) fn compacted(batch: RecordBatch) -> crate::Result<RecordBatch> {
    let held = held_bytes(&batch);
    if held <= SLACK_BYTES {
        return Ok(batch);
    }
    let needed: Result<usize, ArrowError> =
        batch.columns().iter().map(|column| column.to_data().get_slice_memory_size()).sum();
    // Types whose need Arrow can't tell are left alone.
    let Ok(needed) = needed else { return Ok(batch) };
    if held <= 2 * needed + SLACK_BYTES {
        return Ok(batch);
    }
    crate::memory::ask(needed, "to copy rows")?;
    copied(&batch).map_err(failed)
}

/// A copy of a batch that shares nothing with it.
pub(super) fn copied(batch: &RecordBatch) -> Result<RecordBatch, ArrowError> {
    let rows = u32::try_from(batch.num_rows()).map_err(|_| {
        ArrowError::InvalidArgumentError("a batch has more than 4,294,967,295 rows".to_owned())
    })?;
    let rows = UInt32Array::from_iter_values(0..rows);
    let columns: Result<Vec<ArrayRef>, ArrowError> =
        batch.columns().iter().map(|column| copied_column(column, &rows)).collect();
    RecordBatch::try_new(batch.schema(), columns?)
}

fn copied_column(column: &ArrayRef, rows: &UInt32Array) -> Result<ArrayRef, ArrowError> {
    let copy = take(column.as_ref(), rows, None)?;
    Ok(match copy.data_type() {
        // Taking from views copies the views only.
        DataType::Utf8View => Arc::new(copy.as_string_view().gc()),
        DataType::BinaryView => Arc::new(copy.as_binary_view().gc()),
        _ => copy,
    })
}

/// A column of `rows` nulls, or of the type's default (zero, empty) where nulls are not allowed.
pub(super) fn filler(
    data_type: &DataType,
    nullable: bool,
    rows: usize,
) -> Result<ArrayRef, ArrowError> {
    if nullable {
        return Ok(arrow_array::new_null_array(data_type, rows));
    }
    Ok(make_array(default_data(data_type, rows)?))
}

fn default_data(data_type: &DataType, rows: usize) -> Result<ArrayData, ArrowError> {
    let field_data = |field: &arrow_schema::FieldRef, rows: usize| {
        filler(field.data_type(), field.is_nullable(), rows).map(|array| array.to_data())
    };
    let builder = ArrayData::builder(data_type.clone()).len(rows);
    match data_type {
        DataType::Struct(fields) => {
            let children: Result<Vec<_>, ArrowError> =
                fields.iter().map(|field| field_data(field, rows)).collect();
            builder.child_data(children?).build()
        }
        DataType::FixedSizeList(field, size) => {
            let size = usize::try_from(*size).unwrap_or(0);
            builder.add_child_data(field_data(field, rows * size)?).build()
        }
        DataType::Dictionary(_, values) => ArrayData::new_null(data_type, rows)
            .into_builder()
            .nulls(None)
            .child_data(vec![default_data(values, 1)?])
            .build(),
        _ => ArrayData::new_null(data_type, rows).into_builder().nulls(None).build(),
    }
}
