//! The filter expression of logs: what people type to find entries, `level>=warn error status:5*`.
//!
//! Owns the language: text to a syntax tree and back, whether one text or one value passes a test,
//! and which words a match cannot do without. Pure. What an entry's fields are, and in which order
//! tests are tried, is up to those who search. The language is set down in
//! `docs/reference/filters.md`.

mod display;
mod expr;
mod finder;
mod literal;
mod parser;
mod pattern;
mod places;
mod pruning;
mod question;
mod required;
mod rows;

use std::str::FromStr;

pub use expr::{Expr, Target, Term, Test};
pub use literal::{Literal, Op, Value};
pub use pattern::Pattern;
pub use question::Question;
pub(crate) use question::{Figure, Function, Group};
use timestrata_engine::{Error, ErrorKind, Result};

/// Longest expression, in bytes.
pub const EXPRESSION_BYTES_MAX: usize = 64 << 10;
/// Most parentheses and negations around a term.
pub const NESTING_MAX: usize = 100;
/// Longest name of a field, in bytes.
pub const NAME_BYTES_MAX: usize = 1 << 10;
/// Longest phrase, in bytes. A text may agree with much of a phrase at many places, and each is
/// looked at.
pub const PHRASE_BYTES_MAX: usize = 4 << 10;
/// Most regular expressions of an expression: each may take [`REGEX_BYTES_MAX`].
pub const REGEXES_MAX: usize = 64;
/// Most memory of a compiled regular expression, in bytes.
pub const REGEX_BYTES_MAX: usize = 1 << 20;

/// A filter expression that has been read. [`Display`](std::fmt::Display) writes it in one agreed
/// form, which reads back as the same tree. The default lets everything through.
///
/// ```
/// use timestrata_logs::filter::Filter;
///
/// # fn main() -> timestrata_engine::Result<()> {
/// let filter: Filter = "level >= warn AND (disk OR \"out of\"*) -host:web-1".parse()?;
/// let agreed = r#"level>=warn (disk or "out of"*) not host:"web-1""#;
/// assert_eq!(filter.to_string(), agreed);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Filter {
    root: Expr,
}

impl Filter {
    /// Reads an expression.
    ///
    /// # Errors
    /// `InvalidArgument` for what is not in the language, with the line and the column, and for what
    /// exceeds a limit of this module.
    pub fn parse(text: &str) -> Result<Self> {
        if text.len() > EXPRESSION_BYTES_MAX {
            let message =
                format!("filter: {} bytes; at most {EXPRESSION_BYTES_MAX} are taken", text.len());
            return Err(Error::new(ErrorKind::InvalidArgument, message));
        }
        Ok(Self { root: parser::parse(text)? })
    }

    /// The syntax tree.
    pub fn root(&self) -> &Expr {
        &self.root
    }
}

impl FromStr for Filter {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        Self::parse(text)
    }
}

#[cfg(test)]
mod tests;
