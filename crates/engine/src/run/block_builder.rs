//! Cuts and joins batches, so that the blocks of a run are full but not too large.

use arrow_array::{Array, RecordBatch};
use arrow_schema::{ArrowError, SchemaRef};
use arrow_select::concat::concat_batches;

/// A block holds no more than about this, however wide its rows: reading one value decodes
/// a whole column of a block, and offsets of strings must fit in 32 bits.
const BLOCK_BYTES_MAX: usize = 64 << 20;

/// Zone maps count rows in 32 bits.
const BLOCK_ROWS_MAX: usize = 1 << 24;

/// Takes batches of any size in key order and gives blocks in the same order.
#[derive(Debug)]
pub(super) struct BlockBuilder {
    schema: SchemaRef,
    rows_max: usize,
    pending: Vec<RecordBatch>,
    pending_rows: usize,
    pending_bytes: usize,
}

impl BlockBuilder {
    pub(super) fn new(schema: SchemaRef, rows_max: usize) -> Self {
        let rows_max = rows_max.clamp(1, BLOCK_ROWS_MAX);
        Self { schema, rows_max, pending: Vec::new(), pending_rows: 0, pending_bytes: 0 }
    }

    /// The most rows that a block may have.
    pub(super) fn rows_max(&self) -> usize {
        self.rows_max
    }

    /// Lets the blocks that come have at most so many rows.
    pub(super) fn set_rows_max(&mut self, rows_max: usize) {
        self.rows_max = rows_max.clamp(1, BLOCK_ROWS_MAX);
    }

    /// Takes a batch and puts the blocks that are now full into `blocks`. A batch that fits
    /// a block as it is isn't copied, nor are slices of larger ones.
    pub(super) fn add(
        &mut self,
        batch: &RecordBatch,
        blocks: &mut Vec<RecordBatch>,
    ) -> Result<(), ArrowError> {
        let bytes = sliced_bytes(batch)?;
        let rows = batch.num_rows();
        if rows == 0 {
            return Ok(());
        }
        let rows_fit = (rows as u128 * BLOCK_BYTES_MAX as u128 / bytes.max(1) as u128).max(1);
        let rows_max =
            usize::try_from(rows_fit).map_or(self.rows_max, |fit| fit.min(self.rows_max));
        let bytes_a_row = bytes / rows;
        // What waits is large enough for a block of its own: joining it with the head of
        // this batch would shift, and so copy, every full batch that follows.
        if self.pending_rows >= self.rows_max.div_ceil(2) && rows >= rows_max.div_ceil(2) {
            blocks.extend(self.take()?);
        }
        let mut start = 0;
        while start < rows {
            let left = rows - start;
            if self.pending_bytes.saturating_add(bytes_a_row * left.min(rows_max)) > BLOCK_BYTES_MAX
            {
                blocks.extend(self.take()?);
            }
            if self.pending_rows == 0 && left >= rows_max {
                blocks.push(batch.slice(start, rows_max));
                start += rows_max;
                continue;
            }
            let count = left.min(rows_max).min(self.rows_max - self.pending_rows);
            self.pending.push(batch.slice(start, count));
            self.pending_rows += count;
            self.pending_bytes += bytes_a_row * count;
            start += count;
            if self.pending_rows == self.rows_max {
                blocks.extend(self.take()?);
            }
        }
        Ok(())
    }

    /// What is left over, as one block.
    pub(super) fn take(&mut self) -> Result<Option<RecordBatch>, ArrowError> {
        let mut pending = std::mem::take(&mut self.pending);
        self.pending_rows = 0;
        self.pending_bytes = 0;
        if pending.len() <= 1 {
            return Ok(pending.pop());
        }
        concat_batches(&self.schema, &pending).map(Some)
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
mod tests {
    use std::sync::Arc;

    use arrow_array::cast::AsArray;
    use arrow_array::types::Int64Type;
    use arrow_array::{ArrayRef, BinaryArray, Int64Array};

    use super::*;

    fn batch(times: std::ops::Range<i64>) -> RecordBatch {
        let array: ArrayRef = Arc::new(Int64Array::from_iter_values(times));
        RecordBatch::try_from_iter([("t", array)]).unwrap()
    }

    fn gathered(rows_max: usize, batches: &[RecordBatch]) -> Vec<RecordBatch> {
        let mut builder = BlockBuilder::new(batches[0].schema(), rows_max);
        let mut blocks = Vec::new();
        for batch in batches {
            builder.add(batch, &mut blocks).unwrap();
        }
        blocks.extend(builder.take().unwrap());
        blocks
    }

    fn first_value(batch: &RecordBatch) -> *const i64 {
        batch.column(0).as_primitive::<Int64Type>().values().as_ptr()
    }

    #[test]
    fn a_batch_that_fits_is_not_copied() {
        let full = batch(0..10);
        let blocks = gathered(10, std::slice::from_ref(&full));
        assert_eq!(blocks.len(), 1);
        assert_eq!(first_value(&blocks[0]), first_value(&full));
        let large = batch(0..25);
        let blocks = gathered(10, std::slice::from_ref(&large));
        assert_eq!(blocks.iter().map(RecordBatch::num_rows).collect::<Vec<_>>(), [10, 10, 5]);
        assert_eq!(first_value(&blocks[2]), first_value(&large).wrapping_add(20));
    }

    #[test]
    fn a_long_remainder_does_not_shift_the_full_batches_behind_it() {
        let full = batch(6..16);
        let blocks = gathered(10, &[batch(0..6), full.clone()]);
        assert_eq!(blocks.iter().map(RecordBatch::num_rows).collect::<Vec<_>>(), [6, 10]);
        assert_eq!(first_value(&blocks[1]), first_value(&full));
    }

    #[test]
    fn wide_rows_make_short_blocks() {
        let value = vec![7_u8; 30 << 20];
        let array: ArrayRef =
            Arc::new(BinaryArray::from_iter_values((0..5).map(|_| value.as_slice())));
        let wide = RecordBatch::try_from_iter([("b", array)]).unwrap();
        let rows =
            |blocks: Vec<RecordBatch>| blocks.iter().map(RecordBatch::num_rows).collect::<Vec<_>>();
        assert_eq!(rows(gathered(1000, std::slice::from_ref(&wide))), [2, 2, 1]);
        let singles: Vec<_> = (0..5).map(|row| wide.slice(row, 1)).collect();
        assert_eq!(rows(gathered(1000, &singles)), [2, 2, 1]);
    }

    proptest::proptest! {
        #[test]
        fn blocks_are_the_batches_in_order(
            sizes in proptest::collection::vec(0_i64..40, 1..20),
            rows_max in 1_usize..30,
        ) {
            let mut start = 0;
            let batches: Vec<_> = sizes.iter().map(|size| {
                start += size;
                batch(start - size..start)
            }).collect();
            let blocks = gathered(rows_max, &batches);
            proptest::prop_assert!(
                blocks.iter().all(|block| (1..=rows_max).contains(&block.num_rows()))
            );
            let all = concat_batches(&batches[0].schema(), &blocks).unwrap();
            proptest::prop_assert_eq!(all, batch(0..start));
        }
    }
}
