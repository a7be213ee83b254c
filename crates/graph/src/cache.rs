//! A cache of blocks that were read lately, kept in step with commits.
//!
//! A block is kept from when it is read until it is changed or crowded out, with the snapshot that it
//! was read at: it is what each later one has, as long as it is kept. What is to be changed is thrown
//! out before the commit, and nothing is taken in again until that is over.

use std::sync::OnceLock;

use quick_cache::sync::{Cache, DefaultLifecycle};
use quick_cache::{OptionsBuilder, Weighter};
use timestrata_engine::SeqNo;
use timestrata_io::sync::Mutex;

use super::adjacency::BlockId;
use super::block::Block;
use super::hashed::{HashedId, Spread};

/// What the blocks of a graph take in memory at most.
const BYTES_MAX: u64 = 64 << 20;
/// A block is about this, which sizes the cache's tables.
const BLOCK_BYTES_TYPICAL: u64 = 2 << 10;
/// Contents that are longer are not copied into memory: they are read where they lie.
const CONTENT_BYTES_MAX: usize = 32 << 10;
/// What a block takes besides its parts.
const BYTES_BESIDES: usize = 160;
const SHARDS: usize = 8;

type Blocks = Cache<HashedId, CachedBlock, Weight, Spread>;

/// The blocks of a graph that are in memory.
#[derive(Debug)]
pub(super) struct BlockCache {
    /// Made when the first block comes.
    blocks: OnceLock<Blocks>,
    /// The last commit that may have changed blocks; `None` while one goes on, or if it is not known how
    /// the last one ended. Held by who takes a block in, so that none is taken in that has changed.
    changed: Mutex<Option<SeqNo>>,
}

#[derive(Debug, Clone)]
struct CachedBlock {
    block: Block,
    read_at: SeqNo,
}

impl BlockCache {
    /// None, of a graph that was opened when this was the last commit.
    pub(super) fn new(opened_at: SeqNo) -> Self {
        Self { blocks: OnceLock::new(), changed: Mutex::new(Some(opened_at)) }
    }

    /// The block of an id as a snapshot has it, if it is in memory. One who `follows` isn't told of
    /// commits, and so knows of no snapshot but the one at which it was read.
    #[inline]
    pub(super) fn get(&self, id: BlockId, snapshot: SeqNo, follows: bool) -> Option<Block> {
        let kept = self.blocks.get()?.get(&HashedId(id))?;
        let is_same = if follows { kept.read_at == snapshot } else { kept.read_at <= snapshot };
        is_same.then_some(kept.block)
    }

    /// Takes in a block that was read at a snapshot, if it may be kept, and gives it back.
    pub(super) fn keep(&self, mut block: Block, snapshot: SeqNo, follows: bool) -> Block {
        if block.content().len() > CONTENT_BYTES_MAX {
            return block;
        }
        let changed = self.changed.lock();
        if !follows && changed.is_none_or(|changed| snapshot < changed) {
            return block;
        }
        if let Some(blocks) = self.blocks.get().or_else(|| self.first()) {
            // What lies in a file would keep all of the file's blocks on the disk.
            block.own_content();
            blocks.insert(
                HashedId(block.id()),
                CachedBlock { block: block.clone(), read_at: snapshot },
            );
        }
        drop(changed);
        block
    }

    fn first(&self) -> Option<&Blocks> {
        let items = usize::try_from(BYTES_MAX / BLOCK_BYTES_TYPICAL).ok()?;
        let mut options = OptionsBuilder::new();
        options.shards(SHARDS).estimated_items_capacity(items).weight_capacity(BYTES_MAX);
        let options = options.build().ok()?;
        Some(self.blocks.get_or_init(|| {
            Cache::with_options(options, Weight, Spread::default(), DefaultLifecycle::default())
        }))
    }

    /// Throws out blocks that are to be changed. Nothing is taken in until it is told that they were.
    pub(super) fn begin_change(&self, ids: impl IntoIterator<Item = BlockId>) {
        *self.changed.lock() = None;
        let Some(blocks) = self.blocks.get() else { return };
        for id in ids {
            blocks.remove(&HashedId(id));
        }
    }

    /// The blocks were changed by this commit.
    pub(super) fn end_change(&self, seq: SeqNo) {
        *self.changed.lock() = Some(seq);
    }
}

/// Weighs blocks by the memory that they take.
#[derive(Debug, Clone)]
struct Weight;

impl Weighter<HashedId, CachedBlock> for Weight {
    fn weight(&self, _: &HashedId, kept: &CachedBlock) -> u64 {
        (kept.block.bytes() + BYTES_BESIDES) as u64
    }
}
