//! What a scan reads from: a sorted sequence of blocks, wherever it lives.

use std::borrow::Cow;
use std::fmt::Debug;
use std::ops::Range;
use std::sync::Arc;

use arrow_array::RecordBatch;
use timestrata_format::{KeyRange, LeadKey, RunId, RunMeta, SeqNo, Zone};

use super::row_filter::{PlannedFilter, ViewedColumns};
use super::threads::ReadingThreads;
use super::{
    BlockAggregates, BlockBounds, ColumnSize, PruneFilter, RowOrder, Share, Values, views,
};
use crate::tombstones::{Tombstones, Visible};
use crate::{Result, Stream};

/// What is known of a source unread.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SourceSummary {
    pub(crate) key_min: LeadKey,
    /// Inclusive.
    pub(crate) key_max: LeadKey,
    /// Rows, delete markers included.
    pub(crate) rows: u64,
    /// Rows that are delete markers.
    pub(crate) delete_markers: u64,
    /// Commit of the newest row.
    pub(crate) seq_max: SeqNo,
    /// Tombstones up to this commit are already applied to the rows; of later ones all that
    /// touch this source are newer than each of its rows.
    pub(crate) tombstones_applied_through: SeqNo,
}

impl From<&RunMeta> for SourceSummary {
    #[inline]
    fn from(meta: &RunMeta) -> Self {
        Self {
            key_min: meta.key_min,
            key_max: meta.key_max,
            rows: meta.rows,
            delete_markers: meta.delete_markers,
            seq_max: meta.seq_max,
            tombstones_applied_through: meta.tombstones_applied_through,
        }
    }
}

/// Batches of rows of one block.
pub(crate) type PartsOfBlock = Box<dyn Iterator<Item = Result<RecordBatch>> + Send>;

/// Decodes a block for those who will ask for it.
pub(crate) type DecodesAhead = Box<dyn FnOnce() + Send>;

/// A sorted, immutable sequence of rows: a run or a chunk of a memtable.
///
/// Batches have the columns of [`Stream::stored_schema`] (those asked for).
pub(crate) trait Source: Send + Sync + Debug {
    fn summary(&self) -> SourceSummary;
    fn key_min(&self) -> LeadKey {
        self.summary().key_min
    }
    fn key_max(&self) -> LeadKey {
        self.summary().key_max
    }
    fn rows(&self) -> u64 {
        self.summary().rows
    }
    fn delete_markers(&self) -> u64 {
        self.summary().delete_markers
    }
    /// Tombstones up to this commit hide none of its rows.
    fn heeded_through(&self) -> SeqNo {
        let summary = self.summary();
        summary.seq_max.max(summary.tombstones_applied_through)
    }
    /// What of it may be seen in `range`; `None` where nothing is.
    fn visible(&self, range: &KeyRange, tombstones: &Tombstones) -> Option<Visible> {
        tombstones.visible(range, self.heeded_through(), (self.key_min(), self.key_max()))
    }
    /// Zone maps of its blocks: record batches of a hot run, row groups of a cold one, parts of a
    /// memtable's chunk. Rows of a block are sorted by the stream's whole key, and so are blocks. The
    /// first call may read the file's tail.
    fn blocks(&self) -> Result<&[Zone]>;
    /// Decodes a block: the columns of the stored schema named by `columns`, in that order.
    fn read(&self, block: usize, columns: &[usize]) -> Result<RecordBatch>;
    /// Whether of a block rows with other keys than these may be left out where only these are wanted: because they are
    /// few, and it is known where they lie.
    fn leaves_out_other_keys(&self, _block: usize, _keys: &KeyRange) -> bool {
        false
    }
    /// As [`Source::read`], with views of text where they are wanted, and in any order where that is. Rows with other keys
    /// than `keys` [may be left out](Source::leaves_out_other_keys); `None`: all rows are wanted.
    fn read_viewed(
        &self,
        block: usize,
        wanted: &ViewedColumns,
        _keys: Option<KeyRange>,
        _order: RowOrder,
    ) -> Result<RecordBatch> {
        let read = self.read(block, &wanted.columns)?;
        if wanted.views.is_empty() { Ok(read) } else { views::of_batch(&read, &wanted.views) }
    }
    /// What decodes these columns of a block, and of some behind it, before somebody asks for them: `None` where that is not
    /// worth a thread, as it takes no time, enough are decoded already, or nothing would be kept of them.
    fn ahead(self: Arc<Self>, _block: usize, _columns: &[usize]) -> Option<DecodesAhead> {
        None
    }
    /// Whether a block has so many rows that readers in any order share it: each reads its rows alone.
    fn is_long(&self, _block: usize) -> bool {
        false
    }
    /// Whether readers in any order may share a block, however many rows it has: each reads its rows alone.
    fn is_divisible(&self, _block: usize) -> bool {
        false
    }
    /// As [`Source::read_viewed`] in any order, part by part and for once: nothing of it is kept. `None` where it is
    /// better read at once, as it is where so many rows as the whole scan reads are kept.
    fn read_parts(
        &self,
        _block: usize,
        _wanted: &ViewedColumns,
        _share: Share,
        _scan_rows: u64,
    ) -> Result<Option<PartsOfBlock>> {
        Ok(None)
    }
    /// Decodes the rows of a block that pass a filter: the columns of its reading. Those with other keys than `keys` may be
    /// left out as well.
    fn read_passing(
        &self,
        block: usize,
        filter: &PlannedFilter,
        _keys: Option<KeyRange>,
        order: RowOrder,
    ) -> Result<RecordBatch> {
        filter.read_whole(self, block, order)
    }
    /// Decodes the first `count` columns of a block, which a point read takes all of: the
    /// columns of the stream's schema. Sources that hold blocks decoded lend what they hold.
    fn read_rows(&self, block: usize, count: usize) -> Result<Cow<'_, RecordBatch>> {
        self.read(block, &(0..count).collect::<Vec<_>>()).map(Cow::Owned)
    }
    /// Which run it is; `None` for a part of a memtable.
    fn run(&self) -> Option<RunId> {
        None
    }
    /// Blocks whose rows are added up together, where that is kept.
    fn aggregated_blocks(&self) -> Result<Vec<Range<usize>>> {
        Ok(Vec::new())
    }
    /// What its rows come to, series by series, where that is kept.
    fn aggregates(&self) -> Result<Option<Arc<BlockAggregates>>> {
        Ok(None)
    }
    /// The values that a column has in a block, or more than these; `None` where that is not known
    /// without decoding rows.
    fn values(&self, _block: usize, _column: usize) -> Result<Option<Values>> {
        Ok(None)
    }
    /// The same, as far as it is known by now: nothing is looked for.
    fn known_values(&self, block: usize, column: usize) -> Result<Option<Values>> {
        self.values(block, column)
    }
    /// False only where no row of the block has all that the filter asks for.
    fn may_match(&self, _block: usize, _filter: &PruneFilter) -> Result<bool> {
        Ok(true)
    }
    /// Between what the whole numbers or times of a column lie in a block; `None` where that isn't known unread.
    fn block_bounds(&self, _block: usize, _column: usize) -> Result<Option<BlockBounds>> {
        Ok(None)
    }
    /// How many digits a column of floats has behind the point, where the source knows it unread.
    fn decimal_digits(&self, _column: usize) -> Result<Option<u32>> {
        Ok(None)
    }
    /// What each column takes, where the source is a compacted file.
    fn column_sizes(&self) -> Result<Vec<ColumnSize>> {
        Ok(Vec::new())
    }
    /// False only where no row has a value in a column: all of them are null.
    fn may_have_values(&self, column: usize) -> Result<bool> {
        reads_values(self, column)
    }
    /// False only where no row has this leading key (Bloom filters, hash indexes).
    fn may_contain(&self, key: LeadKey) -> Result<bool> {
        Ok(self.key_min() <= key && key <= self.key_max())
    }
}

/// Whether a row has a value in a column, by a look at all of them.
pub(crate) fn reads_values(source: &(impl Source + ?Sized), column: usize) -> Result<bool> {
    for block in 0..source.blocks()?.len() {
        let read = source.read(block, &[column])?;
        if read.columns().iter().any(|values| values.null_count() < values.len()) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// One stream, frozen at one commit.
#[derive(Debug, Clone)]
pub(crate) struct StreamView {
    pub(crate) stream: Arc<Stream>,
    /// Oldest first: of two sources that share a leading key, every row of the earlier one
    /// was committed before every row of the later one.
    pub(crate) sources: Vec<Arc<dyn Source>>,
    /// Range deletes that some source may still have to heed.
    pub(crate) tombstones: Tombstones,
    /// Those of the store.
    pub(crate) threads: Arc<ReadingThreads>,
}
