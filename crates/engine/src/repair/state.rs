//! What the repaired store is made of: streams, runs and range deletes.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use timestrata_format::{RunId, RunMeta, StoreId, StreamId, WalId};
use timestrata_io::Io;

use super::found::{Findings, FoundRun, find};
use super::lineage::{RunCandidate, judge};
use super::pins::keep_pins;
use super::report::{FileLeftOut, RepairReport};
use super::streams;
use super::units::in_one_unit;
use crate::directory::{RUNS_DIR, WAL_DIR};
use crate::manifest::{self, LoadedManifest, MANIFEST_NAME, ManifestState, StreamEntry};
use crate::run;
use crate::tombstones::Tombstones;
use crate::{Error, ErrorKind, Result};

/// What is to be written.
#[derive(Debug)]
pub(super) struct RepairPlan {
    pub(super) store_id: StoreId,
    pub(super) generation: u64,
    /// Streams with their live runs, and pins.
    pub(super) state: ManifestState,
    /// Where the file of each live or pinned run is, and whether it is whole.
    pub(super) files: BTreeMap<RunId, (PathBuf, bool)>,
    /// Commits up to these are in runs, by the manifest's word; else live runs say what they hold.
    pub(super) is_told: bool,
    /// The first segment of the log that counts.
    pub(super) log_floor: WalId,
}

/// Finds out what makes the store.
pub(super) fn plan(io: &Io, dir: &Path, report: &mut RepairReport) -> Result<RepairPlan> {
    let (known, mut why) = match manifest::load(&*io.disk, dir) {
        Ok(Some(loaded)) => {
            let torn = loaded.torn_at.map(|offset| format!("its end is torn at byte {offset}"));
            (Some(loaded), torn)
        }
        Ok(None) => (None, Some("it is missing, and its copy too".to_owned())),
        Err(error) if error.kind() == ErrorKind::Corruption => {
            (manifest::salvage(&*io.disk, dir), Some(error.to_string()))
        }
        Err(error) => return Err(error),
    };
    let store_id = known.as_ref().map(|loaded| loaded.store_id);
    let findings = find(io, dir, store_id, report)?;
    if let (None, Some(loaded)) = (&why, &known) {
        why = first_missing(dir, &loaded.state, &findings);
    }
    let plan = match (known, why) {
        (Some(loaded), None) => by_manifest(dir, loaded, findings, report),
        (known, why) => {
            report.manifest_lost = why;
            by_runs(dir, known, findings, report)?
        }
    };
    if plan.state.streams.is_empty() && plan.files.is_empty() {
        nothing_there(io, dir, &plan)?;
    }
    Ok(plan)
}

/// An error where the directory has nothing of a store's.
fn nothing_there(io: &Io, dir: &Path, plan: &RepairPlan) -> Result<()> {
    let exists = |path: &Path| io.disk.exists(path).unwrap_or(false);
    if !exists(dir) {
        return Err(Error::new(ErrorKind::NotFound, "there is no such store").at(dir));
    }
    let is_store = plan.generation > 0 || exists(&dir.join(WAL_DIR)) && exists(&dir.join(RUNS_DIR));
    match is_store {
        true => Ok(()),
        false => Err(Error::new(ErrorKind::NotAStore, "there is nothing of a store here").at(dir)),
    }
}

/// A run that the manifest names and that isn't there: the manifest may be one of another time.
fn first_missing(dir: &Path, state: &ManifestState, findings: &Findings) -> Option<String> {
    let live = state.streams.values().flat_map(|entry| entry.runs.values());
    let mut missing = live.filter(|meta| {
        let is_here = findings.runs.get(&meta.id).is_some_and(|found| !found.is_aside);
        !is_here && !findings.unreadable.iter().any(|file| file.id == meta.id)
    });
    missing.next().map(|meta| {
        let path = dir.join(RUNS_DIR).join(run::file_name(meta.id, meta.format));
        format!("it names a run that is missing, {}", path.display())
    })
}

/// The manifest is whole: it says what counts.
fn by_manifest(
    dir: &Path,
    loaded: LoadedManifest,
    findings: Findings,
    report: &mut RepairReport,
) -> RepairPlan {
    let mut state = loaded.state;
    let mut files = BTreeMap::new();
    for entry in state.streams.values_mut() {
        let metas = std::mem::take(&mut entry.runs);
        for (id, meta) in metas {
            match findings.runs.get(&id) {
                Some(found) => {
                    let sums = |meta: &RunMeta| (meta.file_bytes, meta.file_crc);
                    let is_whole = sums(&found.run.meta) == sums(&meta);
                    files.insert(id, (found.path.clone(), is_whole));
                    entry.runs.insert(id, meta);
                }
                None => report.missing.push(findings.missing(dir, entry, &meta)),
            }
        }
    }
    let pins = std::mem::take(&mut state.pins);
    keep_pins(dir, pins, true, &findings, (&mut state, &mut files), report);
    let others = findings.runs.values().filter(|found| !files.contains_key(&found.run.meta.id));
    let unnamed = || "no version of the store names it".to_owned();
    report.left_out.extend(others.map(|f| FileLeftOut { path: f.path.clone(), why: unnamed() }));
    RepairPlan {
        store_id: loaded.store_id,
        generation: loaded.generation,
        log_floor: state.wal_floor,
        state,
        files,
        is_told: true,
    }
}

/// The runs say what counts; what could be read of a manifest helps.
fn by_runs(
    dir: &Path,
    known: Option<LoadedManifest>,
    mut findings: Findings,
    report: &mut RepairReport,
) -> Result<RepairPlan> {
    let generation = known.as_ref().map_or(0, |loaded| loaded.generation);
    let store_id = known.as_ref().map(|loaded| loaded.store_id);
    let any_run = findings.runs.values().next().map(|found| found.run.store_id);
    let mut old = known.map(|loaded| loaded.state).unwrap_or_default();
    old.closed = None;
    in_one_unit(&mut old, &mut findings);
    let named: BTreeSet<RunId> =
        old.streams.values().flat_map(|entry| entry.runs.keys().copied()).collect();
    let candidates: Vec<RunCandidate<'_>> = findings.runs.values().map(candidate).collect();
    let verdicts = judge(&candidates);
    report.doubts.extend(verdicts.doubts);
    let mut live: BTreeMap<StreamId, Vec<&FoundRun>> = BTreeMap::new();
    for (id, found) in &findings.runs {
        match verdicts.dead.get(id) {
            Some(why) => {
                report.left_out.push(FileLeftOut { path: found.path.clone(), why: why.clone() });
            }
            None => live.entry(found.run.meta.stream).or_default().push(found),
        }
    }
    tell_missing(dir, &old, &findings, report);
    let mut state = ManifestState::default();
    state.wal_floor = old.wal_floor;
    state.next_run = old.next_run;
    state.next_stream = old.next_stream;
    let mut files = BTreeMap::new();
    let ids: BTreeSet<StreamId> = live.keys().chain(old.streams.keys()).copied().collect();
    for id in ids {
        let runs = live.remove(&id).unwrap_or_default();
        let Some(entry) = entry_of(id, &runs, old.streams.get(&id), &named, report) else {
            continue;
        };
        for found in runs {
            if found.is_aside {
                report.doubts.push(format!(
                    "{} had been set aside, and nothing else has its commits: it was taken over",
                    found.path.display()
                ));
            }
            files.insert(found.run.meta.id, (found.path.clone(), found.run.is_whole));
        }
        state.insert(entry);
    }
    streams::make_names_unique(&mut state, report);
    keep_pins(dir, old.pins, false, &findings, (&mut state, &mut files), report);
    // What compaction has replaced may be what a pin keeps.
    report.left_out.retain(|file| files.values().all(|(path, _)| *path != file.path));
    let all_ids = findings.runs.keys().copied();
    let next = all_ids.chain(findings.unreadable.iter().map(|file| file.id)).max();
    state.next_run = state.next_run.max(next.map_or(RunId(1), RunId::next));
    let store_id = store_id.or(any_run).unwrap_or_default();
    // Which segments are needed nobody knows: what is in runs is passed over.
    let log_floor = WalId(0);
    Ok(RepairPlan { store_id, generation, state, files, is_told: false, log_floor })
}

fn candidate(found: &FoundRun) -> RunCandidate<'_> {
    let (meta, origin) = (&found.run.meta, found.run.origin.as_ref());
    RunCandidate { meta, origin, is_aside: found.is_aside }
}

/// Runs that a manifest named and that nothing stands in for, and files that say nothing.
fn tell_missing(dir: &Path, old: &ManifestState, findings: &Findings, report: &mut RepairReport) {
    let origins = findings.runs.values().filter_map(|found| found.run.origin.as_ref());
    let replaced: BTreeSet<RunId> = origins.flat_map(|o| o.replaces.iter().copied()).collect();
    let has_commits_of = |meta: &RunMeta| {
        findings.runs.values().map(|found| &found.run.meta).any(|other| {
            other.stream == meta.stream
                && other.seq_min <= meta.seq_min
                && meta.seq_max <= other.seq_max
                && other.key_min <= meta.key_max
                && meta.key_min <= other.key_max
        })
    };
    let mut told = BTreeSet::new();
    for entry in old.streams.values() {
        for meta in entry.runs.values().filter(|meta| !findings.runs.contains_key(&meta.id)) {
            told.insert(meta.id);
            if !replaced.contains(&meta.id) && !has_commits_of(meta) {
                report.missing.push(findings.missing(dir, entry, meta));
            }
        }
    }
    for file in &findings.unreadable {
        if replaced.contains(&file.id) {
            let why = "compaction has replaced it, and it can't be read".to_owned();
            report.left_out.push(FileLeftOut { path: file.path.clone(), why });
        } else if !told.contains(&file.id) {
            report.lost.push(format!(
                "what was in {}: it was not written to its end, or its end is damaged ({})",
                file.path.display(),
                file.error.message()
            ));
        }
    }
}

fn entry_of(
    id: StreamId,
    runs: &[&FoundRun],
    old: Option<&StreamEntry>,
    named: &BTreeSet<RunId>,
    report: &mut RepairReport,
) -> Option<StreamEntry> {
    let definition = match streams::definition(id, runs, old.map(|old| &old.definition), named) {
        Ok((definition, doubt)) => {
            report.doubts.extend(doubt);
            definition
        }
        Err(why) => {
            for found in runs {
                let path = found.path.display();
                report.lost.push(format!("{} rows in {path}: {why}", found.run.meta.rows));
            }
            return None;
        }
    };
    let mut entry = StreamEntry::new(definition);
    let known = old.into_iter().flat_map(StreamEntry::tombstones);
    let origins = runs.iter().filter_map(|found| found.run.origin.as_ref());
    let told = origins.flat_map(|origin| origin.tombstones.iter().copied());
    let tombstones = Tombstones::of(known.chain(told));
    tombstones.pieces().into_iter().for_each(|tombstone| entry.add_tombstone(tombstone));
    let metas = runs.iter().map(|found| {
        let told = old.and_then(|old| old.runs.get(&found.run.meta.id));
        let meta = RunMeta {
            level: told.map_or(found.run.meta.level, |told| told.level),
            created_wall_ns: told
                .map_or(found.run.meta.created_wall_ns, |told| told.created_wall_ns),
            ..found.run.meta.clone()
        };
        (meta.id, meta)
    });
    entry.runs = metas.collect();
    entry.flushed_through = old.map(|old| old.flushed_through).unwrap_or_default();
    Some(entry)
}

/// The path of the manifest, for errors about what should be in it.
pub(super) fn manifest_path(dir: &Path) -> PathBuf {
    dir.join(MANIFEST_NAME)
}
