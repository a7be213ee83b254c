//! Deleting rows: by time, and by what is in them.

use std::ops::RangeBounds;

use arrow_array::cast::AsArray;
use arrow_array::types::UInt64Type;
use arrow_array::{Array, BooleanArray, RecordBatch};
use arrow_select::filter::filter_record_batch;
use timestrata_engine::{
    BulkCommit, Cell, Changes, Durability, Error, ErrorKind, KeyRange, LeadKey, Result, ScanSpec,
    SeqNo,
};
use timestrata_values::range::key_range;

use super::Table;
use super::identity::Identities;
use super::layout::Layout;
use super::options::ID_COLUMN;
use super::view::TableView;
use super::write::unmade;

/// Rows of which either none is rewritten, or those between the first and the last deleted one.
const SPAN_ROWS: usize = 4096;

/// Says for each row of a batch, in all columns of the table, whether it is to be deleted; null
/// is no.
///
/// ```
/// use timestrata_engine::{KeyRange, Settings, Store};
/// # use std::sync::Arc;
/// # use arrow_array::{Float64Array, RecordBatch, StringArray, TimestampMillisecondArray};
/// use arrow_array::{Array, BooleanArray};
/// use arrow_array::cast::AsArray;
/// # use timestrata_table::{Table, TableOptions, WriteOptions};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let store = Store::memory(Settings::default())?;
/// # let rows = RecordBatch::try_from_iter([
/// #     ("time", Arc::new(TimestampMillisecondArray::from(vec![1_000, 2_000, 3_000])) as _),
/// #     ("room", Arc::new(StringArray::from(vec!["kitchen", "hall", "kitchen"])) as _),
/// #     ("celsius", Arc::new(Float64Array::from(vec![20.5, 18.0, 21.0])) as _),
/// # ])?;
/// # let rooms = Table::create_for(&store, "rooms", &rows, &TableOptions::default())?;
/// # rooms.append(&rows, WriteOptions::default())?;
/// let in_the_hall = |batch: &RecordBatch| {
///     let rooms = batch.column(1).as_string::<i32>();
///     Ok(rooms.iter().map(|room| Some(room == Some("hall"))).collect::<BooleanArray>())
/// };
/// assert_eq!(rooms.delete_where(&[KeyRange::ALL], in_the_hall)?, 1);
/// # Ok(())
/// # }
/// ```
pub trait RowPredicate: FnMut(&RecordBatch) -> Result<BooleanArray> {}
impl<F: FnMut(&RecordBatch) -> Result<BooleanArray>> RowPredicate for F {}

impl Table {
    /// Deletes every row whose time is in `range`, in time that doesn't depend on how many there
    /// are. `None`: no time is in the range.
    ///
    /// # Errors
    /// `InvalidArgument` if the range ends before it begins, and what a commit may fail with.
    pub fn delete(
        &self,
        range: impl RangeBounds<i64>,
        durability: Durability,
    ) -> Result<Option<SeqNo>> {
        let ranges = [key_range(&range)?];
        let _shared = self.shared.lock.read();
        let ranges = self.ranges_today(&*self.layout()?, &ranges);
        self.check_ranges(&ranges)?;
        let ranges = ranges.into_iter().filter(|range| !range.is_empty());
        let store = &self.shared.store;
        match ranges.map(|range| Changes::new().delete_range(self.shared.id, range)).next() {
            Some(changes) => store.commit(changes, durability).map(Some),
            None => store.acknowledge(durability).map(|_| None),
        }
    }

    /// Deletes every row whose time is in one of these ranges, as one atomic commit. Gives how many
    /// there were.
    ///
    /// # Errors
    /// What a commit may fail with.
    pub fn delete_ranges(&self, ranges: &[KeyRange], durability: Durability) -> Result<u64> {
        let _alone = self.shared.lock.write();
        let ranges = self.ranges_today(&*self.layout()?, ranges);
        self.check_ranges(&ranges)?;
        let view = self.view()?;
        let (mut changes, mut rows) = (Changes::new(), 0);
        for range in ranges.iter().filter(|range| !range.is_empty()) {
            rows += view.count(range)?;
            changes = changes.delete_range(self.shared.id, *range);
        }
        match rows {
            // They may have been deleted a moment ago.
            0 => self.shared.store.acknowledge(durability)?,
            _ => self.shared.store.commit(changes, durability)?,
        };
        Ok(rows)
    }

    /// Deletes the rows in `ranges` (disjoint and ascending) that a predicate picks, as one atomic
    /// commit. Gives how many there were. Writers of the table wait meanwhile.
    ///
    /// Where every row is kept, rows can only be hidden by their time; so those that stay between
    /// deleted ones are written anew, in the same order. The commit is `Synced`.
    ///
    /// # Errors
    /// Those of the predicate, and what a commit may fail with; nothing was deleted then.
    pub fn delete_where(
        &self,
        ranges: &[KeyRange],
        mut predicate: impl RowPredicate,
    ) -> Result<u64> {
        let _alone = self.shared.lock.write();
        let layout = self.layout()?;
        self.check_times_of(&layout.stream)?;
        let closed = layout.closed(self.shared.store.wall_ns());
        let mut predicate = |batch: &RecordBatch| {
            let picked = predicate(batch)?;
            closed.as_ref().map_or(Ok(()), |closed| closed.check_picked(batch, &picked))?;
            Ok(picked)
        };
        let view = self.view()?;
        let (mut bulk, mut rows) = (self.shared.store.bulk()?, 0);
        for range in ranges {
            rows += match view.key().is_empty() {
                true => self.rewrite(&view, range, &mut predicate, &mut bulk)?,
                false => self.delete_keys(&view, range, &mut predicate, &mut bulk)?,
            };
        }
        match rows {
            0 => {
                drop(bulk);
                self.shared.store.acknowledge(Durability::Synced)?
            }
            _ => bulk.commit()?,
        };
        Ok(rows)
    }

    fn rewrite(
        &self,
        view: &TableView,
        range: &KeyRange,
        predicate: &mut impl RowPredicate,
        bulk: &mut BulkCommit,
    ) -> Result<u64> {
        let (spans, rows) = spans_of_deleted(view, range, predicate)?;
        let id = self.shared.id;
        if rows > 0 {
            bulk.rewrites(id)?;
        }
        for span in spans {
            bulk.delete_range(id, span)?;
            for_each_picked(view, &span, predicate, |batch, deleted| {
                let others = BooleanArray::new(!deleted.values(), None);
                let stay = filter_record_batch(batch, &others).map_err(unmade)?;
                match stay.num_rows() {
                    0 => Ok(()),
                    _ => bulk.insert(id, stay),
                }
            })?;
        }
        Ok(rows)
    }

    fn delete_keys(
        &self,
        view: &TableView,
        range: &KeyRange,
        predicate: &mut impl RowPredicate,
        bulk: &mut BulkCommit,
    ) -> Result<u64> {
        let (layout, mut rows) = (self.layout()?, 0);
        let last = self.last_id(view, &layout)?;
        for_each_picked(view, range, predicate, |batch, deleted| {
            let gone = filter_record_batch(batch, deleted).map_err(unmade)?;
            if gone.num_rows() == 0 {
                return Ok(());
            }
            rows += gone.num_rows() as u64;
            let keys = gone.project(layout.stream.key_columns()).map_err(unmade)?;
            bulk.delete_keys(self.shared.id, keys)?;
            let Some(index) = self.shared.index else { return Ok(()) };
            let gone = without_id(gone, last)?;
            match gone.num_rows() {
                0 => Ok(()),
                _ => bulk.delete_keys(index, self.index_keys(index, &layout, &gone)?),
            }
        })?;
        Ok(rows)
    }
}

/// Rows but for the one with this id.
fn without_id(rows: RecordBatch, id: Option<u64>) -> Result<RecordBatch> {
    let ids = rows.column_by_name(ID_COLUMN).and_then(|ids| ids.as_primitive_opt::<UInt64Type>());
    let (Some(id), Some(ids)) = (id, ids) else { return Ok(rows) };
    let others = BooleanArray::from_unary(ids, |other| other != id);
    filter_record_batch(&rows, &others).map_err(unmade)
}

/// Gives each batch of a range with what the predicate picks of it.
pub(super) fn for_each_picked(
    view: &TableView,
    range: &KeyRange,
    predicate: &mut impl RowPredicate,
    mut take: impl FnMut(&RecordBatch, &BooleanArray) -> Result<()>,
) -> Result<()> {
    let scan = ScanSpec { range: *range, ..ScanSpec::default() };
    for batch in view.snapshot().scan(view.stream().id(), &scan)? {
        let batch = batch?;
        let picked = checked(predicate(&batch)?, &batch)?;
        take(&batch, &picked)?;
    }
    Ok(())
}

/// Ranges of times that hold every row to be deleted, and how many of those there are.
fn spans_of_deleted(
    view: &TableView,
    range: &KeyRange,
    predicate: &mut impl RowPredicate,
) -> Result<(Vec<KeyRange>, u64)> {
    let (mut spans, mut rows) = (Vec::<(i64, i64)>::new(), 0);
    let time = view.stream().lead_column();
    for_each_picked(view, range, predicate, |batch, deleted| {
        rows += deleted.true_count() as u64;
        let times = batch.column(time);
        for start in (0..deleted.len()).step_by(SPAN_ROWS) {
            let piece = deleted.slice(start, SPAN_ROWS.min(deleted.len() - start));
            let mut picked = piece.values().set_indices();
            let Some(first) = picked.next() else { continue };
            let last = picked.last().unwrap_or(first);
            let at = |row: usize| match Cell::of(times, start + row) {
                Some(Cell::Int(time)) => Ok(time),
                _ => Err(Error::new(ErrorKind::InvalidData, "a row without a time")),
            };
            let (from, to) = (at(first)?, at(last)?);
            match spans.last_mut() {
                // Times that are next to each other, or rows of one time in two pieces.
                Some((_, end)) if from <= end.saturating_add(1) => *end = to.max(*end),
                _ => spans.push((from, to)),
            }
        }
        Ok(())
    })?;
    let range = |(from, to)| KeyRange::closed(LeadKey::Time(from), LeadKey::Time(to));
    Ok((spans.into_iter().map(range).collect(), rows))
}

/// Without nulls, and one value a row.
fn checked(picked: BooleanArray, batch: &RecordBatch) -> Result<BooleanArray> {
    if picked.len() != batch.num_rows() {
        return Err(Error::new(
            ErrorKind::InvalidArgument,
            format!("the predicate gave {} values for {} rows", picked.len(), batch.num_rows()),
        ));
    }
    Ok(match picked.nulls() {
        None => picked,
        Some(valid) => BooleanArray::new(picked.values() & valid.inner(), None),
    })
}

impl Table {
    /// The greatest id of a table that hands them out. Its entry in the index outlives its row: by
    /// it the table knows, also when it is opened again, which ids were given away.
    fn last_id(&self, view: &TableView, layout: &Layout) -> Result<Option<u64>> {
        let Some(index) = self.shared.index.filter(|_| layout.definition.hands_out_ids) else {
            return Ok(None);
        };
        Ok(match view.snapshot().max_key(index, &KeyRange::ALL)? {
            Some(LeadKey::Offset(id)) => Some(id),
            _ => None,
        })
    }

    /// Keys of the index for rows of the table.
    fn index_keys(
        &self,
        index: timestrata_engine::StreamId,
        layout: &Layout,
        rows: &RecordBatch,
    ) -> Result<RecordBatch> {
        let stream = self.shared.store.stream_of(index)?;
        let identities = Identities::of(layout, rows)?;
        let entries = identities.index_rows(layout, stream.schema(), rows)?;
        entries.project(stream.key_columns()).map_err(unmade)
    }
}
