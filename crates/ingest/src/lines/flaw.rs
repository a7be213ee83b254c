//! What is wrong with a line.

use std::borrow::Cow;

const SHOWN_CHARS_MAX: usize = 40;

/// Why a line is not, or not only, what its format has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Flaw {
    /// It can't be read: all of it becomes the message.
    Unread(Cow<'static, str>),
    /// It was read as another one.
    Noted(Cow<'static, str>),
    /// It was read, but says more than an entry can: it is kept besides.
    Partly(Cow<'static, str>),
}

impl Flaw {
    pub(super) fn unread(why: impl Into<Cow<'static, str>>) -> Self {
        Self::Unread(why.into())
    }

    /// A name was there more than once.
    pub(super) fn repeated(name: &str) -> Self {
        let name = shown(name);
        Self::Partly(format!("key {name} is there more than once: its last value counts").into())
    }
}

/// The beginning of a name, in quotes.
pub(super) fn shown(name: &str) -> String {
    let start: String = name.chars().take(SHOWN_CHARS_MAX).collect();
    let more = if start.len() < name.len() { "..." } else { "" };
    format!("{start:?}{more}")
}
