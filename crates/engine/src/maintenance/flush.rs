//! Flush: sealed memtables become runs, the oldest first, many small ones in one round.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use timestrata_format::manifest::ManifestOp;
use timestrata_format::{RunFormat, RunMeta, SeqNo, StreamId};
use timestrata_io::DiskFile;
use tracing::Level;

use super::until_done;
use crate::memtable::MemtableView;
use crate::planted::{Plant, is_planted};
use crate::run::{Lineage, Provenance, RunWriter, writer_in};
use crate::scan::merge_sources;
use crate::state::{Edit, Engine, Slot, StoreState, Version, Work, heeded};
use crate::tombstones::Tombstones;
use crate::{Error, Result, Stream};

impl Engine {
    /// Flushes everything in memory.
    pub(crate) fn flush_all(&self) -> Result<()> {
        self.check_writable()?;
        self.core_to_view(None).seal_all();
        self.flush_sealed()
    }

    /// Flushes every sealed memtable there is now.
    pub(crate) fn flush_sealed(&self) -> Result<()> {
        let outcome = until_done(|| self.flush_step());
        self.note(Work::Flush, &outcome);
        if outcome.is_ok() {
            self.reserve.restore();
        }
        outcome
    }

    /// Flushes a round of sealed memtables; false if there were none.
    pub(crate) fn flush_step(&self) -> Result<bool> {
        let flushing = self.flushing.lock();
        let round = self.flush_round()?;
        drop(flushing);
        Ok(round.map(|round| self.tell_flush(&round)).is_some())
    }

    /// As [`Engine::flush_step`], for callers who hold the flush lock.
    pub(crate) fn flush_oldest(&self) -> Result<bool> {
        let round = self.flush_round()?;
        Ok(round.map(|round| self.tell_flush(&round)).is_some())
    }

    /// A round of sealed memtables; `None` if there were none.
    fn flush_round(&self) -> Result<Option<Round>> {
        self.check_writable()?;
        let round = self.choose_flush();
        if round.is_empty() {
            return Ok(None);
        }
        if let Some(wal) = &self.wal {
            // The edit that installs the runs waits for the log; let them be written side by side.
            wal.start_writing_back();
        }
        let began = self.began(tracing::enabled!(target: "timestrata::flush", Level::DEBUG));
        let flushed = self.write_flush(round)?;
        let flushed = self.install_flush(flushed)?;
        Ok(Some(Round { flushed, began }))
    }

    fn tell_flush(&self, round: &Round) {
        if round.began.is_some() {
            let ms = self.ms_since(round.began);
            round.flushed.iter().for_each(|flushed| flushed.tell(ms));
        }
    }

    /// The sealed memtables with the oldest changes: a memtable's worth of bytes, or several small ones,
    /// which share the syncs of their names and of the manifest.
    fn choose_flush(&self) -> Vec<DueMemtable> {
        let core = self.core.lock();
        let mut waiting: Vec<(SeqNo, Slot, usize)> = core
            .live()
            .flat_map(|(slot, state)| {
                let sealed = state.sealed.iter().enumerate();
                sealed.map(move |(place, sealed)| (sealed.first_seq(), slot, place))
            })
            .collect();
        waiting.sort_unstable();
        let mut round = Vec::new();
        let mut bytes = 0;
        for (_, slot, place) in waiting.into_iter().take(RUNS_A_ROUND) {
            let state = &core.streams[slot];
            let Some(memtable) = state.sealed.get(place) else { continue };
            round.push(DueMemtable {
                slot,
                stream: Arc::clone(&state.stream),
                memtable: Arc::clone(memtable),
                over_older: place > 0 || !state.version.runs.is_empty(),
                heeded: state.version.tombstones.clone(),
            });
            bytes += memtable.bytes as u64;
            if bytes >= self.settings.memtable_bytes_max / 2 {
                break;
            }
        }
        round
    }

    /// The memtables as runs of the store, durable with their names. Those that there is no room for are
    /// left for another round.
    fn write_flush(&self, round: Vec<DueMemtable>) -> Result<Vec<Flushed>> {
        let mut flushed: Vec<Flushed> = Vec::with_capacity(round.len());
        let mut files = Vec::new();
        for due in round {
            match self.write_run(&due) {
                Ok(written) => {
                    let run = written.map(|(run, file)| {
                        files.push((run.clone(), file));
                        run
                    });
                    flushed.push(Flushed { due, run });
                }
                Err(error) if flushed.is_empty() => return Err(error),
                // The next round begins with it, and tells.
                Err(_) => break,
            }
        }
        let (runs, files): (Vec<RunMeta>, Vec<_>) = files.into_iter().unzip();
        if let Err((place, error)) = self.io.disk.sync_files(&files) {
            // Until the manifest names them nothing depends on the runs: they are written anew, by
            // other names.
            self.remove_unnamed(&runs);
            let path = runs.get(place).map(|run| self.folder.path(run.id, run.format));
            return Err(Error::io("sync a run", path.as_ref().unwrap_or(&self.folder.dir), error));
        }
        let bytes = runs.iter().map(|run| run.file_bytes).sum();
        self.counters.flush_bytes.fetch_add(bytes, Ordering::Relaxed);
        if !runs.is_empty() {
            self.sync_runs_dir()?;
        }
        Ok(flushed)
    }

    /// Writes a memtable to a run; `None` where its range deletes leave no row of it.
    fn write_run(&self, due: &DueMemtable) -> Result<Option<(RunMeta, Arc<dyn DiskFile>)>> {
        let create = || self.new_run(&due.stream, RunFormat::Hot);
        let writer = write_rows(&due.stream, &due.memtable, due.over_older, create)?;
        let provenance = provenance_of(&due.memtable, self.io.clock.wall_ns());
        let lineage = lineage_of(&due.memtable, &due.heeded);
        writer.map(|writer| writer.finish_unsynced(provenance, lineage)).transpose()
    }

    /// Makes runs durable parts of the store and shows them to readers. Gives those of streams that are
    /// still there.
    fn install_flush(&self, flushed: Vec<Flushed>) -> Result<Vec<Flushed>> {
        let mut manifest = self.lock_manifest()?;
        let Moment { mut log_needed_from, last_seq, versions } = self.moment_of(&flushed);
        if is_planted(Plant::StaleFloor) && log_needed_from > last_seq {
            log_needed_from = self.stale_floor(log_needed_from)?;
        }
        let (flushed, of_dropped): (Vec<Flushed>, Vec<Flushed>) =
            flushed.into_iter().partition(|flushed| versions.contains_key(&flushed.due.slot));
        self.remove_unnamed(&runs_of(&of_dropped));
        if flushed.is_empty() {
            return Ok(flushed);
        }
        let runs = runs_of(&flushed);
        let next = self.next_versions(&flushed, versions);
        let next = next.inspect_err(|_| self.remove_unnamed(&runs))?;
        let mut edit = Edit::begin(self, &mut manifest);
        runs.iter().for_each(|run| edit.change(ManifestOp::AddRun(run.clone())));
        for next in next.values() {
            if next.has_new_tombstones {
                edit.settle_tombstones(next.stream, &next.version.tombstones.pieces());
            }
            edit.change(ManifestOp::FlushedThrough { stream: next.stream, seq: next.through });
            edit.waits_for(next.through);
        }
        edit.release_log(log_needed_from)?;
        let released = edit.commit().inspect_err(|_| self.remove_unnamed(&runs))?;
        let replaced: Vec<_> = {
            let mut core = self.core.lock();
            next.into_iter().map(|(slot, next)| next.install(&mut core, slot)).collect()
        };
        self.room.notify_all();
        drop(replaced);
        released.recycle();
        self.counters.flushes.fetch_add(flushed.len() as u64, Ordering::Relaxed);
        Ok(flushed)
    }

    /// What holds just now, all at one moment: whatever is committed from here on comes behind
    /// `log_needed_from`.
    fn moment_of(&self, flushed: &[Flushed]) -> Moment {
        let core = self.core.lock();
        let mut versions = BTreeMap::new();
        let mut counts: BTreeMap<Slot, usize> = BTreeMap::new();
        for Flushed { due, .. } in flushed {
            if let Some(state) = core.at(due.slot, due.stream.id()) {
                versions.insert(due.slot, Arc::clone(&state.version));
                *counts.entry(due.slot).or_default() += 1;
            }
        }
        Moment { log_needed_from: core.log_needed_from(&counts), last_seq: core.last_seq, versions }
    }

    /// The versions of the streams with their new runs.
    fn next_versions(
        &self,
        flushed: &[Flushed],
        versions: BTreeMap<Slot, Arc<Version>>,
    ) -> Result<BTreeMap<Slot, NextVersion>> {
        let mut all: BTreeMap<Slot, NextVersion> = BTreeMap::new();
        for Flushed { due, run } in flushed {
            let before = match all.get(&due.slot) {
                Some(next) => &next.version,
                None => match versions.get(&due.slot) {
                    Some(version) => version,
                    None => continue,
                },
            };
            let handle = run.clone().map(|run| self.folder.handle(&due.stream, run)).transpose()?;
            let (heeded, tombstones) = with_flushed(before, &due.memtable);
            let version = before.changed(&[], handle.into_iter().collect(), tombstones);
            let known = all.get(&due.slot);
            let next = NextVersion {
                stream: due.stream.id(),
                version: Arc::new(version),
                has_new_tombstones: heeded || known.is_some_and(|next| next.has_new_tombstones),
                through: due.memtable.last_seq(),
                memtables: 1 + known.map_or(0, |next| next.memtables),
            };
            all.insert(due.slot, next);
        }
        Ok(all)
    }
}

/// Memtables that become runs in one round at most: so many files are open at once.
const RUNS_A_ROUND: usize = 128;

/// A sealed memtable whose turn it is.
struct DueMemtable {
    slot: Slot,
    stream: Arc<Stream>,
    memtable: Arc<MemtableView>,
    /// Whether a run may hold older rows of its keys.
    over_older: bool,
    /// Earlier range deletes that runs must heed.
    heeded: Tombstones,
}

/// One that is in a run, if any row was left.
struct Flushed {
    due: DueMemtable,
    run: Option<RunMeta>,
}

/// A round of flushes that is done.
struct Round {
    flushed: Vec<Flushed>,
    /// When it began, if somebody wants to hear of it.
    began: Option<u64>,
}

impl Flushed {
    /// Tells of it; `ms` is what its whole round took.
    fn tell(&self, ms: u64) {
        tracing::debug!(
            target: "timestrata::flush",
            stream = self.due.stream.name(),
            rows = self.run.as_ref().map_or(0, |run| run.rows),
            bytes = self.run.as_ref().map_or(0, |run| run.file_bytes),
            ms,
            "flushed a memtable"
        );
    }
}

fn runs_of(flushed: &[Flushed]) -> Vec<RunMeta> {
    flushed.iter().filter_map(|flushed| flushed.run.clone()).collect()
}

/// See [`Engine::moment_of`].
struct Moment {
    log_needed_from: SeqNo,
    last_seq: SeqNo,
    /// Of the streams that are still there.
    versions: BTreeMap<Slot, Arc<Version>>,
}

/// What a stream becomes by a round.
struct NextVersion {
    stream: StreamId,
    version: Arc<Version>,
    has_new_tombstones: bool,
    through: SeqNo,
    /// How many of the oldest sealed memtables are in runs.
    memtables: usize,
}

impl NextVersion {
    /// Shows it to readers; gives what they need no more, to be dropped without the lock.
    fn install(self, core: &mut StoreState, slot: Slot) -> (Arc<Version>, Vec<Arc<MemtableView>>) {
        let state = &mut core.streams[slot];
        let old = std::mem::replace(&mut state.version, self.version);
        let memtables = state.sealed.drain(..self.memtables.min(state.sealed.len())).collect();
        state.flushed_through = self.through;
        core.touch(slot);
        core.count(slot);
        (old, memtables)
    }
}

impl Engine {
    /// What [`Plant::StaleFloor`] takes for the floor: the end of the log some time after it was found
    /// that nothing waits in memory. A call of the disk comes in between, at which simulated writers
    /// get their turn.
    fn stale_floor(&self, found: SeqNo) -> Result<SeqNo> {
        self.sync_runs_dir()?;
        Ok(self.wal.as_ref().map_or(found, |wal| wal.appended_seq().next()))
    }
}

/// The range deletes of a version once a memtable is in a run, and whether they have changed: no other
/// run has commits among the memtable's, and its own run has heeded all of them, so they may pass for
/// one another.
fn with_flushed(version: &Version, memtable: &MemtableView) -> (bool, Tombstones) {
    let metas = version.runs.iter().map(|run| &run.meta);
    let heeded = heeded(metas, memtable.tombstones.joined());
    if heeded.is_empty() || is_planted(Plant::LostTombstone) {
        return (false, version.tombstones.clone());
    }
    let heeded = Tombstones::of_pieces(heeded);
    (true, Tombstones::union([&version.tombstones, &heeded]).flat())
}

/// Writes a memtable durably to a run that `create` begins; `None`, and no file, where its range
/// deletes leave no row of it. `over_older` says that older rows of its keys may lie in runs,
/// so that delete markers must stay. `heeded` are earlier range deletes that runs must heed.
pub(crate) fn write_memtable(
    stream: &Arc<Stream>,
    memtable: &MemtableView,
    over_older: bool,
    heeded: &Tombstones,
    created_wall_ns: i64,
    create: impl Fn() -> Result<RunWriter>,
) -> Result<Option<RunMeta>> {
    let writer = write_rows(stream, memtable, over_older, create)?;
    let provenance = provenance_of(memtable, created_wall_ns);
    writer.map(|writer| writer.finish(provenance, lineage_of(memtable, heeded))).transpose()
}

/// What a run of a memtable tells of itself.
fn lineage_of(memtable: &MemtableView, heeded: &Tombstones) -> Lineage {
    let tombstones = Tombstones::union([heeded, &memtable.tombstones]).pieces();
    Lineage { tombstones, ..Lineage::default() }
}

fn provenance_of(memtable: &MemtableView, created_wall_ns: i64) -> Provenance {
    Provenance::of_commits(memtable.first_seq(), memtable.last_seq(), created_wall_ns)
}

/// A run with the rows of a memtable, to be finished.
fn write_rows(
    stream: &Arc<Stream>,
    memtable: &MemtableView,
    over_older: bool,
    create: impl Fn() -> Result<RunWriter>,
) -> Result<Option<RunWriter>> {
    let sources = memtable.sources.to_vec();
    let mut merged = merge_sources(stream, sources, &memtable.tombstones, over_older);
    let mut writer = None;
    let outcome = merged.try_for_each(|batch| {
        let batch = batch?;
        writer_in(&mut writer, &create)?.write(&batch)
    });
    // A writer that is dropped removes what it has not finished.
    outcome.map(|()| writer)
}
