//! Blocks that a thread decodes before somebody asks for them.

use std::sync::Arc;

use arrow_array::{Int64Array, RecordBatch};
use timestrata_format::RunFormat;

use super::{BlockCache, Place, RunReader, batch_of};
use crate::scan::{DecodesAhead, Source};

const BLOCK_ROWS: usize = 1_500;
const BLOCKS: usize = 6;
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

fn ahead(reader: &Arc<RunReader>, block: usize) -> Option<DecodesAhead> {
    // Whoever asks has read a block.
    reader.blocks().unwrap();
    Arc::clone(reader).ahead(block, &COLUMNS)
}

#[test]
fn a_block_decoded_ahead_is_found_in_the_cache() {
    let cache = Arc::new(BlockCache::new(1 << 20));
    let (rows, reader) = reader_with(RunFormat::Cold, &cache);
    ahead(&reader, 1).unwrap()();
    let before = cache.stats();
    let read = reader.read(1, &COLUMNS).unwrap();
    let after = cache.stats();
    assert_eq!(read, rows.slice(BLOCK_ROWS, BLOCK_ROWS));
    assert_eq!(after.misses, before.misses);
    assert_eq!(after.hits, before.hits + COLUMNS.len() as u64);
}

#[test]
fn nothing_is_decoded_ahead_where_that_is_no_use() {
    let (_, cold) = reader(RunFormat::Cold, 1 << 20);
    let begun = ahead(&cold, 1);
    assert!(begun.is_some());
    assert!(ahead(&cold, 1).is_none(), "it is begun");
    assert!(ahead(&cold, BLOCKS).is_none(), "there is no such block");
    cold.read(2, &COLUMNS).unwrap();
    assert!(ahead(&cold, 2).is_none(), "the cache has it");
    drop(begun);
    let (_, uncached) = reader(RunFormat::Cold, 0);
    assert!(ahead(&uncached, 1).is_none(), "the cache would not keep it");
    let (_, hot) = reader(RunFormat::Hot, 1 << 20);
    assert!(ahead(&hot, 1).is_none(), "there is nothing to decode");
}

#[test]
fn whoever_wants_a_block_waits_while_it_is_decoded_and_not_for_what_never_will_be() {
    let (rows, reader) = reader(RunFormat::Cold, 1 << 20);
    // A thread that the system doesn't give: what was to be done is dropped.
    drop(ahead(&reader, 1).unwrap());
    assert_eq!(reader.read(1, &COLUMNS).unwrap(), rows.slice(BLOCK_ROWS, BLOCK_ROWS));
    let begun: Vec<_> = (2..BLOCKS).map(|block| (block, ahead(&reader, block).unwrap())).collect();
    // One that is begun holds up no other.
    assert_eq!(reader.read(0, &COLUMNS).unwrap(), rows.slice(0, BLOCK_ROWS));
    std::thread::scope(|scope| {
        for block in 2..BLOCKS {
            let (rows, reader) = (&rows, &reader);
            scope.spawn(move || {
                let read = reader.read(block, &COLUMNS).unwrap();
                assert_eq!(read, rows.slice(block * BLOCK_ROWS, BLOCK_ROWS));
            });
        }
        for (_, decode) in begun {
            scope.spawn(decode);
        }
    });
    assert!((1..BLOCKS).all(|block| ahead(&reader, block).is_none()), "all are in the cache");
}
