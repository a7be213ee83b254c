//! Merkle trees of append-only logs, byte for byte as the public standards have them: hashing and
//! proofs of RFC 6962 and RFC 9162, and C2SP's `signed-note`, `tlog-checkpoint`, `tlog-tiles` and
//! `tlog-proof`, and cosignatures of witnesses (`tlog-cosignature`, `tlog-witness`).
//!
//! Everything here is pure: whoever calls brings the hashes that a proof needs ([`Nodes`]), the seed
//! of a key, and the bytes of a note. What is read is input of strangers: it gives an error or a
//! refusal, never a panic.
//!
//! ```
//! use timestrata_merkle::{Hash, Tree, verify_inclusion};
//!
//! let mut tree = Tree::new();
//! for entry in ["first", "second", "third"] {
//!     tree.append(Hash::of_leaf(entry.as_bytes()));
//! }
//! let root = tree.root();
//! let proof = tree.inclusion_proof(1, 3)?;
//! assert!(verify_inclusion(Hash::of_leaf(b"second"), 1, 3, &proof, root).is_ok());
//! assert!(verify_inclusion(Hash::of_leaf(b"secund"), 1, 3, &proof, root).is_err());
//! # Ok::<(), timestrata_merkle::ProofError>(())
//! ```
#![forbid(unsafe_code)]

mod checkpoint;
mod cosignature;
mod edge;
mod error;
mod geometry;
mod hash;
mod key;
mod note;
mod proof;
mod subtree;
mod text;
mod text_error;
mod tile;
mod tlog_proof;
mod tree;

pub use checkpoint::Checkpoint;
pub use cosignature::{AddCheckpoint, Witness, cosign, with_cosignatures};
pub use edge::Edge;
pub use error::{NoteError, ProofError};
pub use geometry::{Place, peaks};
pub use hash::Hash;
pub use key::{KeyName, Signer, Verifier};
pub use note::{Note, SIGNATURES_MAX, Signature, sign};
pub use proof::{
    Nodes, consistency_proof, consistency_ranges, inclusion_proof, inclusion_ranges, root_of,
    verify_consistency, verify_inclusion,
};
pub use subtree::Subtree;
pub use text_error::TextError;
pub use tile::{TILE_HEIGHT, TILE_WIDTH, Tile, TileKind, tiles_of};
pub use tlog_proof::TlogProof;
pub use tree::Tree;
