//! What only the history needs: runs that streams have no more, and log that no recovery needs.
//!
//! A writer that is alive lets go of it at any time, so what is wrong counts only where the file is still needed afterwards.

use std::path::Path;
use std::sync::Arc;

use timestrata_format::SeqNo;
use timestrata_io::Io;

use super::{CheckReport, Finding, verify_run};
use crate::directory::WAL_DIR;
use crate::manifest::{self, HISTORY_NAMES, History, LoadedManifest, Tries, too_fast};
use crate::state::{RunFolder, readable_history};
use crate::stream::from_definition;
use crate::wal::{ReadMode, WalReader};
use crate::{ErrorKind, Result};

/// Reads what only the history needs. Its rows and commits are not counted: they are those of an earlier time.
pub(super) fn check_past(
    folder: &RunFolder,
    dir: &Path,
    mut loaded: LoadedManifest,
    report: &mut CheckReport,
) -> Result<()> {
    let mut tries = Tries::begin(&*folder.io.clock);
    loop {
        let history = readable_history(folder, dir, &loaded);
        let Some(history) = history else {
            let newer = manifest::load(&*folder.io.disk, dir)?;
            if !newer.is_some_and(|newer| newer.differs_from(&loaded)) {
                report.findings.extend(unreadable(&folder.io, dir));
            }
            return Ok(());
        };
        let mut past = CheckReport::default();
        check_runs(folder, &loaded, &history, &mut past)?;
        check_log(folder, dir, &loaded, &history, &mut past)?;
        let newer = match past.is_sound() {
            true => None,
            false => manifest::load(&*folder.io.disk, dir)?,
        };
        let has_moved_on = newer.filter(|newer| {
            let newer_history = readable_history(folder, dir, newer);
            newer.differs_from(&loaded) || !is_same(newer_history.as_ref(), &history)
        });
        let Some(newer) = has_moved_on else {
            report.files += past.files;
            report.bytes += past.bytes;
            report.findings.append(&mut past.findings);
            return Ok(());
        };
        if !tries.goes_on() {
            return Err(too_fast(dir));
        }
        loaded = newer;
    }
}

/// Whether nothing of it has been let go of.
fn is_same(newer: Option<&History>, history: &History) -> bool {
    newer
        .is_some_and(|newer| (newer.oldest(), newer.floor()) == (history.oldest(), history.floor()))
}

/// A crash may leave one that does not end with the manifest: no commit is lost by that.
fn unreadable(io: &Io, dir: &Path) -> Option<Finding> {
    let [name, ..] = HISTORY_NAMES;
    let path = dir.join(name);
    let is_there = io.disk.exists(&path).unwrap_or(false);
    let message = "it does not lead to the manifest, so the store can't be read as it was; the next open for writing begins it anew";
    is_there.then(|| Finding::remark(path, None, message))
}

fn check_runs(
    folder: &RunFolder,
    loaded: &LoadedManifest,
    history: &History,
    report: &mut CheckReport,
) -> Result<()> {
    let others = loaded.state.all_runs();
    let retired = history.retired_with_streams();
    for (meta, definition) in retired.filter(|(meta, _)| !others.contains_key(&meta.id)) {
        let stream = definition.and_then(|definition| from_definition(definition).ok());
        // Without one there is nobody who could read it.
        let Some(stream) = stream else { continue };
        let mut of_run = CheckReport::default();
        verify_run(folder, &Arc::new(stream), meta, &mut of_run)?;
        add(of_run, report);
    }
    Ok(())
}

fn check_log(
    folder: &RunFolder,
    dir: &Path,
    loaded: &LoadedManifest,
    history: &History,
    report: &mut CheckReport,
) -> Result<()> {
    let (from, floor) = (history.floor(), loaded.state.wal_floor);
    if from >= floor {
        return Ok(());
    }
    let wal_dir = dir.join(WAL_DIR);
    let mut of_log = CheckReport::default();
    let mut read = || -> Result<()> {
        let (io, store_id) = (&folder.io, folder.store_id);
        let mut reader = WalReader::open(io, &wal_dir, store_id, ReadMode::Follower, from, None)?;
        reader.read_past(SeqNo(u64::MAX));
        while let Some(record) = reader.next_record()? {
            let bytes = record.payload.len() as u64;
            // One record of the rest of the log says that it goes on there.
            if reader.position().segment >= floor {
                break;
            }
            of_log.bytes += bytes;
        }
        Ok(())
    };
    match read() {
        // What is not there is not in the history.
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        Err(error) if error.kind() == ErrorKind::Corruption => {
            of_log.findings.push(Finding::damage(&error, &wal_dir));
        }
        read => read?,
    }
    add(of_log, report);
    Ok(())
}

/// Adds to what was read, and says of what is wrong what it is needed for.
fn add(mut of_part: CheckReport, report: &mut CheckReport) {
    report.files += of_part.files;
    report.bytes += of_part.bytes;
    for finding in &mut of_part.findings {
        finding.message += "; only who reads the store as it was needs this";
    }
    report.findings.append(&mut of_part.findings);
}
