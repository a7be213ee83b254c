//! What a token may do, and with which streams: `read`, `write:orders`, `admin:logs-*`.
//!
//! `write` doesn't hold `read`: who sends logs need not read any. `admin` holds both.

use std::fmt;
use std::str::FromStr;

use timestrata_engine::{Error, ErrorKind, Result};

/// Longest name in a scope: that of a stream, and what stands before it.
const NAME_BYTES_MAX: usize = 256;

/// What may be done.
///
/// ```
/// use timestrata_server::Right;
///
/// assert_eq!(Right::Write.to_string(), "write");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Right {
    /// Rows, entries, records and figures come out.
    Read,
    /// They go in, and are deleted.
    Write,
    /// Streams are made, changed and removed; of the whole store also tokens, followers and queries.
    Admin,
}

const RIGHTS: [Right; 3] = [Right::Read, Right::Write, Right::Admin];

impl Right {
    /// How it is written.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Admin => "admin",
        }
    }
}

impl fmt::Display for Right {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// Which streams.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Names {
    All,
    One(String),
    /// All whose names begin so.
    Prefix(String),
}

/// A right over streams.
///
/// ```
/// use timestrata_server::{Right, Scope};
///
/// let scope: Scope = "read:logs-*".parse()?;
/// assert!(scope.gives(Right::Read, Some("logs-web")));
/// assert!(!scope.gives(Right::Read, Some("orders")));
/// // Of the whole store only who may do it with each stream.
/// assert!(!scope.gives(Right::Read, None));
/// assert_eq!(scope.to_string(), "read:logs-*");
/// # Ok::<(), timestrata_engine::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Scope {
    right: Right,
    names: Names,
}

impl Scope {
    /// A right over all streams.
    #[must_use]
    pub fn all(right: Right) -> Self {
        Self { right, names: Names::All }
    }

    /// Whether it gives a right over a stream; over the whole store where no stream is named.
    #[must_use]
    pub fn gives(&self, right: Right, stream: Option<&str>) -> bool {
        (self.right == right || self.right == Right::Admin) && self.covers(stream)
    }

    /// Whether it gives any right over a stream.
    pub(crate) fn covers(&self, stream: Option<&str>) -> bool {
        match (&self.names, stream) {
            (Names::All, _) => true,
            (_, None) => false,
            (Names::One(name), Some(stream)) => name == stream,
            (Names::Prefix(prefix), Some(stream)) => stream.starts_with(prefix),
        }
    }
}

impl FromStr for Scope {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let wrong = |why: &str| {
            let shown: String = text.chars().take(60).collect();
            Error::new(
                ErrorKind::InvalidArgument,
                format!(
                    "scope {shown:?}: {why}; scopes are read, write and admin, of all streams, or of those that are \
                     named: read:orders, write:logs-*"
                ),
            )
        };
        let (word, name) = match text.split_once(':') {
            Some((word, name)) => (word, Some(name)),
            None => (text, None),
        };
        let right = RIGHTS.into_iter().find(|right| right.word() == word);
        let right = right.ok_or_else(|| wrong("there is no such right"))?;
        let names = match name {
            None | Some("*") => Names::All,
            Some("") => return Err(wrong("a name is missing behind the colon")),
            Some(name) if name.len() > NAME_BYTES_MAX => return Err(wrong("its name is too long")),
            Some(name) => match name.strip_suffix('*') {
                Some(prefix) if prefix.contains('*') => {
                    return Err(wrong("a star stands only at the end of a name"));
                }
                None if name.contains('*') => {
                    return Err(wrong("a star stands only at the end of a name"));
                }
                Some(prefix) => Names::Prefix(prefix.to_owned()),
                None => Names::One(name.to_owned()),
            },
        };
        Ok(Self { right, names })
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.names {
            Names::All => self.right.fmt(f),
            Names::One(name) => write!(f, "{}:{name}", self.right),
            Names::Prefix(prefix) => write!(f, "{}:{prefix}*", self.right),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gives(scope: &str, right: Right, stream: Option<&str>) -> bool {
        scope.parse::<Scope>().unwrap().gives(right, stream)
    }

    #[test]
    fn a_right_over_names_is_over_no_other_and_not_over_the_store() {
        use Right::{Admin, Read, Write};
        assert!(gives("read", Read, None) && gives("read:*", Read, Some("a")));
        assert!(gives("read:a", Read, Some("a")) && gives("read:a*", Read, Some("ab")));
        for stream in [Some("ab"), Some("b"), Some(""), None] {
            assert!(!gives("read:a", Read, stream), "{stream:?}");
        }
        assert!(!gives("read:a*", Read, None) && !gives("read:a*", Read, Some("ba")));
        assert!(!gives("read", Write, None) && !gives("write", Read, Some("a")));
        assert!(gives("admin", Read, None) && gives("admin:a", Write, Some("a")));
        assert!(!gives("write", Admin, Some("a")) && !gives("admin:a", Admin, None));
    }

    #[test]
    fn a_scope_is_written_as_it_was_read() {
        for text in ["read", "write:orders", "admin:logs-*", "read:a:b"] {
            assert_eq!(text.parse::<Scope>().unwrap().to_string(), text);
        }
        assert_eq!("read:*".parse::<Scope>().unwrap(), Scope::all(Right::Read));
    }

    #[test]
    fn what_is_no_scope_is_refused_with_those_that_there_are() {
        for text in ["", "reads", "READ", "read:", "read:a*b", "read:*a*", "read:**", " read"] {
            let error = text.parse::<Scope>().unwrap_err().to_string();
            assert!(error.contains("write:logs-*"), "{text:?}: {error}");
        }
        let long = format!("read:{}", "a".repeat(300));
        assert!(long.parse::<Scope>().unwrap_err().to_string().contains("too long"));
    }
}
