//! Which rows of which row group a block has.
//!
//! A block is what is read, and kept in the cache, at once. A row group is what dictionaries are shared by: those of few rows
//! take as much room as the rows. So where rows lie in the order of the key, and a row group has several pages of keys, each of
//! these is a block:
//!
//! ```text
//!    row groups    [dictionaries, page, page, page, page] [dictionaries, page, page, page]
//!    blocks                         0     1     2     3                    4     5     6
//! ```
//!
//! What the file says of its row groups (zone maps, checksums, aggregates) is told of blocks when it is opened, by the page
//! index, whose least and greatest keys of a page are exact.

use std::ops::Range;

use parquet::arrow::arrow_reader::{RowSelection, RowSelector};
use timestrata_format::Zone;

use super::super::row_groups::BLOCKS_MIN;
use super::ColdFile;
use super::decode::{self, ChosenRows};
use crate::key::KeyView;
use crate::{Result, Stream};

/// Rows of a row group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct BlockPlace {
    pub(super) group: usize,
    pub(super) rows: Range<usize>,
    /// Rows of the row group.
    of: usize,
}

impl BlockPlace {
    /// All rows of a group of so many.
    fn whole(group: usize, rows: usize) -> Self {
        Self { group, rows: 0..rows, of: rows }
    }

    pub(super) fn is_whole(&self) -> bool {
        self.rows.len() == self.of
    }

    /// Rows that are chosen of the block as rows of its group.
    pub(super) fn in_group(&self, chosen: ChosenRows) -> ChosenRows {
        if self.is_whole() {
            return chosen;
        }
        let whole =
            || RowSelection::from_consecutive_ranges(std::iter::once(self.rows.clone()), self.of);
        let moved = |selection: RowSelection| {
            let before = RowSelector::skip(self.rows.start);
            let behind = RowSelector::skip(self.of - self.rows.end);
            let selectors = std::iter::once(before).chain(Vec::from(selection)).chain([behind]);
            RowSelection::from(selectors.collect::<Vec<_>>())
        };
        match chosen {
            ChosenRows::All => ChosenRows::Stretch(whole()),
            ChosenRows::Stretch(selection) => ChosenRows::Stretch(moved(selection)),
            ChosenRows::Stretches(selection, mask) => ChosenRows::Stretches(moved(selection), mask),
            ChosenRows::Masked(selection, mask) => {
                ChosenRows::Masked(Some(selection.map_or_else(whole, moved)), mask)
            }
        }
    }
}

impl ColdFile {
    /// Divides row groups into blocks; gives their zone maps, of those of the row groups.
    pub(in crate::run) fn divided(mut self, stream: &Stream, zones: &[Zone]) -> (Self, Vec<Zone>) {
        let may_divide = stream.shares_dictionaries() && !self.has_places() && self.words.is_none();
        let mut places = Vec::with_capacity(zones.len());
        let mut blocks = Vec::with_capacity(zones.len());
        for (group, zone) in zones.iter().enumerate() {
            let pages = if may_divide { self.pages_as_blocks(group, zone) } else { None };
            let pages = pages
                .unwrap_or_else(|| vec![(BlockPlace::whole(group, zone.rows as usize), *zone)]);
            for (place, zone) in pages {
                places.push(place);
                blocks.push(zone);
            }
        }
        self.places = places;
        (self, blocks)
    }

    /// The pages of a row group's keys, if they are to be blocks; `None` where they aren't, or the page index is not that of
    /// such rows.
    fn pages_as_blocks(&self, group: usize, zone: &Zone) -> Option<Vec<(BlockPlace, Zone)>> {
        let rows = zone.rows as usize;
        let (starts, bounds) =
            self.lead_pages(group).filter(|(starts, _)| starts.len() >= BLOCKS_MIN)?;
        let least = KeyView::of_column(bounds.min.as_ref()).ok()?;
        let greatest = KeyView::of_column(bounds.max.as_ref()).ok()?;
        let ends = starts.iter().skip(1).copied().chain([rows]);
        let mut pages = Vec::with_capacity(starts.len());
        for (page, (start, end)) in starts.iter().copied().zip(ends).enumerate() {
            let page_rows = end.checked_sub(start).filter(|rows| *rows > 0)?;
            let zone = Zone {
                rows: u32::try_from(page_rows).ok()?,
                key_min: least.get(page),
                key_max: greatest.get(page),
            };
            pages.push((BlockPlace { group, rows: start..end, of: rows }, zone));
        }
        let ends = (pages.first()?.1.key_min, pages.last()?.1.key_max);
        let follow = |pair: &[(BlockPlace, Zone)]| match pair {
            [(_, one), (_, next)] => one.key_max <= next.key_min,
            _ => true,
        };
        let is_sound = ends == (zone.key_min, zone.key_max)
            && pages.iter().all(|(_, zone)| zone.key_min <= zone.key_max)
            && pages.windows(2).all(follow);
        is_sound.then_some(pages)
    }

    /// Where a block's rows are.
    ///
    /// # Errors
    /// `InvalidArgument` for a block that the file hasn't.
    pub(super) fn place(&self, block: usize) -> Result<&BlockPlace> {
        self.places.get(block).ok_or_else(|| self.file.no_block(block))
    }

    /// Whether some of these parts of the file have bytes of a block: of its pages, or of the dictionaries that it shares with others.
    /// Also if it can't be told.
    pub(in crate::run) fn has_bytes_in(&self, block: usize, parts: &[Range<u64>]) -> bool {
        let touches = |bytes: &Range<u64>| {
            parts.iter().any(|part| part.start < bytes.end && bytes.start < part.end)
        };
        self.extents_of(block).is_none_or(|extents| extents.iter().any(touches))
    }

    /// Where the bytes of a block lie.
    fn extents_of(&self, block: usize) -> Option<Vec<Range<u64>>> {
        let place = self.place(block).ok().filter(|place| !place.is_whole())?;
        let pages = self.pages(place.group)?;
        let selection =
            RowSelection::from_consecutive_ranges([place.rows.clone()].into_iter(), place.of);
        let mut extents = Vec::new();
        for (leaf, chunk) in self.groups().get(place.group)?.columns().iter().enumerate() {
            let (chunk, places) = (self.chunk_range(chunk).ok()?, decode::places(&pages, leaf)?);
            extents.extend(self.read_ranges(chunk, places, &selection).ok()?);
        }
        Some(extents)
    }

    /// How many blocks so many of the first row groups have; and of those that the file hasn't one each.
    pub(in crate::run) fn blocks_before(&self, group: usize) -> usize {
        let groups = self.groups().len();
        let blocks = self.places.partition_point(|place| place.group < group);
        blocks.saturating_add(group.saturating_sub(groups))
    }

    /// The row group that a block is in.
    pub(in crate::run) fn group_of(&self, block: usize) -> Option<usize> {
        self.places.get(block).map(|place| place.group)
    }
}
