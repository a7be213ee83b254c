//! Signed notes: a text, a blank line, and signatures (`c2sp.org/signed-note`).

use crate::key::ID_BYTES;
use crate::text::{base64, lines, quoted, to_base64};
use crate::{KeyName, NoteError, Signer, TextError, Verifier};

/// More signatures than any log has witnesses; a note with more is refused.
pub const SIGNATURES_MAX: usize = 100;
/// What a signature's line begins with: an em dash and a space.
pub(crate) const SIGNATURE_PREFIX: &str = "\u{2014} ";
/// Between text and signatures.
const BLANK_LINE: &str = "\n\n";

/// One signature of a note.
///
/// ```
/// use timestrata_merkle::{KeyName, Note, Signer, sign};
///
/// # let signer = Signer::from_seed(KeyName::new("example.org/log")?, [7; 32]);
/// let signed = sign("all is well\n", &signer)?;
/// let note = Note::parse(signed.as_bytes())?;
/// assert_eq!(note.signatures().len(), 1);
/// # Ok::<(), timestrata_merkle::TextError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signature {
    /// The name of the key that is said to have made it.
    pub name: KeyName,
    /// That key's number.
    pub id: [u8; ID_BYTES],
    /// The signature itself.
    pub bytes: Vec<u8>,
}

/// A note as it was read: its signatures are claims until [`Note::verify`] has been asked.
///
/// ```
/// use timestrata_merkle::{KeyName, Note, Signer, sign};
///
/// # let signer = Signer::from_seed(KeyName::new("example.org/log")?, [7; 32]);
/// let signed = sign("all is well\n", &signer)?;
/// let note = Note::parse(signed.as_bytes())?;
/// assert_eq!(note.verify(signer.verifier())?, "all is well\n");
/// # Ok::<(), timestrata_merkle::NoteError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    text: String,
    signatures: Vec<Signature>,
}

impl Note {
    /// Reads a note.
    ///
    /// # Errors
    /// For bytes that aren't a note.
    pub fn parse(bytes: &[u8]) -> Result<Self, TextError> {
        let wrong = |found: &str| TextError::new("a signed note", "text and signatures", found);
        let whole = std::str::from_utf8(bytes).map_err(|_| wrong("bytes that aren't UTF-8"))?;
        if whole.chars().any(|c| c < ' ' && c != '\n') {
            return Err(wrong("a control character"));
        }
        let (text, rest) = whole.rsplit_once(BLANK_LINE).ok_or_else(|| wrong("no blank line"))?;
        let text = format!("{text}\n");
        let rest = lines(rest).ok_or_else(|| wrong("a last line without an end"))?;
        let mut signatures = Vec::new();
        for line in rest {
            if signatures.len() == SIGNATURES_MAX {
                return Err(wrong("too many signatures"));
            }
            signatures.push(parse_signature(line)?);
        }
        Ok(Self { text, signatures })
    }

    /// What was signed. Not to be believed before [`Note::verify`].
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Who claims to have signed it.
    #[must_use]
    pub fn signatures(&self) -> &[Signature] {
        &self.signatures
    }

    /// The text, if the key has signed it.
    ///
    /// # Errors
    /// Where no signature is by this key, and where one in its name is wrong.
    pub fn verify(&self, verifier: &Verifier) -> Result<&str, NoteError> {
        let mut is_signed = false;
        let known = |signature: &&Signature| {
            signature.name == *verifier.name() && signature.id == verifier.id()
        };
        for signature in self.signatures.iter().filter(known) {
            if !verifier.accepts(self.text.as_bytes(), &signature.bytes) {
                return Err(NoteError::Forged { name: verifier.name().to_string() });
            }
            is_signed = true;
        }
        match is_signed {
            true => Ok(&self.text),
            false => Err(NoteError::Unsigned {
                name: verifier.to_string(),
                signers: self.signatures.iter().map(|each| each.name.to_string()).collect(),
            }),
        }
    }
}

pub(crate) fn parse_signature(line: &str) -> Result<Signature, TextError> {
    let what = "a signature";
    let wrong = || TextError::new(what, "an em dash, a name and base64", quoted(line));
    let rest = line.strip_prefix(SIGNATURE_PREFIX).ok_or_else(wrong)?;
    let (name, bytes) = rest.split_once(' ').ok_or_else(wrong)?;
    let bytes = base64(what, bytes)?;
    let (id, bytes) = bytes.split_first_chunk::<ID_BYTES>().ok_or_else(wrong)?;
    if bytes.is_empty() {
        return Err(wrong());
    }
    Ok(Signature { name: KeyName::new(name)?, id: *id, bytes: bytes.to_vec() })
}

/// A note of this text with one signature.
///
/// # Errors
/// For a text that a note can't have: without an end of its last line, or with control characters.
pub fn sign(text: &str, signer: &Signer) -> Result<String, TextError> {
    let wrong = |found: &str| TextError::new("a note's text", "whole lines", found);
    if text.chars().any(|c| c < ' ' && c != '\n') {
        return Err(wrong("a control character"));
    }
    if !text.ends_with('\n') {
        return Err(wrong("a last line without an end"));
    }
    let mut bytes = signer.verifier().id().to_vec();
    bytes.extend(signer.sign(text.as_bytes()));
    let name = signer.verifier().name();
    Ok(format!("{text}\n{SIGNATURE_PREFIX}{name} {}\n", to_base64(&bytes)))
}
