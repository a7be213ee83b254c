//! Columns that a typed log is given while it has entries.
//!
//! Entries that are there hold nothing in a new column. A handle keeps the columns that the log had when it was opened: what it writes
//! has nothing in the others, and who wants these takes [`Timelog::current`].

use std::sync::Arc;

use arrow_array::{RecordBatch, new_null_array};
use arrow_schema::{Field, FieldRef, Schema, SchemaRef};
use timestrata_engine::{Cell, Error, ErrorKind, Result};

use super::options::columns_of_stream;
use super::{Codec, Timelog, ValueColumns};

impl Timelog {
    /// Adds columns to a typed log whose values have named parts. Gives whether anything was to be done: a column that is there
    /// with the same type is fine.
    ///
    /// ```
    /// use arrow_schema::{DataType, Field};
    /// use timestrata_engine::{Cell, Durability, Settings, Store};
    /// use timestrata_timelog::{Timelog, TimelogOptions, ValueColumns};
    ///
    /// # fn main() -> timestrata_engine::Result<()> {
    /// # let store = Store::memory(Settings::default())?;
    /// let price = ValueColumns::record([Field::new("price", DataType::Float64, false)])?;
    /// let trades = Timelog::create(&store, "trades", TimelogOptions::typed(price))?;
    /// trades.append_cells(&[Cell::Int(1), Cell::Float(7.5)], Durability::Written)?;
    /// let shares = Field::new("shares", DataType::Int64, true).into();
    /// assert!(trades.add_columns(&[shares])?);
    ///
    /// let trades = trades.current()?;
    /// trades.append_cells(&[Cell::Int(2), Cell::Float(8.0), Cell::Int(100)], Durability::Written)?;
    /// let Some(block) = trades.range(..)?.blocks().next().transpose()? else { panic!("it is empty") };
    /// assert_eq!((block.columns().len(), block.columns()[1].null_count()), (2, 1));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// `AlreadyExists` for a column that is there with another type; `InvalidArgument` where values have no named parts, and for names
    /// and types that can't be.
    pub fn add_columns(&self, added: &[FieldRef]) -> Result<bool> {
        let refuse = |kind: ErrorKind, why: String| {
            Err(Error::new(kind, format!("time log '{}': {why}", self.name())))
        };
        let lock = self.store().model_lock(self.stream_id())?;
        let _alone = lock.write();
        let stream = self.store().stream_of(self.stream_id())?;
        if self.codec() != Codec::Arrow || !columns_of_stream(&stream)?.is_record() {
            let why = "its values have no columns that more could be added to".to_owned();
            return refuse(ErrorKind::InvalidArgument, why);
        }
        let mut fields = stream.schema().fields().to_vec();
        for column in added {
            match fields.iter().find(|known| known.name() == column.name()) {
                Some(known) if known.data_type() == column.data_type() => {}
                Some(known) => {
                    let (name, known) = (known.name(), known.data_type());
                    let why = format!("it has a column '{name}' of type {known} already");
                    return refuse(ErrorKind::AlreadyExists, why);
                }
                None => {
                    // In entries that are there it holds nothing.
                    let field = Field::new(column.name(), column.data_type().clone(), true);
                    fields.push(Arc::new(field));
                }
            }
        }
        if fields.len() == stream.schema().fields().len() {
            return Ok(false);
        }
        ValueColumns::record(fields.iter().skip(1).cloned())?;
        self.store().alter_stream(self.stream_id(), Arc::new(Schema::new(fields)))?;
        Ok(true)
    }

    /// Whether the log has got columns that this handle does not know.
    ///
    /// # Errors
    /// `NotFound` if the log was dropped.
    pub fn is_outdated(&self) -> Result<bool> {
        if self.codec() != Codec::Arrow {
            return Ok(false);
        }
        let stream = self.store().stream_of(self.stream_id())?;
        Ok(stream.schema().fields() != self.stream().schema().fields())
    }

    /// The log with the columns that it has by now.
    ///
    /// # Errors
    /// `NotFound` if the log was dropped.
    pub fn current(&self) -> Result<Self> {
        match self.is_outdated()? {
            true => Self::of_stream(self.store(), self.store().stream_of(self.stream_id())?),
            false => Ok(self.clone()),
        }
    }

    /// Rows of this handle with the columns that the log has by now.
    pub(super) fn with_all_columns(&self, batch: RecordBatch) -> Result<RecordBatch> {
        match self.codec() {
            Codec::Arrow => {
                let stream = self.store().stream_of(self.stream_id())?;
                with_columns(&batch, stream.schema())
            }
            _ => Ok(batch),
        }
    }

    /// A row of this handle with the columns that the log has by now; `None` if it has them.
    pub(super) fn padded<'a>(&self, cells: &[Cell<'a>]) -> Result<Option<Vec<Cell<'a>>>> {
        if self.codec() != Codec::Arrow {
            return Ok(None);
        }
        let columns = self.store().stream_of(self.stream_id())?.schema().fields().len();
        let is_short =
            cells.len() < columns && cells.len() == self.stream().schema().fields().len();
        Ok(is_short.then(|| {
            let missing = columns - cells.len();
            cells.iter().copied().chain(std::iter::repeat_n(Cell::Null, missing)).collect()
        }))
    }
}

/// Rows with the columns of a schema: those that they lack hold nothing.
pub(super) fn with_columns(batch: &RecordBatch, schema: &SchemaRef) -> Result<RecordBatch> {
    if batch.schema_ref().fields() == schema.fields() {
        return Ok(batch.clone());
    }
    let columns = schema.fields().iter().map(|field| match batch.column_by_name(field.name()) {
        Some(column) => Arc::clone(column),
        None => new_null_array(field.data_type(), batch.num_rows()),
    });
    RecordBatch::try_new(Arc::clone(schema), columns.collect()).map_err(|cause| {
        let what = format!("rows can't be given the columns that their log has by now: {cause}");
        Error::new(ErrorKind::InvalidData, what).caused_by(cause)
    })
}
