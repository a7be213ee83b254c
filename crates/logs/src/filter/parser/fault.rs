//! What is wrong with an expression, and where.

use std::borrow::Cow;

use timestrata_engine::{Error, ErrorKind};
use winnow::error::{ErrMode, ParserError};
use winnow::stream::Location;

use super::FilterText;

/// Most characters of what was found that are shown.
const FOUND_CHARS_MAX: usize = 20;
/// Most characters of a line that are shown, and how many of them before the fault.
const SHOWN_CHARS_MAX: usize = 80;
const SHOWN_CHARS_BEFORE: usize = 60;

#[derive(Debug)]
pub(super) struct Fault {
    /// Where, in bytes of the expression.
    at: usize,
    problem: Cow<'static, str>,
}

impl Fault {
    /// A fault that nothing else could be read instead of.
    pub(super) fn at(at: usize, problem: impl Into<Cow<'static, str>>) -> ErrMode<Self> {
        ErrMode::Cut(Self { at, problem: problem.into() })
    }

    /// Something else than what comes next.
    pub(super) fn expected(what: &str, input: &FilterText<'_>) -> ErrMode<Self> {
        let problem = format!("expected {what}, found {}", found(input));
        ErrMode::Backtrack(Self { at: input.current_token_start(), problem: problem.into() })
    }

    /// The error that shows the place in `text`.
    pub(super) fn into_error(self, text: &str) -> Error {
        let before = text.get(..self.at).unwrap_or(text);
        let line_start = before.rfind('\n').map_or(0, |end| end + 1);
        let line = 1 + before.matches('\n').count();
        let before = before.get(line_start..).unwrap_or_default().chars().count();
        let shown = text.get(line_start..).unwrap_or_default().lines().next().unwrap_or_default();
        let (shown, caret) = window(shown, before);
        let message = format!(
            "filter, line {line}, column {}: {}\n  {shown}\n  {:caret$}^",
            before + 1,
            self.problem,
            ""
        );
        Error::new(ErrorKind::InvalidArgument, message)
    }
}

/// What combinators fail with by themselves. It is not shown: those that call them know better.
impl ParserError<FilterText<'_>> for Fault {
    type Inner = Self;

    fn from_input(input: &FilterText<'_>) -> Self {
        Self { at: input.current_token_start(), problem: "not understood".into() }
    }

    fn into_inner(self) -> Result<Self, Self> {
        Ok(self)
    }
}

/// What comes next, up to the next blank.
fn found(rest: &str) -> String {
    match rest.chars().next() {
        None => "the end".to_owned(),
        Some(c) if c.is_whitespace() => "a blank".to_owned(),
        Some(_) => {
            let mut token = rest.chars().take_while(|c| !c.is_whitespace());
            let shown: String = token.by_ref().take(FOUND_CHARS_MAX).map(printable).collect();
            let cut = if token.next().is_some() { "…" } else { "" };
            format!("'{shown}{cut}'")
        }
    }
}

/// The part of a line around a character, and how many characters are before that.
fn window(line: &str, at: usize) -> (String, usize) {
    let skipped = if line.chars().count() > SHOWN_CHARS_MAX {
        at.saturating_sub(SHOWN_CHARS_BEFORE)
    } else {
        0
    };
    let mut chars = line.chars().map(printable).skip(skipped);
    let start = if skipped > 0 { "…" } else { "" };
    let shown: String = chars.by_ref().take(SHOWN_CHARS_MAX).collect();
    let end = if chars.next().is_some() { "…" } else { "" };
    (format!("{start}{shown}{end}"), at - skipped + start.chars().count())
}

/// Tabs and what else would move the caret, or more, are shown as blanks.
fn printable(c: char) -> char {
    if c.is_control() { ' ' } else { c }
}
