//! Reading rows in whatever order they lie: nothing is merged, and blocks whose rows lie by series are not put in
//! order. Only for streams that keep all rows, where none replaces another.
//!
//! Several readers may share the blocks of one range: each takes the blocks of its [`Share`], so that none is decoded
//! twice, as it would be where a range is cut between two keys of a block.

use std::collections::VecDeque;
use std::sync::Arc;

use arrow_array::{BooleanArray, RecordBatch};
use arrow_select::filter::filter_record_batch;
use timestrata_format::{KeyRange, Zone};

use super::merge::Batches;
use super::plan::{ScanPlan, unfit};
use super::view::Seen;
use super::{AggregatedBlocks, PartsOfBlock, RowOrder, Share, Source};
use crate::Result;

/// Rows of a piece of a long block, about: few enough to stay in the processor's caches while they are gone through.
const PIECE_ROWS: usize = 131_072;

/// With so many blocks a reader, one block more or less makes no great difference.
const BLOCKS_A_READER: u64 = 8;

/// Some sources, block by block.
pub(super) struct Unordered {
    /// Of sources of which only some keys are seen: those of each block are held against what is told of it.
    plan: Arc<ScanPlan>,
    /// Of those of which all keys are, whatever they are.
    keyless: Arc<ScanPlan>,
    shares: Shares,
    /// Blocks that are not read.
    without: AggregatedBlocks,
    /// Of which blocks are left.
    seen: VecDeque<Seen>,
    /// The next block of the first of them.
    block: usize,
    /// What is left of a block that is read part by part.
    parts: Option<Parts>,
    /// What is left of a block that is read piece by piece, and kept.
    pieces: Option<Pieces>,
    /// Rows of all sources.
    rows: u64,
    ready: VecDeque<RecordBatch>,
}

impl Unordered {
    pub(super) fn new(
        plan: Arc<ScanPlan>,
        keyless: ScanPlan,
        seen: Vec<Seen>,
        share: Share,
        without: AggregatedBlocks,
    ) -> Self {
        let rows: u64 = seen.iter().map(|(source, _)| source.rows()).sum();
        let rows = rows.saturating_sub(without.rows());
        Self {
            plan,
            keyless: Arc::new(keyless),
            shares: Shares::new(share),
            without,
            seen: seen.into(),
            block: 0,
            parts: None,
            pieces: None,
            rows,
            ready: VecDeque::new(),
        }
    }

    /// Reads the next block, or more of the last one; false: there is none.
    fn step(&mut self) -> Result<bool> {
        if self.parts.is_some() {
            return self.next_part();
        }
        if self.pieces.is_some() {
            return self.next_piece();
        }
        let Some((source, visible)) = self.seen.front() else { return Ok(false) };
        let blocks = match source.blocks() {
            Ok(blocks) => blocks,
            Err(error) => {
                self.plan.leave_out(error)?;
                self.next_source();
                return Ok(true);
            }
        };
        let rest = blocks.get(self.block..).unwrap_or_default();
        let without = self.without.of_run(source.run()).unwrap_or_default();
        let is_left_out = |block: usize| without.iter().any(|blocks| blocks.contains(&block));
        let is_met = |(block, zone): (usize, &Zone)| {
            zone.rows > 0
                && visible.first_overlap(zone.key_min, zone.key_max).is_some()
                && !is_left_out(block)
        };
        let Some(skipped) = (self.block..).zip(rest).position(is_met) else {
            self.next_source();
            return Ok(true);
        };
        let block = self.block + skipped;
        let zone = blocks[block];
        self.block = block + 1;
        let is_shared = self.is_shared(source.as_ref(), block, zone.rows);
        if !is_shared && !self.shares.is_next_ours(zone.rows) {
            return Ok(true);
        }
        let share = if is_shared { self.shares.share() } else { Share::WHOLE };
        let is_whole = visible.covers(zone.key_min, zone.key_max);
        let keys = (!is_whole)
            .then(|| visible.parts_over(zone.key_min, zone.key_max).collect::<Vec<KeyRange>>());
        let plan = Arc::clone(if visible.is_all() { &self.keyless } else { &self.plan });
        let wanted = visible.range();
        let wanted = source.leaves_out_other_keys(block, wanted).then_some(*wanted);
        if is_whole || is_shared && wanted.is_none() {
            let batches = plan.read_parts(source.as_ref(), block, share, self.rows)?;
            if let Some(batches) = batches {
                self.parts = Some(Parts { batches, plan, keys });
                return Ok(true);
            }
            if is_shared && !plan.has_filter() {
                let (source, pieces) = (Arc::clone(source), self.shares.pieces(zone.rows));
                self.pieces = Some(Pieces { source, block, pieces, plan, keys });
                return Ok(true);
            }
        }
        match plan.read_block(source.as_ref(), block, wanted, RowOrder::Any(share)) {
            Ok(batch) => self.give(&plan, &batch, keys.as_deref())?,
            Err(error) => plan.leave_out(error)?,
        }
        Ok(true)
    }

    /// Whether each reader takes its share of the rows of a block. All readers come to the same.
    fn is_shared(&self, source: &dyn Source, block: usize, rows: u32) -> bool {
        // What is missing of a block is told by one reader, for all of it.
        if self.plan.leaves_out() {
            return false;
        }
        // Who looks for rows decodes and keeps all of a short block, and each reader would.
        let is_even = self.plan.has_filter() || self.shares.are_even(rows, self.rows);
        source.is_long(block) || !is_even && source.is_divisible(block)
    }

    /// Reads more of the block that is read part by part; always true.
    fn next_part(&mut self) -> Result<bool> {
        let Some(mut parts) = self.parts.take() else { return Ok(true) };
        if let Some(part) = parts.batches.next() {
            let part = part?;
            parts.plan.check(&part)?;
            self.give(&parts.plan, &part, parts.keys.as_deref())?;
            self.parts = Some(parts);
        }
        Ok(true)
    }

    /// Reads the next piece of the block that is read piece by piece; always true.
    fn next_piece(&mut self) -> Result<bool> {
        let Some(mut pieces) = self.pieces.take() else { return Ok(true) };
        if let Some(piece) = pieces.pieces.next() {
            let Pieces { source, block, plan, keys, .. } = &pieces;
            let batch = plan.read_block(source.as_ref(), *block, None, RowOrder::Any(piece))?;
            self.give(plan, &batch, keys.as_deref())?;
            self.pieces = Some(pieces);
        }
        Ok(true)
    }

    fn give(
        &mut self,
        plan: &ScanPlan,
        batch: &RecordBatch,
        keys: Option<&[KeyRange]>,
    ) -> Result<()> {
        match keys {
            None => self.give_whole(plan, batch),
            Some(keys) => self.give_within(batch, keys),
        }
    }

    /// Gives all rows of a block, or of a part of it.
    fn give_whole(&mut self, plan: &ScanPlan, batch: &RecordBatch) -> Result<()> {
        let columns = plan.output_columns(batch).cloned().collect();
        let given = plan.batch(columns, batch.num_rows())?;
        self.ready.extend((given.num_rows() > 0).then_some(given));
        Ok(())
    }

    fn next_source(&mut self) {
        self.seen.pop_front();
        self.block = 0;
    }

    /// Gives the rows of a block that are in some parts of its keys.
    fn give_within(&mut self, batch: &RecordBatch, parts: &[KeyRange]) -> Result<()> {
        let columns = self.plan.output_columns(batch).cloned().collect();
        let given = self.plan.batch(columns, batch.num_rows())?;
        let keys = self.plan.keys_of(batch)?;
        if keys.is_sorted() {
            let rows = parts.iter().map(|part| keys.rows_in(part)).filter(|rows| !rows.is_empty());
            self.ready.extend(rows.map(|rows| given.slice(rows.start, rows.len())));
            return Ok(());
        }
        let is_seen = BooleanArray::new(keys.within_any(parts), None);
        let given = filter_record_batch(&given, &is_seen).map_err(|error| unfit(&error))?;
        self.ready.extend((given.num_rows() > 0).then_some(given));
        Ok(())
    }
}

/// Rows of one block that come part by part.
struct Parts {
    batches: PartsOfBlock,
    /// How they are read.
    plan: Arc<ScanPlan>,
    /// The keys of the rows that are given; `None`: all.
    keys: Option<Vec<KeyRange>>,
}

/// Rows of one block that come piece by piece, each as if it were a block.
struct Pieces {
    source: Arc<dyn Source>,
    block: usize,
    pieces: Box<dyn Iterator<Item = Share> + Send>,
    /// How they are read.
    plan: Arc<ScanPlan>,
    /// The keys of the rows that are given; `None`: all.
    keys: Option<Vec<KeyRange>>,
}

/// Deals blocks out to readers: each block to the one that has the fewest rows by then. All readers of the same
/// sources come to the same.
struct Shares {
    ours: usize,
    rows: Vec<u64>,
}

impl Shares {
    fn new(share: Share) -> Self {
        Self { ours: share.part, rows: vec![0; share.parts.max(1)] }
    }

    /// Whether readers of so many rows get about as many each, though blocks of these rows are dealt out as they are.
    fn are_even(&self, block_rows: u32, rows: u64) -> bool {
        let readers = self.rows.len() as u64;
        readers == 1 || rows / readers > u64::from(block_rows).saturating_mul(BLOCKS_A_READER)
    }

    /// Which of the rows of a block are ours that all readers share.
    fn share(&self) -> Share {
        Share { part: self.ours, parts: self.rows.len() }
    }

    /// Our share in pieces.
    fn pieces(&self, rows: u32) -> Box<dyn Iterator<Item = Share> + Send> {
        let Share { part, parts } = self.share();
        let each = (rows as usize / parts).div_ceil(PIECE_ROWS).max(1);
        let pieces = (part * each)..(part + 1) * each;
        Box::new(pieces.map(move |part| Share { part, parts: parts * each }))
    }

    /// Whether the next block, of so many rows, is for the reader whose share this is.
    fn is_next_ours(&mut self, rows: u32) -> bool {
        let next = self.rows.iter_mut().enumerate().min_by_key(|(part, rows)| (**rows, *part));
        next.is_some_and(|(part, dealt)| {
            *dealt += u64::from(rows);
            part == self.ours
        })
    }
}

impl Batches for Unordered {
    fn next_batch(&mut self, _: usize) -> Option<Result<RecordBatch>> {
        loop {
            if let Some(batch) = self.ready.pop_front() {
                return Some(Ok(batch));
            }
            match self.step() {
                Ok(true) => {}
                Ok(false) => return None,
                Err(error) => {
                    self.seen.clear();
                    (self.parts, self.pieces) = (None, None);
                    return Some(Err(error));
                }
            }
        }
    }
}
