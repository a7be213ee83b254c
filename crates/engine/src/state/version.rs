//! The runs and tombstones that make a stream's durable state, as readers hold them.

use std::borrow::Cow;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use arrow_array::RecordBatch;
use timestrata_format::{
    KeyRange, LeadKey, RunFormat, RunId, RunMeta, SeqNo, StoreId, Tombstone, Zone,
};
use timestrata_io::{Disk, Io};

use crate::damage::DamagedRuns;
use crate::run::{self, BlockCache, RunReader};
use crate::scan::{
    BlockAggregates, DecodesAhead, PartsOfBlock, PlannedFilter, RowOrder, Share, Source,
    SourceSummary, ViewedColumns,
};
use crate::tombstones::Tombstones;
use crate::{BlockBounds, ColumnSize, PruneFilter, Result, Stream, Values};

/// Where run files live, and all that opening one needs.
#[derive(Debug, Clone)]
pub(crate) struct RunFolder {
    pub(crate) io: Io,
    pub(crate) dir: PathBuf,
    pub(crate) store_id: StoreId,
    pub(crate) cache: Arc<BlockCache>,
    /// Of all runs in it.
    pub(crate) damage: Arc<DamagedRuns>,
}

impl RunFolder {
    /// The path of a run's file.
    pub(crate) fn path(&self, id: RunId, format: RunFormat) -> PathBuf {
        self.dir.join(run::file_name(id, format))
    }

    /// A handle on a run; no file is touched yet.
    pub(crate) fn handle(&self, stream: &Arc<Stream>, meta: RunMeta) -> Result<Arc<RunHandle>> {
        let path = self.path(meta.id, meta.format);
        let reader = self.reader(stream, meta.clone())?;
        let file = RunFile {
            id: meta.id,
            obsolete: AtomicBool::new(false),
            disk: Arc::clone(&self.io.disk),
            cache: Arc::clone(&self.cache),
            damage: Arc::clone(&self.damage),
            path,
        };
        Ok(Arc::new(RunHandle { meta, reader, file: Arc::new(file) }))
    }

    /// A reader of a run, of which nobody else knows.
    pub(crate) fn reader(&self, stream: &Arc<Stream>, meta: RunMeta) -> Result<Arc<RunReader>> {
        let (path, cache) = (self.path(meta.id, meta.format), Arc::clone(&self.cache));
        RunReader::open(&self.io, path, self.store_id, stream, meta, cache).map(Arc::new)
    }

    /// The handle of a run whose stream has got other columns, or the same if it hasn't. `meta` is what is known of the run with
    /// these: keys are told in the unit of the stream's time.
    pub(crate) fn following(
        &self,
        stream: &Arc<Stream>,
        handle: &Arc<RunHandle>,
        meta: &RunMeta,
    ) -> Result<Arc<RunHandle>> {
        if handle.reader.stream().schema_version() == stream.schema_version() {
            return Ok(Arc::clone(handle));
        }
        let meta = meta.clone();
        let reader = self.reader(stream, meta.clone())?;
        Ok(Arc::new(RunHandle { meta, reader, file: Arc::clone(&handle.file) }))
    }
}

/// A run that somebody may be reading. When it has left the version and the last reader
/// lets go, its file is removed.
#[derive(Debug)]
pub(crate) struct RunHandle {
    pub(crate) meta: RunMeta,
    pub(crate) reader: Arc<RunReader>,
    file: Arc<RunFile>,
}

/// The file of a run: one, even where handles read it with columns of different times.
#[derive(Debug)]
struct RunFile {
    id: RunId,
    obsolete: AtomicBool,
    disk: Arc<dyn Disk>,
    cache: Arc<BlockCache>,
    damage: Arc<DamagedRuns>,
    path: PathBuf,
}

impl RunHandle {
    /// Remembers what came of reading, if that was damage.
    fn noting<T>(&self, outcome: Result<T>) -> Result<T> {
        if outcome.is_err() {
            self.file.damage.note(self.meta.id, &outcome);
        }
        outcome
    }

    /// The file goes with the last handle.
    pub(crate) fn mark_obsolete(&self) {
        self.file.obsolete.store(true, Ordering::Release);
    }
}

impl Drop for RunFile {
    fn drop(&mut self) {
        if self.obsolete.load(Ordering::Acquire) {
            // A file that can't be removed now is an orphan that the next open removes.
            let _ = self.disk.remove(&self.path);
            self.cache.forget(self.id);
            self.damage.forget(self.id);
        }
    }
}

/// A stream's durable state. Immutable; a change makes a new one.
#[derive(Debug, Default)]
pub(crate) struct Version {
    /// By their oldest commit, which for runs with a key in common is the order of all
    /// their commits; those of one commit in the order in which its rows were added, which is
    /// that of their ids.
    pub(crate) runs: Vec<Arc<RunHandle>>,
    /// Range deletes that some run must still heed.
    pub(crate) tombstones: Tombstones,
}

impl Version {
    /// A version of these runs, in the right order.
    pub(crate) fn new(mut runs: Vec<Arc<RunHandle>>, tombstones: Tombstones) -> Self {
        runs.sort_by_key(|run| (run.meta.seq_min, run.meta.id));
        Self { runs, tombstones }
    }

    /// This one with some runs gone, some new, and other tombstones.
    pub(crate) fn changed(
        &self,
        removed: &[RunId],
        added: Vec<Arc<RunHandle>>,
        tombstones: Tombstones,
    ) -> Self {
        let kept = self.runs.iter().filter(|run| !removed.contains(&run.meta.id)).cloned();
        Self::new(kept.chain(added).collect(), tombstones)
    }

    /// All runs, to be read.
    pub(crate) fn sources(&self) -> Vec<Arc<dyn Source>> {
        self.runs.iter().map(|run| Arc::clone(run) as Arc<dyn Source>).collect()
    }

    /// Metadata of all runs.
    pub(crate) fn metas(&self) -> Vec<RunMeta> {
        self.runs.iter().map(|run| run.meta.clone()).collect()
    }

    /// The handle of a run.
    pub(crate) fn run(&self, id: RunId) -> Option<&Arc<RunHandle>> {
        self.runs.iter().find(|run| run.meta.id == id)
    }

    /// Whether a run, or a range delete, has a number between two commits: it was not of the log.
    pub(crate) fn splits(&self, last: SeqNo, seq: SeqNo) -> bool {
        let later = self.runs.partition_point(|run| run.meta.seq_min <= last);
        self.runs.get(later).is_some_and(|run| run.meta.seq_min < seq)
            || self.tombstones.any_between(last, seq)
    }
}

/// Of disjoint ascending range deletes those that one of the runs was written before and has not
/// had applied.
pub(crate) fn heeded<'a>(
    runs: impl IntoIterator<Item = &'a RunMeta>,
    pieces: Vec<Tombstone>,
) -> Vec<Tombstone> {
    let mut is_heeded = vec![false; pieces.len()];
    for run in runs {
        let through = run.seq_max.max(run.tombstones_applied_through);
        let (min, max) = (run.key_min, run.key_max);
        let first = pieces.partition_point(|piece| piece.range.hi.is_some_and(|hi| hi <= min));
        for (piece, is_heeded) in pieces.iter().zip(&mut is_heeded).skip(first) {
            if piece.range.lo.is_some_and(|lo| lo > max) {
                break;
            }
            *is_heeded |= piece.seq > through;
        }
    }
    pieces.into_iter().zip(is_heeded).filter_map(|(piece, is)| is.then_some(piece)).collect()
}

/// A run handle is read as its reader; the handle keeps the file from being removed.
impl Source for RunHandle {
    fn run(&self) -> Option<RunId> {
        Some(self.meta.id)
    }

    fn aggregated_blocks(&self) -> Result<Vec<Range<usize>>> {
        self.reader.aggregated_blocks()
    }

    fn aggregates(&self) -> Result<Option<Arc<BlockAggregates>>> {
        self.reader.aggregates()
    }

    #[inline]
    fn summary(&self) -> SourceSummary {
        (&self.meta).into()
    }

    fn blocks(&self) -> Result<&[Zone]> {
        self.noting(self.reader.blocks())
    }

    fn read(&self, block: usize, columns: &[usize]) -> Result<RecordBatch> {
        self.noting(self.reader.read(block, columns))
    }

    fn read_viewed(
        &self,
        block: usize,
        wanted: &ViewedColumns,
        keys: Option<KeyRange>,
        order: RowOrder,
    ) -> Result<RecordBatch> {
        self.noting(self.reader.read_viewed(block, wanted, keys, order))
    }

    fn ahead(self: Arc<Self>, block: usize, columns: &[usize]) -> Option<DecodesAhead> {
        let decode = Arc::clone(&self.reader).ahead(block, columns)?;
        Some(Box::new(move || {
            decode();
            // Nothing is kept of a run whose file has gone meanwhile.
            drop(self);
        }))
    }

    fn is_long(&self, block: usize) -> bool {
        self.reader.is_long(block)
    }

    fn is_divisible(&self, block: usize) -> bool {
        self.reader.is_divisible(block)
    }

    fn leaves_out_other_keys(&self, block: usize, keys: &KeyRange) -> bool {
        self.reader.leaves_out_other_keys(block, keys)
    }

    fn read_parts(
        &self,
        block: usize,
        wanted: &ViewedColumns,
        share: Share,
        scan_rows: u64,
    ) -> Result<Option<PartsOfBlock>> {
        let parts = self.noting(self.reader.read_parts(block, wanted, share, scan_rows))?;
        let (file, run) = (Arc::clone(&self.file), self.meta.id);
        let noting = |parts: PartsOfBlock| {
            Box::new(parts.inspect(move |part| file.damage.note(run, part))) as PartsOfBlock
        };
        Ok(parts.map(noting))
    }

    fn read_passing(
        &self,
        block: usize,
        filter: &PlannedFilter,
        keys: Option<KeyRange>,
        order: RowOrder,
    ) -> Result<RecordBatch> {
        self.noting(self.reader.read_passing(block, filter, keys, order))
    }

    fn values(&self, block: usize, column: usize) -> Result<Option<Values>> {
        self.reader.values(block, column)
    }

    fn known_values(&self, block: usize, column: usize) -> Result<Option<Values>> {
        self.reader.known_values(block, column)
    }

    fn decimal_digits(&self, column: usize) -> Result<Option<u32>> {
        self.reader.decimal_digits(column)
    }

    fn read_rows(&self, block: usize, count: usize) -> Result<Cow<'_, RecordBatch>> {
        self.noting(self.reader.read_rows(block, count))
    }

    fn column_sizes(&self) -> Result<Vec<ColumnSize>> {
        self.reader.column_sizes()
    }

    fn may_have_values(&self, column: usize) -> Result<bool> {
        self.reader.may_have_values(column)
    }

    fn may_match(&self, block: usize, filter: &PruneFilter) -> Result<bool> {
        self.reader.may_match(block, filter)
    }

    fn block_bounds(&self, block: usize, column: usize) -> Result<Option<BlockBounds>> {
        self.reader.block_bounds(block, column)
    }

    fn may_contain(&self, key: LeadKey) -> Result<bool> {
        self.reader.may_contain(key)
    }
}
