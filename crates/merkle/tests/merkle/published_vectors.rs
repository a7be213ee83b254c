//! Trees, proofs and notes as those who wrote the standards published them.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use timestrata_merkle::{
    Hash, Note, ProofError, Signer, Tree, Verifier, sign, verify_consistency, verify_inclusion,
};

/// The entries of the reference trees, in hexadecimal.
const ENTRIES: [&str; 8] = [
    "",
    "00",
    "10",
    "2021",
    "3031",
    "40414243",
    "5051525354555657",
    "606162636465666768696a6b6c6d6e6f",
];
/// The roots of their first 0, 1, ... 8.
const ROOTS: [&str; 9] = [
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
    "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
    "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
    "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
    "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
    "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
    "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
];
const N01: &str = "5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e";
const LEAF_1: &str = "96a296d224f285c67bee93c30f8a309157f0daa35dc5b87e410b78630a09cfc7";
const LEAF_4: &str = "bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b";
const N67: &str = "ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0";
const N45: &str = "0ebc5d3437fbe2db158b9f126a1d118e308181031d0a949f8dededebc558ef6a";
const N4567: &str = "6b47aaf29ee3c2af9af889bc1fb9254dabd31177f16232dd6aab035ca39bf6e4";

fn bytes(text: &str) -> Vec<u8> {
    (0..text.len())
        .step_by(2)
        .map(|place| u8::from_str_radix(&text[place..place + 2], 16).unwrap())
        .collect()
}

fn hash(text: &str) -> Hash {
    Hash(bytes(text).try_into().unwrap())
}

fn tree() -> Tree {
    let mut tree = Tree::new();
    ENTRIES.iter().for_each(|entry| tree.append(Hash::of_leaf(&bytes(entry))));
    tree
}

#[test]
fn roots_are_those_of_the_reference_trees() {
    for (size, root) in ROOTS.iter().enumerate() {
        assert_eq!(tree().root_at(size as u64).unwrap(), hash(root), "{size} entries");
    }
}

#[test]
fn inclusion_proofs_are_those_of_the_reference_trees() {
    let published: [(u64, u64, &[&str]); 5] = [
        (0, 1, &[]),
        (0, 8, &[LEAF_1, N01, N4567]),
        (5, 8, &[LEAF_4, N67, ROOTS[4]]),
        (2, 3, &[ROOTS[2]]),
        (1, 5, &[ROOTS[1], N01, LEAF_4]),
    ];
    for (index, size, expected) in published {
        let expected: Vec<Hash> = expected.iter().map(|text| hash(text)).collect();
        let proof = tree().inclusion_proof(index, size).unwrap();
        assert_eq!(proof, expected, "entry {index} of {size}");
        let leaf = Hash::of_leaf(&bytes(ENTRIES[index as usize]));
        let root = hash(ROOTS[size as usize]);
        assert_eq!(verify_inclusion(leaf, index, size, &proof, root), Ok(()));
    }
}

#[test]
fn consistency_proofs_are_those_of_the_reference_trees() {
    let published: [(u64, u64, &[&str]); 4] = [
        (1, 1, &[]),
        (1, 8, &[LEAF_1, N01, N4567]),
        (6, 8, &[N45, N67, ROOTS[4]]),
        (2, 5, &[N01, LEAF_4]),
    ];
    for (old, new, expected) in published {
        let expected: Vec<Hash> = expected.iter().map(|text| hash(text)).collect();
        let proof = tree().consistency_proof(old, new).unwrap();
        assert_eq!(proof, expected, "from {old} to {new}");
        let (before, after) = (hash(ROOTS[old as usize]), hash(ROOTS[new as usize]));
        assert_eq!(verify_consistency(old, new, &proof, before, after), Ok(()));
    }
}

/// A verifier that takes any hash for a leaf accepts nodes from within the tree.
#[test]
fn an_inner_node_is_no_leaf() {
    let (tree, root) = (tree(), hash(ROOTS[8]));
    let proof = tree.inclusion_proof(0, 8).unwrap();
    let (left, right) = (hash(ROOTS[4]), hash(N4567));
    assert_eq!(Hash::of_node(left, right), root);
    // As an entry, the two children are hashed as a leaf is.
    let entry: Vec<u8> = [left.0, right.0].concat();
    for index in 0..8 {
        assert!(verify_inclusion(Hash::of_leaf(&entry), index, 8, &[], root).is_err());
        assert!(verify_inclusion(Hash::of_leaf(&entry), index, 8, &proof, root).is_err());
    }
    // And the node itself doesn't fit a shorter proof, for the size binds the length.
    assert_eq!(
        verify_inclusion(left, 0, 8, &proof[2..], root),
        Err(ProofError::Length { expected: 3, found: 1 })
    );
}

const VKEY: &str = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW";
const SKEY: &str = "PRIVATE+KEY+PeterNeumann+c74f20a3+AYEKFALVFGyNhPJEMzD1QIDr+Y7hfZx09iUvxdXHKDFz";
const TEXT: &str = "If you think cryptography is the answer to your problem,\n\
                    then you don't know what your problem is.\n";
const SIGNATURE: &str = "\u{2014} PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM=\n";

#[test]
fn notes_are_signed_as_gos_documentation_shows() {
    let signer: Signer = SKEY.parse().unwrap();
    let verifier: Verifier = VKEY.parse().unwrap();
    assert_eq!(signer.verifier(), &verifier);
    assert_eq!(verifier.to_string(), VKEY);
    assert_eq!(signer.secret_text(), SKEY);
    assert!(!format!("{signer:?}").contains("AYEKFALV"), "a key is not shown by accident");

    let note = sign(TEXT, &signer).unwrap();
    assert_eq!(note, format!("{TEXT}\n{SIGNATURE}"));
    assert_eq!(Note::parse(note.as_bytes()).unwrap().verify(&verifier).unwrap(), TEXT);
}
