//! A place in one source, from the top: which block the last visible rows are in.

use std::sync::Arc;

use timestrata_format::{KeyRange, LeadKey};

use super::cursor::Loaded;
use super::plan::Plan;
use super::view::Seen;
use super::{Block, Source, tombstone};
use crate::Result;
use crate::key::KeyView;

#[derive(Debug)]
pub(super) struct Tail {
    /// Place in the order of commits.
    pub(super) index: usize,
    pub(super) source: Arc<dyn Source>,
    /// What may be seen: disjoint, ascending, none empty.
    pub(super) visible: Vec<KeyRange>,
    /// The block that was read last.
    pub(super) spare: Option<Loaded>,
}

impl Tail {
    pub(super) fn new(index: usize, (source, visible): Seen) -> Self {
        Self { index, source, visible, spare: None }
    }

    /// The last block that may have a visible row below `hi` (anywhere where `None`).
    pub(super) fn last_block(&self, hi: Option<LeadKey>) -> Result<Option<(usize, Block)>> {
        let blocks = self.source.blocks()?;
        let below = |key: LeadKey| hi.is_none_or(|hi| key < hi);
        let mut end = blocks.partition_point(|block| below(block.key_min));
        while let Some(index) = end.checked_sub(1) {
            let block = blocks[index];
            let begun = self
                .visible
                .partition_point(|part| part.lo.is_none_or(|lo| lo <= block.key_max && below(lo)));
            let Some(part) = begun.checked_sub(1).map(|part| self.visible[part]) else {
                return Ok(None);
            };
            end = match part.hi {
                _ if block.rows == 0 => index,
                Some(hi) if hi <= block.key_min => {
                    blocks[..index].partition_point(|block| block.key_min < hi)
                }
                _ => return Ok(Some((index, block))),
            };
        }
        Ok(None)
    }

    /// Reads a block, unless it was the last one read.
    pub(super) fn load(&mut self, plan: &Plan, block: usize) -> Result<&Loaded> {
        let loaded = match self.spare.take() {
            Some(loaded) if loaded.block == block => loaded,
            _ => Loaded::read(plan, self.source.as_ref(), block)?,
        };
        Ok(self.spare.insert(loaded))
    }

    /// The greatest visible key; reads a block only where the zone maps don't say.
    pub(super) fn last_key(&mut self, plan: &Plan) -> Result<Option<LeadKey>> {
        let max = self.source.key_max();
        if tombstone::covered(&self.visible, max, max) {
            return Ok(Some(max));
        }
        let mut hi = None;
        while let Some((index, block)) = self.last_block(hi)? {
            if tombstone::covered(&self.visible, block.key_max, block.key_max) {
                return Ok(Some(block.key_max));
            }
            let loaded = self.load(plan, index)?.clone();
            let keys = KeyView::of_column(loaded.batch.column(plan.lead).as_ref())?;
            let first = tombstone::first_ending_after(&self.visible, block.key_min);
            let rows = self.visible[first..].iter().rev().map(|part| keys.rows_in(part));
            if let Some(rows) = rows.into_iter().find(|rows| !rows.is_empty()) {
                return Ok(Some(keys.get(rows.end - 1)));
            }
            // None of this block is visible, so neither are its least key's rows elsewhere.
            hi = Some(block.key_min);
        }
        Ok(None)
    }
}
