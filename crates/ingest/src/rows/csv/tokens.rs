//! CSV text taken apart: rows into fields, and where rows end. One set of rules for both.

use std::ops::Range;

use super::super::options::Delimiter;
use super::super::pieces::Boundary;

/// How CSV is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) struct Dialect {
    pub(in super::super) delimiter: Delimiter,
    pub(in super::super) quote: u8,
    /// What lines begin with that are no rows.
    pub(in super::super) comment: Option<u8>,
}

impl Dialect {
    /// The bytes that separate fields, or with which what separates them begins: two for blanks, else twice the same.
    fn separators(self) -> (u8, u8) {
        match self.delimiter {
            Delimiter::Byte(byte) => (byte, byte),
            Delimiter::Text(text) => {
                let first = text.as_bytes().first().copied().unwrap_or(b'\n');
                (first, first)
            }
            Delimiter::Blanks => (b' ', b'\t'),
        }
    }

    /// How many bytes separate two fields.
    fn width(self) -> usize {
        match self.delimiter {
            Delimiter::Byte(_) | Delimiter::Blanks => 1,
            Delimiter::Text(text) => text.as_bytes().len(),
        }
    }

    /// Where the next delimiter or line end is.
    #[inline]
    fn next(self, bytes: &[u8]) -> Option<usize> {
        match (self.delimiter, self.separators()) {
            (Delimiter::Text(text), _) => find_text(bytes, text.as_bytes()),
            (_, (one, other)) if one == other => find_either(bytes, one, b'\n'),
            (_, (one, other)) => memchr::memchr3(one, other, b'\n', bytes),
        }
    }

    fn is_blanks(self) -> bool {
        self.delimiter == Delimiter::Blanks
    }
}

/// A field of a row: where its text is, without quotes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) struct FieldRange {
    start: u32,
    /// Twice the end, plus one if it stood in quotes.
    end: u32,
}

impl FieldRange {
    /// `None` beyond 2 GiB, which no piece is.
    fn new(range: Range<usize>, is_quoted: bool) -> Option<Self> {
        let start = u32::try_from(range.start).ok()?;
        let end = u32::try_from(range.end).ok()?.checked_mul(2)? | u32::from(is_quoted);
        Some(Self { start, end })
    }

    /// A field that its row lacks. No other begins there.
    pub(in super::super) const MISSING: Self = Self { start: u32::MAX, end: 0 };

    pub(in super::super) fn is_missing(self) -> bool {
        self.start == u32::MAX
    }

    /// Whether nothing stands there, and no quotes either.
    pub(in super::super) fn is_nothing(self) -> bool {
        self.end == self.start.wrapping_mul(2)
    }

    pub(in super::super) fn is_quoted(self) -> bool {
        self.end & 1 == 1
    }

    pub(in super::super) fn text(self, bytes: &[u8]) -> &[u8] {
        bytes.get(self.start as usize..(self.end / 2) as usize).unwrap_or_default()
    }
}

/// What is wrong with a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum Malformed {
    /// A quote that is never closed.
    OpenQuote,
    /// Text between a closing quote and the next delimiter.
    TextBehindQuote,
    /// So many fields, where another number was expected.
    Fields(usize),
    /// More bytes than a piece can have.
    TooLong,
}

/// Where the first of two bytes is. Fields are short: eight bytes at a time are compared in one word, and
/// nothing is called.
#[inline]
pub(super) fn find_either(bytes: &[u8], one: u8, other: u8) -> Option<usize> {
    const LOW: u64 = u64::from_ne_bytes([0x01; 8]);
    const HIGH: u64 = u64::from_ne_bytes([0x80; 8]);
    // A byte that is zero has its highest bit set in the answer; so may those behind it, but not before.
    let zeros = |word: u64| word.wrapping_sub(LOW) & !word & HIGH;
    let (ones, others) = (LOW * u64::from(one), LOW * u64::from(other));
    let (words, rest) = bytes.as_chunks::<8>();
    for (at, word) in words.iter().enumerate() {
        let word = u64::from_le_bytes(*word);
        let found = zeros(word ^ ones) | zeros(word ^ others);
        if found != 0 {
            return Some(at * 8 + found.trailing_zeros() as usize / 8);
        }
    }
    let found = rest.iter().position(|byte| *byte == one || *byte == other);
    found.map(|at| words.len() * 8 + at)
}

/// Where the first of a text and a line end is.
fn find_text(bytes: &[u8], text: &[u8]) -> Option<usize> {
    let (first, mut from) = (*text.first()?, 0);
    loop {
        let at = from + find_either(bytes.get(from..)?, first, b'\n')?;
        let rest = bytes.get(at..)?;
        if rest.first() == Some(&b'\n') || rest.starts_with(text) {
            return Some(at);
        }
        from = at + 1;
    }
}

/// Takes rows off bytes, from front to back. Doubled quotes are made single in place.
pub(in super::super) struct Tokens<'b> {
    bytes: &'b mut [u8],
    at: usize,
    line: u64,
    dialect: Dialect,
}

/// Where a field ends, and what follows it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Behind {
    FieldRange,
    Row,
}

impl<'b> Tokens<'b> {
    pub(in super::super) fn new(bytes: &'b mut [u8], line: u64, dialect: Dialect) -> Self {
        Self { bytes, at: 0, line, dialect }
    }

    /// The text, in which the fields that were given are.
    pub(in super::super) fn bytes(&self) -> &[u8] {
        self.bytes
    }

    /// How many bytes have been taken.
    pub(in super::super) fn taken(&self) -> usize {
        self.at
    }

    /// The line of the next byte.
    pub(in super::super) fn line(&self) -> u64 {
        self.line
    }

    /// Adds the fields of the next row, and gives the line on which it begins; `None` at the
    /// end. Empty lines are passed over. Behind an error, the row has been taken, and some of
    /// its fields may have been added.
    pub(in super::super) fn row(
        &mut self,
        fields: &mut Vec<FieldRange>,
    ) -> Option<(u64, Result<(), Malformed>)> {
        loop {
            if self.dialect.is_blanks() {
                self.at += blanks(self.bytes.get(self.at..)?);
            }
            match self.bytes.get(self.at..)? {
                [] => return None,
                [b'\n', ..] => self.at += 1,
                [b'\r', b'\n', ..] => self.at += 2,
                [b'\r', b'\r', b'\n', ..] => self.at += 3,
                [first, rest @ ..] if Some(*first) == self.dialect.comment => {
                    self.at += 1 + memchr::memchr(b'\n', rest).map_or(rest.len(), |end| end + 1);
                }
                _ => break,
            }
            self.line += 1;
        }
        let line = self.line;
        let mut problem = Ok(());
        loop {
            let (field, behind) = match self.bytes.get(self.at) {
                Some(byte) if *byte == self.dialect.quote => self.quoted(&mut problem),
                _ => self.plain(),
            };
            match field {
                Some(field) => fields.push(field),
                None => problem = Err(Malformed::TooLong),
            }
            if behind == Behind::Row {
                return Some((line, problem));
            }
        }
    }

    /// A field without quotes; a quote within is text.
    fn plain(&mut self) -> (Option<FieldRange>, Behind) {
        let start = self.at;
        let rest = self.bytes.get(start..).unwrap_or_default();
        let length = self.dialect.next(rest);
        let end = start + length.unwrap_or(rest.len());
        let behind = self.pass(end);
        let mut text_end = end;
        // More than one is what some programs make of lines that ended with one already.
        while behind == Behind::Row
            && text_end > start
            && self.bytes.get(text_end - 1).is_some_and(|byte| *byte == b'\r')
        {
            text_end -= 1;
        }
        (FieldRange::new(start..text_end, false), behind)
    }

    /// Passes over the delimiter or line end at `end`.
    fn pass(&mut self, end: usize) -> Behind {
        let (one, other) = self.dialect.separators();
        match self.bytes.get(end) {
            Some(byte) if self.dialect.is_blanks() && (*byte == one || *byte == other) => {
                let behind = end + blanks(self.bytes.get(end..).unwrap_or_default());
                match self.bytes.get(behind..).unwrap_or_default() {
                    [] | [b'\n', ..] => self.pass(behind),
                    [b'\r', b'\n', ..] => self.pass(behind + 1),
                    _ => {
                        self.at = behind;
                        Behind::FieldRange
                    }
                }
            }
            Some(byte) if *byte == one => {
                self.at = end + self.dialect.width();
                Behind::FieldRange
            }
            Some(_) => {
                self.at = end + 1;
                self.line += 1;
                Behind::Row
            }
            None => {
                self.at = end;
                Behind::Row
            }
        }
    }

    /// A field in quotes.
    fn quoted(&mut self, problem: &mut Result<(), Malformed>) -> (Option<FieldRange>, Behind) {
        let start = self.at + 1;
        let mut written = start;
        let mut from = start;
        loop {
            let rest = self.bytes.get(from..).unwrap_or_default();
            let Some(length) = memchr::memchr(self.dialect.quote, rest) else {
                *problem = Err(Malformed::OpenQuote);
                self.count_lines(from, self.bytes.len());
                self.at = self.bytes.len();
                return (FieldRange::new(start..start, true), Behind::Row);
            };
            let close = from + length;
            self.count_lines(from, close);
            // The text up to the quote moves down over the doubled quotes before it.
            if written != from {
                self.bytes.copy_within(from..close, written);
            }
            written += length;
            if self.bytes.get(close + 1).is_some_and(|byte| *byte == self.dialect.quote) {
                if let Some(byte) = self.bytes.get_mut(written) {
                    *byte = self.dialect.quote;
                }
                written += 1;
                from = close + 2;
                continue;
            }
            self.at = close + 1;
            let (rest, behind) = self.plain();
            if rest.is_some_and(|rest| !rest.text(self.bytes).is_empty()) {
                *problem = Err(Malformed::TextBehindQuote);
            }
            return (FieldRange::new(start..written, true), behind);
        }
    }

    fn count_lines(&mut self, from: usize, to: usize) {
        let text = self.bytes.get(from..to).unwrap_or_default();
        self.line += u64::try_from(memchr::memchr_iter(b'\n', text).count()).unwrap_or(0);
    }
}

/// Rows end where a line ends outside of quotes.
impl Boundary for Dialect {
    fn last_end(&self, bytes: &[u8]) -> Option<usize> {
        if memchr::memchr(self.quote, bytes).is_none() {
            return memchr::memrchr(b'\n', bytes).map(|at| at + 1);
        }
        let (mut at, mut end) = (0, None);
        while let Some(first) = bytes.get(at) {
            let is_at_line =
                at.checked_sub(1).is_none_or(|before| bytes.get(before) == Some(&b'\n'));
            if is_at_line && Some(*first) == self.comment {
                // What looks like a quote there is none.
                let rest = bytes.get(at..).unwrap_or_default();
                let Some(length) = memchr::memchr(b'\n', rest) else { break };
                at += length + 1;
                end = Some(at);
                continue;
            }
            if *first == self.quote {
                let Some(behind) = closing(bytes, at + 1, self.quote) else { break };
                at = behind;
            }
            let rest = bytes.get(at..).unwrap_or_default();
            let Some(length) = self.next(rest) else { break };
            let is_end = rest.get(length) == Some(&b'\n');
            at += length + if is_end { 1 } else { self.width() };
            if is_end {
                end = Some(at);
            }
        }
        end
    }
}

/// How many blanks bytes begin with.
fn blanks(bytes: &[u8]) -> usize {
    bytes.iter().position(|byte| !matches!(byte, b' ' | b'\t')).unwrap_or(bytes.len())
}

/// Just behind the quote that closes a field.
fn closing(bytes: &[u8], mut at: usize, quote: u8) -> Option<usize> {
    loop {
        at += memchr::memchr(quote, bytes.get(at..)?)? + 1;
        if bytes.get(at) != Some(&quote) {
            return Some(at);
        }
        at += 1;
    }
}
