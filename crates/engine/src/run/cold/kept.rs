//! What of a block the cache keeps.
//!
//! A scan that decodes more than the cache holds would push out each block before it comes to it again. So of such a scan
//! some blocks are kept, always the same ones, and the others go by:
//!
//! ```text
//!    blocks of a scan, twice as many as there is room for     0 1 2 3 4 5 6 7 8 9 ..
//!    kept                                                     x   x   x     x   x
//! ```
//!
//! They are spread evenly, so that readers who share the blocks find as many each.

use std::ops::Range;

use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType;

use super::super::cache::{Form, KeptRows};
use super::super::tail::Zone;
use super::decode::DecodedAs;
use super::{ColdFile, LONG_BLOCK_ROWS};
use crate::scan::ViewedColumns;

/// Of a scan of more than so many times what the cache holds nothing is kept: what it spares is less than what it pushes out.
const OVER_MAX: u64 = 4;
/// Of the cache such a scan gets so many parts
const SHARE: u64 = 3;
/// of so many: the rest is for others, and for what is known of pages.
const SHARE_OF: u64 = 4;
/// 2^32 over the golden ratio: multiples of it lie evenly between 0 and 2^32, however many there are.
const SPREAD: u32 = 0x9e37_79b9;

impl ColdFile {
    /// Whether columns of a block are read from the cache and kept in it, in a scan of so many rows.
    pub(in crate::run) fn is_cached(
        &self,
        (block, zone): (usize, &Zone),
        wanted: &ViewedColumns,
        rows: u64,
    ) -> bool {
        if zone.rows > LONG_BLOCK_ROWS {
            // Codes of a part are as good as what would be kept.
            let bytes = self.decoded_bytes(wanted, rows);
            return wanted.by_dictionary.is_empty() && bytes <= self.cache.bytes_max();
        }
        let found = || self.cached_of_block((block, zone), wanted).0;
        self.is_kept(block, wanted, rows) || found().iter().any(Option::is_some)
    }

    /// Whether columns of a block are among those that are kept of a scan of so many rows.
    pub(in crate::run) fn is_kept(&self, block: usize, wanted: &ViewedColumns, rows: u64) -> bool {
        is_kept(block, self.decoded_bytes(wanted, rows), self.cache.bytes_max())
    }

    /// Whether all columns of a block are in the cache, or will be, in a scan of so many rows: all of it has room.
    pub(super) fn has_all(
        &self,
        (block, zone): (usize, &Zone),
        wanted: &ViewedColumns,
        rows: u64,
    ) -> bool {
        self.decoded_bytes(wanted, rows) <= self.cache.bytes_max()
            || self.has_cached((block, zone), wanted)
    }

    /// Whether the cache has all columns of a block.
    pub(in crate::run) fn has_cached(&self, block: (usize, &Zone), wanted: &ViewedColumns) -> bool {
        self.cached_of_block(block, wanted).1.is_empty()
    }

    /// What the cache has of all rows of a block, of these columns; and the others.
    fn cached_of_block(
        &self,
        (block, zone): (usize, &Zone),
        wanted: &ViewedColumns,
    ) -> (Vec<Option<ArrayRef>>, Vec<usize>) {
        let (all, codes) = (zone.rows as usize, wanted.coded());
        let decoded_as = DecodedAs::coded(!wanted.views.is_empty(), &codes);
        self.cached((block, all), &(0..all), &wanted.columns, decoded_as)
    }

    /// Whether numbers of a block are kept in 32 bits each, in a scan of so many rows of so many columns.
    pub(super) fn keeps_narrow(&self, block: usize, columns: usize, rows: u64) -> bool {
        let bytes = rows.saturating_mul((columns * size_of::<i32>()) as u64);
        is_kept(block, bytes, self.cache.bytes_max())
    }

    /// About what so many rows of some columns take, decoded.
    fn decoded_bytes(&self, wanted: &ViewedColumns, rows: u64) -> u64 {
        let width = |(place, column): (usize, &usize)| {
            let width = self.schema.fields().get(*column).map(|field| field.data_type());
            match wanted.takes_dictionary(place) {
                true => size_of::<i32>(),
                false => width.and_then(DataType::primitive_width).unwrap_or(size_of::<u128>()),
            }
        };
        let widths = wanted.columns.iter().enumerate().map(width);
        rows.saturating_mul(widths.sum::<usize>() as u64)
    }

    /// What a column is decoded to, if not to codes.
    pub(super) fn form(&self, column: usize, text_views: bool) -> Form {
        match text_views && self.is_viewed(column) {
            true => Form::Views,
            false => Form::Stored,
        }
    }

    /// What the cache has of some rows of a block of so many, of these columns; and the others, in ascending order.
    pub(super) fn cached(
        &self,
        (block, all): (usize, usize),
        rows: &Range<usize>,
        columns: &[usize],
        wanted: DecodedAs<'_>,
    ) -> (Vec<Option<ArrayRef>>, Vec<usize>) {
        let cached = |column: &usize| {
            let get = |rows: &Range<usize>, form| {
                let kept = KeptRows::of(self.run, block, rows, all);
                self.cache.get(kept, *column, form).filter(|kept| kept.len() == rows.len())
            };
            let of = |form| match get(&(0..all), form) {
                Some(whole) if rows.len() < all => Some(whole.slice(rows.start, rows.len())),
                None if rows.len() < all => get(rows, form),
                whole => whole,
            };
            let codes = wanted.may_be_codes(*column).then(|| of(Form::Codes)).flatten();
            codes.or_else(|| of(self.form(*column, wanted.has_views())))
        };
        let found: Vec<Option<ArrayRef>> = columns.iter().map(cached).collect();
        let mut missing: Vec<usize> = columns
            .iter()
            .zip(&found)
            .filter_map(|(column, array)| array.is_none().then_some(*column))
            .collect();
        missing.sort_unstable();
        missing.dedup();
        (found, missing)
    }
}

/// Whether a block is kept of a scan of so many bytes, in a cache that has room for so many.
fn is_kept(block: usize, bytes: u64, room: u64) -> bool {
    if bytes <= room {
        return true;
    }
    let place = u128::from((block as u32).wrapping_mul(SPREAD));
    let share = (u128::from(room / SHARE_OF * SHARE) << u32::BITS) / u128::from(bytes);
    bytes / OVER_MAX <= room && place < share
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_scan_as_many_blocks_are_kept_as_there_is_room_for() {
        let room = 1 << 20;
        let kept = |blocks: std::ops::Range<usize>, bytes| {
            blocks.filter(|block| is_kept(*block, bytes, room)).count()
        };
        assert_eq!(kept(0..100, room), 100);
        assert_eq!(kept(0..100, 5 * room), 0);
        for times in [2, 3] {
            let share = |blocks: usize| blocks * 3 / 4 / times as usize;
            for blocks in [0..100, 300..400, 0..1_000] {
                let (found, share) = (kept(blocks.clone(), times * room), share(blocks.len()));
                assert!(found.abs_diff(share) <= 2, "{found} of {blocks:?}, expected {share}");
            }
            // Two readers who take turns find as many each.
            let even = (0..1_000).step_by(2).filter(|block| is_kept(*block, times * room, room));
            assert!(even.count().abs_diff(share(500)) <= 3);
        }
    }
}
