//! Which delimiter a CSV text uses.

use super::super::input::START_BYTES;
use super::tokens::{Dialect, Tokens};

const CANDIDATES: [u8; 4] = [b',', b';', b'\t', b'|'];
/// Rows that are looked at.
const ROWS_MAX: usize = 100;

/// What the name of a file says: `.tsv`.
pub(super) fn of_name(name: &str) -> Option<u8> {
    let name = name.to_ascii_lowercase();
    let bare = [".gz", ".zst"].iter().find_map(|end| name.strip_suffix(end)).unwrap_or(&name);
    [".tsv", ".tab"].iter().any(|end| bare.ends_with(end)).then_some(b'\t')
}

/// The delimiter that gives most rows as many fields as the first, and then more of them; a
/// comma where none is found.
pub(super) fn delimiter(start: &[u8], quote: u8) -> u8 {
    let mut best = (0, 0, b',');
    for delimiter in CANDIDATES {
        let widths = widths(start, Dialect { delimiter, quote });
        let Some(width) = widths.first().copied().filter(|width| *width > 1) else { continue };
        let alike = widths.iter().filter(|other| **other == width).count();
        if (alike, width) > (best.0, best.1) {
            best = (alike, width, delimiter);
        }
    }
    best.2
}

/// Numbers of fields of the first rows.
fn widths(start: &[u8], dialect: Dialect) -> Vec<usize> {
    let mut bytes = start.to_vec();
    let mut tokens = Tokens::new(&mut bytes, 1, dialect);
    let (mut widths, mut fields) = (Vec::new(), Vec::new());
    while widths.len() < ROWS_MAX {
        fields.clear();
        let Some((_, row)) = tokens.row(&mut fields) else { break };
        if row.is_ok() {
            widths.push(fields.len());
        }
    }
    // The last row may be cut off.
    if start.len() >= START_BYTES && widths.len() > 1 && widths.len() < ROWS_MAX {
        widths.pop();
    }
    widths
}
