//! What the manifest says of a run, and of a range delete.

use crate::{KeyRange, LeadKey, RunId, SeqNo, StreamId};

/// The file format of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RunFormat {
    /// Arrow IPC file, uncompressed, 64-byte aligned: mapped, a read is a slice.
    Hot,
    /// Parquet with an encoding chosen per column type, then ZSTD.
    Cold,
}

/// All that the manifest says of one run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunMeta {
    /// Its identity, and its file's name.
    pub id: RunId,
    /// The stream whose rows it holds.
    pub stream: StreamId,
    /// Its file format.
    pub format: RunFormat,
    /// 0 for a flush, higher for what compaction has settled.
    pub level: u8,
    /// Smallest leading key in it.
    pub key_min: LeadKey,
    /// Greatest leading key in it (inclusive).
    pub key_max: LeadKey,
    /// Commit of its oldest row.
    pub seq_min: SeqNo,
    /// Commit of its newest row.
    pub seq_max: SeqNo,
    /// Tombstones of this commit and of all before it have been applied to its rows.
    pub tombstones_applied_through: SeqNo,
    /// Rows, delete markers included.
    pub rows: u64,
    /// Rows that are delete markers (streams with `Latest` only).
    pub delete_markers: u64,
    /// Length of the file in bytes.
    pub file_bytes: u64,
    /// CRC-32C of the whole file.
    pub file_crc: u32,
    /// Where the tail (footer, indexes) begins; what is before it is covered by the block
    /// checksums that the tail carries.
    pub tail_offset: u64,
    /// CRC-32C of the bytes from `tail_offset` to the end.
    pub tail_crc: u32,
    /// Wall clock when it was written, nanoseconds since the epoch.
    pub created_wall_ns: i64,
}

/// A range delete: hides rows of `range` that were committed before `seq`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tombstone {
    /// The keys it hides.
    pub range: KeyRange,
    /// The commit that deleted.
    pub seq: SeqNo,
}
