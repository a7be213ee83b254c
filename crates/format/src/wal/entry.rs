//! The payload of a commit record: one entry behind the other.
//!
//! `u8 kind, u8 padding, u16 schema version, u32 length, u64 stream`, then `padding` zeros, then the
//! body of `length` bytes, then zeros up to a multiple of 8. A body that holds Arrow data
//! begins at a multiple of 64 of the payload, which in a large record is one of the file.

use crate::input::Input;
use crate::wal::PAYLOAD_ALIGNMENT;
use crate::{DecodeError, StreamId};

/// Bytes before an entry's padding and body.
pub const ENTRY_HEADER_BYTES: usize = 16;

const ENTRY_ALIGNMENT: usize = 8;

/// What an entry does to its stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryKind {
    /// Adds rows, in the compact encoding of single rows.
    Rows,
    /// Adds the rows of an Arrow batch; in a stream that keeps the latest row a key, each has
    /// a marker that says whether it deletes its key.
    Batch,
    /// Deletes a range of leading keys.
    DeleteRange,
    /// Deletes keys of a stream that keeps the latest row a key, each in the compact encoding of
    /// single rows.
    DeleteKeys,
    /// Changes nothing: says that what the commit adds to the stream are those rows of the ranges that it deletes which stay.
    /// Without a body.
    Rewritten,
}

impl EntryKind {
    fn tag(self) -> u8 {
        match self {
            Self::Rows => 1,
            Self::Batch => 2,
            Self::DeleteRange => 3,
            Self::DeleteKeys => 4,
            Self::Rewritten => 5,
        }
    }

    /// Whether the body is Arrow data, and so aligned.
    fn is_arrow(self) -> bool {
        matches!(self, Self::Batch)
    }
}

/// What stands before an entry's body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EntryHeader {
    /// What the entry does.
    pub kind: EntryKind,
    /// The stream it does it to.
    pub stream: StreamId,
    /// Which of its stream's schemas the rows have: 0 is the first.
    pub schema_version: u16,
    /// Zeros between header and body.
    pub padding: u8,
    /// Length of the body in bytes.
    pub body_bytes: u32,
}

impl EntryHeader {
    /// The header of an entry that begins at `offset` of the payload, of rows of the stream's
    /// first schema.
    pub fn new(kind: EntryKind, stream: StreamId, body_bytes: u32, offset: usize) -> Self {
        let unaligned = (offset + ENTRY_HEADER_BYTES) % PAYLOAD_ALIGNMENT;
        let padding = match kind.is_arrow() {
            true => (PAYLOAD_ALIGNMENT - unaligned) % PAYLOAD_ALIGNMENT,
            false => 0,
        };
        Self { kind, stream, schema_version: 0, padding: padding as u8, body_bytes }
    }

    /// The same of rows of another of the stream's schemas.
    #[must_use]
    pub fn of_schema(self, schema_version: u16) -> Self {
        Self { schema_version, ..self }
    }

    /// Its bytes, without the padding.
    pub fn encode(&self) -> [u8; ENTRY_HEADER_BYTES] {
        let mut bytes = [0; ENTRY_HEADER_BYTES];
        let [low, high] = self.schema_version.to_le_bytes();
        let first = u32::from_le_bytes([self.kind.tag(), self.padding, low, high]);
        // In words as wide as checksums read them: what was stored in pieces is slow to load.
        let first = u64::from(first) | u64::from(self.body_bytes) << 32;
        bytes[..8].copy_from_slice(&first.to_le_bytes());
        bytes[8..].copy_from_slice(&self.stream.0.to_le_bytes());
        bytes
    }
}

/// Zeros behind a body that ends at `offset` of the payload.
#[inline]
pub fn entry_padding(offset: usize) -> usize {
    offset.next_multiple_of(ENTRY_ALIGNMENT) - offset
}

/// One entry, borrowed from a payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EntryRef<'a> {
    /// What it does.
    pub kind: EntryKind,
    /// The stream it does it to.
    pub stream: StreamId,
    /// Which of its stream's schemas the rows have.
    pub schema_version: u16,
    /// Where the body begins in the payload.
    pub body_offset: usize,
    /// What to add or delete, in the kind's own encoding.
    pub body: &'a [u8],
}

/// The entries of a payload, in order; ends after the first error.
#[derive(Debug, Clone)]
pub struct Entries<'a> {
    input: Input<'a>,
    failed: bool,
}

impl<'a> Entries<'a> {
    /// Of a payload whose checksum was right.
    #[inline]
    pub fn new(payload: &'a [u8]) -> Self {
        Self { input: Input::new(payload), failed: false }
    }

    // So that an entry is never moved: what was stored in pieces is slow to load as a whole.
    #[inline(always)]
    fn read(&mut self) -> Result<EntryRef<'a>, DecodeError> {
        let input = &mut self.input;
        let offset = input.offset();
        let [tag, padding, low, high] = input.array("entry header")?;
        let kind = match tag {
            1 => EntryKind::Rows,
            2 => EntryKind::Batch,
            3 => EntryKind::DeleteRange,
            4 => EntryKind::DeleteKeys,
            5 => EntryKind::Rewritten,
            other => return Err(unknown_kind(offset, other)),
        };
        let schema_version = u16::from_le_bytes([low, high]);
        let body_bytes = input.u32("entry length")?;
        let stream = StreamId(input.u64("entry stream")?);
        input.bytes(usize::from(padding), "entry padding")?;
        let body_offset = input.offset() as usize;
        let body = input.bytes(body_bytes as usize, "entry body")?;
        input.bytes(entry_padding(input.offset() as usize), "entry end padding")?;
        Ok(EntryRef { kind, stream, schema_version, body_offset, body })
    }
}

impl<'a> Iterator for Entries<'a> {
    type Item = Result<EntryRef<'a>, DecodeError>;

    #[inline(always)]
    fn next(&mut self) -> Option<Self::Item> {
        if self.failed || self.input.remaining() == 0 {
            return None;
        }
        let entry = self.read();
        self.failed = entry.is_err();
        Some(entry)
    }
}

#[cold]
fn unknown_kind(offset: u64, kind: u8) -> DecodeError {
    DecodeError::new(offset, "entry kind", "1 to 5", format_args!("unknown kind {kind}"))
}
