//! A place in one source, from the top: which block the last visible rows are in.

use std::sync::Arc;

use timestrata_format::{LeadKey, Zone};

use super::Source;
use super::cursor::LoadedBlock;
use super::plan::ScanPlan;
use super::view::Seen;
use crate::Result;
use crate::key::KeyView;
use crate::tombstones::Visible;

#[derive(Debug)]
pub(super) struct Tail {
    /// Place in the order of commits.
    pub(super) index: usize,
    pub(super) source: Arc<dyn Source>,
    pub(super) visible: Visible,
    /// The block that was read last.
    pub(super) spare: Option<LoadedBlock>,
}

impl Tail {
    pub(super) fn new(index: usize, (source, visible): Seen) -> Self {
        Self { index, source, visible, spare: None }
    }

    /// The last block that may have a visible row below `hi` (anywhere where `None`).
    pub(super) fn last_block(&self, hi: Option<LeadKey>) -> Result<Option<(usize, Zone)>> {
        let blocks = self.source.blocks()?;
        let below = |key: LeadKey| hi.is_none_or(|hi| key < hi);
        let mut end = blocks.partition_point(|block| below(block.key_min));
        while let Some(index) = end.checked_sub(1) {
            let block = blocks[index];
            // `None` where nothing is behind the block.
            let behind = block.key_max.successor();
            let behind = [behind, hi].into_iter().flatten().min();
            let Some(part) = self.visible.last_before(behind) else { return Ok(None) };
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
    pub(super) fn load(&mut self, plan: &ScanPlan, block: usize) -> Result<&LoadedBlock> {
        let loaded = match self.spare.take() {
            Some(loaded) if loaded.block == block => loaded,
            _ => LoadedBlock::read(plan, self.source.as_ref(), block)?,
        };
        Ok(self.spare.insert(loaded))
    }

    /// The key that so many rows of a block have behind it, or the least one, of those below `hi`; `None` where no row is.
    pub(super) fn key_before(
        &mut self,
        plan: &ScanPlan,
        block: usize,
        hi: Option<LeadKey>,
        rows: usize,
    ) -> Result<Option<LeadKey>> {
        let key = |keys: KeyView<'_>| {
            let end = hi.map_or(keys.len(), |hi| keys.lower_bound(hi));
            (end > 0).then(|| keys.get(end.saturating_sub(rows)))
        };
        // Of a long block the other columns are read of those rows alone that are wanted.
        if let Some(keys) = plan.keys_alone(self.source.as_ref(), block)? {
            return Ok(key(KeyView::of_column(keys.as_ref())?));
        }
        let loaded = self.load(plan, block)?;
        Ok(key(plan.keys_of(&loaded.batch)?))
    }

    /// The greatest visible key; reads a block only where the zone maps don't say.
    pub(super) fn last_key(&mut self, plan: &ScanPlan) -> Result<Option<LeadKey>> {
        let max = self.source.key_max();
        if self.visible.covers(max, max) {
            return Ok(Some(max));
        }
        let mut hi = None;
        while let Some((index, block)) = self.last_block(hi)? {
            if self.visible.covers(block.key_max, block.key_max) {
                return Ok(Some(block.key_max));
            }
            let loaded = self.load(plan, index)?.clone();
            let keys = plan.keys_of(&loaded.batch)?;
            let mut before = keys.last().and_then(LeadKey::successor);
            while let Some(part) = self.visible.last_before(before)
                && part.hi.is_none_or(|hi| block.key_min < hi)
            {
                let rows = keys.rows_in(&part);
                if !rows.is_empty() {
                    return Ok(Some(keys.get(rows.end - 1)));
                }
                // The greatest key that is left is below this part: the next one may hold it.
                let Some(last) = rows.start.checked_sub(1) else { break };
                before = keys.get(last).successor();
            }
            // None of this block is visible, so neither are its least key's rows elsewhere.
            hi = Some(block.key_min);
        }
        Ok(None)
    }
}
