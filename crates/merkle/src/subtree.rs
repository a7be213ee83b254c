//! The nodes between one tile's hashes and its root.

use crate::Hash;
use crate::tile::{TILE_HEIGHT, TILE_WIDTH};

/// The hashes of one tile and all complete nodes above them, while they come one by one. It costs one
/// node a hash, whenever the tile ends.
///
/// ```
/// use timestrata_merkle::{Hash, Subtree};
///
/// let mut subtree = Subtree::default();
/// let (left, right) = (Hash::of_leaf(b"a"), Hash::of_leaf(b"b"));
/// assert!(subtree.push(left).is_none() && subtree.push(right).is_none());
/// assert_eq!(subtree.node(1, 0), Some(Hash::of_node(left, right)));
/// ```
#[derive(Debug, Clone, Default)]
pub struct Subtree {
    /// The tile's own hashes first, its root, once it is full, last.
    levels: [Vec<Hash>; TILE_HEIGHT as usize + 1],
}

/// Adds a hash to its level; the one above, if this completes it.
pub(crate) fn add(level: &mut Vec<Hash>, hash: Hash) -> Option<Hash> {
    level.push(hash);
    match level.as_slice() {
        [.., left, right] if level.len().is_multiple_of(2) => Some(Hash::of_node(*left, *right)),
        _ => None,
    }
}

impl Subtree {
    /// Adds a hash on the right; the root, if that was the last one missing.
    ///
    /// A full one stays as it is.
    pub fn push(&mut self, hash: Hash) -> Option<Hash> {
        if self.width() == TILE_WIDTH {
            return self.node(TILE_HEIGHT, 0);
        }
        let mut carried = Some(hash);
        for level in &mut self.levels {
            let Some(hash) = carried else { break };
            carried = add(level, hash);
        }
        self.node(TILE_HEIGHT, 0)
    }

    /// How many hashes the tile has.
    #[must_use]
    pub fn width(&self) -> usize {
        self.hashes().len()
    }

    /// The tile's hashes.
    #[must_use]
    pub fn hashes(&self) -> &[Hash] {
        self.at_level(0)
    }

    /// All complete nodes at a level of the tile, 0 for its hashes; none above its root.
    #[must_use]
    pub fn at_level(&self, level: u8) -> &[Hash] {
        self.levels.get(usize::from(level)).map_or(&[], Vec::as_slice)
    }

    /// A node by its level within the tile and its index at that level, if it is complete.
    #[must_use]
    pub fn node(&self, level: u8, index: usize) -> Option<Hash> {
        self.at_level(level).get(index).copied()
    }

    /// Makes it empty, and keeps its memory.
    pub fn clear(&mut self) {
        self.levels.iter_mut().for_each(Vec::clear);
    }
}

impl Extend<Hash> for Subtree {
    fn extend<I: IntoIterator<Item = Hash>>(&mut self, hashes: I) {
        for hash in hashes {
            self.push(hash);
        }
    }
}
