//! From files to the state of a store.

use std::path::Path;
use std::sync::Arc;

use timestrata_format::WalId;

use super::RecoveryReport;
use super::files::survey;
use super::replay::{Record, replay};
use crate::manifest::{LoadedManifest, MANIFEST_NAME, ManifestState, from_definition};
use crate::store::{Core, PinState, RunFolder, StreamState, Version};
use crate::wal::{self, WalPosition};
use crate::{Error, Result};

/// A store's state as its files tell it, and what a writer has to know to go on.
pub(crate) struct Recovered {
    pub(crate) core: Core,
    pub(crate) report: RecoveryReport,
    /// The first segment id that no file has.
    pub(crate) next_wal: WalId,
}

/// Loads for a writer: as [`load_core`], then removes what an interrupted flush or
/// compaction left.
pub(crate) fn recover(
    folder: &RunFolder,
    dir: &Path,
    wal_dir: &Path,
    loaded: &LoadedManifest,
) -> Result<Recovered> {
    let disk = &*folder.io.disk;
    let (core, mut report, _) = load_core(folder, dir, wal_dir, &loaded.state)?;
    if report.torn_tail.is_none() {
        report.torn_tail = loaded.torn_at.map(|offset| (dir.join(MANIFEST_NAME), offset));
    }
    let survey = survey(disk, dir, &loaded.state)?;
    for orphan in survey.orphans {
        disk.remove(&orphan).map_err(|error| Error::io("remove an unfinished run", &orphan, error))?;
        report.orphans_removed.push(orphan);
    }
    report.strays = survey.strays;
    let next_wal = wal::next_segment_id(disk, wal_dir, loaded.state.wal_floor)?;
    Ok(Recovered { core, report, next_wal })
}

/// Builds every stream from the manifest, and replays the WAL over it. Changes no file.
pub(crate) fn load_core(
    folder: &RunFolder,
    dir: &Path,
    wal_dir: &Path,
    state: &ManifestState,
) -> Result<(Core, RecoveryReport, Option<WalPosition>)> {
    let mut core = build(folder, &dir.join(MANIFEST_NAME), state)?;
    let mut report = RecoveryReport::default();
    let position = catch_up(folder, wal_dir, state.wal_floor, None, &mut core, &mut report)?;
    report.last_seq = core.last_seq;
    core.recount();
    Ok((core, report, position))
}

/// Replays what the WAL holds from a position on (from the floor, if none). Gives the
/// position behind the last record.
pub(crate) fn catch_up(
    folder: &RunFolder,
    wal_dir: &Path,
    floor: WalId,
    from: Option<WalPosition>,
    core: &mut Core,
    report: &mut RecoveryReport,
) -> Result<Option<WalPosition>> {
    let durable = core.last_seq;
    // A follower whose last attempt broke off has applied some records already.
    let from_seq = from.is_some().then_some(core.last_seq);
    let mut reader = wal::WalReader::open(&folder.io, wal_dir, folder.store_id, floor, from)?;
    while let Some(record) = reader.next_record()? {
        if from_seq.is_some_and(|seen| record.seq <= seen) {
            continue;
        }
        replay(
            core,
            &Record {
                seq: record.seq,
                payload: &record.payload,
                path: &record.path,
                offset: record.payload_offset,
            },
        )?;
        report.commits_replayed += 1;
        report.bytes_replayed += record.payload.len() as u64;
    }
    let tail = reader.finish(durable)?;
    report.torn_tail = tail.torn;
    Ok(tail.position)
}

fn build(folder: &RunFolder, manifest_path: &Path, state: &ManifestState) -> Result<Core> {
    let mut core = Core::default();
    for entry in state.streams.values() {
        let stream = from_definition(&entry.definition).map_err(|problem| {
            let name = &entry.definition.name;
            Error::corruption(manifest_path, 0, format!("stream '{name}' can't be opened: {problem}"))
        })?;
        let stream = Arc::new(stream);
        let handles = entry
            .runs
            .values()
            .map(|meta| folder.handle(&stream, meta.clone()))
            .collect::<Result<Vec<_>>>()?;
        let version = Version::new(handles, entry.tombstones.clone());
        core.add_stream(StreamState::new(stream, version, entry.flushed_through));
    }
    for pin in state.pins.values() {
        let state = PinState::load(folder, &core, pin)?;
        core.pins.insert(pin.name.clone(), state);
    }
    core.last_seq = state.last_seq();
    Ok(core)
}

