//! What has changed of a view's table: rows that are added to what is kept, and buckets that are counted again.

use datafusion::arrow::array::{Array, AsArray, RecordBatch, new_null_array};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Int64Type};
use timestrata_engine::{
    ChangeKind, CommittedChanges, KeyRange, LeadKey, Merge, Result, StreamChange, StreamId,
};
use timestrata_table::is_hidden;

use super::definition::{Definition, unfit};
use crate::ranges::Ranges;

/// Rows that are added, in bytes; the buckets of what is more are counted again.
const ADDED_BYTES_MAX: usize = 64 << 20;
/// Ranges of buckets that are told apart while changes come, and at the end.
const RANGES_COMING_MAX: usize = 4096;
const RANGES_MAX: usize = 64;

/// What has changed of a table since its view was brought up to date.
#[derive(Debug)]
pub(crate) struct Unfolded {
    /// Rows that came, with the columns that the view reads.
    pub(crate) added: Vec<RecordBatch>,
    /// Where those are whose buckets are not counted again.
    pub(crate) touched: Ranges,
    /// Whole buckets that are counted again.
    pub(crate) again: Ranges,
}

impl Unfolded {
    pub(crate) fn nothing() -> Self {
        Self { added: Vec::new(), touched: Ranges::none(), again: Ranges::none() }
    }

    /// All buckets, but for those that begin before `closed`.
    pub(crate) fn everything(closed: Option<i64>) -> Self {
        let again = KeyRange::new(closed.map(LeadKey::Time), None);
        Self { again: Ranges::of(again), ..Self::nothing() }
    }

    pub(crate) fn is_nothing(&self) -> bool {
        self.added.is_empty() && self.again.as_slice().is_empty()
    }
}

/// Takes commits one after the other.
pub(crate) struct Gathering<'a> {
    definition: &'a Definition,
    /// Buckets before this are not counted again: not all of their rows are there.
    closed: Option<i64>,
    added: Vec<RecordBatch>,
    added_bytes: usize,
    touched: Buckets,
    again: Buckets,
    /// Whether something else was committed than what views are kept by.
    pub(crate) is_foreign: bool,
}

impl<'a> Gathering<'a> {
    pub(crate) fn new(definition: &'a Definition, closed: Option<i64>) -> Self {
        Self {
            definition,
            closed,
            added: Vec::new(),
            added_bytes: 0,
            touched: Buckets::default(),
            again: Buckets::default(),
            is_foreign: false,
        }
    }

    /// Takes what a commit has changed, of the streams of a view and its place nothing.
    pub(crate) fn take(&mut self, commit: &CommittedChanges, own: StreamId) -> Result<()> {
        for change in &commit.changes {
            if change.stream().id() == self.definition.base.stream.id() {
                self.is_foreign = true;
                self.take_change(change)?;
            } else if change.stream().id() != own && !is_hidden(change.stream()) {
                self.is_foreign = true;
            }
        }
        Ok(())
    }

    fn take_change(&mut self, change: &StreamChange) -> Result<()> {
        let keeps_all = self.definition.base.stream.spec().merge == Merge::Keep;
        match change.kind() {
            ChangeKind::Inserted if keeps_all => {
                for batch in change.batches()? {
                    self.add(&batch?)?;
                }
            }
            // What comes may replace what was there.
            ChangeKind::Inserted | ChangeKind::DeletedKeys | ChangeKind::DeletedRows => {
                for batch in change.batches()? {
                    for time in self.times(&batch?)? {
                        self.again_from(time, time);
                    }
                }
            }
            ChangeKind::DeletedRange => {
                let range = change.range().unwrap_or_default();
                let first = range.lo.and_then(LeadKey::time).unwrap_or(i64::MIN);
                let last = range.hi.and_then(LeadKey::time).map_or(i64::MAX, |end| end - 1);
                self.again_from(first, last);
            }
            ChangeKind::Expired | ChangeKind::Dropped => {}
        }
        Ok(())
    }

    fn add(&mut self, batch: &RecordBatch) -> Result<()> {
        if batch.num_rows() == 0 {
            return Ok(());
        }
        let rows = self.needed(batch)?;
        let (mut first, mut last) = (i64::MAX, i64::MIN);
        for time in self.times(batch)? {
            (first, last) = (first.min(time), last.max(time));
            self.touched.add(self.definition.bucket(time));
        }
        let bytes = rows.get_array_memory_size();
        let is_closed = self.closed.is_some_and(|closed| first < closed);
        if self.added_bytes + bytes > ADDED_BYTES_MAX && !is_closed {
            self.again_from(first, last);
            return Ok(());
        }
        self.added_bytes += bytes;
        self.added.push(rows);
        Ok(())
    }

    /// The columns that the view reads, as the table has them now.
    fn needed(&self, batch: &RecordBatch) -> Result<RecordBatch> {
        let schema = &self.definition.read;
        let columns =
            schema.fields().iter().map(|field| match batch.column_by_name(field.name()) {
                Some(column) if column.data_type() == field.data_type() => Ok(column.clone()),
                Some(column) => cast(column, field.data_type()).map_err(unfit),
                None => Ok(new_null_array(field.data_type(), batch.num_rows())),
            });
        let columns = columns.collect::<Result<Vec<_>>>()?;
        RecordBatch::try_new(schema.clone(), columns).map_err(unfit)
    }

    fn times(&self, batch: &RecordBatch) -> Result<Vec<i64>> {
        let Some(times) = batch.column_by_name(self.definition.time_name()) else {
            return Ok(Vec::new());
        };
        let times = cast(times, &DataType::Int64).map_err(unfit)?;
        Ok(times.as_primitive::<Int64Type>().values().to_vec())
    }

    /// Counts the buckets of all times from one to another again, as far as that can be.
    fn again_from(&mut self, first: i64, last: i64) {
        let (start, _) = self.definition.bucket(first);
        let (_, end) = self.definition.bucket(last);
        let start = self.closed.map_or(start, |closed| start.max(closed));
        if end.is_none_or(|end| start < end) {
            self.again.add((start, end));
        }
    }

    pub(crate) fn finish(self) -> Unfolded {
        let again = self.again.into_ranges();
        let touched = self.touched.into_ranges().intersect(&complement(&again));
        let added = if touched.as_slice().is_empty() { Vec::new() } else { self.added };
        Unfolded { added, touched, again }
    }
}

/// What is in none of some ranges of times.
pub(crate) fn complement(ranges: &Ranges) -> Ranges {
    let (mut rest, mut from) = (Ranges::none(), None);
    for range in ranges.as_slice() {
        if range.lo.is_some() {
            rest = rest.union(Ranges::of(KeyRange::new(from, range.lo)));
        }
        let Some(end) = range.hi else { return rest };
        from = Some(end);
    }
    rest.union(Ranges::of(KeyRange::new(from, None)))
}

/// Where buckets are, joined where there are many: what lies between them is taken as well then.
#[derive(Debug, Default)]
struct Buckets(Vec<(i64, Option<i64>)>);

impl Buckets {
    fn add(&mut self, (start, end): (i64, Option<i64>)) {
        if let Some((first, last)) = self.0.last_mut()
            && *first <= start
            && last.is_none_or(|last| start <= last)
        {
            *last = last.zip(end).map(|(last, end)| last.max(end));
            return;
        }
        self.0.push((start, end));
        if self.0.len() >= RANGES_COMING_MAX {
            self.join(RANGES_COMING_MAX / 2);
        }
    }

    /// Joins what touches, and then what is closest, until at most so many are left.
    fn join(&mut self, ranges_max: usize) {
        self.0.sort_unstable_by_key(|(start, _)| *start);
        let mut joined: Vec<(i64, Option<i64>)> = Vec::with_capacity(self.0.len());
        for (start, end) in self.0.drain(..) {
            match joined.last_mut() {
                Some((_, last)) if last.is_none_or(|last| start <= last) => {
                    *last = last.zip(end).map(|(last, end)| last.max(end));
                }
                _ => joined.push((start, end)),
            }
        }
        let gap = |pair: &[(i64, Option<i64>)]| match pair {
            [(_, Some(end)), (start, _)] => start.saturating_sub(*end),
            _ => 0,
        };
        let mut gaps: Vec<i64> = joined.windows(2).map(gap).collect();
        gaps.sort_unstable_by(|a, b| b.cmp(a));
        // Those between which a gap is at least so wide stay apart.
        let apart = ranges_max.checked_sub(1).and_then(|count| gaps.get(count)).copied();
        let is_close =
            |start: i64, last: i64| apart.is_some_and(|apart| start.saturating_sub(last) <= apart);
        for (start, end) in joined {
            match self.0.pop() {
                Some((from, Some(last))) if is_close(start, last) => {
                    self.0.push((from, end.map(|end| end.max(last))));
                }
                before => {
                    self.0.extend(before);
                    self.0.push((start, end));
                }
            }
        }
    }

    fn into_ranges(mut self) -> Ranges {
        self.join(RANGES_MAX);
        let range = |(start, end): (i64, Option<i64>)| {
            // What begins before all times has no beginning.
            let start = (start != i64::MIN).then_some(LeadKey::Time(start));
            Ranges::of(KeyRange::new(start, end.map(LeadKey::Time)))
        };
        self.0.into_iter().map(range).fold(Ranges::none(), Ranges::union)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_buckets_are_joined_where_they_are_closest() {
        let mut buckets = Buckets::default();
        for n in (0..10_000).rev() {
            // Hundred groups of hundred, each far from the next.
            let start = (n / 100) * 100_000 + (n % 100) * 20;
            buckets.add((start, Some(start + 10)));
        }
        let ranges = buckets.into_ranges();
        assert!(ranges.as_slice().len() <= RANGES_MAX, "{ranges:?}");
        for n in 0..10_000 {
            let key = LeadKey::Time((n / 100) * 100_000 + (n % 100) * 20);
            assert!(ranges.as_slice().iter().any(|range| range.contains(key)), "{n}");
        }
    }

    #[test]
    fn what_is_in_no_range_is_in_the_complement() {
        let times = |lo, hi| Ranges::of(KeyRange::times(lo, hi));
        let some = times(-5, 0).union(times(3, 4));
        let rest = complement(&some);
        for key in (-8..8).map(LeadKey::Time) {
            let is_in = |ranges: &Ranges| ranges.as_slice().iter().any(|range| range.contains(key));
            assert_ne!(is_in(&some), is_in(&rest), "{key}");
        }
        assert_eq!(complement(&Ranges::none()), Ranges::all());
        assert_eq!(complement(&Ranges::all()), Ranges::none());
    }
}
