//! Copying pieces of columns, a piece at a time: for the types that most columns have. The
//! rest goes row by row through `arrow-select`.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{BinaryType, LargeBinaryType};
use arrow_array::{Array, ArrayRef, GenericBinaryArray, OffsetSizeTrait, make_array};
use arrow_buffer::{Buffer, MutableBuffer, OffsetBuffer, ScalarBuffer};
use arrow_data::ArrayData;
use arrow_schema::{ArrowError, DataType};

/// Rows of one block that stay together.
#[derive(Debug, Clone, Copy)]
pub(super) struct Piece {
    /// Place of the block among those held.
    pub(super) held: usize,
    pub(super) start: usize,
    pub(super) rows: usize,
}

/// Copies pieces of a column of several blocks, in all `rows` rows; `None` where the type
/// or nulls ask for another way.
pub(super) fn copy_pieces(
    arrays: &[&dyn Array],
    pieces: &[Piece],
    rows: usize,
) -> Result<Option<ArrayRef>, ArrowError> {
    let Some(first) = arrays.first() else { return Ok(None) };
    let data_type = first.data_type();
    if arrays.iter().any(|array| array.null_count() > 0 || array.data_type() != data_type) {
        return Ok(None);
    }
    let width = match data_type {
        DataType::FixedSizeBinary(size) => usize::try_from(*size).ok(),
        _ => data_type.primitive_width(),
    };
    match (data_type, width) {
        (_, Some(width)) if width > 0 => copy_fixed(arrays, pieces, rows, width).map(Some),
        (DataType::Binary, _) => {
            let arrays: Vec<_> = arrays.iter().map(|a| a.as_bytes::<BinaryType>()).collect();
            copy_binary(&arrays, pieces, rows).map(Some)
        }
        (DataType::LargeBinary, _) => {
            let arrays: Vec<_> = arrays.iter().map(|a| a.as_bytes::<LargeBinaryType>()).collect();
            copy_binary(&arrays, pieces, rows).map(Some)
        }
        _ => Ok(None),
    }
}

fn copy_fixed(
    arrays: &[&dyn Array],
    pieces: &[Piece],
    rows: usize,
    width: usize,
) -> Result<ArrayRef, ArrowError> {
    let values: Vec<(Buffer, usize)> = arrays
        .iter()
        .map(|array| {
            let data = array.to_data();
            (data.buffers()[0].clone(), data.offset() * width)
        })
        .collect();
    let mut copied = MutableBuffer::with_capacity(rows * width);
    for piece in pieces {
        let (values, base) = &values[piece.held];
        let start = base + piece.start * width;
        copied.extend_from_slice(&values.as_slice()[start..start + piece.rows * width]);
    }
    let data_type = arrays[0].data_type().clone();
    Ok(make_array(ArrayData::try_new(data_type, rows, None, 0, vec![copied.into()], vec![])?))
}

fn copy_binary<O: OffsetSizeTrait>(
    arrays: &[&GenericBinaryArray<O>],
    pieces: &[Piece],
    rows: usize,
) -> Result<ArrayRef, ArrowError> {
    let span = |piece: &Piece| {
        let offsets = arrays[piece.held].value_offsets();
        offsets[piece.start].as_usize()..offsets[piece.start + piece.rows].as_usize()
    };
    let bytes: usize = pieces.iter().map(|piece| span(piece).len()).sum();
    if O::from_usize(bytes).is_none() {
        return Err(ArrowError::OffsetOverflowError(bytes));
    }
    let mut values = MutableBuffer::with_capacity(bytes);
    let mut offsets: Vec<O> = Vec::with_capacity(rows + 1);
    offsets.push(O::usize_as(0));
    for piece in pieces {
        let array = arrays[piece.held];
        let taken = span(piece);
        // What is added to the piece's offsets; both stay below the last one, which fits.
        let (base, origin) = (O::usize_as(values.len()), O::usize_as(taken.start));
        let ends = &array.value_offsets()[piece.start + 1..=piece.start + piece.rows];
        offsets.extend(ends.iter().map(|end| *end - origin + base));
        values.extend_from_slice(&array.value_data()[taken]);
    }
    let offsets = OffsetBuffer::new(ScalarBuffer::from(offsets));
    Ok(Arc::new(GenericBinaryArray::<O>::try_new(offsets, values.into(), None)?))
}

#[cfg(test)]
mod tests {
    use arrow_array::{BinaryArray, FixedSizeBinaryArray, TimestampSecondArray};
    use arrow_select::concat::concat;

    use super::*;

    #[test]
    fn copied_pieces_are_what_slices_put_together_are() {
        let numbers = 0..50_i64;
        let text: Vec<String> = numbers.clone().map(|n| "x".repeat(n as usize % 7)).collect();
        let columns: [ArrayRef; 4] = [
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
