//! Statistics of a log that was read.

/// Flaws that a report lists; the others it only counts.
const FLAWS_LISTED_MAX: usize = 10;

/// What a [`LineReader`](super::LineReader) has read so far.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SourceReport {
    /// Lines, also empty ones.
    pub lines: u64,
    /// Entries given.
    pub entries: u64,
    /// Entries with a field `parse_error`, of which the first part counts where they were cut.
    pub parse_errors: u64,
    /// The first ten of those: the line, from 1, and what is wrong with it.
    pub first_errors: Vec<(u64, String)>,
}

impl SourceReport {
    pub(super) fn add_flaw(&mut self, line: u64, flaw: &str) {
        self.parse_errors += 1;
        if self.first_errors.len() < FLAWS_LISTED_MAX {
            self.first_errors.push((line, flaw.to_owned()));
        }
    }
}
