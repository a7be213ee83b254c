//! One token: what is kept of it, and the secret that is told once.
//!
//! Invariant: what is kept says nothing of the secret. It is 256 random bits, so its plain SHA-256 can't be
//! turned back by trying.

use std::fmt;

use arrow_schema::{DataType, TimeUnit};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use subtle::{Choice, ConstantTimeEq};
use timestrata_engine::{Error, ErrorKind, Io, Result, duration_of_text};
use timestrata_table::parse_time;

use super::scope::{Right, Scope};
use super::scram::{SALT_BYTES, Verifier};

/// What all secrets begin with, so that tools that look for secrets in places where none belong find them.
const PREFIX: &str = "timestrata_";
const SECRET_BYTES: usize = 32;
const ID_BYTES: usize = 8;
/// Raised when an earlier build would take a token for something that it is not.
const FORMAT: u32 = 1;
const NAME_CHARS_MAX: usize = 100;
const SCOPES_MAX: usize = 100;

/// A secret that opens the door. It is told when a token is made, and nobody can find it out later.
#[derive(Clone)]
pub struct Secret(String);

impl Secret {
    fn random(io: &Io) -> Self {
        let mut bytes = [0; SECRET_BYTES];
        io.rng.fill(&mut bytes);
        Self(format!("{PREFIX}{}", URL_SAFE_NO_PAD.encode(bytes)))
    }

    /// The secret itself, to be told to whoever shall have it, and to nobody else.
    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(..)")
    }
}

/// The SHA-256 of a secret.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct SecretHash([u8; 32]);

impl SecretHash {
    pub(super) fn of(secret: &str) -> Self {
        Self(Sha256::digest(secret).into())
    }
}

impl ConstantTimeEq for SecretHash {
    fn ct_eq(&self, other: &Self) -> Choice {
        self.0.ct_eq(&other.0)
    }
}

/// What a token is to be.
///
/// ```
/// use timestrata_server::NewToken;
///
/// let token = NewToken::new("shipper", &["write:logs-*"])?;
/// assert!(NewToken::new("shipper", &[""; 0]).is_err());
/// # let _ = token;
/// # Ok::<(), timestrata_engine::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct NewToken {
    name: String,
    scopes: Vec<Scope>,
    expires_ns: Option<i64>,
}

impl NewToken {
    /// A token that never expires, by a name for people and the scopes that it has.
    ///
    /// # Errors
    /// `InvalidArgument` for a name that is empty, long or not of one line, without scopes, and for what is none.
    pub fn new(name: &str, scopes: &[impl AsRef<str>]) -> Result<Self> {
        let wrong = |why: &str| Err(Error::new(ErrorKind::InvalidArgument, why.to_owned()));
        let is_plain = !name.trim().is_empty()
            && name.chars().count() <= NAME_CHARS_MAX
            && !name.chars().any(char::is_control);
        if !is_plain {
            return wrong("a token's name says who has it, in at most 100 characters on one line");
        }
        if scopes.is_empty() || scopes.len() > SCOPES_MAX {
            return wrong(
                "a token has 1 to 100 scopes, such as read, write:orders or admin:logs-*",
            );
        }
        let scopes = scopes.iter().map(|scope| scope.as_ref().parse()).collect::<Result<_>>()?;
        Ok(Self { name: name.trim().to_owned(), scopes, expires_ns: None })
    }

    /// The same, which is good for so long (`30d`), or until that time (`2027-01-01`).
    ///
    /// ```
    /// use timestrata_server::NewToken;
    ///
    /// let token = NewToken::new("guest", &["read"])?;
    /// assert!(token.clone().expiring("12h", 0).is_ok());
    /// assert!(token.expiring("soon", 0).is_err());
    /// # Ok::<(), timestrata_engine::Error>(())
    /// ```
    ///
    /// # Errors
    /// `InvalidArgument` for what is neither.
    pub fn expiring(self, when: &str, now_ns: i64) -> Result<Self> {
        let wrong = || {
            let shown: String = when.chars().take(60).collect();
            let why = format!(
                "expires={shown}: it must be a duration such as 30d, or a time such as 2027-01-01"
            );
            Error::new(ErrorKind::InvalidArgument, why)
        };
        let until_ns = match duration_of_text(when) {
            Some(duration) => {
                let ns = i64::try_from(duration.as_nanos()).ok();
                ns.and_then(|ns| now_ns.checked_add(ns)).ok_or_else(wrong)?
            }
            None => parse_time(when, &DataType::Timestamp(TimeUnit::Nanosecond, None))
                .map_err(|_| wrong())?,
        };
        Ok(self.expiring_ns(until_ns))
    }

    /// The same, which is good until then, nanoseconds since 1970.
    #[must_use]
    pub(super) fn expiring_ns(self, expires_ns: i64) -> Self {
        Self { expires_ns: Some(expires_ns), ..self }
    }
}

/// What is known of a token. Its secret isn't.
#[derive(Debug, Clone)]
pub struct Token {
    id: String,
    name: String,
    scopes: Vec<Scope>,
    created_ns: i64,
    expires_ns: Option<i64>,
    kept: Kept,
}

/// What is kept of the secret; never shown.
#[derive(Clone)]
struct Kept {
    hash: SecretHash,
    verifier: Verifier,
}

impl fmt::Debug for Kept {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("..")
    }
}

/// A token's file.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Record {
    format: u32,
    id: String,
    name: String,
    created_ns: i64,
    expires_ns: Option<i64>,
    scopes: Vec<String>,
    sha256: String,
    scram_sha_256: Verifier,
}

impl Token {
    pub(super) fn make(io: &Io, new: NewToken) -> (Self, Secret) {
        let secret = Secret::random(io);
        let (mut id, mut salt) = ([0; ID_BYTES], [0; SALT_BYTES]);
        io.rng.fill(&mut id);
        io.rng.fill(&mut salt);
        let kept = Kept {
            hash: SecretHash::of(secret.reveal()),
            verifier: Verifier::new(secret.reveal(), salt),
        };
        let NewToken { name, scopes, expires_ns } = new;
        let created_ns = io.clock.wall_ns();
        (Self { id: hex(&id), name, scopes, created_ns, expires_ns, kept }, secret)
    }

    /// What a command and a path call it by: 16 hexadecimal digits.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Whose it is, as whoever made it said.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What it gives.
    #[must_use]
    pub fn scopes(&self) -> &[Scope] {
        &self.scopes
    }

    /// When it was made, nanoseconds since 1970.
    #[must_use]
    pub fn created_ns(&self) -> i64 {
        self.created_ns
    }

    /// Until when it is good, nanoseconds since 1970; `None`: until it is revoked.
    #[must_use]
    pub fn expires_ns(&self) -> Option<i64> {
        self.expires_ns
    }

    /// Whether it was good until a time that is over.
    #[must_use]
    pub fn has_expired(&self, now_ns: i64) -> bool {
        self.expires_ns.is_some_and(|expires_ns| expires_ns <= now_ns)
    }

    /// Whether it gives a right over a stream; over the whole store where none is named.
    #[must_use]
    pub fn gives(&self, right: Right, stream: Option<&str>) -> bool {
        self.scopes.iter().any(|scope| scope.gives(right, stream))
    }

    pub(super) fn hash(&self) -> &SecretHash {
        &self.kept.hash
    }

    pub(super) fn to_text(&self) -> Result<String> {
        let record = Record {
            format: FORMAT,
            id: self.id.clone(),
            name: self.name.clone(),
            created_ns: self.created_ns,
            expires_ns: self.expires_ns,
            scopes: self.scopes.iter().map(ToString::to_string).collect(),
            sha256: hex(&self.kept.hash.0),
            scram_sha_256: self.kept.verifier.clone(),
        };
        let text = serde_json::to_string_pretty(&record);
        text.map(|text| text + "\n").map_err(|error| {
            Error::new(ErrorKind::InvalidArgument, "a token can't be written").caused_by(error)
        })
    }

    /// A token as a file has it. The file is input: nothing of it is taken on trust, and an error says
    /// nothing of its secrets.
    pub(super) fn from_text(text: &[u8], id: &str) -> std::result::Result<Self, String> {
        // Serde would tell the value that is wrong.
        let record: Record = serde_json::from_slice(text).map_err(|error| {
            format!("it is no token: line {}, column {}", error.line(), error.column())
        })?;
        if record.format != FORMAT {
            return Err(format!("its format is {}, and this build knows {FORMAT}", record.format));
        }
        if record.id != id {
            return Err("its id is not that of its file's name".to_owned());
        }
        let hash = from_hex(&record.sha256).ok_or("its sha256 is none")?;
        let scopes = record.scopes.iter().map(|scope| scope.parse());
        let scopes: Vec<Scope> =
            scopes.collect::<Result<_>>().map_err(|error| error.message().to_owned())?;
        Ok(Self {
            id: record.id,
            name: record.name,
            scopes,
            created_ns: record.created_ns,
            expires_ns: record.expires_ns,
            kept: Kept { hash: SecretHash(hash), verifier: record.scram_sha_256 },
        })
    }
}

/// Whether it is what ids are: so it can be part of a file's name.
pub(super) fn is_id(text: &str) -> bool {
    text.len() == 2 * ID_BYTES
        && text.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b'a'..=b'f'))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn from_hex(text: &str) -> Option<[u8; 32]> {
    let mut bytes = [0; 32];
    let digits = text.as_bytes();
    if digits.len() != 2 * bytes.len() || !digits.is_ascii() {
        return None;
    }
    for (byte, pair) in bytes.iter_mut().zip(digits.chunks(2)) {
        let pair = std::str::from_utf8(pair).ok()?;
        *byte = u8::from_str_radix(pair, 16).ok()?;
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made() -> (Token, Secret) {
        let new = NewToken::new(" shipper ", &["write:logs-*", "read"]).unwrap();
        Token::make(&Io::memory(), new.expiring_ns(7))
    }

    #[test]
    fn a_token_is_read_as_it_was_written_and_its_file_does_not_hold_the_secret() {
        let (token, secret) = made();
        assert!(secret.reveal().starts_with("timestrata_") && secret.reveal().len() == 11 + 43);
        let text = token.to_text().unwrap();
        assert!(!text.contains(&secret.reveal()[11..]));
        let read = Token::from_text(text.as_bytes(), token.id()).unwrap();
        assert_eq!((read.name(), read.scopes()), ("shipper", token.scopes()));
        assert!(read.hash() == &SecretHash::of(secret.reveal()) && read.expires_ns() == Some(7));
        assert_eq!(read.kept.verifier, token.kept.verifier);
        assert!(read.has_expired(7) && !read.has_expired(6));
        let shown = format!("{read:?} {secret:?}");
        assert!(!shown.contains(secret.reveal()) && !shown.contains(&hex(&read.hash().0)));
    }

    #[test]
    fn a_file_that_is_cut_changed_or_another_s_is_no_token_and_told_without_its_secrets() {
        let (token, _) = made();
        let text = token.to_text().unwrap();
        for end in 0..text.trim_end().len() {
            assert!(Token::from_text(&text.as_bytes()[..end], token.id()).is_err(), "{end}");
        }
        let changed = [
            (text.clone(), "0".repeat(16)),
            (text.replace("\"format\": 1", "\"format\": 2"), token.id().to_owned()),
            (text.replace("write:logs-*", "wri:logs-*"), token.id().to_owned()),
            (text.replace("\"sha256\": \"", "\"sha256\": \"+"), token.id().to_owned()),
            (text.replace("\"sha256\"", "\"sha\""), token.id().to_owned()),
        ];
        for (text, id) in changed {
            let why = Token::from_text(text.as_bytes(), &id).unwrap_err();
            assert!(!why.contains(&hex(&token.hash().0)), "{why}");
        }
    }

    #[test]
    fn who_says_no_name_or_no_scope_gets_no_token() {
        for name in ["", " ", "a\nb", &"a".repeat(101)] {
            assert!(NewToken::new(name, &["read"]).is_err(), "{name:?}");
        }
        let none: [&str; 0] = [];
        assert!(NewToken::new("a", &none).is_err() && NewToken::new("a", &["all"]).is_err());
    }
}
