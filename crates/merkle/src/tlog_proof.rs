//! Proofs of one entry that stand alone: its place, the hashes up to the root, and the checkpoint
//! (`c2sp.org/tlog-proof`).

use std::fmt;

use crate::geometry::LEVELS;
use crate::text::{base64, decimal, quoted, to_base64};
use crate::{Checkpoint, Hash, Note, NoteError, TextError, Verifier, verify_inclusion};

/// What a proof begins with.
const HEADER: &str = "c2sp.org/tlog-proof@v1";
/// Before the extra data.
const EXTRA_PREFIX: &str = "extra ";
/// Before the entry's place.
const INDEX_PREFIX: &str = "index ";

/// A proof that an entry is in a log, for anybody who trusts the log's key.
///
/// ```
/// use timestrata_merkle::{Checkpoint, Hash, KeyName, Signer, TlogProof, Tree};
///
/// # let signer = Signer::from_seed(KeyName::new("example.org/log")?, [7; 32]);
/// let mut tree = Tree::new();
/// tree.append(Hash::of_leaf(b"first"));
/// let checkpoint = Checkpoint::new("example.org/log", 1, tree.root())?.sign(&signer)?;
/// let proof = TlogProof { extra: None, index: 0, hashes: Vec::new(), checkpoint };
/// assert_eq!(proof.verify(b"first", signer.verifier())?.size, 1);
/// assert!(proof.verify(b"other", signer.verifier()).is_err());
/// # Ok::<(), timestrata_merkle::NoteError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TlogProof {
    /// Data that nothing vouches for.
    pub extra: Option<Vec<u8>>,
    /// The entry's place in the log.
    pub index: u64,
    /// From the leaf's sibling to the root's child.
    pub hashes: Vec<Hash>,
    /// The checkpoint as the log signed it, a note.
    pub checkpoint: String,
}

impl TlogProof {
    /// Reads a proof.
    ///
    /// # Errors
    /// For bytes that aren't one.
    pub fn parse(bytes: &[u8]) -> Result<Self, TextError> {
        let wrong = |found: String| TextError::new("a proof", format!("{HEADER} and so on"), found);
        let text =
            std::str::from_utf8(bytes).map_err(|_| wrong("bytes that aren't UTF-8".to_owned()))?;
        let (head, checkpoint) =
            text.split_once("\n\n").ok_or_else(|| wrong("no blank line".to_owned()))?;
        let mut lines = head.split('\n').peekable();
        if lines.next() != Some(HEADER) {
            return Err(wrong(quoted(head)));
        }
        let extra = lines.peek().and_then(|line| line.strip_prefix(EXTRA_PREFIX));
        let extra = extra.map(|extra| base64("extra data", extra)).transpose()?;
        if extra.is_some() {
            lines.next();
        }
        let index = lines.next().and_then(|line| line.strip_prefix(INDEX_PREFIX));
        let index = index.ok_or_else(|| wrong("no line with the index".to_owned()))?;
        let index = decimal("an entry's index", index)?;
        let hashes: Vec<Hash> =
            lines.take(usize::from(LEVELS) + 1).map(Hash::from_base64).collect::<Result<_, _>>()?;
        if hashes.len() > usize::from(LEVELS) {
            return Err(wrong(format!("more than {LEVELS} hashes")));
        }
        // Whether it is a note is said where it stands, not where it is verified.
        Note::parse(checkpoint.as_bytes())?;
        Ok(Self { extra, index, hashes, checkpoint: checkpoint.to_owned() })
    }

    /// The checkpoint, if this key signed it and it shows that the entry is at its index.
    ///
    /// # Errors
    /// Where the key didn't sign the checkpoint, or the entry isn't what it commits to.
    pub fn verify(&self, entry: &[u8], verifier: &Verifier) -> Result<Checkpoint, NoteError> {
        let checkpoint = Checkpoint::open(self.checkpoint.as_bytes(), verifier)?;
        let leaf = Hash::of_leaf(entry);
        verify_inclusion(leaf, self.index, checkpoint.size, &self.hashes, checkpoint.root)?;
        Ok(checkpoint)
    }
}

/// The text of the standard.
impl fmt::Display for TlogProof {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{HEADER}")?;
        if let Some(extra) = &self.extra {
            writeln!(f, "{EXTRA_PREFIX}{}", to_base64(extra))?;
        }
        writeln!(f, "{INDEX_PREFIX}{}", self.index)?;
        self.hashes.iter().try_for_each(|hash| writeln!(f, "{hash}"))?;
        write!(f, "\n{}", self.checkpoint)
    }
}
