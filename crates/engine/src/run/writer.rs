//! Writing a run: sorted batches in, one finished file and what the manifest says of it out.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::ArrowError;
use arrow_select::take::{take, take_record_batch};
use parquet::errors::ParquetError;
use timestrata_format::{
    BLOCK_CHECKSUM_BYTES, BLOCK_CHECKSUM_BYTES_SMALL, BlockExtent, LeadKey, RunFormat, RunId,
    RunLayout, RunMeta, RunOrigin, SeqNo, StoreId, Tombstone, WordFilters,
};
use timestrata_io::{DiskFile, Io, OpenMode};

use super::block_builder::BlockBuilder;
use super::decimals::{DecimalColumn, as_decimals};
use super::encoder::Encoder;
use super::encodings::{least_cost, series_that_pay};
use super::series::by_series;
use super::sink::Sink;
use super::tail::{self, RunTail, Zone};
use super::{
    LAYOUT_KEY, METADATA_KEY, ORIGIN_KEY, WORDS_KEY, check_column_types, cold, file_name,
    word_filter,
};
use crate::key::KeyView;
use crate::stream::to_definition;
use crate::{Error, ErrorKind, FORMAT_VERSION, Result, Settings, Stream};

/// A block whose rows lie by series is as long as so many others: each series has more rows in it.
const BLOCKS_BY_SERIES: usize = 4;

/// Rows of which numbers are stored in both ways, to see which takes less room.
const NUMBER_TRIAL_ROWS: usize = 16_384;

/// Range deletes that a run tells of at most. Compaction lets go of them where there are so many.
const TOMBSTONES_MAX: usize = 256;

/// Where the rows of a run come from: what its file can't know by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Provenance {
    /// Commit of the oldest row.
    pub(crate) seq_min: SeqNo,
    /// Commit of the newest row.
    pub(crate) seq_max: SeqNo,
    /// Tombstones up to this commit have been applied.
    pub(crate) tombstones_applied_through: SeqNo,
    /// 0 for a flush, higher for what compaction has settled.
    pub(crate) level: u8,
    /// Wall clock now, nanoseconds since the epoch.
    pub(crate) created_wall_ns: i64,
}

impl Provenance {
    /// Of the rows of these commits, to which their own range deletes have been applied.
    pub(crate) fn of_commits(first: SeqNo, last: SeqNo, created_wall_ns: i64) -> Self {
        Self {
            seq_min: first,
            seq_max: last,
            tombstones_applied_through: last,
            level: 0,
            created_wall_ns,
        }
    }
}

/// What a run takes the place of, and what it leaves to be heeded: for whoever makes a manifest anew.
#[derive(Debug, Clone, Default)]
pub(crate) struct Lineage {
    /// The inputs of the compaction that it is an output of.
    pub(crate) replaces: Vec<RunId>,
    /// Outputs of the same compaction before it.
    pub(crate) outputs_before: Vec<RunId>,
    /// No output comes behind it.
    pub(crate) is_last_output: bool,
    /// Range deletes that runs of the stream must heed.
    pub(crate) tombstones: Vec<Tombstone>,
}

/// Writes one run. Dropped before [`RunWriter::finish`] it removes its file.
pub(crate) struct RunWriter {
    io: Io,
    path: PathBuf,
    store_id: StoreId,
    stream: Arc<Stream>,
    id: RunId,
    format: RunFormat,
    builder: BlockBuilder,
    /// Rows of a block that lie in the order of the key.
    block_rows: usize,
    /// By which columns the rows of each block lie together; `None`: the first block will tell.
    series: Option<Vec<usize>>,
    /// Columns of floats that may be stored as decimal numbers; with the first block: that are.
    decimals: Vec<DecimalColumn>,
    encoder: Encoder,
    /// Bytes of the data that one checksum covers.
    checksum_bytes: u32,
    zones: Vec<Zone>,
    extents: Vec<BlockExtent>,
    /// Of cold runs of a stream whose words count: the filters of the blocks, and their lengths.
    words: Option<(Vec<u8>, Vec<u32>)>,
    last_key: Option<LeadKey>,
    rows: u64,
    delete_markers: u64,
    finished: bool,
}

impl fmt::Debug for RunWriter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunWriter")
            .field("path", &self.path)
            .field("rows", &self.rows)
            .finish_non_exhaustive()
    }
}

impl RunWriter {
    /// Creates the run's file in `runs_dir`.
    ///
    /// # Errors
    /// `InvalidArgument` for column types that runs can't hold; the operating system's.
    pub(crate) fn create(
        io: &Io,
        runs_dir: &Path,
        store_id: StoreId,
        stream: &Arc<Stream>,
        id: RunId,
        format: RunFormat,
        settings: &Settings,
    ) -> Result<Self> {
        check_column_types(stream.stored_schema())?;
        let path = runs_dir.join(file_name(id, format));
        let file = io
            .disk
            .open(&path, OpenMode::CreateNew)
            .map_err(|error| Error::io("create a run file", &path, error))?;
        let block_rows = block_rows(stream, format, settings);
        let checksum_bytes = match block_rows < settings.run_batch_rows {
            true => BLOCK_CHECKSUM_BYTES_SMALL,
            false => BLOCK_CHECKSUM_BYTES,
        };
        let may_lie_by_series = format == RunFormat::Cold && !stream.series_columns().is_empty();
        // The builder ends a block sooner whose rows are wide.
        let blocks = if may_lie_by_series { BLOCKS_BY_SERIES } else { 1 };
        let rows_max = block_rows.saturating_mul(blocks);
        let sink = Sink::new(file, checksum_bytes);
        let encoder = Encoder::new(format, stream, sink).map_err(|error| {
            // Best effort: recovery removes files that no manifest names.
            let _ = io.disk.remove(&path);
            Error::new(ErrorKind::Io, format!("could not begin a run: {error}")).at(&path)
        })?;
        Ok(Self {
            io: io.clone(),
            path,
            store_id,
            stream: Arc::clone(stream),
            id,
            format,
            builder: BlockBuilder::new(stream.stored_schema().clone(), rows_max),
            block_rows,
            series: (!may_lie_by_series).then(Vec::new),
            decimals: Vec::new(),
            encoder,
            checksum_bytes,
            zones: Vec::new(),
            extents: Vec::new(),
            words: (format == RunFormat::Cold && stream.has_words()).then(Default::default),
            last_key: None,
            rows: 0,
            delete_markers: 0,
            finished: false,
        })
    }

    /// The same, with columns all of whose values are decimal numbers: a cold run stores them so where that takes
    /// less room.
    pub(crate) fn with_decimals(mut self, decimals: &[DecimalColumn]) -> Self {
        if self.format == RunFormat::Cold {
            self.decimals = decimals.to_vec();
        }
        self
    }

    /// Adds rows: the columns of the stored schema, in key order, none below what came before.
    ///
    /// # Errors
    /// Those of the disk; after one the run can only be abandoned.
    pub(crate) fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        if batch.num_rows() == 0 {
            return Ok(());
        }
        self.check_order(batch)?;
        let mut blocks = Vec::new();
        self.builder
            .add(batch, &mut blocks)
            .map_err(|error| self.failed("gather rows of a run", error.into()))?;
        self.rows += batch.num_rows() as u64;
        if self.stream.is_latest() {
            let marks = batch.columns().last().and_then(|column| column.as_boolean_opt());
            self.delete_markers += marks.map_or(0, |marks| marks.true_count() as u64);
        }
        blocks.iter().try_for_each(|block| self.write_block(block))
    }

    /// Bytes in the file so far (rows that wait for a full block are not).
    pub(crate) fn bytes_written(&self) -> u64 {
        self.encoder.bytes_written()
    }

    /// Writes the rows there are and makes them durable, so that [`RunWriter::finish`] has less to
    /// wait for.
    pub(crate) fn sync_data(&mut self) -> Result<()> {
        self.end_block()?;
        self.encoder.settle().map_err(|error| self.failed("write a run", error))?;
        let synced = self.encoder.sink().map_or(Ok(()), |sink| sink.sync(false));
        synced.map_err(|error| Error::io("sync a run", &self.path, error))
    }

    /// Writes the tail and syncs the file; the caller syncs the directory.
    ///
    /// # Errors
    /// Those of the disk; the file is removed then, as far as that works.
    ///
    /// # Panics
    /// On a run without rows.
    pub(crate) fn finish(self, provenance: Provenance, lineage: Lineage) -> Result<RunMeta> {
        let (path, disk) = (self.path.clone(), Arc::clone(&self.io.disk));
        let (meta, file) = self.finish_unsynced(provenance, lineage)?;
        file.sync_all().map_err(|error| {
            // Best effort: recovery removes files that no manifest names.
            let _ = disk.remove(&path);
            Error::io("sync a run", &path, error)
        })?;
        Ok(meta)
    }

    /// As [`RunWriter::finish`] without the sync of the file: that is the caller's, who also removes it
    /// if it comes to nothing.
    ///
    /// # Errors
    /// As [`RunWriter::finish`].
    ///
    /// # Panics
    /// As [`RunWriter::finish`].
    pub(crate) fn finish_unsynced(
        mut self,
        provenance: Provenance,
        lineage: Lineage,
    ) -> Result<(RunMeta, Arc<dyn DiskFile>)> {
        self.end_block()?;
        self.encoder.settle().map_err(|error| self.failed("write a run", error))?;
        let (first, last) = (self.zones.first(), self.zones.last());
        #[expect(clippy::expect_used, reason = "a caller's bug: an empty run is abandoned")]
        let (first, last) = first.zip(last).expect("a run has a row");
        let (key_min, key_max) = (first.key_min, last.key_max);
        let words = self.write_words()?;
        let origin = self.origin(provenance, lineage);
        let sink = self.encoder.sink().ok_or_else(|| missing_sink(&self.path))?;
        let tail_offset = sink.written();
        let tail = RunTail {
            format_version: FORMAT_VERSION,
            store_id: self.store_id,
            stream_id: self.stream.id(),
            run_id: self.id,
            key_min,
            key_max,
            seq_min: provenance.seq_min,
            seq_max: provenance.seq_max,
            tombstones_applied_through: provenance.tombstones_applied_through,
            rows: self.rows,
            delete_markers: self.delete_markers,
            data_bytes: tail_offset,
            block_checksum_bytes: self.checksum_bytes,
            block_crcs: sink.begin_tail(),
            zones: std::mem::take(&mut self.zones),
        };
        let mut entries = vec![
            (METADATA_KEY, tail::to_text(&tail.encode())),
            (ORIGIN_KEY, tail::to_text(&origin.encode())),
        ];
        entries.extend(words.map(|words| (WORDS_KEY, tail::to_text(&words.encode()))));
        entries.extend(self.layout().map(|layout| (LAYOUT_KEY, tail::to_text(&layout.encode()))));
        self.encoder.finish(entries).map_err(|error| self.failed("write a run's tail", error))?;
        let sink = self.encoder.sink().ok_or_else(|| missing_sink(&self.path))?;
        let file = sink.written_out();
        let file = file.map_err(|error| Error::io("write a run's tail", &self.path, error))?;
        let sums = sink.sums();
        self.finished = true;
        let Provenance { level, created_wall_ns, .. } = provenance;
        let meta = tail::meta_of(&tail, self.format, level, created_wall_ns, &sums);
        Ok((meta, file))
    }

    fn origin(&mut self, provenance: Provenance, lineage: Lineage) -> RunOrigin {
        let mut tombstones = lineage.tombstones;
        tombstones.sort_unstable_by_key(|tombstone| std::cmp::Reverse(tombstone.seq));
        tombstones.truncate(TOMBSTONES_MAX);
        RunOrigin {
            format_version: FORMAT_VERSION,
            level: provenance.level,
            created_wall_ns: provenance.created_wall_ns,
            replaces: lineage.replaces,
            outputs_before: lineage.outputs_before,
            is_last_output: lineage.is_last_output,
            definition: to_definition(self.stream.id(), self.stream.spec()),
            tombstones,
            blocks: std::mem::take(&mut self.extents),
        }
    }

    /// Writes the filters of words behind the blocks; where they are.
    fn write_words(&mut self) -> Result<Option<WordFilters>> {
        let Some((filters, lengths)) = self.words.take() else { return Ok(None) };
        let offset = self.encoder.bytes_written();
        self.encoder
            .append(&filters)
            .map_err(|error| self.failed("write the words of a run", error))?;
        Ok(Some(WordFilters {
            format_version: FORMAT_VERSION,
            unicode: word_filter::UNICODE,
            offset,
            lengths,
        }))
    }

    /// # Panics
    /// If the rows are not in order: whoever sorted them has a bug, and a wrong run must
    /// not reach the disk.
    fn check_order(&mut self, batch: &RecordBatch) -> Result<()> {
        assert_eq!(
            batch.num_columns(),
            self.stream.stored_schema().fields().len(),
            "a run takes the columns of the stored schema"
        );
        let keys = KeyView::of(&self.stream, batch)?;
        assert!(keys.is_sorted(), "rows of a run come in key order");
        assert!(
            self.last_key.is_none_or(|last| keys.first().is_none_or(|first| last <= first)),
            "batches of a run come in key order"
        );
        self.last_key = keys.last();
        Ok(())
    }

    /// Writes the rows that wait for a full block as a shorter one: they take no more memory.
    pub(crate) fn end_block(&mut self) -> Result<()> {
        let rest = self
            .builder
            .take()
            .map_err(|error| self.failed("gather rows of a run", error.into()))?;
        rest.map_or(Ok(()), |block| self.write_block(&block))
    }

    /// Writes a block as the builder gives it.
    fn write_block(&mut self, block: &RecordBatch) -> Result<()> {
        if self.series.is_none() {
            let series = series_that_pay(&self.stream, block)
                .map_err(|error| self.failed("choose how rows of a run lie", error.into()))?;
            if series.is_empty() {
                self.builder.set_rows_max(self.block_rows);
            }
            self.series = Some(series);
        }
        // Longer than what comes behind it is only the first block, where its rows turn out not to lie by series.
        let rows_max = self.builder.rows_max();
        for start in (0..block.num_rows()).step_by(rows_max) {
            let rows = rows_max.min(block.num_rows() - start);
            self.encode_block(&block.slice(start, rows))?;
        }
        Ok(())
    }

    fn encode_block(&mut self, block: &RecordBatch) -> Result<()> {
        let keys = KeyView::of(&self.stream, block)?;
        if let Some((key_min, key_max)) = keys.first().zip(keys.last()) {
            // The gatherer keeps blocks far below 2^32 rows.
            let rows = u32::try_from(block.num_rows()).unwrap_or(u32::MAX);
            self.zones.push(Zone { rows, key_min, key_max });
        }
        if let Some((filters, lengths)) = &mut self.words {
            let filter = word_filter::of_rows(&self.stream, block);
            // A block's text is far below 4 GiB.
            lengths.push(u32::try_from(filter.len()).unwrap_or(0));
            filters.extend(filter);
        }
        let series = self.series.clone().unwrap_or_default();
        if self.extents.is_empty() && !self.decimals.is_empty() {
            let smaller = self.smaller_decimals(block, &series);
            self.decimals = smaller.map_err(|error| {
                self.failed("choose how numbers of a run are stored", error.into())
            })?;
        }
        let stored = self.as_stored(block, &series);
        let stored =
            stored.map_err(|error| self.failed("put rows in their places", error.into()))?;
        let written = self.encoder.write(&self.stream, &stored, &series);
        written
            .and_then(|()| self.encoder.settle())
            .map_err(|error| self.failed("write a run", error))?;
        let sink = self.encoder.sink().ok_or_else(|| missing_sink(&self.path))?;
        self.extents.push(sink.take_extent());
        Ok(())
    }

    /// The columns that the file has, with the rows of a block where they are to lie.
    fn as_stored(
        &self,
        block: &RecordBatch,
        series: &[usize],
    ) -> std::result::Result<RecordBatch, ArrowError> {
        let (schema, layout) = (self.stream.stored_schema(), self.layout());
        let rows = (!series.is_empty()).then(|| by_series(block, series)).flatten();
        let mut columns = match &rows {
            Some(rows) => take_record_batch(block, rows)?.columns().to_vec(),
            None => block.columns().to_vec(),
        };
        for (column, digits) in &self.decimals {
            if let Some(values) = columns.get_mut(*column) {
                *values = as_decimals(values, *digits)?;
            }
        }
        columns.extend(rows.map(|rows| Arc::new(rows) as ArrayRef));
        RecordBatch::try_new(cold::in_file(schema, layout.as_ref()), columns)
    }

    /// Of the columns that may be stored as decimal numbers those that cost less so.
    fn smaller_decimals(
        &self,
        block: &RecordBatch,
        series: &[usize],
    ) -> std::result::Result<Vec<DecimalColumn>, ParquetError> {
        let rows = block.num_rows().min(NUMBER_TRIAL_ROWS);
        let order = (!series.is_empty()).then(|| by_series(block, series)).flatten();
        let order = order.map(|order| order.slice(0, rows));
        let mut smaller = Vec::new();
        for (column, digits) in &self.decimals {
            let Some(values) = block.columns().get(*column) else { continue };
            let values = match &order {
                Some(order) => take(values, order, None)?,
                None => values.slice(0, rows),
            };
            if least_cost(&as_decimals(&values, *digits)?)? < least_cost(&values)? {
                smaller.push((*column, *digits));
            }
        }
        Ok(smaller)
    }

    /// How rows and columns are stored, where that is not as the stream has them.
    fn layout(&self) -> Option<RunLayout> {
        let series = self.series.as_deref().unwrap_or_default();
        if series.is_empty() && self.decimals.is_empty() {
            return None;
        }
        // A stream has far fewer columns than 2^32.
        let number = |column: usize| u32::try_from(column).unwrap_or(u32::MAX);
        Some(RunLayout {
            format_version: FORMAT_VERSION,
            series: series.iter().map(|column| number(*column)).collect(),
            decimals: self
                .decimals
                .iter()
                .map(|(column, digits)| (number(*column), *digits))
                .collect(),
        })
    }

    /// The error of an encoder: the disk's own, where that is what it was.
    fn failed(&mut self, what: &str, error: Box<dyn std::error::Error + Send + Sync>) -> Error {
        match self.encoder.sink().and_then(Sink::take_failure) {
            Some(failure) => Error::io(what, &self.path, failure),
            None => Error::new(ErrorKind::InvalidData, format!("could not {what}: {error}"))
                .at(&self.path)
                .caused_by(error),
        }
    }
}

/// Rows of a block.
fn block_rows(stream: &Stream, format: RunFormat, settings: &Settings) -> usize {
    match format {
        RunFormat::Hot => stream.block_rows().unwrap_or(settings.run_batch_rows),
        RunFormat::Cold => stream.cold_block_rows().unwrap_or(settings.run_batch_rows),
    }
}

/// The writer that there is, or a new one.
pub(crate) fn writer_in(
    slot: &mut Option<RunWriter>,
    create: impl FnOnce() -> Result<RunWriter>,
) -> Result<&mut RunWriter> {
    match slot {
        Some(writer) => Ok(writer),
        None => Ok(slot.insert(create()?)),
    }
}

fn missing_sink(path: &Path) -> Error {
    Error::new(ErrorKind::Io, "the encoder of a run could not be set up").at(path)
}

impl Drop for RunWriter {
    fn drop(&mut self) {
        if !self.finished {
            // Best effort: recovery removes files that no manifest names.
            let _ = self.io.disk.remove(&self.path);
        }
    }
}
