//! From files to the state of a store.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use timestrata_format::{RunId, WalId};
use timestrata_io::Disk;

use super::RecoveryReport;
use super::files::survey;
use super::replay::Replay;
use crate::manifest::{LoadedManifest, MANIFEST_NAME, ManifestState, from_definition};
use crate::scan::Source;
use crate::store::{Core, PinState, RunFolder, RunHandle, StreamState, Version};
use crate::wal::{ReadMode, WalPosition, WalReader, WalStart, WalTail};
use crate::{Error, Result};

/// Runs that are open already: a follower keeps what it has mapped and decoded.
pub(crate) type KnownRuns = HashMap<RunId, Arc<RunHandle>>;

/// A store's state as its files tell it, and what a writer has to know to go on.
pub(crate) struct Recovered {
    pub(crate) core: Core,
    pub(crate) report: RecoveryReport,
    /// What an interrupted flush or compaction left.
    pub(crate) orphans: Vec<PathBuf>,
    /// Where the WAL goes on.
    pub(crate) wal_start: WalStart,
}

/// Loads for a writer: as [`load_core`], and looks at what else is there. Changes no file.
pub(crate) fn recover(
    folder: &RunFolder,
    dir: &Path,
    wal_dir: &Path,
    loaded: &LoadedManifest,
) -> Result<Recovered> {
    let disk = &*folder.io.disk;
    let mode = ReadMode::Recovery;
    let (core, mut report, tail) =
        load_core(folder, dir, wal_dir, mode, &loaded.state, &KnownRuns::new())?;
    if report.torn_tail.is_none() {
        report.torn_tail = loaded.torn_at.map(|offset| (dir.join(MANIFEST_NAME), offset));
    }
    let survey = survey(disk, dir, &loaded.state)?;
    report.strays = survey.strays;
    Ok(Recovered { core, report, orphans: survey.orphans, wal_start: tail.start })
}

/// Removes unfinished runs; gives what was removed.
pub(crate) fn remove_orphans(disk: &dyn Disk, orphans: Vec<PathBuf>) -> Result<Vec<PathBuf>> {
    for orphan in &orphans {
        disk.remove(orphan)
            .map_err(|error| Error::io("remove an unfinished run", orphan, error))?;
    }
    Ok(orphans)
}

/// Builds every stream from the manifest, and replays the WAL over it. Changes no file.
pub(crate) fn load_core(
    folder: &RunFolder,
    dir: &Path,
    wal_dir: &Path,
    mode: ReadMode,
    state: &ManifestState,
    known: &KnownRuns,
) -> Result<(Core, RecoveryReport, WalTail)> {
    let mut core = build(folder, &dir.join(MANIFEST_NAME), mode, state, known)?;
    let mut report = RecoveryReport::default();
    let tail = catch_up(folder, wal_dir, mode, state.wal_floor, None, &mut core, &mut report)?;
    report.last_seq = core.last_seq;
    core.recount();
    Ok((core, report, tail))
}

/// Replays what the WAL holds from a position on (from the floor, if none). Gives the
/// position behind the last record.
pub(crate) fn catch_up(
    folder: &RunFolder,
    wal_dir: &Path,
    mode: ReadMode,
    floor: WalId,
    from: Option<WalPosition>,
    core: &mut Core,
    report: &mut RecoveryReport,
) -> Result<WalTail> {
    // A follower whose last attempt broke off has applied some records already.
    let from_seq = from.is_some().then_some(core.last_seq);
    let mut reader = WalReader::open(&folder.io, wal_dir, folder.store_id, mode, floor, from)?;
    let mut replay = Replay::new(core);
    while let Some(record) = reader.next_record()? {
        if from_seq.is_some_and(|seen| record.seq <= seen) {
            continue;
        }
        replay.apply(&record)?;
        report.commits_replayed += 1;
        report.bytes_replayed += record.payload.len() as u64;
    }
    replay.finish();
    let tail = reader.tail();
    report.torn_tail = tail.torn.clone();
    Ok(tail)
}

fn build(
    folder: &RunFolder,
    manifest_path: &Path,
    mode: ReadMode,
    state: &ManifestState,
    known: &KnownRuns,
) -> Result<Core> {
    let mut core = Core::default();
    core.next_stream = state.next_stream;
    for entry in state.streams.values() {
        let stream = from_definition(&entry.definition).map_err(|problem| {
            let name = &entry.definition.name;
            Error::corruption(
                manifest_path,
                0,
                format!("stream '{name}' can't be opened: {problem}"),
            )
        })?;
        let stream = Arc::new(stream);
        let mut handles = Vec::with_capacity(entry.runs.len());
        for meta in entry.runs.values() {
            let handle = match known.get(&meta.id) {
                Some(handle) => folder.following(&stream, handle)?,
                None => folder.handle(&stream, meta.clone())?,
            };
            if mode == ReadMode::Follower {
                // Mapped now, the file may be removed: a writer doesn't wait for us.
                handle.blocks()?;
            }
            handles.push(handle);
        }
        let version = Version::new(handles, entry.tombstones.clone());
        core.add_stream(StreamState::new(stream, version, entry.flushed_through)?);
    }
    for pin in state.pins.values() {
        let state = PinState::load(folder, &core, pin)?;
        core.pins.insert(pin.name.clone(), state);
    }
    core.last_seq = state.last_seq();
    Ok(core)
}
