//! The forms of log lines that are known, by name.

use std::fmt;
use std::str::FromStr;

use timestrata_engine::{Error, ErrorKind};

/// How lines of a log are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
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
}

impl Format {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::Json, Self::Logfmt, Self::Access, Self::Syslog, Self::Journal, Self::Plain];

    /// Its name, in lower case.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Json => "json",
            Self::Logfmt => "logfmt",
            Self::Access => "access",
            Self::Syslog => "syslog",
            Self::Journal => "journal",
            Self::Plain => "plain",
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Format {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        Self::ALL.into_iter().find(|format| format.name().eq_ignore_ascii_case(text)).ok_or_else(
            || {
                let shown: String = text.chars().take(40).collect();
                let names = Self::ALL.map(Self::name).join(", ");
                let message = format!("format of logs {shown:?}: must be one of {names}");
                Error::new(ErrorKind::InvalidArgument, message)
            },
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_are_read_by_their_names_in_any_case() {
        for format in Format::ALL {
            assert_eq!(format.to_string().to_uppercase().parse::<Format>().unwrap(), format);
        }
        let error = "xml".parse::<Format>().unwrap_err().to_string();
        assert!(error.contains("\"xml\"") && error.contains("json, logfmt, access"), "{error}");
    }
}
