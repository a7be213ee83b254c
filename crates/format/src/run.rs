//! What the manifest says of a run and of a range delete, and what a run says of itself.

use crate::header::{open_sealed, sealed};
use crate::input::{Input, put_lead_key};
use crate::{DecodeError, HeaderError, KeyRange, LeadKey, RunId, SeqNo, StoreId, StreamId};

/// The file format of a run.
///
/// ```
/// # use timestrata_format::RunFormat;
/// assert_ne!(RunFormat::Hot, RunFormat::Cold); // an Arrow IPC file; a Parquet file
/// ```
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

impl RunMeta {
    /// The same of a run whose stream tells times in a unit of which `factor` make one of those before. `None` where that can't
    /// hold the run's times, or its keys are others.
    #[must_use]
    pub fn in_finer_unit(&self, factor: i64) -> Option<Self> {
        let key_min = self.key_min.in_finer_unit(factor)?;
        let key_max = self.key_max.in_finer_unit(factor)?;
        Some(Self { key_min, key_max, ..self.clone() })
    }
}

/// A range delete: hides rows of `range` that were committed before `seq`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tombstone {
    /// The keys it hides.
    pub range: KeyRange,
    /// The commit that deleted.
    pub seq: SeqNo,
}

/// Bytes of a run file that each of [`RunTail::block_crcs`] covers.
pub const BLOCK_CHECKSUM_BYTES: u32 = 65_536;

/// The same in runs of small blocks, which are read here and there.
pub const BLOCK_CHECKSUM_BYTES_SMALL: u32 = 16_384;

/// The same in hot runs of small blocks: of a damaged block rows can be read that have no bytes under a checksum that is wrong.
pub const BLOCK_CHECKSUM_BYTES_LEAST: u32 = 4_096;

/// Zone map of one record batch or row group of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Zone {
    /// Rows in it.
    pub rows: u32,
    /// Smallest leading key in it.
    pub key_min: LeadKey,
    /// Greatest leading key in it (inclusive).
    pub key_max: LeadKey,
}

/// What a run file says of itself, in its own metadata.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunTail {
    /// Format version of this structure and of the run.
    pub format_version: u32,
    /// The store it was written for.
    pub store_id: StoreId,
    /// Its identity in that store.
    pub run_id: RunId,
    /// The stream whose rows it holds.
    pub stream_id: StreamId,
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
    /// Rows that are delete markers.
    pub delete_markers: u64,
    /// Bytes from the start of the file that the block checksums cover.
    pub data_bytes: u64,
    /// Bytes each block checksum covers; the last may cover fewer.
    pub block_checksum_bytes: u32,
    /// CRC-32C of each block, in order.
    pub block_crcs: Vec<u32>,
    /// Zone maps, in order.
    pub zones: Vec<Zone>,
}

/// The smallest zone: rows, and two keys of 8 bytes behind their tags.
const ZONE_BYTES_MIN: usize = 4 + 9 + 9;

impl RunTail {
    /// Its bytes.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(192 + 4 * self.block_crcs.len() + 70 * self.zones.len());
        out.extend_from_slice(&self.format_version.to_le_bytes());
        out.extend_from_slice(&self.store_id.0);
        let numbers = [
            self.run_id.0,
            self.stream_id.0,
            self.seq_min.0,
            self.seq_max.0,
            self.tombstones_applied_through.0,
            self.rows,
            self.delete_markers,
            self.data_bytes,
        ];
        numbers.iter().for_each(|number| out.extend_from_slice(&number.to_le_bytes()));
        put_lead_key(&mut out, self.key_min);
        put_lead_key(&mut out, self.key_max);
        out.extend_from_slice(&self.block_checksum_bytes.to_le_bytes());
        out.extend_from_slice(&(self.block_crcs.len() as u32).to_le_bytes());
        self.block_crcs.iter().for_each(|crc| out.extend_from_slice(&crc.to_le_bytes()));
        out.extend_from_slice(&(self.zones.len() as u32).to_le_bytes());
        for zone in &self.zones {
            out.extend_from_slice(&zone.rows.to_le_bytes());
            put_lead_key(&mut out, zone.key_min);
            put_lead_key(&mut out, zone.key_max);
        }
        sealed(out)
    }

    /// Reads what [`RunTail::encode`] wrote. The block checksums are as many as
    /// `data_bytes` needs; whether the zones add up to `rows` is for the caller to judge.
    pub fn decode(bytes: &[u8]) -> Result<Self, HeaderError> {
        let (format_version, mut input) =
            open_sealed(bytes, "run tail checksum", "run tail version")?;
        let tail = Self {
            format_version,
            store_id: StoreId(input.array("store id")?),
            run_id: RunId(input.u64("run id")?),
            stream_id: StreamId(input.u64("stream id")?),
            seq_min: SeqNo(input.u64("oldest commit")?),
            seq_max: SeqNo(input.u64("newest commit")?),
            tombstones_applied_through: SeqNo(input.u64("tombstones applied")?),
            rows: input.u64("rows")?,
            delete_markers: input.u64("delete markers")?,
            data_bytes: input.u64("data bytes")?,
            key_min: input.lead_key("smallest key")?,
            key_max: input.lead_key("greatest key")?,
            block_checksum_bytes: input.u32("bytes a block checksum covers")?,
            block_crcs: input
                .list(4, "number of block checksums", |input| input.u32("block checksum"))?,
            zones: input.list(ZONE_BYTES_MIN, "number of zones", decode_zone)?,
        };
        input.finish("run tail")?;
        tail.check_block_count()?;
        Ok(tail)
    }

    fn check_block_count(&self) -> Result<(), DecodeError> {
        let what = "number of block checksums";
        if self.block_checksum_bytes == 0 {
            return Err(DecodeError::new(0, "bytes a block checksum covers", "1 or more", 0));
        }
        let expected = self.data_bytes.div_ceil(u64::from(self.block_checksum_bytes));
        if expected == self.block_crcs.len() as u64 {
            return Ok(());
        }
        Err(DecodeError::new(0, what, expected, self.block_crcs.len()))
    }
}

fn decode_zone(input: &mut Input<'_>) -> Result<Zone, DecodeError> {
    Ok(Zone {
        rows: input.u32("rows of a zone")?,
        key_min: input.lead_key("smallest key of a zone")?,
        key_max: input.lead_key("greatest key of a zone")?,
    })
}

#[cfg(test)]
mod tests;
