//! Snapshots: the whole store, frozen at one commit.

use std::fmt;
use std::sync::Arc;

use arrow_array::RecordBatch;
use timestrata_format::{KeyRange, LeadKey, SeqNo, StreamId};

use crate::scan::StreamView;
use crate::{
    Aggregates, Cell, ColumnSize, Error, ErrorKind, PartBounds, PruneFilter, Result, Row,
    RunningQuery, Scan, ScanEstimate, ScanSpec, Stream, Values,
};

struct SnapshotInner {
    seq: SeqNo,
    /// By stream id.
    views: Vec<(StreamId, Arc<StreamView>)>,
}

/// A frozen read view of one or all streams at one commit. Cheap to clone, safe to share
/// between threads; it keeps what it sees alive, and never changes.
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
/// let snapshot = store.snapshot()?;
/// let range = KeyRange::times(1_500, 5_000);
/// let spec = ScanSpec { range, reverse: true, limit: Some(1), ..ScanSpec::default() };
/// let batch = snapshot.collect(kitchen, &spec)?;
/// assert_eq!((batch.num_rows(), snapshot.count(kitchen, &range)?), (1, 2));
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Snapshot {
    inner: Arc<SnapshotInner>,
    /// What it is read for: reading stops when that is no longer wanted.
    query: Option<RunningQuery>,
}

impl fmt::Debug for Snapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Snapshot({}, {} streams)", self.inner.seq, self.inner.views.len())
    }
}

impl Snapshot {
    pub(crate) fn new(seq: SeqNo, mut views: Vec<(StreamId, Arc<StreamView>)>) -> Self {
        views.sort_by_key(|(id, _)| *id);
        Self { inner: Arc::new(SnapshotInner { seq, views }), query: None }
    }

    /// The same view, read for a query: each step of a read asks it whether to go on, and fails as it
    /// says.
    #[must_use]
    pub fn for_query(&self, query: &RunningQuery) -> Self {
        Self { inner: Arc::clone(&self.inner), query: Some(query.clone()) }
    }

    /// An error if what it is read for is no longer wanted.
    fn check(&self) -> Result<()> {
        self.query.as_ref().map_or(Ok(()), RunningQuery::check)
    }

    /// A stream's view, to be read from.
    fn read(&self, stream: StreamId) -> Result<&Arc<StreamView>> {
        self.check()?;
        self.view(stream)
    }

    /// The last commit it sees.
    pub fn seq(&self) -> SeqNo {
        self.inner.seq
    }

    /// The streams it sees.
    pub fn streams(&self) -> impl Iterator<Item = &Arc<Stream>> {
        self.inner.views.iter().map(|(_, view)| &view.stream)
    }

    pub(crate) fn view(&self, stream: StreamId) -> Result<&Arc<StreamView>> {
        let views = &self.inner.views;
        match views.binary_search_by_key(&stream, |(id, _)| *id) {
            Ok(index) => Ok(&views[index].1),
            Err(_) => Err(Error::new(
                ErrorKind::NotFound,
                format!(
                    "the snapshot at commit {} holds no stream with id {stream}",
                    self.inner.seq
                ),
            )),
        }
    }

    /// Reads rows in key order; see [`ScanSpec`].
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
    /// let snapshot = store.snapshot()?;
    /// let mut rows = 0;
    /// for batch in snapshot.scan(kitchen, &ScanSpec::default())? {
    ///     rows += batch?.num_rows();
    /// }
    /// assert_eq!(rows, 3);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// `NotFound` for a stream that the snapshot doesn't hold, `InvalidArgument` for a bad
    /// column or key; the batches themselves may be `Corruption` or `Io`.
    pub fn scan(&self, stream: StreamId, spec: &ScanSpec) -> Result<Scan> {
        self.read(stream)?.scan_for(spec, self.query.as_ref())
    }

    /// Exact number of rows whose leading key is in `range`; from metadata where that is exact.
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
    /// assert_eq!(store.snapshot()?.count(kitchen, &KeyRange::times(1_000, 3_000))?, 2);
    /// # Ok(())
    /// # }
    /// ```
    pub fn count(&self, stream: StreamId, range: &KeyRange) -> Result<u64> {
        self.read(stream)?.count(range)
    }

    /// Smallest leading key in `range`.
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
    /// assert_eq!(store.snapshot()?.min_key(kitchen, &KeyRange::ALL)?, Some(LeadKey::Time(1_000)));
    /// # Ok(())
    /// # }
    /// ```
    pub fn min_key(&self, stream: StreamId, range: &KeyRange) -> Result<Option<LeadKey>> {
        self.read(stream)?.min_key(range)
    }

    /// Greatest leading key in `range`.
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
    /// assert_eq!(store.snapshot()?.max_key(kitchen, &KeyRange::ALL)?, Some(LeadKey::Time(3_000)));
    /// # Ok(())
    /// # }
    /// ```
    pub fn max_key(&self, stream: StreamId, range: &KeyRange) -> Result<Option<LeadKey>> {
        self.read(stream)?.max_key(range)
    }

    /// Whether a range delete of a commit behind `since` holds this leading key. Compaction forgets deletes that no row
    /// needs any more: of such a one it is false.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use arrow_schema::{DataType, Field, Schema};
    /// # use timestrata_engine::*;
    /// # fn main() -> timestrata_engine::Result<()> {
    /// # let store = Store::memory(Settings::default())?;
    /// # let schema = Schema::new(vec![Field::new("time", DataType::Int64, false)]);
    /// # let kitchen = store.create_stream(StreamSpec::new("kitchen", Arc::new(schema)))?;
    /// let before = store.appender(kitchen)?.append(&[Cell::Int(5)], Durability::Written)?;
    /// let (range, key) = (KeyRange::times(0, 10), LeadKey::Time(5));
    /// let seq = store.commit(Changes::new().delete_range(kitchen, range), Durability::Written)?;
    /// assert!(store.snapshot()?.is_deleted_behind(kitchen, key, before)?);
    /// assert!(!store.snapshot()?.is_deleted_behind(kitchen, key, seq)?);
    /// # Ok(())
    /// # }
    /// ```
    pub fn is_deleted_behind(&self, stream: StreamId, key: LeadKey, since: SeqNo) -> Result<bool> {
        let newest = self.read(stream)?.tombstones.newest_at(key);
        Ok(newest.is_some_and(|newest| newest > since))
    }

    /// What a scan of `ranges`, which must be disjoint, will meet. Reads no row.
    pub fn estimate(&self, stream: StreamId, ranges: &[KeyRange]) -> Result<ScanEstimate> {
        self.read(stream)?.estimate(ranges)
    }

    /// What the rows of `ranges`, which must be disjoint, come to, series by series: of rows by the columns `by`, which are among
    /// those that [tell series apart](crate::SERIES_PROPERTY), and of the numbers in the columns `of`. As far as compacted runs
    /// keep that: of the other rows it tells nothing, and a scan [without](ScanSpec::without) the blocks that it tells of gives
    /// them. For streams that keep all rows by time.
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
    /// # appender.append(&[Cell::Int(1_000), Cell::Float(20.5)], Durability::Written)?;
    /// let snapshot = store.snapshot()?;
    /// let known = snapshot.aggregates(kitchen, &[KeyRange::ALL], &[], &[1])?;
    /// let mut rows: i64 = known.pieces.iter().flat_map(|piece| piece.rows.iter().flatten()).sum();
    /// let rest = ScanSpec { any_order: Some(Share::WHOLE), without: known.blocks, ..ScanSpec::default() };
    /// for batch in snapshot.scan(kitchen, &rest)? {
    ///     rows += batch?.num_rows() as i64;
    /// }
    /// assert_eq!(rows, 1);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// `NotFound` for a stream that the snapshot doesn't hold.
    pub fn aggregates(
        &self,
        stream: StreamId,
        ranges: &[KeyRange],
        by: &[usize],
        of: &[usize],
    ) -> Result<Aggregates> {
        self.read(stream)?.aggregates(ranges, by, of)
    }

    /// Whether some row may have a value in a column; false only where all have none. Metadata of compacted runs say so unread; of
    /// others the column is looked at.
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
    /// appender.append(&[Cell::Int(1_000), Cell::Null], Durability::Written)?;
    /// assert!(!store.snapshot()?.may_have_values(kitchen, 1)?);
    /// appender.append(&[Cell::Int(2_000), Cell::Float(20.5)], Durability::Written)?;
    /// assert!(store.snapshot()?.may_have_values(kitchen, 1)?);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// `NotFound` for a stream that the snapshot doesn't hold; what reading may fail with.
    pub fn may_have_values(&self, stream: StreamId, column: usize) -> Result<bool> {
        self.read(stream)?.may_have_values(column)
    }

    /// What each column takes in compacted runs; of what is not compacted yet nothing is told.
    pub fn column_sizes(&self, stream: StreamId) -> Result<Vec<ColumnSize>> {
        self.view(stream)?.column_sizes()
    }

    /// `range` cut into at most `parts` pieces of about as many rows each, as zone maps tell:
    /// disjoint, ascending, together all of `range`. For readers that share the work.
    pub fn split(&self, stream: StreamId, range: &KeyRange, parts: usize) -> Result<Vec<KeyRange>> {
        self.read(stream)?.split(range, parts)
    }

    /// `range` cut into pieces of a few blocks each, where blocks end if that is possible:
    /// disjoint, ascending, together all of `range`. For readers that take one after the other.
    pub fn pieces(&self, stream: StreamId, range: &KeyRange) -> Result<Vec<KeyRange>> {
        self.read(stream)?.pieces(range)
    }

    /// The parts of `range` outside of which no row has all that `filter` asks for: disjoint,
    /// ascending, none empty. Blocks of cold runs are told apart unread; others may have anything.
    ///
    /// # Errors
    /// `NotFound`; `InvalidArgument` for a stream that keeps the latest row a key; `Corruption`.
    pub fn prune(
        &self,
        stream: StreamId,
        range: &KeyRange,
        filter: &PruneFilter,
    ) -> Result<Vec<KeyRange>> {
        self.read(stream)?.prune(range, filter)
    }

    /// The parts of `range` that have rows, as their blocks are, and between what the values of a column of whole
    /// numbers or times lie in each, where compacted blocks tell it unread: disjoint, ascending, none empty.
    ///
    /// # Errors
    /// `NotFound`; `InvalidArgument` for a stream that keeps the latest row a key; `Corruption`.
    pub fn block_bounds(
        &self,
        stream: StreamId,
        range: &KeyRange,
        column: usize,
    ) -> Result<Vec<PartBounds>> {
        self.read(stream)?.block_bounds(range, column)
    }

    /// The values that a column has in `range`, maybe with others, where dictionaries of compacted blocks tell them
    /// without a row being read, and where flushed runs have few, which are looked for once; else `None`.
    pub fn values(
        &self,
        stream: StreamId,
        range: &KeyRange,
        column: usize,
    ) -> Result<Option<Values>> {
        self.read(stream)?.values(range, column)
    }

    /// The same, where it is known by now: of flushed runs only where their values have been looked for.
    pub fn known_values(
        &self,
        stream: StreamId,
        range: &KeyRange,
        column: usize,
    ) -> Result<Option<Values>> {
        self.read(stream)?.known_values(range, column)
    }

    /// First row in `range`; among rows with equal keys, the one committed first.
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
    /// let row = store.snapshot()?.first(kitchen, &KeyRange::times(1_500, 9_000))?.unwrap();
    /// assert_eq!(Cell::of(row.batch.column(1), row.index), Some(Cell::Float(21.0)));
    /// # Ok(())
    /// # }
    /// ```
    pub fn first(&self, stream: StreamId, range: &KeyRange) -> Result<Option<Row>> {
        self.read(stream)?.first(range)
    }

    /// Last row in `range`; among rows with equal keys, the one committed last.
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
    /// let row = store.snapshot()?.last(kitchen, &KeyRange::ALL)?.unwrap();
    /// assert_eq!(Cell::of(row.batch.column(0), row.index), Some(Cell::Int(3_000)));
    /// # Ok(())
    /// # }
    /// ```
    pub fn last(&self, stream: StreamId, range: &KeyRange) -> Result<Option<Row>> {
        self.read(stream)?.last(range)
    }

    /// The row with this whole key (`Latest`), or the first with it (`Keep`). `key` has one
    /// cell a key column.
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
    /// let snapshot = store.snapshot()?;
    /// assert!(snapshot.get(kitchen, &[Cell::Int(2_000)])?.is_some());
    /// assert!(snapshot.get(kitchen, &[Cell::Int(2_001)])?.is_none());
    /// # Ok(())
    /// # }
    /// ```
    pub fn get(&self, stream: StreamId, key: &[Cell<'_>]) -> Result<Option<Row>> {
        self.read(stream)?.get(key)
    }

    /// All rows that a scan gives, as one batch. For answers that fit in memory.
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
    /// let spec = ScanSpec { columns: Some(vec![1]), ..ScanSpec::default() };
    /// let batch = store.snapshot()?.collect(kitchen, &spec)?;
    /// assert_eq!((batch.num_rows(), batch.num_columns()), (3, 1));
    /// # Ok(())
    /// # }
    /// ```
    pub fn collect(&self, stream: StreamId, spec: &ScanSpec) -> Result<RecordBatch> {
        self.read(stream)?.collect(spec)
    }
}
