//! What the manifest said a while ago, so that the store can be read as it was.
//!
//! A history is a state that held at some commit, and the edits since. Each says from which commit on a reader has to heed it:
//!
//! ```text
//!    base            runs 1 2, log from 3.wal        is read for commits   8 to 19
//!    flush           run 4 added, log from 5.wal     from commit 20 on    20 to 31
//!    compaction      1 2 4 become 6                  from commit 32 on    32 to 32      32 was the next one then
//!    flush           run 7 added, log from 6.wal     from commit 33 on    33 to
//! ```
//!
//! Commit 25 is read by runs 1, 2 and 4, and the log from 5.wal through 25. So run 4 and that part of the log stay until
//! the steps before the compaction are folded into the base, by their age or their bytes.
//!
//! The file is a help, and nothing is synced for it: it gets a step after the manifest has the edit. Where it does
//! not end with the manifest that is there, there is no history from before.

use std::collections::{BTreeSet, VecDeque};
use std::path::Path;
use std::sync::Arc;

use timestrata_format::manifest::{ManifestOp, StreamDefinition, VersionEdit};
use timestrata_format::{HistoryStep, RunId, RunMeta, SeqNo, StreamId, WalId};
use timestrata_io::Disk;

use super::ManifestState;
use super::history_edit::HistoryEdit;
use super::history_file::{HISTORY_NAME, HistoryFile, read_steps};
use super::load::{LoadedManifest, ManifestStamp};
use super::log::MANIFEST_NAME;
use crate::{Error, Result};

/// Behind all commits that there may be.
const NOT_KNOWN: SeqNo = SeqNo(u64::MAX >> 1);
const NS_PER_MS: i64 = 1_000_000;

/// What the history may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct HistoryLimits {
    /// A step that is older goes: by the wall clock.
    pub(crate) oldest_wall_ns: i64,
    /// Runs and log segments that nothing else needs.
    pub(crate) bytes_max: u64,
    /// What comes behind this commit somebody has not seen yet who follows by name.
    pub(crate) followed: Option<SeqNo>,
    /// For that it may be so much.
    pub(crate) followed_bytes_max: u64,
}

impl HistoryLimits {
    /// For none at all.
    pub(crate) const NOTHING: Self =
        Self { oldest_wall_ns: i64::MAX, bytes_max: 0, followed: None, followed_bytes_max: 0 };
}

/// What a history has let go of.
#[derive(Debug, Default)]
#[must_use = "the files stay until they are removed"]
pub(crate) struct Folded {
    /// Runs that neither it nor the manifest needs.
    pub(crate) runs: Vec<RunMeta>,
    /// The first segment of the log that it still needs.
    pub(crate) floor: WalId,
}

#[derive(Debug)]
struct Step {
    step: HistoryStep,
    /// Runs that streams had before it, and have no more.
    retired: Vec<RunMeta>,
}

/// When an edit was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct EditTime {
    /// The last commit then, or an earlier one that was not longer ago than all that the edit takes away.
    pub(crate) last_seq: SeqNo,
    pub(crate) wall_ns: i64,
}

/// The states of a store's manifest for a while.
#[derive(Debug)]
pub(crate) struct History {
    base: ManifestState,
    /// The first commit that `base` can be read for.
    from: SeqNo,
    /// The last commit that an edit has told of.
    newest: SeqNo,
    /// Where the manifest ended that said `base`.
    end: ManifestStamp,
    steps: VecDeque<Step>,
    retired_bytes: u64,
    /// The last step was found in the manifest alone: the log has to tell when that was.
    is_behind: bool,
    /// The file lacks that step.
    is_unwritten: bool,
    file: HistoryFile,
}

impl History {
    /// One that begins with what a manifest says now, behind the commit `from`.
    pub(crate) fn begin(
        disk: &Arc<dyn Disk>,
        dir: &Path,
        manifest: &LoadedManifest,
        from: SeqNo,
    ) -> Self {
        let file = HistoryFile::new(disk, dir, manifest.store_id);
        let (base, end) = (manifest.state.clone(), manifest.stamp());
        Self {
            base,
            from,
            newest: from,
            end,
            steps: VecDeque::new(),
            retired_bytes: 0,
            is_behind: false,
            is_unwritten: false,
            file,
        }
    }

    /// Reads that of a store; `None` if there is none that leads to this manifest. A process that was killed may not have come to note
    /// its last edit, or that the manifest was written anew: that is made up for.
    pub(crate) fn load(
        disk: &Arc<dyn Disk>,
        dir: &Path,
        manifest: &LoadedManifest,
    ) -> Option<Self> {
        if manifest.damage.is_some() {
            return None;
        }
        let steps = read_steps(&**disk, &dir.join(HISTORY_NAME), manifest.store_id)?;
        let mut steps = steps.into_iter();
        let first = steps.next()?;
        let mut state = ManifestState::default();
        state.apply(&first.edit).ok()?;
        let mut history = Self {
            base: state.clone(),
            from: first.from_seq,
            newest: first.last_seq,
            end: end_of(&first),
            steps: VecDeque::new(),
            retired_bytes: 0,
            is_behind: false,
            is_unwritten: false,
            file: HistoryFile::new(disk, dir, manifest.store_id),
        };
        for step in steps {
            let retired = retired_by(&state, &step.edit);
            state.apply(&step.edit).ok()?;
            history.push(Step { step, retired });
        }
        if state == manifest.state {
            history.end_at(manifest.stamp());
            return Some(history);
        }
        let edit = manifest.last_edit.as_ref()?;
        let retired = retired_by(&state, edit);
        state.apply(edit).ok()?;
        let step = history.step(edit, NOT_KNOWN, manifest);
        (state == manifest.state).then(|| {
            history.push(Step { step, retired });
            (history.is_behind, history.is_unwritten) = (true, true);
            history
        })
    }

    /// A step for the last edit of a manifest, which nobody has noted.
    fn step(&self, edit: &VersionEdit, last_seq: SeqNo, manifest: &LoadedManifest) -> HistoryStep {
        let end = manifest.stamp();
        let by_ns = i64::try_from(manifest.state.time_ms).unwrap_or(0).saturating_mul(NS_PER_MS);
        let before_ns = self.steps.back().map_or(0, |last| last.step.wall_ns);
        HistoryStep {
            last_seq,
            from_seq: first_with(edit, last_seq).max(self.latest()),
            wall_ns: before_ns.max(by_ns),
            generation: end.generation,
            manifest_bytes: end.bytes,
            edit: edit.clone(),
        }
    }

    /// Whether the last edit was found in the manifest alone: it can be read once [`History::ends_with`] has been told where the log ends.
    pub(crate) fn is_behind(&self) -> bool {
        self.is_behind
    }

    /// The last commit that an edit tells of: all of these are durable. It may be later than all that is there, where the stream
    /// that it was to was dropped.
    pub(crate) fn last_told(&self) -> SeqNo {
        let of_steps = self.steps.iter().map(|step| last_told(&step.step.edit));
        of_steps.fold(self.base.last_seq(), SeqNo::max)
    }

    /// Notes that the log ends with a commit, behind which a power cut may have taken some: their numbers are given again, to
    /// commits that come behind all edits.
    pub(crate) fn ends_with(&mut self, last_seq: SeqNo) {
        self.from = self.from.min(last_seq.next());
        self.newest = self.newest.min(last_seq);
        for Step { step, .. } in &mut self.steps {
            step.from_seq = step.from_seq.min(last_seq.next());
            step.last_seq = step.last_seq.min(last_seq);
        }
        self.is_behind = false;
    }

    /// Writes the file if it lacks the manifest's last edit: before that is written anew, and tells of it no more.
    pub(crate) fn write_missing(&mut self) {
        if self.is_unwritten {
            self.write();
        }
    }

    /// Goes on in a manifest that was written anew, and writes the file.
    pub(crate) fn go_on_at(&mut self, end: ManifestStamp) {
        self.end_at(end);
        self.write();
    }

    fn end_at(&mut self, end: ManifestStamp) {
        match self.steps.back_mut() {
            Some(Step { step, .. }) => {
                (step.generation, step.manifest_bytes) = (end.generation, end.bytes);
            }
            None => self.end = end,
        }
    }

    /// Lets go of what can't be read any more, since a file is gone.
    pub(crate) fn keep_readable(
        &mut self,
        has_run: impl Fn(&RunMeta) -> bool,
        has_segment: impl Fn(WalId) -> bool,
        floor: WalId,
    ) -> Folded {
        let is_missing = |step: &Step| step.retired.iter().any(|meta| !has_run(meta));
        let mut fold = self.steps.iter().rposition(is_missing).map_or(0, |last| last + 1);
        let gap = (self.base.wal_floor.0..floor.0).rev().find(|id| !has_segment(WalId(*id)));
        if let Some(gap) = gap {
            let mut at = self.base.wal_floor;
            for (place, step) in self.steps.iter().enumerate() {
                if at.0 <= gap {
                    fold = fold.max(place + 1);
                }
                at = at.max(floor_in(&step.step.edit).unwrap_or_default());
            }
        }
        self.fold(fold, &|_| false)
    }

    /// Notes an edit, and the runs that it takes from streams.
    pub(crate) fn note(
        &mut self,
        edit: &VersionEdit,
        retired: Vec<RunMeta>,
        time: EditTime,
        end: ManifestStamp,
    ) {
        let latest = self.latest();
        let from_seq = first_with(edit, time.last_seq).max(latest);
        // A clock that was set back does not make a step younger than the one before.
        let wall_ns =
            self.steps.back().map_or(time.wall_ns, |last| last.step.wall_ns.max(time.wall_ns));
        let step = HistoryStep {
            last_seq: time.last_seq,
            from_seq,
            wall_ns,
            generation: end.generation,
            manifest_bytes: end.bytes,
            edit: edit.clone(),
        };
        self.file.append(&step);
        self.push(Step { step, retired });
        if self.file.is_long() {
            self.write();
        }
    }

    fn push(&mut self, step: Step) {
        self.newest = self.newest.max(step.step.last_seq).max(last_told(&step.step.edit));
        self.retired_bytes += bytes_of(&step.retired);
        self.steps.push_back(step);
    }

    /// The commit from which on the newest state is the one to read.
    fn latest(&self) -> SeqNo {
        self.steps.back().map_or(self.from, |last| last.step.from_seq)
    }

    /// Writes the whole file anew, with a first step for the base.
    fn write(&mut self) {
        self.is_unwritten = false;
        let first = HistoryStep {
            // What was taken away behind the last commit makes the next one the first that can be read.
            last_seq: self.from.min(self.newest),
            from_seq: self.from,
            wall_ns: self.steps.front().map_or(0, |step| step.step.wall_ns),
            generation: self.end.generation,
            manifest_bytes: self.end.bytes,
            edit: self.base.to_edit(),
        };
        let steps = self.steps.iter().map(|step| &step.step);
        self.file.write(std::iter::once(&first).chain(steps));
    }

    /// Lets go of the oldest steps, as far as these limits ask for it. `is_needed` tells of a run that something else keeps.
    pub(crate) fn fold_to(
        &mut self,
        limits: HistoryLimits,
        floor: WalId,
        log_bytes: &dyn Fn(WalId, WalId) -> u64,
        is_needed: &dyn Fn(RunId) -> bool,
    ) -> Folded {
        let (mut count, mut retired) = (0, self.retired_bytes);
        let mut first_segment = self.base.wal_floor;
        for step in &self.steps {
            let bytes = retired.saturating_add(log_bytes(first_segment, floor));
            if step.step.wall_ns > limits.oldest_wall_ns && bytes <= limits.bytes_max {
                break;
            }
            let is_followed = limits.followed.is_some_and(|seq| seq < step.step.from_seq);
            if is_followed && bytes <= limits.followed_bytes_max {
                break;
            }
            count += 1;
            retired -= bytes_of(&step.retired);
            first_segment = first_segment.max(floor_in(&step.step.edit).unwrap_or_default());
        }
        self.fold(count, is_needed)
    }

    fn fold(&mut self, count: usize, is_needed: &dyn Fn(RunId) -> bool) -> Folded {
        let mut runs = Vec::new();
        for Step { step, retired } in self.steps.drain(..count) {
            // It was applied once already, to a state that was the same.
            let applied = self.base.apply(&step.edit);
            debug_assert!(applied.is_ok(), "{applied:?}");
            (self.from, self.end) = (step.from_seq, end_of(&step));
            self.retired_bytes -= bytes_of(&retired);
            runs.extend(retired.into_iter().filter(|meta| !is_needed(meta.id)));
        }
        Folded { runs, floor: self.base.wal_floor }
    }

    /// The state to read a commit by, with the log through that one; else the oldest commit that can be read.
    pub(crate) fn state_for(&self, seq: SeqNo) -> std::result::Result<ManifestState, SeqNo> {
        if seq < self.from {
            return Err(self.from);
        }
        let mut state = self.base.clone();
        let behind = self.steps.partition_point(|step| step.step.from_seq <= seq);
        for Step { step, .. } in self.steps.iter().take(behind) {
            if state.apply(&step.edit).is_err() {
                return Err(self.latest());
            }
        }
        // A stream that was made by then is there, whatever was taken away before that.
        let made = self.steps.iter().skip(behind).filter(|step| step.step.last_seq <= seq);
        for op in made.flat_map(|step| &step.step.edit.ops) {
            if matches!(op, ManifestOp::CreateStream(_)) {
                // One of a name that was dropped just before comes with the next commit.
                let _ = state.apply(&VersionEdit { ops: vec![op.clone()] });
            }
        }
        Ok(state)
    }

    /// The edits that were made behind a commit, or made the next one.
    pub(crate) fn behind(&self, last: SeqNo) -> impl Iterator<Item = HistoryEdit<'_>> {
        let before = self.steps.partition_point(|step| step.step.last_seq < last);
        let steps = self.steps.iter().skip(before);
        steps.map(|Step { step, retired }| HistoryEdit::of(step, retired))
    }

    /// The first segment of the log with commits behind this one, which can be read.
    pub(crate) fn log_behind(&self, last: SeqNo) -> WalId {
        let steps = self.steps.iter().take_while(|step| step.step.from_seq <= last);
        let floors = steps.filter_map(|step| floor_in(&step.step.edit));
        floors.fold(self.base.wal_floor, WalId::max)
    }

    /// All that a stream has been defined as, the last first.
    pub(crate) fn definitions(&self, stream: StreamId) -> Vec<&StreamDefinition> {
        let of_base = self.base.streams.get(&stream).map(|entry| &entry.definition);
        let ops = self.steps.iter().flat_map(|step| &step.step.edit.ops);
        let of_steps = ops.filter_map(|op| match op {
            ManifestOp::CreateStream(definition) | ManifestOp::AlterStream(definition) => {
                Some(definition)
            }
            _ => None,
        });
        let mut all: Vec<_> = of_base.into_iter().chain(of_steps).collect();
        all.retain(|definition| definition.id == stream);
        all.reverse();
        all
    }

    /// What a stream was defined as when an edit was made: that edit's own word, or the last one before.
    pub(crate) fn definition_at(
        &self,
        stream: StreamId,
        stamp: ManifestStamp,
    ) -> Option<&StreamDefinition> {
        let of_base = self.base.streams.get(&stream).map(|entry| &entry.definition);
        let steps = self.steps.iter().take_while(|step| !end_of(&step.step).is_behind(stamp));
        let of_steps = steps.flat_map(|step| &step.step.edit.ops).filter_map(|op| match op {
            ManifestOp::CreateStream(definition) | ManifestOp::AlterStream(definition) => {
                (definition.id == stream).then_some(definition)
            }
            _ => None,
        });
        of_base.into_iter().chain(of_steps).last()
    }

    /// Whether a commit, the last one, is read by the newest state.
    pub(crate) fn is_newest(&self, seq: SeqNo) -> bool {
        // Where what was taken away behind it is folded already, there is no other state.
        self.latest() <= seq || seq < self.from
    }

    /// The oldest commit that can be read.
    pub(crate) fn oldest(&self) -> SeqNo {
        self.from
    }

    /// Whether nothing is missing of what came behind a commit: commits that no edit tells of are in the log.
    pub(crate) fn has_all_behind(&self, last: SeqNo) -> bool {
        last >= self.from.min(self.newest)
    }

    /// The last commit that an edit has told of, or the one before that when it was made.
    pub(crate) fn newest(&self) -> SeqNo {
        self.newest
    }

    /// Commits, each with a time by which it had been made, in milliseconds since the epoch: of one that went straight to runs
    /// its own.
    pub(crate) fn made_by(&self) -> impl Iterator<Item = (SeqNo, u64)> {
        let mut time_ms = self.base.time_ms;
        let of_steps = self.steps.iter().map(move |Step { step, .. }| {
            for op in &step.edit.ops {
                if let ManifestOp::CommitTime(later_ms) = op {
                    time_ms = time_ms.max(*later_ms);
                }
            }
            (last_told(&step.edit), time_ms)
        });
        let all = std::iter::once((self.base.last_seq(), self.base.time_ms)).chain(of_steps);
        // Of a store that an earlier build wrote nothing is known.
        all.filter(|(_, time_ms)| *time_ms > 0)
    }

    /// The first segment of the log that it needs.
    pub(crate) fn floor(&self) -> WalId {
        self.base.wal_floor
    }

    /// Runs that streams have no more and that it needs.
    pub(crate) fn retired(&self) -> impl Iterator<Item = &RunMeta> {
        self.steps.iter().flat_map(|step| &step.retired)
    }

    /// The same, each with what its stream was when it was taken: keys are told in the unit of then.
    pub(crate) fn retired_with_streams(
        &self,
    ) -> impl Iterator<Item = (&RunMeta, Option<&StreamDefinition>)> {
        self.steps.iter().flat_map(move |step| {
            let stamp = end_of(&step.step);
            step.retired.iter().map(move |meta| (meta, self.definition_at(meta.stream, stamp)))
        })
    }

    /// Whether it needs a run that streams have no more.
    pub(crate) fn needs(&self, run: RunId) -> bool {
        self.retired().any(|meta| meta.id == run)
    }
}

fn end_of(step: &HistoryStep) -> ManifestStamp {
    ManifestStamp { generation: step.generation, bytes: step.manifest_bytes }
}

fn bytes_of(runs: &[RunMeta]) -> u64 {
    runs.iter().map(|run| run.file_bytes).fold(0, u64::saturating_add)
}

/// Runs that an edit takes from a stream.
pub(super) fn retired_by(state: &ManifestState, edit: &VersionEdit) -> Vec<RunMeta> {
    let mut retired = Vec::new();
    for op in &edit.ops {
        match op {
            ManifestOp::RemoveRun { stream, run } => {
                let entry = state.streams.get(stream);
                retired.extend(entry.and_then(|entry| entry.runs.get(run)).cloned());
            }
            ManifestOp::DropStream(stream) => {
                let entry = state.streams.get(stream);
                retired.extend(entry.into_iter().flat_map(|entry| entry.runs.values()).cloned());
            }
            _ => {}
        }
    }
    retired
}

fn floor_in(edit: &VersionEdit) -> Option<WalId> {
    let floor = |op: &ManifestOp| match op {
        ManifestOp::WalFloor(floor) => Some(*floor),
        _ => None,
    };
    edit.ops.iter().filter_map(floor).max()
}

/// The last commit that an edit tells of.
fn last_told(edit: &VersionEdit) -> SeqNo {
    let of_op = |op: &ManifestOp| match op {
        ManifestOp::AddRun(meta) => meta.seq_max,
        ManifestOp::AddTombstone { tombstone, .. } => tombstone.seq,
        ManifestOp::FlushedThrough { seq, .. } => *seq,
        ManifestOp::Closed { last_seq } => *last_seq,
        ManifestOp::Committed(seq) => *seq,
        _ => SeqNo::default(),
    };
    edit.ops.iter().map(of_op).max().unwrap_or_default()
}

/// The first commit for which an edit is to be heeded that was made behind `last_seq`: one that only adds commits, from the last
/// of these on; one that takes something away (a run, a stream, a definition), from the next commit on.
fn first_with(edit: &VersionEdit, last_seq: SeqNo) -> SeqNo {
    let of_op = |op: &ManifestOp| match op {
        ManifestOp::CreateStream(_) => last_seq,
        ManifestOp::RemoveRun { .. }
        | ManifestOp::DropStream(_)
        | ManifestOp::AlterStream(_)
        | ManifestOp::RefineTimes { .. } => last_seq.next(),
        _ => SeqNo::default(),
    };
    edit.ops.iter().map(of_op).fold(last_told(edit), SeqNo::max)
}

/// An error if a store's history goes on behind what its manifest says. It gets an edit after the manifest has it for good, so such
/// a manifest is of an earlier time. To be asked by the one writer only: beside one that lives the history may be the newer of two readings.
pub(crate) fn check_not_stale(
    disk: &dyn Disk,
    dir: &Path,
    manifest: &LoadedManifest,
) -> Result<()> {
    let steps = read_steps(disk, &dir.join(HISTORY_NAME), manifest.store_id);
    let end = steps.as_ref().and_then(|steps| steps.last()).map(end_of);
    match end.filter(|end| end.is_behind(manifest.stamp())) {
        None => Ok(()),
        Some(_) => {
            let message = format!("the manifest is of an earlier time than {HISTORY_NAME}");
            let hint = "put the manifest back that belongs to it, or repair the store";
            Err(Error::corruption(&dir.join(MANIFEST_NAME), manifest.bytes, message).hinting(hint))
        }
    }
}

/// Runs that a store's history names, whatever the manifest says: files of the store for who only looks.
pub(crate) fn runs_named(
    disk: &Arc<dyn Disk>,
    dir: &Path,
    manifest: &LoadedManifest,
) -> BTreeSet<RunId> {
    let history = History::load(disk, dir, manifest);
    history.iter().flat_map(History::retired).map(|meta| meta.id).collect()
}
