//! Which delimiter a CSV text uses, and where its rows begin.

use timestrata_values::{Instant, number};

use super::super::input::START_BYTES;
use super::super::options::{Delimiter, LongDelimiter};
use super::tokens::{Dialect, Tokens};

/// Those that are likely, and then those that are taken where each row has as many fields as all others.
const CANDIDATES: [u8; 4] = [b',', b';', b'\t', b'|'];
const RARE: [Delimiter; 3] = [Delimiter::Byte(b'^'), Delimiter::Blanks, Delimiter::Byte(b':')];
/// Rows that are looked at.
const ROWS_MAX: usize = 100;
/// What lines begin with at the top of a text that are no rows.
const COMMENT: u8 = b'#';

/// What the name of a file says: `.tsv`.
pub(super) fn of_name(name: &str) -> Option<Delimiter> {
    let name = name.to_ascii_lowercase();
    let bare = [".gz", ".zst"].iter().find_map(|end| name.strip_suffix(end)).unwrap_or(&name);
    [".tsv", ".tab"].iter().any(|end| bare.ends_with(end)).then_some(Delimiter::Byte(b'\t'))
}

/// The delimiter that gives most rows as many fields as the first, and then more of them; a
/// comma where none is found.
pub(super) fn delimiter(start: &[u8], quote: u8, comment: Option<u8>) -> Delimiter {
    let mut best = (0, 0, None);
    for byte in CANDIDATES {
        let delimiter = Delimiter::Byte(byte);
        let widths = Rows::of(start, Dialect { delimiter, quote, comment }).widths;
        let Some(width) = widths.first().copied().filter(|width| *width > 1) else { continue };
        let alike = widths.iter().filter(|other| **other == width).count();
        if (alike, width) > (best.0, best.1) {
            best = (alike, width, Some(delimiter));
        }
    }
    let rare = || {
        RARE.into_iter().find(|delimiter| {
            Rows::of(start, Dialect { delimiter: *delimiter, quote, comment }).are_columns()
        })
    };
    let doubled = LongDelimiter::new("||").map(Delimiter::Text);
    if let (Some(Delimiter::Byte(b'|')), Some(delimiter)) = (best.2, doubled) {
        // Every second field would be empty, in each row.
        let rows = Rows::of(start, Dialect { delimiter, quote, comment });
        let is_doubled = rows.widths.first().is_some_and(|width| width * 2 - 1 == best.1);
        if is_doubled && rows.are_columns() {
            return delimiter;
        }
    }
    best.2.or_else(rare).unwrap_or(Delimiter::Byte(b','))
}

/// How many lines at the beginning are comments: they begin with `#`, and if the last of them could name the
/// columns of the rows that follow, it does.
pub(super) fn comments(start: &[u8], dialect: Dialect) -> u64 {
    let (mut rest, mut lines, mut last) = (start, 0, &b""[..]);
    while rest.first() == Some(&COMMENT) {
        let Some(end) = memchr::memchr(b'\n', rest) else { return 0 };
        let (line, behind) = rest.split_at(end + 1);
        (rest, last) = (behind, line);
        lines += 1;
    }
    let width = |text: &[u8]| Rows::of(text, dialect).widths.first().copied().unwrap_or(0);
    let may_name = lines > 0 && width(last) > 1 && width(last) == width(rest);
    lines - u64::from(may_name)
}

/// The first rows of a text.
struct Rows {
    /// Numbers of their fields.
    widths: Vec<usize>,
    /// Whether a row behind the first has a number or a time.
    has_values: bool,
}

impl Rows {
    fn of(start: &[u8], dialect: Dialect) -> Self {
        let mut bytes = start.to_vec();
        let mut tokens = Tokens::new(&mut bytes, 1, dialect);
        let (mut rows, mut fields) = (Self { widths: Vec::new(), has_values: false }, Vec::new());
        while rows.widths.len() < ROWS_MAX {
            fields.clear();
            let Some((_, row)) = tokens.row(&mut fields) else { break };
            if row.is_err() {
                continue;
            }
            let is_value = |text: &[u8]| number::is_number(text) || Instant::parse(text).is_some();
            let has_value = fields.iter().any(|field| is_value(field.text(tokens.bytes())));
            rows.has_values |= has_value && !rows.widths.is_empty();
            rows.widths.push(fields.len());
        }
        // The last row may be cut off.
        let widths = &mut rows.widths;
        if start.len() >= START_BYTES && widths.len() > 1 && widths.len() < ROWS_MAX {
            widths.pop();
        }
        rows
    }

    /// Whether rows are cut into columns beyond doubt: each has as many fields, and there are values among them.
    fn are_columns(&self) -> bool {
        match self.widths.as_slice() {
            [first, rest @ ..] => {
                *first > 1
                    && !rest.is_empty()
                    && rest.iter().all(|width| width == first)
                    && self.has_values
            }
            [] => false,
        }
    }
}
