//! A whole tree in memory: for small logs, and to check large ones by.

use crate::geometry::Place;
use crate::proof::{Nodes, consistency_proof, inclusion_proof, root_of};
use crate::subtree::add;
use crate::{Hash, ProofError};

/// All complete nodes of a tree, 64 bytes a leaf.
///
/// ```
/// use timestrata_merkle::{Hash, Tree};
///
/// let mut tree = Tree::new();
/// tree.append(Hash::of_leaf(b"first"));
/// let before = tree.root();
/// tree.append(Hash::of_leaf(b"second"));
/// assert_eq!((tree.size(), tree.root_at(1)?), (2, before));
/// # Ok::<(), timestrata_merkle::ProofError>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct Tree {
    /// Leaves first.
    levels: Vec<Vec<Hash>>,
}

impl Tree {
    /// A tree without leaves.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a leaf on the right.
    pub fn append(&mut self, leaf: Hash) {
        let mut carried = Some(leaf);
        let mut level = 0;
        while let Some(hash) = carried {
            if self.levels.len() <= level {
                self.levels.push(Vec::new());
            }
            let Some(nodes) = self.levels.get_mut(level) else { return };
            carried = add(nodes, hash);
            level += 1;
        }
    }

    /// How many leaves it has.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.levels.first().map_or(0, |leaves| leaves.len() as u64)
    }

    /// The root of all leaves.
    #[must_use]
    pub fn root(&self) -> Hash {
        self.root_at(self.size()).unwrap_or_else(|_| Hash::of_empty_tree())
    }

    /// The root when it had `size` leaves.
    ///
    /// # Errors
    /// For more leaves than there are.
    pub fn root_at(&self, size: u64) -> Result<Hash, ProofError> {
        root_of(size, self)
    }

    /// See [`inclusion_proof`].
    ///
    /// # Errors
    /// For a leaf that the tree of that size doesn't have, and for more leaves than there are.
    pub fn inclusion_proof(&self, index: u64, size: u64) -> Result<Vec<Hash>, ProofError> {
        inclusion_proof(index, size, self)
    }

    /// See [`consistency_proof`].
    ///
    /// # Errors
    /// Where the old tree is empty or larger, and for more leaves than there are.
    pub fn consistency_proof(&self, old: u64, new: u64) -> Result<Vec<Hash>, ProofError> {
        consistency_proof(old, new, self)
    }
}

impl Nodes for Tree {
    type Error = ProofError;

    fn node(&self, place: Place) -> Result<Hash, ProofError> {
        let nodes = self.levels.get(usize::from(place.level));
        let index = usize::try_from(place.index).ok();
        let found = nodes.zip(index).and_then(|(nodes, index)| nodes.get(index)).copied();
        found.ok_or(ProofError::Missing { first: place.first(), leaves: place.leaves() })
    }
}
