//! A table frozen at one commit: all that can be read from it.

use std::ops::RangeBounds;
use std::sync::Arc;

use arrow_array::{RecordBatch, UInt32Array};
use arrow_schema::SchemaRef;
use arrow_select::concat::concat_batches;
use arrow_select::take::take_record_batch;
use timestrata_engine::{
    Cell, ColumnSize, Error, ErrorKind, KeyRange, LeadKey, Result, Row, RunningQuery, Scan,
    ScanSpec, SeqNo, Snapshot, Stream, StreamId,
};
use timestrata_io::sync::processors;
use timestrata_values::range::key_range;

use super::identity;
use super::latest::latest;
use super::layout::Layout;
use super::series;
use super::write::unmade;

/// What to read of a table.
///
/// ```
/// use timestrata_engine::{Settings, Store};
/// # use std::sync::Arc;
/// # use arrow_array::{Float64Array, RecordBatch, StringArray, TimestampMillisecondArray};
/// use timestrata_table::TableScan;
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
/// let newest = TableScan { limit: Some(2), reverse: true, ..TableScan::of_times(1_000..3_000)? };
/// let rows = rooms.view()?.scan(&newest)?.map(|batch| batch.map(|batch| batch.num_rows()));
/// assert_eq!(rows.sum::<Result<usize, _>>()?, 2);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TableScan {
    /// Times wanted, in the unit of the time column; default all.
    pub range: KeyRange,
    /// Names of the columns wanted, in the order wanted; default all.
    pub columns: Option<Vec<String>>,
    /// Rows wanted at most.
    pub limit: Option<usize>,
    /// Newest first.
    pub reverse: bool,
    /// Large ranges are read by as many threads as there are processors, ahead of who takes the rows:
    /// sooner done, with up to 64 MiB more in memory, more where rows are wide.
    pub ahead: bool,
    /// Damaged blocks are left out, and [`Scan::missing`] tells of them, where else the scan ends with an
    /// error; see [`ScanSpec::skip_damaged`].
    pub skip_damaged: bool,
}

impl TableScan {
    /// The rows whose time is in `range`.
    ///
    /// # Errors
    /// `InvalidArgument` if the range ends before it begins.
    pub fn of_times(range: impl RangeBounds<i64>) -> Result<Self> {
        Ok(Self { range: key_range(&range)?, ..Self::default() })
    }
}

/// A table as it was at one commit. Cheap to clone, safe to share between threads; nothing that
/// is written later changes it.
///
/// ```
/// use timestrata_engine::{KeyRange, Settings, Store};
/// # use std::sync::Arc;
/// # use arrow_array::{Float64Array, RecordBatch, StringArray, TimestampMillisecondArray};
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
/// // The newest row of each room.
/// let view = rooms.view()?;
/// let latest = view.latest(&["room".to_owned()], &KeyRange::ALL)?;
/// assert_eq!((view.count(&KeyRange::ALL)?, latest.num_rows()), (3, 2));
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct TableView {
    snapshot: Snapshot,
    index: Option<StreamId>,
    layout: Arc<Layout>,
}

impl TableView {
    pub(super) fn new(snapshot: Snapshot, id: StreamId, index: Option<StreamId>) -> Result<Self> {
        let stream = snapshot.streams().find(|stream| stream.id() == id).cloned();
        let stream =
            stream.ok_or_else(|| Error::new(ErrorKind::NotFound, "the table has been dropped"))?;
        Ok(Self { snapshot, index, layout: Arc::new(Layout::of(stream)?) })
    }

    /// The table's name.
    pub fn name(&self) -> &str {
        self.layout.name()
    }

    /// Its columns.
    pub fn schema(&self) -> &SchemaRef {
        &self.layout.schema
    }

    /// Columns of its upsert key; empty where every row is kept.
    pub fn key(&self) -> &[String] {
        &self.layout.definition.key
    }

    /// The stream of its rows.
    pub fn stream(&self) -> &Arc<Stream> {
        &self.layout.stream
    }

    /// The snapshot it reads from.
    pub fn snapshot(&self) -> &Snapshot {
        &self.snapshot
    }

    /// The same view, read for a query: reading stops when that is no longer wanted.
    #[must_use]
    pub fn for_query(&self, query: &RunningQuery) -> Self {
        Self { snapshot: self.snapshot.for_query(query), ..self.clone() }
    }

    /// The last commit it sees.
    pub fn seq(&self) -> SeqNo {
        self.snapshot.seq()
    }

    fn id(&self) -> StreamId {
        self.layout.stream.id()
    }

    /// What each column takes in compacted runs.
    ///
    /// # Errors
    /// Those of opening the runs' files.
    pub fn column_sizes(&self) -> Result<Vec<ColumnSize>> {
        self.snapshot.column_sizes(self.id())
    }

    /// Index of a column.
    ///
    /// # Errors
    /// `InvalidArgument`, naming the columns that there are.
    pub fn column(&self, name: &str) -> Result<usize> {
        self.schema().index_of(name).map_err(|_| {
            let known = self.schema().fields().iter().map(|field| field.name().as_str());
            let (table, known) = (self.name(), known.collect::<Vec<_>>().join(", "));
            let message = format!("table '{table}' has no column '{name}'; it has {known}");
            Error::new(ErrorKind::InvalidArgument, message)
        })
    }

    /// Rows in time order, as record batches.
    ///
    /// # Errors
    /// `InvalidArgument` for a column that the table lacks; the batches themselves may be
    /// `Corruption` or `Io`.
    pub fn scan(&self, scan: &TableScan) -> Result<Scan> {
        let columns = match &scan.columns {
            None => None,
            Some(names) => Some(names.iter().map(|name| self.column(name)).collect::<Result<_>>()?),
        };
        let spec = ScanSpec {
            range: scan.range,
            columns,
            limit: scan.limit,
            reverse: scan.reverse,
            threads: if scan.ahead { processors() } else { 1 },
            skip_damaged: scan.skip_damaged,
            ..ScanSpec::default()
        };
        self.snapshot.scan(self.id(), &spec)
    }

    /// The last `rows` rows, oldest first, as one batch.
    pub fn last(&self, rows: usize) -> Result<RecordBatch> {
        let newest_first = TableScan { limit: Some(rows), reverse: true, ..TableScan::default() };
        let batches = self.scan(&newest_first)?.collect::<Result<Vec<_>>>()?;
        let all = concat_batches(self.schema(), &batches).map_err(unmade)?;
        let turned = UInt32Array::from_iter_values((0..all.num_rows() as u32).rev());
        take_record_batch(&all, &turned).map_err(unmade)
    }

    /// Exact number of rows whose time is in `range`.
    pub fn count(&self, range: &KeyRange) -> Result<u64> {
        self.snapshot.count(self.id(), range)
    }

    /// Time of the oldest row in `range`.
    pub fn min_time(&self, range: &KeyRange) -> Result<Option<i64>> {
        Ok(self.snapshot.min_key(self.id(), range)?.and_then(LeadKey::time))
    }

    /// Time of the newest row in `range`.
    pub fn max_time(&self, range: &KeyRange) -> Result<Option<i64>> {
        Ok(self.snapshot.max_key(self.id(), range)?.and_then(LeadKey::time))
    }

    /// The row with this upsert key, one cell a key column.
    ///
    /// # Errors
    /// `InvalidArgument` if the table has no upsert key, or the cells don't fit it.
    pub fn row(&self, key: &[Cell<'_>]) -> Result<Option<Row>> {
        let columns = self.layout.key_columns();
        if columns.is_empty() || key.len() != columns.len() {
            let (name, wanted, given) = (self.name(), columns.len(), key.len());
            let message =
                format!("table '{name}' has {wanted} key columns; {given} values were given");
            return Err(Error::new(ErrorKind::InvalidArgument, message));
        }
        let cell_of = |column: usize| {
            columns.iter().position(|key| *key == column).and_then(|place| key.get(place)).copied()
        };
        let stream = &self.layout.stream;
        let time = match (cell_of(self.layout.time()), self.index) {
            (Some(time), _) => time,
            (None, None) => return Ok(None),
            (None, Some(index)) => {
                let is_number = self.layout.has_number_key();
                match identity::time_of(&self.snapshot, index, is_number, key)? {
                    Some(time) => Cell::Int(time),
                    None => return Ok(None),
                }
            }
        };
        let others = stream.key_columns().iter().skip(1).filter_map(|column| cell_of(*column));
        let whole: Vec<Cell<'_>> = std::iter::once(time).chain(others).collect();
        self.snapshot.get(self.id(), &whole)
    }

    /// The newest row of each combination of values in the columns `by`, newest first.
    ///
    /// # Errors
    /// `InvalidArgument` for no column, one that the table lacks, or one whose type can't be compared.
    pub fn latest(&self, by: &[String], range: &KeyRange) -> Result<RecordBatch> {
        let by = by.iter().map(|name| self.column(name)).collect::<Result<Vec<_>>>()?;
        latest(self, &by, range)
    }

    /// Columns that tell its series apart.
    pub fn tags(&self) -> &[String] {
        &self.layout.definition.tags
    }

    /// The columns of [`TableView::series`].
    ///
    /// # Errors
    /// As that.
    pub fn series_schema(&self) -> Result<SchemaRef> {
        Ok(Arc::new(series::schema(self, &self.tag_columns()?)))
    }

    /// The series of the rows in `range`: for each combination of the tags' values that some row has, these, the `first` time,
    /// the `last` one and the `count` of its rows, in the order of the tags. What compacted runs keep of that is not counted
    /// anew. A name that a tag has is followed by `_`.
    ///
    /// ```
    /// use timestrata_engine::{KeyRange, Settings, Store};
    /// # use std::sync::Arc;
    /// # use arrow_array::{Float64Array, RecordBatch, StringArray, TimestampMillisecondArray};
    /// # use timestrata_table::{Table, TableOptions, WriteOptions};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let store = Store::memory(Settings::default())?;
    /// # let rows = RecordBatch::try_from_iter([
    /// #     ("time", Arc::new(TimestampMillisecondArray::from(vec![1_000, 2_000, 3_000])) as _),
    /// #     ("room", Arc::new(StringArray::from(vec!["kitchen", "hall", "kitchen"])) as _),
    /// #     ("celsius", Arc::new(Float64Array::from(vec![20.5, 18.0, 21.0])) as _),
    /// # ])?;
    /// let options = TableOptions { tags: vec!["room".to_owned()], ..TableOptions::default() };
    /// let rooms = Table::create_for(&store, "rooms", &rows, &options)?;
    /// rooms.append(&rows, WriteOptions::default())?;
    /// let series = rooms.view()?.series(&KeyRange::ALL)?;
    /// assert_eq!((series.num_rows(), series.num_columns()), (2, 4));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// `InvalidArgument` for a table without tags.
    pub fn series(&self, range: &KeyRange) -> Result<RecordBatch> {
        series::series(self, &self.tag_columns()?, range)
    }

    fn tag_columns(&self) -> Result<Vec<usize>> {
        if self.tags().is_empty() {
            let message = format!(
                "table '{}' has no tags, so nothing tells its series apart: give it tags when it is made, or group by a \
                 column in SQL",
                self.name()
            );
            return Err(Error::new(ErrorKind::InvalidArgument, message));
        }
        self.tags().iter().map(|name| self.column(name)).collect()
    }
}
