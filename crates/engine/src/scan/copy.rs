//! Copying pieces of columns, a piece at a time: for the types that most columns have. The
//! rest goes row by row through `arrow-select`.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{BinaryType, ByteArrayType, LargeBinaryType, LargeUtf8Type, Utf8Type};
use arrow_array::{Array, ArrayRef, GenericByteArray, make_array};
use arrow_buffer::{
    ArrowNativeType, BooleanBufferBuilder, Buffer, MutableBuffer, NullBuffer, OffsetBuffer,
    ScalarBuffer,
};
use arrow_data::ArrayData;
use arrow_schema::{ArrowError, DataType};

/// Pieces of up to so many rows are copied as if they were so long.
const SHORT_ROWS: usize = 8;

/// Rows of one block that stay together.
#[derive(Debug, Clone, Copy)]
pub(super) struct Piece {
    /// Place of the block among those held.
    pub(super) held: usize,
    pub(super) start: usize,
    pub(super) rows: usize,
}

/// Copies pieces of a column of several blocks, in all `rows` rows; `None` where the type
/// asks for another way.
pub(super) fn copy_pieces(
    arrays: &[&dyn Array],
    pieces: &[Piece],
    rows: usize,
) -> Result<Option<ArrayRef>, ArrowError> {
    let Some(first) = arrays.first() else { return Ok(None) };
    let data_type = first.data_type();
    if arrays.iter().any(|array| array.data_type() != data_type) {
        return Ok(None);
    }
    let width = match data_type {
        DataType::FixedSizeBinary(size) => usize::try_from(*size).ok(),
        _ => data_type.primitive_width(),
    };
    match (data_type, width) {
        (_, Some(width)) if width > 0 => copy_fixed(arrays, pieces, rows, width).map(Some),
        (DataType::Binary, _) => copy_bytes::<BinaryType>(arrays, pieces, rows).map(Some),
        (DataType::LargeBinary, _) => copy_bytes::<LargeBinaryType>(arrays, pieces, rows).map(Some),
        (DataType::Utf8, _) => copy_bytes::<Utf8Type>(arrays, pieces, rows).map(Some),
        (DataType::LargeUtf8, _) => copy_bytes::<LargeUtf8Type>(arrays, pieces, rows).map(Some),
        _ => Ok(None),
    }
}

/// Which rows are null; `None` if no row can be.
fn copy_nulls(arrays: &[&dyn Array], pieces: &[Piece], rows: usize) -> Option<NullBuffer> {
    if arrays.iter().all(|array| array.null_count() == 0) {
        return None;
    }
    let mut valid = BooleanBufferBuilder::new(rows);
    for piece in pieces {
        match arrays[piece.held].nulls() {
            None => valid.append_n(piece.rows, true),
            Some(nulls) if piece.rows == 1 => valid.append(nulls.is_valid(piece.start)),
            Some(nulls) => {
                let start = nulls.offset() + piece.start;
                valid.append_packed_range(start..start + piece.rows, nulls.validity());
            }
        }
    }
    Some(NullBuffer::new(valid.finish()))
}

fn copy_fixed(
    arrays: &[&dyn Array],
    pieces: &[Piece],
    rows: usize,
    width: usize,
) -> Result<ArrayRef, ArrowError> {
    let buffers: Vec<(Buffer, usize)> = arrays
        .iter()
        .map(|array| {
            let data = array.to_data();
            (data.buffers()[0].clone(), data.offset() * width)
        })
        .collect();
    let values: Vec<&[u8]> = buffers.iter().map(|(buffer, start)| &buffer[*start..]).collect();
    let copied = match width {
        4 => copy_values::<4>(&values, pieces, rows),
        8 => copy_values::<8>(&values, pieces, rows),
        16 => copy_values::<16>(&values, pieces, rows),
        _ => {
            let mut copied = MutableBuffer::with_capacity(rows * width);
            for piece in pieces {
                let span = piece.start * width..(piece.start + piece.rows) * width;
                copied.extend_from_slice(&values[piece.held][span]);
            }
            copied
        }
    };
    let nulls = copy_nulls(arrays, pieces, rows);
    let data = ArrayData::builder(arrays[0].data_type().clone()).len(rows).nulls(nulls);
    Ok(make_array(data.add_buffer(copied.into()).build()?))
}

fn copy_values<const WIDTH: usize>(
    values: &[&[u8]],
    pieces: &[Piece],
    rows: usize,
) -> MutableBuffer {
    let values: Vec<&[[u8; WIDTH]]> = values.iter().map(|bytes| bytes.as_chunks().0).collect();
    let mut copied = MutableBuffer::from_len_zeroed(rows * WIDTH);
    let mut rest = copied.as_slice_mut().as_chunks_mut::<WIDTH>().0;
    for piece in pieces {
        let source = &values[piece.held][piece.start..];
        // Most pieces are of a few values, for which the call of a general copy costs more than
        // the copy. What is copied too much the next piece covers.
        match (rest.first_chunk_mut(), source.first_chunk::<SHORT_ROWS>()) {
            (Some(target), Some(source)) if piece.rows <= SHORT_ROWS => *target = *source,
            _ => rest[..piece.rows].copy_from_slice(&source[..piece.rows]),
        }
        rest = &mut rest[piece.rows..];
    }
    copied
}

fn copy_bytes<T: ByteArrayType>(
    arrays: &[&dyn Array],
    pieces: &[Piece],
    rows: usize,
) -> Result<ArrayRef, ArrowError> {
    let nulls = copy_nulls(arrays, pieces, rows);
    let columns: Vec<(&[T::Offset], &[u8])> = arrays
        .iter()
        .map(|array| {
            let array = array.as_bytes::<T>();
            (array.value_offsets(), array.value_data())
        })
        .collect();
    let span = |piece: &Piece| {
        let offsets = columns[piece.held].0;
        offsets[piece.start].as_usize()..offsets[piece.start + piece.rows].as_usize()
    };
    let bytes: usize = pieces.iter().map(|piece| span(piece).len()).sum();
    if T::Offset::from_usize(bytes).is_none() {
        return Err(ArrowError::OffsetOverflowError(bytes));
    }
    let mut values: Vec<u8> = Vec::with_capacity(bytes);
    let mut offsets: Vec<T::Offset> = Vec::with_capacity(rows + 1);
    offsets.push(T::Offset::usize_as(0));
    for piece in pieces {
        let (all_offsets, all_values) = columns[piece.held];
        let taken = span(piece);
        // What is added to the piece's offsets; both stay below the last one, which fits.
        let (base, origin) = (T::Offset::usize_as(values.len()), T::Offset::usize_as(taken.start));
        values.extend_from_slice(&all_values[taken]);
        match piece.rows {
            1 => offsets.push(T::Offset::usize_as(values.len())),
            _ => {
                let ends = &all_offsets[piece.start + 1..=piece.start + piece.rows];
                offsets.extend(ends.iter().map(|end| *end - origin + base));
            }
        }
    }
    let offsets = OffsetBuffer::new(ScalarBuffer::from(offsets));
    Ok(Arc::new(GenericByteArray::<T>::try_new(offsets, values.into(), nulls)?))
}

#[cfg(test)]
mod tests {
    use arrow_array::{
        BinaryArray, FixedSizeBinaryArray, Int32Array, Int64Array, LargeStringArray, StringArray,
        TimestampSecondArray,
    };
    use arrow_select::concat::concat;

    use super::*;

    #[test]
    fn copied_pieces_are_what_slices_put_together_are() {
        let numbers = 0..50_i64;
        let text: Vec<String> = numbers.clone().map(|n| "x".repeat(n as usize % 7)).collect();
        let some = numbers.clone().map(|n| (n % 3 != 0).then_some(n));
        let some_text = text.iter().map(|text| (text.len() != 2).then_some(text));
        let columns: [ArrayRef; 8] = [
            Arc::new(Int64Array::from_iter(some.clone())),
            Arc::new(Int32Array::from_iter(some.map(|n| n.map(|n| n as i32)))),
            Arc::new(StringArray::from_iter(some_text.clone())),
            Arc::new(LargeStringArray::from_iter(some_text)),
            Arc::new(TimestampSecondArray::from_iter_values(numbers.clone()).with_timezone("UTC")),
            Arc::new(BinaryArray::from_iter_values(&text)),
            Arc::new(arrow_array::LargeBinaryArray::from_iter_values(&text)),
            Arc::new(
                FixedSizeBinaryArray::try_from_iter(numbers.map(|n| n.to_be_bytes())).unwrap(),
            ),
        ];
        let pieces = [(1, 3, 4), (0, 0, 1), (0, 1, 2), (1, 19, 1), (0, 9, 1)]
            .map(|(held, start, rows)| Piece { held, start, rows });
        for column in &columns {
            let blocks = [column.slice(5, 10), column.slice(20, 20)];
            let slices = pieces.map(|piece| blocks[piece.held].slice(piece.start, piece.rows));
            let expected = concat(&slices.each_ref().map(AsRef::as_ref)).unwrap();
            let arrays = blocks.each_ref().map(AsRef::as_ref);
            let copied = copy_pieces(&arrays, &pieces, 9).unwrap().unwrap();
            assert_eq!(&copied, &expected);
        }
    }
}
