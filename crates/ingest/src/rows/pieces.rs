//! An input of text cut into pieces of whole rows, each with the line on which it begins: of many rows each, so that
//! workers parse them beside each other.

use std::io::Read;

use timestrata_engine::{Error, ErrorKind, Result};

use super::input;

/// Bytes of a piece, unless a row is longer.
pub(super) const PIECE_BYTES: usize = 2 << 20;

/// Where rows end, in one form of text.
pub(super) trait Boundary: Send {
    /// The end of the last whole row in bytes that begin with a row.
    fn last_end(&self, bytes: &[u8]) -> Option<usize>;
}

/// Whole rows.
#[derive(Debug)]
pub(super) struct Piece {
    pub(super) bytes: Vec<u8>,
    /// The line of the first byte, from 1.
    pub(super) line: u64,
}

/// Cuts pieces off an input, in order.
pub(super) struct Cutter {
    name: String,
    reader: Box<dyn Read + Send>,
    boundary: Box<dyn Boundary>,
    /// Read, but of the piece to come.
    carry: Vec<u8>,
    line: u64,
    row_bytes_max: usize,
}

impl Cutter {
    pub(super) fn new(
        name: &str,
        reader: Box<dyn Read + Send>,
        boundary: Box<dyn Boundary>,
        row_bytes_max: usize,
    ) -> Self {
        let carry = Vec::new();
        Self { name: name.to_owned(), reader, boundary, carry, line: 1, row_bytes_max }
    }

    /// Says that so many lines stood before the first byte.
    pub(super) fn begins_behind(&mut self, lines: u64) {
        self.line += lines;
    }

    /// Gives the last piece back: its rows are the next again.
    pub(super) fn give_back(&mut self, mut piece: Piece) {
        piece.bytes.append(&mut self.carry);
        self.carry = piece.bytes;
        self.line = piece.line;
    }

    /// The next piece, of about `bytes`; `None` at the end of the input.
    ///
    /// # Errors
    /// `InvalidData` for a row without end, and for packed data that can't be unpacked.
    pub(super) fn next(&mut self, bytes: usize) -> Result<Option<Piece>> {
        let mut piece = std::mem::take(&mut self.carry);
        let mut target = bytes.max(1);
        loop {
            let missing = target.saturating_sub(piece.len());
            let asked = u64::try_from(missing).unwrap_or(u64::MAX);
            piece.reserve(missing);
            let read = self.reader.by_ref().take(asked).read_to_end(&mut piece);
            let read = read.map_err(|cause| input::could_not_read(&self.name, cause))?;
            if read < missing {
                break;
            }
            let within = piece.get(..target).unwrap_or(&piece);
            if let Some(end) = self.boundary.last_end(within) {
                self.carry = piece.split_off(end);
                break;
            }
            if piece.len() > self.row_bytes_max {
                return Err(self.endless_row());
            }
            target = piece.len().saturating_mul(2).min(self.row_bytes_max.saturating_add(1));
        }
        if piece.is_empty() {
            return Ok(None);
        }
        let line = self.line;
        let lines = memchr::memchr_iter(b'\n', &piece).count();
        self.line += u64::try_from(lines).unwrap_or(0);
        Ok(Some(Piece { bytes: piece, line }))
    }

    fn endless_row(&self) -> Error {
        let message = format!(
            "line {}: the row that begins here is longer than {} bytes (a quote that is never \
             closed?)",
            self.line, self.row_bytes_max
        );
        Error::new(ErrorKind::TooLarge, message).at(&self.name)
    }
}
