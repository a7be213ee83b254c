//! Pieces of many blocks, put together into batches.
//!
//! Long pieces leave as slices of their block; short ones are gathered and copied together.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

use arrow_array::{Array, ArrayRef, BooleanArray, RecordBatch};
use arrow_schema::ArrowError;
use arrow_select::concat::concat;
use arrow_select::interleave::interleave;

use super::copy::{Piece, copy_pieces};
use super::cursor::LoadedBlock;
use super::plan::{ScanPlan, unfit};
use crate::{Error, ErrorKind, Result};

/// A piece of at least this many rows leaves as a slice...
pub(super) const SLICE_ROWS_MIN: usize = 1_024;
/// ...but if short pieces wait before it, only from this many on: else a late row here and
/// there would cut the answer into crumbs.
const SLICE_ROWS_MIN_BEHIND: usize = 4_096;
/// A slice has at most this many, or as many as the stream's own blocks.
const SLICE_ROWS_MAX: usize = 65_536;
/// Pieces of so many rows are put together as a whole.
const LONG_PIECE_ROWS: usize = 8;
/// A gathered batch has about this many...
const GATHER_ROWS: usize = 8_192;
/// ...and about this many bytes, whichever is less.
const GATHER_BYTES: usize = 16 << 20;

/// Where the merge's rows go.
#[derive(Debug)]
pub(super) struct BatchBuilder {
    plan: Arc<ScanPlan>,
    /// Blocks that pieces are of.
    held: Vec<RecordBatch>,
    /// Rises whenever `held` is emptied.
    pub(super) round: u64,
    pieces: Vec<Piece>,
    rows: usize,
    /// Rows at which the pieces are put together.
    rows_full: usize,
    ready: VecDeque<RecordBatch>,
    /// Count rows instead of keeping them.
    pub(super) counting: bool,
    /// All rows that came.
    pub(super) count: u64,
}

impl BatchBuilder {
    pub(super) fn new(plan: Arc<ScanPlan>, counting: bool) -> Self {
        Self {
            plan,
            held: Vec::new(),
            round: 0,
            pieces: Vec::new(),
            rows: 0,
            rows_full: GATHER_ROWS,
            ready: VecDeque::new(),
            counting,
            count: 0,
        }
    }

    pub(super) fn pop(&mut self) -> Option<RecordBatch> {
        self.ready.pop_front()
    }

    /// Whether there are rows enough for a batch.
    #[inline]
    pub(super) fn is_full(&self, rows_wanted: usize) -> bool {
        self.rows >= self.rows_full.min(rows_wanted)
    }

    /// Whether rows wait to be put together.
    pub(super) fn has_rows(&self) -> bool {
        self.rows > 0
    }

    /// Rows that are missing for a batch.
    pub(super) fn room(&self, rows_wanted: usize) -> usize {
        self.rows_full.min(rows_wanted).saturating_sub(self.rows)
    }

    /// Whether a batch waits to be taken or put together.
    #[inline]
    pub(super) fn must_stop(&self, rows_wanted: usize) -> bool {
        !self.ready.is_empty() || self.is_full(rows_wanted)
    }

    /// Forgets everything.
    pub(super) fn clear(&mut self) {
        self.held.clear();
        self.pieces.clear();
        self.ready.clear();
    }

    /// Takes rows of a block, without those that `markers` says are deleted. `held` is where
    /// the block was held the last time.
    #[inline]
    pub(super) fn push(
        &mut self,
        loaded: &LoadedBlock,
        held: &mut Option<(u64, usize)>,
        rows: Range<usize>,
    ) -> Result<()> {
        match &loaded.markers {
            None => self.push_piece(loaded, held, rows),
            Some(markers) => self.push_unmarked(loaded, markers, held, rows),
        }
    }

    #[cold]
    fn push_unmarked(
        &mut self,
        loaded: &LoadedBlock,
        markers: &BooleanArray,
        held: &mut Option<(u64, usize)>,
        rows: Range<usize>,
    ) -> Result<()> {
        let bits = markers.values().slice(rows.start, rows.len());
        let mut kept_from = 0;
        for (deleted_from, deleted_to) in bits.set_slices() {
            if kept_from < deleted_from {
                let kept = rows.start + kept_from..rows.start + deleted_from;
                self.push_piece(loaded, held, kept)?;
            }
            kept_from = deleted_to;
        }
        if kept_from < rows.len() {
            self.push_piece(loaded, held, rows.start + kept_from..rows.end)?;
        }
        Ok(())
    }

    #[inline]
    fn push_piece(
        &mut self,
        loaded: &LoadedBlock,
        held: &mut Option<(u64, usize)>,
        rows: Range<usize>,
    ) -> Result<()> {
        self.count += rows.len() as u64;
        if self.counting {
            return Ok(());
        }
        let slice_min = match self.pieces.is_empty() {
            true => SLICE_ROWS_MIN,
            false => SLICE_ROWS_MIN_BEHIND,
        };
        if rows.len() >= slice_min {
            self.flush()?;
            return self.push_slices(&loaded.batch, rows);
        }
        let held = self.index_of(loaded, held);
        self.rows += rows.len();
        add_piece(&mut self.pieces, Piece { held, start: rows.start, rows: rows.len() });
        Ok(())
    }

    /// Place of a block among those held.
    #[inline]
    pub(super) fn index_of(
        &mut self,
        loaded: &LoadedBlock,
        held: &mut Option<(u64, usize)>,
    ) -> usize {
        match *held {
            Some((round, index)) if round == self.round => index,
            _ => self.hold(loaded, held),
        }
    }

    /// The pieces that wait to be copied, for a loop that adds many of held blocks; they must
    /// be given back. Not to be used for counting.
    pub(super) fn lend_pieces(&mut self) -> Vec<Piece> {
        std::mem::take(&mut self.pieces)
    }

    /// Takes the pieces back, `rows` more than were lent.
    pub(super) fn take_back(&mut self, pieces: Vec<Piece>, rows: usize) {
        self.pieces = pieces;
        self.rows += rows;
        self.count += rows as u64;
    }

    #[cold]
    fn hold(&mut self, loaded: &LoadedBlock, held: &mut Option<(u64, usize)>) -> usize {
        let row_bytes = loaded.row_bytes(&self.plan).max(1);
        self.rows_full = self.rows_full.min(GATHER_BYTES / row_bytes).max(1);
        self.held.push(loaded.batch.clone());
        *held = Some((self.round, self.held.len() - 1));
        self.held.len() - 1
    }

    fn push_slices(&mut self, batch: &RecordBatch, rows: Range<usize>) -> Result<()> {
        let mut start = rows.start;
        let rows_max = self.plan.stream.block_rows().unwrap_or(0).max(SLICE_ROWS_MAX);
        while start < rows.end {
            let len = (rows.end - start).min(rows_max);
            let columns = self.plan.output_columns(batch);
            let columns = match len == batch.num_rows() {
                true => columns.cloned().collect(),
                false => columns.map(|column| column.slice(start, len)).collect(),
            };
            self.ready.push_back(self.plan.batch(columns, len)?);
            start += len;
        }
        Ok(())
    }

    /// Puts the pieces together.
    pub(super) fn flush(&mut self) -> Result<()> {
        let pieces = std::mem::take(&mut self.pieces);
        let held = std::mem::take(&mut self.held);
        match pieces.as_slice() {
            [] => {}
            [piece] => {
                self.push_slices(&held[piece.held], piece.start..piece.start + piece.rows)?;
            }
            _ => self.copy(&held, &pieces)?,
        }
        self.pieces = pieces;
        self.pieces.clear();
        self.held = held;
        self.held.clear();
        self.rows = 0;
        self.rows_full = GATHER_ROWS;
        self.round += 1;
        Ok(())
    }

    /// Copies pieces into one batch; into several where a column's 32-bit offsets run over.
    fn copy(&mut self, held: &[RecordBatch], pieces: &[Piece]) -> Result<()> {
        let rows = pieces.iter().map(|piece| piece.rows).sum();
        let mut indices = Vec::new();
        let mut columns: Vec<ArrayRef> = Vec::with_capacity(self.plan.output_len());
        for index in 0..self.plan.output_len() {
            let arrays: Vec<&dyn Array> =
                held.iter().map(|batch| self.plan.output_column(batch, index).as_ref()).collect();
            let copied = match copy_pieces(&arrays, pieces, rows) {
                // Row by row takes longer, unless pieces have hardly more than one.
                Ok(None) if pieces.len().saturating_mul(LONG_PIECE_ROWS) <= rows => {
                    let slices = pieces.iter().filter_map(|piece| {
                        Some(arrays.get(piece.held)?.slice(piece.start, piece.rows))
                    });
                    let slices: Vec<ArrayRef> = slices.collect();
                    concat(&slices.iter().map(AsRef::as_ref).collect::<Vec<_>>())
                }
                Ok(None) => {
                    if indices.is_empty() {
                        indices = rows_of(pieces);
                    }
                    interleave(&arrays, &indices)
                }
                Ok(Some(column)) => Ok(column),
                Err(error) => Err(error),
            };
            match copied {
                Ok(column) => columns.push(column),
                Err(ArrowError::OffsetOverflowError(_)) if pieces.len() > 1 => {
                    let (front, back) = pieces.split_at(pieces.len() / 2);
                    self.copy(held, front)?;
                    return self.copy(held, back);
                }
                Err(error @ ArrowError::OffsetOverflowError(_)) => {
                    let message = "rows are too large for one batch; use 64-bit offsets";
                    return Err(Error::new(ErrorKind::TooLarge, message).caused_by(error));
                }
                Err(error) => return Err(unfit(&error)),
            }
        }
        self.ready.push_back(self.plan.batch(columns, rows)?);
        Ok(())
    }
}

/// Adds a piece behind others, one of which it may go on.
#[inline]
pub(super) fn add_piece(pieces: &mut Vec<Piece>, piece: Piece) {
    match pieces.last_mut() {
        Some(last) if last.held == piece.held && last.start + last.rows == piece.start => {
            last.rows += piece.rows;
        }
        _ => pieces.push(piece),
    }
}

/// Each row of the pieces, as block and row.
fn rows_of(pieces: &[Piece]) -> Vec<(usize, usize)> {
    let rows = |piece: &Piece| {
        let held = piece.held;
        (piece.start..piece.start + piece.rows).map(move |row| (held, row))
    };
    pieces.iter().flat_map(rows).collect()
}
