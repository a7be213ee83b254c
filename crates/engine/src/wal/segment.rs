//! One file of the log: its name, and writing to it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use timestrata_format::wal::{
    END_MARK_BYTES, PAYLOAD_ALIGNMENT, RECORD_HEADER_BYTES, RecordHeader, RecordKind, RecordSeed,
    SEGMENT_HEADER_BYTES, record_bytes, record_padding,
};
use timestrata_format::{SeqNo, WalId};
use timestrata_io::DiskFile;

use super::payload::crc_of;
use crate::{Error, Result};

/// Where the start record stands.
pub(super) const START_OFFSET: u64 = SEGMENT_HEADER_BYTES as u64;

/// Where the record after the start record stands.
pub(super) const FIRST_COMMIT_OFFSET: u64 =
    START_OFFSET + RECORD_HEADER_BYTES as u64 + START_PAYLOAD_BYTES as u64;

const START_PAYLOAD_BYTES: usize = 8;

/// Kept free behind every record: for the end record and the zeros behind it.
pub(super) const RESERVED_BYTES: u64 = (RECORD_HEADER_BYTES + END_MARK_BYTES) as u64;

/// Records up to this length are put together first and written in one call.
const SMALL_RECORD_BYTES: usize = 256;

/// The name of a segment's file.
pub(crate) fn segment_path(dir: &Path, id: WalId) -> PathBuf {
    dir.join(format!("{:016x}.wal", id.0))
}

/// The name of a file that waits to be used again; `id` is any that no other spare has.
pub(super) fn spare_path(dir: &Path, id: WalId) -> PathBuf {
    dir.join(format!("{:016x}.spare", id.0))
}

/// What a file name in the log's directory stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FileName {
    Segment(WalId),
    Spare(WalId),
}

impl FileName {
    /// `None` for a name that the log doesn't give.
    pub(super) fn parse(name: &str) -> Option<Self> {
        let (digits, extension) = name.split_once('.')?;
        let lower_hex = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        if digits.len() != 16 || !digits.bytes().all(lower_hex) {
            return None;
        }
        let id = WalId(u64::from_str_radix(digits, 16).ok()?);
        match extension {
            "wal" => Some(Self::Segment(id)),
            "spare" => Some(Self::Spare(id)),
            _ => None,
        }
    }
}

/// A segment that is open for writing.
#[derive(Debug)]
pub(super) struct Segment {
    pub(super) id: WalId,
    pub(super) path: PathBuf,
    pub(super) file: Arc<dyn DiskFile>,
    pub(super) seed: RecordSeed,
}

/// A record about to be written.
pub(super) struct NewRecord<'a> {
    pub(super) kind: RecordKind,
    pub(super) seq: SeqNo,
    pub(super) synced_through: SeqNo,
    /// Of a commit, in milliseconds since the epoch.
    pub(super) time_ms: Option<u64>,
    pub(super) payload: NewPayload<'a>,
    /// Whether a sync follows at once.
    pub(super) to_sync: bool,
}

/// A record's payload.
pub(super) struct NewPayload<'a> {
    pub(super) content: Payload<'a>,
    pub(super) bytes: usize,
    /// CRC-32C.
    pub(super) crc: u32,
}

impl<'a> NewPayload<'a> {
    /// The payload of parts; `crc` is its CRC-32C, if the caller has it.
    pub(super) fn of_parts(parts: &'a [&'a [u8]], crc: Option<u32>) -> Self {
        Self {
            bytes: parts.iter().map(|part| part.len()).sum(),
            crc: crc.unwrap_or_else(|| crc_of(parts)),
            content: Payload::Parts(parts),
        }
    }
}

/// How it is laid out.
pub(super) enum Payload<'a> {
    /// In parts, one behind the other.
    Parts(&'a [&'a [u8]]),
    /// In its place: with room for the header before it and for an end mark behind it.
    InRecord(&'a mut [u8]),
}

/// Bytes that a record at `offset` takes.
pub(super) fn space_for(offset: u64, payload_bytes: usize) -> u64 {
    record_bytes(record_padding(offset, payload_bytes), payload_bytes as u64)
}

/// The longest payload that an empty segment of `segment_bytes` takes.
pub(super) fn payload_bytes_max(segment_bytes: u64) -> u64 {
    let overhead =
        FIRST_COMMIT_OFFSET + (RECORD_HEADER_BYTES + PAYLOAD_ALIGNMENT) as u64 + RESERVED_BYTES;
    segment_bytes.saturating_sub(overhead)
}

impl Segment {
    /// Writes a record at `offset`, and zeros behind it; gives where the next one begins.
    /// The caller has seen that it fits.
    pub(super) fn write_record(&self, offset: u64, record: NewRecord<'_>) -> Result<u64> {
        let padding = record_padding(offset, record.payload.bytes);
        let header = RecordHeader {
            kind: record.kind,
            padding,
            payload_bytes: record.payload.bytes as u32,
            payload_crc: record.payload.crc,
            seq: record.seq,
            synced_through: record.synced_through,
            time_ms: record.time_ms,
        };
        let end = offset + header.record_bytes();
        let bytes = header.encode(self.seed, offset);
        let to_sync = record.to_sync;
        let written = match record.payload.content {
            Payload::InRecord(whole) => {
                whole[..RECORD_HEADER_BYTES].copy_from_slice(&bytes);
                self.write(offset, whole, to_sync)
            }
            Payload::Parts(parts) if end - offset <= SMALL_RECORD_BYTES as u64 => {
                self.write_small(offset, &bytes, parts, (end - offset) as usize, to_sync)
            }
            Payload::Parts(parts) => {
                let payload_offset = offset + header.payload_offset();
                self.write_large([offset, payload_offset, end], &bytes, parts, to_sync)
            }
        };
        written.map_err(|source| Error::io("write to the log", &self.path, source))?;
        Ok(end)
    }

    fn write_small(
        &self,
        offset: u64,
        header: &[u8; RECORD_HEADER_BYTES],
        parts: &[&[u8]],
        record_bytes: usize,
        to_sync: bool,
    ) -> std::io::Result<()> {
        let mut buffer = [0; SMALL_RECORD_BYTES + END_MARK_BYTES];
        buffer[..RECORD_HEADER_BYTES].copy_from_slice(header);
        let mut at = RECORD_HEADER_BYTES;
        for part in parts {
            buffer[at..at + part.len()].copy_from_slice(part);
            at += part.len();
        }
        self.write(offset, &buffer[..record_bytes + END_MARK_BYTES], to_sync)
    }

    /// The header comes last: whoever finds it whole finds the rest written before it.
    fn write_large(
        &self,
        [offset, payload_offset, end]: [u64; 3],
        header: &[u8; RECORD_HEADER_BYTES],
        parts: &[&[u8]],
        to_sync: bool,
    ) -> std::io::Result<()> {
        let mut at = payload_offset;
        for part in parts {
            self.write(at, part, to_sync)?;
            at += part.len() as u64;
        }
        let zeros = [0; END_MARK_BYTES + 8];
        let zeros = &zeros[..(end - at) as usize + END_MARK_BYTES];
        self.write(at, zeros, to_sync)?;
        self.write(offset, header, to_sync)
    }

    fn write(&self, offset: u64, bytes: &[u8], to_sync: bool) -> std::io::Result<()> {
        match to_sync {
            true => self.file.write_at_to_sync(offset, bytes),
            false => self.file.write_at(offset, bytes),
        }
    }

    /// Makes the segment's records durable.
    pub(super) fn sync(&self) -> Result<()> {
        self.file.sync_data().map_err(|source| Error::io("sync the log", &self.path, source))
    }
}
