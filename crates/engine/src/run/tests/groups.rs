//! Row groups in the order of the key, whose pages are blocks.

use std::sync::Arc;

use arrow_array::{Float64Array, Int64Array, RecordBatch, StringArray};
use arrow_schema::DataType;
use arrow_select::concat::concat_batches;
use arrow_select::filter::filter_record_batch;
use bytes::Bytes;
use parquet::file::metadata::RowGroupMetaData;
use parquet::file::reader::{FileReader, SerializedFileReader};
use timestrata_format::{LeadKey, RunFormat, RunMeta, Zone};
use timestrata_io::OpenMode;

use super::selected::{Heaps, planned};
use super::{BlockCache, Place, batch_of, read_all, series};
use crate::run::dictionary;
use crate::scan::{RowOrder, Share, Source, ViewedColumns};
use crate::{ErrorKind, Result};

const BLOCK_ROWS: usize = 2_000;
const ROWS: usize = 20_000;
const BLOCKS: [usize; 10] = [BLOCK_ROWS; 10];

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
    // The last rows are too few to be read by pages.
    assert_eq!(groups.collect::<Vec<_>>(), [8_000, 8_000, 2_000, 2_000]);
    let reader = place.reader(&meta);
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

/// The time of a row.
fn time(row: usize) -> LeadKey {
    LeadKey::Time(row as i64 * 10 - 500)
}

/// Whose pages are longer than what one checksum covers.
const LONG_BLOCK_ROWS: usize = 8_000;

/// The least and greatest key of such a block, and its rows.
fn long_block(block: usize) -> (LeadKey, LeadKey, u64) {
    let rows = block * LONG_BLOCK_ROWS..(block + 1) * LONG_BLOCK_ROWS;
    (time(rows.start), time(rows.end - 1), LONG_BLOCK_ROWS as u64)
}

/// What is said to be missing where bytes of the first row group have changed, of blocks without series that share their dictionaries.
fn missing_where(damaged: impl Fn(&RowGroupMetaData) -> u64) -> Vec<(LeadKey, LeadKey, u64)> {
    let rows = series(10 * LONG_BLOCK_ROWS as i64);
    let noise = |row: u64| row.wrapping_mul(0x9e37_79b9_7f4a_7c15) as f64;
    let noise = Float64Array::from_iter_values((0..rows.num_rows() as u64).map(noise));
    let columns = vec![Arc::clone(rows.column(0)), Arc::new(noise), Arc::clone(rows.column(2))];
    let rows = RecordBatch::try_new(rows.schema(), columns).unwrap();
    let mut place = Place::new(rows.schema());
    place.settings.run_batch_rows = LONG_BLOCK_ROWS;
    let meta = place.write(2, RunFormat::Cold, std::slice::from_ref(&rows));
    let path = place.path(&meta);
    let parquet = SerializedFileReader::new(Bytes::from(place.bytes(&path))).unwrap();
    let at = damaged(parquet.metadata().row_group(0));
    let reader = place.reader(&meta);
    let extents = reader.origin(reader.opened().unwrap()).unwrap().unwrap().blocks;
    let file = place.io.disk.open(&path, OpenMode::ReadWrite).unwrap();
    let mut bytes = [0; 7];
    file.read_at(at, &mut bytes).unwrap();
    file.write_at(at, &bytes.map(|byte| byte ^ 0x5a)).unwrap();
    let reader = place.reader(&meta);
    let error = reader.verify_all().unwrap_err();
    let missing = reader.missing_for(&error, 0, meta.tail_offset);
    assert_eq!(missing, reader.missing_for(&error, extents[0].start, extents[0].end));
    let told: Vec<_> = missing.iter().map(|of| (of.key_min, of.key_max, of.rows)).collect();
    // What isn't said to be missing is read as it was.
    for block in 0..10 {
        let found = reader.read(block, &[0, 1, 2]);
        match told.contains(&long_block(block)) {
            true => assert!(found.is_err(), "block {block}"),
            false => {
                let expected = rows.slice(block * LONG_BLOCK_ROWS, LONG_BLOCK_ROWS);
                assert_eq!(found.unwrap(), expected, "block {block}");
            }
        }
    }
    told
}

#[test]
fn damage_in_a_page_costs_the_blocks_that_have_bytes_under_the_same_checksum() {
    // Of the numbers, which are most of it, from the middle of the third page.
    let missing = missing_where(|group| {
        let (start, bytes) = group.column(1).byte_range();
        start + bytes * 5 / 16
    });
    assert_eq!(missing, [long_block(2)]);
}

#[test]
fn damage_in_a_dictionary_costs_all_blocks_that_share_it() {
    let missing = missing_where(|group| group.column(2).dictionary_page_offset().unwrap() as u64);
    assert_eq!(missing, [0, 1, 2, 3, 4, 5, 6, 7].map(long_block));
}

#[test]
fn a_check_keeps_neither_columns_nor_dictionaries() {
    let (place, meta, _) = run();
    let cache = Arc::new(BlockCache::new(1 << 24));
    let reader = place.reader_with(&meta, &cache);
    reader.blocks().unwrap();
    let of_pages = cache.bytes();
    reader.verify_all().unwrap();
    assert_eq!(cache.bytes(), of_pages);
    reader.read(0, &[2]).unwrap();
    assert!(cache.bytes() > of_pages);
}

/// The rows of the row groups of a run of one text a row, whose series aren't told apart.
fn groups_of(rows: usize, text: impl Fn(usize) -> String) -> Vec<i64> {
    let times = Int64Array::from_iter_values((0..rows).map(|row| row as i64));
    let texts = StringArray::from_iter_values((0..rows).map(text));
    let rows = batch_of([("t", Arc::new(times), false), ("text", Arc::new(texts), true)]);
    let mut place = Place::new(rows.schema());
    place.settings.run_batch_rows = BLOCK_ROWS;
    let meta = place.write(1, RunFormat::Cold, std::slice::from_ref(&rows));
    let reader = place.reader(&meta);
    assert_eq!(read_all(&reader).unwrap(), rows);
    assert!(reader.blocks().unwrap().iter().all(|zone| zone.rows <= BLOCK_ROWS as u32));
    let file = SerializedFileReader::new(Bytes::from(place.bytes(&place.path(&meta)))).unwrap();
    let groups = file.metadata().row_groups();
    let texts = groups.iter().map(|group| group.column(1));
    assert!(
        texts.clone().all(|chunk| dictionary::tells_all(chunk, &DataType::Utf8)
            == chunk.dictionary_page_offset().is_some()),
        "no dictionary is given up"
    );
    groups.iter().map(RowGroupMetaData::num_rows).collect()
}

#[test]
fn blocks_share_dictionaries_of_text_as_long_as_these_have_room_for_other_texts() {
    // Few texts.
    assert_eq!(groups_of(37_000, |row| format!("text {}", row % 50)), [16_000, 16_000, 5_000]);
    // There is room for those of five blocks. The first row group, which was longer, is cut anew.
    let some = |row: usize| format!("{:120}", row / BLOCK_ROWS * 1_000_000 + row % 1_500);
    assert_eq!(groups_of(21_000, some), [10_000, 6_000, 5_000]);
    // Each nearly fills one.
    let long = |row: usize| format!("{:600}", row / BLOCK_ROWS * 1_000_000 + row % 1_500);
    assert_eq!(groups_of(5_000, long), [2_000, 2_000, 1_000]);
    // None repeats.
    assert_eq!(groups_of(5_000, |row| row.to_string()), [2_000, 2_000, 1_000]);
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
