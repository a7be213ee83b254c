//! What lies in a store's directory, held against what the manifest knows.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use timestrata_format::{RunFormat, RunId};
use timestrata_io::Disk;

use super::{LOCK_NAME, QUARANTINE_DIR, RESERVE_NAME, RUNS_DIR, SCRUB_NAME, TOKENS_DIR, WAL_DIR};
use crate::manifest::{HISTORY_NAMES, MANIFEST_NAMES, ManifestState};
use crate::planted::{Plant, is_planted};
use crate::run;
use crate::wal;
use crate::{Error, Result};

/// The files of a store's directory.
#[derive(Debug, Default)]
pub(crate) struct DirectoryFiles {
    /// Run files in no version. An interrupted flush or compaction leaves such.
    pub(crate) orphans: Vec<PathBuf>,
    /// Not the store's.
    pub(crate) strays: Vec<PathBuf>,
    /// Lengths of all run files.
    runs: BTreeMap<(RunId, u8), u64>,
}

/// Lists the directory. Nothing is changed. `history`: runs that only the history needs.
pub(crate) fn list_files(
    disk: &dyn Disk,
    dir: &Path,
    state: &ManifestState,
    history: &BTreeSet<RunId>,
) -> Result<DirectoryFiles> {
    let mut found = DirectoryFiles::default();
    let list = |dir: &Path| disk.list(dir).map_err(|e| Error::io("list the directory", dir, e));
    for entry in list(dir)? {
        let known = match entry.is_dir {
            true => matches!(entry.name.as_str(), RUNS_DIR | WAL_DIR | QUARANTINE_DIR | TOKENS_DIR),
            false => {
                matches!(entry.name.as_str(), LOCK_NAME | RESERVE_NAME | SCRUB_NAME)
                    || MANIFEST_NAMES.contains(&entry.name.as_str())
                    || HISTORY_NAMES.contains(&entry.name.as_str())
            }
        };
        if !known {
            found.strays.push(dir.join(entry.name));
        }
    }
    let known_runs = state.all_runs();
    let runs_dir = dir.join(RUNS_DIR);
    for entry in list(&runs_dir)? {
        let path = runs_dir.join(&entry.name);
        match run::parse_file_name(&entry.name).filter(|_| !entry.is_dir) {
            None => found.strays.push(path),
            Some((id, format)) => {
                found.runs.insert(key(id, format), entry.len);
                let is_planted = is_planted(Plant::NamedRunSetAside);
                let is_unnamed = known_runs.get(&id).is_none_or(|meta| meta.format != format)
                    && !history.contains(&id);
                if is_planted || is_unnamed {
                    found.orphans.push(path);
                }
            }
        }
    }
    let wal_dir = dir.join(WAL_DIR);
    // What it means that there is none is for whoever reads the log to say.
    let entries = disk.list_if_there(&wal_dir);
    for entry in entries.map_err(|e| Error::io("list the directory", &wal_dir, e))? {
        if entry.is_dir || !wal::is_file_name(&entry.name) {
            found.strays.push(wal_dir.join(entry.name));
        }
    }
    Ok(found)
}

fn key(id: RunId, format: RunFormat) -> (RunId, u8) {
    (id, u8::from(format == RunFormat::Cold))
}

impl DirectoryFiles {
    /// The first run that the manifest names and that isn't there.
    fn missing_run(&self, dir: &Path, state: &ManifestState) -> Option<PathBuf> {
        let all = state.all_runs();
        let mut missing =
            all.values().filter(|meta| !self.runs.contains_key(&key(meta.id, meta.format)));
        missing.next().map(|meta| dir.join(RUNS_DIR).join(run::file_name(meta.id, meta.format)))
    }

    /// For a reader, who may go without a run that is missing: whether the manifest can be that of
    /// today all the same.
    ///
    /// # Errors
    /// `Corruption` if files that the manifest doesn't name are there in its place: it may be one of another time,
    /// and what it tells of other streams would be old too.
    pub(crate) fn expect_current(&self, dir: &Path, state: &ManifestState) -> Result<()> {
        match (self.missing_run(dir, state), self.orphans.first()) {
            (Some(missing), Some(other)) => {
                let message = format!(
                    "a run file that the manifest names is missing, and one that it doesn't name is there, '{}': \
                     the manifest may be one of another time",
                    other.display()
                );
                Err(Error::corruption(&missing, 0, message))
            }
            _ => Ok(()),
        }
    }

    /// The first run id that no file has.
    pub(crate) fn next_run(&self) -> RunId {
        self.runs.keys().next_back().map_or(RunId::default(), |(id, _)| id.next())
    }

    /// Looks whether the runs that the manifest names are there, of the right length, their tails
    /// whole; gives those that are damaged. What is in them is for `check` to say.
    ///
    /// # Errors
    /// `Corruption` if one is missing: then the manifest may be one of another time, and nothing
    /// can be known to be unneeded.
    pub(crate) fn damaged_runs(
        &self,
        disk: &dyn Disk,
        dir: &Path,
        state: &ManifestState,
    ) -> Result<Vec<PathBuf>> {
        if let Some(path) = self.missing_run(dir, state) {
            let message = "a run file that the manifest names is missing; nothing was changed, and no run \
                           file was removed: put it back, open the store for reading, which leaves the \
                           others to be read, or have 'timestrata repair' make a new store of them";
            return Err(Error::corruption(&path, 0, message));
        }
        let mut damaged = Vec::new();
        for meta in state.all_runs().into_values() {
            let path = dir.join(RUNS_DIR).join(run::file_name(meta.id, meta.format));
            let length = self.runs.get(&key(meta.id, meta.format));
            if length != Some(&meta.file_bytes) || !run::has_whole_tail(disk, &path, meta) {
                damaged.push(path);
            }
        }
        Ok(damaged)
    }
}
