//! A store as it was: an earlier state of its manifest, and the log through the commit that is asked for.
//!
//! The same as a recovery, but for where the manifest's state comes from, and that it ends at a commit.

use std::collections::hash_map::Entry;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use timestrata_format::{RunMeta, SeqNo, WalId};

use super::follow::check_is_it;
use super::load::{KnownRuns, LogFrom, build_core, catch_up, map_runs};
use crate::directory::WAL_DIR;
use crate::manifest::{
    self, HISTORY_NAMES, History, LoadedManifest, MANIFEST_NAME, ManifestState, Tries, too_fast,
};
use crate::state::{Engine, RecoveryReport, RunHandle, StoreState, readable_history};
use crate::stream::open_definition;
use crate::wal::{ReadMode, WalReader, each_record, segment_ids};
use crate::{Error, ErrorKind, Result, Stream};

/// A reader waits so often for a writer to note an edit in its history, and for so long each time.
const WAITS_MAX: usize = 100;
const WAIT: Duration = Duration::from_millis(5);

/// All streams as of a commit that is not the last one.
///
/// # Errors
/// `HistoryLost`, with the oldest commit that can be read, where what it takes is no longer kept.
pub(crate) fn core_at(engine: &Engine, seq: SeqNo) -> Result<StoreState> {
    match &engine.manifest {
        Some(manifest) => {
            let manifest = manifest.lock();
            let Some(history) = manifest.history() else { return Err(engine.lost(seq, None)) };
            let state = history.state_for(seq);
            let state = state.map_err(|oldest| engine.lost(seq, Some(oldest)))?;
            let _held = engine.past.hold();
            let known = runs_of(engine, &state)?;
            drop(manifest);
            core_of(engine, state, &known, seq)
        }
        None => {
            let read =
                |_: &LoadedManifest, history: Option<&History>| try_beside(engine, history, seq);
            beside(engine, read)?.ok_or_else(|| engine.lost(seq, None))
        }
    }
}

/// Whether the last commit is read by the newest state, beside a writer that may be alive.
pub(crate) fn is_newest_beside(engine: &Engine, seq: SeqNo) -> Result<bool> {
    Ok(history_beside(engine)?.is_none_or(|history| history.is_newest(seq)))
}

fn history_beside(engine: &Engine) -> Result<Option<History>> {
    let loaded = manifest::load_again(&*engine.io.disk, &engine.dir)?;
    Ok(loaded.and_then(|loaded| history_of(engine, &loaded)))
}

/// The history that leads to a manifest, beside a writer who may have let go of some of it and says so in the file later.
pub(super) fn history_of(engine: &Engine, loaded: &LoadedManifest) -> Option<History> {
    readable_history(&engine.folder, &engine.dir, loaded).filter(|history| !history.is_behind())
}

/// That of a writer who was killed before the last edit was noted: the log tells behind which commit that was made, at most.
fn history_left_behind(engine: &Engine, loaded: &LoadedManifest) -> Result<Option<History>> {
    let history = readable_history(&engine.folder, &engine.dir, loaded);
    let Some(mut history) = history.filter(History::is_behind) else { return Ok(None) };
    let (wal_dir, store_id) = (engine.dir.join(WAL_DIR), engine.folder.store_id);
    let (mode, floor) = (ReadMode::Follower, loaded.state.wal_floor);
    let mut last_seq = history.last_told();
    let reader = WalReader::open(&engine.io, &wal_dir, store_id, mode, floor, None)?;
    each_record(reader, &mut |record| {
        last_seq = last_seq.max(record.seq);
        Ok(())
    })?;
    history.ends_with(last_seq);
    Ok(Some(history))
}

/// Reads beside a writer that may be alive, again where that has moved on meanwhile. `None` where there is no manifest.
pub(crate) fn beside<T>(
    engine: &Engine,
    read: impl Fn(&LoadedManifest, Option<&History>) -> Result<T>,
) -> Result<Option<T>> {
    let mut tries = Tries::begin(&*engine.io.clock);
    let mut waits = 0;
    loop {
        let before = manifest::load_again(&*engine.io.disk, &engine.dir)?;
        let Some(loaded) = before else { return Ok(None) };
        check_is_it(engine, &loaded)?;
        let history = history_of(engine, &loaded);
        let kept = first_kept(engine, history.as_ref())?;
        let error = match read(&loaded, history.as_ref()) {
            Ok(found) => return Ok(Some(found)),
            Err(error) => error,
        };
        // Unless a writer has moved on meanwhile, or has let go of some of the past, another try is no better.
        let Some(after) = manifest::load_again(&*engine.io.disk, &engine.dir)? else {
            return Err(error);
        };
        let history = history_of(engine, &after);
        if !after.differs_from(&loaded) && first_kept(engine, history.as_ref())? == kept {
            // A writer notes an edit in its history right behind it, if it has a processor.
            let is_told = history.is_some() || !(has_history(engine) || is_being_made(&after));
            if is_told {
                return Err(error);
            }
            if waits == WAITS_MAX {
                let left = history_left_behind(engine, &after)?;
                return left.map_or(Err(error), |left| read(&after, Some(&left)).map(Some));
            }
            waits += 1;
            engine.committed.pause(WAIT);
            continue;
        }
        if !tries.goes_on() {
            return Err(too_fast(&engine.dir));
        }
    }
}

/// Whether nothing was done in a store yet: a writer that has just made it begins its history next.
fn is_being_made(loaded: &LoadedManifest) -> bool {
    loaded.state.streams.is_empty() && loaded.state.last_seq() == SeqNo(0)
}

/// Whether there is a history, if maybe of another manifest.
fn has_history(engine: &Engine) -> bool {
    let [name, ..] = HISTORY_NAMES;
    engine.io.disk.exists(&engine.dir.join(name)).unwrap_or(false)
}

/// The first segment of the log that is there, and the oldest commit of which all is.
fn first_kept(
    engine: &Engine,
    history: Option<&History>,
) -> Result<(Option<WalId>, Option<SeqNo>)> {
    let segments = segment_ids(&*engine.io.disk, &engine.dir.join(WAL_DIR))?;
    Ok((segments.first().copied(), history.map(History::oldest)))
}

fn try_beside(engine: &Engine, history: Option<&History>, seq: SeqNo) -> Result<StoreState> {
    let history = history.ok_or_else(|| engine.lost(seq, None))?;
    let state = history.state_for(seq).map_err(|oldest| engine.lost(seq, Some(oldest)))?;
    let known = engine.core.lock().run_handles();
    let core = core_of(engine, state, &known, seq)?;
    // What is mapped may go meanwhile.
    match map_runs(&core)?.first() {
        None => Ok(core),
        Some(damage) => Err(damage.duplicate()),
    }
}

/// Handles of all runs of a state: those that readers have, and those of runs that only the history needs.
fn runs_of(engine: &Engine, state: &ManifestState) -> Result<KnownRuns> {
    let mut known = known_runs(engine);
    for entry in state.streams.values() {
        let stream = open_definition(&entry.definition, &engine.dir.join(MANIFEST_NAME))?;
        for meta in entry.runs.values() {
            past_handle(engine, &mut known, &stream, meta)?;
        }
    }
    Ok(known)
}

/// Handles of all runs that readers may have.
pub(crate) fn known_runs(engine: &Engine) -> KnownRuns {
    let mut known = engine.past.handles();
    let core = engine.core.lock();
    let pinned = core.pins.values().flat_map(|pin| &pin.runs);
    known.extend(pinned.map(|run| (run.meta.id, run.clone())));
    known.extend(core.run_handles());
    known
}

/// The handle of a run that is kept, which is one for all its readers. To be called with the manifest's lock.
pub(crate) fn past_handle(
    engine: &Engine,
    known: &mut KnownRuns,
    stream: &Arc<Stream>,
    meta: &RunMeta,
) -> Result<Arc<RunHandle>> {
    match known.entry(meta.id) {
        Entry::Occupied(place) => Ok(Arc::clone(place.get())),
        Entry::Vacant(place) => {
            let handle = engine.folder.handle(stream, meta.clone())?;
            Ok(Arc::clone(place.insert(engine.past.keep(&handle))))
        }
    }
}

fn core_of(
    engine: &Engine,
    mut state: ManifestState,
    known: &KnownRuns,
    seq: SeqNo,
) -> Result<StoreState> {
    // Pins of then may be of files that have gone.
    state.pins.clear();
    let mut core = build_core(&engine.folder, &engine.dir.join(MANIFEST_NAME), &state, known)?;
    // Even where the state has it, by a run: commits before it may be in the log alone.
    let from = LogFrom::Past { floor: state.wal_floor, through: seq };
    replay(engine, &engine.dir.join(WAL_DIR), from, &mut core)?;
    core.end_recovery();
    core.recount();
    // A commit that went straight to runs is the last of its state; any other is in the log.
    if core.last_seq != seq {
        return Err(engine.lost(seq, None));
    }
    Ok(core)
}

fn replay(engine: &Engine, wal_dir: &Path, from: LogFrom, core: &mut StoreState) -> Result<()> {
    let mut report = RecoveryReport::default();
    let mut at_gap = || Ok(());
    let mode = ReadMode::Follower;
    catch_up(&engine.folder, wal_dir, mode, from, core, &mut report, &mut at_gap)?;
    Ok(())
}

impl Engine {
    /// The error of a commit that can't be read any more.
    pub(crate) fn lost(&self, seq: SeqNo, oldest: Option<SeqNo>) -> Error {
        let oldest = match oldest {
            Some(oldest) => format!("the oldest one that can be is {oldest}"),
            None => format!(
                "none but the last one can be, {}: the setting history_min has more of them kept",
                self.core.lock().last_seq
            ),
        };
        let message = format!("the store can't be read any more as of commit {seq}: {oldest}");
        Error::new(ErrorKind::HistoryLost, message)
    }
}
