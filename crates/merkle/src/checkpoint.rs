//! Checkpoints: what a log was at one moment, signed (`c2sp.org/tlog-checkpoint`).

use std::fmt;
use std::str::FromStr;

use crate::text::{decimal, lines, quoted};
use crate::{Hash, Note, NoteError, Signer, TextError, Verifier, note};

/// A log's identity, size and root.
///
/// ```
/// use timestrata_merkle::{Checkpoint, Hash, KeyName, Signer};
///
/// # let signer = Signer::from_seed(KeyName::new("example.org/log")?, [7; 32]);
/// let checkpoint = Checkpoint::new("example.org/log", 0, Hash::of_empty_tree())?;
/// let note = checkpoint.sign(&signer)?;
/// let opened = Checkpoint::open(note.as_bytes(), signer.verifier())?;
/// assert_eq!(opened.of("example.org/log")?.size, 0);
/// # Ok::<(), timestrata_merkle::NoteError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checkpoint {
    /// Which log.
    pub origin: String,
    /// How many entries it had.
    pub size: u64,
    /// The root of their tree.
    pub root: Hash,
    /// Further lines that some log may have added; nothing here reads them.
    pub extensions: Vec<String>,
}

impl Checkpoint {
    /// A checkpoint without further lines.
    ///
    /// # Errors
    /// For an origin that is empty or has more than a line.
    pub fn new(origin: &str, size: u64, root: Hash) -> Result<Self, TextError> {
        match !origin.is_empty() && !origin.chars().any(|c| c < ' ') {
            true => Ok(Self { origin: origin.to_owned(), size, root, extensions: Vec::new() }),
            false => Err(TextError::new("a log's origin", "one line of text", quoted(origin))),
        }
    }

    /// The checkpoint as a note with one signature.
    ///
    /// # Errors
    /// For parts that a note can't have.
    pub fn sign(&self, signer: &Signer) -> Result<String, TextError> {
        note::sign(&self.to_string(), signer)
    }

    /// The checkpoint in a note, if this key signed it. Whether it is of the right log is for the
    /// caller to ask: a key may sign for several.
    ///
    /// # Errors
    /// Where the bytes aren't a note, the key didn't sign it, or it isn't a checkpoint.
    pub fn open(bytes: &[u8], verifier: &Verifier) -> Result<Self, NoteError> {
        Ok(Note::parse(bytes)?.verify(verifier)?.parse()?)
    }

    /// The same as an error where it is of another log.
    ///
    /// # Errors
    /// Where the origin is another.
    pub fn of(self, origin: &str) -> Result<Self, NoteError> {
        match self.origin == origin {
            true => Ok(self),
            false => {
                Err(NoteError::Origin { expected: origin.to_owned(), found: self.origin.clone() })
            }
        }
    }
}

/// The text that is signed.
impl fmt::Display for Checkpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}\n{}\n{}\n", self.origin, self.size, self.root)?;
        self.extensions.iter().try_for_each(|line| writeln!(f, "{line}"))
    }
}

impl FromStr for Checkpoint {
    type Err = TextError;

    fn from_str(text: &str) -> Result<Self, TextError> {
        let wrong = |found: &str| TextError::new("a checkpoint", "origin, size and root", found);
        let mut lines = lines(text).ok_or_else(|| wrong("a last line without an end"))?;
        let (Some(origin), Some(size), Some(root)) = (lines.next(), lines.next(), lines.next())
        else {
            return Err(wrong("fewer than three lines"));
        };
        let extensions: Vec<String> = lines.map(str::to_owned).collect();
        if extensions.iter().any(String::is_empty) {
            return Err(wrong("an empty line"));
        }
        let size = decimal("a tree size", size)?;
        let checkpoint = Self::new(origin, size, Hash::from_base64(root)?)?;
        Ok(Self { extensions, ..checkpoint })
    }
}
