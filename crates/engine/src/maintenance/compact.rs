//! Compaction: carries out what `compaction::choose` plans.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use arrow_array::RecordBatch;
use timestrata_format::manifest::ManifestOp;
use timestrata_format::{LeadKey, RunFormat, RunId, RunMeta, SeqNo, StreamId, Tombstone};

use timestrata_io::sync::MutexGuard;
use tracing::Level;

use crate::compaction::{self, CompactionPlan, Rewrite};
use crate::key::KeyView;
use crate::manifest::ManifestLog;
use crate::run::{DecimalColumn, Lineage, Provenance, RunWriter, decimal_columns, writer_in};
use crate::scan::{Source, merge_sources};
use crate::state::{Edit, Engine, Slot, StoreState, StreamState, Version, heeded};
use crate::tombstones::Tombstones;
use crate::{Error, ErrorKind, Result, Settings, Stream};

/// For whom a stream is compacted.
#[derive(Clone, Copy)]
pub(crate) enum CompactedFor<'a> {
    /// Nobody: what is not useful yet is left, and what is under way is given up when the store closes.
    Nobody,
    /// Somebody who wants all of it, and is asked now and then whether to go on.
    Caller(&'a dyn Fn() -> Result<()>),
}

impl CompactedFor<'_> {
    fn wants_all(self) -> bool {
        matches!(self, Self::Caller(_))
    }

    /// Whether to go on.
    fn goes_on(self, engine: &Engine) -> Result<bool> {
        match self {
            Self::Nobody => Ok(!engine.workers.is_stopping()),
            Self::Caller(go_on) => go_on().map(|()| true),
        }
    }
}

/// A stream as compaction finds it.
pub(crate) struct CompactionTarget {
    slot: Slot,
    pub(super) stream: Arc<Stream>,
    version: Arc<Version>,
    settled_through: SeqNo,
    /// Runs that are damaged: what can be done without them is done.
    set_aside: Vec<RunId>,
}

impl CompactionTarget {
    pub(crate) fn of(
        core: &StoreState,
        slot: Slot,
        state: &StreamState,
        damaged: &[RunId],
    ) -> Self {
        let is_here = |id: &&RunId| state.version.run(**id).is_some();
        Self {
            set_aside: damaged.iter().filter(is_here).copied().collect(),
            slot,
            stream: Arc::clone(&state.stream),
            version: Arc::clone(&state.version),
            settled_through: core.settled_through(state),
        }
    }

    /// Runs that compaction may touch: none that is newer than a memtable that waits for its
    /// flush, or the output would hold commits from both sides of it.
    pub(super) fn metas(&self) -> Vec<RunMeta> {
        let mut metas = self.version.metas();
        metas.retain(|meta| meta.seq_max <= self.settled_through);
        metas
    }

    /// Bytes of some of its runs.
    pub(super) fn bytes_of(&self, runs: &[RunId]) -> u64 {
        let metas = self.version.runs.iter().map(|run| &run.meta);
        bytes_of(metas.filter(|meta| runs.contains(&meta.id)))
    }

    /// Bytes that compaction of the stream would rewrite now.
    pub(crate) fn debt_bytes(&self, settings: &Settings) -> u64 {
        let (metas, tombstones) = (self.metas(), self.tombstones());
        compaction::debt_bytes(&self.stream, &metas, &self.set_aside, &tombstones, settings)
    }

    fn tombstones(&self) -> Tombstones {
        self.version.tombstones.through(self.settled_through)
    }
}

impl Engine {
    /// Compacts a stream, or all, until nothing is left to do. What has to be left out because it is
    /// damaged is an error, once all else is done. `go_on` is asked now and then, and nothing is left half done.
    pub(crate) fn compact_fully(
        &self,
        only: Option<Slot>,
        go_on: &dyn Fn() -> Result<()>,
    ) -> Result<()> {
        self.flush_all()?;
        let slots: Vec<Slot> = match only {
            Some(slot) => vec![slot],
            None => self.core.lock().live().map(|(slot, _)| slot).collect(),
        };
        for slot in &slots {
            go_on()?;
            while self.retain_step(*slot)?
                || self.compact_step(*slot, CompactedFor::Caller(go_on))?
            {
                go_on()?;
            }
        }
        self.reserve.restore();
        let damaged = self.folder.damage.ids();
        let core = self.core.lock();
        let live = slots.iter().filter_map(|slot| core.streams.get(*slot));
        let mut left_out =
            live.flat_map(|state| damaged.iter().filter(|id| state.version.run(**id).is_some()));
        match left_out.find_map(|id| self.folder.damage.first_of(*id)) {
            Some(missing) => Err(Error::of_missing("compaction left out a damaged run", &missing)),
            None => Ok(()),
        }
    }

    /// Does the most useful compaction of a stream; false if there is none. A run that turns out to be
    /// damaged is set aside, and the others are gone on with.
    pub(crate) fn compact_step(&self, slot: Slot, whom: CompactedFor<'_>) -> Result<bool> {
        let _compacting = self.compacting.lock();
        loop {
            self.check_writable()?;
            let known = self.folder.damage.ids();
            match self.compact_around(slot, whom, &known) {
                Err(error)
                    if error.kind() == ErrorKind::Corruption
                        && self.folder.damage.ids().iter().any(|id| !known.contains(id)) => {}
                outcome => return outcome,
            }
        }
    }

    /// A stream as it is now, if it has not been dropped.
    pub(super) fn compaction_target(
        &self,
        slot: Slot,
        damaged: &[RunId],
    ) -> Option<CompactionTarget> {
        let core = self.core.lock();
        let state = core.streams.get(slot).filter(|state| !state.dropped)?;
        Some(CompactionTarget::of(&core, slot, state, damaged))
    }

    fn compact_around(
        &self,
        slot: Slot,
        whom: CompactedFor<'_>,
        damaged: &[RunId],
    ) -> Result<bool> {
        let Some(target) = self.compaction_target(slot, damaged) else { return Ok(false) };
        let metas = target.metas();
        let tombstones = target.tombstones();
        let plan = compaction::choose_around(
            &target.stream,
            &metas,
            &target.set_aside,
            &tombstones,
            &self.settings,
            whom.wants_all(),
        );
        let began = self.began(tracing::enabled!(target: "timestrata::compaction", Level::DEBUG));
        match plan {
            None => Ok(false),
            Some(CompactionPlan::Drop { runs }) => {
                self.replace_runs(&target, &runs, Vec::new())?;
                tracing::debug!(
                    target: "timestrata::compaction",
                    stream = target.stream.name(),
                    runs = runs.len(),
                    "dropped runs whose rows are all deleted"
                );
                Ok(true)
            }
            Some(CompactionPlan::Rewrite(plan)) => {
                if !whom.wants_all() && !self.is_manual() {
                    self.wait_for_room(&target, &plan)?;
                }
                let Some(added) = self.rewrite(&target, &plan, &tombstones, whom)? else {
                    return Ok(false);
                };
                let (outputs, bytes_out) = (added.len(), bytes_of(added.iter()));
                self.replace_runs(&target, &plan.inputs, added)?;
                self.counters.compactions.fetch_add(1, Ordering::Relaxed);
                if began.is_some() {
                    tracing::debug!(
                        target: "timestrata::compaction",
                        stream = target.stream.name(),
                        inputs = plan.inputs.len(),
                        outputs,
                        bytes_in = target.bytes_of(&plan.inputs),
                        bytes_out,
                        ms = self.ms_since(began),
                        "compacted runs"
                    );
                }
                Ok(true)
            }
        }
    }

    /// An error where what is left on the disk had better be for those who can't wait.
    fn wait_for_room(&self, target: &CompactionTarget, plan: &Rewrite) -> Result<()> {
        let bytes = target.bytes_of(&plan.inputs);
        if self.makes_room_for(bytes) {
            return Ok(());
        }
        let message = format!(
            "the disk is nearly full: compaction of stream '{}' waits for room for {bytes} bytes",
            target.stream.name()
        );
        Err(Error::new(ErrorKind::NoSpace, message).at(&self.dir))
    }

    /// Writes what takes the place of a plan's runs. `None`, and nothing is left of it, if the store is
    /// being closed meanwhile and the compaction is given up for that.
    fn rewrite(
        &self,
        target: &CompactionTarget,
        plan: &Rewrite,
        tombstones: &Tombstones,
        whom: CompactedFor<'_>,
    ) -> Result<Option<Vec<RunMeta>>> {
        let inputs: Vec<_> =
            target.version.runs.iter().filter(|run| plan.inputs.contains(&run.meta.id)).collect();
        let sources: Vec<_> = inputs.iter().map(|run| Arc::clone(run) as Arc<dyn Source>).collect();
        let metas: Vec<&RunMeta> = inputs.iter().map(|run| &run.meta).collect();
        let provenance = Provenance {
            seq_min: metas.iter().map(|meta| meta.seq_min).min().unwrap_or_default(),
            seq_max: metas.iter().map(|meta| meta.seq_max).max().unwrap_or_default(),
            tombstones_applied_through: applied_through(&metas, tombstones),
            level: plan.output_level,
            created_wall_ns: metas
                .iter()
                .map(|meta| meta.created_wall_ns)
                .max()
                .unwrap_or_default(),
        };
        let decimals = match plan.format {
            // What can't be read now ends the merge, which tells of it.
            RunFormat::Cold => {
                let goes_on = || whom.goes_on(self).unwrap_or(false);
                decimal_columns(&target.stream, &sources, goes_on).unwrap_or_default()
            }
            RunFormat::Hot => Vec::new(),
        };
        let merged = merge_sources(&target.stream, sources, tombstones, !plan.drop_delete_markers);
        let mut outputs = Outputs {
            engine: self,
            target,
            plan,
            provenance,
            tombstones,
            decimals,
            writer: None,
            last_key: None,
            done: Vec::new(),
        };
        let written = outputs.write_all(merged, whom);
        if matches!(written, Ok(true)) {
            return Ok(Some(outputs.done));
        }
        outputs.give_up();
        written.map(|_| None)
    }

    /// Makes it durable and visible that some runs have given way to others, and lets go of
    /// the tombstones that no run has to heed any more.
    pub(super) fn replace_runs_locked(
        &self,
        manifest: &mut ManifestLog,
        (slot, id): (Slot, StreamId),
        runs: &RunsReplaced<'_>,
    ) -> Result<bool> {
        let RunsReplaced { removed, added, has_expired } = *runs;
        let (stream, old, unflushed_min) = {
            let core = self.core.lock();
            let Some(state) = core.at(slot, id) else { return Ok(false) };
            if removed.iter().any(|id| state.version.run(*id).is_none()) {
                return Ok(false);
            }
            (Arc::clone(&state.stream), Arc::clone(&state.version), state.unflushed_min())
        };
        let handles = added
            .iter()
            .map(|meta| self.folder.handle(&stream, meta.clone()))
            .collect::<Result<Vec<_>>>()?;
        let left = old.runs.iter().map(|run| &run.meta).filter(|run| !removed.contains(&run.id));
        let kept = still_heeded(left.chain(added), old.tombstones.pieces(), unflushed_min);
        let mut edit = Edit::begin(self, manifest);
        for run in removed {
            edit.change(ManifestOp::RemoveRun { stream: id, run: *run });
            old.run(*run).into_iter().for_each(|run| edit.retires(run));
        }
        for run in added {
            edit.change(ManifestOp::AddRun(run.clone()));
            edit.waits_for(run.seq_max);
        }
        if has_expired {
            edit.change(ManifestOp::Expired(id));
        }
        edit.settle_tombstones(id, &kept);
        let kept = Tombstones::of_pieces(kept);
        edit.commit()?.recycle();
        let replaced = {
            let mut core = self.core.lock();
            let state = &mut core.streams[slot];
            // Only holders of the manifest's lock change a version, so it is still `old`.
            let version = Arc::new(state.version.changed(removed, handles, kept));
            let replaced = std::mem::replace(&mut state.version, version);
            core.touch(slot);
            replaced
        };
        drop((replaced, old));
        Ok(true)
    }

    fn replace_runs(
        &self,
        target: &CompactionTarget,
        removed: &[RunId],
        added: Vec<RunMeta>,
    ) -> Result<()> {
        if !added.is_empty() {
            self.sync_runs_dir()?;
        }
        let replaced = {
            let replace = |mut manifest: MutexGuard<'_, ManifestLog>| {
                let at = (target.slot, target.stream.id());
                let runs = RunsReplaced { removed, added: &added, has_expired: false };
                self.replace_runs_locked(&mut manifest, at, &runs)
            };
            self.lock_manifest().and_then(replace)
        };
        if !matches!(replaced, Ok(true)) {
            // Their inputs have gone meanwhile (retention, drop), or the manifest can't be written.
            self.remove_unnamed(&added);
        }
        replaced.map(|_| ())
    }
}

fn bytes_of<'a>(runs: impl Iterator<Item = &'a RunMeta>) -> u64 {
    runs.map(|run| run.file_bytes).fold(0, u64::saturating_add)
}

/// Of disjoint range deletes in key order those that a run has to heed, or rows in memory do that are
/// older than them.
fn still_heeded<'a>(
    runs: impl IntoIterator<Item = &'a RunMeta>,
    pieces: Vec<Tombstone>,
    unflushed_min: Option<SeqNo>,
) -> Vec<Tombstone> {
    let waits = |piece: &Tombstone| unflushed_min.is_some_and(|min| min < piece.seq);
    let (mut kept, settled): (Vec<_>, Vec<_>) = pieces.into_iter().partition(waits);
    kept.extend(heeded(runs, settled));
    kept.sort_unstable_by_key(|piece| piece.range.lo);
    kept
}

/// Through which range delete the output of a compaction is cleaned. None but what a manifest tells
/// of: the numbers of commits that a power cut takes are given to others, whose deletes must count.
fn applied_through(inputs: &[&RunMeta], tombstones: &Tombstones) -> SeqNo {
    let of_runs = inputs.iter().map(|meta| meta.seq_max.max(meta.tombstones_applied_through));
    of_runs.chain(tombstones.newest()).max().unwrap_or_default()
}

/// Runs of a stream that give way to others.
pub(super) struct RunsReplaced<'a> {
    removed: &'a [RunId],
    added: &'a [RunMeta],
    /// Whether retention lets the rows go.
    has_expired: bool,
}

impl<'a> RunsReplaced<'a> {
    /// Runs that retention lets go.
    pub(super) fn expired(removed: &'a [RunId]) -> Self {
        Self { removed, added: &[], has_expired: true }
    }
}

/// Output runs of one compaction, cut where the plan says.
struct Outputs<'a> {
    engine: &'a Engine,
    target: &'a CompactionTarget,
    plan: &'a Rewrite,
    provenance: Provenance,
    tombstones: &'a Tombstones,
    /// Columns of floats that are decimal numbers.
    decimals: Vec<DecimalColumn>,
    writer: Option<RunWriter>,
    /// Key of the last row written.
    last_key: Option<LeadKey>,
    done: Vec<RunMeta>,
}

impl Outputs<'_> {
    /// Writes all rows; false if the store stops meanwhile, where that ends the work.
    fn write_all(
        &mut self,
        merged: impl Iterator<Item = Result<RecordBatch>>,
        whom: CompactedFor<'_>,
    ) -> Result<bool> {
        for batch in merged {
            if !whom.goes_on(self.engine)? {
                return Ok(false);
            }
            self.write(&batch?)?;
        }
        self.finish_run(true)?;
        Ok(true)
    }

    fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        let mut rest = batch.clone();
        while rest.num_rows() > 0 {
            let keys = KeyView::of(&self.target.stream, &rest)?;
            let first = keys.get(0);
            let next_cut = self.plan.cuts.keys.iter().copied().find(|cut| *cut > first);
            if self.is_cut_before(first) {
                self.finish_run(false)?;
            }
            // Up to the next cut, and where the run is full already, up to the end of its
            // last key: rows with equal keys never go to two runs.
            let to_cut = next_cut.map_or(keys.len(), |cut| keys.lower_bound(cut));
            let same_key = first.successor().map_or(keys.len(), |next| keys.lower_bound(next));
            let rows = if self.is_full() { same_key.min(to_cut) } else { to_cut };
            let piece = rest.slice(0, rows);
            rest = rest.slice(rows, rest.num_rows() - rows);
            self.last_key = KeyView::of(&self.target.stream, &piece)?.last();
            self.write_piece(&piece)?;
        }
        Ok(())
    }

    fn is_full(&self) -> bool {
        let bytes_max = self.plan.cuts.bytes_max;
        self.writer.as_ref().is_some_and(|writer| writer.bytes_written() >= bytes_max)
    }

    /// Whether the run under way ends before a row with this key.
    fn is_cut_before(&self, key: LeadKey) -> bool {
        let Some(last) = self.last_key.filter(|last| *last != key) else { return false };
        self.is_full() || self.plan.cuts.keys.iter().any(|cut| last < *cut && *cut <= key)
    }

    fn write_piece(&mut self, piece: &RecordBatch) -> Result<()> {
        let create = || {
            let run = self.engine.new_run(&self.target.stream, self.plan.format)?;
            Ok(run.with_decimals(&self.decimals))
        };
        let writer = writer_in(&mut self.writer, create)?;
        let before = writer.bytes_written();
        writer.write(piece)?;
        self.engine.throttle(writer.bytes_written() - before);
        Ok(())
    }

    fn finish_run(&mut self, is_last_output: bool) -> Result<()> {
        if let Some(writer) = self.writer.take() {
            let lineage = Lineage {
                replaces: self.plan.inputs.clone(),
                outputs_before: self.done.iter().map(|meta| meta.id).collect(),
                is_last_output,
                tombstones: self.tombstones.pieces(),
            };
            let meta = writer.finish(self.provenance, lineage)?;
            self.engine.counters.compaction_bytes.fetch_add(meta.file_bytes, Ordering::Relaxed);
            self.done.push(meta);
        }
        Ok(())
    }

    fn give_up(self) {
        // A writer removes what it has not finished.
        drop(self.writer);
        self.engine.remove_unnamed(&self.done);
    }
}

impl Engine {
    /// Waits as long as writing `bytes` takes at the allowed rate.
    fn throttle(&self, bytes: u64) {
        if let Some(rate) = self.settings.compaction_bytes_per_second
            && !self.is_manual()
        {
            let seconds = bytes as f64 / rate as f64;
            self.workers.pause(Duration::from_secs_f64(seconds));
        }
    }
}
