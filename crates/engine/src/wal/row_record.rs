//! The record of single rows, in one piece, so that it is copied once on its way to the log.

use timestrata_format::checksum::crc32c;
use timestrata_format::wal::{
    ALIGNED_PAYLOAD_BYTES_MIN, END_MARK_BYTES, ENTRY_HEADER_BYTES, EntryHeader, EntryKind,
    RECORD_HEADER_BYTES, entry_padding,
};

use super::payload::body_length;
use crate::{Result, Stream};

/// A commit of rows as it will stand in the log. Used again and again, without allocations.
#[derive(Debug)]
pub(crate) struct RowRecord {
    /// Room for the record's header, the payload, and the zeros of an end mark.
    bytes: Vec<u8>,
    payload_crc: u32,
}

impl RowRecord {
    /// Without rows.
    pub(crate) fn new() -> Self {
        Self {
            bytes: vec![0; RECORD_HEADER_BYTES + ENTRY_HEADER_BYTES + END_MARK_BYTES],
            payload_crc: 0,
        }
    }

    /// Takes the rows of a stream in place of those before: `encode` appends their encoding
    /// ([`super::RowLayout::encode`]).
    pub(crate) fn set(
        &mut self,
        stream: &Stream,
        encode: impl FnOnce(&mut Vec<u8>) -> Result<()>,
    ) -> Result<()> {
        self.begin();
        self.add(EntryKind::Rows, stream, encode)?;
        self.end();
        Ok(())
    }

    /// Throws away what it has: entries are [added](Self::add) next, then it is [ended](Self::end).
    #[inline]
    pub(crate) fn begin(&mut self) {
        self.bytes.truncate(RECORD_HEADER_BYTES);
    }

    /// Adds an entry of rows or keys of a stream; `encode` appends their encoding. After an error there is
    /// nothing in it.
    #[inline]
    pub(crate) fn add(
        &mut self,
        kind: EntryKind,
        stream: &Stream,
        encode: impl FnOnce(&mut Vec<u8>) -> Result<()>,
    ) -> Result<()> {
        let begin = self.bytes.len();
        let body = begin + ENTRY_HEADER_BYTES;
        self.bytes.resize(body, 0);
        let encoded = encode(&mut self.bytes);
        let body_bytes = match encoded.and_then(|()| body_length(self.bytes.len() - body)) {
            Ok(body_bytes) => body_bytes,
            Err(error) => {
                *self = Self::new();
                return Err(error);
            }
        };
        let header = EntryHeader::new(kind, stream.id(), body_bytes, begin - RECORD_HEADER_BYTES)
            .of_schema(stream.schema_version())
            .encode();
        self.bytes[begin..body].copy_from_slice(&header);
        let padding = entry_padding(self.bytes.len() - RECORD_HEADER_BYTES);
        self.bytes.resize(self.bytes.len() + padding, 0);
        Ok(())
    }

    /// Makes it ready for the log: here, where no lock is held yet.
    #[inline]
    pub(crate) fn end(&mut self) {
        self.bytes.resize(self.bytes.len() + END_MARK_BYTES, 0);
        self.payload_crc = crc32c(self.payload());
    }

    /// The payload.
    pub(crate) fn payload(&self) -> &[u8] {
        &self.bytes[RECORD_HEADER_BYTES..self.bytes.len() - END_MARK_BYTES]
    }

    /// CRC-32C of the payload.
    pub(super) fn payload_crc(&self) -> u32 {
        self.payload_crc
    }

    /// The record with room for its header and an end mark behind it; `None` for a payload so
    /// long that its place in the record depends on the record's in the log.
    pub(super) fn whole(&mut self) -> Option<&mut [u8]> {
        (self.payload().len() < ALIGNED_PAYLOAD_BYTES_MIN).then_some(&mut self.bytes)
    }
}
