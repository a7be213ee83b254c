//! The rows of a block that pass a filter.
//!
//! ```text
//!    pages that may have such rows     ##..##..........    by the bounds of their values
//!    the filter's columns, of these    x.  .x              decoded, and looked at
//!    the other columns                 x    x              decoded, of rows that passed
//! ```
//!
//! All of that is in the order in which rows are stored; where that isn't the order of the key, those few that are left
//! are put in order.

use std::ops::Range;

use arrow_array::cast::AsArray;
use arrow_array::types::UInt32Type;
use arrow_array::{Array, ArrayRef, BooleanArray, RecordBatch, UInt32Array, new_empty_array};
use arrow_schema::DataType;
use timestrata_format::KeyRange;

use super::super::tail::Zone;
use super::decode::DecodedAs;
use super::mask::RowMask;
use super::{ColdFile, FEW_ROWS_SHARE};
use crate::Result;
use crate::key::KeyView;
use crate::scan::{PlannedFilter, RowOrder, ViewedColumns};

/// One of so many rows of a block, and they are many: to sort them takes longer than to look at all places.
const MANY_OF: usize = 32;

/// So few rows are read together with their places, and put in order then: each reading takes as long as some hundred rows.
const READ_AT_ONCE: usize = 1_024;

/// Rows of a piece of a block in the order of the key, where few of its rows are wanted.
pub(in crate::run) const PIECE_ROWS: u32 = if cfg!(test) { 64 } else { 4_096 };

/// Makes a batch of the columns that a filter looks at, of so many rows.
type Shown<'a> = dyn Fn(Vec<ArrayRef>, usize) -> Result<RecordBatch> + 'a;

impl ColdFile {
    /// Of some rows of a block, as they are stored, those that pass: the columns of the filter's reading.
    pub(in crate::run) fn read_passing(
        &self,
        (block, zone): (usize, &Zone),
        filter: &PlannedFilter,
        (order, among, keys): (RowOrder, Range<usize>, Option<KeyRange>),
        shown: &Shown<'_>,
    ) -> Result<RecordBatch> {
        let wanted = &filter.looked_at;
        let as_views = !wanted.views.is_empty();
        let pages = self.pages_that_may_pass(block, zone, filter, &among)?;
        let pages = match keys {
            None => pages,
            Some(keys) => Some(self.with_keys((block, zone), &keys, pages)?),
        };
        if pages.as_ref().is_some_and(|rows| rows.count() == 0) {
            return filter.no_rows();
        }
        if let Some(stored) = self.in_ranges((block, zone), filter, pages.as_ref())? {
            return self.others_of((block, zone), filter, order, &stored, &[]);
        }
        let looked_at = match &pages {
            None => self.read_stored(block, zone, &wanted.columns, as_views)?,
            Some(rows) => {
                self.read_stored_selected(block, zone, &wanted.columns, as_views, rows, None)?
            }
        };
        let shown = shown(looked_at, pages.as_ref().map_or(zone.rows as usize, RowMask::count))?;
        let passes = filter.passes(&shown)?;
        if passes.true_count() == 0 {
            return filter.no_rows();
        }
        let looked_at = match filter.gives_looked_at() {
            true => self.chosen(shown.columns(), &passes)?,
            false => Vec::new(),
        };
        let stored = match &pages {
            None => RowMask::new(0, passes.values().clone()),
            Some(pages) => pages.within(&passes),
        };
        self.others_of((block, zone), filter, order, &stored, &looked_at)
    }

    /// The columns of a filter's reading, of the rows that have passed it as they are stored; those that were looked at are
    /// there, if they are given.
    fn others_of(
        &self,
        (block, zone): (usize, &Zone),
        filter: &PlannedFilter,
        order: RowOrder,
        stored: &RowMask,
        looked_at: &[ArrayRef],
    ) -> Result<RecordBatch> {
        let rows = stored.count();
        if rows == 0 {
            return filter.no_rows();
        }
        let (order, others) = self.read_in((block, zone), &filter.others, stored, order)?;
        match order {
            Some(order) => filter.joined(&self.in_order(looked_at, &order)?, &others, rows),
            None => filter.joined(looked_at, &others, rows),
        }
    }

    /// Columns of rows that are selected as they are stored, in the order that is wanted; and which of them comes first, and so
    /// on, where that isn't as they lie.
    fn read_in(
        &self,
        (block, zone): (usize, &Zone),
        wanted: &ViewedColumns,
        stored: &RowMask,
        order: RowOrder,
    ) -> Result<(Option<UInt32Array>, Vec<ArrayRef>)> {
        let (columns, as_views) = (wanted.columns.as_slice(), !wanted.views.is_empty());
        let read = |columns: &[usize], order| match columns {
            [] => Ok(Vec::new()),
            _ => self.read_stored_selected(block, zone, columns, as_views, stored, order),
        };
        if !self.has_places() || order != RowOrder::ByKey {
            return Ok((None, read(columns, None)?));
        }
        let places = self.schema.fields().len();
        if stored.count() > READ_AT_ONCE {
            // Codes of text are put in order before text is made of them.
            let order = self.order_of((block, zone), read(&[places], None)?.first())?;
            let read = read(columns, Some(&order))?;
            return Ok((Some(order), read));
        }
        let with_places: Vec<usize> = columns.iter().copied().chain([places]).collect();
        let mut found = read(&with_places, None)?;
        let order = self.order_of((block, zone), found.pop().as_ref())?;
        Ok((Some(order.clone()), self.in_order(&found, &order)?))
    }

    /// Rows of a block that have some keys, of those `among` them as they are stored; and how many.
    pub(in crate::run) fn read_within(
        &self,
        (block, zone): (usize, &Zone),
        wanted: &ViewedColumns,
        keys: &KeyRange,
        (order, among): (RowOrder, &Range<usize>),
    ) -> Result<(usize, Vec<ArrayRef>)> {
        if !self.has_places() {
            return self.read_about((block, zone), wanted, keys, (order, among));
        }
        let is_whole = among.len() == zone.rows as usize;
        let selected = (!is_whole).then(|| RowMask::of_ranges(std::slice::from_ref(among)));
        let stored = self.with_keys((block, zone), keys, selected)?;
        let rows = stored.count();
        if rows == 0 {
            return Ok((0, self.read_none(&wanted.columns, !wanted.views.is_empty())));
        }
        let (_, read) = self.read_in((block, zone), wanted, &stored, order)?;
        Ok((rows, read))
    }

    /// The same where rows lie in the order of the key, and of the rows about these those of whole pieces, which the cache keeps:
    /// to decode all of a block for a few rows takes several times as long.
    fn read_about(
        &self,
        (block, zone): (usize, &Zone),
        wanted: &ViewedColumns,
        keys: &KeyRange,
        (order, among): (RowOrder, &Range<usize>),
    ) -> Result<(usize, Vec<ArrayRef>)> {
        let leads = self.read_stored(block, zone, &[self.lead_column], false)?;
        let leads = leads.first().ok_or_else(|| self.file.bad(0, "a block has no keys"))?;
        self.file.check_ends(zone, leads)?;
        let found = KeyView::of_column(leads.as_ref())?.rows_in(keys);
        let found = found.start.max(among.start)..found.end.min(among.end);
        let as_views = !wanted.views.is_empty();
        if found.is_empty() {
            return Ok((0, self.read_none(&wanted.columns, as_views)));
        }
        let codes = wanted.coded();
        let decoded_as = match order {
            RowOrder::ByKey => DecodedAs::viewed(as_views),
            RowOrder::Any(_) => DecodedAs::coded(as_views, &codes),
        };
        let goes_by = !self.is_kept(block, wanted, wanted.scan_rows);
        let pieces = pieces_about(&found, zone.rows as usize);
        let read =
            self.read_piece((block, zone), &wanted.columns, decoded_as.for_once(goes_by), &pieces)?;
        let ours = pieces.start.max(among.start)..pieces.end.min(among.end);
        let from = ours.start - pieces.start;
        let read = read.iter().map(|column| column.slice(from, ours.len())).collect();
        Ok((ours.len(), read))
    }

    /// No rows of some columns.
    pub(super) fn read_none(&self, columns: &[usize], as_views: bool) -> Vec<ArrayRef> {
        let none = |column: &usize| match self.schema.fields().get(*column) {
            Some(_) if as_views && self.is_viewed(*column) => new_empty_array(&DataType::Utf8View),
            Some(field) => new_empty_array(field.data_type()),
            None => new_empty_array(&DataType::Null),
        };
        columns.iter().map(none).collect()
    }

    /// Of the rows of a block that are `selected` (`None`: all) those that have some leading keys.
    fn with_keys(
        &self,
        (block, zone): (usize, &Zone),
        keys: &KeyRange,
        selected: Option<RowMask>,
    ) -> Result<RowMask> {
        let lead = &[self.lead_column];
        let few = selected.as_ref().filter(|selected| {
            selected.count().saturating_mul(FEW_ROWS_SHARE) <= zone.rows as usize
        });
        let leads = match few {
            Some(rows) if rows.count() == 0 => return Ok(rows.clone()),
            Some(rows) => self.read_stored_selected(block, zone, lead, false, rows, None)?,
            // They are kept: whoever asks for some keys asks for others next.
            None => self.read_stored(block, zone, lead, false)?,
        };
        let leads = leads.first().ok_or_else(|| self.file.bad(0, "a block has no keys"))?;
        let passes = KeyView::of_column(leads.as_ref())?.within_any(std::slice::from_ref(keys));
        Ok(match (few, &selected) {
            (Some(selected), _) => selected.within(&BooleanArray::new(passes, None)),
            (None, Some(selected)) => selected.and(&passes),
            (None, None) => RowMask::new(0, passes),
        })
    }

    /// Of rows of a block that have some places: which of them comes first by the key, and so on.
    fn order_of(
        &self,
        (block, zone): (usize, &Zone),
        places: Option<&ArrayRef>,
    ) -> Result<UInt32Array> {
        let places = places.and_then(|places| places.as_primitive_opt::<UInt32Type>());
        let places = places.filter(|places| places.null_count() == 0).ok_or_else(|| {
            self.file.bad(0, format!("block {block} of a run has no place for each of its rows"))
        })?;
        by_place(places.values(), zone.rows as usize).ok_or_else(|| {
            self.file
                .bad(0, format!("block {block} of a run has two rows in one place, or one in none"))
        })
    }

    /// Which of some rows of a block lie in pages that may have some that pass; `None`: all of the block.
    fn pages_that_may_pass(
        &self,
        block: usize,
        zone: &Zone,
        filter: &PlannedFilter,
        among: &Range<usize>,
    ) -> Result<Option<RowMask>> {
        let rows = zone.rows as usize;
        let may_pass = match self.bounds(block, &filter.looked_at) {
            Some((starts, bounds)) => filter.may_pass(&bounds)?.map(|may| (starts, may)),
            None => None,
        };
        // A page index that has no page for some rows tells nothing.
        let may_pass = may_pass.filter(|(starts, may)| {
            starts.len() == may.len()
                && starts.first() == Some(&0)
                && starts.is_sorted()
                && starts.iter().all(|at| *at <= rows)
        });
        let Some((starts, may)) = may_pass else {
            let is_whole = among.len() == rows;
            return Ok((!is_whole).then(|| RowMask::of_ranges(std::slice::from_ref(among))));
        };
        // What can't be told may pass.
        let may = match may.nulls() {
            Some(known) => may.values() | &!known.inner(),
            None => may.values().clone(),
        };
        let row_at = |page: usize| starts.get(page).copied().unwrap_or(rows);
        let ranges = may
            .set_slices()
            .map(|(first, end)| row_at(first).max(among.start)..row_at(end).min(among.end));
        let ranges: Vec<Range<usize>> = ranges.filter(|range| !range.is_empty()).collect();
        let is_whole = ranges.first().is_some_and(|range| range.len() == rows);
        Ok((!is_whole).then(|| RowMask::of_ranges(&ranges)))
    }
}

/// The pieces of a block of so many rows that some rows are in, or all of it where that is not much more.
fn pieces_about(rows: &Range<usize>, all: usize) -> Range<usize> {
    let piece = PIECE_ROWS as usize;
    let start = rows.start / piece * piece;
    let end = rows.end.next_multiple_of(piece).min(all);
    match (end - start) * 2 > all {
        true => 0..all,
        false => start..end,
    }
}

/// The rows by their places, which are below `rows_max` and each another; `None` where they aren't. Few are sorted; of
/// many each is put at its place, and what is between left out.
fn by_place(places: &[u32], rows_max: usize) -> Option<UInt32Array> {
    const NOBODY: u32 = u32::MAX;
    if places.len() < rows_max / MANY_OF {
        let mut order: Vec<(u32, u32)> = places.iter().copied().zip(0..).collect();
        order.sort_unstable();
        let differ = order.is_sorted_by(|one, next| one.0 < next.0);
        let is_within = order.last().is_none_or(|(place, _)| (*place as usize) < rows_max);
        return (differ && is_within).then(|| order.into_iter().map(|(_, row)| row).collect());
    }
    let mut rows = vec![NOBODY; rows_max];
    for (row, place) in (0_u32..).zip(places) {
        *rows.get_mut(*place as usize)? = row;
    }
    rows.retain(|row| *row != NOBODY);
    // One that took another's place has left it out.
    (rows.len() == places.len()).then(|| UInt32Array::from(rows))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn rows_by_place_are_those_of_a_sort_however_many_they_are(
            chosen in prop::collection::btree_set(0_u32..300, 0..40),
            seed in any::<u64>(),
        ) {
            let mut places: Vec<u32> = chosen.into_iter().collect();
            places.sort_by_key(|place| (u64::from(*place) ^ seed).wrapping_mul(0x9E37_79B9_7F4A_7C15));
            let mut sorted: Vec<u32> = (0..).take(places.len()).collect();
            sorted.sort_by_key(|row| places.get(*row as usize));
            for rows_max in [300, 300 * MANY_OF * MANY_OF] {
                let rows = by_place(&places, rows_max);
                prop_assert_eq!(rows.map(|rows| rows.values().to_vec()), Some(sorted.clone()));
            }
        }

        #[test]
        fn places_that_two_rows_have_or_that_are_none_are_refused(place in 0_u32..64, far in 0_u32..9) {
            for rows_max in [64, 64 * MANY_OF] {
                prop_assert!(by_place(&[7, place, place], rows_max).is_none());
                let beyond = far + u32::try_from(rows_max).unwrap_or(u32::MAX - 9);
                prop_assert!(by_place(&[place, beyond], rows_max).is_none());
            }
        }
    }
}
