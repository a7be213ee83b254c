//! Reads every byte of a store and says what is wrong and where.

use std::path::{Path, PathBuf};

use timestrata_io::Io;

use crate::Result;

/// One thing that is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The file.
    pub path: PathBuf,
    /// Where in it, if known.
    pub offset: Option<u64>,
    /// What is wrong.
    pub message: String,
    /// Whether data may be lost or wrong (false: a stray file, a torn tail that recovery cuts).
    pub is_damage: bool,
}

/// What `check` read and found.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CheckReport {
    /// Files read.
    pub files: u64,
    /// Bytes read.
    pub bytes: u64,
    /// Rows decoded.
    pub rows: u64,
    /// What is wrong.
    pub findings: Vec<Finding>,
}

impl CheckReport {
    /// Whether nothing is damaged.
    pub fn is_sound(&self) -> bool {
        !self.findings.iter().any(|finding| finding.is_damage)
    }
}

/// Checks the store in `dir` without changing a byte; needs no lock.
///
/// # Errors
/// `NotFound` or `NotAStore` if there is no store; damage is in the report, not an error.
pub fn check(io: &Io, dir: &Path) -> Result<CheckReport> {
    let _ = (io, dir);
    todo!()
}
