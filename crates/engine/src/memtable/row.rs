//! Single rows of cells: whether they fit their stream, and how their keys compare.

use std::cmp::Ordering;

use arrow_schema::{DataType, Field};

use crate::cell::{CELL_BYTES_MAX, CellKind};
use crate::{Cell, Error, ErrorKind, Result, Stream};

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
    match (CellKind::of_field(field), cell) {
        (None, _) => false,
        (Some(_), Cell::Null) => field.is_nullable(),
        (Some(kind), cell) => kind.put(cell, |_| {}),
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
