//! Rows gathered into one record batch, to be committed together.

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{Field, Schema, SchemaRef};

use super::column::ColumnBuilder;
use super::row::{check_keys, check_row, inexpressible};
use crate::cell::variable_bytes_of;
use crate::{Cell, Error, ErrorKind, Result, Stream};

/// Bytes of variable width in one batch: Arrow's shorter offsets reach no further.
const VARIABLE_BYTES_MAX: usize = i32::MAX as usize;

/// Gathers rows of cells into a record batch of a stream's columns, without an allocation a row.
///
/// ```
/// use std::sync::Arc;
/// use arrow_schema::{DataType, Field, Schema};
/// use timestrata_engine::{Cell, Changes, Durability, RowBatch, Settings, Store, StreamSpec};
///
/// # fn main() -> timestrata_engine::Result<()> {
/// let schema = Arc::new(Schema::new(vec![
///     Field::new("time", DataType::Int64, false),
///     Field::new("celsius", DataType::Float64, true),
/// ]));
/// let store = Store::memory(Settings::default())?;
/// let id = store.create_stream(StreamSpec::new("kitchen", schema))?;
/// # let Some(stream) = store.stream("kitchen") else { return Ok(()) };
/// let mut rows = RowBatch::new(&stream)?;
/// rows.push(&[Cell::Int(1), Cell::Float(19.5)])?;
/// rows.push(&[Cell::Int(2), Cell::Null])?;
/// store.commit(Changes::new().insert(id, rows.finish()?), Durability::Written)?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct RowBatch {
    stream: Arc<Stream>,
    schema: SchemaRef,
    /// Whether its rows are keys of the stream.
    is_of_keys: bool,
    columns: Vec<ColumnBuilder>,
    rows: usize,
    row_bytes: usize,
    variable_bytes: usize,
    /// Rows of the batch before, and bytes of variable width in each column: what the next one has room
    /// for from the start.
    before: (usize, Vec<usize>),
}

impl RowBatch {
    /// No rows yet.
    ///
    /// # Errors
    /// `InvalidArgument` if the stream has a column that [`Cell`]s can't express.
    pub fn new(stream: &Arc<Stream>) -> Result<Self> {
        Self::with_schema(stream, Arc::clone(stream.schema()), false)
    }

    /// No keys yet of a stream that keeps the latest row a key: its rows have one cell a key column, in key order.
    ///
    /// # Errors
    /// As [`RowBatch::new`].
    pub(crate) fn of_keys(stream: &Arc<Stream>) -> Result<Self> {
        let fields: Vec<Field> = stream.key_fields().cloned().collect();
        Self::with_schema(stream, Arc::new(Schema::new(fields)), true)
    }

    fn with_schema(stream: &Arc<Stream>, schema: SchemaRef, is_of_keys: bool) -> Result<Self> {
        let builder = |field: &Arc<Field>| {
            ColumnBuilder::new(field).ok_or_else(|| {
                stream.spec().error(ErrorKind::InvalidArgument, inexpressible(field))
            })
        };
        let columns: Vec<_> = schema.fields().iter().map(builder).collect::<Result<_>>()?;
        let row_bytes = columns.iter().map(ColumnBuilder::row_bytes).sum();
        Ok(Self {
            stream: Arc::clone(stream),
            schema,
            is_of_keys,
            columns,
            rows: 0,
            row_bytes,
            variable_bytes: 0,
            before: (0, Vec::new()),
        })
    }

    /// Adds a row: one cell a column of the stream's schema, in its order.
    ///
    /// # Errors
    /// `InvalidData` if a cell doesn't fit its column, `TooLarge` for a value of more than 1 GiB
    /// or if the batch would have more than 2 GiB of text and bytes; the batch is as it was.
    pub fn push(&mut self, cells: &[Cell<'_>]) -> Result<()> {
        match self.is_of_keys {
            true => check_keys(&self.stream, cells)?,
            false => check_row(&self.stream, cells)?,
        }
        let variable_bytes = self.variable_bytes + variable_bytes_of(cells);
        if variable_bytes > VARIABLE_BYTES_MAX {
            return Err(Error::new(
                ErrorKind::TooLarge,
                format!(
                    "one batch with {variable_bytes} bytes of text and bytes; it may have \
                     {VARIABLE_BYTES_MAX} at most"
                ),
            ));
        }
        if self.rows == 0 {
            let (rows, bytes) = &self.before;
            let columns = self.columns.iter_mut().zip(bytes);
            columns.for_each(|(column, bytes)| column.reserve(*rows, *bytes));
        }
        for (column, cell) in self.columns.iter_mut().zip(cells) {
            column.append(*cell);
        }
        self.rows += 1;
        self.variable_bytes = variable_bytes;
        Ok(())
    }

    /// Rows in it.
    pub fn len(&self) -> usize {
        self.rows
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// Bytes of all values together.
    pub fn bytes(&self) -> usize {
        self.rows * self.row_bytes + self.variable_bytes
    }

    /// The rows as a batch, in the order in which they were added; none are left.
    ///
    /// # Errors
    /// `InvalidData` if the columns make no batch of the stream's schema.
    pub fn finish(&mut self) -> Result<RecordBatch> {
        let bytes = self.columns.iter().map(ColumnBuilder::variable_bytes).collect();
        self.before = (self.rows, bytes);
        self.rows = 0;
        self.variable_bytes = 0;
        let columns: Vec<ArrayRef> =
            self.columns.iter_mut().map(|column| column.finish(false)).collect();
        RecordBatch::try_new(Arc::clone(&self.schema), columns).map_err(|cause| {
            let why = format!("the rows make no batch: {cause}");
            self.stream.spec().error(ErrorKind::InvalidData, why).caused_by(cause)
        })
    }
}

#[cfg(test)]
mod tests;
