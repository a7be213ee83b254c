//! Single rows of cells: whether they fit their stream, and how their keys compare.

use std::cmp::Ordering;

use arrow_schema::{DataType, Field};

use crate::cell::CellKind;
use crate::{Cell, Error, ErrorKind, Result, Stream};

/// Length of one value at most, in bytes: well inside Arrow's 32-bit offsets.
pub(crate) const CELL_BYTES_MAX: usize = 1 << 30;

/// Whether `cells` are one row of the stream: their number, types, nulls and sizes.
///
/// # Errors
/// `InvalidData` names the first column that doesn't fit, what it takes and what it got;
/// `TooLarge` for a value of more than 1 GiB.
pub(crate) fn check_row(stream: &Stream, cells: &[Cell<'_>]) -> Result<()> {
    let fields = stream.schema().fields();
    if cells.len() != fields.len() {
        let why = format!("a row has {} columns, found {} cells", fields.len(), cells.len());
        return Err(stream.spec().error(ErrorKind::InvalidData, why));
    }
    for (field, cell) in fields.iter().zip(cells) {
        if !fits(field, *cell) {
            return Err(misfit(stream, field, *cell));
        }
    }
    Ok(())
}

#[inline]
fn fits(field: &Field, cell: Cell<'_>) -> bool {
    use DataType as T;
    match (field.data_type(), cell) {
        (
            T::Timestamp(_, _) | T::Int64 | T::Date64 | T::Time64(_) | T::Duration(_),
            Cell::Int(_),
        )
        | (T::UInt64, Cell::UInt(_))
        | (T::Float64, Cell::Float(_))
        | (T::Boolean, Cell::Bool(_)) => true,
        (T::Binary | T::LargeBinary, Cell::Bytes(value)) => value.len() <= CELL_BYTES_MAX,
        (T::Utf8 | T::LargeUtf8, Cell::Text(value)) => value.len() <= CELL_BYTES_MAX,
        (T::FixedSizeBinary(width), Cell::Bytes(value)) => {
            usize::try_from(*width).is_ok_and(|width| width == value.len())
        }
        (T::Int32 | T::Date32 | T::Time32(_), Cell::Int(value)) => i32::try_from(value).is_ok(),
        (T::Int16, Cell::Int(value)) => i16::try_from(value).is_ok(),
        (T::Int8, Cell::Int(value)) => i8::try_from(value).is_ok(),
        (T::UInt32, Cell::UInt(value)) => u32::try_from(value).is_ok(),
        (T::UInt16, Cell::UInt(value)) => u16::try_from(value).is_ok(),
        (T::UInt8, Cell::UInt(value)) => u8::try_from(value).is_ok(),
        // Rounded to the nearest; only what would become infinite is refused.
        (T::Float32, Cell::Float(value)) => !value.is_finite() || (value as f32).is_finite(),
        (_, Cell::Null) => field.is_nullable() && CellKind::of_field(field).is_some(),
        _ => false,
    }
}

#[cold]
fn misfit(stream: &Stream, field: &Field, cell: Cell<'_>) -> Error {
    let (column, data_type) = (field.name(), field.data_type());
    if !Cell::can_express(data_type) {
        return stream.spec().error(ErrorKind::InvalidData, inexpressible(field));
    }
    let found = match cell {
        Cell::Null => "null".to_owned(),
        Cell::Bool(value) => format!("the boolean {value}"),
        Cell::Int(value) => format!("the integer {value}"),
        Cell::UInt(value) => format!("the unsigned integer {value}"),
        Cell::Float(value) => format!("the float {value}"),
        Cell::Bytes(value) => format!("{} bytes", value.len()),
        Cell::Text(value) => format!("a text of {} bytes", value.len()),
    };
    let too_large = matches!(
        (data_type, cell),
        (DataType::Binary | DataType::LargeBinary, Cell::Bytes(_))
            | (DataType::Utf8 | DataType::LargeUtf8, Cell::Text(_))
    );
    if too_large {
        let why = format!(
            "column '{column}' takes at most {CELL_BYTES_MAX} bytes a value, found {found}"
        );
        return stream.spec().error(ErrorKind::TooLarge, why);
    }
    let nulls = if field.is_nullable() { " or null" } else { " without nulls" };
    let why = format!("column '{column}' takes {data_type}{nulls}, found {found}");
    stream.spec().error(ErrorKind::InvalidData, why)
}

/// Says that no cell can be of a column.
pub(super) fn inexpressible(field: &Field) -> String {
    let (column, data_type) = (field.name(), field.data_type());
    format!(
        "column '{column}' has type {data_type}, which single rows can't express; insert record batches"
    )
}

/// Orders a value of a key column as stored against one to be stored, as whole keys do.
pub(super) fn compare_cells(data_type: &DataType, stored: Cell<'_>, new: Cell<'_>) -> Ordering {
    let order = match (stored, new) {
        (Cell::Float(a), Cell::Float(b)) if *data_type == DataType::Float32 => {
            Some(a.total_cmp(&f64::from(b as f32)))
        }
        // Builders give texts back as bytes.
        (Cell::Bytes(a), Cell::Text(b)) => Some(a.cmp(b.as_bytes())),
        (stored, new) => stored.compare(new),
    };
    order.unwrap_or_else(|| panic!("{stored:?} can't be compared with {new:?}"))
}
