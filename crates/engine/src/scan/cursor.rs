//! A place in one source: reads blocks when the merge reaches them, and shows the parts that
//! the range and the tombstones leave.
//!
//! A cursor is in one of three states. *Waiting*: [`Cursor::bound`] says that no row comes
//! before a key, and nothing of the next block has been read. *At rows*: `window` has rows
//! of `batch`. *Done*: neither. Called by the merge only.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::{BooleanArray, RecordBatch};
use timestrata_format::{KeyRange, LeadKey, Zone};

use super::plan::ScanPlan;
use super::{RowOrder, Source};
use crate::Result;
use crate::tombstones::Visible;

/// A block as read.
#[derive(Debug, Clone)]
pub(super) struct LoadedBlock {
    pub(super) block: usize,
    /// Whether it has all rows, and not only those that were wanted.
    is_whole: bool,
    pub(super) batch: RecordBatch,
    /// Delete markers, where some are to be dropped.
    pub(super) markers: Option<BooleanArray>,
}

impl LoadedBlock {
    /// All of a block.
    pub(super) fn read(plan: &ScanPlan, source: &dyn Source, block: usize) -> Result<Self> {
        Self::read_within(plan, source, block, None)
    }

    /// The rows of a block with some keys, and maybe others; `None`: all.
    fn read_within(
        plan: &ScanPlan,
        source: &dyn Source,
        block: usize,
        keys: Option<KeyRange>,
    ) -> Result<Self> {
        let batch = plan.read_block(source, block, keys, RowOrder::ByKey)?;
        let markers = plan.markers(&batch);
        Ok(Self { block, is_whole: keys.is_none(), batch, markers })
    }

    /// Rough size of one row of the columns given.
    pub(super) fn row_bytes(&self, plan: &ScanPlan) -> usize {
        let columns = plan.output_columns(&self.batch);
        let bytes = columns.map(|column| column.to_data().get_slice_memory_size().unwrap_or(0));
        bytes.sum::<usize>() / self.batch.num_rows().max(1)
    }
}

#[derive(Debug)]
pub(super) struct Cursor {
    source: Arc<dyn Source>,
    visible: Visible,
    /// The visible part that the next row is in or before, once it was asked for.
    part: Option<KeyRange>,
    /// The next block to read.
    block: usize,
    opened: bool,
    pub(super) loaded: Option<LoadedBlock>,
    /// Rows of `loaded` that come next.
    pub(super) window: Range<usize>,
    /// Rises with each block read: names `loaded`.
    pub(super) loads: u32,
    /// Where the gathering holds `loaded`: its round and index.
    pub(super) held: Option<(u64, usize)>,
    /// Keys of blocks that were left out since somebody looked.
    lost: Vec<KeyRange>,
}

impl Cursor {
    /// A cursor over the `visible` parts of a source; `spare` is a block read before.
    pub(super) fn new(
        source: Arc<dyn Source>,
        visible: Visible,
        spare: Option<LoadedBlock>,
    ) -> Self {
        Self {
            source,
            visible,
            part: None,
            block: 0,
            opened: false,
            loaded: spare,
            window: 0..0,
            loads: 0,
            held: None,
            lost: Vec::new(),
        }
    }

    /// No row to come is before this key; `None` if none comes. Reads no block, and before
    /// the first load not even the zone maps.
    pub(super) fn bound(&mut self) -> Result<Option<LeadKey>> {
        let (min, max) = match self.opened {
            false => (self.source.key_min(), self.source.key_max()),
            true => match self.next_block()? {
                Some(block) => (block.key_min, block.key_max),
                None => return Ok(None),
            },
        };
        Ok(self.visible.first_overlap(min, max))
    }

    /// The next block that may have a visible row; moves `block` and `part` to it.
    fn next_block(&mut self) -> Result<Option<Zone>> {
        let blocks = self.source.blocks()?;
        while let Some(block) = blocks.get(self.block) {
            move_to(&mut self.part, &self.visible, block.key_min);
            let Some(part) = self.part else { return Ok(None) };
            match part.lo {
                Some(lo) if block.key_max < lo => {
                    let later = &blocks[self.block..];
                    self.block += later.partition_point(|block| block.key_max < lo);
                }
                _ if block.rows == 0 => self.block += 1,
                _ => return Ok(Some(*block)),
            }
        }
        Ok(None)
    }

    /// From waiting to being at rows, if the next block has visible ones; else the next
    /// bound (or the end) is found by [`Cursor::bound`].
    pub(super) fn load(&mut self, plan: &ScanPlan) -> Result<()> {
        self.opened = true;
        self.window = 0..0;
        let Some(block) = self.next_block()? else {
            self.loaded = None;
            return Ok(());
        };
        if self.loaded.as_ref().is_none_or(|loaded| loaded.block != self.block) {
            self.loaded = None;
            let keys = self.keys_wanted();
            let read =
                |keys| LoadedBlock::read_within(plan, self.source.as_ref(), self.block, keys);
            // Of a block that turns out to be damaged the rows that are wanted may be whole.
            let loaded = read(keys).or_else(|error| match self.keys_wanted() {
                Some(wanted) if keys.is_none() => read(Some(wanted)).map_err(|_| error),
                _ => Err(error),
            });
            match loaded {
                Ok(loaded) => {
                    plan.read_ahead(&self.source, self.block + 1);
                    self.loaded = Some(loaded);
                }
                Err(error) => {
                    plan.leave_out(error)?;
                    self.lost.push(KeyRange::closed(block.key_min, block.key_max));
                    self.block += 1;
                    return Ok(());
                }
            }
        }
        self.loads += 1;
        self.held = None;
        self.block += 1;
        self.seek(plan, 0)
    }

    /// The keys of the next block that are wanted alone; `None`: all of it is read.
    fn keys_wanted(&self) -> Option<KeyRange> {
        let wanted = self.visible.range();
        self.source.leaves_out_other_keys(self.block, wanted).then_some(*wanted)
    }

    /// Keys of blocks that were left out since the last call.
    pub(super) fn take_lost(&mut self) -> Vec<KeyRange> {
        std::mem::take(&mut self.lost)
    }

    /// Shows nothing more of some keys.
    pub(super) fn hide(&mut self, plan: &ScanPlan, keys: &[KeyRange]) -> Result<()> {
        self.visible = self.visible.without(keys);
        self.part = None;
        match self.window.is_empty() {
            true => Ok(()),
            false => self.seek(plan, self.window.start),
        }
    }

    /// From the end of a window to the next one of the same block, if there is one.
    pub(super) fn advance(&mut self, plan: &ScanPlan) -> Result<()> {
        self.seek(plan, self.window.end)
    }

    /// Shows the first visible rows of the block from row `row` on.
    fn seek(&mut self, plan: &ScanPlan, mut row: usize) -> Result<()> {
        self.window = 0..0;
        let Some(loaded) = &self.loaded else { return Ok(()) };
        let keys = plan.keys_of(&loaded.batch)?;
        while row < keys.len() {
            move_to(&mut self.part, &self.visible, keys.get(row));
            let Some(part) = self.part else { return Ok(()) };
            // Mostly the part has begun before, and nothing is to be searched for.
            row = match part.lo.filter(|lo| keys.get(row) < *lo) {
                Some(lo) => keys.lower_bound(lo),
                None => row,
            };
            let end = part.hi.map_or(keys.len(), |hi| keys.lower_bound(hi));
            if row < end {
                self.window = row..end;
                return Ok(());
            }
        }
        Ok(())
    }

    /// Whether the next block can be counted unread: all of it visible, no row a marker.
    /// Its rows and its greatest key.
    pub(super) fn countable(&mut self) -> Result<Option<(usize, LeadKey)>> {
        if self.source.delete_markers() > 0 {
            return Ok(None);
        }
        let Some(block) = self.next_block()? else { return Ok(None) };
        let whole = self.part.is_some_and(|part| part.covers(block.key_min, block.key_max));
        Ok(whole.then_some((block.rows as usize, block.key_max)))
    }

    /// Goes past the block that [`Cursor::countable`] spoke of.
    pub(super) fn skip_block(&mut self) {
        self.opened = true;
        self.block += 1;
    }

    /// The least visible key; reads a block only where the zone maps don't say.
    pub(super) fn first_key(&mut self, plan: &ScanPlan) -> Result<Option<LeadKey>> {
        let min = self.source.key_min();
        if self.visible.covers(min, min) {
            return Ok(Some(min));
        }
        self.opened = true;
        while let Some(block) = self.next_block()? {
            if self.visible.covers(block.key_min, block.key_min) {
                return Ok(Some(block.key_min));
            }
            self.load(plan)?;
            if let Some(loaded) = &self.loaded
                && !self.window.is_empty()
            {
                let keys = plan.keys_of(&loaded.batch)?;
                return Ok(Some(keys.get(self.window.start)));
            }
        }
        Ok(None)
    }

    /// The block that was read last, for a later cursor.
    pub(super) fn into_spare(self) -> Option<LoadedBlock> {
        self.loaded.filter(|loaded| loaded.is_whole)
    }
}

/// From a visible part to the first one that ends after `key`, which is not before the key that it
/// was moved to last.
#[inline]
fn move_to(part: &mut Option<KeyRange>, visible: &Visible, key: LeadKey) {
    let is_there = |part: KeyRange| part.hi.is_none_or(|hi| key < hi);
    if !part.is_some_and(is_there) {
        *part = visible.from(Some(key));
    }
}
