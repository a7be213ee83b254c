//! Places in a document. An index counts lines from 0, and columns in what its indexer's language
//! counts text in; ours count lines from 1 and columns in bytes.

use std::collections::HashMap;

use scip::types::occurrence::{Typed_enclosing_range, Typed_range};
use scip::types::{MultiLineRange, Occurrence, PositionEncoding, SingleLineRange};
use timestrata_codegraph::Position;

/// Of a line that isn't ASCII, each so many characters' place is kept: then finding one takes the
/// same time wherever in a long line it is.
const MARK_EVERY: usize = 128;

/// A place as an index has it, from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct At {
    pub(super) line: u32,
    pub(super) column: u32,
}

/// What begins at a place and ends before another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Range {
    pub(super) start: At,
    pub(super) end: At,
}

impl Range {
    /// Three numbers for a piece of one line, or four.
    fn of(numbers: &[i32]) -> Option<Self> {
        let (start_line, start, end_line, end) = match numbers {
            [line, start, end] => (line, start, line, end),
            [start_line, start, end_line, end] => (start_line, start, end_line, end),
            _ => return None,
        };
        let at = |line: &i32, column: &i32| {
            let (line, column) = (u32::try_from(*line).ok()?, u32::try_from(*column).ok()?);
            Some(At { line, column })
        };
        let range = Self { start: at(start_line, start)?, end: at(end_line, end)? };
        (range.start <= range.end).then_some(range)
    }

    fn of_line(range: &SingleLineRange) -> Option<Self> {
        Self::of(&[range.line, range.start_character, range.end_character])
    }

    fn of_lines(range: &MultiLineRange) -> Option<Self> {
        let MultiLineRange { start_line, start_character, end_line, end_character, .. } = *range;
        Self::of(&[start_line, start_character, end_line, end_character])
    }

    /// Where an occurrence stands; `None` if it doesn't say so as the format has it.
    pub(super) fn of_occurrence(occurrence: &Occurrence) -> Option<Self> {
        match &occurrence.typed_range {
            Some(Typed_range::SingleLineRange(range)) => Self::of_line(range),
            Some(Typed_range::MultiLineRange(range)) => Self::of_lines(range),
            _ => Self::of(&occurrence.range),
        }
    }

    /// What of the document a definition takes up, if it says so.
    pub(super) fn of_definition(occurrence: &Occurrence) -> Option<Self> {
        match &occurrence.typed_enclosing_range {
            Some(Typed_enclosing_range::SingleLineEnclosingRange(range)) => Self::of_line(range),
            Some(Typed_enclosing_range::MultiLineEnclosingRange(range)) => Self::of_lines(range),
            _ => Self::of(&occurrence.enclosing_range),
        }
    }
}

/// The text of a document by lines.
pub(super) struct Lines<'t> {
    text: &'t str,
    starts: Vec<usize>,
    /// How much of what columns count in a character is.
    width: Option<fn(char) -> usize>,
    /// Of lines that aren't ASCII: columns as given and in bytes.
    marks: HashMap<u32, Vec<(usize, usize)>>,
}

impl<'t> Lines<'t> {
    /// Without a text, places are taken as they are.
    pub(super) fn new(text: Option<&'t str>, encoding: PositionEncoding) -> Self {
        let width: Option<fn(char) -> usize> = match encoding {
            PositionEncoding::UTF16CodeUnitOffsetFromLineStart => Some(char::len_utf16),
            PositionEncoding::UTF32CodeUnitOffsetFromLineStart => Some(|_| 1),
            _ => None,
        };
        let text = text.unwrap_or_default();
        let ends = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        let starts = std::iter::once(0).chain(ends.map(|(at, _)| at + 1)).collect();
        Self { text, starts, width, marks: HashMap::new() }
    }

    fn line(&self, number: u32) -> Option<(usize, &'t str)> {
        let number = usize::try_from(number).ok()?;
        let start = *self.starts.get(number)?;
        let end = self.starts.get(number + 1).copied().unwrap_or(self.text.len());
        Some((start, self.text.get(start..end)?.trim_end_matches(['\n', '\r'])))
    }

    /// The place with its column in bytes.
    pub(super) fn position(&mut self, at: At) -> Position {
        let column = self.column(at).and_then(|column| u32::try_from(column).ok());
        Position { line: at.line.saturating_add(1), column: column.unwrap_or(at.column) }
    }

    fn column(&mut self, at: At) -> Option<usize> {
        let (width, wanted) = (self.width?, usize::try_from(at.column).ok()?);
        let (_, line) = self.line(at.line).filter(|_| !self.text.is_empty())?;
        let marks = self.marks.entry(at.line).or_insert_with(|| marks(line, width));
        if marks.is_empty() {
            return Some(wanted.min(line.len()));
        }
        let before = marks.partition_point(|(column, _)| *column <= wanted).checked_sub(1)?;
        let (mut column, mut bytes) = *marks.get(before)?;
        for letter in line.get(bytes..)?.chars() {
            if column >= wanted {
                break;
            }
            column += width(letter);
            bytes += letter.len_utf8();
        }
        Some(bytes)
    }

    /// The text from one place to another; nothing where the text isn't that which was indexed.
    pub(super) fn between(&mut self, range: Range) -> &'t str {
        let start = self.byte(range.start);
        let end = self.byte(range.end);
        let text = start.zip(end).and_then(|(start, end)| self.text.get(start..end));
        text.unwrap_or_default()
    }

    fn byte(&mut self, at: At) -> Option<usize> {
        let (start, line) = self.line(at.line)?;
        let column = self.column(at).or_else(|| usize::try_from(at.column).ok())?;
        (column <= line.len()).then_some(start + column)
    }
}

/// Places of characters in a line; none are needed where all are ASCII.
fn marks(line: &str, width: fn(char) -> usize) -> Vec<(usize, usize)> {
    let mut marks = Vec::new();
    if line.is_ascii() {
        return marks;
    }
    let mut column = 0;
    for (number, (byte, letter)) in line.char_indices().enumerate() {
        if number % MARK_EVERY == 0 {
            marks.push((column, byte));
        }
        column += width(letter);
    }
    marks
}
