//! What lies in a store's directory besides what the manifest knows.

use std::path::{Path, PathBuf};

use timestrata_io::Disk;

use crate::manifest::{MANIFEST_NAME, ManifestState};
use crate::run;
use crate::store::{RESERVE_NAME, RUNS_DIR, WAL_DIR};
use crate::wal;
use crate::{Error, Result};

/// Files that the manifest doesn't name.
#[derive(Debug, Default)]
pub(crate) struct Survey {
    /// Run files that an interrupted flush or compaction left: by name a run's, in no version.
    pub(crate) orphans: Vec<PathBuf>,
    /// Not the store's.
    pub(crate) strays: Vec<PathBuf>,
}

/// Lists the directory. Nothing is changed.
pub(crate) fn survey(disk: &dyn Disk, dir: &Path, state: &ManifestState) -> Result<Survey> {
    let mut survey = Survey::default();
    let list = |dir: &Path| disk.list(dir).map_err(|e| Error::io("list the directory", dir, e));
    for entry in list(dir)? {
        let known = match entry.is_dir {
            true => matches!(entry.name.as_str(), RUNS_DIR | WAL_DIR),
            false => matches!(
                entry.name.as_str(),
                MANIFEST_NAME | "MANIFEST.new" | "LOCK" | RESERVE_NAME
            ),
        };
        if !known {
            survey.strays.push(dir.join(entry.name));
        }
    }
    let known_runs = state.all_runs();
    let runs_dir = dir.join(RUNS_DIR);
    for entry in list(&runs_dir)? {
        let path = runs_dir.join(&entry.name);
        match run::parse_file_name(&entry.name).filter(|_| !entry.is_dir) {
            None => survey.strays.push(path),
            Some((id, format)) => {
                if known_runs.get(&id).is_none_or(|meta| meta.format != format) {
                    survey.orphans.push(path);
                }
            }
        }
    }
    let wal_dir = dir.join(WAL_DIR);
    for entry in list(&wal_dir)? {
        if entry.is_dir || !wal::is_file_name(&entry.name) {
            survey.strays.push(wal_dir.join(entry.name));
        }
    }
    Ok(survey)
}
