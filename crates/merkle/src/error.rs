//! What can be wrong with proofs, notes and texts.

use std::fmt;

use crate::TextError;

/// Why a proof can't be made, or proves nothing.
///
/// ```
/// use timestrata_merkle::{Hash, ProofError, Tree};
///
/// let mut tree = Tree::new();
/// tree.append(Hash::of_leaf(b"first"));
/// assert_eq!(tree.inclusion_proof(1, 1), Err(ProofError::NoLeaf { index: 1, size: 1 }));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProofError {
    /// The tree has no such leaf.
    NoLeaf {
        /// The leaf asked for.
        index: u64,
        /// How many leaves there are.
        size: u64,
    },
    /// A tree can't be the beginning of a smaller one.
    Shrinks {
        /// The size said to be the earlier.
        old: u64,
        /// The size said to be the later.
        new: u64,
    },
    /// Nothing can be shown of a tree from an empty one.
    FromEmpty,
    /// A proof for these numbers has another length.
    Length {
        /// How many hashes the sizes ask for.
        expected: usize,
        /// How many there are.
        found: usize,
    },
    /// The hashes lead to another root.
    Root {
        /// The root that had to come out.
        expected: crate::Hash,
        /// The root that came out.
        found: crate::Hash,
    },
    /// A hash that a proof needs is not there.
    Missing {
        /// The lowest leaf under the missing node.
        first: u64,
        /// How many leaves are under it.
        leaves: u64,
    },
}

impl fmt::Display for ProofError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoLeaf { index, size } => {
                write!(f, "a tree of {size} leaves has no leaf {index}")
            }
            Self::Shrinks { old, new } => {
                write!(f, "a tree of {old} leaves is not the beginning of one of {new}")
            }
            Self::FromEmpty => f.write_str("nothing is proved by consistency with an empty tree"),
            Self::Length { expected, found } => {
                write!(f, "the proof has {found} hashes, for these numbers it needs {expected}")
            }
            Self::Root { expected, found } => {
                write!(f, "the proof leads to root {found}, expected {expected}")
            }
            Self::Missing { first, leaves } => {
                write!(f, "the hash of {leaves} leaves from {first} is not there")
            }
        }
    }
}

impl std::error::Error for ProofError {}

/// Why a note, or what is in it, is not believed.
///
/// ```
/// use timestrata_merkle::{KeyName, Note, NoteError, Signer, sign};
///
/// # let signer = Signer::from_seed(KeyName::new("example.org/log")?, [7; 32]);
/// let other = Signer::from_seed(KeyName::new("example.com/other")?, [8; 32]);
/// let signed = sign("all is well\n", &signer)?;
/// let verified = Note::parse(signed.as_bytes())?.verify(other.verifier()).map(str::to_owned);
/// assert!(matches!(verified, Err(NoteError::Unsigned { .. })));
/// # Ok::<(), timestrata_merkle::TextError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NoteError {
    /// The text is no note, checkpoint or proof.
    Text(TextError),
    /// No signature is by the key that is trusted.
    Unsigned {
        /// The trusted key's name.
        name: String,
        /// Who signed.
        signers: Vec<String>,
    },
    /// A signature says that it is by the trusted key, and is not.
    Forged {
        /// The trusted key's name.
        name: String,
    },
    /// The checkpoint is of another log.
    Origin {
        /// The log that was expected.
        expected: String,
        /// The log that it is of.
        found: String,
    },
    /// What the note commits to is not shown by its proof.
    Proof(ProofError),
}

impl fmt::Display for NoteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(error) => error.fmt(f),
            Self::Unsigned { name, signers } => {
                write!(f, "the note is not signed by {name:?}, but by {signers:?}")
            }
            Self::Forged { name } => {
                write!(f, "a signature in the name of {name:?} doesn't fit the note and the key")
            }
            Self::Origin { expected, found } => {
                write!(f, "the checkpoint is of log {found:?}, expected {expected:?}")
            }
            Self::Proof(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for NoteError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Text(error) => Some(error),
            Self::Proof(error) => Some(error),
            _ => None,
        }
    }
}

impl From<TextError> for NoteError {
    fn from(error: TextError) -> Self {
        Self::Text(error)
    }
}

impl From<ProofError> for NoteError {
    fn from(error: ProofError) -> Self {
        Self::Proof(error)
    }
}
