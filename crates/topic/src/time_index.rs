//! Finding offsets by time, with the tiles as the index: each stores the time span of its records.

use std::ops::Range;

use timestrata_engine::Result;
use timestrata_merkle::TILE_HEIGHT;

use super::Topic;
use super::retain::first_record;
use super::tiles::{Tiles, WIDTH};

/// Levels of tiles that there can be: 64 bits of offsets, eight a level.
const LEVELS: u8 = (u64::BITS as u8) / TILE_HEIGHT;

impl Topic {
    /// The offset of the first record that is kept whose time is this or later; `None` if there is
    /// none. Reads as many tiles as grow with the logarithm of the records.
    ///
    /// # Errors
    /// `InvalidArgument` if there is no such partition; what reading may fail with.
    pub fn offset_at_time(&self, partition: u32, time_ns: i64) -> Result<Option<u64>> {
        let partition = self.partition(partition)?;
        let (kept, full) = {
            let live = partition.lock(&self.store)?;
            (live.floor()..live.end(), live.full())
        };
        let snapshot = partition.snapshot(&self.store)?;
        let mut tile = kept.start / WIDTH;
        let tiles = partition.tiles_in(&snapshot);
        let is_then = |record_ns: i64| record_ns >= time_ns;
        while let Some(found) = first_tile(tiles, tile..full / WIDTH, time_ns)? {
            let within = (found * WIDTH).max(kept.start)..(found + 1) * WIDTH;
            if let Some(offset) = first_record(&snapshot, partition.records, within, is_then)? {
                return Ok(Some(offset));
            }
            tile = found + 1;
        }
        first_record(&snapshot, partition.records, full.max(kept.start)..kept.end, is_then)
    }
}

/// The first of these tiles that has, or had, a record of this time or later.
fn first_tile(tiles: Tiles<'_>, among: Range<u64>, time_ns: i64) -> Result<Option<u64>> {
    let mut tile = among.start;
    while tile < among.end {
        // The largest one that begins here and is full, then what is in it.
        let mut level = largest_at(tile, among.end);
        loop {
            let found = tiles.find(level, tile >> shift_of(level))?;
            let span = found.map(|found| found.span()).transpose()?;
            if span.is_some_and(|span| span.time_max < time_ns) {
                tile += 1 << shift_of(level);
                break;
            }
            if level == 0 {
                return Ok(Some(tile));
            }
            level -= 1;
        }
    }
    Ok(None)
}

fn shift_of(level: u8) -> u32 {
    u32::from(level) * u32::from(TILE_HEIGHT)
}

/// The highest level of a full tile whose first tile of leaves is this one.
fn largest_at(tile: u64, end: u64) -> u8 {
    let is_full = |level: &u8| {
        let tiles = 1_u64 << shift_of(*level);
        tile.is_multiple_of(tiles) && tile.checked_add(tiles).is_some_and(|behind| behind <= end)
    };
    (1..LEVELS).take_while(is_full).last().unwrap_or(0)
}
