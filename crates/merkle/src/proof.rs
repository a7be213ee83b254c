//! Proofs of RFC 9162, sections 2.1.3 and 2.1.4 (the same as RFC 6962's): made from the hashes of
//! complete subtrees, and verified from nothing but the proof.

use std::ops::Range;

use crate::geometry::{Place, peaks, split};
use crate::{Hash, ProofError};

/// Where the hashes of complete subtrees come from.
///
/// ```
/// use timestrata_merkle::{Hash, Nodes, Place, ProofError, root_of};
///
/// /// A tree of two leaves.
/// struct Two([Hash; 2]);
///
/// impl Nodes for Two {
///     type Error = ProofError;
///
///     fn node(&self, place: Place) -> Result<Hash, ProofError> {
///         Ok(match place.level {
///             0 => self.0[place.index as usize],
///             _ => Hash::of_node(self.0[0], self.0[1]),
///         })
///     }
/// }
///
/// let (a, b) = (Hash::of_leaf(b"a"), Hash::of_leaf(b"b"));
/// assert_eq!(root_of(2, &Two([a, b]))?, Hash::of_node(a, b));
/// # Ok::<(), timestrata_merkle::ProofError>(())
/// ```
pub trait Nodes {
    /// What can go wrong while they are fetched.
    type Error: From<ProofError>;

    /// The hash of one complete subtree.
    ///
    /// # Errors
    /// Where it is not there, or can't be read.
    fn node(&self, place: Place) -> Result<Hash, Self::Error>;
}

/// The hash over a range of leaves as RFC 9162 combines its complete subtrees: from the right.
fn hash_of<N: Nodes>(range: Range<u64>, nodes: &N) -> Result<Hash, N::Error> {
    let hashes: Vec<Hash> =
        peaks(range).map(|place| nodes.node(place)).collect::<Result<_, _>>()?;
    let folded = hashes.into_iter().rev().reduce(|right, left| Hash::of_node(left, right));
    Ok(folded.unwrap_or_else(Hash::of_empty_tree))
}

/// The root of the tree of the first `size` leaves.
///
/// # Errors
/// Those of `nodes`.
pub fn root_of<N: Nodes>(size: u64, nodes: &N) -> Result<Hash, N::Error> {
    hash_of(0..size, nodes)
}

/// What stands beside the way down from a tree's root to a leaf, from the highest, and where the way ends.
fn siblings(
    size: u64,
    leaf: u64,
    is_end: impl Fn(&Range<u64>) -> bool,
) -> (Vec<Range<u64>>, Range<u64>) {
    let (mut siblings, mut inside) = (Vec::new(), 0..size);
    while !is_end(&inside) {
        let middle = inside.start + split(inside.end - inside.start);
        if leaf < middle {
            siblings.push(middle..inside.end);
            inside.end = middle;
        } else {
            siblings.push(inside.start..middle);
            inside.start = middle;
        }
    }
    (siblings, inside)
}

/// The ranges of leaves whose hashes prove that leaf `index` is in the tree of `size`, from the
/// leaf's sibling to the root's child.
///
/// # Errors
/// For a leaf that the tree doesn't have.
pub fn inclusion_ranges(index: u64, size: u64) -> Result<Vec<Range<u64>>, ProofError> {
    if index >= size {
        return Err(ProofError::NoLeaf { index, size });
    }
    let (mut ranges, _) = siblings(size, index, |inside| inside.end - inside.start == 1);
    ranges.reverse();
    Ok(ranges)
}

/// The ranges of leaves whose hashes prove that the tree of `old` leaves is the beginning of the
/// tree of `new`.
///
/// # Errors
/// Where the old tree is empty or larger.
pub fn consistency_ranges(old: u64, new: u64) -> Result<Vec<Range<u64>>, ProofError> {
    match (old, new) {
        _ if old > new => return Err(ProofError::Shrinks { old, new }),
        (0, 0) => return Ok(Vec::new()),
        (0, _) => return Err(ProofError::FromEmpty),
        _ => {}
    }
    let (mut ranges, inside) = siblings(new, old - 1, |inside| inside.end == old);
    // The old tree's root is known to who verifies; a part of it is not.
    if inside.start > 0 {
        ranges.push(inside);
    }
    ranges.reverse();
    Ok(ranges)
}

/// The proof that leaf `index` is in the tree of `size` leaves.
///
/// # Errors
/// For a leaf that the tree doesn't have, and those of `nodes`.
pub fn inclusion_proof<N: Nodes>(index: u64, size: u64, nodes: &N) -> Result<Vec<Hash>, N::Error> {
    inclusion_ranges(index, size)?.into_iter().map(|range| hash_of(range, nodes)).collect()
}

/// The proof that the tree of `old` leaves is the beginning of the tree of `new`.
///
/// # Errors
/// Where the old tree is empty or larger, and those of `nodes`.
pub fn consistency_proof<N: Nodes>(old: u64, new: u64, nodes: &N) -> Result<Vec<Hash>, N::Error> {
    consistency_ranges(old, new)?.into_iter().map(|range| hash_of(range, nodes)).collect()
}

fn expect_length(proof: &[Hash], ranges: &[Range<u64>]) -> Result<(), ProofError> {
    match proof.len() == ranges.len() {
        true => Ok(()),
        false => Err(ProofError::Length { expected: ranges.len(), found: proof.len() }),
    }
}

fn expect_root(expected: Hash, found: Hash) -> Result<(), ProofError> {
    match found == expected {
        true => Ok(()),
        false => Err(ProofError::Root { expected, found }),
    }
}

/// Whether a leaf's hash is at `index` in the tree of `size` leaves with this root.
///
/// # Errors
/// Where the proof doesn't show it: it has another length than index and size ask for, or leads
/// to another root.
pub fn verify_inclusion(
    leaf: Hash,
    index: u64,
    size: u64,
    proof: &[Hash],
    root: Hash,
) -> Result<(), ProofError> {
    let ranges = inclusion_ranges(index, size)?;
    expect_length(proof, &ranges)?;
    let found =
        ranges.iter().zip(proof).fold(leaf, |hash, (range, sibling)| match range.start > index {
            true => Hash::of_node(hash, *sibling),
            false => Hash::of_node(*sibling, hash),
        });
    expect_root(root, found)
}

/// Whether the tree of `old` leaves with `old_root` is the beginning of the tree of `new` leaves
/// with `new_root`.
///
/// # Errors
/// Where the proof doesn't show it, and for an old tree that is empty or larger: that needs no
/// proof, or has none.
pub fn verify_consistency(
    old: u64,
    new: u64,
    proof: &[Hash],
    old_root: Hash,
    new_root: Hash,
) -> Result<(), ProofError> {
    let ranges = consistency_ranges(old, new)?;
    expect_length(proof, &ranges)?;
    // What both roots are above: the old tree, or the last complete subtree of it.
    let whole = ranges.first().is_none_or(|range| range.start >= old);
    let mut pairs = ranges.iter().zip(proof);
    let seed = match whole {
        true => old_root,
        false => pairs.next().map_or(old_root, |(_, seed)| *seed),
    };
    let (mut in_old, mut in_new) = (seed, seed);
    for (range, sibling) in pairs {
        if range.start >= old {
            in_new = Hash::of_node(in_new, *sibling);
        } else {
            in_old = Hash::of_node(*sibling, in_old);
            in_new = Hash::of_node(*sibling, in_new);
        }
    }
    expect_root(old_root, in_old)?;
    expect_root(new_root, in_new)
}
