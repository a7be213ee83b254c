//! Few rows of a block in the order of the key, which are read by pieces.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{BooleanArray, Int64Array, RecordBatch, StringArray};
use arrow_select::concat::concat_batches;
use arrow_select::filter::filter_record_batch;
use proptest::prelude::*;
use timestrata_format::{KeyRange, LeadKey, RunFormat};

use super::super::cold::PIECE_ROWS;
use super::{BlockCache, Place, RunReader, batch_of};
use crate::scan::{RowOrder, Share, Source, ViewedColumns};

const ROWS: usize = 5_000;
const BLOCK_ROWS: usize = 1_500;

/// Times of which some follow at once and others are the same, a host, and a number of few values.
fn rows() -> RecordBatch {
    let rows = 0..ROWS as i64;
    let hosts = rows.clone().map(|row| format!("h{:02}", row % 7));
    batch_of([
        ("t", Arc::new(Int64Array::from_iter_values(rows.clone().map(|row| row / 3 * 5))), false),
        ("s", Arc::new(StringArray::from_iter_values(hosts)), false),
        ("v", Arc::new(Int64Array::from_iter_values(rows.map(|row| row * 7 % 400))), false),
    ])
}

fn reader(cache_bytes: u64) -> (RecordBatch, RunReader) {
    let rows = rows();
    let mut place = Place::new(rows.schema());
    place.settings.run_batch_rows = BLOCK_ROWS;
    let meta = place.write(2, RunFormat::Cold, std::slice::from_ref(&rows));
    (rows, place.reader_with(&meta, &Arc::new(BlockCache::new(cache_bytes))))
}

fn keys(from: i64, until: i64) -> KeyRange {
    KeyRange { lo: Some(LeadKey::Time(from)), hi: Some(LeadKey::Time(until)) }
}

fn with_keys(rows: &RecordBatch, (from, until): (i64, i64)) -> RecordBatch {
    let times = rows.column(0).as_primitive::<Int64Type>();
    let has: BooleanArray =
        times.values().iter().map(|time| Some((from..until).contains(time))).collect();
    filter_record_batch(rows, &has).unwrap()
}

proptest! {
    #[test]
    fn no_row_with_some_keys_is_left_out_and_none_given_twice(
        ranges in prop::collection::vec((0_i64..ROWS as i64 * 5 / 3, 0_i64..1_200), 1..8),
        (is_kept, by_key) in any::<(bool, bool)>(),
        parts in 1_usize..4,
        columns in prop::sample::select(vec![vec![0, 1, 2], vec![0], vec![0, 2], vec![0, 1]]),
    ) {
        let (rows, reader) = reader(if is_kept { 1 << 20 } else { 0 });
        let rows = rows.project(&columns).unwrap();
        let wanted = ViewedColumns::plain(columns);
        let orders = match by_key {
            true => vec![RowOrder::ByKey],
            false => (0..parts).map(|part| RowOrder::Any(Share { part, parts })).collect(),
        };
        for (from, length) in ranges {
            let keys = keys(from, from + length);
            for block in 0..reader.blocks().unwrap().len() {
                let start = block * BLOCK_ROWS;
                let whole = rows.slice(start, BLOCK_ROWS.min(ROWS - start));
                let expected = with_keys(&whole, (from, from + length));
                let read = orders.iter().map(|order| {
                    reader.read_viewed(block, &wanted, Some(keys), *order).unwrap()
                });
                let read: Vec<RecordBatch> = read.collect();
                let read = concat_batches(&rows.schema(), &read).unwrap();
                prop_assert_eq!(&with_keys(&read, (from, from + length)), &expected);
                if reader.leaves_out_other_keys(block, &keys) {
                    let pieces = expected.num_rows() + 2 * PIECE_ROWS as usize;
                    let is_few = read.num_rows() <= pieces;
                    prop_assert!(is_few || read == whole, "{} rows", read.num_rows());
                } else {
                    prop_assert_eq!(&read, &whole);
                }
            }
        }
    }
}

#[test]
fn of_a_block_that_few_rows_are_wanted_of_a_piece_is_kept() {
    let (rows, reader) = reader(1 << 20);
    let wanted = ViewedColumns::plain(vec![0, 1, 2]);
    let read = |from| {
        let keys = keys(from, from + 5);
        assert!(reader.leaves_out_other_keys(0, &keys));
        reader.read_viewed(0, &wanted, Some(keys), RowOrder::ByKey).unwrap()
    };
    let buffer =
        |read: &RecordBatch, column: usize| read.column(column).to_data().buffers()[0].as_ptr();
    let first = read(1_000);
    assert_eq!(first, rows.slice(576, 64));
    let again = read(1_005);
    assert_eq!(again, first);
    for column in 0..3 {
        assert_eq!(buffer(&again, column), buffer(&first, column), "column {column}");
    }
    // What has been read whole is there for those who want few rows.
    let whole = reader.read(0, &[0, 1, 2]).unwrap();
    let numbers = whole.column(2).as_primitive::<Int64Type>().values()[128..].as_ptr();
    assert_eq!(buffer(&read(300), 2), numbers.cast());
}
