//! A block as its file has it: rows by series where they lie so, with one more column of their places, and floats that are
//! stored as decimal numbers. Columns are made one by one, when the encoder wants them.

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, UInt32Array};
use arrow_schema::{ArrowError, SchemaRef};
use arrow_select::take::take;
use parquet::errors::ParquetError;

use super::block_builder::Block;
use super::decimals::{DecimalColumn, as_decimals};
use super::encodings::least_cost;

/// Rows of which numbers are stored in both ways, to see which takes less room.
const NUMBER_TRIAL_ROWS: usize = 16_384;

/// Rows of a block, and how they are to be stored.
pub(super) struct StoredBlock<'a> {
    block: &'a Block,
    /// For each place the row that lies there; `None`: rows lie in the order of the key.
    order: Option<UInt32Array>,
    decimals: &'a [DecimalColumn],
    /// Of the columns that the file has.
    schema: SchemaRef,
}

impl<'a> StoredBlock<'a> {
    /// `schema` has one column more than the block where there is an `order`, and other types for `decimals`.
    pub(super) fn new(
        block: &'a Block,
        order: Option<UInt32Array>,
        decimals: &'a [DecimalColumn],
        schema: SchemaRef,
    ) -> Self {
        Self { block, order, decimals, schema }
    }

    pub(super) fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    pub(super) fn rows(&self) -> usize {
        self.block.rows()
    }

    /// A column of the file, of all rows.
    ///
    /// # Errors
    /// Arrow's, for a column that there is not.
    pub(super) fn column(&self, column: usize) -> Result<ArrayRef, ArrowError> {
        self.column_of(column, self.order.as_ref(), || self.block.column(column))
    }

    fn column_of(
        &self,
        column: usize,
        order: Option<&UInt32Array>,
        values: impl FnOnce() -> Result<ArrayRef, ArrowError>,
    ) -> Result<ArrayRef, ArrowError> {
        let values = match order {
            // The places come behind all others.
            Some(order) if column + 1 == self.schema.fields().len() => {
                return Ok(Arc::new(order.clone()));
            }
            Some(order) => take(&values()?, order, None)?,
            None => values()?,
        };
        match self.decimals.iter().find(|(decimal, _)| *decimal == column) {
            Some((_, digits)) => as_decimals(&values, *digits),
            None => Ok(values),
        }
    }

    /// The first rows of the file's columns, of so many at most.
    ///
    /// # Errors
    /// As [`StoredBlock::column`].
    pub(super) fn head(&self, rows_max: usize) -> Result<RecordBatch, ArrowError> {
        let rows = self.rows().min(rows_max);
        let order = self.order.as_ref().map(|order| order.slice(0, rows));
        let columns = (0..self.schema.fields().len()).map(|column| {
            self.column_of(column, order.as_ref(), || match order {
                Some(_) => self.block.column(column),
                None => Ok(self.block.column(column)?.slice(0, rows)),
            })
        });
        RecordBatch::try_new(Arc::clone(&self.schema), columns.collect::<Result<_, _>>()?)
    }

    /// All rows and columns, as the store has them.
    pub(super) fn whole(&self) -> Result<RecordBatch, ArrowError> {
        self.block.whole()
    }
}

/// Of the columns that may be stored as decimal numbers those that cost less so.
pub(super) fn smaller_decimals(
    block: &Block,
    order: Option<&UInt32Array>,
    decimals: &[DecimalColumn],
) -> Result<Vec<DecimalColumn>, ParquetError> {
    let rows = block.rows().min(NUMBER_TRIAL_ROWS);
    let order = order.map(|order| order.slice(0, rows));
    let mut smaller = Vec::new();
    for (column, digits) in decimals {
        let values = block.column(*column)?;
        let values = match &order {
            Some(order) => take(&values, order, None)?,
            None => values.slice(0, rows),
        };
        if least_cost(&as_decimals(&values, *digits)?)? < least_cost(&values)? {
            smaller.push((*column, *digits));
        }
    }
    Ok(smaller)
}
