//! The record of single rows, in one piece, so that it is copied once on its way to the log.

use timestrata_format::checksum::crc32c;
use timestrata_format::wal::{
    ALIGNED_PAYLOAD_BYTES_MIN, END_MARK_BYTES, ENTRY_HEADER_BYTES, EntryHeader, EntryKind,
    RECORD_HEADER_BYTES, entry_padding,
};

use super::payload::body_length;
use crate::{Result, Stream};

const BODY_START: usize = RECORD_HEADER_BYTES + ENTRY_HEADER_BYTES;

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
        Self { bytes: vec![0; BODY_START + END_MARK_BYTES], payload_crc: 0 }
    }

    /// Takes the rows of a stream in place of those before: `encode` appends their encoding
    /// ([`super::RowLayout::encode`]).
    pub(crate) fn set(
        &mut self,
        stream: &Stream,
        encode: impl FnOnce(&mut Vec<u8>) -> Result<()>,
    ) -> Result<()> {
        // The headers are written over.
        self.bytes.truncate(BODY_START);
        let body_bytes = match encode(&mut self.bytes) {
            Ok(()) => body_length(self.bytes.len() - BODY_START)?,
            Err(error) => {
                *self = Self::new();
                return Err(error);
            }
        };
        let header = EntryHeader::new(EntryKind::Rows, stream.id(), body_bytes, 0)
            .of_schema(stream.schema_version())
            .encode();
        self.bytes[RECORD_HEADER_BYTES..BODY_START].copy_from_slice(&header);
        let padding = entry_padding(self.bytes.len() - RECORD_HEADER_BYTES);
        self.bytes.resize(self.bytes.len() + padding + END_MARK_BYTES, 0);
        // Here, where no lock is held yet.
        self.payload_crc = crc32c(self.payload());
        Ok(())
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
