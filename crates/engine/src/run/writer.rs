//! Writing a run: sorted batches in, one finished file and what the manifest says of it out.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use timestrata_format::{
    BLOCK_CHECKSUM_BYTES, BLOCK_CHECKSUM_BYTES_LEAST, BLOCK_CHECKSUM_BYTES_SMALL, BlockExtent,
    LeadKey, RunAggregates, RunFormat, RunId, RunLayout, RunMeta, RunOrigin, SeqNo, StoreId,
    Tombstone, WordFilters,
};
use timestrata_io::{DiskFile, Io, OpenMode};

use super::aggregates::{self, AggregatesBuilder};
use super::block_builder::{Block, BlockBuilder, BlockLimits};
use super::decimals::DecimalColumn;
use super::encoder::Encoder;
use super::encodings::series_pay;
use super::series::{by_series, telling};
use super::sink::Sink;
use super::stored_block::{StoredBlock, smaller_decimals};
use super::tail::{self, RunTail, Zone};
use super::{
    AGGREGATES_KEY, LAYOUT_KEY, METADATA_KEY, ORIGIN_KEY, WORDS_KEY, check_column_types, cold,
    file_name, row_groups, word_filter,
};
use crate::key::KeyView;
use crate::stream::to_definition;
use crate::{Error, ErrorKind, FORMAT_VERSION, Result, Settings, Stream};

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

/// By which columns the rows of a run's blocks lie together.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Series {
    /// The first rows will tell how many series there are.
    Unknown,
    /// So many series, told by these columns: the first block, which may have to be longer, will tell whether they pay.
    Told(Vec<usize>, usize),
    /// These; none: rows lie in the order of the key.
    Chosen(Vec<usize>),
}

impl Series {
    fn chosen(&self) -> &[usize] {
        match self {
            Self::Chosen(columns) => columns,
            Self::Unknown | Self::Told(..) => &[],
        }
    }
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
    series: Series,
    /// Columns of floats that may be stored as decimal numbers; with the first block: that are.
    decimals: Vec<DecimalColumn>,
    encoder: Encoder,
    /// Bytes of the data that one checksum covers.
    checksum_bytes: u32,
    zones: Vec<Zone>,
    extents: Vec<BlockExtent>,
    /// Of cold runs of a stream whose words count: the filters of the blocks, and their lengths.
    words: Option<(Vec<u8>, Vec<u32>)>,
    /// Of cold runs of a stream whose series are told apart: what the rows come to.
    aggregates: Option<AggregatesBuilder>,
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
        let may_share = format == RunFormat::Cold && stream.shares_dictionaries();
        let has_few_rows = block_rows < settings.run_batch_rows;
        let checksum_bytes = match format {
            // Of a damaged block those rows can be read that have no bytes under the same checksum.
            RunFormat::Hot if has_few_rows => BLOCK_CHECKSUM_BYTES_LEAST,
            // Where a block is a part of a row group only these tell whose bytes are damaged.
            _ if may_share || has_few_rows => BLOCK_CHECKSUM_BYTES_SMALL,
            _ => BLOCK_CHECKSUM_BYTES,
        };
        let limits = match may_share {
            true => row_groups::at_first(stream, block_rows),
            false => BlockLimits::of_rows(block_rows),
        };
        let sink = Sink::new(file, checksum_bytes);
        let encoder = Encoder::new(format, stream, sink, block_rows).map_err(|error| {
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
            builder: BlockBuilder::new(stream.stored_schema().clone(), limits),
            block_rows,
            series: match may_share {
                true => Series::Unknown,
                false => Series::Chosen(Vec::new()),
            },
            decimals: Vec::new(),
            encoder,
            checksum_bytes,
            zones: Vec::new(),
            extents: Vec::new(),
            words: (format == RunFormat::Cold && stream.has_words()).then(Default::default),
            aggregates: (format == RunFormat::Cold)
                .then(|| AggregatesBuilder::of(stream, block_rows))
                .flatten(),
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
        self.write_blocks(blocks)
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
        let aggregates = self.write_aggregates()?;
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
        let aggregates = aggregates.map(|aggregates| tail::to_text(&aggregates.encode()));
        entries.extend(aggregates.map(|text| (AGGREGATES_KEY, text)));
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
            letters: word_filter::LETTERS,
            offset,
            lengths,
        }))
    }

    /// Writes behind the blocks what their rows come to; where it is.
    fn write_aggregates(&mut self) -> Result<Option<RunAggregates>> {
        let Some(builder) = self.aggregates.take() else { return Ok(None) };
        let columns = builder.columns().clone();
        let added = builder.finish(self.stream.schema(), &self.decimals);
        let added = added.map_err(|error| self.failed("add up a run", error.into()))?;
        let Some(added) = added else { return Ok(None) };
        let bytes = aggregates::encode(&added.rows);
        let bytes = bytes.map_err(|error| self.failed("add up a run", error.into()))?;
        let offset = self.encoder.bytes_written();
        let appended = self.encoder.append(&bytes);
        appended.map_err(|error| self.failed("write what a run comes to", error))?;
        Ok(Some(aggregates::entry(&columns, added.spans, offset..offset + bytes.len() as u64)))
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
        // Of the first rows some may come to wait again, and are told by then.
        while let Some(rest) = self.builder.take() {
            if let Series::Unknown = self.series {
                self.tell_series(&rest)?;
            }
            self.write_blocks(vec![rest])?;
        }
        Ok(())
    }

    /// Writes blocks as the builder gives them.
    fn write_blocks(&mut self, blocks: Vec<Block>) -> Result<()> {
        let mut blocks = blocks.into_iter();
        while let Some(block) = blocks.next() {
            let limits = self.limits_from(&block)?;
            if limits == self.builder.limits() {
                self.encode_row_group(block)?;
                continue;
            }
            // The first block, and all that has come behind it, is cut anew.
            let waiting = self.builder.take();
            self.builder.set_limits(limits);
            let mut cut = Vec::new();
            for block in std::iter::once(block).chain(blocks).chain(waiting) {
                let added =
                    block.batches().iter().try_for_each(|batch| self.builder.add(batch, &mut cut));
                added.map_err(|error| self.failed("gather rows of a run", error.into()))?;
            }
            return self.write_blocks(cut);
        }
        Ok(())
    }

    /// How large blocks are to be from this one on, which may be the first one: it tells by what its rows lie.
    fn limits_from(&mut self, block: &Block) -> Result<BlockLimits> {
        if let Series::Unknown = self.series {
            let series = self.tell_series(block)?;
            let limits = self.builder.limits();
            if let Some(longer) = row_groups::of_many_series(series, self.block_rows, limits) {
                return Ok(longer);
            }
        }
        if let Series::Told(columns, series) = &self.series {
            let (columns, series) = (columns.clone(), *series);
            let pay = series_pay(block, &columns, series)
                .map_err(|error| self.failed("choose how rows of a run lie", error.into()))?;
            self.series = Series::Chosen(if pay { columns } else { Vec::new() });
            if !pay {
                let limits = row_groups::in_key_order(&self.stream, block, self.block_rows);
                return limits.map_err(|error| self.failed("gather rows of a run", error.into()));
            }
        }
        Ok(self.builder.limits())
    }

    /// How many series there are among the first rows.
    fn tell_series(&mut self, first: &Block) -> Result<usize> {
        let told = match self.stream.series_columns() {
            [] => Ok((Vec::new(), 0)),
            columns => telling(first, columns),
        };
        let (columns, series) =
            told.map_err(|error| self.failed("tell series of a run apart", error.into()))?;
        self.series = Series::Told(columns, series);
        Ok(series)
    }

    /// Writes a block as a row group, or as several where it is one of the order of the key with too few rows to be read by pages.
    fn encode_row_group(&mut self, block: Block) -> Result<()> {
        let is_one = block.rows() <= self.block_rows
            || block.rows() > self.block_rows.saturating_mul(row_groups::BLOCKS_MIN - 1)
            || !self.series.chosen().is_empty();
        if is_one {
            return self.encode_block(&block);
        }
        let mut cut = Vec::new();
        let limits = BlockLimits::of_rows(self.block_rows);
        let mut cutter = BlockBuilder::new(self.stream.stored_schema().clone(), limits);
        let added = block.batches().iter().try_for_each(|batch| cutter.add(batch, &mut cut));
        added.map_err(|error| self.failed("gather rows of a run", error.into()))?;
        cut.extend(cutter.take());
        cut.iter().try_for_each(|block| self.encode_block(block))
    }

    fn encode_block(&mut self, block: &Block) -> Result<()> {
        self.note_keys(block)?;
        if let Some((filters, lengths)) = &mut self.words {
            let whole = block.whole();
            let filter = whole.map(|whole| word_filter::of_rows(&self.stream, &whole));
            match filter {
                Ok(filter) => {
                    // A block's text is far below 4 GiB.
                    lengths.push(u32::try_from(filter.len()).unwrap_or(0));
                    filters.extend(filter);
                }
                Err(error) => return Err(self.failed("gather rows of a run", error.into())),
            }
        }
        let series = self.series.chosen().to_vec();
        let order = match series.is_empty() {
            true => Ok(None),
            false => by_series(block, &series),
        };
        let order = order.map_err(|error| self.failed("put rows in their places", error.into()))?;
        if self.extents.is_empty() && !self.decimals.is_empty() {
            let smaller = smaller_decimals(block, order.as_ref(), &self.decimals);
            self.decimals = smaller.map_err(|error| {
                self.failed("choose how numbers of a run are stored", error.into())
            })?;
        }
        if let Some(builder) = &mut self.aggregates {
            match builder.add(block, &self.decimals) {
                Ok(true) => {}
                Ok(false) => self.aggregates = None,
                Err(error) => return Err(self.failed("add up a run", error.into())),
            }
        }
        let schema = cold::in_file(self.stream.stored_schema(), self.layout().as_ref());
        let stored = StoredBlock::new(block, order, &self.decimals, schema);
        let written = self.encoder.write(&self.stream, &stored, &series);
        written
            .and_then(|()| self.encoder.settle())
            .map_err(|error| self.failed("write a run", error))?;
        let sink = self.encoder.sink().ok_or_else(|| missing_sink(&self.path))?;
        self.extents.push(sink.take_extent());
        Ok(())
    }

    /// Keeps the zone map of a block.
    fn note_keys(&mut self, block: &Block) -> Result<()> {
        let (Some(first), Some(last)) = (block.batches().first(), block.batches().last()) else {
            return Ok(());
        };
        let key_min = KeyView::of(&self.stream, first)?.first();
        let key_max = KeyView::of(&self.stream, last)?.last();
        if let Some((key_min, key_max)) = key_min.zip(key_max) {
            // The gatherer keeps blocks far below 2^32 rows.
            let rows = u32::try_from(block.rows()).unwrap_or(u32::MAX);
            self.zones.push(Zone { rows, key_min, key_max });
        }
        Ok(())
    }

    /// How rows and columns are stored, where that is not as the stream has them.
    fn layout(&self) -> Option<RunLayout> {
        let series = self.series.chosen();
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
