//! Why a file gave no facts.

use std::fmt;

use crate::Position;

/// A file that is left out whole, and the first place that says why.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unparsed {
    /// What is wrong.
    pub reason: Reason,
    /// Where; the beginning of the file, if it is about the file as a whole.
    pub at: Position,
}

/// What is wrong with a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// It has more bytes than are read.
    TooLarge {
        /// How many it has.
        bytes: u64,
        /// How many it may have.
        bytes_max: u64,
    },
    /// It holds a zero byte, as no source does.
    Binary,
    /// It isn't UTF-8.
    Encoding,
    /// What stands there doesn't belong there.
    Unexpected,
    /// Something is missing there: a bracket that was never closed, for example.
    Missing,
    /// Parsing took more steps than are worth it, as it does for text made to be hard.
    TooHard,
    /// The grammar can't be used by this build's parser, which is a fault of the build.
    Grammar,
}

impl Unparsed {
    pub(crate) fn whole(reason: Reason) -> Self {
        Self { reason, at: Position { line: 1, column: 0 } }
    }
}

impl fmt::Display for Unparsed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Position { line, column } = self.at;
        let what = match self.reason {
            Reason::TooLarge { bytes, bytes_max } => {
                return write!(f, "{bytes} bytes are too many, at most {bytes_max} are read");
            }
            Reason::TooHard => return f.write_str("parsing takes too long"),
            Reason::Grammar => return f.write_str("the grammar doesn't fit the parser"),
            Reason::Binary => "a zero byte",
            Reason::Encoding => "not UTF-8",
            Reason::Unexpected => "not as the language has it",
            Reason::Missing => "something is missing",
        };
        write!(f, "line {line}, column {column}: {what}")
    }
}

impl std::error::Error for Unparsed {}
