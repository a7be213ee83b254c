//! The rows of one commit on their way to runs, before the commit has its place in the order.
//!
//! Rows are gathered, put in order a piece at a time, and written. What lies above all rows
//! written so far goes on in the run under way: rows that come in key order become few large runs
//! that overlap nothing, and are not sorted. What lies below is *late*, and becomes runs of its own.
//!
//! Invariant: all runs of a commit have its number, so of two that share a leading key the one
//! with the lower id must hold the rows that were added first. It does: a late run is begun after
//! the runs whose keys it shares, and they take no more rows at those keys, because a run under
//! way takes only rows above its last leading key. So nothing has to be merged before the commit.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_select::concat::concat_batches;
use timestrata_format::{LeadKey, RunFormat, Tombstone};

use super::write::Prepared;
use crate::key::{KeyOrder, KeyView};
use crate::key_changes::UnchangedKey;
use crate::memtable::{PreparedBatch, sorted};
use crate::run::{RunWriter, writer_in};
use crate::state::Engine;
use crate::{Error, ErrorKind, Result, Stream, memory};

/// What a batch takes besides its buffers, about: many small ones must count too.
const BATCH_BYTES: u64 = 1 << 10;
/// Rows of the greatest leading key of a piece wait for more of it to come, if they are not more
/// than this part of the piece: without that, rows of one time on both sides of a cut would make
/// late runs of rows that were in order.
const HELD_BACK_PART: usize = 8;

/// Sorted batches in the order in which they were added.
#[derive(Debug, Default)]
struct SortedBatches {
    list: Vec<PreparedBatch>,
    bytes: u64,
}

impl SortedBatches {
    fn push(&mut self, batch: PreparedBatch) {
        self.bytes += batch.bytes() as u64 + BATCH_BYTES;
        self.list.push(batch);
    }

    fn take(&mut self) -> Vec<PreparedBatch> {
        std::mem::take(self).list
    }
}

/// The rows of one stream.
#[derive(Debug)]
pub(super) struct StreamRows {
    stream: Arc<Stream>,
    order: KeyOrder,
    gathered: SortedBatches,
    /// Rows at or below `last_key`.
    late: SortedBatches,
    /// The run under way.
    rising: Option<RunWriter>,
    /// Leading key of the last row that went to a run under way.
    last_key: Option<LeadKey>,
    /// Runs that take no more rows.
    full: Vec<RunWriter>,
}

impl StreamRows {
    fn new(stream: Arc<Stream>) -> Result<Self> {
        Ok(Self {
            order: KeyOrder::new(&stream)?,
            stream,
            gathered: SortedBatches::default(),
            late: SortedBatches::default(),
            rising: None,
            last_key: None,
            full: Vec::new(),
        })
    }

    pub(super) fn stream(&self) -> &Arc<Stream> {
        &self.stream
    }

    /// The runs, for the commit to finish.
    pub(super) fn into_runs(self) -> Vec<RunWriter> {
        self.full
    }

    fn bytes(&self) -> u64 {
        self.gathered.bytes + self.late.bytes
    }

    fn has_runs(&self) -> bool {
        self.rising.is_some() || !self.full.is_empty()
    }

    /// Writes what takes the most memory: what was gathered, or the late rows of earlier times.
    fn write_some(&mut self, engine: &Engine) -> Result<()> {
        if self.late.bytes > self.gathered.bytes {
            return self.write_late(engine);
        }
        let mut pieces = self.take_gathered()?;
        self.hold_back(&mut pieces)?;
        pieces.iter().try_for_each(|piece| self.write_rising(engine, piece))?;
        self.rising.as_mut().map_or(Ok(()), RunWriter::end_block)
    }

    /// Writes everything.
    fn write_all(&mut self, engine: &Engine) -> Result<()> {
        let pieces = self.take_gathered()?;
        pieces.iter().try_for_each(|piece| self.write_rising(engine, piece))?;
        self.end_run()?;
        self.write_late(engine)
    }

    /// What was gathered, in key order, without what is late.
    fn take_gathered(&mut self) -> Result<Vec<RecordBatch>> {
        let gathered = self.gathered.take();
        let pieces = self.in_order(gathered)?;
        let Some(last_key) = self.last_key else { return Ok(pieces) };
        let (late, rising) = self.split(pieces, last_key.successor())?;
        for part in late {
            self.late.push(PreparedBatch::part(part)?);
        }
        Ok(rising)
    }

    /// Batches as pieces in key order. Those that follow each other are left as they are.
    fn in_order(&self, batches: Vec<PreparedBatch>) -> Result<Vec<RecordBatch>> {
        let pieces: Vec<RecordBatch> = batches.into_iter().map(PreparedBatch::into_batch).collect();
        let mut follow = true;
        for (earlier, later) in pieces.iter().zip(pieces.iter().skip(1)) {
            follow = follow && self.follows(earlier, later)?;
        }
        if follow {
            return Ok(pieces);
        }
        memory::ask_for_copy(&pieces, "to join the rows of a commit")?;
        let all = concat_batches(self.stream.stored_schema(), &pieces).map_err(unjoined)?;
        drop(pieces);
        memory::ask_for_order(&all, "to put the rows of a commit in order")?;
        Ok(vec![sorted(&self.stream, &self.order, all)?])
    }

    fn follows(&self, earlier: &RecordBatch, later: &RecordBatch) -> Result<bool> {
        let (last, first) = (earlier.slice(earlier.num_rows() - 1, 1), later.slice(0, 1));
        let order = self.order.rows(&last)?.compare(0, &self.order.rows(&first)?, 0);
        Ok(order.is_lt() || (order.is_eq() && !self.stream.is_latest()))
    }

    /// Pieces in key order as those below a leading key and the others; `None` is above all.
    fn split(
        &self,
        pieces: Vec<RecordBatch>,
        key: Option<LeadKey>,
    ) -> Result<(Vec<RecordBatch>, Vec<RecordBatch>)> {
        let (mut below, mut others) = (Vec::new(), Vec::new());
        for piece in pieces {
            let keys = KeyView::of(&self.stream, &piece)?;
            let rows = key.map_or(keys.len(), |key| keys.lower_bound(key));
            if rows > 0 {
                below.push(piece.slice(0, rows));
            }
            if rows < piece.num_rows() {
                others.push(piece.slice(rows, piece.num_rows() - rows));
            }
        }
        Ok((below, others))
    }

    fn hold_back(&mut self, pieces: &mut Vec<RecordBatch>) -> Result<()> {
        let Some(last) = pieces.last() else { return Ok(()) };
        let greatest = KeyView::of(&self.stream, last)?.last();
        let rows: usize = pieces.iter().map(RecordBatch::num_rows).sum();
        let (below, equal) = self.split(pieces.clone(), greatest)?;
        let rows_equal: usize = equal.iter().map(RecordBatch::num_rows).sum();
        if rows_equal <= rows / HELD_BACK_PART {
            *pieces = below;
            for part in equal {
                self.gathered.push(PreparedBatch::part(part)?);
            }
        }
        Ok(())
    }

    fn write_rising(&mut self, engine: &Engine, piece: &RecordBatch) -> Result<()> {
        let keys = KeyView::of(&self.stream, piece)?;
        let (first, last) = (keys.first(), keys.last());
        let bytes_max = engine.settings.run_bytes_max;
        let is_full = self.rising.as_ref().is_some_and(|run| run.bytes_written() >= bytes_max);
        // Rows with one leading key never go to two runs that are in order.
        if is_full && self.last_key < first {
            self.end_run()?;
        }
        let create = || engine.new_run(&self.stream, RunFormat::Hot);
        writer_in(&mut self.rising, create)?.write(piece)?;
        self.last_key = last;
        Ok(())
    }

    fn end_run(&mut self) -> Result<()> {
        if let Some(mut run) = self.rising.take() {
            run.sync_data()?;
            self.full.push(run);
        }
        Ok(())
    }

    fn write_late(&mut self, engine: &Engine) -> Result<()> {
        let late = self.late.take();
        if late.is_empty() {
            return Ok(());
        }
        let pieces = self.in_order(late)?;
        let mut run = engine.new_run(&self.stream, RunFormat::Hot)?;
        pieces.iter().try_for_each(|piece| run.write(piece))?;
        run.sync_data()?;
        self.full.push(run);
        Ok(())
    }
}

/// All changes of a commit. Dropped, it removes the files it has begun.
#[derive(Debug, Default)]
pub(crate) struct BulkLoad {
    pub(super) streams: Vec<StreamRows>,
    pub(super) deletes: Vec<(Arc<Stream>, Tombstone)>,
    /// Keys that must be what they were.
    pub(super) conditions: Vec<UnchangedKey>,
    /// Streams of which only rows that stay are added.
    pub(super) rewritten: Vec<Arc<Stream>>,
}

impl BulkLoad {
    /// Adds a change; writes rows to runs if there are too many to keep.
    ///
    /// # Errors
    /// `InvalidData` where the stream has got other columns since an earlier change (nothing is
    /// added then); the disk's own, after which all there is to do is to drop it.
    pub(crate) fn add(&mut self, engine: &Engine, change: Prepared) -> Result<()> {
        match change {
            Prepared::DeleteRange { stream, tombstone } => self.deletes.push((stream, tombstone)),
            Prepared::Rows { stream, batch } => self.add_rows(&stream, batch)?,
            Prepared::Encoded(rows) => self.add_rows(rows.stream(), rows.to_batch()?)?,
            Prepared::Unchanged(key) => self.conditions.push(key),
            Prepared::Rewritten(stream) => self.rewritten.push(stream),
        }
        while self.bytes() >= engine.settings.memtable_bytes_max {
            let largest = self.streams.iter_mut().max_by_key(|rows| rows.bytes());
            let Some(rows) = largest.filter(|rows| rows.bytes() > 0) else { break };
            rows.write_some(engine)?;
        }
        Ok(())
    }

    fn add_rows(&mut self, stream: &Arc<Stream>, batch: PreparedBatch) -> Result<()> {
        let place = self.streams.iter().position(|rows| rows.stream.id() == stream.id());
        let place = match place {
            Some(place) => place,
            None => {
                self.streams.push(StreamRows::new(Arc::clone(stream))?);
                self.streams.len() - 1
            }
        };
        let rows = &mut self.streams[place];
        if rows.stream.schema_version() != stream.schema_version() {
            return Err(stream.has_been_altered());
        }
        rows.gathered.push(batch);
        Ok(())
    }

    /// Bytes of rows in memory.
    pub(crate) fn bytes(&self) -> u64 {
        self.streams.iter().map(StreamRows::bytes).sum()
    }

    pub(super) fn has_runs(&self) -> bool {
        self.streams.iter().any(StreamRows::has_runs)
    }

    /// Writes everything to runs, and makes their rows durable.
    pub(super) fn write_all(&mut self, engine: &Engine) -> Result<()> {
        self.streams.iter_mut().try_for_each(|rows| rows.write_all(engine))
    }

    /// The changes, one batch a stream, while there are no runs yet.
    pub(super) fn into_prepared(self) -> Result<Vec<Prepared>> {
        let deletes = self.deletes.into_iter();
        let mut prepared: Vec<Prepared> = deletes
            .map(|(stream, tombstone)| Prepared::DeleteRange { stream, tombstone })
            .chain(self.conditions.into_iter().map(Prepared::Unchanged))
            .chain(self.rewritten.into_iter().map(Prepared::Rewritten))
            .collect();
        for mut rows in self.streams {
            let gathered = rows.gathered.take();
            let pieces = rows.in_order(gathered)?;
            let all = match pieces.as_slice() {
                [] => continue,
                [piece] => piece.clone(),
                _ => concat_batches(rows.stream.stored_schema(), &pieces).map_err(unjoined)?,
            };
            let batch = PreparedBatch::part(all)?;
            prepared.push(Prepared::Rows { stream: rows.stream, batch });
        }
        Ok(prepared)
    }
}

fn unjoined(error: arrow_schema::ArrowError) -> Error {
    Error::new(ErrorKind::InvalidData, format!("rows of one commit can't be joined: {error}"))
        .caused_by(error)
}
