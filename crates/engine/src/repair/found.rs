//! The run files that there are, whatever a manifest says of them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use timestrata_format::{RunFormat, RunId, RunMeta, StoreId};
use timestrata_io::Io;

use super::report::{FileLeftOut, RepairReport};
use crate::directory::RUNS_DIR;
use crate::directory::list_quarantine;
use crate::manifest::StreamEntry;
use crate::run::{Peeked, file_name, parse_file_name, peek};
use crate::{Error, ErrorKind, MissingRange, Result};

/// A run file that says what it is.
#[derive(Debug, Clone)]
pub(super) struct FoundRun {
    pub(super) path: PathBuf,
    pub(super) run: Peeked,
    /// An open for writing has set it aside: no version named it then.
    pub(super) is_aside: bool,
}

/// A run file that doesn't.
#[derive(Debug)]
pub(super) struct Unreadable {
    pub(super) path: PathBuf,
    pub(super) id: RunId,
    pub(super) error: Error,
}

/// What lies in `runs/` and `quarantine/`.
#[derive(Debug, Default)]
pub(super) struct Findings {
    /// One file a run: of two, the one that was not set aside.
    pub(super) runs: BTreeMap<RunId, FoundRun>,
    pub(super) unreadable: Vec<Unreadable>,
}

impl Findings {
    /// What is missing with a run whose file is not among those that say what they are.
    pub(super) fn missing(&self, dir: &Path, entry: &StreamEntry, meta: &RunMeta) -> MissingRange {
        let file = self.unreadable.iter().find(|file| file.id == meta.id);
        MissingRange {
            stream: entry.definition.name.clone(),
            key_min: meta.key_min,
            key_max: meta.key_max,
            rows: meta.rows,
            file: dir.join(RUNS_DIR).join(file_name(meta.id, meta.format)),
            offset: 0,
            why: file.map_or("it is missing", |file| file.error.message()).to_owned(),
        }
    }
}

/// Reads all run files of the store; those of other stores are left out.
pub(super) fn find(
    io: &Io,
    dir: &Path,
    store_id: Option<StoreId>,
    report: &mut RepairReport,
) -> Result<Findings> {
    let mut findings = Findings::default();
    let now_ns = io.clock.wall_ns();
    let mut found = Vec::new();
    for (path, id, format, is_aside) in files(io, dir)? {
        match peek(io, &path, format, now_ns) {
            Ok(run) if run.meta.id != id => report.left_out.push(FileLeftOut {
                path,
                why: format!("it is run {}, under the name of another", run.meta.id),
            }),
            Ok(run) => found.push(FoundRun { path, run, is_aside }),
            Err(error) if error.kind() == ErrorKind::UnsupportedVersion => return Err(error),
            Err(error) => findings.unreadable.push(Unreadable { path, id, error }),
        }
    }
    let store_id = store_id.or_else(|| most_frequent(&found));
    for found in found {
        if Some(found.run.store_id) != store_id {
            let why = format!("it is of another store, {}", found.run.store_id);
            report.left_out.push(FileLeftOut { path: found.path, why });
            continue;
        }
        let id = found.run.meta.id;
        match findings.runs.get(&id) {
            // Both names may have survived a power cut.
            Some(known) if !known.is_aside => {
                let why = "the same run lies in 'runs'".to_owned();
                report.left_out.push(FileLeftOut { path: found.path, why });
            }
            _ => drop(findings.runs.insert(id, found)),
        }
    }
    Ok(findings)
}

fn most_frequent(found: &[FoundRun]) -> Option<StoreId> {
    let mut counts: Vec<(StoreId, usize)> = Vec::new();
    for found in found {
        match counts.iter_mut().find(|(id, _)| *id == found.run.store_id) {
            Some((_, count)) => *count += 1,
            None => counts.push((found.run.store_id, 1)),
        }
    }
    counts.into_iter().max_by_key(|(_, count)| *count).map(|(id, _)| id)
}

type File = (PathBuf, RunId, RunFormat, bool);

/// Those in `runs/` first.
fn files(io: &Io, dir: &Path) -> Result<Vec<File>> {
    let runs_dir = dir.join(RUNS_DIR);
    let mut files = Vec::new();
    let entries = io.disk.list_if_there(&runs_dir);
    for entry in entries.map_err(|error| Error::io("list the runs", &runs_dir, error))? {
        if let Some((id, format)) = parse_file_name(&entry.name).filter(|_| !entry.is_dir) {
            files.push((runs_dir.join(&entry.name), id, format, false));
        }
    }
    for file in list_quarantine(&*io.disk, dir)? {
        let name = file.path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        // The time when it was set aside, then its own name.
        let own = name.split_once('-').and_then(|(_, own)| parse_file_name(own));
        if let Some((id, format)) = own {
            files.push((file.path, id, format, true));
        }
    }
    Ok(files)
}
