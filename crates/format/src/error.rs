//! Why bytes could not be understood.

use std::fmt;

/// Bytes that are not what they should be: where, what was expected, what was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DecodeError {
    /// Byte offset in the input where it went wrong.
    pub offset: u64,
    /// What stands at that place by the format, as a noun: "frame checksum".
    pub what: &'static str,
    /// What was expected, in words or as a number.
    pub expected: String,
    /// What was found.
    pub found: String,
}

impl DecodeError {
    /// An error at `offset`.
    pub fn new(
        offset: u64,
        what: &'static str,
        expected: impl fmt::Display,
        found: impl fmt::Display,
    ) -> Self {
        Self { offset, what, expected: expected.to_string(), found: found.to_string() }
    }

    /// The same error in an input that begins `base` bytes earlier.
    #[must_use]
    pub fn shifted(mut self, base: u64) -> Self {
        self.offset = self.offset.saturating_add(base);
        self
    }
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} at byte {}: expected {}, found {}",
            self.what, self.offset, self.expected, self.found
        )
    }
}

impl std::error::Error for DecodeError {}
