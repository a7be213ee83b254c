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

use arrow_array::cast::AsArray;
use arrow_array::types::UInt32Type;
use arrow_array::{Array, ArrayRef, BooleanArray, RecordBatch, UInt32Array};
use arrow_buffer::{BooleanBuffer, BooleanBufferBuilder};

use super::super::tail::Zone;
use super::ColdFile;
use crate::Result;
use crate::scan::{PlannedFilter, RowOrder};

/// Makes a batch of the columns that a filter looks at, of so many rows.
type Shown<'a> = dyn Fn(Vec<ArrayRef>, usize) -> Result<RecordBatch> + 'a;

impl ColdFile {
    /// The rows of a block that pass: the columns of the filter's reading.
    pub(in crate::run) fn read_passing(
        &self,
        (block, zone): (usize, &Zone),
        filter: &PlannedFilter,
        order: RowOrder,
        shown: &Shown<'_>,
    ) -> Result<RecordBatch> {
        let wanted = &filter.looked_at;
        let as_views = !wanted.views.is_empty();
        let pages = self.pages_that_may_pass(block, zone, filter)?;
        let looked_at = match &pages {
            None => self.read_stored(block, zone, &wanted.columns, as_views)?,
            Some(rows) if rows.true_count() == 0 => return filter.no_rows(),
            Some(rows) => {
                self.read_stored_selected(block, zone, &wanted.columns, as_views, rows)?
            }
        };
        let shown = shown(looked_at, looked_at_rows(zone, pages.as_ref()))?;
        let passes = filter.passes(&shown)?;
        let rows = passes.true_count();
        if rows == 0 {
            return filter.no_rows();
        }
        let looked_at = match filter.gives_looked_at() {
            true => self.chosen(shown.columns(), &passes)?,
            false => Vec::new(),
        };
        let stored = match &pages {
            None => passes,
            Some(pages) => within(pages, &passes),
        };
        let wanted = &filter.others;
        let as_views = !wanted.views.is_empty();
        let others = match wanted.columns.is_empty() {
            true => Vec::new(),
            false => self.read_stored_selected(block, zone, &wanted.columns, as_views, &stored)?,
        };
        let order = match order {
            RowOrder::Any => None,
            RowOrder::ByKey => self.order(block, zone, &stored)?,
        };
        match order {
            None => filter.joined(&looked_at, &others, rows),
            Some(order) => {
                let looked_at = self.in_order(&looked_at, &order)?;
                filter.joined(&looked_at, &self.in_order(&others, &order)?, rows)
            }
        }
    }

    /// Of rows that are selected as they are stored: which of them comes first by the key, and so on; `None` where they
    /// are in that order.
    fn order(
        &self,
        block: usize,
        zone: &Zone,
        stored: &BooleanArray,
    ) -> Result<Option<UInt32Array>> {
        if !self.has_places {
            return Ok(None);
        }
        let column = self.schema.fields().len();
        let places = self.read_stored_selected(block, zone, &[column], false, stored)?;
        let places = places.first().and_then(|places| places.as_primitive_opt::<UInt32Type>());
        let places = places.filter(|places| places.null_count() == 0).ok_or_else(|| {
            self.file.bad(0, format!("block {block} of a run has no place for each of its rows"))
        })?;
        let mut order: Vec<(u32, u32)> = places.values().iter().copied().zip(0..).collect();
        order.sort_unstable();
        Ok(Some(order.into_iter().map(|(_, row)| row).collect()))
    }

    /// Which rows of a block lie in pages that may have some that pass; `None`: all.
    fn pages_that_may_pass(
        &self,
        block: usize,
        zone: &Zone,
        filter: &PlannedFilter,
    ) -> Result<Option<BooleanArray>> {
        let wanted = &filter.looked_at;
        let Some(pages) = self.pages(block) else { return Ok(None) };
        let Some((starts, bounds)) = self.bounds(&pages, wanted) else { return Ok(None) };
        let Some(may) = filter.may_pass(&bounds)? else { return Ok(None) };
        let rows = zone.rows as usize;
        let mut selected = BooleanBufferBuilder::new(rows);
        for (page, start) in starts.iter().enumerate() {
            let end = starts.get(page + 1).copied().unwrap_or(rows).min(rows);
            // What can't be told may pass.
            let may_pass = may.is_null(page) || may.value(page);
            selected.append_n(end.saturating_sub(*start), may_pass);
        }
        let selected = selected.finish();
        let is_some = selected.len() == rows && selected.count_set_bits() < rows;
        Ok(is_some.then(|| BooleanArray::new(selected, None)))
    }
}

fn looked_at_rows(zone: &Zone, pages: Option<&BooleanArray>) -> usize {
    pages.map_or(zone.rows as usize, BooleanArray::true_count)
}

/// Of the rows that `outer` selects those that `inner`, one value for each of them, does.
fn within(outer: &BooleanArray, inner: &BooleanArray) -> BooleanArray {
    let mut both = BooleanBufferBuilder::new(outer.len());
    both.append_n(outer.len(), false);
    for (row, is_in) in outer.values().set_indices().zip(inner.values()) {
        if is_in {
            both.set_bit(row, true);
        }
    }
    let both: BooleanBuffer = both.finish();
    BooleanArray::new(both, None)
}
