//! Where a run comes from: the entry `timestrata.origin` of its metadata.
//!
//! From it, and from what all runs of a store say, a manifest can be made anew where it has been lost.
//! Nothing is read from it in normal work but the checksums of blocks. Runs of earlier builds have none.

use crate::header::{open_sealed, sealed};
use crate::input::{Input, put_key_range, put_prefixed};
use crate::manifest::{ManifestOp, StreamDefinition, VersionEdit, decode_edit, encode_edit};
use crate::{DecodeError, HeaderError, RunId, SeqNo, Tombstone};

/// Where a block of a run lies in its file, and its checksum.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BlockExtent {
    /// Its first byte.
    pub start: u64,
    /// The first byte behind it.
    pub end: u64,
    /// CRC-32C of the bytes between.
    pub crc: u32,
}

/// Where a run comes from, and the stream that it is one of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunOrigin {
    /// Format version of this structure.
    pub format_version: u32,
    /// 0 for a flush, higher for what compaction has settled.
    pub level: u8,
    /// Wall clock of its newest commits, as the manifest has it: nanoseconds since the epoch.
    pub created_wall_ns: i64,
    /// The runs that it was made of, by a compaction, and which it takes the place of together with the
    /// compaction's other outputs.
    pub replaces: Vec<RunId>,
    /// The outputs of the same compaction that were written before it.
    pub outputs_before: Vec<RunId>,
    /// Whether no output of the compaction comes behind it.
    pub is_last_output: bool,
    /// The stream as it was.
    pub definition: StreamDefinition,
    /// Range deletes of the stream that runs had to heed when it was written, the newest of them if
    /// they were many.
    pub tombstones: Vec<Tombstone>,
    /// Its blocks, in order.
    pub blocks: Vec<BlockExtent>,
}

const EXTENT_BYTES: usize = 20;
/// The fewest bytes a range delete takes.
const TOMBSTONE_BYTES_MIN: usize = 9;

impl RunOrigin {
    /// Its bytes.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(1024 + EXTENT_BYTES * self.blocks.len());
        out.extend_from_slice(&self.format_version.to_le_bytes());
        out.push(self.level);
        out.extend_from_slice(&self.created_wall_ns.to_le_bytes());
        for runs in [&self.replaces, &self.outputs_before] {
            put_count(&mut out, runs.len());
            runs.iter().for_each(|run| out.extend_from_slice(&run.0.to_le_bytes()));
        }
        out.push(u8::from(self.is_last_output));
        let definition = ManifestOp::CreateStream(self.definition.clone());
        put_prefixed(&mut out, &encode_edit(&VersionEdit { ops: vec![definition] }));
        put_count(&mut out, self.tombstones.len());
        for tombstone in &self.tombstones {
            out.extend_from_slice(&tombstone.seq.0.to_le_bytes());
            put_key_range(&mut out, &tombstone.range);
        }
        put_count(&mut out, self.blocks.len());
        for block in &self.blocks {
            out.extend_from_slice(&block.start.to_le_bytes());
            out.extend_from_slice(&block.end.to_le_bytes());
            out.extend_from_slice(&block.crc.to_le_bytes());
        }
        sealed(out)
    }

    /// Reads what [`RunOrigin::encode`] wrote.
    pub fn decode(bytes: &[u8]) -> Result<Self, HeaderError> {
        let (format_version, mut input) =
            open_sealed(bytes, "run origin checksum", "run origin version")?;
        let origin = Self {
            format_version,
            level: input.u8("level")?,
            created_wall_ns: input.i64("creation time")?,
            replaces: read_runs(&mut input, "runs replaced")?,
            outputs_before: read_runs(&mut input, "outputs before")?,
            is_last_output: input.flag("whether it is the last output")?,
            definition: read_definition(&mut input)?,
            tombstones: input.list(
                TOMBSTONE_BYTES_MIN,
                "number of range deletes",
                read_tombstone,
            )?,
            blocks: input.list(EXTENT_BYTES, "number of blocks", read_block)?,
        };
        input.finish("run origin")?;
        Ok(origin)
    }
}

fn put_count(out: &mut Vec<u8>, count: usize) {
    out.extend_from_slice(&u32::try_from(count).unwrap_or(u32::MAX).to_le_bytes());
}

fn read_runs(input: &mut Input<'_>, what: &'static str) -> Result<Vec<RunId>, DecodeError> {
    input.list(8, what, |input| input.u64(what).map(RunId))
}

fn read_definition(input: &mut Input<'_>) -> Result<StreamDefinition, DecodeError> {
    let what = "definition of the stream";
    let offset = input.offset();
    let edit = decode_edit(input.prefixed(what)?).map_err(|error| error.shifted(offset))?;
    match edit.ops.into_iter().next() {
        Some(ManifestOp::CreateStream(definition)) => Ok(definition),
        _ => Err(DecodeError::new(offset, what, "one", "another operation")),
    }
}

fn read_tombstone(input: &mut Input<'_>) -> Result<Tombstone, DecodeError> {
    let seq = SeqNo(input.u64("commit of a range delete")?);
    Ok(Tombstone { seq, range: input.key_range("range of a range delete")? })
}

fn read_block(input: &mut Input<'_>) -> Result<BlockExtent, DecodeError> {
    let start = input.u64("start of a block")?;
    let end = input.u64("end of a block")?;
    Ok(BlockExtent { start, end, crc: input.u32("checksum of a block")? })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::FORMAT_VERSION;
    use crate::checksum::crc32c;
    use crate::manifest::{Merge, Retention};
    use crate::{KeyRange, RunFormat, StreamId};

    fn origin() -> RunOrigin {
        RunOrigin {
            format_version: FORMAT_VERSION,
            level: 2,
            created_wall_ns: -3,
            replaces: vec![RunId(4), RunId(5)],
            outputs_before: vec![RunId(6)],
            is_last_output: true,
            definition: StreamDefinition {
                id: StreamId(7),
                name: "events".into(),
                schema_ipc: vec![1, 2, 3],
                key: vec!["time".into()],
                merge: Merge::Keep,
                run_format: RunFormat::Cold,
                retention: Retention { age_ns: Some(8), bytes: None },
                properties: vec![("kind".into(), "log".into())],
            },
            tombstones: vec![Tombstone { seq: SeqNo(9), range: KeyRange::times(1, 2) }],
            blocks: vec![BlockExtent { start: 10, end: 20, crc: 30 }],
        }
    }

    #[test]
    fn an_origin_is_read_back_and_with_any_flipped_bit_or_cut_it_is_damaged() {
        let bytes = origin().encode();
        assert_eq!(RunOrigin::decode(&bytes), Ok(origin()));
        for bit in 0..bytes.len() * 8 {
            let mut damaged = bytes.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            let found = RunOrigin::decode(&damaged);
            assert!(matches!(found, Err(HeaderError::Damaged(_))), "bit {bit}");
        }
        for cut in 0..bytes.len() {
            assert!(RunOrigin::decode(&bytes[..cut]).is_err(), "cut at {cut}");
        }
    }

    proptest! {
        #[test]
        fn sealed_garbage_never_panics(mut bytes: Vec<u8>) {
            let _ = RunOrigin::decode(&bytes);
            if let Some(version) = bytes.first_chunk_mut::<4>() {
                *version = FORMAT_VERSION.to_le_bytes();
            }
            let crc = crc32c(&bytes);
            bytes.extend_from_slice(&crc.to_le_bytes());
            let _ = RunOrigin::decode(&bytes);
        }
    }
}
