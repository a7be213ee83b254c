//! How compacted runs of a stream are packed, where its owner does not leave that to the engine.

use std::fmt;
use std::str::FromStr;

use crate::{Error, ErrorKind};

/// The property that says how compacted Parquet runs of a stream are packed: the text of a
/// [`RunCompression`]. It tells of runs that are written from then on; those that are there stay as they are.
pub const COMPRESSION_PROPERTY: &str = "compression";

/// Levels of ZSTD.
const LEVELS: std::ops::RangeInclusive<u8> = 1..=22;

/// What packs the columns of compacted Parquet runs. Columns that packing makes hardly smaller are left
/// as they are encoded, whatever is chosen.
///
/// As text it is `zstd`, `zstd:LEVEL` (1 to 22), `lz4` or `none`.
///
/// ```
/// use timestrata_engine::RunCompression;
///
/// assert_eq!("zstd:9".parse::<RunCompression>()?, RunCompression::Zstd(9));
/// assert_eq!(RunCompression::default().to_string(), "zstd");
/// assert!("zip".parse::<RunCompression>().is_err());
/// # Ok::<(), timestrata_engine::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum RunCompression {
    /// ZSTD at the level that suits: 3, or 6 for streams whose words are searched.
    #[default]
    Usual,
    /// ZSTD at a level: more takes less room, and longer to write. Reading takes as long at each.
    Zstd(u8),
    /// LZ4, which is unpacked sooner and takes more room.
    Lz4,
    /// Nothing: columns are encoded, and not packed.
    None,
}

impl fmt::Display for RunCompression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Usual => f.write_str("zstd"),
            Self::Zstd(level) => write!(f, "zstd:{level}"),
            Self::Lz4 => f.write_str("lz4"),
            Self::None => f.write_str("none"),
        }
    }
}

impl FromStr for RunCompression {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let level = text.strip_prefix("zstd:").and_then(|level| level.parse().ok());
        match (text, level.filter(|level| LEVELS.contains(level))) {
            (_, Some(level)) => Ok(Self::Zstd(level)),
            ("zstd", _) => Ok(Self::Usual),
            ("lz4", _) => Ok(Self::Lz4),
            ("none", _) => Ok(Self::None),
            _ => {
                let shown: String = text.chars().take(40).collect();
                let message = format!(
                    "compression {shown:?}: it must be zstd, zstd:LEVEL with a level from {} to {}, lz4 or none",
                    LEVELS.start(),
                    LEVELS.end()
                );
                Err(Error::new(ErrorKind::InvalidArgument, message))
            }
        }
    }
}

impl RunCompression {
    /// Properties of a stream with this one in them; the usual one needs none.
    #[must_use]
    pub fn in_properties(self, mut properties: Vec<(String, String)>) -> Vec<(String, String)> {
        properties.retain(|(key, _)| key != COMPRESSION_PROPERTY);
        if self != Self::Usual {
            properties.push((COMPRESSION_PROPERTY.to_owned(), self.to_string()));
        }
        properties
    }
}
