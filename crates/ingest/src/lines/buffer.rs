//! Bytes that were read and not yet used.

use std::io::{ErrorKind as IoErrorKind, Read};

use timestrata_engine::{Error, ErrorKind, Result};

/// Bytes that are asked for at once.
const READ_BYTES: usize = 256 << 10;

/// A reader, and what is known of what it will give.
#[derive(Debug)]
pub(super) struct Buffer<R> {
    reader: R,
    bytes: Vec<u8>,
    start: usize,
    end: usize,
    is_all: bool,
    reads: u64,
}

impl<R: Read> Buffer<R> {
    pub(super) fn new(reader: R) -> Self {
        Self { reader, bytes: Vec::new(), start: 0, end: 0, is_all: false, reads: 0 }
    }

    /// What was read and not consumed.
    pub(super) fn unread(&self) -> &[u8] {
        self.bytes.get(self.start..self.end).unwrap_or_default()
    }

    /// Whether nothing follows that.
    pub(super) fn is_all(&self) -> bool {
        self.is_all
    }

    /// How often something was read.
    pub(super) fn reads(&self) -> u64 {
        self.reads
    }

    /// Drops bytes from the front of what is unread.
    pub(super) fn consume(&mut self, bytes: usize) {
        self.start = (self.start + bytes).min(self.end);
    }

    /// Reads on, behind what is unread. `false` if nothing follows.
    pub(super) fn fill(&mut self) -> Result<bool> {
        if self.is_all {
            return Ok(false);
        }
        self.make_room();
        loop {
            let room = self.bytes.get_mut(self.end..).unwrap_or_default();
            match self.reader.read(room) {
                // A reader that says more than it was given room for is not believed.
                Ok(bytes) => {
                    self.reads += 1;
                    self.is_all = bytes == 0;
                    self.end += bytes.min(room.len());
                    return Ok(!self.is_all);
                }
                Err(error) if error.kind() == IoErrorKind::Interrupted => {}
                Err(error) => {
                    let message = format!("the log could not be read: {error}");
                    return Err(Error::new(ErrorKind::Io, message).caused_by(error));
                }
            }
        }
    }

    /// Leaves room behind what is unread: by moving that to the front if it takes half of the memory
    /// at most, else with twice the memory.
    fn make_room(&mut self) {
        if self.end < self.bytes.len() {
            return;
        }
        self.bytes.copy_within(self.start..self.end, 0);
        (self.start, self.end) = (0, self.end - self.start);
        if self.end >= self.bytes.len() / 2 {
            self.bytes.resize((self.bytes.len() * 2).max(READ_BYTES), 0);
        }
    }
}
