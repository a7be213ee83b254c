//! Counts and ends of a range: from metadata where that is exact, else from key columns.

use std::sync::Arc;

use timestrata_format::{KeyRange, LeadKey};

use super::cursor::Cursor;
use super::merge::{Batches, Purpose, merge};
use super::plan::{RowsMeeting, ScanPlan};
use super::reverse::Reverse;
use super::row_filter::ViewedColumns;
use super::tail::Tail;
use super::view::{Seen, forward, meeting};
use super::{RowOrder, Share, StreamView};
use crate::Result;
use crate::key::KeyView;
use crate::tombstones::Visible;

impl StreamView {
    /// Number of rows in `range`, exactly. Reads key columns of blocks that the range or a
    /// tombstone cuts, and where rows of several sources may replace each other.
    pub(crate) fn count(&self, range: &KeyRange) -> Result<u64> {
        let seen = self.seen(range)?;
        if !self.stream.is_latest() {
            return seen.iter().map(|seen| self.count_alone(seen)).sum();
        }
        let mut count = 0;
        for group in groups(seen) {
            let marked = group.iter().any(|(source, _)| source.delete_markers() > 0);
            count += match group.len() {
                1 if !marked => group.first().map_or(Ok(0), |seen| self.count_alone(seen))?,
                _ => self.count_together(group)?,
            };
        }
        Ok(count)
    }

    /// Counts a source whose rows nothing else replaces: keys are looked at where they lie.
    fn count_alone(&self, seen: &Seen) -> Result<u64> {
        let (source, visible) = seen;
        if visible.covers(source.key_min(), source.key_max()) {
            return Ok(source.rows());
        }
        let lead = ViewedColumns::plain(vec![self.stream.lead_column()]);
        let mut count = 0;
        for (index, block) in source.blocks()?.iter().enumerate() {
            let (min, max) = (block.key_min, block.key_max);
            if visible.first_overlap(min, max).is_none() {
                continue;
            }
            if visible.covers(min, max) {
                count += u64::from(block.rows);
                continue;
            }
            let read = source.read_viewed(index, &lead, None, RowOrder::Any(Share::WHOLE))?;
            let Some(keys) = read.columns().first() else { continue };
            let keys = KeyView::of_column(keys.as_ref())?;
            count += match keys.is_sorted() {
                true => count_sorted(&keys, visible),
                false => {
                    let parts: Vec<_> = visible.parts_over(min, max).collect();
                    keys.within_any(&parts).count_set_bits()
                }
            } as u64;
        }
        Ok(count)
    }

    fn count_together(&self, seen: Vec<Seen>) -> Result<u64> {
        let plan = ScanPlan::of_columns(&self.stream, Some(&[]), meeting(&seen))?;
        let cursors = seen.into_iter().map(|(source, visible)| Cursor::new(source, visible, None));
        merge(Arc::new(plan), cursors.collect(), Purpose::Count)?.count()
    }

    /// Smallest leading key in `range`.
    pub(crate) fn min_key(&self, range: &KeyRange) -> Result<Option<LeadKey>> {
        let mut seen = self.seen(range)?;
        if meeting(&seen).drop_markers {
            let plan = self.lead_plan(meeting(&seen))?;
            return first_key_of(forward(plan, seen, Purpose::Batches)?.as_mut());
        }
        let plan = self.lead_plan(RowsMeeting { by_key: true, ..RowsMeeting::NOT })?;
        seen.sort_by_key(|(source, _)| source.key_min());
        let mut least: Option<LeadKey> = None;
        for (source, visible) in seen {
            if least.is_some_and(|least| least <= source.key_min()) {
                break;
            }
            let key = Cursor::new(source, visible, None).first_key(&plan)?;
            least = [least, key].into_iter().flatten().min();
        }
        Ok(least)
    }

    /// Greatest leading key in `range`.
    pub(crate) fn max_key(&self, range: &KeyRange) -> Result<Option<LeadKey>> {
        let mut seen = self.seen(range)?;
        if meeting(&seen).drop_markers {
            let plan = self.lead_plan(meeting(&seen))?;
            return first_key_of(&mut Reverse::new(plan, seen));
        }
        let plan = self.lead_plan(RowsMeeting { by_key: true, ..RowsMeeting::NOT })?;
        seen.sort_by_key(|(source, _)| std::cmp::Reverse(source.key_max()));
        let mut greatest: Option<LeadKey> = None;
        for seen in seen {
            if greatest.is_some_and(|greatest| greatest >= seen.0.key_max()) {
                break;
            }
            greatest = greatest.max(Tail::new(0, seen).last_key(&plan)?);
        }
        Ok(greatest)
    }

    fn lead_plan(&self, meeting: RowsMeeting) -> Result<Arc<ScanPlan>> {
        Ok(Arc::new(ScanPlan::of_columns(
            &self.stream,
            Some(&[self.stream.lead_column()]),
            meeting,
        )?))
    }
}

/// How many keys are visible, of keys in their order. Looks at no more parts of what is visible than there are keys in.
fn count_sorted(keys: &KeyView<'_>, visible: &Visible) -> usize {
    let (mut count, mut row) = (0, 0);
    while row < keys.len() {
        let Some(part) = visible.from(Some(keys.get(row))) else { break };
        let rows = keys.rows_in(&part);
        let start = rows.start.max(row);
        count += rows.end.saturating_sub(start);
        row = rows.end.max(start);
    }
    count
}

/// The key of the first row of batches of the leading key.
fn first_key_of(batches: &mut dyn Batches) -> Result<Option<LeadKey>> {
    match batches.next_batch(1).transpose()? {
        Some(batch) => Ok(KeyView::of_column(batch.column(0).as_ref())?.first()),
        None => Ok(None),
    }
}

/// Sources in groups, so that no two groups share a key. Within a group oldest first.
pub(super) fn groups(seen: Vec<Seen>) -> Vec<Vec<Seen>> {
    let mut order: Vec<(usize, Seen)> = seen.into_iter().enumerate().collect();
    order.sort_by_key(|(_, (source, _))| source.key_min());
    let mut groups: Vec<Vec<(usize, Seen)>> = Vec::new();
    let mut key_max: Option<LeadKey> = None;
    for member in order {
        let (source, _) = &member.1;
        let (min, max) = (source.key_min(), source.key_max());
        match groups.last_mut() {
            Some(group) if Some(min) <= key_max => group.push(member),
            _ => groups.push(vec![member]),
        }
        key_max = key_max.max(Some(max));
    }
    let oldest_first = |mut group: Vec<(usize, Seen)>| {
        group.sort_by_key(|(index, _)| *index);
        group.into_iter().map(|(_, seen)| seen).collect()
    };
    groups.into_iter().map(oldest_first).collect()
}
