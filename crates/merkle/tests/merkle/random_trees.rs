//! Random trees beside two others: the definitions of RFC 6962 written down as they are, and crate
//! `ct-merkle`, which others wrote.

use ct_merkle::RootHash;
use ct_merkle::mem_backed_tree::MemoryBackedTree;
use proptest::prelude::*;
use sha2::Sha256;
use timestrata_merkle::{
    Edge, Hash, Nodes, Place, ProofError, Subtree, TILE_WIDTH, Tile, TileKind, Tree,
    consistency_proof, inclusion_proof, root_of, tiles_of, verify_consistency, verify_inclusion,
};

fn entry(index: u64) -> Vec<u8> {
    format!("entry {index}").into_bytes()
}

fn leaf(index: u64) -> Hash {
    Hash::of_leaf(&entry(index))
}

fn leaves(size: u64) -> Vec<Hash> {
    (0..size).map(leaf).collect()
}

fn tree(size: u64) -> Tree {
    let mut tree = Tree::new();
    (0..size).for_each(|index| tree.append(leaf(index)));
    tree
}

/// The largest power of two below `size`.
fn half(size: usize) -> usize {
    size.next_power_of_two() / 2
}

/// `MTH` of RFC 6962, section 2.1.
fn mth(leaves: &[Hash]) -> Hash {
    match leaves {
        [] => Hash::of_bytes(b""),
        [leaf] => *leaf,
        _ => {
            let (left, right) = leaves.split_at(half(leaves.len()));
            Hash::of_node(mth(left), mth(right))
        }
    }
}

/// `PATH` of RFC 6962, section 2.1.1.
fn path(index: usize, leaves: &[Hash]) -> Vec<Hash> {
    if leaves.len() == 1 {
        return Vec::new();
    }
    let (left, right) = leaves.split_at(half(leaves.len()));
    let (mut path, sibling) = match index < left.len() {
        true => (path(index, left), mth(right)),
        false => (path(index - left.len(), right), mth(left)),
    };
    path.push(sibling);
    path
}

/// `SUBPROOF` of RFC 6962, section 2.1.2.
fn subproof(old: usize, leaves: &[Hash], is_known: bool) -> Vec<Hash> {
    if old == leaves.len() {
        return if is_known { Vec::new() } else { vec![mth(leaves)] };
    }
    let (left, right) = leaves.split_at(half(leaves.len()));
    let (mut proof, sibling) = match old <= left.len() {
        true => (subproof(old, left, is_known), mth(right)),
        false => (subproof(old - left.len(), right, false), mth(left)),
    };
    proof.push(sibling);
    proof
}

/// What a log keeps: full tiles, and the edge.
#[derive(Default)]
struct Log {
    edge: Edge,
    full: Vec<(Tile, Subtree)>,
}

impl Log {
    fn of(size: u64) -> Self {
        let mut log = Self::default();
        for index in 0..size {
            let Self { edge, full } = &mut log;
            edge.append(leaf(index), |tile, subtree, _| full.push((tile, subtree.clone())));
        }
        log
    }
}

impl Nodes for Log {
    type Error = ProofError;

    fn node(&self, place: Place) -> Result<Hash, ProofError> {
        let (tile, level, index) = Tile::around(place);
        let stored = self.full.iter().find(|(full, _)| *full == tile);
        let found = match stored {
            Some((_, subtree)) => subtree.node(level, index),
            None => self.edge.node(place),
        };
        found.ok_or(ProofError::Missing { first: place.first(), leaves: place.leaves() })
    }
}

proptest! {
    #[test]
    fn proofs_are_those_that_the_definitions_give(size in 1_u64..700, of in any::<u64>(), to in any::<u64>()) {
        let (tree, leaves) = (tree(size), leaves(size));
        let size_of_some = of % size + 1;
        let index = to % size_of_some;
        let some = &leaves[..usize::try_from(size_of_some).unwrap()];
        prop_assert_eq!(tree.root_at(size_of_some).unwrap(), mth(some));
        let proof = tree.inclusion_proof(index, size_of_some).unwrap();
        prop_assert_eq!(&proof, &path(usize::try_from(index).unwrap(), some));
        prop_assert_eq!(verify_inclusion(leaf(index), index, size_of_some, &proof, mth(some)), Ok(()));

        let proof = tree.consistency_proof(size_of_some, size).unwrap();
        let expected = subproof(usize::try_from(size_of_some).unwrap(), &leaves, true);
        prop_assert_eq!(&proof, &expected);
        prop_assert_eq!(
            verify_consistency(size_of_some, size, &proof, mth(some), mth(&leaves)), Ok(())
        );
    }

    #[test]
    fn another_crate_makes_and_accepts_the_same_proofs(size in 1_u64..300, of in any::<u64>()) {
        let mut theirs = MemoryBackedTree::<Sha256, Vec<u8>>::new();
        (0..size).for_each(|index| theirs.push(entry(index)));
        let ours = tree(size);
        let (root, our_root): (RootHash<Sha256>, Hash) = (theirs.root(), ours.root());
        prop_assert_eq!(root.as_bytes().as_slice(), our_root.as_bytes().as_slice());

        let index = of % size;
        let proof = ours.inclusion_proof(index, size).unwrap();
        let their_proof = theirs.prove_inclusion(usize::try_from(index).unwrap());
        let flat: Vec<u8> = proof.iter().flat_map(|hash| hash.0).collect();
        prop_assert_eq!(their_proof.as_bytes(), flat.as_slice());
        prop_assert!(root.verify_inclusion(&entry(index), index, &their_proof).is_ok());
    }

    /// A changed hash, place, size or length: none of it is believed.
    #[test]
    fn a_proof_with_anything_changed_is_refused(
        size in 2_u64..600, of in any::<u64>(), at in any::<prop::sample::Index>(), bit in 0_usize..256,
    ) {
        let (tree, index) = (tree(size), of % size);
        let (root, proof) = (tree.root(), tree.inclusion_proof(index, size).unwrap());
        let mut changed = proof.clone();
        changed[at.index(proof.len())].0[bit / 8] ^= 1 << (bit % 8);
        prop_assert!(verify_inclusion(leaf(index), index, size, &changed, root).is_err());
        prop_assert!(verify_inclusion(leaf(size), index, size, &proof, root).is_err());
        prop_assert!(verify_inclusion(leaf(index), (index + 1) % size, size, &proof, root).is_err());
        prop_assert!(verify_inclusion(leaf(index), size, size, &proof, root).is_err());
        prop_assert!(verify_inclusion(leaf(index), index, size, &proof[1..], root).is_err());
        let longer: Vec<Hash> = proof.iter().copied().chain([root]).collect();
        prop_assert!(verify_inclusion(leaf(index), index, size, &longer, root).is_err());
        let other = tree.root_at(size - 1).unwrap();
        prop_assert!(verify_inclusion(leaf(index), index, size, &proof, other).is_err());
    }

    #[test]
    fn a_changed_consistency_proof_is_refused(
        size in 3_u64..600, of in any::<u64>(), at in any::<prop::sample::Index>(), bit in 0_usize..256,
    ) {
        let (tree, old) = (tree(size), of % (size - 2) + 1);
        let (before, after) = (tree.root_at(old).unwrap(), tree.root());
        let proof = tree.consistency_proof(old, size).unwrap();
        prop_assert_eq!(verify_consistency(old, size, &proof, before, after), Ok(()));
        let mut changed = proof.clone();
        changed[at.index(proof.len())].0[bit / 8] ^= 1 << (bit % 8);
        prop_assert!(verify_consistency(old, size, &changed, before, after).is_err());
        prop_assert!(verify_consistency(old, size, &proof[1..], before, after).is_err());
        prop_assert!(verify_consistency(old, size, &proof, after, after).is_err());
        prop_assert!(verify_consistency(old, size, &proof, before, before).is_err());
        prop_assert!(verify_consistency(size, old, &proof, after, before).is_err());
        prop_assert!(verify_consistency(0, size, &[], Hash::of_empty_tree(), after).is_err());
    }

}

proptest! {
    // Each makes trees that reach above two levels of tiles.
    #![proptest_config(ProptestConfig::with_cases(8))]

    #[test]
    fn tiles_and_an_edge_are_enough_for_every_proof(size in 60_000_u64..70_000, of in any::<u64>()) {
        let (log, tree) = (Log::of(size), tree(size));
        let (index, old) = (of % size, of % size + 1);
        prop_assert_eq!(root_of(size, &log).unwrap(), tree.root());
        prop_assert_eq!(root_of(old, &log).unwrap(), tree.root_at(old).unwrap());
        prop_assert_eq!(
            inclusion_proof(index, size, &log).unwrap(), tree.inclusion_proof(index, size).unwrap()
        );
        prop_assert_eq!(
            consistency_proof(old, size, &log).unwrap(), tree.consistency_proof(old, size).unwrap()
        );
        let last = log.full.iter().filter(|(tile, _)| tile.kind == TileKind::Hashes(0)).count();
        prop_assert_eq!(last as u64, size / TILE_WIDTH as u64);
    }

    #[test]
    fn an_edge_goes_on_from_its_tiles(size in 0_u64..70_000, more in 0_u64..600) {
        let mut log = Log::of(size);
        let levels = u8::try_from(log.edge.levels()).unwrap();
        let tiles: Vec<Vec<Hash>> = (0..levels).map(|level| log.edge.tile(level).to_vec()).collect();
        log.edge = Edge::restore(size, tiles.clone()).unwrap();
        for index in size..size + more {
            let Log { edge, full } = &mut log;
            edge.append(leaf(index), |tile, subtree, _| full.push((tile, subtree.clone())));
        }
        prop_assert_eq!(root_of(size + more, &log).unwrap(), tree(size + more).root());
        prop_assert!(Edge::restore(size + 1, tiles).is_none());
    }
}

#[test]
fn tiles_have_the_paths_of_the_standard() {
    let paths = [
        (TileKind::Hashes(0), 0, TILE_WIDTH, "tile/0/000"),
        (TileKind::Hashes(1), 1_234_067, TILE_WIDTH, "tile/1/x001/x234/067"),
        (TileKind::Entries, 5, 7, "tile/entries/005.p/7"),
        (TileKind::Hashes(63), 1_000, 255, "tile/63/x001/000.p/255"),
        (TileKind::Entries, u64::MAX, TILE_WIDTH, "tile/entries/x018/x446/x744/x073/x709/x551/615"),
    ];
    for (kind, index, width, path) in paths {
        let tile = Tile { kind, index, width };
        assert_eq!(tile.to_string(), path);
        assert_eq!(path.parse(), Ok(tile));
    }
    let wrong = [
        "",
        "tile/0",
        "tile/0/0",
        "tile/0/0000",
        "tile/00/000",
        "tile/64/000",
        "tile/0/x000/001",
        "tile/0/000.p/0",
        "tile/0/000.p/256",
        "tile/0/000.p/01",
        "tile/0/001/x002",
        "tile/x/000",
        "tile/0/-01",
        "tile/0/x999/x999/x999/x999/x999/x999/999",
        "../tile/0/000",
        "tile/0/000/",
    ];
    for path in wrong {
        assert!(path.parse::<Tile>().is_err(), "{path}");
    }
}

/// The example of the standard: a tree of 70,000.
#[test]
fn a_tree_has_the_tiles_that_the_standard_counts() {
    let tiles: Vec<Tile> = tiles_of(70_000).collect();
    let of = |level: u8| {
        let hashes = tiles.iter().filter(move |tile| tile.kind == TileKind::Hashes(level));
        hashes.map(|tile| tile.width).collect::<Vec<_>>()
    };
    assert_eq!((of(0).len(), of(0)[273]), (274, 112));
    assert_eq!(of(1), [TILE_WIDTH, 17]);
    assert_eq!(of(2), [1]);
    assert_eq!(tiles.iter().filter(|tile| tile.kind == TileKind::Entries).count(), 274);
    assert_eq!(tiles_of(0).count(), 0);
    let widths: Vec<_> = tiles_of(256).map(|tile| tile.to_string()).collect();
    assert_eq!(widths, ["tile/entries/000", "tile/0/000", "tile/1/000.p/1"]);
}
