//! Cuts and joins batches, so that the blocks of a run are full but not too large.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, RecordBatch, RecordBatchOptions, UInt32Array};
use arrow_schema::{ArrowError, SchemaRef};
use arrow_select::concat::{concat, concat_batches};
use arrow_select::take::take;

/// A block holds no more than about this, however wide its rows: reading one value decodes
/// a whole column of a block, and offsets of strings must fit in 32 bits.
const BLOCK_BYTES_MAX: usize = 64 << 20;

/// Zone maps count rows in 32 bits.
const BLOCK_ROWS_MAX: usize = 1 << 24;

/// How large a block may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct BlockLimits {
    pub(super) rows_max: usize,
    pub(super) bytes_max: usize,
}

impl BlockLimits {
    /// So many rows, but no more than are usual where they are wide.
    pub(super) fn of_rows(rows_max: usize) -> Self {
        Self { rows_max: rows_max.clamp(1, BLOCK_ROWS_MAX), bytes_max: BLOCK_BYTES_MAX }
    }
}

/// Rows of one block, in the order of the key, as they came: columns are joined one by one, so that a block of many
/// rows isn't there twice.
#[derive(Debug, Clone)]
pub(super) struct Block {
    schema: SchemaRef,
    batches: Vec<RecordBatch>,
    rows: usize,
}

impl Block {
    /// One or several batches of the same columns.
    pub(super) fn new(schema: &SchemaRef, batches: Vec<RecordBatch>) -> Self {
        let rows = batches.iter().map(RecordBatch::num_rows).sum();
        Self { schema: Arc::clone(schema), batches, rows }
    }

    pub(super) fn rows(&self) -> usize {
        self.rows
    }

    pub(super) fn batches(&self) -> &[RecordBatch] {
        &self.batches
    }

    /// The values of a column as they came, in parts.
    pub(super) fn parts(&self, column: usize) -> Result<Vec<&ArrayRef>, ArrowError> {
        let parts = self.batches.iter().map(|batch| batch.columns().get(column));
        let parts: Option<Vec<&ArrayRef>> = parts.collect();
        let parts = parts.filter(|parts| !parts.is_empty());
        parts.ok_or_else(|| ArrowError::SchemaError(format!("a block has no column {column}")))
    }

    /// All values of a column.
    pub(super) fn column(&self, column: usize) -> Result<ArrayRef, ArrowError> {
        match self.parts(column)?.as_slice() {
            [whole] => Ok(Arc::clone(whole)),
            parts => concat(&parts.iter().map(|part| part.as_ref()).collect::<Vec<_>>()),
        }
    }

    /// Some columns of all rows.
    pub(super) fn project(&self, columns: &[usize]) -> Result<RecordBatch, ArrowError> {
        let schema = Arc::new(self.schema.project(columns)?);
        let arrays = columns.iter().map(|column| self.column(*column));
        let options = RecordBatchOptions::new().with_row_count(Some(self.rows));
        RecordBatch::try_new_with_options(schema, arrays.collect::<Result<_, _>>()?, &options)
    }

    /// All columns of all rows.
    pub(super) fn whole(&self) -> Result<RecordBatch, ArrowError> {
        match self.batches.as_slice() {
            [whole] => Ok(whole.clone()),
            batches => concat_batches(&self.schema, batches),
        }
    }

    /// All columns of some rows, in the order of these.
    pub(super) fn taken(&self, rows: &UInt32Array) -> Result<RecordBatch, ArrowError> {
        let columns = 0..self.schema.fields().len();
        let columns = columns.map(|column| take(&self.column(column)?, rows, None));
        RecordBatch::try_new(Arc::clone(&self.schema), columns.collect::<Result<_, _>>()?)
    }

    /// All columns of the first rows, of so many at most.
    pub(super) fn head(&self, rows_max: usize) -> Result<RecordBatch, ArrowError> {
        let mut left = rows_max;
        let parts = self.batches.iter().map(|batch| {
            let part = batch.slice(0, batch.num_rows().min(left));
            left -= part.num_rows();
            part
        });
        concat_batches(&self.schema, &parts.collect::<Vec<_>>())
    }
}

/// Takes batches of any size in key order and gives blocks in the same order.
#[derive(Debug)]
pub(super) struct BlockBuilder {
    schema: SchemaRef,
    limits: BlockLimits,
    pending: Vec<RecordBatch>,
    pending_rows: usize,
    pending_bytes: usize,
}

impl BlockBuilder {
    pub(super) fn new(schema: SchemaRef, limits: BlockLimits) -> Self {
        Self { schema, limits, pending: Vec::new(), pending_rows: 0, pending_bytes: 0 }
    }

    pub(super) fn limits(&self) -> BlockLimits {
        self.limits
    }

    /// Lets the blocks that come have other limits.
    pub(super) fn set_limits(&mut self, limits: BlockLimits) {
        self.limits = limits;
    }

    /// Takes a batch and puts the blocks that are now full into `blocks`. A batch that fits
    /// a block as it is isn't copied, nor are slices of larger ones.
    pub(super) fn add(
        &mut self,
        batch: &RecordBatch,
        blocks: &mut Vec<Block>,
    ) -> Result<(), ArrowError> {
        let BlockLimits { rows_max: rows_limit, bytes_max } = self.limits;
        let bytes = sliced_bytes(batch)?;
        let rows = batch.num_rows();
        if rows == 0 {
            return Ok(());
        }
        let rows_fit = (rows as u128 * bytes_max as u128 / bytes.max(1) as u128).max(1);
        let rows_max = usize::try_from(rows_fit).map_or(rows_limit, |fit| fit.min(rows_limit));
        let bytes_a_row = bytes / rows;
        // What waits is large enough for a block of its own: joining it with the head of
        // this batch would shift, and so copy, every full batch that follows. Or there are other limits now.
        if self.pending_rows >= rows_limit.div_ceil(2) && rows >= rows_max.div_ceil(2)
            || self.pending_rows >= rows_limit
        {
            blocks.extend(self.take());
        }
        let mut start = 0;
        while start < rows {
            let left = rows - start;
            if self.pending_bytes.saturating_add(bytes_a_row * left.min(rows_max)) > bytes_max {
                blocks.extend(self.take());
            }
            if self.pending_rows == 0 && left >= rows_max {
                blocks.push(Block::new(&self.schema, vec![batch.slice(start, rows_max)]));
                start += rows_max;
                continue;
            }
            let count = left.min(rows_max).min(rows_limit - self.pending_rows);
            self.pending.push(batch.slice(start, count));
            self.pending_rows += count;
            self.pending_bytes += bytes_a_row * count;
            start += count;
            if self.pending_rows >= rows_limit {
                blocks.extend(self.take());
            }
        }
        Ok(())
    }

    /// What is left over, as one block.
    pub(super) fn take(&mut self) -> Option<Block> {
        let pending = std::mem::take(&mut self.pending);
        self.pending_rows = 0;
        self.pending_bytes = 0;
        (!pending.is_empty()).then(|| Block::new(&self.schema, pending))
    }
}

/// Bytes of the rows of a batch, not of the larger arrays that it may be a slice of.
fn sliced_bytes(batch: &RecordBatch) -> Result<usize, ArrowError> {
    batch
        .columns()
        .iter()
        .try_fold(0_usize, |sum, column| Ok(sum + column.to_data().get_slice_memory_size()?))
}

#[cfg(test)]
mod tests;
