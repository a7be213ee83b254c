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
    check_cells(stream, "a row", fields.len(), fields.iter().map(AsRef::as_ref), cells)
}

/// Whether `cells` are one key of the stream, and one that can be deleted: one cell a key column.
///
/// # Errors
/// As [`check_row`]; `InvalidArgument` where the stream doesn't keep the latest row a key.
pub(crate) fn check_keys(stream: &Stream, cells: &[Cell<'_>]) -> Result<()> {
    if !stream.is_latest() {
        return Err(keeps_every_row(stream));
    }
    let keys = stream.key_columns();
    check_cells(stream, "a key", keys.len(), stream.key_fields(), cells)
}

/// Says that a stream has no keys to delete.
#[cold]
pub(crate) fn keeps_every_row(stream: &Stream) -> Error {
    let message = format!(
        "stream '{}' keeps every row: delete a range; only streams that keep the latest \
         row a key delete by key",
        stream.name()
    );
    Error::new(ErrorKind::InvalidArgument, message)
}

#[inline]
fn check_cells<'f>(
    stream: &Stream,
    what: &str,
    columns: usize,
    fields: impl Iterator<Item = &'f Field>,
    cells: &[Cell<'_>],
) -> Result<()> {
    if cells.len() != columns {
        let why = format!("{what} has {columns} columns, found {} cells", cells.len());
        return Err(stream.spec().error(ErrorKind::InvalidData, why));
    }
    for (field, cell) in fields.zip(cells) {
        if !fits(field, *cell) {
            return Err(misfit(stream, field, *cell));
        }
    }
    Ok(())
}

/// Rows of up to so many columns are put together without an allocation.
const FEW_COLUMNS: usize = 8;
/// What stands in columns of fixed binary that a deletion says nothing of, where they are not wider.
const ZEROS: [u8; 64] = [0; 64];

/// Gives the row to `take` by which a key is deleted: beside the key null, or what columns without
/// nulls have by default.
pub(super) fn with_deletion(stream: &Stream, keys: &[Cell<'_>], take: impl FnOnce(&[Cell<'_>])) {
    let fields = stream.schema().fields();
    let widest = fields.iter().map(|field| zeros_of(field)).max().unwrap_or(0);
    let many_zeros = vec![0; if widest > ZEROS.len() { widest } else { 0 }];
    let zeros = if many_zeros.is_empty() { &ZEROS[..] } else { &many_zeros };
    let (mut few, mut many) = ([Cell::Null; FEW_COLUMNS], Vec::new());
    let cells = match few.get_mut(..fields.len()) {
        Some(cells) => cells,
        None => {
            many.resize(fields.len(), Cell::Null);
            many.as_mut_slice()
        }
    };
    for (cell, field) in cells.iter_mut().zip(fields) {
        *cell = default_cell(field, zeros);
    }
    for (column, key) in stream.key_columns().iter().zip(keys) {
        cells[*column] = *key;
    }
    take(cells);
}

/// Zeros that a column has by default.
fn zeros_of(field: &Field) -> usize {
    match (field.is_nullable(), field.data_type()) {
        (false, DataType::FixedSizeBinary(width)) => usize::try_from(*width).unwrap_or(0),
        _ => 0,
    }
}

fn default_cell<'z>(field: &Field, zeros: &'z [u8]) -> Cell<'z> {
    use CellKind as K;
    if field.is_nullable() {
        return Cell::Null;
    }
    match CellKind::of_field(field) {
        None | Some(K::Nothing) => Cell::Null,
        Some(K::Bool) => Cell::Bool(false),
        Some(K::Int8 | K::Int16 | K::Int32 | K::Int64) => Cell::Int(0),
        Some(K::UInt8 | K::UInt16 | K::UInt32 | K::UInt64) => Cell::UInt(0),
        Some(K::Float32 | K::Float64) => Cell::Float(0.0),
        Some(K::FixedBytes(width)) => Cell::Bytes(zeros.get(..width).unwrap_or_default()),
        Some(K::Bytes) => Cell::Bytes(&[]),
        Some(K::Text) => Cell::Text(""),
    }
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
