//! Erasing what was deleted and replaced, from every file of the store.
//!
//! ```text
//!   where such rows still lie                         how they go
//!   the log, and files of it that are used again      on in a new file; those from before are removed, once all is flushed
//!   runs: below a range delete, a newer row, a key    compaction, until nothing is hidden in them
//!   runs and log that the history needs               all of it is let go of
//!   the manifest: bounds of keys                      written anew
//!   runs that were set aside                          removed
//!   pins; followers that have not seen it yet         none of ours to take: an error that names them
//!   runs that somebody reads just now                 go with their last reader: told
//! ```
//!
//! Each step is one that an open store takes anyhow, so a crash between two leaves a store as any other, and the purge is begun again.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

use timestrata_format::{RunId, SeqNo, WalId};
use timestrata_io::sync::MutexGuard;

use crate::directory::{QUARANTINE_DIR, RUNS_DIR, WAL_DIR, list_quarantine};
use crate::manifest::{ManifestLog, Tries};
use crate::run;
use crate::state::{Engine, Slot};
use crate::wal::{segment_files, segment_ids, segment_path};
use crate::{Error, ErrorKind, Result};

/// How often it is looked whether nobody reads the past any more.
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// What a purge did.
///
/// ```
/// # use timestrata_engine::*;
/// # fn main() -> std::result::Result<(), Box<dyn std::error::Error>> {
/// # let temporary = tempfile::tempdir()?;
/// # let dir = temporary.path().join("store");
/// let store = Store::open(&dir, Settings::default())?;
/// assert!(store.purge(None)?.still_read.is_empty());
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PurgeReport {
    /// The last commit before it: what was deleted or replaced by then is erased.
    pub seq: SeqNo,
    /// Files of runs and of the log that were removed.
    pub files: u64,
    /// Bytes of these.
    pub bytes: u64,
    /// Runs that a snapshot in this process still reads. Each goes, by itself, with the last that reads it.
    pub still_read: Vec<PathBuf>,
}

impl Engine {
    /// Erases what was deleted and replaced in these streams, or in all. `go_on` is asked now and then;
    /// no step is left half done.
    pub(crate) fn purge(
        &self,
        only: Option<Vec<Slot>>,
        go_on: &dyn Fn() -> Result<()>,
    ) -> Result<PurgeReport> {
        self.check_writable()?;
        let seq = self.core.lock().last_seq;
        self.check_followers(seq)?;
        let before = {
            // What is being written just now from runs that hold such rows is there by then.
            let _flushing = self.flushing.lock();
            let _compacting = self.compacting.lock();
            let log_from = self.wal.as_ref().map(|wal| wal.begin_anew()).transpose();
            self.files_before(log_from.map_err(|error| self.fail_unless_refused(error))?)?
        };
        let slots = only.unwrap_or_else(|| self.core.lock().live().map(|(slot, _)| slot).collect());
        for slot in &slots {
            self.compact_fully(Some(*slot), go_on)?;
        }
        // Also where there was no stream to compact.
        self.flush_all()?;
        self.check_pins(&slots)?;
        go_on()?;
        let mut manifest = self.lock_manifest()?;
        self.release_log(&mut manifest)?;
        let mut manifest = self.drop_history(manifest, go_on)?;
        let written = manifest.write_anew();
        if !written.map_err(|why| why.failing_in_doubt(|error| self.fail(error)))? {
            let message = "there is no room to write the manifest anew";
            return Err(Error::new(ErrorKind::NoSpace, message).at(&self.dir));
        }
        let named: BTreeSet<RunId> = manifest.state().all_runs().keys().copied().collect();
        drop(manifest);
        self.remove_others()?;
        self.report(seq, before, &named)
    }

    /// An error if somebody follows who has not been told yet of all that would go.
    fn check_followers(&self, seq: SeqNo) -> Result<()> {
        let manifest = self.lock_manifest()?;
        let followers = manifest.state().followers.iter();
        let Some((name, place)) = followers.min_by_key(|(_, place)| **place) else { return Ok(()) };
        if *place >= seq {
            return Ok(());
        }
        let message = format!(
            "follower '{name}' has seen the commits through {place} of {seq} only, and what it has not seen would go"
        );
        let hint = "let it read on and save its place, or remove it, and purge again";
        Err(Error::new(ErrorKind::Conflict, message).hinting(hint))
    }

    /// An error if a pin keeps runs that the streams have no more.
    fn check_pins(&self, slots: &[Slot]) -> Result<()> {
        let core = self.core.lock();
        let streams = slots.iter().filter_map(|slot| core.streams.get(*slot));
        let live: BTreeSet<RunId> = streams
            .clone()
            .flat_map(|state| state.version.runs.iter().map(|run| run.meta.id))
            .collect();
        let ids: Vec<_> = streams.map(|state| state.stream.id()).collect();
        let mut holding = Vec::new();
        for (name, pin) in &core.pins {
            let of_these = pin.runs.iter().filter(|run| ids.contains(&run.meta.stream));
            let runs = of_these.filter(|run| !live.contains(&run.meta.id)).count();
            if runs > 0 {
                holding.push(format!("'{name}' ({runs})"));
            }
        }
        drop(core);
        if holding.is_empty() {
            return Ok(());
        }
        let message = format!("pins keep runs of what was there before: {}", holding.join(", "));
        Err(Error::new(ErrorKind::Conflict, message).hinting("remove these pins, and purge again"))
    }

    /// Lets go of all of the past, once nobody reads there.
    fn drop_history<'a>(
        &'a self,
        mut manifest: MutexGuard<'a, ManifestLog>,
        go_on: &dyn Fn() -> Result<()>,
    ) -> Result<MutexGuard<'a, ManifestLog>> {
        let mut tries = Tries::begin(&*self.io.clock);
        loop {
            if let Some(folded) = self.fold_all(&mut manifest) {
                self.remove_folded(folded);
                return Ok(manifest);
            }
            drop(manifest);
            go_on()?;
            if !tries.goes_on() {
                let message =
                    "the store is being read as it was, for which the history has to stay";
                return Err(Error::new(ErrorKind::Busy, message).hinting("purge again later"));
            }
            self.committed.pause(LOOK_EVERY);
            manifest = self.lock_manifest()?;
        }
    }

    /// Removes what nothing needs but a later look: log files that wait to be used, and runs that were set aside.
    fn remove_others(&self) -> Result<()> {
        if let Some(wal) = &self.wal {
            wal.remove_idle();
        }
        let disk = &*self.io.disk;
        let set_aside = list_quarantine(disk, &self.dir)?;
        for file in &set_aside {
            let removed = disk.remove(&file.path);
            removed.map_err(|error| Error::io("remove what was set aside", &file.path, error))?;
        }
        // So that no power cut brings them back.
        let dirs = [RUNS_DIR, WAL_DIR, QUARANTINE_DIR].map(|name| self.dir.join(name));
        for dir in &dirs {
            if disk.exists(dir).unwrap_or(false) {
                disk.sync_dir(dir).map_err(|error| Error::io("sync the directory", dir, error))?;
            }
        }
        Ok(())
    }

    /// The runs there are, and the log before a segment.
    fn files_before(&self, log_from: Option<WalId>) -> Result<FilesBefore> {
        let (disk, runs_dir) = (&*self.io.disk, self.dir.join(RUNS_DIR));
        let entries = disk.list_if_there(&runs_dir);
        let entries = entries.map_err(|error| Error::io("list the directory", &runs_dir, error))?;
        let runs = entries.into_iter().filter_map(|entry| {
            let (id, _) = run::parse_file_name(&entry.name)?;
            Some((id, runs_dir.join(&entry.name), entry.len))
        });
        let mut files = FilesBefore { runs: runs.collect(), log: Vec::new(), log_from };
        if let Some(from) = log_from {
            let segments = segment_files(disk, &self.dir.join(WAL_DIR))?;
            files.log = segments.range(..from).map(|(id, bytes)| (*id, *bytes)).collect();
        }
        Ok(files)
    }

    fn report(
        &self,
        seq: SeqNo,
        before: FilesBefore,
        named: &BTreeSet<RunId>,
    ) -> Result<PurgeReport> {
        let disk = &*self.io.disk;
        let mut report = PurgeReport { seq, ..PurgeReport::default() };
        let mut gone = |bytes: u64| {
            report.files += 1;
            report.bytes += bytes;
        };
        let mut still_read = Vec::new();
        for (_, path, bytes) in before.runs.into_iter().filter(|(id, ..)| !named.contains(id)) {
            match disk.exists(&path).unwrap_or(true) {
                true => still_read.push(path),
                false => gone(bytes),
            }
        }
        let wal_dir = self.dir.join(WAL_DIR);
        let segments = match before.log_from {
            Some(_) => segment_ids(disk, &wal_dir)?,
            None => Vec::new(),
        };
        for (id, bytes) in before.log {
            if segments.contains(&id) {
                let path = segment_path(&wal_dir, id);
                let message = "a file of the log could not be removed";
                return Err(Error::new(ErrorKind::Io, message).at(&path).hinting("purge again"));
            }
            gone(bytes);
        }
        report.still_read = still_read;
        Ok(report)
    }
}

/// What was there before a purge.
struct FilesBefore {
    runs: Vec<(RunId, PathBuf, u64)>,
    log: Vec<(WalId, u64)>,
    log_from: Option<WalId>,
}
