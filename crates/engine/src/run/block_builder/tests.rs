//! Batches of any size become blocks, in order and without needless copies.

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
    let limits = BlockLimits::of_rows(rows_max);
    let mut builder = BlockBuilder::new(batches[0].schema(), limits);
    let mut blocks = Vec::new();
    for batch in batches {
        builder.add(batch, &mut blocks).unwrap();
    }
    blocks.extend(builder.take());
    blocks.iter().map(|block| block.whole().unwrap()).collect()
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
    let array: ArrayRef = Arc::new(BinaryArray::from_iter_values((0..5).map(|_| value.as_slice())));
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

#[test]
fn what_waits_is_cut_by_limits_that_came_later() {
    let batches: Vec<_> = (0..9).map(|start| batch(start * 10..start * 10 + 10)).collect();
    let mut builder = BlockBuilder::new(batches[0].schema(), BlockLimits::of_rows(100));
    let mut blocks = Vec::new();
    batches.iter().for_each(|batch| builder.add(batch, &mut blocks).unwrap());
    assert!(blocks.is_empty());
    builder.set_limits(BlockLimits::of_rows(25));
    batches[..1].iter().for_each(|batch| builder.add(batch, &mut blocks).unwrap());
    // What had waited comes by itself: nothing is added to it.
    assert_eq!(blocks.iter().map(Block::rows).collect::<Vec<_>>(), [90]);
}

proptest::proptest! {
    #[test]
    fn columns_and_rows_of_a_block_are_those_of_its_batches(
        sizes in proptest::collection::vec(1_i64..9, 1..9),
        head in 0_usize..40,
    ) {
        let mut start = 0;
        let batches: Vec<_> = sizes.iter().map(|size| {
            start += size;
            batch(start - size..start)
        }).collect();
        let block = Block::new(&batches[0].schema(), batches);
        let whole = batch(0..start);
        let count = whole.num_rows();
        proptest::prop_assert_eq!(&block.whole().unwrap(), &whole);
        proptest::prop_assert_eq!(&block.column(0).unwrap(), whole.column(0));
        proptest::prop_assert_eq!(block.head(head).unwrap(), whole.slice(0, head.min(count)));
        let backwards: UInt32Array = (0..count as u32).rev().collect();
        let expected = arrow_select::take::take_record_batch(&whole, &backwards).unwrap();
        proptest::prop_assert_eq!(block.taken(&backwards).unwrap(), expected);
        proptest::prop_assert!(block.column(1).is_err());
    }
}
