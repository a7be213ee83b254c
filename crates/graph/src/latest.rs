//! The latest version of every block, in memory: for writers that put blocks one by one.
//!
//! A block that is put gets the next version number of its id, so the store has to be asked which version is
//! there. Asking for a block that was just written forces the memtable to sort its rows; done for each block,
//! that costs more than the writes. So after many single puts the versions of all blocks are read once, and
//! are updated with each commit from then on.

use timestrata_engine::{Result, ScanSpec, Snapshot, StreamId};

use super::adjacency::BlockId;
use super::block::{column, ids_and_versions};
use super::hashed::{HashedId, IdMap};

/// Blocks of which versions are kept at most, at 24 to 48 bytes each.
const BLOCKS_MAX: usize = 4 << 20;
/// So many are put before versions are read for the first time...
const ASKED_MIN: usize = 16;
/// ...and only as many are read as take about as long as those that were put.
const READ_PER_ASKED: usize = 256;

/// What is known of blocks' versions.
#[derive(Debug)]
pub(super) struct LatestVersions {
    known: Option<IdMap<u32>>,
    /// Blocks that were put one by one while nothing was known.
    asked: usize,
    /// How many are to be put before versions are read.
    wanted: usize,
}

impl Default for LatestVersions {
    fn default() -> Self {
        Self { known: None, asked: 0, wanted: ASKED_MIN }
    }
}

impl LatestVersions {
    /// The version of a block, 0 of one that is not there; `None` if that is not known.
    pub(super) fn of(&self, id: BlockId) -> Option<u32> {
        Some(self.known.as_ref()?.get(&HashedId(id)).copied().unwrap_or_default())
    }

    /// Whether it is time to read the versions of all blocks.
    pub(super) fn is_due(&mut self) -> bool {
        self.asked += 1;
        self.known.is_none() && self.asked >= self.wanted
    }

    /// Reads the versions of all blocks, as the last commit has them, unless that would take longer than
    /// it is worth so far.
    pub(super) fn read(&mut self, snapshot: &Snapshot, blocks: StreamId) -> Result<()> {
        let most = self.asked.saturating_mul(READ_PER_ASKED).min(BLOCKS_MAX);
        let mut known = IdMap::default();
        let columns = Some(vec![column::ID, column::VERSION]);
        for rows in snapshot.scan(blocks, &ScanSpec { columns, ..ScanSpec::default() })? {
            let rows = rows?;
            if known.len() + rows.num_rows() > most {
                self.wanted = self.asked.saturating_mul(2);
                return Ok(());
            }
            let (ids, versions) = ids_and_versions(&rows)?;
            known.extend(
                ids.iter().map(|id| HashedId(BlockId::new(*id))).zip(versions.iter().copied()),
            );
        }
        self.known = Some(known);
        Ok(())
    }

    /// Takes over what a commit has changed: the version of each block, or that it is gone.
    pub(super) fn change(&mut self, changed: impl Iterator<Item = (BlockId, Option<u32>)>) {
        let Some(known) = &mut self.known else { return };
        for (id, version) in changed {
            match version {
                Some(version) => known.insert(HashedId(id), version),
                None => known.remove(&HashedId(id)),
            };
        }
        if known.len() > BLOCKS_MAX {
            self.forget();
        }
    }

    /// Forgets all of it: what is committed is not known any more.
    pub(super) fn forget(&mut self) {
        self.known = None;
        (self.asked, self.wanted) = (0, self.wanted.saturating_mul(2));
    }
}
