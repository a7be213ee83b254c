//! The ways to read a [`StreamView`].

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_select::concat::concat_batches;
use timestrata_format::{KeyRange, Zone};
use timestrata_io::Arena;

use super::ahead::Ahead;
use super::cursor::Cursor;
use super::merge::{Batches, Merging, Purpose, merge};
use super::plan::{RowsMeeting, ScanPlan};
use super::reverse::Reverse;
use super::split::rows_max;
use super::unordered::Unordered;
use super::{Row, Scan, ScanSpec, Source, StreamView};
use crate::tombstones::Visible;
use crate::{Error, ErrorKind, LeadKind, Result, RunningQuery};

/// A source and the parts of it that a reading sees.
pub(super) type Seen = (Arc<dyn Source>, Visible);

impl StreamView {
    /// Reads rows in key order.
    ///
    /// # Errors
    /// As [`StreamView::scan_for`].
    pub(crate) fn scan(self: &Arc<Self>, spec: &ScanSpec) -> Result<Scan> {
        self.scan_for(spec, None)
    }

    /// Reads rows in key order, for `query` if there is one.
    ///
    /// # Errors
    /// `InvalidArgument` for a column that isn't there, a range of other keys than the stream's, or a filter that the
    /// stream can't have. The batches may be the errors of the sources.
    pub(crate) fn scan_for(
        self: &Arc<Self>,
        spec: &ScanSpec,
        query: Option<&RunningQuery>,
    ) -> Result<Scan> {
        self.scan_part(spec, query, None, &Arena::default())
    }

    /// The same of a part of a scan that reads so many rows, with room in an arena.
    pub(super) fn scan_part(
        self: &Arc<Self>,
        spec: &ScanSpec,
        query: Option<&RunningQuery>,
        scan_rows: Option<u64>,
        arena: &Arena,
    ) -> Result<Scan> {
        let mut seen = self.seen(&spec.range)?;
        if spec.any_order.is_some() && (self.stream.is_latest() || spec.reverse) {
            let why = "rows of the newest a key, and rows in reverse, come in order";
            return Err(self.stream.spec().error(ErrorKind::InvalidArgument, why.to_owned()));
        }
        if spec.any_order.is_none() && !spec.without.is_empty() {
            let why = "only of rows in any order blocks are left out";
            return Err(self.stream.spec().error(ErrorKind::InvalidArgument, why.to_owned()));
        }
        if spec.any_order.is_none() && !spec.text_dictionaries.is_empty() {
            let why = "only rows in any order come with dictionaries of text";
            return Err(self.stream.spec().error(ErrorKind::InvalidArgument, why.to_owned()));
        }
        // With a limit the first few blocks are read, and mostly again.
        let met = || if spec.limit.is_some() { 0 } else { rows_met(&seen, &spec.range) };
        let met = || met().saturating_sub(spec.without.rows());
        let scan_rows = scan_rows.unwrap_or_else(met);
        let plan = ScanPlan::new(&self.stream, spec, meeting(&seen), query)?;
        let plan = plan.of_rows(scan_rows).in_arena(arena.clone());
        let is_sequential = spec.sequential && spec.limit.is_some() && !spec.reverse;
        let plan = Arc::new(match is_sequential && spec.any_order.is_none() {
            true => plan.sequential(&self.threads),
            false => plan,
        });
        let schema = Arc::clone(&plan.schema);
        let left_out = plan.left_out.clone();
        if left_out.is_some() {
            seen = without_unreadable(&plan, seen)?;
        }
        let ahead = match spec.limit {
            None if spec.threads > 1 && left_out.is_none() && spec.any_order.is_none() => {
                Ahead::start(self, spec, query, scan_rows)?
            }
            _ => None,
        };
        let batches: Box<dyn Batches> = match (ahead, spec.any_order) {
            (Some(ahead), _) => Box::new(ahead),
            (None, Some(share)) => {
                let keyless = ScanPlan::new(&self.stream, spec, RowsMeeting::NOT, query)?;
                let mut keyless = keyless.of_rows(scan_rows);
                keyless.left_out = plan.left_out.clone();
                Box::new(Unordered::new(plan, keyless, seen, share, spec.without.clone()))
            }
            (None, None) if spec.reverse => Box::new(Reverse::new(plan, seen)),
            (None, None) => forward(plan, seen, Purpose::Batches)?,
        };
        let rows_left = spec.limit.unwrap_or(usize::MAX);
        Ok(Scan { schema, batches, rows_left, left_out, query: query.cloned() })
    }

    /// All rows of a scan, as one batch.
    ///
    /// # Errors
    /// As [`StreamView::scan`]; `TooLarge` where a column's 32-bit offsets run over.
    pub(crate) fn collect(self: &Arc<Self>, spec: &ScanSpec) -> Result<RecordBatch> {
        let scan = self.scan(spec)?;
        let schema = scan.schema();
        let batches = scan.collect::<Result<Vec<_>>>()?;
        if let [batch] = batches.as_slice() {
            return Ok(batch.clone());
        }
        concat_batches(&schema, &batches).map_err(|error| {
            let message = format!("the rows don't fit into one batch: {error}");
            Error::new(ErrorKind::TooLarge, message).caused_by(error)
        })
    }

    /// The first row in `range`.
    pub(crate) fn first(self: &Arc<Self>, range: &KeyRange) -> Result<Option<Row>> {
        self.end(range, false)
    }

    /// The last row in `range`.
    pub(crate) fn last(self: &Arc<Self>, range: &KeyRange) -> Result<Option<Row>> {
        self.end(range, true)
    }

    fn end(self: &Arc<Self>, range: &KeyRange, reverse: bool) -> Result<Option<Row>> {
        let spec = ScanSpec { range: *range, limit: Some(1), reverse, ..ScanSpec::default() };
        let batch = self.scan(&spec)?.next().transpose()?;
        Ok(batch.map(|batch| Row { batch, index: 0 }))
    }

    /// The sources that `range` may see rows of, oldest first.
    pub(super) fn seen(&self, range: &KeyRange) -> Result<Vec<Seen>> {
        check_kind(self.stream.lead_kind(), range)?;
        let seen = self.sources.iter().filter_map(|source| {
            Some((Arc::clone(source), source.visible(range, &self.tombstones)?))
        });
        Ok(seen.collect())
    }
}

/// The sources without those of which nothing can be read, as their ends are damaged.
fn without_unreadable(plan: &ScanPlan, seen: Vec<Seen>) -> Result<Vec<Seen>> {
    let mut left: Vec<Seen> = Vec::with_capacity(seen.len());
    for (source, visible) in seen {
        let Err(error) = source.blocks() else {
            left.push((source, visible));
            continue;
        };
        plan.leave_out(error)?;
        if plan.stream.is_latest() {
            let lost = [KeyRange::closed(source.key_min(), source.key_max())];
            for (_, visible) in &mut left {
                *visible = visible.without(&lost);
            }
            left.retain(|(source, visible)| {
                visible.first_overlap(source.key_min(), source.key_max()).is_some()
            });
        }
    }
    Ok(left)
}

/// Reads all of some sources.
pub(super) fn forward(
    plan: Arc<ScanPlan>,
    seen: Vec<Seen>,
    purpose: Purpose,
) -> Result<Box<dyn Merging>> {
    let cursors =
        seen.into_iter().map(|(source, visible)| Cursor::new(source, visible, None)).collect();
    merge(plan, cursors, purpose)
}

/// The blocks of a source that a reading meets, with their numbers, and the parts of its range that it meets
/// them in.
pub(super) fn blocks_met(
    (source, visible): &Seen,
) -> Result<impl Iterator<Item = (usize, Zone, KeyRange)>> {
    let blocks = source.blocks()?;
    let parts = visible.parts_over(source.key_min(), source.key_max());
    Ok(parts.flat_map(move |part| {
        let first = part.lo.map_or(0, |lo| blocks.partition_point(|b| b.key_max < lo));
        let met = blocks.iter().enumerate().skip(first);
        let met = met.take_while(move |(_, b)| part.overlaps(b.key_min, b.key_max));
        met.map(move |(index, block)| (index, *block, part))
    }))
}

/// Rows of the blocks that a reading meets, about: of a source that can't be read all, for whoever reads it is told.
fn rows_met(seen: &[Seen], range: &KeyRange) -> u64 {
    let of_source = |(source, _): &Seen| {
        let rows = rows_max(source.as_ref(), std::slice::from_ref(range));
        rows.unwrap_or_else(|_| source.rows())
    };
    seen.iter().map(of_source).sum()
}

pub(super) fn meeting(seen: &[Seen]) -> RowsMeeting {
    RowsMeeting {
        several: seen.len() > 1,
        drop_markers: seen.iter().any(|(source, _)| source.delete_markers() > 0),
        by_key: true,
    }
}

fn check_kind(kind: LeadKind, range: &KeyRange) -> Result<()> {
    for key in [range.lo, range.hi].into_iter().flatten() {
        if !kind.has(key) {
            let message =
                format!("a range of {} keys, but the stream's leading key is {kind:?}", key.kind());
            return Err(Error::new(ErrorKind::InvalidArgument, message));
        }
    }
    Ok(())
}
