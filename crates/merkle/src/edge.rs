//! The right edge of a growing tree: its partial tiles, which is all that appending needs.

use crate::geometry::Place;
use crate::tile::{TILE_HEIGHT, TILE_WIDTH, Tile, TileKind};
use crate::{Hash, Nodes, ProofError, Subtree, root_of};

/// The partial tiles of a tree. Tiles that get full are handed to whoever keeps them.
///
/// ```
/// use timestrata_merkle::{Edge, Hash, Tree};
///
/// let (mut edge, mut tree, mut full) = (Edge::default(), Tree::new(), 0);
/// for entry in 0..300_u32 {
///     let leaf = Hash::of_leaf(&entry.to_be_bytes());
///     tree.append(leaf);
///     edge.append(leaf, |_, _, _| full += 1);
/// }
/// // One tile is full, and 44 hashes are in the next one.
/// assert_eq!((full, edge.tile(0).len(), edge.root()), (1, 44, tree.root()));
/// ```
#[derive(Debug, Clone, Default)]
pub struct Edge {
    size: u64,
    /// The partial tile of each level.
    levels: Vec<Subtree>,
}

impl Edge {
    /// The edge of a tree of `size` leaves, from the hashes of its partial tiles, lowest level first.
    /// `None` where these have other widths than the size says.
    #[must_use]
    pub fn restore(size: u64, tiles: impl IntoIterator<Item = Vec<Hash>>) -> Option<Self> {
        let mut levels = Vec::new();
        for hashes in tiles {
            let mut subtree = Subtree::default();
            subtree.extend(hashes);
            levels.push(subtree);
        }
        let edge = Self { size, levels };
        edge.fits().then_some(edge)
    }

    /// Whether each level has as many hashes as the size asks for.
    fn fits(&self) -> bool {
        let mut left = self.size;
        let each = self.levels.iter().all(|subtree| {
            let width = left % TILE_WIDTH as u64;
            left /= TILE_WIDTH as u64;
            subtree.width() as u64 == width
        });
        each && left == 0
    }

    /// How many leaves the tree has.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Adds a leaf. `full` gets each tile that this fills, lowest first, and the roots of those before it
    /// that the partial tile above has.
    pub fn append(&mut self, leaf: Hash, mut full: impl FnMut(Tile, &Subtree, &[Hash])) {
        self.size = self.size.saturating_add(1);
        let mut carried = Some(leaf);
        let mut level = 0;
        while let Some(hash) = carried.take() {
            let place = usize::from(level);
            if self.levels.len() <= place {
                self.levels.push(Subtree::default());
            }
            let Some([subtree, above @ ..]) = self.levels.get_mut(place..) else { return };
            if let Some(root) = subtree.push(hash) {
                let leaves = u32::from(level + 1) * u32::from(TILE_HEIGHT);
                let index = (self.size.checked_shr(leaves).unwrap_or(0)).saturating_sub(1);
                let tile = Tile { kind: TileKind::Hashes(level), index, width: TILE_WIDTH };
                full(tile, subtree, above.first().map_or(&[], Subtree::hashes));
                subtree.clear();
                carried = Some(root);
            }
            level += 1;
        }
    }

    /// The partial tile of a level, empty where there is none.
    #[must_use]
    pub fn tile(&self, level: u8) -> &[Hash] {
        self.levels.get(usize::from(level)).map_or(&[], Subtree::hashes)
    }

    /// How many levels of tiles the tree has.
    #[must_use]
    pub fn levels(&self) -> usize {
        self.levels.len()
    }

    /// The root of the tree.
    #[must_use]
    pub fn root(&self) -> Hash {
        // The complete subtrees that the tree falls into lie in its partial tiles, all of them.
        root_of(self.size, self).unwrap_or_else(|_| Hash::of_empty_tree())
    }

    /// The hash of a complete subtree that lies in a partial tile.
    #[must_use]
    pub fn node(&self, place: Place) -> Option<Hash> {
        let (tile, level, index) = Tile::around(place);
        let TileKind::Hashes(tile_level) = tile.kind else { return None };
        let shift = u32::from(tile_level + 1) * u32::from(TILE_HEIGHT);
        let current = self.size.checked_shr(shift).unwrap_or(0);
        let subtree = self.levels.get(usize::from(tile_level))?;
        (tile.index == current).then(|| subtree.node(level, index)).flatten()
    }
}

impl Nodes for Edge {
    type Error = ProofError;

    fn node(&self, place: Place) -> Result<Hash, ProofError> {
        let missing = ProofError::Missing { first: place.first(), leaves: place.leaves() };
        Self::node(self, place).ok_or(missing)
    }
}
