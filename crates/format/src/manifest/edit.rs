//! Bytes of a version edit: `u32 count`, then each operation as a tag byte and its fields.

use crate::input::{Input, put_key_range, put_lead_key, put_prefixed};
use crate::manifest::{
    ManifestOp, Merge, Pin, PinnedStream, Retention, StreamDefinition, VersionEdit,
};
use crate::{DecodeError, RunFormat, RunId, RunMeta, SeqNo, StreamId, Tombstone, WalId};

/// Tags of the operations. A number is never given to another operation.
mod tag {
    pub(super) const CREATE_STREAM: u8 = 1;
    pub(super) const DROP_STREAM: u8 = 2;
    pub(super) const ADD_RUN: u8 = 3;
    pub(super) const REMOVE_RUN: u8 = 4;
    pub(super) const ADD_TOMBSTONE: u8 = 5;
    pub(super) const REMOVE_TOMBSTONE: u8 = 6;
    pub(super) const FLUSHED_THROUGH: u8 = 7;
    pub(super) const SET_RETENTION: u8 = 8;
    pub(super) const ADD_PIN: u8 = 9;
    pub(super) const REMOVE_PIN: u8 = 10;
    pub(super) const NEXT_RUN_ID: u8 = 11;
    pub(super) const NEXT_STREAM_ID: u8 = 12;
    pub(super) const WAL_FLOOR: u8 = 13;
    pub(super) const CLOSED: u8 = 14;
    pub(super) const ALTER_STREAM: u8 = 15;
    pub(super) const COMMIT_TIME: u8 = 16;
    pub(super) const COMMITTED: u8 = 17;
    pub(super) const REWRITTEN: u8 = 18;
    pub(super) const EXPIRED: u8 = 19;
    pub(super) const SET_FOLLOWER: u8 = 20;
    pub(super) const REMOVE_FOLLOWER: u8 = 21;
    pub(super) const REFINE_TIMES: u8 = 22;
}

/// The fewest bytes a run's description takes (keys of 8 bytes).
const RUN_META_BYTES_MIN: usize = 108;
/// The fewest bytes a tombstone takes (both ends open).
const TOMBSTONE_BYTES_MIN: usize = 9;

/// The payload of an edit's frame.
pub fn encode_edit(edit: &VersionEdit) -> Vec<u8> {
    let mut out = Vec::with_capacity(128 * (1 + edit.ops.len()));
    put_count(&mut out, edit.ops.len());
    edit.ops.iter().for_each(|op| put_op(&mut out, op));
    out
}

/// Reads what [`encode_edit`] wrote.
pub fn decode_edit(bytes: &[u8]) -> Result<VersionEdit, DecodeError> {
    let mut input = Input::new(bytes);
    let ops = input.list(1, "number of operations", read_op)?;
    input.finish("edit")?;
    Ok(VersionEdit { ops })
}

fn tag_of(op: &ManifestOp) -> u8 {
    match op {
        ManifestOp::CreateStream(_) => tag::CREATE_STREAM,
        ManifestOp::AlterStream(_) => tag::ALTER_STREAM,
        ManifestOp::RefineTimes { .. } => tag::REFINE_TIMES,
        ManifestOp::DropStream(_) => tag::DROP_STREAM,
        ManifestOp::AddRun(_) => tag::ADD_RUN,
        ManifestOp::RemoveRun { .. } => tag::REMOVE_RUN,
        ManifestOp::AddTombstone { .. } => tag::ADD_TOMBSTONE,
        ManifestOp::RemoveTombstone { .. } => tag::REMOVE_TOMBSTONE,
        ManifestOp::FlushedThrough { .. } => tag::FLUSHED_THROUGH,
        ManifestOp::SetRetention { .. } => tag::SET_RETENTION,
        ManifestOp::AddPin(_) => tag::ADD_PIN,
        ManifestOp::RemovePin(_) => tag::REMOVE_PIN,
        ManifestOp::NextRunId(_) => tag::NEXT_RUN_ID,
        ManifestOp::NextStreamId(_) => tag::NEXT_STREAM_ID,
        ManifestOp::WalFloor(_) => tag::WAL_FLOOR,
        ManifestOp::Closed { .. } => tag::CLOSED,
        ManifestOp::CommitTime(_) => tag::COMMIT_TIME,
        ManifestOp::Committed(_) => tag::COMMITTED,
        ManifestOp::Rewritten(_) => tag::REWRITTEN,
        ManifestOp::Expired(_) => tag::EXPIRED,
        ManifestOp::SetFollower { .. } => tag::SET_FOLLOWER,
        ManifestOp::RemoveFollower(_) => tag::REMOVE_FOLLOWER,
    }
}

fn put_op(out: &mut Vec<u8>, op: &ManifestOp) {
    out.push(tag_of(op));
    match op {
        ManifestOp::CreateStream(definition) | ManifestOp::AlterStream(definition) => {
            put_stream(out, definition);
        }
        ManifestOp::DropStream(stream)
        | ManifestOp::Rewritten(stream)
        | ManifestOp::Expired(stream) => put_u64(out, stream.0),
        ManifestOp::RefineTimes { stream, factor } => {
            put_u64(out, stream.0);
            put_u64(out, factor.cast_unsigned());
        }
        ManifestOp::AddRun(run) => put_run(out, run),
        ManifestOp::RemoveRun { stream, run } => {
            put_u64(out, stream.0);
            put_u64(out, run.0);
        }
        ManifestOp::AddTombstone { stream, tombstone }
        | ManifestOp::RemoveTombstone { stream, tombstone } => {
            put_u64(out, stream.0);
            put_tombstone(out, tombstone);
        }
        ManifestOp::FlushedThrough { stream, seq } => {
            put_u64(out, stream.0);
            put_u64(out, seq.0);
        }
        ManifestOp::SetRetention { stream, retention } => {
            put_u64(out, stream.0);
            put_retention(out, retention);
        }
        ManifestOp::AddPin(pin) => put_pin(out, pin),
        ManifestOp::RemovePin(name) | ManifestOp::RemoveFollower(name) => {
            put_prefixed(out, name.as_bytes());
        }
        ManifestOp::SetFollower { name, seq } => {
            put_prefixed(out, name.as_bytes());
            put_u64(out, seq.0);
        }
        ManifestOp::NextRunId(RunId(number))
        | ManifestOp::NextStreamId(StreamId(number))
        | ManifestOp::WalFloor(WalId(number))
        | ManifestOp::Closed { last_seq: SeqNo(number) }
        | ManifestOp::CommitTime(number)
        | ManifestOp::Committed(SeqNo(number)) => put_u64(out, *number),
    }
}

fn read_op(input: &mut Input<'_>) -> Result<ManifestOp, DecodeError> {
    let offset = input.offset();
    Ok(match input.u8("operation")? {
        tag::CREATE_STREAM => ManifestOp::CreateStream(read_stream(input)?),
        tag::ALTER_STREAM => ManifestOp::AlterStream(read_stream(input)?),
        tag::DROP_STREAM => ManifestOp::DropStream(read_stream_id(input)?),
        tag::ADD_RUN => ManifestOp::AddRun(read_run(input)?),
        tag::REMOVE_RUN => ManifestOp::RemoveRun {
            stream: read_stream_id(input)?,
            run: RunId(input.u64("run id")?),
        },
        tag::ADD_TOMBSTONE => ManifestOp::AddTombstone {
            stream: read_stream_id(input)?,
            tombstone: read_tombstone(input)?,
        },
        tag::REMOVE_TOMBSTONE => ManifestOp::RemoveTombstone {
            stream: read_stream_id(input)?,
            tombstone: read_tombstone(input)?,
        },
        tag::FLUSHED_THROUGH => ManifestOp::FlushedThrough {
            stream: read_stream_id(input)?,
            seq: SeqNo(input.u64("flushed commit")?),
        },
        tag::SET_RETENTION => ManifestOp::SetRetention {
            stream: read_stream_id(input)?,
            retention: read_retention(input)?,
        },
        tag::ADD_PIN => ManifestOp::AddPin(read_pin(input)?),
        tag::REMOVE_PIN => ManifestOp::RemovePin(input.string("pin name")?),
        tag::NEXT_RUN_ID => ManifestOp::NextRunId(RunId(input.u64("next run id")?)),
        tag::NEXT_STREAM_ID => ManifestOp::NextStreamId(StreamId(input.u64("next stream id")?)),
        tag::WAL_FLOOR => ManifestOp::WalFloor(WalId(input.u64("WAL floor")?)),
        tag::CLOSED => ManifestOp::Closed { last_seq: SeqNo(input.u64("last commit")?) },
        tag::COMMIT_TIME => ManifestOp::CommitTime(input.u64("time of the last commit")?),
        tag::COMMITTED => ManifestOp::Committed(SeqNo(input.u64("commit")?)),
        tag::REWRITTEN => ManifestOp::Rewritten(read_stream_id(input)?),
        tag::EXPIRED => ManifestOp::Expired(read_stream_id(input)?),
        tag::SET_FOLLOWER => ManifestOp::SetFollower {
            name: input.string("follower's name")?,
            seq: SeqNo(input.u64("follower's commit")?),
        },
        tag::REMOVE_FOLLOWER => ManifestOp::RemoveFollower(input.string("follower's name")?),
        tag::REFINE_TIMES => {
            ManifestOp::RefineTimes { stream: read_stream_id(input)?, factor: read_factor(input)? }
        }
        unknown => {
            return Err(DecodeError::new(
                offset,
                "operation",
                format_args!("a tag of 1 to {}", tag::REFINE_TIMES),
                format_args!("unknown tag {unknown}"),
            ));
        }
    })
}

fn put_u64(out: &mut Vec<u8>, number: u64) {
    out.extend_from_slice(&number.to_le_bytes());
}

/// # Panics
/// If there are 4 Gi items or more.
fn put_count(out: &mut Vec<u8>, count: usize) {
    assert!(u32::try_from(count).is_ok(), "an edit with {count} items");
    out.extend_from_slice(&(count as u32).to_le_bytes());
}

fn read_stream_id(input: &mut Input<'_>) -> Result<StreamId, DecodeError> {
    input.u64("stream id").map(StreamId)
}

/// How many of a finer unit make one of the unit before.
fn read_factor(input: &mut Input<'_>) -> Result<i64, DecodeError> {
    let offset = input.offset();
    let factor = input.u64("factor between units")?;
    i64::try_from(factor).ok().filter(|factor| *factor >= 2).ok_or_else(|| {
        DecodeError::new(
            offset,
            "factor between units",
            format_args!("2 or more"),
            format_args!("{factor}"),
        )
    })
}

fn put_stream(out: &mut Vec<u8>, definition: &StreamDefinition) {
    put_u64(out, definition.id.0);
    put_prefixed(out, definition.name.as_bytes());
    put_prefixed(out, &definition.schema_ipc);
    put_count(out, definition.key.len());
    definition.key.iter().for_each(|name| put_prefixed(out, name.as_bytes()));
    out.push(match definition.merge {
        Merge::Keep => 1,
        Merge::Latest => 2,
    });
    put_run_format(out, definition.run_format);
    put_retention(out, &definition.retention);
    put_count(out, definition.properties.len());
    for (name, value) in &definition.properties {
        put_prefixed(out, name.as_bytes());
        put_prefixed(out, value.as_bytes());
    }
}

fn read_stream(input: &mut Input<'_>) -> Result<StreamDefinition, DecodeError> {
    let id = read_stream_id(input)?;
    let name = input.string("stream name")?;
    let schema_ipc = input.prefixed("schema")?.to_vec();
    let key = input.list(4, "number of key columns", |input| input.string("key column"))?;
    let merge_offset = input.offset();
    let merge = match input.u8("merge rule")? {
        1 => Merge::Keep,
        2 => Merge::Latest,
        other => return Err(DecodeError::new(merge_offset, "merge rule", "1 or 2", other)),
    };
    let run_format = read_run_format(input)?;
    let retention = read_retention(input)?;
    let properties = input.list(8, "number of properties", |input| {
        Ok((input.string("property name")?, input.string("property value")?))
    })?;
    Ok(StreamDefinition { id, name, schema_ipc, key, merge, run_format, retention, properties })
}

fn put_run_format(out: &mut Vec<u8>, format: RunFormat) {
    out.push(match format {
        RunFormat::Hot => 1,
        RunFormat::Cold => 2,
    });
}

fn read_run_format(input: &mut Input<'_>) -> Result<RunFormat, DecodeError> {
    let offset = input.offset();
    match input.u8("run format")? {
        1 => Ok(RunFormat::Hot),
        2 => Ok(RunFormat::Cold),
        other => Err(DecodeError::new(offset, "run format", "1 or 2", other)),
    }
}

fn put_retention(out: &mut Vec<u8>, retention: &Retention) {
    for limit in [retention.age_ns, retention.bytes] {
        out.push(u8::from(limit.is_some()));
        limit.iter().for_each(|&number| put_u64(out, number));
    }
}

fn read_retention(input: &mut Input<'_>) -> Result<Retention, DecodeError> {
    let mut limit = |what| if input.flag(what)? { input.u64(what).map(Some) } else { Ok(None) };
    Ok(Retention { age_ns: limit("retention by age")?, bytes: limit("retention by bytes")? })
}

fn put_tombstone(out: &mut Vec<u8>, tombstone: &Tombstone) {
    put_u64(out, tombstone.seq.0);
    put_key_range(out, &tombstone.range);
}

fn read_tombstone(input: &mut Input<'_>) -> Result<Tombstone, DecodeError> {
    let seq = SeqNo(input.u64("commit of a tombstone")?);
    Ok(Tombstone { range: input.key_range("range of a tombstone")?, seq })
}

fn put_run(out: &mut Vec<u8>, run: &RunMeta) {
    put_u64(out, run.id.0);
    put_u64(out, run.stream.0);
    put_run_format(out, run.format);
    out.push(run.level);
    put_lead_key(out, run.key_min);
    put_lead_key(out, run.key_max);
    put_u64(out, run.seq_min.0);
    put_u64(out, run.seq_max.0);
    put_u64(out, run.tombstones_applied_through.0);
    put_u64(out, run.rows);
    put_u64(out, run.delete_markers);
    put_u64(out, run.file_bytes);
    out.extend_from_slice(&run.file_crc.to_le_bytes());
    put_u64(out, run.tail_offset);
    out.extend_from_slice(&run.tail_crc.to_le_bytes());
    out.extend_from_slice(&run.created_wall_ns.to_le_bytes());
}

fn read_run(input: &mut Input<'_>) -> Result<RunMeta, DecodeError> {
    Ok(RunMeta {
        id: RunId(input.u64("run id")?),
        stream: read_stream_id(input)?,
        format: read_run_format(input)?,
        level: input.u8("level of a run")?,
        key_min: input.lead_key("smallest key of a run")?,
        key_max: input.lead_key("greatest key of a run")?,
        seq_min: SeqNo(input.u64("oldest commit of a run")?),
        seq_max: SeqNo(input.u64("newest commit of a run")?),
        tombstones_applied_through: SeqNo(input.u64("tombstones applied to a run")?),
        rows: input.u64("rows of a run")?,
        delete_markers: input.u64("delete markers of a run")?,
        file_bytes: input.u64("length of a run")?,
        file_crc: input.u32("checksum of a run")?,
        tail_offset: input.u64("tail offset of a run")?,
        tail_crc: input.u32("tail checksum of a run")?,
        created_wall_ns: input.i64("creation time of a run")?,
    })
}

fn put_pin(out: &mut Vec<u8>, pin: &Pin) {
    put_prefixed(out, pin.name.as_bytes());
    put_u64(out, pin.seq.0);
    out.extend_from_slice(&pin.created_wall_ns.to_le_bytes());
    put_count(out, pin.streams.len());
    for pinned in &pin.streams {
        put_u64(out, pinned.stream.0);
        put_count(out, pinned.runs.len());
        pinned.runs.iter().for_each(|run| put_run(out, run));
        put_count(out, pinned.tombstones.len());
        pinned.tombstones.iter().for_each(|tombstone| put_tombstone(out, tombstone));
    }
}

fn read_pin(input: &mut Input<'_>) -> Result<Pin, DecodeError> {
    let name = input.string("pin name")?;
    let seq = SeqNo(input.u64("commit of a pin")?);
    let created_wall_ns = input.i64("creation time of a pin")?;
    let streams = input.list(16, "number of pinned streams", |input| {
        let stream = read_stream_id(input)?;
        let runs = input.list(RUN_META_BYTES_MIN, "number of pinned runs", read_run)?;
        let tombstones =
            input.list(TOMBSTONE_BYTES_MIN, "number of pinned tombstones", read_tombstone)?;
        Ok(PinnedStream { stream, runs, tombstones })
    })?;
    Ok(Pin { name, seq, created_wall_ns, streams })
}
