//! The hash tree of a partition: roots and proofs, from stored tiles and the edge in memory.

use std::cell::RefCell;
use std::rc::Rc;

use timestrata_engine::{Error, ErrorKind, Result, Snapshot, Store};
use timestrata_merkle::{
    Edge, Hash, Nodes, Place, ProofError, Subtree, TILE_HEIGHT, Tile, consistency_proof,
    inclusion_proof, root_of,
};

use super::partition::{LivePartition, Partition};
use super::tiles::StoredTile;

/// An engine's error, or one about a proof's numbers.
pub(super) struct TreeError(pub(super) Error);

impl From<ProofError> for TreeError {
    fn from(error: ProofError) -> Self {
        let kind = match error {
            ProofError::Missing { .. } => ErrorKind::Corruption,
            _ => ErrorKind::InvalidArgument,
        };
        Self(Error::new(kind, error.to_string()))
    }
}

impl From<Error> for TreeError {
    fn from(error: Error) -> Self {
        Self(error)
    }
}

/// The right edge of a tree.
enum Right<'a> {
    /// As it is while nobody appends to the partition.
    Live(LivePartition<'a>),
    /// As it was: for long work, which nobody is to wait for.
    Copy(Edge),
}

/// The tree of a partition.
pub(super) struct PartitionTree<'a> {
    partition: &'a Partition,
    right: Right<'a>,
    snapshot: Snapshot,
    /// The tile that was read last: the nodes of a proof lie side by side.
    last: RefCell<Option<(u8, u64, Rc<StoredTile>)>>,
}

impl<'a> PartitionTree<'a> {
    pub(super) fn lock(partition: &'a Partition, store: &Store) -> Result<Self> {
        let live = partition.lock(store)?;
        let snapshot = store.snapshot_of(partition.tiles)?;
        Ok(Self { partition, right: Right::Live(live), snapshot, last: RefCell::new(None) })
    }

    /// The tree as it is now, whatever is appended later.
    pub(super) fn copy(partition: &'a Partition, store: &Store) -> Result<Self> {
        let live = partition.lock(store)?;
        let snapshot = store.snapshot_of(partition.tiles)?;
        let right = Right::Copy(live.edge());
        Ok(Self { partition, right, snapshot, last: RefCell::new(None) })
    }

    /// The hash of a complete subtree.
    pub(super) fn hash_at(&self, place: Place) -> Result<Hash> {
        self.node(place).map_err(|TreeError(error)| error)
    }

    /// How many leaves it has.
    pub(super) fn size(&self) -> u64 {
        match &self.right {
            Right::Live(live) => live.end(),
            Right::Copy(edge) => edge.size(),
        }
    }

    fn check(&self, size: u64) -> Result<()> {
        let (partition, records) = (self.partition, self.size());
        if size <= records {
            return Ok(());
        }
        let what = format!("{partition} has {records} records; there is no tree of {size}");
        Err(Error::new(ErrorKind::OutOfRange, what))
    }

    /// The root of the first `size` records.
    pub(super) fn root(&self, size: u64) -> Result<Hash> {
        self.check(size)?;
        root_of(size, self).map_err(|TreeError(error)| error)
    }

    pub(super) fn inclusion_proof(&self, offset: u64, size: u64) -> Result<Vec<Hash>> {
        self.check(size)?;
        inclusion_proof(offset, size, self).map_err(|TreeError(error)| error)
    }

    pub(super) fn consistency_proof(&self, old: u64, new: u64) -> Result<Vec<Hash>> {
        self.check(new)?;
        consistency_proof(old, new, self).map_err(|TreeError(error)| error)
    }

    /// The hashes of a full tile.
    pub(super) fn tile(&self, level: u8, index: u64) -> Result<Vec<Hash>> {
        self.stored(level, index)?.hashes()
    }

    /// Whether the stored tile is what these hashes make, with these roots before it.
    pub(super) fn has_stored(
        &self,
        level: u8,
        index: u64,
        subtree: &Subtree,
        roots: &[Hash],
    ) -> Result<bool> {
        self.stored(level, index)?.is_of(subtree, roots)
    }

    fn stored(&self, level: u8, index: u64) -> Result<Rc<StoredTile>> {
        let mut last = self.last.borrow_mut();
        if let Some((of_level, of_index, tile)) = &*last
            && (*of_level, *of_index) == (level, index)
        {
            return Ok(Rc::clone(tile));
        }
        let tile = self.partition.tiles_in(&self.snapshot).find(level, index)?;
        let tile = Rc::new(tile.ok_or_else(|| self.partition.lacks(level, index))?);
        *last = Some((level, index, Rc::clone(&tile)));
        Ok(tile)
    }
}

impl Nodes for PartitionTree<'_> {
    type Error = TreeError;

    fn node(&self, place: Place) -> std::result::Result<Hash, TreeError> {
        let right = match &self.right {
            Right::Live(live) => live.node(place),
            Right::Copy(edge) => edge.node(place),
        };
        if let Some(hash) = right {
            return Ok(hash);
        }
        let (tile, inside, index) = Tile::around(place);
        Ok(self.stored(place.level / TILE_HEIGHT, tile.index)?.node(inside, index)?)
    }
}
