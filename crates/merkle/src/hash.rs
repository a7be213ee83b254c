//! SHA-256 with the prefixes that keep leaves and nodes apart (RFC 9162, section 2.1.1).

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};

use crate::TextError;

/// Before an entry's bytes.
const LEAF_PREFIX: u8 = 0;
/// Before the hashes of two children.
const NODE_PREFIX: u8 = 1;

/// A SHA-256 hash.
///
/// ```
/// use timestrata_merkle::Hash;
///
/// let leaf = Hash::of_leaf(b"first");
/// // A leaf is hashed another way than a node, so that neither passes for the other.
/// assert_ne!(leaf, Hash::of_bytes(b"first"));
/// assert_eq!(Hash::from_base64(&leaf.to_string())?, leaf);
/// # Ok::<(), timestrata_merkle::TextError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Hash(pub [u8; Hash::BYTES]);

impl Hash {
    /// Length of a hash.
    pub const BYTES: usize = 32;

    /// The root of a tree without leaves: the hash of no bytes.
    #[must_use]
    pub fn of_empty_tree() -> Self {
        Self(Sha256::digest([]).into())
    }

    /// The hash of an entry as a leaf.
    #[must_use]
    pub fn of_leaf(entry: &[u8]) -> Self {
        let hasher = Sha256::new().chain_update([LEAF_PREFIX]).chain_update(entry);
        Self(hasher.finalize().into())
    }

    /// The hash of the node above two others.
    #[must_use]
    pub fn of_node(left: Self, right: Self) -> Self {
        let mut bytes = [NODE_PREFIX; 1 + 2 * Self::BYTES];
        let (_, children) = bytes.split_at_mut(1);
        let (first, second) = children.split_at_mut(Self::BYTES);
        first.copy_from_slice(&left.0);
        second.copy_from_slice(&right.0);
        Self(Sha256::digest(bytes).into())
    }

    /// The plain SHA-256 of some bytes, without a prefix.
    #[must_use]
    pub fn of_bytes(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    /// The hash as bytes.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8; Self::BYTES] {
        &self.0
    }

    /// Hashes that lie one behind the other, as in a tile.
    ///
    /// # Errors
    /// For a length that is no multiple of 32.
    pub fn all_of(bytes: &[u8]) -> Result<Vec<Self>, TextError> {
        let (hashes, rest) = bytes.as_chunks::<{ Self::BYTES }>();
        match rest.is_empty() {
            true => Ok(hashes.iter().map(|hash| Self(*hash)).collect()),
            false => Err(TextError::new(
                "hashes",
                format!("a multiple of {} bytes", Self::BYTES),
                format!("{} bytes", bytes.len()),
            )),
        }
    }

    /// A hash in base64, as notes have it.
    ///
    /// # Errors
    /// For text that isn't base64 of 32 bytes.
    pub fn from_base64(text: &str) -> Result<Self, TextError> {
        let wrong = || TextError::new("a hash", "base64 of 32 bytes", format!("{text:?}"));
        let bytes = STANDARD.decode(text).map_err(|_| wrong())?;
        bytes.try_into().map(Self).map_err(|_| wrong())
    }
}

/// In base64, as notes have it.
impl fmt::Display for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&STANDARD.encode(self.0))
    }
}

impl fmt::Debug for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Hash({self})")
    }
}
