//! Row groups in the order of the key, whose pages are blocks.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_select::concat::concat_batches;
use arrow_select::filter::filter_record_batch;
use bytes::Bytes;
use parquet::file::reader::{FileReader, SerializedFileReader};
use timestrata_format::{LeadKey, RunFormat, RunMeta, Zone};
use timestrata_io::OpenMode;

use super::selected::{Heaps, planned};
use super::{BlockCache, Place, read_all, series};
use crate::scan::{RowOrder, Share, Source, ViewedColumns};
use crate::{ErrorKind, Result};

const BLOCK_ROWS: usize = 2_000;
const ROWS: usize = 20_000;
/// Of the last row group, which has too few pages, all rows are one block.
const BLOCKS: [usize; 9] = [2_000, 2_000, 2_000, 2_000, 2_000, 2_000, 2_000, 2_000, 4_000];

/// Rows that take more room by series: a text that says nothing, with numbers that rise by the row.
fn run() -> (Place, RunMeta, RecordBatch) {
    let rows = series(ROWS as i64);
    let mut place = Place::by_series(rows.schema(), &["s"]);
    place.settings.run_batch_rows = BLOCK_ROWS;
    let meta = place.write(2, RunFormat::Cold, std::slice::from_ref(&rows));
    (place, meta, rows)
}

/// The rows of each block.
fn blocks(rows: &RecordBatch) -> Vec<RecordBatch> {
    let begins = BLOCKS.iter().scan(0, |begin, rows| {
        *begin += rows;
        Some(*begin - rows)
    });
    begins.zip(BLOCKS).map(|(begin, of)| rows.slice(begin, of)).collect()
}

#[test]
fn pages_of_a_row_group_in_the_order_of_the_key_are_blocks() {
    let (place, meta, rows) = run();
    let file = SerializedFileReader::new(Bytes::from(place.bytes(&place.path(&meta)))).unwrap();
    let groups = file.metadata().row_groups().iter().map(|group| group.num_rows());
    assert_eq!(groups.collect::<Vec<_>>(), [8_000, 8_000, 4_000]);
    let reader = place.reader(&meta);
    let time = |row: usize| LeadKey::Time(row as i64 * 10 - 500);
    let mut begin = 0;
    let expected = BLOCKS.map(|rows| {
        begin += rows;
        Zone { rows: rows as u32, key_min: time(begin - rows), key_max: time(begin - 1) }
    });
    assert_eq!(reader.blocks().unwrap(), expected);
    assert_eq!(read_all(&reader).unwrap(), rows);
    assert_eq!(reader.verify_all().unwrap().rows, ROWS as u64);
}

#[test]
fn each_block_of_a_row_group_is_read_as_if_it_were_one() {
    let (place, meta, rows) = run();
    for cache_bytes in [0, 1 << 17, 1 << 24] {
        let cache = Arc::new(BlockCache::new(cache_bytes));
        let reader = place.reader_with(&meta, &cache);
        // Twice, and the second time maybe from the cache.
        for (block, expected) in
            blocks(&rows).iter().enumerate().chain(blocks(&rows).iter().enumerate())
        {
            let what = format!("block {block}, a cache of {cache_bytes} bytes");
            let wanted = ViewedColumns::plain(vec![0, 1, 2]);
            let read = |order| reader.read_viewed(block, &wanted, None, order).unwrap();
            assert_eq!(&read(RowOrder::ByKey), expected, "{what}");
            for parts in [1, 3] {
                let shares: Vec<_> =
                    (0..parts).map(|part| read(RowOrder::Any(Share { part, parts }))).collect();
                assert_eq!(&concat_batches(&rows.schema(), &shares).unwrap(), expected, "{what}");
            }
            if let Some(parts) = reader.read_parts(block, &wanted, Share::WHOLE, u64::MAX).unwrap()
            {
                let parts = parts.collect::<Result<Vec<_>>>().unwrap();
                assert_eq!(&concat_batches(&rows.schema(), &parts).unwrap(), expected, "{what}");
            }
            for share in [1024, 60, 5, 1] {
                let filter = planned(&place, Heaps(share), &[0, 1, 2], false);
                let passing = reader.read_passing(block, &filter, None, RowOrder::ByKey).unwrap();
                let those = Heaps(share).of(expected.num_rows());
                let those = filter_record_batch(expected, &those).unwrap();
                assert_eq!(passing.columns(), those.columns(), "{what}, one in {share}");
            }
        }
    }
}

#[test]
fn damage_in_a_row_group_never_gives_other_rows() {
    let (place, meta, rows) = run();
    let path = place.path(&meta);
    let sound = place.bytes(&path);
    let file = place.io.disk.open(&path, OpenMode::ReadWrite).unwrap();
    let (mut whole, mut damaged) = (0, 0);
    for (offset, byte) in sound.iter().enumerate().step_by(1_777) {
        file.write_at(offset as u64, &[byte ^ 0x10]).unwrap();
        let reader = place.reader(&meta);
        for (block, expected) in blocks(&rows).iter().enumerate() {
            match reader.read(block, &[0, 1, 2]) {
                Ok(found) => {
                    assert_eq!(&found, expected, "block {block}, byte {offset}");
                    whole += 1;
                }
                Err(error) => {
                    assert_eq!(error.kind(), ErrorKind::Corruption, "{error}");
                    damaged += 1;
                }
            }
        }
        assert!(place.reader(&meta).verify_all().is_err(), "byte {offset}");
        file.write_at(offset as u64, &[*byte]).unwrap();
    }
    assert!(whole > 0 && damaged > 0, "{whole} whole, {damaged} damaged");
    assert_eq!(read_all(&place.reader(&meta)).unwrap(), rows);
}

#[test]
fn what_is_missing_of_a_damaged_row_group_is_all_of_its_blocks() {
    let (place, meta, _) = run();
    let reader = place.reader(&meta);
    let extents = reader.origin(reader.opened().unwrap()).unwrap().unwrap().blocks;
    let second = &extents[1];
    let file = place.io.disk.open(&place.path(&meta), OpenMode::ReadWrite).unwrap();
    file.write_at(second.start + 100, b"damaged").unwrap();
    let reader = place.reader(&meta);
    let error = reader.verify_all().unwrap_err();
    let missing = reader.missing_for(&error, second.start, second.end);
    let told: Vec<_> = missing.iter().map(|of| (of.key_min, of.key_max, of.rows)).collect();
    let time = |row: i64| LeadKey::Time(row * 10 - 500);
    assert_eq!(told, [(time(8_000), time(15_999), 8_000)]);
    // The others are read.
    assert!(reader.read(0, &[0, 1, 2]).is_ok() && reader.read(8, &[0, 1, 2]).is_ok());
}

#[test]
fn threads_that_share_a_reader_and_a_small_cache_read_the_same_blocks() {
    let (place, meta, rows) = run();
    // Room for some of the columns and dictionaries: they are pushed out while others ask for them.
    let reader = place.reader_with(&meta, &Arc::new(BlockCache::new(1 << 17)));
    let expected = blocks(&rows);
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let (reader, expected) = (&reader, &expected);
            scope.spawn(move || {
                for step in 0..20 * BLOCKS.len() {
                    let block = (step * (thread + 1) + thread) % BLOCKS.len();
                    let found = reader.read(block, &[0, 1, 2]).unwrap();
                    assert_eq!(found, expected[block], "thread {thread}, block {block}");
                }
            });
        }
    });
}
