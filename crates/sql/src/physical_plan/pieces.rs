//! Batches as operators like them: no larger than asked for, and saying of their memory what they
//! hold, and not what the file behind them has.
//!
//! A column of a run is a piece of the mapped file, and to Arrow its memory is the whole file.
//! An operator that counts memory would count the file anew for each batch, and give up. So the
//! buffers are handed on as pieces of their own, which keep the file alive; next to nothing is
//! copied.

use std::sync::Arc;

use bytes::Bytes;
use datafusion::arrow::array::MutableArrayData;
use datafusion::arrow::array::cast::AsArray;
use datafusion::arrow::array::downcast_primitive_array;
use datafusion::arrow::array::types::{
    BinaryType, ByteArrayType, LargeBinaryType, LargeUtf8Type, Utf8Type,
};
use datafusion::arrow::array::{
    Array, ArrayRef, ArrowPrimitiveType, BooleanArray, GenericByteArray, PrimitiveArray,
    RecordBatch, RecordBatchOptions, make_array,
};
use datafusion::arrow::buffer::{BooleanBuffer, Buffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use datafusion::arrow::datatypes::{ArrowNativeType, DataType};
use datafusion::arrow::error::ArrowError;

/// Memory that may be counted too much, a column.
const SLACK_BYTES: usize = 16 << 10;

/// The rows of `batch` from `start` on, `rows` of them, as a batch of their own.
pub(super) fn piece(
    batch: &RecordBatch,
    start: usize,
    rows: usize,
) -> Result<RecordBatch, ArrowError> {
    let columns = batch.columns().iter().map(|column| exact(&column.slice(start, rows)));
    let columns = columns.collect::<Result<Vec<_>, _>>()?;
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    RecordBatch::try_new_with_options(batch.schema(), columns, &options)
}

/// The same values, with no more memory to their name than they have.
fn exact(array: &ArrayRef) -> Result<ArrayRef, ArrowError> {
    let used = array.to_data().get_slice_memory_size()?;
    if array.get_buffer_memory_size() <= 2 * used + SLACK_BYTES {
        return Ok(Arc::clone(array));
    }
    let column = array.as_ref();
    Ok(downcast_primitive_array!(
        column => Arc::new(exact_primitive(column)),
        DataType::Boolean => {
            let column = column.as_boolean();
            Arc::new(BooleanArray::new(exact_bits(column.values()), exact_nulls(column.nulls())))
        }
        DataType::Utf8 => Arc::new(exact_bytes::<Utf8Type>(column)?),
        DataType::Utf8View => Arc::new(column.as_string_view().gc()),
        DataType::LargeUtf8 => Arc::new(exact_bytes::<LargeUtf8Type>(column)?),
        DataType::Binary => Arc::new(exact_bytes::<BinaryType>(column)?),
        DataType::LargeBinary => Arc::new(exact_bytes::<LargeBinaryType>(column)?),
        // Who asks for codes knows their dictionary again, and counts neither.
        DataType::Dictionary(_, _) => Arc::clone(array),
        _ => copy(column)?,
    ))
}

/// A copy, of types that are not taken apart here.
fn copy(array: &dyn Array) -> Result<ArrayRef, ArrowError> {
    let data = array.to_data();
    let mut copy = MutableArrayData::new(vec![&data], false, data.len());
    copy.try_extend(0, 0, data.len())?;
    Ok(make_array(copy.freeze()))
}

/// Gives a piece of a buffer to [`Bytes`], so that it can be a buffer of its own.
struct BufferPiece(Buffer);

impl AsRef<[u8]> for BufferPiece {
    fn as_ref(&self) -> &[u8] {
        self.0.as_slice()
    }
}

fn exact_buffer(buffer: &Buffer) -> Buffer {
    Buffer::from(Bytes::from_owner(BufferPiece(buffer.clone())))
}

fn exact_bits(bits: &BooleanBuffer) -> BooleanBuffer {
    let (start, skipped) = (bits.offset() / 8, bits.offset() % 8);
    let bytes = (skipped + bits.len()).div_ceil(8);
    BooleanBuffer::new(
        exact_buffer(&bits.inner().slice_with_length(start, bytes)),
        skipped,
        bits.len(),
    )
}

fn exact_nulls(nulls: Option<&NullBuffer>) -> Option<NullBuffer> {
    nulls.map(|nulls| NullBuffer::new(exact_bits(nulls.inner())))
}

fn exact_primitive<T: ArrowPrimitiveType>(array: &PrimitiveArray<T>) -> PrimitiveArray<T> {
    let values = ScalarBuffer::new(exact_buffer(array.values().inner()), 0, array.len());
    PrimitiveArray::new(values, exact_nulls(array.nulls()))
        .with_data_type(array.data_type().clone())
}

/// Text and bytes: the offsets are copied, to count from the first value.
fn exact_bytes<T: ByteArrayType>(array: &dyn Array) -> Result<GenericByteArray<T>, ArrowError> {
    let array = array.as_bytes::<T>();
    let offsets = array.value_offsets();
    let (first, last) = match (offsets.first(), offsets.last()) {
        (Some(first), Some(last)) => (*first, *last),
        _ => return Ok(array.clone()),
    };
    let (start, end) = (first.as_usize(), last.as_usize());
    let values = exact_buffer(&array.values().slice_with_length(start, end - start));
    let offsets: ScalarBuffer<T::Offset> = offsets.iter().map(|offset| *offset - first).collect();
    GenericByteArray::try_new(OffsetBuffer::new(offsets), values, exact_nulls(array.nulls()))
}

#[cfg(test)]
mod tests {
    use datafusion::arrow::array::{Int64Array, StringArray};

    use super::*;

    #[test]
    fn a_piece_counts_its_own_rows_only() {
        let rows = 200_000;
        let text: StringArray = (0..rows).map(|row| Some(format!("value {row}"))).collect();
        let number: Int64Array = (0..rows).map(|row| (row % 7 != 0).then_some(row)).collect();
        let flag: BooleanArray =
            (0..rows).map(|row| (row % 5 != 0).then_some(row % 2 == 0)).collect();
        let columns: Vec<(&str, ArrayRef)> =
            vec![("text", Arc::new(text)), ("number", Arc::new(number)), ("flag", Arc::new(flag))];
        let batch = RecordBatch::try_from_iter_with_nullable(
            columns.into_iter().map(|(name, column)| (name, column, true)),
        )
        .unwrap();
        let cut = piece(&batch, 1_003, 1_000).unwrap();
        assert_eq!(cut, batch.slice(1_003, 1_000));
        assert!(cut.get_array_memory_size() < 64 << 10, "{}", cut.get_array_memory_size());
    }
}
