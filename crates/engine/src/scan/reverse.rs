//! Reading from the greatest key down.
//!
//! The keys are cut at block boundaries from the top; the sources are merged forward between
//! two cuts, and what comes out is turned round. A short answer cuts closer to the top. So
//! the result is the exact reverse of the forward one, and only the last blocks are read.

use std::collections::VecDeque;
use std::sync::Arc;

use arrow_array::{RecordBatch, UInt32Array};
use arrow_select::take::take;
use timestrata_format::{KeyRange, LeadKey};

use super::cursor::Cursor;
use super::merge::{Batches, Purpose, merge};
use super::plan::{ScanPlan, unfit};
use super::tail::Tail;
use super::view::Seen;
use crate::tombstones::Visible;
use crate::{Error, ErrorKind, Result};

/// Grows what is read at once, when too little came out.
const ROWS_GROWTH: usize = 4;

pub(super) struct Reverse {
    plan: Arc<ScanPlan>,
    /// Sources that may have more rows, the greatest key first.
    tails: Vec<Tail>,
    /// What is left is below this; at first all is.
    hi: Option<LeadKey>,
    /// Batches in key order, to be given from the back.
    ready: Vec<RecordBatch>,
    /// Cuts were made for so many rows and gave fewer.
    rows_tried: usize,
}

impl Reverse {
    pub(super) fn new(plan: Arc<ScanPlan>, seen: Vec<Seen>) -> Self {
        let mut tails: Vec<Tail> =
            seen.into_iter().enumerate().map(|(index, seen)| Tail::new(index, seen)).collect();
        tails.sort_by_key(|tail| std::cmp::Reverse(tail.source.key_max()));
        Self { plan, tails, hi: None, ready: Vec::new(), rows_tried: 0 }
    }

    /// Reads between the next two cuts.
    fn step(&mut self, rows_wanted: usize) -> Result<()> {
        let Some(lo) = self.cut(rows_wanted)? else {
            self.tails.clear();
            return Ok(());
        };
        if self.hi.is_some_and(|hi| hi <= lo) {
            let message = format!("keys fall within a source: {lo} is not below what follows it");
            return Err(Error::new(ErrorKind::Corruption, message));
        }
        let between = KeyRange { lo: Some(lo), hi: self.hi };
        let mut met: Vec<(&mut Tail, Visible)> = self
            .tails
            .iter_mut()
            .take_while(|tail| tail.source.key_max() >= lo)
            .map(|tail| {
                let visible = tail.visible.within(&between);
                (tail, visible)
            })
            .filter(|(tail, visible)| {
                let (min, max) = (tail.source.key_min(), tail.source.key_max());
                visible.first_overlap(min, max).is_some()
            })
            .collect();
        met.sort_by_key(|(tail, _)| tail.index);
        let cursors = met.iter_mut().map(|(tail, visible)| {
            Cursor::new(Arc::clone(&tail.source), visible.clone(), tail.spare.take())
        });
        let mut merged =
            merge(Arc::clone(&self.plan), cursors.collect(), Purpose::BatchesAndSpares)?;
        let mut batches = VecDeque::new();
        let mut rows = 0;
        while let Some(batch) = merged.next_batch(usize::MAX) {
            let batch = batch?;
            rows += batch.num_rows();
            batches.push_back(batch);
            // Only the last rows are wanted.
            while let Some(first) = batches.front()
                && rows - first.num_rows() >= rows_wanted
            {
                rows -= first.num_rows();
                batches.pop_front();
            }
        }
        for ((tail, _), spare) in met.into_iter().zip(merged.into_spares()) {
            tail.spare = spare;
        }
        self.ready = batches.into();
        self.hi = Some(lo);
        Ok(())
    }

    /// The least key to read next; `None` when nothing is left.
    fn cut(&mut self, rows_wanted: usize) -> Result<Option<LeadKey>> {
        let rows_tried = rows_wanted.max(self.rows_tried.saturating_mul(ROWS_GROWTH));
        let mut lo: Option<LeadKey> = None;
        let mut at = 0;
        while let Some(tail) = self.tails.get_mut(at)
            && lo.is_none_or(|lo| lo <= tail.source.key_max())
        {
            let Some((index, block)) = tail.last_block(self.hi)? else {
                self.tails.remove(at);
                continue;
            };
            lo = lo.max(Some(block.key_min));
            if at == 0 && rows_tried < block.rows as usize {
                self.rows_tried = rows_tried;
                match tail.key_before(&self.plan, index, self.hi, rows_tried) {
                    // All of it is left out.
                    Err(error) => self.plan.leave_out(error)?,
                    Ok(key) => lo = lo.max(key),
                }
            }
            at += 1;
        }
        Ok(lo)
    }
}

impl Batches for Reverse {
    fn next_batch(&mut self, rows_wanted: usize) -> Option<Result<RecordBatch>> {
        loop {
            if let Some(batch) = self.ready.pop() {
                return Some(turned(&self.plan, &batch, rows_wanted));
            }
            if self.tails.is_empty() {
                return None;
            }
            if let Err(error) = self.step(rows_wanted) {
                self.tails.clear();
                return Some(Err(error));
            }
        }
    }
}

/// The last rows of a batch, as many as wanted, last first.
fn turned(plan: &ScanPlan, batch: &RecordBatch, rows_wanted: usize) -> Result<RecordBatch> {
    let rows = batch.num_rows();
    let end = u32::try_from(rows).unwrap_or(u32::MAX);
    let start = u32::try_from(rows.saturating_sub(rows_wanted)).unwrap_or(u32::MAX);
    let indices = UInt32Array::from_iter_values((start..end).rev());
    let columns = batch.columns().iter();
    let columns = columns.map(|column| take(column, &indices, None).map_err(|e| unfit(&e)));
    plan.batch(columns.collect::<Result<_>>()?, indices.values().len())
}
