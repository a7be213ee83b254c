//! What a time log's values and timestamps are: the words kept in the stream's properties.

use std::fmt;
use std::str::FromStr;

use arrow_schema::TimeUnit;
use serde::Serialize;
use serde::de::DeserializeOwned;
use timestrata_engine::{Error, ErrorKind, Result};
use timestrata_values::instant::per_second;
use timestrata_values::name::of_word;

/// What the values of a time log are.
///
/// ```
/// use timestrata_timelog::Codec;
///
/// assert_eq!("cbor".parse::<Codec>()?, Codec::Cbor);
/// assert!("xml".parse::<Codec>().unwrap_err().to_string().contains("must be 'bytes', 'cbor'"));
/// # Ok::<(), timestrata_engine::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Codec {
    /// Bytes that only the caller understands.
    #[default]
    Bytes,
    /// One CBOR item (RFC 8949) a value.
    Cbor,
    /// One JSON text (RFC 8259) a value.
    Json,
    /// Arrow columns: a value is of one type, or a record of several; see
    /// [`ValueColumns`](super::ValueColumns).
    Arrow,
    /// What Python's pickle makes. Reading it runs what is in it, so it is only read where it is
    /// asked for by name.
    Pickle,
}

impl Codec {
    const WORDS: [(&'static str, Self); 5] = [
        ("bytes", Self::Bytes),
        ("cbor", Self::Cbor),
        ("json", Self::Json),
        ("arrow", Self::Arrow),
        ("pickle", Self::Pickle),
    ];

    /// The word for it: `bytes`, `cbor`, `json`, `arrow` or `pickle`.
    pub fn name(self) -> &'static str {
        Self::WORDS.into_iter().find(|(_, codec)| *codec == self).map_or("", |(word, _)| word)
    }
}

impl fmt::Display for Codec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Codec {
    type Err = Error;

    fn from_str(word: &str) -> Result<Self> {
        of_word("codec", word, &Self::WORDS)
    }
}

/// The unit of a time log's timestamps, which count from 1970-01-01 UTC.
///
/// ```
/// use timestrata_timelog::Unit;
///
/// assert_eq!("us".parse::<Unit>()?.per_second(), 1_000_000);
/// assert_eq!(Unit::Nano.to_string(), "ns");
/// # Ok::<(), timestrata_engine::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Unit {
    /// Seconds.
    Second,
    /// Milliseconds.
    #[default]
    Milli,
    /// Microseconds.
    Micro,
    /// Nanoseconds.
    Nano,
}

impl Unit {
    const WORDS: [(&'static str, Self); 4] =
        [("s", Self::Second), ("ms", Self::Milli), ("us", Self::Micro), ("ns", Self::Nano)];

    /// The word for it: `s`, `ms`, `us` or `ns`.
    pub fn name(self) -> &'static str {
        Self::WORDS.into_iter().find(|(_, unit)| *unit == self).map_or("", |(word, _)| word)
    }

    /// How many make a second.
    pub fn per_second(self) -> i64 {
        per_second(self.to_arrow())
    }

    /// Arrow's word for it.
    pub fn to_arrow(self) -> TimeUnit {
        match self {
            Self::Second => TimeUnit::Second,
            Self::Milli => TimeUnit::Millisecond,
            Self::Micro => TimeUnit::Microsecond,
            Self::Nano => TimeUnit::Nanosecond,
        }
    }
}

impl From<TimeUnit> for Unit {
    fn from(unit: TimeUnit) -> Self {
        match unit {
            TimeUnit::Second => Self::Second,
            TimeUnit::Millisecond => Self::Milli,
            TimeUnit::Microsecond => Self::Micro,
            TimeUnit::Nanosecond => Self::Nano,
        }
    }
}

impl fmt::Display for Unit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Unit {
    type Err = Error;

    fn from_str(word: &str) -> Result<Self> {
        of_word("time unit", word, &Self::WORDS)
    }
}

/// Appends the CBOR form of `value` to `bytes`; on an error `bytes` is as it was.
pub(super) fn encode_cbor<T: Serialize + ?Sized>(value: &T, bytes: &mut Vec<u8>) -> Result<()> {
    let start = bytes.len();
    ciborium::into_writer(value, &mut *bytes).map_err(|cause| {
        bytes.truncate(start);
        Error::new(ErrorKind::InvalidData, format!("the value has no CBOR form: {cause}"))
    })
}

/// Reads one CBOR item that takes all of `bytes`.
pub(super) fn decode_cbor<T: DeserializeOwned>(bytes: &[u8]) -> std::result::Result<T, String> {
    let mut rest = bytes;
    let value = ciborium::from_reader(&mut rest).map_err(|cause| match cause {
        ciborium::de::Error::Io(_) => "the CBOR ends too early".to_owned(),
        ciborium::de::Error::Syntax(offset) => format!("not CBOR at byte {offset}"),
        ciborium::de::Error::Semantic(Some(offset), message) => {
            format!("{message} (at byte {offset})")
        }
        ciborium::de::Error::Semantic(None, message) => message,
        ciborium::de::Error::RecursionLimitExceeded => "the CBOR is nested too deeply".to_owned(),
    })?;
    if rest.is_empty() {
        Ok(value)
    } else {
        Err(format!("{} bytes follow the CBOR item", rest.len()))
    }
}
