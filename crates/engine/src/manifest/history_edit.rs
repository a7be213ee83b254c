//! What an edit of the manifest means to those who follow the changes.

use timestrata_format::manifest::ManifestOp;
use timestrata_format::{HistoryStep, KeyRange, RunMeta, SeqNo, StreamId};

use super::ManifestStamp;

/// An edit as the history has it.
#[derive(Debug, Default)]
pub(crate) struct HistoryEdit<'a> {
    /// The commit that it adds, past the log.
    pub(crate) committed: Option<SeqNo>,
    /// The time of that commit, in milliseconds since the epoch.
    pub(crate) time_ms: Option<u64>,
    /// Runs that it adds.
    pub(crate) runs: Vec<&'a RunMeta>,
    /// Range deletes that it adds.
    pub(crate) deleted: Vec<(StreamId, KeyRange)>,
    /// Streams of which only rows that stay were added.
    pub(crate) rewritten: Vec<StreamId>,
    /// Streams of which runs have expired, with the runs.
    pub(crate) expired: Vec<(StreamId, Vec<&'a RunMeta>)>,
    /// Streams that it drops.
    pub(crate) dropped: Vec<StreamId>,
    /// The last commit when it was made.
    pub(crate) last_seq: SeqNo,
    /// The wall clock then.
    pub(crate) wall_ns: i64,
    /// The manifest behind it.
    pub(crate) stamp: ManifestStamp,
}

impl<'a> HistoryEdit<'a> {
    pub(super) fn of(step: &'a HistoryStep, retired: &'a [RunMeta]) -> Self {
        let (generation, bytes) = (step.generation, step.manifest_bytes);
        let stamp = ManifestStamp { generation, bytes };
        let (last_seq, wall_ns) = (step.last_seq, step.wall_ns);
        let mut found = Self { last_seq, wall_ns, stamp, ..Self::default() };
        for op in &step.edit.ops {
            match op {
                ManifestOp::Committed(seq) => found.committed = Some(*seq),
                ManifestOp::CommitTime(time_ms) => found.time_ms = Some(*time_ms),
                ManifestOp::AddRun(meta) => found.runs.push(meta),
                ManifestOp::AddTombstone { stream, tombstone } => {
                    found.deleted.push((*stream, tombstone.range));
                }
                ManifestOp::Rewritten(stream) => found.rewritten.push(*stream),
                ManifestOp::Expired(stream) => {
                    let runs = retired.iter().filter(|meta| meta.stream == *stream);
                    found.expired.push((*stream, runs.collect()));
                }
                ManifestOp::DropStream(stream) => found.dropped.push(*stream),
                _ => {}
            }
        }
        found
    }
}
