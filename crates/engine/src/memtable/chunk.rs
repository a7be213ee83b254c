//! A chunk: immutable sorted rows of a memtable, which scans read as a source.

use std::borrow::Cow;
use std::sync::{Arc, OnceLock};

use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use timestrata_format::{KeyRange, LeadKey, SeqNo, Tombstone, Zone};
use timestrata_io::sync::get_or_try_init;

use super::chunks::failed;
use super::filter::KeyFilter;
use super::memory::held_bytes;
use crate::key::KeyView;
use crate::scan::{Source, SourceSummary};
use crate::tombstones::Tombstones;
use crate::{Error, ErrorKind, Result, Stream};

/// Rows of a block at most, so that a narrow range needn't touch all of a large chunk.
pub(super) const BLOCK_ROWS_MAX: usize = 8192;

/// Memory that an array takes beside its values, roughly.
const COLUMN_BYTES: usize = 192;

/// A chunk with fewer rows is searched as fast as a filter would be asked.
const FILTERED_ROWS_MIN: usize = 1024;

/// Commits that rows come from, both ends included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Commits {
    pub(super) min: SeqNo,
    pub(super) max: SeqNo,
}

impl Commits {
    pub(super) fn one(seq: SeqNo) -> Self {
        Self { min: seq, max: seq }
    }

    pub(super) fn union(self, other: Self) -> Self {
        Self { min: self.min.min(other.min), max: self.max.max(other.max) }
    }
}

/// Immutable rows, sorted by the whole key; equal keys are in commit order, or for `Latest`
/// deduplicated to the newest. Never empty.
#[derive(Debug)]
pub(crate) struct Chunk {
    stream: Arc<Stream>,
    batch: RecordBatch,
    blocks: Vec<Zone>,
    commits: Commits,
    applied_through: SeqNo,
    delete_markers: u64,
    bytes: usize,
    /// The blocks with the columns of the schema: made by the first point read, so that none
    /// after it builds a batch.
    held_rows: OnceLock<Vec<RecordBatch>>,
    /// Only of a large chunk: also made by the first point read.
    filter: OnceLock<KeyFilter>,
}

impl Chunk {
    /// Takes sorted rows with the columns of the stored schema. Every range delete up to
    /// `applied_through` must have been heeded.
    pub(super) fn new(
        stream: Arc<Stream>,
        batch: RecordBatch,
        commits: Commits,
        applied_through: SeqNo,
    ) -> Result<Self> {
        let blocks = zones(&KeyView::of(&stream, &batch)?);
        if blocks.is_empty() {
            return Err(Error::new(ErrorKind::InvalidData, "a chunk needs at least one row"));
        }
        let marks = stream.is_latest().then(|| batch.columns().last()).flatten();
        let delete_markers = marks.map_or(0, |marks| marks.as_boolean().true_count() as u64);
        let bytes = held_bytes(&batch) + batch.num_columns() * COLUMN_BYTES;
        let held_rows = OnceLock::new();
        Ok(Self {
            stream,
            batch,
            blocks,
            commits,
            applied_through,
            delete_markers,
            bytes,
            held_rows,
            filter: OnceLock::new(),
        })
    }

    pub(super) fn zones(&self) -> &[Zone] {
        &self.blocks
    }

    fn cut_rows(&self) -> Result<Vec<RecordBatch>> {
        let schema = Arc::clone(self.stream.schema());
        let columns = self.batch.columns().iter().take(schema.fields().len()).cloned();
        let all = RecordBatch::try_new(schema, columns.collect()).map_err(failed)?;
        if let [_] = self.blocks.as_slice() {
            return Ok(vec![all]);
        }
        let blocks = self.blocks.iter().enumerate();
        Ok(blocks
            .map(|(block, zone)| all.slice(block * BLOCK_ROWS_MAX, zone.rows as usize))
            .collect())
    }

    pub(super) fn rows(&self) -> usize {
        self.batch.num_rows()
    }

    pub(super) fn commits(&self) -> Commits {
        self.commits
    }

    /// Memory held, in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.bytes + size_of::<Self>() + self.blocks.capacity() * size_of::<Zone>()
    }

    fn keys(&self) -> Result<KeyView<'_>> {
        KeyView::of(&self.stream, &self.batch)
    }

    /// Whether a range delete hides every row of this chunk.
    pub(super) fn is_covered_by(&self, tombstone: &Tombstone) -> bool {
        tombstone.seq > self.heeded_through()
            && tombstone.range.covers(self.key_min(), self.key_max())
    }

    /// The parts of the chunk that none of `tombstones` hides, in order.
    pub(super) fn visible_parts(&self, tombstones: &Tombstones) -> Result<Vec<RecordBatch>> {
        let Some(visible) = self.visible(&KeyRange::ALL, tombstones) else { return Ok(Vec::new()) };
        let keys = self.keys()?;
        let mut parts = Vec::with_capacity(1);
        let mut row = 0;
        while row < keys.len()
            && let Some(part) = visible.from(Some(keys.get(row)))
        {
            let rows = keys.rows_in(&part);
            if !rows.is_empty() {
                parts.push(self.batch.slice(rows.start, rows.len()));
            }
            row = rows.end;
        }
        Ok(parts)
    }
}

fn zones(keys: &KeyView<'_>) -> Vec<Zone> {
    let rows = keys.len();
    (0..rows)
        .step_by(BLOCK_ROWS_MAX)
        .map(|start| {
            let end = rows.min(start + BLOCK_ROWS_MAX);
            Zone {
                rows: (end - start) as u32,
                key_min: keys.get(start),
                key_max: keys.get(end - 1),
            }
        })
        .collect()
}

impl Source for Chunk {
    #[inline]
    fn summary(&self) -> SourceSummary {
        SourceSummary {
            key_min: self.blocks[0].key_min,
            key_max: self.blocks[self.blocks.len() - 1].key_max,
            rows: self.batch.num_rows() as u64,
            delete_markers: self.delete_markers,
            seq_max: self.commits.max,
            tombstones_applied_through: self.applied_through,
        }
    }

    fn blocks(&self) -> Result<&[Zone]> {
        Ok(&self.blocks)
    }

    fn read(&self, block: usize, columns: &[usize]) -> Result<RecordBatch> {
        let Some(zone) = self.blocks.get(block) else {
            let message = format!("block {block} of a chunk of {} blocks", self.blocks.len());
            return Err(Error::new(ErrorKind::InvalidArgument, message));
        };
        let projected = self.batch.project(columns).map_err(|error| {
            Error::new(ErrorKind::InvalidArgument, format!("no such column: {error}"))
                .caused_by(error)
        })?;
        let rows = zone.rows as usize;
        if rows == self.batch.num_rows() {
            return Ok(projected);
        }
        Ok(projected.slice(block * BLOCK_ROWS_MAX, rows))
    }

    fn may_contain(&self, key: LeadKey) -> Result<bool> {
        if key < self.key_min() || self.key_max() < key {
            return Ok(false);
        }
        if self.rows() < FILTERED_ROWS_MIN {
            return Ok(true);
        }
        let filter = get_or_try_init(&self.filter, || Ok(KeyFilter::of(&self.keys()?)))?;
        Ok(filter.may_contain(key))
    }

    fn read_rows(&self, block: usize, count: usize) -> Result<Cow<'_, RecordBatch>> {
        let held = get_or_try_init(&self.held_rows, || self.cut_rows())?;
        match held.get(block) {
            Some(rows) if rows.num_columns() == count => Ok(Cow::Borrowed(rows)),
            _ => self.read(block, &(0..count).collect::<Vec<_>>()).map(Cow::Owned),
        }
    }
}
