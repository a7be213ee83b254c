//! What a text should have been.

use std::fmt;

/// A text or some bytes that are not what they should be.
///
/// ```
/// use timestrata_merkle::Hash;
///
/// let error = Hash::from_base64("no hash").unwrap_err();
/// assert_eq!((error.what, error.expected.as_str()), ("a hash", "base64 of 32 bytes"));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextError {
    /// What stands at that place by the standard, as a noun: "a tree size".
    pub what: &'static str,
    /// What was expected.
    pub expected: String,
    /// What was found.
    pub found: String,
}

impl TextError {
    pub(crate) fn new(
        what: &'static str,
        expected: impl fmt::Display,
        found: impl fmt::Display,
    ) -> Self {
        Self { what, expected: expected.to_string(), found: found.to_string() }
    }
}

impl fmt::Display for TextError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: expected {}, found {}", self.what, self.expected, self.found)
    }
}

impl std::error::Error for TextError {}
