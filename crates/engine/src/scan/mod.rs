//! Reading: rows of many sorted sources, as one sorted sequence.
//!
//! A [`StreamView`] is a list of sources and range deletes. `merge` puts the sources
//! together (flush and compaction use it too), `reverse` does the same from the top, `point`
//! finds one row, `measure` answers counts and ends from metadata where that is exact.
//!
//! Invariant: what is read is the rows of all sources, in key order, equals in commit order,
//! without those that a later range delete hides; of a `Latest` stream the newest row a key,
//! unless that is a delete marker.

mod aggregates;
mod ahead;
mod batch_builder;
mod block_bounds;
mod copy;
mod cursor;
mod lead;
mod measure;
mod merge;
mod number_range;
mod pair;
mod plan;
mod point;
mod prune;
mod reverse;
mod row_filter;
mod sizes;
mod source;
mod split;
mod tail;
#[cfg(test)]
mod tests;
mod threads;
mod ties;
mod unordered;
mod values;
mod view;
pub(crate) mod views;

use std::ops::Range;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use timestrata_format::KeyRange;

use crate::damage::LeftOut;
use crate::{MissingRange, Result, RunningQuery};
pub use aggregates::{AggregatedBlocks, Aggregates, NumberAggregates, SeriesAggregates};
pub(crate) use aggregates::{BlockAggregates, Span};
pub use block_bounds::{BlockBounds, PartBounds};
pub(crate) use merge::merge_sources;
pub use number_range::NumberRange;
pub use prune::PruneFilter;
pub(crate) use prune::SoughtWord;
pub use row_filter::{ColumnBounds, RowFilter, ScanFilter};
pub(crate) use row_filter::{PlannedFilter, ViewedColumns};
pub use sizes::ColumnSize;
pub(crate) use source::{
    DecodesAhead, PartsOfBlock, Source, SourceSummary, StreamView, reads_values,
};
pub use split::ScanEstimate;
pub(crate) use threads::ReadingThreads;
pub use values::Values;

/// What to read.
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
/// let spec = ScanSpec { range: KeyRange::times(0, 2_500), limit: Some(10), ..ScanSpec::default() };
/// assert_eq!(store.snapshot()?.collect(kitchen, &spec)?.num_rows(), 2);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ScanSpec {
    /// Leading keys wanted; default all.
    pub range: KeyRange,
    /// Indexes of the columns wanted, in the order wanted; default all of the schema.
    pub columns: Option<Vec<usize>>,
    /// Rows wanted at most.
    pub limit: Option<usize>,
    /// Greatest key first; rows with equal keys come in the reverse of commit order.
    pub reverse: bool,
    /// `Utf8` columns come as `Utf8View`, but for those of the key: text that repeats is decoded
    /// and compared in a fraction of the time.
    pub text_views: bool,
    /// Of columns that come as views: those of which batches may have dictionaries too, with 32-bit keys, where they are
    /// stored by these. Who groups by them looks at each text once. Batches of one scan may then differ in
    /// types. An error with rows in order.
    pub text_dictionaries: Vec<usize>,
    /// Threads that read ahead where the range is large and no limit is set; 0 and 1 mean none.
    pub threads: usize,
    /// The rows behind those of this scan will be asked for next: while the rows of one block are looked at, a thread decodes
    /// blocks behind it, where that is worth it. For scans with a limit, in the order of the key.
    pub sequential: bool,
    /// Blocks that are damaged are left out, and [`Scan::missing`] tells of them, where else the scan
    /// ends with an error. Of a stream that keeps the newest row a key, nothing older than a
    /// damaged block is given within its keys either: it may have been replaced or deleted there. No
    /// threads read ahead then.
    pub skip_damaged: bool,
    /// What rows have to pass to be given; `limit` counts those that do. Not for streams that keep the newest row a
    /// key.
    pub filter: Option<ScanFilter>,
    /// Rows may come in any order, which spares putting them in that of the key; and of the rows only a share is wanted.
    /// Not for streams that keep the newest row a key, nor together with `reverse`.
    pub any_order: Option<Share>,
    /// Blocks that are not read, as [`Snapshot::aggregates`](crate::Snapshot::aggregates) of the same snapshot has told what
    /// their rows come to. Only for rows in any order.
    pub without: AggregatedBlocks,
}

/// One of several scans of the same rows in any order, which give each row once between them.
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
/// let rows = |part| {
///     let spec = ScanSpec { any_order: Some(Share { part, parts: 2 }), ..ScanSpec::default() };
///     Ok(snapshot.collect(kitchen, &spec)?.num_rows())
/// };
/// let both: timestrata_engine::Result<usize> = [0, 1].into_iter().map(rows).sum();
/// assert_eq!(both?, 3);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Share {
    /// Which of the scans it is, from 0 on.
    pub part: usize,
    /// How many there are.
    pub parts: usize,
}

impl Share {
    /// All rows.
    pub const WHOLE: Self = Self { part: 0, parts: 1 };

    /// Which of so many rows that lie together it is: about as many as any other, and whole parts that are decoded at once.
    pub(crate) fn of_rows(self, rows: usize) -> Range<usize> {
        let pieces = rows.div_ceil(SHARED_PIECE_ROWS);
        let parts = self.parts.max(1);
        let begin = |part: usize| (pieces * part.min(parts) / parts * SHARED_PIECE_ROWS).min(rows);
        begin(self.part)..begin(self.part.saturating_add(1))
    }
}

/// Of how many rows shares of one block are made.
const SHARED_PIECE_ROWS: usize = 8_192;

/// How rows of a block are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RowOrder {
    /// In the order of the key.
    ByKey,
    /// As they lie; of a block that [may be shared](Source::is_divisible) those of a share.
    Any(Share),
}

/// Record batches in key order; rows with equal keys in commit order. After an error comes
/// nothing.
///
/// Batches of a scan that is larger than the cache share memory, in pieces of 2 MiB: whoever keeps a few of many for long keeps
/// what lies beside them too, and copies them if that is too much.
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
/// let scan = store.snapshot()?.scan(kitchen, &ScanSpec::default())?;
/// let batches = scan.collect::<Result<Vec<_>>>()?;
/// assert_eq!(batches.iter().map(|batch| batch.num_rows()).sum::<usize>(), 3);
/// # Ok(())
/// # }
/// ```
pub struct Scan {
    schema: SchemaRef,
    batches: Box<dyn merge::Batches>,
    rows_left: usize,
    /// Where damage is left out.
    left_out: Option<Arc<LeftOut>>,
    /// It ends with an error when that is no longer wanted.
    query: Option<RunningQuery>,
}

impl Scan {
    /// The columns of each batch.
    pub fn schema(&self) -> SchemaRef {
        SchemaRef::clone(&self.schema)
    }

    /// What has been left out so far, because it is damaged: all of it once the last batch has been
    /// given. Empty unless [`ScanSpec::skip_damaged`] was asked for.
    pub fn missing(&self) -> Vec<MissingRange> {
        self.left_out.as_ref().map(|left_out| left_out.list()).unwrap_or_default()
    }
}

impl std::fmt::Debug for Scan {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Scan").field("schema", &self.schema).finish_non_exhaustive()
    }
}

impl Iterator for Scan {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rows_left == 0 {
            return None;
        }
        if let Some(Err(error)) = self.query.as_ref().map(RunningQuery::check) {
            self.rows_left = 0;
            return Some(Err(error));
        }
        let batch = match self.batches.next_batch(self.rows_left)? {
            Ok(batch) if batch.num_rows() > self.rows_left => batch.slice(0, self.rows_left),
            Ok(batch) => batch,
            Err(error) => {
                self.rows_left = 0;
                return Some(Err(error));
            }
        };
        self.rows_left -= batch.num_rows();
        Some(Ok(batch))
    }
}

/// One row: its place in a batch that holds all columns of the stream.
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
/// let row = store.snapshot()?.first(kitchen, &KeyRange::ALL)?.unwrap();
/// assert_eq!((Cell::of(row.batch.column(0), row.index), Cell::of(row.batch.column(1), row.index)), (Some(Cell::Int(1_000)), Some(Cell::Float(20.5))));
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Row {
    /// All columns of the stream's schema.
    pub batch: RecordBatch,
    /// Which row of the batch.
    pub index: usize,
}
