//! Where entries end in bytes that come piece by piece.

use memchr::{memchr, memmem};

use super::{JournalStep, step};
use crate::lines::pieces::End;

/// Bytes of a line end and an empty line.
pub(in crate::lines) const GAP_BYTES_MAX: usize = 3;

/// How far an entry has been looked at.
#[derive(Debug, Default)]
pub(in crate::lines) struct Cutter {
    /// Bytes of whole fields.
    whole: usize,
    /// Bytes in which there is no end of the line that is behind those.
    searched: usize,
    /// Bytes that are needed for the next field.
    needed: usize,
    /// It is no entry of a journal: it ends with the next empty line, whatever that is part of.
    is_text: bool,
}

impl Cutter {
    /// Where the entry ends that `unread` begins with, which has the bytes of the call before and
    /// more. A length that can't be right is not waited for: one wrong byte would swallow all that
    /// follows it.
    pub(in crate::lines) fn end(&mut self, unread: &[u8], is_all: bool, bytes_max: usize) -> End {
        while !self.is_text {
            if self.whole >= unread.len() || self.has_nothing_new(unread, is_all) {
                return End::without_gap(unread, is_all, bytes_max);
            }
            match step(unread.get(self.whole..).unwrap_or_default(), is_all) {
                JournalStep::Field(_, bytes) => self.whole += bytes,
                JournalStep::Gap(bytes) => {
                    return End::at(self.whole, self.whole + bytes, bytes_max);
                }
                JournalStep::Unfinished(bytes)
                    if !is_all && self.whole.saturating_add(bytes) <= bytes_max =>
                {
                    self.needed = self.whole + bytes;
                }
                JournalStep::Unfinished(_) | JournalStep::Malformed(_) => {
                    *self = Self { is_text: true, ..Self::default() };
                }
            }
        }
        match gap(unread.get(self.searched..).unwrap_or_default()) {
            Some((before, after)) => {
                End::at(self.searched + before, self.searched + after, bytes_max)
            }
            None => {
                self.searched = unread.len().saturating_sub(GAP_BYTES_MAX - 1);
                End::without_gap(unread, is_all, bytes_max)
            }
        }
    }

    /// Whether there is still no whole line or value behind the whole fields.
    fn has_nothing_new(&mut self, unread: &[u8], is_all: bool) -> bool {
        if is_all {
            return false;
        }
        let from = self.searched.max(self.whole);
        let has_line = memchr(b'\n', unread.get(from..).unwrap_or_default()).is_some();
        if !has_line {
            self.searched = unread.len();
        }
        !has_line || unread.len() < self.needed
    }
}

/// Where the last line before the first empty one ends, and where that does.
pub(in crate::lines) fn gap(text: &[u8]) -> Option<(usize, usize)> {
    let short = memmem::find(text, b"\n\n").map(|at| (at + 1, at + 2));
    let long = memmem::find(text, b"\n\r\n").map(|at| (at + 1, at + 3));
    short.into_iter().chain(long).min()
}
