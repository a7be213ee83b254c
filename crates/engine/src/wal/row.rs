//! The compact encoding of single rows.
//!
//! A row is a bitmap of nulls, one bit for each nullable column (least bit first, 1: null),
//! rounded up to bytes; then each value that is not null: little-endian in its column's
//! width, a boolean as one byte, text and binary as a 32-bit length and the bytes. Rows stand
//! one behind the other. Encoding and decoding allocate nothing for a row.

use arrow_schema::{Field, Schema};
use timestrata_format::DecodeError;
use timestrata_format::input::Input;

use crate::cell::{CELL_BYTES_MAX, CellKind as Kind};
use crate::{Cell, Error, ErrorKind, Result, Stream, memtable};

/// Rows of up to so many columns are decoded without an allocation.
const FEW_COLUMNS: usize = 8;

impl Kind {
    /// The fewest bytes a value takes.
    fn bytes_min(self) -> usize {
        match self {
            Self::Bool | Self::Int8 | Self::UInt8 => 1,
            Self::Int16 | Self::UInt16 => 2,
            Self::Int32 | Self::UInt32 | Self::Float32 | Self::Bytes | Self::Text => 4,
            Self::Int64 | Self::UInt64 | Self::Float64 => 8,
            Self::FixedBytes(width) => width,
            Self::Nothing => 0,
        }
    }
}

#[derive(Debug, Clone, Copy)]
struct LoggedColumn {
    kind: Kind,
    /// Its place in the bitmap of nulls.
    null_bit: Option<usize>,
}

/// How rows of one schema are written: made once, used for every row.
#[derive(Debug, Clone)]
pub(crate) struct RowLayout {
    columns: Vec<LoggedColumn>,
    bitmap_bytes: usize,
    /// The fewest bytes of a row. One of no bytes could stand any number of times in a body.
    row_bytes_min: usize,
}

impl RowLayout {
    /// For the columns of `schema`; `InvalidArgument` if one has a type that no cell has.
    pub(crate) fn of(schema: &Schema) -> Result<Self> {
        Self::of_fields(schema.fields().iter().map(AsRef::as_ref))
    }

    /// For the keys of a stream's rows, which delete them. They say no more, so every column has to have
    /// a type that cells have: the memtable makes a row of them.
    ///
    /// # Errors
    /// As [`RowLayout::of`]; `InvalidArgument` too where the stream keeps every row.
    pub(crate) fn of_keys(stream: &Stream) -> Result<Self> {
        if !stream.is_latest() {
            return Err(memtable::keeps_every_row(stream));
        }
        Self::of(stream.schema())?;
        Self::of_key_fields(stream)
    }

    /// For the keys of a stream, whatever its other columns are.
    ///
    /// # Errors
    /// As [`RowLayout::of`].
    pub(crate) fn of_key_fields(stream: &Stream) -> Result<Self> {
        Self::of_fields(stream.key_fields())
    }

    fn of_fields<'f>(fields: impl Iterator<Item = &'f Field>) -> Result<Self> {
        let mut columns = Vec::with_capacity(fields.size_hint().0);
        let mut nullable_columns = 0;
        for field in fields {
            let Some(kind) = Kind::of_field(field) else {
                return Err(Error::new(
                    ErrorKind::InvalidArgument,
                    format!(
                        "column '{}' has type {}, which single rows can't have; insert a batch",
                        field.name(),
                        field.data_type()
                    ),
                ));
            };
            let null_bit = field.is_nullable().then_some(nullable_columns);
            nullable_columns += usize::from(field.is_nullable());
            columns.push(LoggedColumn { kind, null_bit });
        }
        let bitmap_bytes = nullable_columns.div_ceil(8);
        let values = columns.iter().filter(|column: &&LoggedColumn| column.null_bit.is_none());
        let row_bytes_min = bitmap_bytes + values.map(|c| c.kind.bytes_min()).sum::<usize>();
        Ok(Self { columns, bitmap_bytes, row_bytes_min })
    }

    /// Appends one row: one cell a column, each of its column's type. It takes exactly the rows that
    /// `memtable::check_row` takes: both ask [`Kind::put`]. On an error `out` may hold a part of the row.
    pub(crate) fn encode(&self, cells: &[Cell<'_>], out: &mut Vec<u8>) -> Result<()> {
        if cells.len() != self.columns.len() {
            return Err(Error::new(
                ErrorKind::InvalidData,
                format!("a row of {} cells for {} columns", cells.len(), self.columns.len()),
            ));
        }
        let bitmap = out.len();
        out.resize(bitmap + self.bitmap_bytes, 0);
        for (index, (column, cell)) in self.columns.iter().zip(cells).enumerate() {
            match (cell, column.null_bit) {
                (Cell::Null, Some(bit)) => out[bitmap + bit / 8] |= 1 << (bit % 8),
                _ => {
                    if !column.kind.put(*cell, |bytes| out.extend_from_slice(bytes)) {
                        return Err(misfit(index, column.kind, cell));
                    }
                }
            }
        }
        Ok(())
    }

    /// Gives every row of a `Rows` entry's body to `take`, in order. The slice is the same
    /// for each row. The rows are as `memtable::check_row` wants them, whatever the bytes.
    pub(crate) fn decode<'a>(
        &self,
        body: &'a [u8],
        mut take: impl FnMut(&[Cell<'a>]),
    ) -> std::result::Result<(), DecodeError> {
        if self.row_bytes_min == 0 && !body.is_empty() {
            return Err(DecodeError::new(0, "row", "no byte", body.len()));
        }
        let mut few = [Cell::Null; FEW_COLUMNS];
        let mut many = Vec::new();
        let cells = match few.get_mut(..self.columns.len()) {
            Some(cells) => cells,
            None => {
                many.resize(self.columns.len(), Cell::Null);
                many.as_mut_slice()
            }
        };
        let mut input = Input::new(body);
        while input.remaining() > 0 {
            let bitmap = input.bytes(self.bitmap_bytes, "null bitmap of a row")?;
            for (cell, column) in cells.iter_mut().zip(&self.columns) {
                let is_null = column.null_bit.is_some_and(|bit| {
                    bitmap.get(bit / 8).is_some_and(|byte| byte >> (bit % 8) & 1 == 1)
                });
                *cell = match is_null {
                    true => Cell::Null,
                    false => read_cell(column.kind, &mut input)?,
                };
            }
            take(cells);
        }
        Ok(())
    }
}

fn misfit(index: usize, kind: Kind, cell: &Cell<'_>) -> Error {
    Error::new(ErrorKind::InvalidData, format!("column {index} takes {kind:?}, not {cell:?}"))
}

/// Part of who calls it, so that a cell is made where it stays: what is stored in pieces is slow to load as a whole.
#[inline(always)]
fn read_cell<'a>(kind: Kind, input: &mut Input<'a>) -> std::result::Result<Cell<'a>, DecodeError> {
    let what = "value of a row";
    Ok(match kind {
        Kind::Bool => Cell::Bool(input.flag(what)?),
        Kind::Int8 => Cell::Int(i64::from(i8::from_le_bytes(input.array(what)?))),
        Kind::Int16 => Cell::Int(i64::from(i16::from_le_bytes(input.array(what)?))),
        Kind::Int32 => Cell::Int(i64::from(i32::from_le_bytes(input.array(what)?))),
        Kind::Int64 => Cell::Int(input.i64(what)?),
        Kind::UInt8 => Cell::UInt(u64::from(input.u8(what)?)),
        Kind::UInt16 => Cell::UInt(u64::from(u16::from_le_bytes(input.array(what)?))),
        Kind::UInt32 => Cell::UInt(u64::from(input.u32(what)?)),
        Kind::UInt64 => Cell::UInt(input.u64(what)?),
        Kind::Float32 => Cell::Float(f64::from(f32::from_le_bytes(input.array(what)?))),
        Kind::Float64 => Cell::Float(f64::from_le_bytes(input.array(what)?)),
        Kind::FixedBytes(width) => Cell::Bytes(input.bytes(width, what)?),
        Kind::Bytes => Cell::Bytes(read_variable(input)?),
        Kind::Text => Cell::Text(read_text(input)?),
        Kind::Nothing => {
            return Err(DecodeError::new(input.offset(), what, "null", "a value"));
        }
    })
}

fn read_text<'a>(input: &mut Input<'a>) -> std::result::Result<&'a str, DecodeError> {
    let offset = input.offset();
    let text = str::from_utf8(read_variable(input)?);
    text.map_err(|error| DecodeError::new(offset, "value of a row", "UTF-8", error))
}

#[inline]
fn read_variable<'a>(input: &mut Input<'a>) -> std::result::Result<&'a [u8], DecodeError> {
    let (offset, what) = (input.offset(), "value of a row");
    let bytes = input.prefixed(what)?;
    match bytes.len() <= CELL_BYTES_MAX {
        true => Ok(bytes),
        false => Err(DecodeError::new(offset, what, CELL_BYTES_MAX, bytes.len())),
    }
}

#[cfg(test)]
mod tests;
