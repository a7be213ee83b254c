//! Splitting of lines and messages that are too long for one entry.

use std::io::Read;

use timestrata_logs::{Level, NewEntry};

use super::parser::keep;
use super::pieces::{Piece, Pieces, character_start};

/// The number of a part, from 1.
pub(super) const PART: &str = "part";

/// What is left of a line that did not fit into one entry.
#[derive(Debug, Default)]
pub(super) struct Parts {
    rest: Rest,
    /// The message that is cut, if one is.
    message: String,
    /// Bytes that were given.
    given: usize,
    /// Parts that were given.
    number: u64,
    bytes_max: usize,
    line: u64,
    source_time: Option<i64>,
    level: Option<Level>,
}

#[derive(Debug, Default)]
enum Rest {
    #[default]
    Nothing,
    Message,
    Line(Piece),
}

impl Parts {
    /// Cuts the message of an entry, which becomes that of the first part.
    pub(super) fn cut_message(&mut self, line: u64, bytes_max: usize, entry: &mut NewEntry) {
        self.begin(Rest::Message, line, bytes_max, entry);
        std::mem::swap(&mut self.message, &mut entry.message);
        entry.message.clear();
        self.next_of_message(entry);
        self.count(entry);
    }

    /// Cuts a line instead, as it is. Each part has the time and the level of the line's entry.
    pub(super) fn cut_line(&mut self, piece: Piece, bytes_max: usize, entry: &NewEntry) {
        self.begin(Rest::Line(piece), piece.line, bytes_max, entry);
    }

    /// Goes on with another piece of the same line.
    pub(super) fn go_on(&mut self, piece: Piece) {
        (self.rest, self.given) = (Rest::Line(piece), 0);
    }

    /// Makes `entry` the next part, if there is one, and says of which line it is. The last piece that
    /// `pieces` gave must be the one that is cut.
    pub(super) fn next<R: Read>(
        &mut self,
        pieces: &Pieces<R>,
        entry: &mut NewEntry,
    ) -> Option<u64> {
        let has_next = match self.rest {
            Rest::Nothing => return None,
            Rest::Message => {
                entry.clear();
                self.next_of_message(entry)
            }
            Rest::Line(piece) => {
                let rest = pieces.bytes(piece).get(self.given..).unwrap_or_default();
                let part = rest.get(..part_bytes(rest, self.bytes_max)).unwrap_or_default();
                self.given += part.len();
                keep(part, entry);
                !part.is_empty()
            }
        };
        if !has_next {
            self.rest = Rest::Nothing;
            return None;
        }
        (entry.source_time, entry.level) = (self.source_time, self.level);
        self.count(entry);
        Some(self.line)
    }

    fn begin(&mut self, rest: Rest, line: u64, bytes_max: usize, entry: &NewEntry) {
        (self.rest, self.line, self.bytes_max) = (rest, line, bytes_max);
        (self.given, self.number) = (0, 0);
        (self.source_time, self.level) = (entry.source_time, entry.level);
    }

    fn next_of_message(&mut self, entry: &mut NewEntry) -> bool {
        let rest = self.message.get(self.given..).unwrap_or_default();
        let part = rest.get(..rest.floor_char_boundary(self.bytes_max)).unwrap_or_default();
        self.given += part.len();
        entry.message.push_str(part);
        !part.is_empty()
    }

    fn count(&mut self, entry: &mut NewEntry) {
        self.number += 1;
        entry.fields.uint(PART, self.number);
    }
}

/// How many bytes of a line make a part. Of what is not UTF-8 it is a quarter: U+FFFD takes three bytes
/// for one, and the bytes themselves are a field of the part.
fn part_bytes(rest: &[u8], bytes_max: usize) -> usize {
    let most = character_start(rest, bytes_max.min(rest.len()));
    let few = bytes_max / 4;
    match std::str::from_utf8(rest.get(..most).unwrap_or_default()) {
        Ok(_) => most,
        Err(error) if error.valid_up_to() > few => error.valid_up_to(),
        Err(_) => character_start(rest, few.min(rest.len())),
    }
}
