//! What was read and what was left out, and the messages about rows that do not fit.

use std::fmt;

use timestrata_engine::{Error, ErrorKind};

/// Rows left out that a report lists; the others it only counts.
pub const SKIPS_LISTED_MAX: usize = 100;
/// Characters of a value that a message shows.
const VALUE_CHARS_MAX: usize = 60;
const ADVICE: &str = "mend it, declare or widen the column's type, or skip such rows";

/// What a [`Source`](super::Source) has read so far.
#[derive(Debug, Clone, Default)]
pub struct ReadReport {
    /// Rows given out.
    pub rows: u64,
    /// Rows left out.
    pub skipped: u64,
    /// The first of those, at most [`SKIPS_LISTED_MAX`].
    pub skips: Vec<BadRow>,
    /// Bytes read from the input, packed as they were.
    pub bytes_read: u64,
}

impl ReadReport {
    pub(super) fn skip(&mut self, rows: impl IntoIterator<Item = BadRow>) {
        for row in rows {
            self.skipped += 1;
            if self.skips.len() < SKIPS_LISTED_MAX {
                self.skips.push(row);
            }
        }
    }
}

/// Where a row stands in its input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    /// On this line of the text, from 1.
    Line(u64),
    /// The row of this number, from 1.
    Row(u64),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Line(line) => write!(f, "line {line}"),
            Self::Row(row) => write!(f, "row {row}"),
        }
    }
}

/// A row that does not fit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadRow {
    /// Where it is.
    pub place: Place,
    /// The column of the value; empty if the row as a whole is malformed.
    pub column: String,
    /// The value as it stands there, shortened.
    pub value: String,
    /// What is wrong with it.
    pub why: String,
}

impl BadRow {
    /// A value that does not fit.
    pub(super) fn value(place: Place, column: &str, value: &[u8], why: impl Into<String>) -> Self {
        Self { place, column: shorten(column.as_bytes()), value: shorten(value), why: why.into() }
    }

    /// A row that can't be taken apart.
    pub(super) fn row(place: Place, why: impl Into<String>) -> Self {
        Self::value(place, "", b"", why)
    }

    /// The error that ends reading `input`.
    pub(super) fn into_error(self, input: &str) -> Error {
        invalid(input, format!("{self}; {ADVICE}"))
    }
}

impl fmt::Display for BadRow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.place)?;
        if !self.column.is_empty() {
            write!(f, ", column '{}': '{}'", self.column, self.value)?;
        } else if !self.value.is_empty() {
            write!(f, ": '{}'", self.value)?;
        } else {
            f.write_str(":")?;
        }
        write!(f, " {}", self.why)
    }
}

/// Data that can't be read, in an input of this name.
pub(super) fn invalid(input: &str, message: impl Into<String>) -> Error {
    Error::new(ErrorKind::InvalidData, message).at(input)
}

/// The beginning of a value, fit for a message.
pub(super) fn shorten(value: &[u8]) -> String {
    let start = value.get(..VALUE_CHARS_MAX * 4).unwrap_or(value);
    let text = String::from_utf8_lossy(start);
    let mut shown: String = text.chars().take(VALUE_CHARS_MAX).collect();
    if shown.len() < text.len() || start.len() < value.len() {
        shown.push_str("...");
    }
    if shown.contains(char::is_control) { shown.escape_debug().to_string() } else { shown }
}
