//! Laying out a commit's payload as parts, so that large batches are copied once only: from
//! their own buffers into the log.

use arrow_buffer::Buffer;
use timestrata_format::checksum::{Crc32c, crc32c};
use timestrata_format::input::{Input, put_key_range};
use timestrata_format::wal::{EntryHeader, EntryKind, entry_padding};
use timestrata_format::{DecodeError, KeyRange};

use crate::{Error, ErrorKind, Result, Stream};

/// Shorter buffers of a batch are copied: a part is written, and summed up, by itself, which takes longer. A batch of a few rows
/// has a dozen, of offsets, validity and padding.
const INLINE_BYTES_MAX: usize = 1 << 10;

/// The entries of one commit, in order.
#[derive(Debug, Default)]
pub(crate) struct PayloadBuilder {
    /// Headers, padding and short pieces of bodies, one behind the other.
    inline: Vec<u8>,
    pieces: Vec<PayloadPart>,
    /// Inline bytes that are in `pieces` already.
    inline_in_pieces: usize,
    shared_bytes: usize,
}

#[derive(Debug)]
enum PayloadPart {
    Inline(std::ops::Range<usize>),
    Shared(Buffer),
}

impl PayloadBuilder {
    /// Without an entry, with room for so many bytes of what is short.
    pub(crate) fn with_capacity(bytes: usize) -> Self {
        Self { inline: Vec::with_capacity(bytes), ..Self::default() }
    }

    /// Length of the payload so far, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.inline.len() + self.shared_bytes
    }

    /// Adds a range delete.
    pub(crate) fn delete_range(&mut self, stream: &Stream, range: &KeyRange) -> Result<()> {
        let offset = self.bytes();
        let mut body = Vec::new();
        put_key_range(&mut body, range);
        let body_bytes = body_length(body.len())?;
        let header = EntryHeader::new(EntryKind::DeleteRange, stream.id(), body_bytes, offset)
            .of_schema(stream.schema_version());
        self.inline.extend_from_slice(&header.encode());
        self.inline.extend_from_slice(&body);
        self.pad();
        Ok(())
    }

    /// Adds a batch of rows, as [`super::encode_batch`] gave it.
    pub(crate) fn batch(&mut self, stream: &Stream, body: Vec<Buffer>) -> Result<()> {
        let body_bytes = body_length(body.iter().map(Buffer::len).sum())?;
        let header = EntryHeader::new(EntryKind::Batch, stream.id(), body_bytes, self.bytes())
            .of_schema(stream.schema_version());
        self.inline.extend_from_slice(&header.encode());
        self.inline.resize(self.inline.len() + usize::from(header.padding), 0);
        body.into_iter().for_each(|piece| self.add(piece));
        self.pad();
        Ok(())
    }

    /// Adds rows or keys of a stream, as [`super::RowLayout::encode`] wrote them.
    pub(crate) fn rows(&mut self, kind: EntryKind, stream: &Stream, body: &[u8]) -> Result<()> {
        let header = EntryHeader::new(kind, stream.id(), body_length(body.len())?, self.bytes())
            .of_schema(stream.schema_version());
        self.inline.extend_from_slice(&header.encode());
        self.inline.extend_from_slice(body);
        self.pad();
        Ok(())
    }

    /// Adds a piece of a body.
    fn add(&mut self, piece: Buffer) {
        if piece.len() <= INLINE_BYTES_MAX {
            self.inline.extend_from_slice(&piece);
            return;
        }
        self.pieces.push(PayloadPart::Inline(self.inline_in_pieces..self.inline.len()));
        self.inline_in_pieces = self.inline.len();
        self.shared_bytes += piece.len();
        self.pieces.push(PayloadPart::Shared(piece));
    }

    fn pad(&mut self) {
        let padding = entry_padding(self.bytes());
        self.inline.resize(self.inline.len() + padding, 0);
    }

    /// Gives the payload as parts: what [`super::Wal::append`] takes.
    pub(crate) fn with_parts<T>(&self, take: impl FnOnce(&[&[u8]]) -> T) -> T {
        let rest = &self.inline[self.inline_in_pieces..];
        if self.pieces.is_empty() {
            return take(&[rest]);
        }
        let pieces = self.pieces.iter().map(|piece| match piece {
            PayloadPart::Inline(range) => &self.inline[range.clone()],
            PayloadPart::Shared(buffer) => buffer.as_slice(),
        });
        let parts: Vec<&[u8]> = pieces.chain([rest]).collect();
        take(&parts)
    }

    /// CRC-32C of the payload: large ones are better summed up before the commit lock is taken.
    pub(crate) fn crc(&self) -> u32 {
        self.with_parts(crc_of)
    }
}

/// CRC-32C of parts, one behind the other.
pub(super) fn crc_of(parts: &[&[u8]]) -> u32 {
    match parts {
        [] => crc32c(&[]),
        [part] => crc32c(part),
        parts => {
            let mut crc = Crc32c::new();
            parts.iter().for_each(|part| crc.update(part));
            crc.value()
        }
    }
}

pub(super) fn body_length(bytes: usize) -> Result<u32> {
    u32::try_from(bytes).map_err(|_| {
        Error::new(
            ErrorKind::TooLarge,
            format!("one change of {bytes} bytes; below 4 GiB is taken"),
        )
    })
}

/// Reads the body of a range delete.
pub(crate) fn decode_range(body: &[u8]) -> std::result::Result<KeyRange, DecodeError> {
    let mut input = Input::new(body);
    let range = input.key_range("range delete")?;
    input.finish("range delete")?;
    Ok(range)
}
