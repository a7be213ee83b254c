//! A table's part of a commit that several models make together.

use std::ops::RangeBounds;
use std::sync::Arc;

use arrow_array::RecordBatch;
use timestrata_engine::{
    Cell, Changes, CommitPart, KeyRange, LockRank, Result, RowBatch, SeqNo, Store, Stream, StreamId,
};
use timestrata_values::range::key_range;

use super::Table;
use super::fit::OnMismatch;

/// What a commit over several models does to a table: rows that are appended, of which those with a key that is there replace it,
/// and ranges of time whose earlier rows are deleted.
///
/// ```
/// use std::sync::Arc;
///
/// use arrow_array::{Float64Array, Int64Array, RecordBatch};
/// use timestrata_engine::{Changes, CommitPart, Durability, KeyRange, Settings, Store};
/// use timestrata_table::{Table, TableOptions, TableWrite};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let store = Store::memory(Settings::default())?;
/// let rows = RecordBatch::try_from_iter([
///     ("time", Arc::new(Int64Array::from(vec![1, 2])) as arrow_array::ArrayRef),
///     ("celsius", Arc::new(Float64Array::from(vec![20.5, 21.0])) as _),
/// ])?;
/// let kitchen = Table::create_for(&store, "kitchen", &rows, &TableOptions::default())?;
/// let mut write = TableWrite::new(&kitchen);
/// write.append(rows);
/// // `timestrata::commit_together` does this for the parts of several models.
/// write.commit(Changes::new(), &mut |changes| store.commit(changes, Durability::Written))?;
/// assert_eq!(kitchen.view()?.count(&KeyRange::ALL)?, 2);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct TableWrite<'a> {
    table: Table,
    rows: Vec<Rows<'a>>,
    /// Places of those of which the keys must be what they were since some commit.
    unchanged_since: Vec<(usize, SeqNo)>,
    /// Each with the unit of the times that its ends are told in, nanoseconds, where that is known.
    deleted: Vec<(KeyRange, Option<i64>)>,
    on_mismatch: OnMismatch,
}

#[derive(Debug, Clone)]
enum Rows<'a> {
    Batch(RecordBatch),
    /// One, for the columns that the table had then.
    One(OneRow<'a>),
}

/// A row, one cell a column of a stream as it was.
#[derive(Debug, Clone)]
pub(super) struct OneRow<'a> {
    pub(super) stream: Arc<Stream>,
    pub(super) cells: Vec<Cell<'a>>,
}

impl OneRow<'_> {
    fn to_batch(&self) -> Result<RecordBatch> {
        let mut batch = RowBatch::new(&self.stream)?;
        batch.push(&self.cells)?;
        batch.finish()
    }
}

impl<'a> TableWrite<'a> {
    /// Nothing yet.
    #[must_use]
    pub fn new(table: &Table) -> Self {
        Self {
            table: table.clone(),
            rows: Vec::new(),
            unchanged_since: Vec::new(),
            deleted: Vec::new(),
            on_mismatch: OnMismatch::Error,
        }
    }

    /// What is done about rows that don't fit the table; unless it is said they are an error.
    #[must_use]
    pub fn on_mismatch(self, on_mismatch: OnMismatch) -> Self {
        Self { on_mismatch, ..self }
    }

    /// Appends rows, behind those before.
    pub fn append(&mut self, rows: RecordBatch) {
        self.rows.push(Rows::Batch(rows));
    }

    /// Appends one row, behind those before: one cell a column of the table's, which had those of `stream` when the row was made.
    /// If it has others by the commit, they are found by name, as those of batches are.
    pub fn append_row(&mut self, stream: Arc<Stream>, cells: Vec<Cell<'a>>) {
        self.rows.push(Rows::One(OneRow { stream, cells }));
    }

    /// Has the commit made only if the keys of the rows that were appended last were not changed by a commit after `since`, which is of
    /// before they were read: else it is a `Conflict`. As [`Changes::if_unchanged_since`] tells, of an upsert key.
    pub fn if_unchanged_since(&mut self, since: SeqNo) {
        if let Some(place) = self.rows.len().checked_sub(1) {
            self.unchanged_since.push((place, since));
        }
    }

    /// All rows, if each is one by itself.
    fn ones(&self) -> Option<Vec<&OneRow<'a>>> {
        let ones = self.rows.iter().map(|rows| match rows {
            Rows::One(row) => Some(row),
            Rows::Batch(_) => None,
        });
        ones.collect()
    }

    /// Deletes the rows of earlier commits whose time is in a range.
    ///
    /// # Errors
    /// `InvalidArgument` if the range ends before it begins.
    pub fn delete(&mut self, range: impl RangeBounds<i64>) -> Result<()> {
        self.delete_range(key_range(&range)?);
        Ok(())
    }

    /// As [`delete`](Self::delete), of a range of the table's keys.
    pub fn delete_range(&mut self, range: KeyRange) {
        self.deleted.push((range, None));
    }

    /// The same, of a range of times in the unit of `stream`, which is the table's as it was seen. If the unit has become finer by
    /// the commit, the same times are deleted.
    pub fn delete_range_of(&mut self, stream: &Stream, range: KeyRange) {
        self.deleted.push((range, stream.time_unit_ns()));
    }

    /// The changes of others with those that delete ranges, in the unit that times have now. To be asked with the table's lock.
    fn with_deletes(&self, before: &Changes) -> Result<Changes> {
        let layout = self.table.layout()?;
        let today = |(range, unit_ns): &(KeyRange, Option<i64>)| {
            let told = self.table.with_unit(*unit_ns);
            told.ranges_today(&layout, std::slice::from_ref(range))
        };
        let ranges: Vec<KeyRange> = self.deleted.iter().flat_map(today).collect();
        self.table.check_ranges(&ranges)?;
        let ranges = ranges.into_iter().filter(|range| !range.is_empty());
        let add = |all: Changes, range| all.delete_range(self.table.id(), range);
        Ok(ranges.fold(before.clone(), add))
    }

    fn commit_deletes(
        &self,
        before: &Changes,
        rest: &mut dyn FnMut(Changes) -> Result<SeqNo>,
    ) -> Result<SeqNo> {
        let _shared = self.table.shared.lock.read();
        rest(self.with_deletes(before)?)
    }
}

impl CommitPart for TableWrite<'_> {
    fn store(&self) -> &Store {
        self.table.store()
    }

    fn rank(&self) -> LockRank {
        LockRank::Table
    }

    fn stream(&self) -> StreamId {
        self.table.id()
    }

    fn commit(
        &mut self,
        before: Changes,
        rest: &mut dyn FnMut(Changes) -> Result<SeqNo>,
    ) -> Result<SeqNo> {
        if self.rows.is_empty() {
            return self.commit_deletes(&before, rest);
        }
        let with_deletes = || self.with_deletes(&before);
        if let Some(ones) = self.ones()
            && let Some(seq) =
                self.table.append_ones(&ones, &self.unchanged_since, &with_deletes, rest)?
        {
            return Ok(seq);
        }
        let batch = |rows: &Rows<'_>| match rows {
            Rows::Batch(batch) => Ok(batch.clone()),
            Rows::One(row) => row.to_batch(),
        };
        let batches: Vec<RecordBatch> = self.rows.iter().map(batch).collect::<Result<_>>()?;
        let rows: Vec<&RecordBatch> = batches.iter().filter(|rows| rows.num_rows() > 0).collect();
        if rows.is_empty() {
            return self.commit_deletes(&before, rest);
        }
        let rest = &mut |changes| {
            let mut all = with_deletes()?;
            for (place, since) in &self.unchanged_since {
                let Some(rows) = batches.get(*place) else { continue };
                self.table.expect_unchanged(rows, *since, self.on_mismatch, &mut all)?;
            }
            rest(all.and(changes))
        };
        self.table.append_through(&rows, self.on_mismatch, 0, rest)
    }
}
