//! Trees, notes and proofs, through their public face.

mod cosignatures;
mod notes_and_proofs;
mod published_vectors;
mod random_trees;
