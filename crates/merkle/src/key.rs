//! Ed25519 keys with a name, in the texts that `c2sp.org/signed-note` and Go's
//! `golang.org/x/mod/sumdb/note` give them.

use std::fmt;
use std::str::FromStr;

use ed25519_dalek::{Signature, Signer as _, SigningKey, VerifyingKey};

use crate::text::{base64, quoted, to_base64};
use crate::{Hash, TextError};

/// Says that a key is of Ed25519, and signs notes.
const ALGORITHM: u8 = 1;
/// Says that a key is of Ed25519, and signs checkpoints of others with the time.
pub(crate) const COSIGNING: u8 = 4;
/// Length of a seed and of a public key.
const KEY_BYTES: usize = 32;
/// Length of the short number by which signatures name their key.
pub(crate) const ID_BYTES: usize = 4;
/// What private keys begin with.
const PRIVATE_PREFIX: &str = "PRIVATE+KEY+";

/// The name of a key: not empty, without spaces, plus signs and control characters.
///
/// ```
/// use timestrata_merkle::KeyName;
///
/// assert!(KeyName::new("example.org/log").is_ok());
/// assert!(KeyName::new("two words").is_err());
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct KeyName(String);

impl KeyName {
    /// A name for a key.
    ///
    /// # Errors
    /// For a name that a note couldn't hold.
    pub fn new(name: &str) -> Result<Self, TextError> {
        let is_plain = |c: char| !c.is_whitespace() && !c.is_control() && c != '+';
        match !name.is_empty() && name.chars().all(is_plain) {
            true => Ok(Self(name.to_owned())),
            false => Err(TextError::new(
                "a key's name",
                "some characters, none of them a space, a plus sign or a control character",
                quoted(name),
            )),
        }
    }

    /// The name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for KeyName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What a public key and a name are known by in signatures.
pub(crate) fn id_of(kind: u8, name: &KeyName, public: &VerifyingKey) -> [u8; ID_BYTES] {
    let mut bytes = name.as_str().as_bytes().to_vec();
    bytes.extend([b'\n', kind]);
    bytes.extend(public.as_bytes());
    let [a, b, c, d, ..] = Hash::of_bytes(&bytes).0;
    [a, b, c, d]
}

/// The parts of a key's text of one kind: name, number, and the key's bytes.
pub(crate) fn parts(
    what: &'static str,
    kind: u8,
    text: &str,
) -> Result<(KeyName, [u8; ID_BYTES], [u8; KEY_BYTES]), TextError> {
    // A key may be secret: the error doesn't repeat it.
    let wrong = |found: &str| TextError::new(what, "NAME+NUMBER+BASE64", found);
    let mut parts = text.splitn(3, '+');
    let (Some(name), Some(id), Some(key)) = (parts.next(), parts.next(), parts.next()) else {
        return Err(wrong("fewer than three parts"));
    };
    let is_hex = id.len() == 2 * ID_BYTES && id.bytes().all(|b| b.is_ascii_hexdigit());
    let id = u32::from_str_radix(id, 16).ok().filter(|_| is_hex);
    let id = id.ok_or_else(|| wrong("a number that isn't eight hexadecimal digits"))?;
    let key = base64(what, key).map_err(|_| wrong("a key that isn't base64"))?;
    match key.split_first() {
        Some((&found, key)) if found == kind => {
            let key = key.try_into().map_err(|_| wrong("an Ed25519 key of another length"))?;
            Ok((KeyName::new(name)?, id.to_be_bytes(), key))
        }
        Some((other, _)) => Err(TextError::new(
            what,
            format!("an Ed25519 key, which begins with byte {kind}"),
            format!("a key of kind {other}"),
        )),
        None => Err(wrong("an empty key")),
    }
}

pub(crate) fn hexadecimal(id: [u8; ID_BYTES]) -> String {
    format!("{:08x}", u32::from_be_bytes(id))
}

/// Who believes notes: a public key and its name. Its text is a *vkey*.
///
/// ```
/// use timestrata_merkle::{KeyName, Signer, Verifier};
///
/// # let signer = Signer::from_seed(KeyName::new("example.org/log")?, [7; 32]);
/// let text = signer.verifier().to_string();
/// let verifier: Verifier = text.parse()?;
/// assert_eq!(verifier.name().as_str(), "example.org/log");
/// # Ok::<(), timestrata_merkle::TextError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verifier {
    name: KeyName,
    id: [u8; ID_BYTES],
    key: VerifyingKey,
}

impl Verifier {
    /// The key's name.
    #[must_use]
    pub fn name(&self) -> &KeyName {
        &self.name
    }

    /// The same key under another name, as a log's key should have the name of the log.
    #[must_use]
    pub fn named(&self, name: KeyName) -> Self {
        let id = id_of(ALGORITHM, &name, &self.key);
        Self { name, id, key: self.key }
    }

    /// What signatures name it by, with the name.
    #[must_use]
    pub fn id(&self) -> [u8; ID_BYTES] {
        self.id
    }

    /// Whether these bytes are this key's signature of the message. Weak keys and signatures that
    /// others could have made from it count as none.
    #[must_use]
    pub fn accepts(&self, message: &[u8], signature: &[u8]) -> bool {
        Signature::from_slice(signature)
            .is_ok_and(|signature| self.key.verify_strict(message, &signature).is_ok())
    }
}

impl FromStr for Verifier {
    type Err = TextError;

    fn from_str(text: &str) -> Result<Self, TextError> {
        let what = "a public key";
        if text.starts_with(PRIVATE_PREFIX) {
            return Err(TextError::new(what, "NAME+NUMBER+BASE64", "a private key"));
        }
        let (name, id, key) = parts(what, ALGORITHM, text)?;
        let wrong = |found: &str| TextError::new(what, "a point of the curve", found);
        let key = VerifyingKey::from_bytes(&key).map_err(|_| wrong("other bytes"))?;
        match id_of(ALGORITHM, &name, &key) == id {
            true => Ok(Self { name, id, key }),
            false => Err(TextError::new(
                what,
                format!(
                    "number {} for this name and key",
                    hexadecimal(id_of(ALGORITHM, &name, &key))
                ),
                hexadecimal(id),
            )),
        }
    }
}

/// The vkey.
impl fmt::Display for Verifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut key = vec![ALGORITHM];
        key.extend(self.key.as_bytes());
        write!(f, "{}+{}+{}", self.name, hexadecimal(self.id), to_base64(&key))
    }
}

/// Who signs notes: a private key and its name.
///
/// ```
/// use timestrata_merkle::{KeyName, Signer};
///
/// // A real seed is random, and kept secret.
/// let signer = Signer::from_seed(KeyName::new("example.org/log")?, [7; 32]);
/// let signature = signer.sign(b"message");
/// assert!(signer.verifier().accepts(b"message", &signature));
/// # Ok::<(), timestrata_merkle::TextError>(())
/// ```
#[derive(Clone)]
pub struct Signer {
    key: SigningKey,
    verifier: Verifier,
}

impl Signer {
    /// The key that a random seed makes.
    #[must_use]
    pub fn from_seed(name: KeyName, seed: [u8; KEY_BYTES]) -> Self {
        let key = SigningKey::from_bytes(&seed);
        let public = key.verifying_key();
        let id = id_of(ALGORITHM, &name, &public);
        Self { key, verifier: Verifier { name, id, key: public } }
    }

    /// The same key under another name.
    #[must_use]
    pub fn named(&self, name: KeyName) -> Self {
        Self { key: self.key.clone(), verifier: self.verifier.named(name) }
    }

    /// Its public half.
    #[must_use]
    pub fn verifier(&self) -> &Verifier {
        &self.verifier
    }

    /// The private key as text, to be kept secret.
    #[must_use]
    pub fn secret_text(&self) -> String {
        let mut key = vec![ALGORITHM];
        key.extend(self.key.as_bytes());
        let Verifier { name, id, .. } = &self.verifier;
        format!("{PRIVATE_PREFIX}{name}+{}+{}", hexadecimal(*id), to_base64(&key))
    }

    /// The public key alone.
    pub(crate) fn public(&self) -> VerifyingKey {
        self.verifier.key
    }

    /// The key's signature of a message, 64 bytes.
    #[must_use]
    pub fn sign(&self, message: &[u8]) -> Vec<u8> {
        self.key.sign(message).to_bytes().to_vec()
    }
}

impl FromStr for Signer {
    type Err = TextError;

    fn from_str(text: &str) -> Result<Self, TextError> {
        let what = "a private key";
        let rest = text.strip_prefix(PRIVATE_PREFIX).ok_or_else(|| {
            TextError::new(what, format!("a text that begins with {PRIVATE_PREFIX}"), "another")
        })?;
        let (name, id, seed) = parts(what, ALGORITHM, rest)?;
        let signer = Self::from_seed(name, seed);
        match signer.verifier.id == id {
            true => Ok(signer),
            false => Err(TextError::new(what, "the number of its name and key", "another number")),
        }
    }
}

/// Without the key.
impl fmt::Debug for Signer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Signer").field("verifier", &self.verifier).finish_non_exhaustive()
    }
}
