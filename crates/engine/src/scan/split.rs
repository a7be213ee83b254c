//! What a range is made of, told from zone maps: for readers that plan, or share a range out
//! among threads. Reads no row.

use timestrata_format::{KeyRange, LeadKey, Zone};

use super::measure::groups;
use super::view::blocks_met;
use super::{Source, StreamView};
use crate::Result;

/// Zones into which one that is larger than a part is taken apart, a part.
const PIECES_A_PART: u64 = 4;

/// Rows of a piece, where blocks end there.
const PIECE_ROWS: u64 = if cfg!(test) { 8 } else { 128 << 10 };
/// Blocks that are read ahead have at least so many rows on average.
const BLOCK_ROWS_MIN: u64 = if cfg!(test) { 1 } else { 8 << 10 };

/// What a scan of some ranges will meet.
///
/// ```
/// # use std::sync::Arc;
/// # use arrow_schema::{DataType, Field, Schema};
/// # use timestrata_engine::*;
/// # fn main() -> timestrata_engine::Result<()> {
/// # let store = Store::memory(Settings::default())?;
/// # let schema = Schema::new(vec![
/// #     Field::new("time", DataType::Int64, false),
/// #     Field::new("celsius", DataType::Float64, true),
/// # ]);
/// # let kitchen = store.create_stream(StreamSpec::new("kitchen", Arc::new(schema)))?;
/// # let mut appender = store.appender(kitchen)?;
/// # for (time, celsius) in [(1_000, 20.5), (2_000, 21.0), (3_000, 21.5)] {
/// #     appender.append(&[Cell::Int(time), Cell::Float(celsius)], Durability::Written)?;
/// # }
/// let estimate = store.snapshot()?.estimate(kitchen, &[KeyRange::times(0, 2_500)])?;
/// assert_eq!((estimate.chunks_read, estimate.runs_read), (1, 0));
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ScanEstimate {
    /// Runs with rows that the ranges may see.
    pub runs_read: usize,
    /// Runs that need not be looked at.
    pub runs_skipped: usize,
    /// Sorted pieces of memtables with rows that the ranges may see.
    pub chunks_read: usize,
    /// Rows of the blocks that the ranges meet: no more than these are read.
    pub rows_max: u64,
    /// Whether [`Snapshot::count`](crate::Snapshot::count) reads the edges of the ranges only.
    pub counts_cheaply: bool,
}

impl StreamView {
    /// What a scan of `ranges`, which are disjoint, will meet.
    pub(crate) fn estimate(&self, ranges: &[KeyRange]) -> Result<ScanEstimate> {
        let mut estimate = ScanEstimate { counts_cheaply: true, ..ScanEstimate::default() };
        for source in &self.sources {
            let (min, max) = (source.key_min(), source.key_max());
            let is_met = ranges.iter().any(|range| range.overlaps(min, max));
            match (is_met, source.run().is_some()) {
                (true, true) => estimate.runs_read += 1,
                (false, true) => estimate.runs_skipped += 1,
                (true, false) => estimate.chunks_read += 1,
                (false, false) => {}
            }
            estimate.rows_max += if is_met { rows_max(source.as_ref(), ranges)? } else { 0 };
        }
        for range in ranges.iter().filter(|_| self.stream.is_latest()) {
            let replaces_nothing = groups(self.seen(range)?).iter().all(|group| {
                group.len() == 1 && group.iter().all(|(source, _)| source.delete_markers() == 0)
            });
            estimate.counts_cheaply &= replaces_nothing;
        }
        Ok(estimate)
    }

    /// `range` cut into at most `parts` pieces of about as many rows each: disjoint, ascending,
    /// together all of it.
    pub(crate) fn split(&self, range: &KeyRange, parts: usize) -> Result<Vec<KeyRange>> {
        let mut zones = Vec::new();
        for (source, visible) in self.seen(range)? {
            let met = source
                .blocks()?
                .iter()
                .filter(|block| visible.first_overlap(block.key_min, block.key_max).is_some());
            zones.extend(met.copied());
        }
        let parts = parts.max(1);
        let rows: u64 = zones.iter().map(|zone| u64::from(zone.rows)).sum();
        let piece_rows = rows / parts as u64 / PIECES_A_PART;
        let mut ends: Vec<(LeadKey, u64)> = Vec::new();
        zones.iter().for_each(|zone| spread(zone, piece_rows, &mut ends));
        ends.retain(|(key, _)| range.contains(*key));
        ends.sort_unstable();
        let rows: u64 = ends.iter().map(|(_, rows)| rows).sum();
        Ok(cut(range, &ends, (rows / parts as u64).max(1), parts))
    }

    /// `range` cut into pieces of a few blocks each, where blocks end: disjoint, ascending,
    /// together all of it. One piece where there is little to read.
    pub(crate) fn pieces(&self, range: &KeyRange) -> Result<Vec<KeyRange>> {
        Ok(pieces_of(range, self.zones(range)?))
    }

    /// As [`StreamView::pieces`], for threads that read and hold whole pieces.
    pub(super) fn pieces_to_hold(&self, range: &KeyRange) -> Result<Vec<KeyRange>> {
        let zones = self.zones(range)?;
        let rows: u64 = zones.iter().map(|zone| u64::from(zone.rows)).sum();
        // Blocks of few rows have wide ones: they take memory, and little decoding.
        match rows / (zones.len() as u64).max(1) < BLOCK_ROWS_MIN {
            true => Ok(vec![*range]),
            false => Ok(pieces_of(range, zones)),
        }
    }

    /// The blocks that a reading of `range` meets; none where there are few rows anyway.
    fn zones(&self, range: &KeyRange) -> Result<Vec<Zone>> {
        let seen = self.seen(range)?;
        let mut zones = Vec::new();
        if seen.iter().map(|(source, _)| source.rows()).sum::<u64>() < 2 * PIECE_ROWS {
            return Ok(zones);
        }
        for seen in &seen {
            zones.extend(blocks_met(seen)?.map(|(_, block, _)| block));
        }
        Ok(zones)
    }
}

/// `range` cut where these blocks, which it meets, end.
fn pieces_of(range: &KeyRange, mut zones: Vec<Zone>) -> Vec<KeyRange> {
    zones.sort_unstable_by_key(|zone| (zone.key_min, zone.key_max));
    let mut ends = Vec::new();
    let (mut rows, mut end) = (0, None);
    for zone in &zones {
        // Best where no block lies across; but not for ever.
        let is_clean = end.is_some_and(|end| end < zone.key_min);
        let rows_min = if is_clean { PIECE_ROWS } else { 4 * PIECE_ROWS };
        if let Some(end) = end.filter(|end| rows >= rows_min && range.contains(*end)) {
            ends.push((end, rows));
            rows = 0;
        }
        rows += u64::from(zone.rows);
        end = end.max(Some(zone.key_max));
    }
    cut(range, &ends, 1, ends.len() + 1)
}

/// Rows of the blocks of a source that `ranges` meet.
pub(super) fn rows_max(source: &dyn Source, ranges: &[KeyRange]) -> Result<u64> {
    if ranges.iter().any(|range| range.covers(source.key_min(), source.key_max())) {
        return Ok(source.rows());
    }
    let is_met =
        |block: &&Zone| ranges.iter().any(|range| range.overlaps(block.key_min, block.key_max));
    Ok(source.blocks()?.iter().filter(is_met).map(|block| u64::from(block.rows)).sum())
}

/// Cuts `range` where rows up to the given keys make up a part.
fn cut(range: &KeyRange, ends: &[(LeadKey, u64)], part_rows: u64, parts: usize) -> Vec<KeyRange> {
    let mut cuts = Vec::with_capacity(parts);
    let mut rest = *range;
    let mut rows = 0;
    for (key, more) in ends {
        rows += more;
        if rows < part_rows || cuts.len() + 1 >= parts {
            continue;
        }
        let Some(at) = key.successor() else { break };
        let first = KeyRange { lo: rest.lo, hi: Some(at) };
        let second = KeyRange { lo: Some(at), hi: rest.hi };
        if first.is_empty() || second.is_empty() || rest.lo == Some(at) {
            continue;
        }
        cuts.push(first);
        rest = second;
        rows = 0;
    }
    cuts.push(rest);
    cuts
}

/// The rows of a zone, as if they lay evenly between its ends, in pieces of `piece_rows`.
fn spread(zone: &Zone, piece_rows: u64, ends: &mut Vec<(LeadKey, u64)>) {
    let rows = u64::from(zone.rows);
    let pieces = rows / piece_rows.max(1);
    let width = match (zone.key_min, zone.key_max) {
        (LeadKey::Time(min), LeadKey::Time(max)) => max.abs_diff(min),
        (LeadKey::Offset(min), LeadKey::Offset(max)) => max - min,
        _ => 0,
    };
    let mut given = 0;
    for piece in 1..pieces {
        let step = u128::from(width) * u128::from(piece) / u128::from(pieces);
        let step = u64::try_from(step).unwrap_or(u64::MAX);
        let key = match zone.key_min {
            LeadKey::Time(min) => LeadKey::Time(min.saturating_add_unsigned(step)),
            LeadKey::Offset(min) => LeadKey::Offset(min.saturating_add(step)),
            id => id,
        };
        let share = rows * piece / pieces - given;
        given += share;
        ends.push((key, share));
    }
    ends.push((zone.key_max, rows - given));
}
