//! What was read and what was left out, and the messages about rows that do not fit.

use std::fmt;

use timestrata_engine::{Error, ErrorKind};
use timestrata_values::spelling::Spelling;

/// Rows left out that a report lists; the others it only counts.
pub const SKIPS_LISTED_MAX: usize = 100;
/// Characters of a value that a message shows.
const VALUE_CHARS_MAX: usize = 60;

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
    /// Whether it is a row with fewer fields than there are columns.
    pub(super) is_short: bool,
    /// Whether it is one with more.
    pub(super) is_long: bool,
}

impl BadRow {
    /// A value that does not fit.
    pub(super) fn value(place: Place, column: &str, value: &[u8], why: impl Into<String>) -> Self {
        Self {
            place,
            column: shorten(column.as_bytes()),
            value: shorten(value),
            why: why.into(),
            is_short: false,
            is_long: false,
        }
    }

    /// A row that can't be taken apart.
    pub(super) fn row(place: Place, why: impl Into<String>) -> Self {
        Self::value(place, "", b"", why)
    }

    /// The error that ends reading `input`, and what can be done about it.
    pub(super) fn into_error(self, input: &str, advice: &Advice) -> Error {
        invalid(input, format!("{self}; {}", advice.about(&self)))
    }
}

/// What those can do who meet a row that doesn't fit, in their own spelling.
#[derive(Debug, Clone, Default)]
pub(super) struct Advice {
    pub(super) spelling: Spelling,
    /// The time column.
    pub(super) time: Option<String>,
    /// Columns whose types are those of a table.
    pub(super) fixed: Vec<String>,
    /// Whether nulls can be declared: other forms than text have their own.
    pub(super) has_null_text: bool,
}

impl Advice {
    /// What to do if the first line isn't that of the names.
    pub(super) fn about_names(&self) -> String {
        let (none, lines) =
            (self.spelling.no_header(), self.spelling.option("skip_lines", "LINES"));
        format!(
            "if the first line doesn't name the columns, say so ({none}) or leave it out ({lines})"
        )
    }

    fn about(&self, bad: &BadRow) -> String {
        let mut ways = vec!["mend it".to_owned()];
        let is_of_column = !bad.column.is_empty();
        if bad.why.contains("UTF-8") {
            let encoding = self.spelling.option("encoding", "windows-1252");
            return format!("say how the text is encoded ({encoding})");
        }
        if self.time.as_ref() == Some(&bad.column) {
            let format = self.spelling.option("time_format", "FORMAT");
            ways.push(format!("say how times are written ({format})"));
        } else if is_of_column {
            if self.has_null_text && !bad.value.is_empty() {
                let value = if bad.value.contains(['\'', '\\']) { "TEXT" } else { &bad.value };
                let null_text = self.spelling.option("null_text", value);
                ways.push(format!("say that it stands for no value ({null_text})"));
            }
            if self.fixed.contains(&bad.column) {
                let widen = self.spelling.option("on_mismatch", "widen");
                ways.push(format!("widen the column ({widen})"));
            }
        } else if bad.is_short {
            let fill = self.spelling.switch("fill_short_rows");
            ways.push(format!("have short rows filled ({fill})"));
        } else if bad.is_long {
            ways.push(self.about_names());
        }
        let skip = self.spelling.option("on_error", "skip");
        format!("{}, or skip such rows ({skip})", ways.join(", "))
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
