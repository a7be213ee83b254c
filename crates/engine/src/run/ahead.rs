//! Blocks of a run that a thread decodes before somebody asks for them. Called by the reader.
//!
//! Who reads a block that is being decoded waits for it, which never takes longer than to decode it once more:
//!
//! ```text
//!   reader    [ block 4 ]  rows of it ........  [ 5: waits ]  rows of it ........  [ 6: is there ]
//!   thread                 [ block 5 ...................... ]  [ block 6 ... ]
//! ```

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use timestrata_io::sync::{Condvar, Mutex};

use super::reader::{Content, RunReader};
use crate::scan::{DecodesAhead, RowOrder, ViewedColumns};

/// No block has this number.
const NONE: usize = usize::MAX;

/// The blocks of one run that are decoded just now.
#[derive(Debug)]
pub(super) struct BlocksAhead {
    /// The one that was asked for last: whoever takes many rows in small steps asks for it at each.
    last: AtomicUsize,
    /// How many there are, for who mostly has to wait for none.
    count: AtomicUsize,
    blocks: Mutex<Vec<usize>>,
    changed: Condvar,
}

impl Default for BlocksAhead {
    fn default() -> Self {
        Self {
            last: AtomicUsize::new(NONE),
            count: AtomicUsize::new(0),
            blocks: Mutex::default(),
            changed: Condvar::new(),
        }
    }
}

impl BlocksAhead {
    /// Whether a block was asked for last, by whoever it was.
    pub(super) fn is_last(&self, block: usize) -> bool {
        self.last.load(Ordering::Relaxed) == block
    }

    /// Notes that a block is going to be decoded; false where it is so already.
    pub(super) fn begin(&self, block: usize) -> bool {
        self.last.store(block, Ordering::Relaxed);
        let mut blocks = self.blocks.lock();
        let is_new = !blocks.contains(&block);
        if is_new {
            blocks.push(block);
            self.count.store(blocks.len(), Ordering::Release);
        }
        is_new
    }

    /// Notes that it has been, or won't be.
    pub(super) fn end(&self, block: usize) {
        let mut blocks = self.blocks.lock();
        blocks.retain(|begun| *begun != block);
        self.count.store(blocks.len(), Ordering::Release);
        drop(blocks);
        self.changed.notify_all();
    }

    /// Waits while a block is being decoded.
    pub(super) fn wait_for(&self, block: usize) {
        if self.count.load(Ordering::Acquire) == 0 {
            return;
        }
        let mut blocks = self.blocks.lock();
        while blocks.contains(&block) {
            self.changed.wait(&mut blocks);
        }
    }
}

/// A block that is going to be decoded. It isn't any more once this is gone, whatever became of it.
struct BlockAhead {
    reader: Arc<RunReader>,
    block: usize,
    columns: Vec<usize>,
}

impl BlockAhead {
    fn decode(self) {
        let wanted = ViewedColumns::plain(self.columns.clone());
        // Whoever asks for the block finds what is wrong with it.
        let _ = self.reader.read_now(self.block, &wanted, None, RowOrder::ByKey);
    }
}

impl Drop for BlockAhead {
    fn drop(&mut self) {
        self.reader.ahead().end(self.block);
    }
}

/// As [`Source::ahead`](crate::scan::Source::ahead).
pub(super) fn of_block(
    reader: Arc<RunReader>,
    block: usize,
    columns: &[usize],
) -> Option<DecodesAhead> {
    if reader.ahead().is_last(block) {
        return None;
    }
    // Who asks has read a block of the run: it is open.
    let opened = reader.opened().ok()?;
    let (Content::Cold(cold), Some(zone)) = (&opened.content, opened.zones.get(block)) else {
        return None;
    };
    let wanted = ViewedColumns::plain(columns.to_vec());
    let is_kept = cold.is_kept(block, &wanted, u64::from(zone.rows));
    if !is_kept || cold.has_cached((block, zone), &wanted) || !reader.ahead().begin(block) {
        return None;
    }
    let block = BlockAhead { reader, block, columns: columns.to_vec() };
    Some(Box::new(move || block.decode()))
}
