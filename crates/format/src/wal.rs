//! Bytes of the write-ahead log: segment headers, record headers, and the entries that make
//! a record's payload.
//!
//! A segment's file is reused under a new id, so it may hold records of its earlier life.
//! None of them can be taken for a record of this one: each record header's checksum is
//! seeded with the store's id, the segment's id and the record's own offset.

mod entry;

use crate::checksum::{Crc32c, crc32c};
use crate::header::{check_seal, decode_preamble, encode_preamble, seal};
use crate::input::Input;
use crate::{FORMAT_VERSION, HeaderError, SeqNo, StoreId, WalId};

pub use entry::{ENTRY_HEADER_BYTES, Entries, EntryHeader, EntryKind, EntryRef, entry_padding};

/// The first bytes of a segment.
pub const SEGMENT_MAGIC: [u8; 8] = *b"TSTRWAL\0";

/// Length of a segment's header; the first record follows.
pub const SEGMENT_HEADER_BYTES: usize = 64;

/// Length of a record's header.
pub const RECORD_HEADER_BYTES: usize = 32;

/// Every record begins at a multiple of this.
pub const RECORD_ALIGNMENT: usize = 8;

/// A large record's payload begins at a multiple of this, for Arrow's buffers.
pub const PAYLOAD_ALIGNMENT: usize = 64;

/// From this length on a payload is aligned to [`PAYLOAD_ALIGNMENT`].
pub const ALIGNED_PAYLOAD_BYTES_MIN: usize = 1024;

/// Zeros that stand behind the last record, so that an end in good order is told from one
/// that a crash tore.
pub const END_MARK_BYTES: usize = 16;

/// Bits of a commit's wall clock in its record: milliseconds since the epoch up to the year 2109.
const TIME_BITS: u32 = 42;

/// A commit so far behind the last sync, or further, does not tell of that.
const LAG_MAX: u64 = (1 << (u64::BITS - TIME_BITS)) - 1;

/// Stands in every record header, so that a search for records can skip what is none.
const RECORD_MAGIC: u16 = 0xC5D7;

/// What stands at the start of a segment. It is durable before the file has its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SegmentHeader {
    /// Format version of the segment.
    pub format_version: u32,
    /// The store whose commits it holds.
    pub store_id: StoreId,
    /// Its identity, and its file's name.
    pub wal_id: WalId,
    /// Length of the file in bytes.
    pub segment_bytes: u64,
}

impl SegmentHeader {
    /// Its bytes.
    pub fn encode(&self) -> [u8; SEGMENT_HEADER_BYTES] {
        let mut bytes = [0; SEGMENT_HEADER_BYTES];
        bytes[..16].copy_from_slice(&encode_preamble(SEGMENT_MAGIC, self.format_version));
        bytes[16..32].copy_from_slice(&self.store_id.0);
        bytes[32..40].copy_from_slice(&self.wal_id.0.to_le_bytes());
        bytes[40..48].copy_from_slice(&self.segment_bytes.to_le_bytes());
        seal(&mut bytes);
        bytes
    }

    /// Reads the header at the start of a segment's bytes.
    pub fn decode(bytes: &[u8]) -> Result<Self, HeaderError> {
        let mut input = Input::new(bytes);
        let format_version = decode_preamble(&mut input, SEGMENT_MAGIC)?;
        let sealed = Input::new(bytes).bytes(SEGMENT_HEADER_BYTES, "segment header")?;
        check_seal(sealed, "segment header checksum")?;
        Ok(Self {
            format_version,
            store_id: StoreId(input.array("store id")?),
            wal_id: WalId(input.u64("segment id")?),
            segment_bytes: input.u64("segment length")?,
        })
    }

    /// The header of a segment that this build writes.
    pub fn new(store_id: StoreId, wal_id: WalId, segment_bytes: u64) -> Self {
        Self { format_version: FORMAT_VERSION, store_id, wal_id, segment_bytes }
    }

    /// Seed of the checksums of the segment's record headers.
    pub fn seed(&self) -> RecordSeed {
        RecordSeed::new(self.store_id, self.wal_id)
    }
}

/// Ties record headers to one segment of one store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecordSeed(u32);

impl RecordSeed {
    /// The seed of a segment.
    pub fn new(store_id: StoreId, wal_id: WalId) -> Self {
        let mut crc = Crc32c::new();
        crc.update(&store_id.0);
        crc.update(&wal_id.0.to_le_bytes());
        Self(crc.value())
    }

    /// What stands in for the checksum while it is computed.
    #[inline]
    fn at(self, offset: u64) -> [u8; 4] {
        let [a, b, c, d, ..] = offset.to_le_bytes();
        (self.0 ^ u32::from_le_bytes([a, b, c, d])).to_le_bytes()
    }
}

/// What a record is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecordKind {
    /// First in its segment: `seq` is the last commit's of all segments before (0 if there
    /// is none), so that what is missing between two segments is noticed. The payload is the
    /// id of the segment that holds that commit, as 8 bytes.
    Start,
    /// A commit: its entries are the payload.
    Commit,
    /// Written after a sync, so that what it made durable is missed even if nothing follows:
    /// `seq` is the last commit before it. No payload.
    Synced,
    /// Last in its segment: the log goes on in the next. `seq` is the last commit's. No payload.
    End,
}

/// What stands before a record's payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecordHeader {
    /// What the record is.
    pub kind: RecordKind,
    /// Unused bytes between header and payload: a multiple of 8 below 64.
    pub padding: u8,
    /// Length of the payload in bytes.
    pub payload_bytes: u32,
    /// CRC-32C of the payload.
    pub payload_crc: u32,
    /// The commit.
    pub seq: SeqNo,
    /// The last record's commit that was known to be durable when this was written; 0 where that is not told.
    pub synced_through: SeqNo,
    /// Of a commit: when it was made, milliseconds since the epoch. None of other records, and of commits that a build
    /// before format version 4 wrote.
    pub time_ms: Option<u64>,
}

impl RecordHeader {
    /// Its bytes at `offset` of the segment with that seed.
    pub fn encode(&self, seed: RecordSeed, offset: u64) -> [u8; RECORD_HEADER_BYTES] {
        let (kind, last) = match (self.kind, self.time_ms) {
            (RecordKind::Start, _) => (1, self.synced_through.0),
            (RecordKind::Commit, None) => (2, self.synced_through.0),
            (RecordKind::End, _) => (3, self.synced_through.0),
            (RecordKind::Synced, _) => (4, self.synced_through.0),
            (RecordKind::Commit, Some(time_ms)) => (5, self.lag_and_time(time_ms)),
        };
        let [magic_low, magic_high] = RECORD_MAGIC.to_le_bytes();
        let marks = u32::from_le_bytes([magic_low, magic_high, kind, self.padding]);
        // In words as wide as the checksum reads them: what was stored in pieces is slow to load.
        let pair = |low: u32, high: u32| u64::from(low) | u64::from(high) << 32;
        let words = |first: u32| {
            let mut bytes = [0; RECORD_HEADER_BYTES];
            let words =
                [pair(first, self.payload_bytes), pair(self.payload_crc, marks), self.seq.0, last];
            for (place, word) in bytes.as_chunks_mut::<8>().0.iter_mut().zip(words) {
                *place = word.to_le_bytes();
            }
            bytes
        };
        words(crc32c(&words(u32::from_le_bytes(seed.at(offset)))))
    }

    /// How far the commit is behind the last sync, and its time above that.
    fn lag_and_time(&self, time_ms: u64) -> u64 {
        let lag = self.seq.0.saturating_sub(self.synced_through.0).min(LAG_MAX);
        time_ms.min((1 << TIME_BITS) - 1) << (u64::BITS - TIME_BITS) | lag
    }

    /// The header that was written at `offset` of that segment, or `None` where these bytes
    /// are no such header. (Which of damage, a torn write or unused space it is, only the
    /// surroundings tell.)
    #[inline]
    pub fn decode(
        bytes: &[u8; RECORD_HEADER_BYTES],
        seed: RecordSeed,
        offset: u64,
    ) -> Option<Self> {
        if !Self::is_candidate(bytes) {
            return None;
        }
        let ([first, second, seq, last], _) = bytes.as_chunks::<8>() else {
            return None;
        };
        let (first, second) = (u64::from_le_bytes(*first), u64::from_le_bytes(*second));
        // Word by word, as the checksum reads them: what was stored in pieces is slow to load.
        let seeded_first = first >> 32 << 32 | u64::from(u32::from_le_bytes(seed.at(offset)));
        let mut seeded = [0; RECORD_HEADER_BYTES];
        let words = [seeded_first.to_le_bytes(), second.to_le_bytes(), *seq, *last];
        seeded.as_chunks_mut().0.iter_mut().zip(words).for_each(|(place, word)| *place = word);
        if crc32c(&seeded) != first as u32 {
            return None;
        }
        let [.., kind, padding] = second.to_le_bytes();
        let (seq, last) = (u64::from_le_bytes(*seq), u64::from_le_bytes(*last));
        let (kind, synced_through, time_ms) = match kind {
            1 => (RecordKind::Start, last, None),
            2 => (RecordKind::Commit, last, None),
            3 => (RecordKind::End, last, None),
            4 => (RecordKind::Synced, last, None),
            5 => {
                let lag = last & LAG_MAX;
                let synced = if lag == LAG_MAX { 0 } else { seq.saturating_sub(lag) };
                (RecordKind::Commit, synced, Some(last >> (u64::BITS - TIME_BITS)))
            }
            _ => return None,
        };
        if padding >= PAYLOAD_ALIGNMENT as u8 || padding % RECORD_ALIGNMENT as u8 != 0 {
            return None;
        }
        Some(Self {
            kind,
            padding,
            payload_bytes: (first >> 32) as u32,
            payload_crc: second as u32,
            seq: SeqNo(seq),
            synced_through: SeqNo(synced_through),
            time_ms,
        })
    }

    /// Cheap test that rules out nearly all bytes that are no header of any segment.
    #[inline]
    pub fn is_candidate(bytes: &[u8; RECORD_HEADER_BYTES]) -> bool {
        bytes[12..14] == RECORD_MAGIC.to_le_bytes()
    }

    /// From the record's offset to its payload's.
    #[inline]
    pub fn payload_offset(&self) -> u64 {
        RECORD_HEADER_BYTES as u64 + u64::from(self.padding)
    }

    /// From the record's offset to the next one's.
    #[inline]
    pub fn record_bytes(&self) -> u64 {
        record_bytes(self.padding, u64::from(self.payload_bytes))
    }
}

/// Unused bytes between header and payload of a record at `offset`.
pub fn record_padding(offset: u64, payload_bytes: usize) -> u8 {
    if payload_bytes < ALIGNED_PAYLOAD_BYTES_MIN {
        return 0;
    }
    let unaligned = (offset + RECORD_HEADER_BYTES as u64) % PAYLOAD_ALIGNMENT as u64;
    ((PAYLOAD_ALIGNMENT as u64 - unaligned) % PAYLOAD_ALIGNMENT as u64) as u8
}

/// Bytes that a record takes, up to where the next one begins.
#[inline]
pub fn record_bytes(padding: u8, payload_bytes: u64) -> u64 {
    (RECORD_HEADER_BYTES as u64 + u64::from(padding) + payload_bytes)
        .next_multiple_of(RECORD_ALIGNMENT as u64)
}

#[cfg(test)]
mod tests;
