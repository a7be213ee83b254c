//! Cosignatures: what a witness says that it has seen of a log, and when (`c2sp.org/tlog-cosignature`, Ed25519), and how a
//! witness is asked for one (`c2sp.org/tlog-witness`).

use std::fmt;
use std::str::FromStr;

use ed25519_dalek::{Signature as KeySignature, VerifyingKey};

use crate::key::{COSIGNING, ID_BYTES, hexadecimal, id_of, parts};
use crate::note::{SIGNATURE_PREFIX, parse_signature};
use crate::text::{decimal, quoted, to_base64};
use crate::{Hash, KeyName, Note, NoteError, SIGNATURES_MAX, Signature, Signer, TextError};

/// Hashes of a proof that a witness is sent at most.
const HASHES_MAX: usize = 63;
/// The time before the signature itself.
const TIME_BYTES: usize = 8;

/// A witness that is trusted: its name and its public key. Its text is a *vkey* of kind 4.
///
/// ```
/// use timestrata_merkle::{KeyName, Note, Signer, Witness, sign};
///
/// # let log = Signer::from_seed(KeyName::new("example.org/log")?, [7; 32]);
/// # let key = Signer::from_seed(KeyName::new("witness.example")?, [8; 32]);
/// let note = sign("example.org/log\n0\n47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=\n", &log)?;
/// let witness: Witness = Witness::of(&key).to_string().parse()?;
/// let cosigned = format!("{note}{}", witness_line(&key, &note)?);
/// assert_eq!(witness.saw(&Note::parse(cosigned.as_bytes())?)?, 1_700_000_000);
/// # fn witness_line(key: &Signer, note: &str) -> Result<String, Box<dyn std::error::Error>> {
/// #     Ok(timestrata_merkle::cosign(&Note::parse(note.as_bytes())?, key, 1_700_000_000))
/// # }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Witness {
    name: KeyName,
    id: [u8; ID_BYTES],
    key: VerifyingKey,
}

impl Witness {
    /// What others know of a key that cosigns.
    #[must_use]
    pub fn of(signer: &Signer) -> Self {
        let (name, key) = (signer.verifier().name().clone(), signer.public());
        Self { id: id_of(COSIGNING, &name, &key), name, key }
    }

    /// The witness's name.
    #[must_use]
    pub fn name(&self) -> &KeyName {
        &self.name
    }

    /// When the witness has cosigned a note, in seconds since 1970: the last time, if it is there several times.
    ///
    /// # Errors
    /// Where no signature is by this witness, and where one in its name is wrong.
    pub fn saw(&self, note: &Note) -> Result<u64, NoteError> {
        let its = note.signatures().iter().filter(|each| self.claims(each));
        let mut last = None;
        for signature in its {
            let forged = || NoteError::Forged { name: self.name.to_string() };
            last = last.max(Some(self.time_of(note.text(), signature).ok_or_else(forged)?));
        }
        last.ok_or_else(|| NoteError::Unsigned {
            name: self.to_string(),
            signers: note.signatures().iter().map(|each| each.name.to_string()).collect(),
        })
    }

    /// Whether a signature says that it is by this witness.
    fn claims(&self, signature: &Signature) -> bool {
        signature.name == self.name && signature.id == self.id
    }

    /// When it was made, if it is this witness's of a text.
    fn time_of(&self, text: &str, signature: &Signature) -> Option<u64> {
        let (time, bytes) = signature.bytes.split_first_chunk::<TIME_BYTES>()?;
        let time = u64::from_be_bytes(*time);
        let signature = KeySignature::from_slice(bytes).ok()?;
        let is_time = i64::try_from(time).is_ok();
        let is_its = self.key.verify_strict(message(time, text).as_bytes(), &signature).is_ok();
        (is_time && is_its).then_some(time)
    }
}

/// What a cosignature is of.
fn message(time: u64, text: &str) -> String {
    format!("cosignature/v1\ntime {time}\n{text}")
}

impl FromStr for Witness {
    type Err = TextError;

    fn from_str(text: &str) -> Result<Self, TextError> {
        let what = "a witness's public key";
        let (name, id, key) = parts(what, COSIGNING, text)?;
        let key = VerifyingKey::from_bytes(&key)
            .map_err(|_| TextError::new(what, "a point of the curve", "other bytes"))?;
        let expected = id_of(COSIGNING, &name, &key);
        match expected == id {
            true => Ok(Self { name, id, key }),
            false => {
                let expected = format!("number {} for this name and key", hexadecimal(expected));
                Err(TextError::new(what, expected, hexadecimal(id)))
            }
        }
    }
}

/// The vkey.
impl fmt::Display for Witness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut key = vec![COSIGNING];
        key.extend(self.key.as_bytes());
        write!(f, "{}+{}+{}", self.name, hexadecimal(self.id), to_base64(&key))
    }
}

/// The line of a witness's signature of a note, made at a time in seconds since 1970. It is for the witness to have held the
/// note against what it knows.
#[must_use]
pub fn cosign(note: &Note, key: &Signer, time: u64) -> String {
    let witness = Witness::of(key);
    let mut bytes = witness.id.to_vec();
    bytes.extend(time.to_be_bytes());
    bytes.extend(key.sign(message(time, note.text()).as_bytes()));
    format!("{SIGNATURE_PREFIX}{} {}\n", witness.name, to_base64(&bytes))
}

/// What a witness is sent: the checkpoint, and the proof that it begins with one that the witness has seen.
///
/// ```
/// use timestrata_merkle::AddCheckpoint;
///
/// let asked = AddCheckpoint { old: 0, proof: Vec::new(), checkpoint: "note".to_owned() };
/// assert_eq!(asked.to_string(), "old 0\n\nnote");
/// assert_eq!(AddCheckpoint::parse("old 0\n\nnote")?, asked);
/// # Ok::<(), timestrata_merkle::TextError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AddCheckpoint {
    /// The size of the last checkpoint that the witness has cosigned; 0 of none.
    pub old: u64,
    /// The hashes from there to the checkpoint.
    pub proof: Vec<Hash>,
    /// The checkpoint, a signed note.
    pub checkpoint: String,
}

impl AddCheckpoint {
    /// Reads what was sent to a witness.
    ///
    /// # Errors
    /// For a text that is none.
    pub fn parse(text: &str) -> Result<Self, TextError> {
        let wrong = |found: &str| {
            TextError::new("a request to a witness", "'old', hashes, a blank line, a note", found)
        };
        let (head, checkpoint) = text.split_once("\n\n").ok_or_else(|| wrong("no blank line"))?;
        let mut lines = head.split('\n');
        let first = lines.next().unwrap_or_default();
        let old = first.strip_prefix("old ").ok_or_else(|| wrong(&quoted(first)))?;
        let proof = lines.map(Hash::from_base64).collect::<Result<Vec<_>, _>>()?;
        match proof.len() <= HASHES_MAX {
            true => Ok(Self {
                old: decimal("an old size", old)?,
                proof,
                checkpoint: checkpoint.to_owned(),
            }),
            false => Err(wrong("more than 63 hashes")),
        }
    }
}

/// The body of the request.
impl fmt::Display for AddCheckpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "old {}", self.old)?;
        self.proof.iter().try_for_each(|hash| writeln!(f, "{hash}"))?;
        write!(f, "\n{}", self.checkpoint)
    }
}

/// A note with those lines of a witness's answer that are cosignatures by one of these witnesses, and which of them there are
/// by then. Lines of others are left out; an older cosignature of the same witness makes room for a newer one.
///
/// # Errors
/// Where the note or the answer are none, and where a line in a witness's name is wrong.
pub fn with_cosignatures(
    note: &str,
    answer: &str,
    witnesses: &[Witness],
) -> Result<(String, Vec<KeyName>), NoteError> {
    let answered = Note::parse(format!("{note}{answer}").as_bytes())?;
    let mut seen = Vec::new();
    for witness in witnesses {
        match witness.saw(&answered) {
            Ok(time) => seen.push((witness, time)),
            Err(NoteError::Unsigned { .. }) => {}
            Err(wrong) => return Err(wrong),
        }
    }
    let own = Note::parse(note.as_bytes())?.signatures().len();
    let lines = note.lines().count() - own;
    let (mut kept, mut left) = (String::new(), seen.clone());
    let mut whole: Vec<&str> = note.lines().chain(answer.lines()).collect();
    let signatures = whole.split_off(lines.min(whole.len()));
    whole.iter().for_each(|line| kept.extend([line, "\n"]));
    for (place, line) in signatures.into_iter().enumerate() {
        let signature = parse_signature(line)?;
        let by = witnesses.iter().find(|witness| witness.claims(&signature));
        let is_kept = match by {
            // Those that the note has from elsewhere stay; those of strangers aren't taken in.
            None => place < own,
            Some(by) => {
                let time = by.time_of(answered.text(), &signature);
                let last = left.iter().position(|(of, at)| *of == by && Some(*at) == time);
                last.map(|last| left.remove(last)).is_some()
            }
        };
        if is_kept {
            kept.extend([line, "\n"]);
        }
    }
    if Note::parse(kept.as_bytes())?.signatures().len() > SIGNATURES_MAX {
        return Err(TextError::new("a signed note", "fewer signatures", "too many").into());
    }
    Ok((kept, seen.into_iter().map(|(witness, _)| witness.name.clone()).collect()))
}
