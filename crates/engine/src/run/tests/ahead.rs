//! Blocks that a thread decodes before somebody asks for them.

use std::sync::Arc;

use arrow_array::{Int64Array, RecordBatch};
use timestrata_format::RunFormat;

use super::{BlockCache, Place, RunReader, batch_of};
use crate::scan::{DecodesAhead, Source};

const BLOCK_ROWS: usize = 500;
const BLOCKS: usize = 32;
const COLUMNS: [usize; 2] = [0, 1];

fn reader(format: RunFormat, cache_bytes: u64) -> (RecordBatch, Arc<RunReader>) {
    reader_with(format, &Arc::new(BlockCache::new(cache_bytes)))
}

fn reader_with(format: RunFormat, cache: &Arc<BlockCache>) -> (RecordBatch, Arc<RunReader>) {
    let numbers = |by: fn(i64) -> i64| {
        Int64Array::from_iter_values((0..(BLOCKS * BLOCK_ROWS) as i64).map(by))
    };
    let rows = batch_of([
        ("t", Arc::new(numbers(|row| row * 5)), false),
        ("v", Arc::new(numbers(|row| row * 7 % 400)), false),
    ]);
    let mut place = Place::new(rows.schema());
    place.settings.run_batch_rows = BLOCK_ROWS;
    let meta = place.write(2, format, std::slice::from_ref(&rows));
    (rows, Arc::new(place.reader_with(&meta, cache)))
}

/// What is decoded ahead for who has come to the block before `block`.
fn ahead(reader: &Arc<RunReader>, block: usize) -> Option<DecodesAhead> {
    // Whoever asks has read a block.
    reader.blocks().unwrap();
    Arc::clone(reader).ahead(block, &COLUMNS)
}

fn block_of(rows: &RecordBatch, block: usize) -> RecordBatch {
    rows.slice(block * BLOCK_ROWS, BLOCK_ROWS)
}

#[test]
fn blocks_decoded_ahead_are_found_in_the_cache() {
    let cache = Arc::new(BlockCache::new(16 << 20));
    let (rows, reader) = reader_with(RunFormat::Cold, &cache);
    ahead(&reader, 1).unwrap()();
    let before = cache.stats();
    for block in 1..=8 {
        assert_eq!(reader.read(block, &COLUMNS).unwrap(), block_of(&rows, block));
    }
    let after = cache.stats();
    assert_eq!(after.misses, before.misses);
    assert_eq!(after.hits, before.hits + 8 * COLUMNS.len() as u64);
    reader.read(9, &COLUMNS).unwrap();
    assert!(cache.stats().misses > after.misses, "so far nothing was decoded");
}

#[test]
fn who_reads_on_asks_for_more_when_half_is_read_and_who_reads_elsewhere_at_once() {
    let (_, reader) = reader(RunFormat::Cold, 16 << 20);
    ahead(&reader, 1).unwrap()();
    let asks: Vec<usize> = (2..BLOCKS - 8)
        .filter(|block| ahead(&reader, *block).map(|decode| decode()).is_some())
        .collect();
    assert_eq!(asks, [6, 11, 16, 21]);
    assert!(ahead(&reader, 2).is_none(), "all of that is in the cache");
    assert!(ahead(&reader, BLOCKS - 1).is_some(), "somebody begins there");
}

#[test]
fn nothing_is_decoded_ahead_where_that_is_no_use() {
    let (_, cold) = reader(RunFormat::Cold, 16 << 20);
    assert!(ahead(&cold, 1).is_some());
    assert!(ahead(&cold, 1).is_none(), "it was asked for");
    assert!(ahead(&cold, BLOCKS).is_none(), "there is no such block");
    cold.read(20, &COLUMNS).unwrap();
    assert!(ahead(&cold, 20).is_none(), "the cache has it");
    let (_, uncached) = reader(RunFormat::Cold, 0);
    assert!(ahead(&uncached, 1).is_none(), "the cache would not keep it");
    let (_, hot) = reader(RunFormat::Hot, 16 << 20);
    assert!(ahead(&hot, 1).is_none(), "there is nothing to decode");
}

#[test]
fn a_block_is_decoded_by_one_of_those_who_want_it_and_nobody_waits_for_what_never_will_be() {
    for round in 0..20 {
        let cache = Arc::new(BlockCache::new(16 << 20));
        let (rows, reader) = reader_with(RunFormat::Cold, &cache);
        // A thread that the system doesn't give: what was to be done is dropped.
        drop(ahead(&reader, 1).unwrap());
        assert_eq!(reader.read(1, &COLUMNS).unwrap(), block_of(&rows, 1));
        std::thread::scope(|scope| {
            for turn in 0..3 {
                let (rows, reader) = (&rows, &reader);
                scope.spawn(move || {
                    for block in (2 + turn)..BLOCKS {
                        if let Some(decode) = ahead(reader, block + 1) {
                            scope.spawn(decode);
                        }
                        let read = reader.read(block, &COLUMNS).unwrap();
                        assert_eq!(read, block_of(rows, block), "round {round}");
                    }
                });
            }
        });
        let before = cache.stats().misses;
        for block in 2..BLOCKS {
            assert_eq!(reader.read(block, &COLUMNS).unwrap(), block_of(&rows, block));
        }
        assert_eq!(cache.stats().misses, before, "all are in the cache");
    }
}
