//! What only the log has.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use timestrata_format::{SeqNo, StreamId, WalId};
use timestrata_io::Io;

use super::report::RepairReport;
use super::state::{RepairPlan, manifest_path};
use crate::directory::{RUNS_DIR, WAL_DIR};
use crate::memtable::MemtableView;
use crate::recovery::{self, KnownRuns, Replay};
use crate::run::BlockCache;
use crate::state::{RunFolder, StoreState};
use crate::wal::{self, WalReader};
use crate::{Error, ErrorKind, Result};

/// Commits that no run has, as memtables.
#[derive(Debug, Default)]
pub(super) struct FromLog {
    /// By stream, oldest first.
    pub(super) memtables: BTreeMap<StreamId, Vec<Arc<MemtableView>>>,
    /// How many commits to each stream.
    pub(super) commits: BTreeMap<StreamId, u64>,
    /// The last commit of the store.
    pub(super) last_seq: SeqNo,
}

/// Reads the log as far as it can be read, past damage too.
pub(super) fn read(
    io: &Io,
    dir: &Path,
    plan: &RepairPlan,
    report: &mut RepairReport,
) -> Result<FromLog> {
    let folder = RunFolder {
        io: io.clone(),
        dir: dir.join(RUNS_DIR),
        store_id: plan.store_id,
        cache: Arc::new(BlockCache::new(0)),
        damage: Arc::default(),
    };
    let (path, known) = (manifest_path(dir), KnownRuns::new());
    let mut core = recovery::build_core(&folder, &path, &plan.state, &known)?;
    // Streams that are not there are passed over.
    core.next_stream = StreamId(u64::MAX);
    let mut reading = LogReading { plan, unknown: BTreeSet::new(), commits: BTreeMap::new() };
    let wal_dir = dir.join(WAL_DIR);
    let mut segments = wal::segment_ids(&*io.disk, &wal_dir)?;
    segments.retain(|id| *id >= plan.log_floor);
    for pair in segments.windows(2) {
        if let [before, behind] = pair
            && before.next() != *behind
        {
            report.lost.push(format!("the log between its segments {before} and {behind}"));
        }
    }
    let mut rest = segments.as_slice();
    while let [first, ..] = rest {
        let stopped_in = reading.stretch(io, &wal_dir, rest, &mut core, report)?;
        let next = stopped_in.map_or(WalId(u64::MAX), |segment| segment.max(*first).next());
        rest = &rest[rest.partition_point(|id| *id < next)..];
    }
    for id in reading.unknown {
        report.lost.push(format!(
            "commits of the log to stream {id}: no run and no manifest says what its columns are"
        ));
    }
    let commits = reading.commits;
    let slots: Vec<_> = core.live().map(|(slot, state)| (slot, state.stream.id())).collect();
    let mut memtables = BTreeMap::new();
    for (slot, id) in slots {
        core.seal(slot);
        let sealed: Vec<_> = core.streams[slot].sealed.iter().cloned().collect();
        memtables.insert(id, sealed);
    }
    Ok(FromLog { memtables, commits, last_seq: core.last_seq })
}

struct LogReading<'a> {
    plan: &'a RepairPlan,
    /// Streams that nothing tells of.
    unknown: BTreeSet<StreamId>,
    commits: BTreeMap<StreamId, u64>,
}

impl LogReading<'_> {
    /// Reads some segments one after the other. Where that ends before their end because of damage: the
    /// segment in which it did.
    fn stretch(
        &mut self,
        io: &Io,
        wal_dir: &Path,
        segments: &[WalId],
        core: &mut StoreState,
        report: &mut RepairReport,
    ) -> Result<Option<WalId>> {
        let first = segments.first().copied().unwrap_or_default();
        let opened = WalReader::of_segments(io, wal_dir, self.plan.store_id, segments.to_vec());
        let mut reader = match opened {
            Ok(reader) => reader,
            Err(error) => return told(error, report).map(|()| Some(first)),
        };
        let mut replay = Replay::new(core);
        let stopped = loop {
            match reader.next_record() {
                Ok(Some(record)) => {
                    let applied =
                        replay.apply_unless(&record, |stream, seq| self.is_passed(stream, seq));
                    if let Err(error) = applied {
                        told(error, report)?;
                    }
                }
                Ok(None) => break None,
                Err(error) => break Some(error),
            }
        };
        replay.finish();
        match stopped {
            None => Ok(None),
            Some(error) => {
                told(error, report)?;
                Ok(Some(reader.tail().position.segment))
            }
        }
    }

    /// Whether a commit's change to a stream is in runs, or can't be read.
    fn is_passed(&mut self, stream: StreamId, seq: SeqNo) -> bool {
        let Some(entry) = self.plan.state.streams.get(&stream) else {
            // By a manifest's word it was dropped, if it is older.
            if !self.plan.is_told || stream >= self.plan.state.next_stream {
                self.unknown.insert(stream);
            }
            return true;
        };
        let is_in_runs = seq <= entry.flushed_through
            || (!self.plan.is_told
                && entry.runs.values().any(|run| run.seq_min <= seq && seq <= run.seq_max));
        if !is_in_runs {
            *self.commits.entry(stream).or_default() += 1;
        }
        is_in_runs
    }
}

/// Tells of damage and goes on.
fn told(error: Error, report: &mut RepairReport) -> Result<()> {
    match error.kind() {
        ErrorKind::Corruption | ErrorKind::NotFound => {
            report.lost.push(format!("a part of the log: {error}"));
            Ok(())
        }
        _ => Err(error),
    }
}
