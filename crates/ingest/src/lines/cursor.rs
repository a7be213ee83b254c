//! What is left to read of a line.

use memchr::{memchr, memchr2};

/// A text that is taken from its front, piece by piece. What can't be taken leaves it as it is.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cursor<'a> {
    rest: &'a str,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { rest: text }
    }

    /// All that is left.
    pub(super) fn rest(&self) -> &'a str {
        self.rest
    }

    pub(super) fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// Takes a character if it comes next.
    pub(super) fn eat(&mut self, what: char) -> bool {
        self.rest.strip_prefix(what).map(|rest| self.rest = rest).is_some()
    }

    /// Takes so many bytes, if there are as many and a character ends there.
    pub(super) fn take(&mut self, bytes: usize) -> Option<&'a str> {
        let (taken, rest) = self.rest.split_at_checked(bytes)?;
        self.rest = rest;
        Some(taken)
    }

    /// Takes what stands before an ASCII character, and that character.
    pub(super) fn before(&mut self, end: u8) -> Option<&'a str> {
        let taken = self.rest.get(..memchr(end, self.rest.as_bytes())?)?;
        self.rest = self.rest.get(taken.len() + 1..)?;
        Some(taken)
    }

    /// Takes what stands before the first of some ASCII characters; all, if there is none.
    pub(super) fn until(&mut self, ends: &[u8]) -> &'a str {
        let end = self.rest.bytes().position(|byte| ends.contains(&byte));
        let end = end.unwrap_or(self.rest.len());
        let (taken, rest) = self.rest.split_at_checked(end).unwrap_or((self.rest, ""));
        self.rest = rest;
        taken
    }

    /// Takes what stands before the next space, and that space; all, if there is none.
    pub(super) fn word(&mut self) -> &'a str {
        self.before(b' ').unwrap_or_else(|| std::mem::take(&mut self.rest))
    }

    /// Takes what stands between two quotes, and the quotes. A backslash takes a quote's meaning
    /// away; both are left as they are.
    pub(super) fn quoted(&mut self) -> Option<&'a str> {
        let inner = self.rest.strip_prefix('"')?;
        let mut from = 0;
        loop {
            let at = from + memchr2(b'"', b'\\', inner.as_bytes().get(from..)?)?;
            if inner.as_bytes().get(at) == Some(&b'"') {
                self.rest = inner.get(at + 1..)?;
                return inner.get(..at);
            }
            from = at + 2;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_can_not_be_taken_leaves_the_text_as_it_is() {
        let mut text = Cursor::new("ö=1 \"a\\\" b\" c");
        assert_eq!((text.take(1), text.before(b'|'), text.quoted()), (None, None, None));
        assert_eq!(
            (text.before(b'='), text.word(), text.quoted()),
            (Some("ö"), "1", Some("a\\\" b"))
        );
        assert!(text.eat(' ') && !text.eat(' '));
        assert_eq!((text.rest(), text.word(), text.word(), text.is_empty()), ("c", "c", "", true));
        assert_eq!(Cursor::new("\"open\\\"").quoted(), None);
    }
}
