//! Typed values: one column, or a record of several, where other codecs have bytes.

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch};
use arrow_buffer::ScalarBuffer;
use arrow_schema::{DataType, Field, FieldRef, Fields, SchemaRef};
use timestrata_engine::{Cell, Durability, Error, ErrorKind, Result, RowBatch, SeqNo};

use super::batch::time_column;
use super::options::{TIME_NAME, VALUE_NAME, columns_of_stream};
use super::{Codec, Timelog};

/// What the values of a typed log are.
///
/// ```
/// use arrow_schema::{DataType, Field};
/// use timestrata_timelog::ValueColumns;
///
/// # fn main() -> timestrata_engine::Result<()> {
/// let celsius = ValueColumns::scalar(DataType::Float64)?;
/// let trade = ValueColumns::record([
///     Field::new("price", DataType::Float64, false),
///     Field::new("shares", DataType::Int64, false),
/// ])?;
/// assert!(!celsius.is_record() && trade.is_record());
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ValueColumns {
    fields: Fields,
    is_record: bool,
}

impl ValueColumns {
    /// One value of this type, or null, an entry.
    ///
    /// # Errors
    /// `InvalidArgument` for a type of which single values can't be appended.
    pub fn scalar(data_type: DataType) -> Result<Self> {
        Self::checked([Arc::new(Field::new(VALUE_NAME, data_type, true))].into(), false)
    }

    /// Several named values an entry.
    ///
    /// # Errors
    /// `InvalidArgument` without fields, for a field called `time`, and as
    /// [`scalar`](Self::scalar).
    pub fn record<F: Into<FieldRef>>(fields: impl IntoIterator<Item = F>) -> Result<Self> {
        Self::checked(fields.into_iter().map(Into::into).collect(), true)
    }

    fn checked(fields: Fields, is_record: bool) -> Result<Self> {
        let refuse = |why: String| Err(Error::new(ErrorKind::InvalidArgument, why));
        if fields.is_empty() {
            return refuse("a typed time log needs a column for its values".to_owned());
        }
        for field in &fields {
            if field.name() == TIME_NAME {
                return refuse(format!("column '{TIME_NAME}' is the log's own: rename it"));
            }
            if !Cell::can_express(field.data_type()) {
                return refuse(format!(
                    "column '{}' has type {}: a time log takes booleans, integers, floats, text, \
                     bytes, dates, times, durations and timestamps",
                    field.name(),
                    field.data_type()
                ));
            }
        }
        Ok(Self { fields, is_record })
    }

    /// The columns of a stream behind its time, if they can be those of a typed log.
    pub(super) fn of_schema(schema: &SchemaRef, is_record: bool) -> Result<Self> {
        Self::checked(schema.fields().iter().skip(1).cloned().collect(), is_record)
    }

    /// The columns, without the time.
    pub fn fields(&self) -> &Fields {
        &self.fields
    }

    /// Whether a value has named parts. Else there is one column, `value`.
    pub fn is_record(&self) -> bool {
        self.is_record
    }
}

impl Timelog {
    /// The columns of its values, if it is typed.
    pub fn columns(&self) -> Option<ValueColumns> {
        let is_typed = self.codec() == Codec::Arrow;
        is_typed.then(|| columns_of_stream(self.stream()).ok()).flatten()
    }

    /// No entries yet, of this typed log. A row is an entry: its time, then one cell a value column.
    ///
    /// ```
    /// use timestrata_engine::{Cell, Durability, Settings, Store};
    /// use arrow_schema::DataType;
    /// use timestrata_timelog::{Timelog, TimelogOptions, ValueColumns};
    ///
    /// # fn main() -> timestrata_engine::Result<()> {
    /// # let store = Store::memory(Settings::default())?;
    /// let options = TimelogOptions::typed(ValueColumns::scalar(DataType::Float64)?);
    /// let log = Timelog::create(&store, "kitchen", options)?;
    /// let mut batch = log.typed_batch()?;
    /// batch.push(&[Cell::Int(1_000), Cell::Float(19.5)])?;
    /// batch.push(&[Cell::Int(2_000), Cell::Null])?;
    /// log.extend_typed(&mut batch, Durability::Written)?;
    /// assert_eq!((batch.len(), log.len()?), (0, 2));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// `InvalidArgument` if the log is not typed.
    pub fn typed_batch(&self) -> Result<RowBatch> {
        self.check_typed()?;
        RowBatch::new(self.stream())
    }

    /// Appends one entry to a typed log: its time, then one cell a value column.
    ///
    /// ```
    /// # use arrow_schema::DataType;
    /// # use timestrata_engine::{Cell, Durability, Settings, Store};
    /// # use timestrata_timelog::{Timelog, TimelogOptions, ValueColumns};
    /// # fn main() -> timestrata_engine::Result<()> {
    /// # let store = Store::memory(Settings::default())?;
    /// let options = TimelogOptions::typed(ValueColumns::scalar(DataType::Float64)?);
    /// let log = Timelog::create(&store, "kitchen", options)?;
    /// log.append_cells(&[Cell::Int(1_700_000_000_000), Cell::Float(19.5)], Durability::Written)?;
    /// assert_eq!(log.len()?, 1);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// `InvalidArgument` if the log is not typed, `InvalidData` if a cell doesn't fit, and as
    /// [`append`](Self::append).
    pub fn append_cells(&self, cells: &[Cell<'_>], durability: Durability) -> Result<SeqNo> {
        self.check_typed()?;
        self.append_row_with(cells, durability)
    }

    /// Appends a batch as one atomic commit, and empties it. `None`: it was empty.
    ///
    /// # Errors
    /// What a commit may fail with, see [`append`](Self::append).
    pub fn extend_typed(
        &self,
        batch: &mut RowBatch,
        durability: Durability,
    ) -> Result<Option<SeqNo>> {
        self.commit_batch(batch.finish()?, durability)
    }

    /// Appends Arrow columns to a typed log as one atomic commit, without copying them: the
    /// times, and one array a value column. `None`: they were empty.
    ///
    /// # Errors
    /// `InvalidArgument` if the log is not typed, `InvalidData` if lengths or types differ from
    /// the log's, or there are nulls where it takes none.
    pub fn extend_columns(
        &self,
        times: ScalarBuffer<i64>,
        columns: Vec<ArrayRef>,
        durability: Durability,
    ) -> Result<Option<SeqNo>> {
        let batch = self.batch_of_columns(times, columns)?;
        self.commit_batch(batch, durability)
    }

    pub(super) fn batch_of_columns(
        &self,
        times: ScalarBuffer<i64>,
        columns: Vec<ArrayRef>,
    ) -> Result<RecordBatch> {
        self.check_typed()?;
        let mut all = vec![time_column(self.unit(), times)?];
        all.extend(columns);
        let schema = Arc::clone(self.stream().schema());
        RecordBatch::try_new(schema, all).map_err(|cause| {
            let what = format!("time log '{}': the columns don't fit: {cause}", self.name());
            Error::new(ErrorKind::InvalidData, what).caused_by(cause)
        })
    }

    fn check_typed(&self) -> Result<()> {
        if self.codec() == Codec::Arrow {
            return Ok(());
        }
        let (name, codec) = (self.name(), self.codec());
        let what = format!("time log '{name}' has codec '{codec}': it has no columns");
        Err(Error::new(ErrorKind::InvalidArgument, what))
    }
}
