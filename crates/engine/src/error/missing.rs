//! Which rows can't be read for a damage.

use std::fmt;
use std::path::PathBuf;

use timestrata_format::LeadKey;

/// Rows that can't be read, because a block of a run or a whole run is damaged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MissingRange {
    /// The stream's name.
    pub stream: String,
    /// Smallest leading key of the rows. Others with this key may be there.
    pub key_min: LeadKey,
    /// Greatest leading key of the rows (inclusive).
    pub key_max: LeadKey,
    /// How many rows the damaged block or run has.
    pub rows: u64,
    /// The damaged file.
    pub file: PathBuf,
    /// Where the damage begins in it, in bytes, as far as that is known.
    pub offset: u64,
    /// What is wrong.
    pub why: String,
}

impl fmt::Display for MissingRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} rows of stream '{}' with keys {} to {}: {} [{}, byte {}]",
            self.rows,
            self.stream,
            self.key_min,
            self.key_max,
            self.why,
            self.file.display(),
            self.offset
        )
    }
}
