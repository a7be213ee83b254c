//! From files to the state of a store.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::replay::Replay;
use crate::directory::list_files;
use crate::manifest::{self, History, LoadedManifest, MANIFEST_NAME, ManifestState};
use crate::scan::Source;
use crate::state::{
    PinState, RecoveryReport, RunFolder, RunHandle, StoreState, StreamState, Version,
    readable_history,
};
use crate::stream::open_definition;
use crate::wal::{
    self, ReadMode, WalPosition, WalReader, WalRecord, WalStart, WalTail, each_record,
};
use crate::{Error, ErrorKind, Result};
use timestrata_format::{RunId, SeqNo, WalId};

/// Runs that are open already: a follower keeps what it has mapped and decoded.
pub(crate) type KnownRuns = HashMap<RunId, Arc<RunHandle>>;

/// A store's state as its manifest and its log tell it.
pub(crate) struct LoadedStore {
    pub(crate) core: StoreState,
    pub(crate) report: RecoveryReport,
    pub(crate) tail: WalTail,
    /// Whether the log has a commit of which one before it is neither in the log nor in the manifest: it was
    /// one to a stream that has been dropped, or one of which only a newer manifest tells.
    pub(crate) has_gap: bool,
    /// What is wrong with runs that a follower can't read. It is for those who read them to meet.
    pub(crate) damage: Vec<Error>,
}

/// A store's state as its files tell it, and what a writer has to know to go on.
pub(crate) struct Recovered {
    pub(crate) core: StoreState,
    pub(crate) report: RecoveryReport,
    /// Run files in no version.
    pub(crate) orphans: Vec<PathBuf>,
    /// The first run id that no file has, at least.
    pub(crate) next_run: RunId,
    /// Where the WAL goes on.
    pub(crate) wal_start: WalStart,
    /// How the store was earlier, as far as files tell.
    pub(crate) history: Option<History>,
}

/// Loads for a writer: as [`load_core`], and looks at what else is there. Changes no file.
pub(crate) fn recover(
    folder: &RunFolder,
    dir: &Path,
    wal_dir: &Path,
    loaded: &LoadedManifest,
) -> Result<Recovered> {
    let disk = &*folder.io.disk;
    manifest::check_not_stale(disk, dir, loaded)?;
    let history = readable_history(folder, dir, loaded);
    let of_history = history.iter().flat_map(History::retired).map(|meta| meta.id).collect();
    let files = list_files(disk, dir, &loaded.state, &of_history)?;
    let damaged_runs = files.damaged_runs(disk, dir, &loaded.state)?;
    let mode = ReadMode::Recovery;
    let known = KnownRuns::new();
    let LoadedStore { mut core, mut report, mut tail, .. } =
        load_core(folder, dir, wal_dir, mode, loaded, &known, None)?;
    // No number of a commit that was made is given again.
    core.last_seq = core.last_seq.max(history.as_ref().map_or(SeqNo(0), History::last_told));
    report.last_seq = core.last_seq;
    if report.torn_tail.is_none() {
        report.torn_tail = loaded.torn_at.map(|offset| (dir.join(MANIFEST_NAME), offset));
    }
    if tail.position.last.is_none() {
        // The log knows of no commit any more: there is none, or one that a kill left without its first record. What is written to it comes behind all the same.
        tail.start.previous_seq = core.last_seq;
    }
    let next_run = files.next_run().max(loaded.state.next_run);
    report.strays = files.strays;
    report.damaged_runs = damaged_runs;
    report.manifest_mended = loaded.damage.as_ref().map(ToString::to_string);
    let history = history.map(|mut history| {
        history.ends_with(core.last_seq);
        history
    });
    let (orphans, mut wal_start) = (files.orphans, tail.start);
    wal_start.time_ms = wal_start.time_ms.max(loaded.state.time_ms);
    if wal_start.time_ms == 0 && core.last_seq > SeqNo(0) {
        // An earlier build dated no commits: all that is known is that they have been made by now.
        wal_start.time_ms = wal::ms_of(folder.io.clock.wall_ns());
    }
    Ok(Recovered { core, report, orphans, next_run, wal_start, history })
}

/// Builds every stream from the manifest, and replays the WAL over it, to its end or through a
/// commit. Changes no file.
pub(crate) fn load_core(
    folder: &RunFolder,
    dir: &Path,
    wal_dir: &Path,
    mode: ReadMode,
    loaded: &LoadedManifest,
    known: &KnownRuns,
    through: Option<SeqNo>,
) -> Result<LoadedStore> {
    let state = &loaded.state;
    let mut core = build_core(folder, &dir.join(MANIFEST_NAME), state, known)?;
    let damage = match mode {
        ReadMode::Follower => map_runs(&core)?,
        ReadMode::Recovery => Vec::new(),
    };
    let mut report = RecoveryReport::default();
    let from = LogFrom::Floor { floor: state.wal_floor, expected: loaded.log_expected, through };
    let mut has_gap = false;
    let mut at_gap = || {
        has_gap = true;
        Ok(())
    };
    let tail = catch_up(folder, wal_dir, mode, from, &mut core, &mut report, &mut at_gap)?;
    if let Some(seq) = tail.last_seq {
        // A log that was begun anew says what came before it.
        has_gap |= seq > core.last_seq;
        core.last_seq = core.last_seq.max(seq);
    }
    core.end_recovery();
    report.last_seq = core.last_seq;
    core.recount();
    Ok(LoadedStore { core, report, tail, has_gap, damage })
}

/// Where reading the log begins.
#[derive(Debug, Clone, Copy)]
pub(crate) enum LogFrom {
    /// At the floor.
    Floor {
        floor: WalId,
        /// A segment that must be there.
        expected: Option<WalId>,
        /// The last commit to be read; `None`: to the end.
        through: Option<SeqNo>,
    },
    /// At a floor of earlier, through a commit of then.
    Past { floor: WalId, through: SeqNo },
    /// Where an earlier reading ended.
    Position(WalPosition),
}

/// Replays what the WAL holds from somewhere on. Gives the position behind the last record.
/// `at_gap` is asked before a commit is applied whose predecessor is neither in the log nor in
/// `core`; after its error all commits before that one are there, and none behind.
pub(crate) fn catch_up(
    folder: &RunFolder,
    wal_dir: &Path,
    mode: ReadMode,
    from: LogFrom,
    core: &mut StoreState,
    report: &mut RecoveryReport,
    at_gap: &mut dyn FnMut() -> Result<()>,
) -> Result<WalTail> {
    let (floor, position, expected, through) = match from {
        LogFrom::Floor { floor, expected, through } => (floor, None, expected, through),
        LogFrom::Past { floor, .. } => (floor, None, None, None),
        LogFrom::Position(position) => (position.segment, Some(position), None, None),
    };
    // A follower whose last attempt broke off has applied some records already.
    let from_seq = position.is_some().then_some(core.last_seq);
    let mut reader = WalReader::open(&folder.io, wal_dir, folder.store_id, mode, floor, position)?;
    if let Some(expected) = expected {
        reader.expect(expected)?;
    }
    if let Some(through) = through {
        reader.stop_behind(through);
    }
    if let LogFrom::Past { through, .. } = from {
        reader.read_past(through);
    }
    let mut replay = Replay::new(core);
    let mut take = |record: &WalRecord<'_>| {
        if from_seq.is_some_and(|seen| record.seq <= seen) {
            return Ok(());
        }
        if replay.lacks_commit_before(record.seq) {
            at_gap()?;
        }
        replay.apply(record)?;
        report.commits_replayed += 1;
        report.bytes_replayed += record.payload.len() as u64;
        Ok(())
    };
    let reader = each_record(reader, &mut take)?;
    replay.finish();
    let tail = reader.tail();
    report.torn_tail = tail.torn.clone();
    Ok(tail)
}

/// The streams as the manifest has them, without what is in the log.
pub(crate) fn build_core(
    folder: &RunFolder,
    manifest_path: &Path,
    state: &ManifestState,
    known: &KnownRuns,
) -> Result<StoreState> {
    let mut core = StoreState::default();
    core.next_stream = state.next_stream;
    for entry in state.streams.values() {
        let stream = open_definition(&entry.definition, manifest_path)?;
        let mut handles = Vec::with_capacity(entry.runs.len());
        for meta in entry.runs.values() {
            let handle = match known.get(&meta.id) {
                Some(handle) => folder.following(&stream, handle, meta)?,
                None => folder.handle(&stream, meta.clone())?,
            };
            handles.push(handle);
        }
        let version = Version::new(handles, entry.to_heed());
        core.add_stream(StreamState::new(stream, version, entry.flushed_through)?);
    }
    for pin in state.pins.values() {
        let state = PinState::load(folder, &core, pin, None)?;
        core.pins.insert(pin.name.clone(), state);
    }
    core.last_seq = state.last_seq();
    Ok(core)
}

/// Maps all runs: what is mapped may be removed by a writer, who doesn't wait for us. Gives what is wrong with
/// those that are damaged or missing.
pub(super) fn map_runs(core: &StoreState) -> Result<Vec<Error>> {
    let mut damage = Vec::new();
    for run in core.live().flat_map(|(_, state)| &state.version.runs) {
        match run.blocks() {
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::Corruption => damage.push(error),
            Err(error) => return Err(error),
        }
    }
    Ok(damage)
}
