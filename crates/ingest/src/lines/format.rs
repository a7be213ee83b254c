//! The forms of log lines that are known, by name.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use timestrata_engine::Error;

use super::patterns::{LogFormats, Pattern};

/// How lines of a log are written.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Format {
    /// A JSON object a line.
    Json,
    /// `key=value` pairs.
    Logfmt,
    /// Requests, in the common or the combined format of Apache httpd and nginx.
    Access,
    /// Syslog: RFC 5424, RFC 3164, and what daemons write to files.
    Syslog,
    /// The journal's export format, `journalctl -o export`.
    Journal,
    /// Any text, with or without a time and a level in front.
    Plain,
    /// What a table of formats says: see [`LogFormats`].
    Pattern(Arc<Pattern>),
}

impl Format {
    /// Those that are read by code of their own.
    pub const CODED: [Self; 6] =
        [Self::Json, Self::Logfmt, Self::Access, Self::Syslog, Self::Journal, Self::Plain];

    /// Its name, in lower case.
    pub fn name(&self) -> &str {
        match self {
            Self::Json => "json",
            Self::Logfmt => "logfmt",
            Self::Access => "access",
            Self::Syslog => "syslog",
            Self::Journal => "journal",
            Self::Plain => "plain",
            Self::Pattern(pattern) => pattern.name(),
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// One of those that are [known](LogFormats::known) without a file.
impl FromStr for Format {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        LogFormats::known().find(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_are_read_by_their_names_in_any_case() {
        for name in LogFormats::known().names() {
            assert_eq!(name.to_uppercase().parse::<Format>().unwrap().name(), name);
        }
        let error = "xml".parse::<Format>().unwrap_err().to_string();
        assert!(error.contains("\"xml\"") && error.contains("json, logfmt, access"), "{error}");
    }
}
