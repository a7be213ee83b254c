//! Reads every byte of a store and says what is wrong and where.

mod past;

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use timestrata_format::RunMeta;
use timestrata_io::Io;

use crate::directory::{RUNS_DIR, WAL_DIR, list_files, list_quarantine};
use crate::manifest::{
    self, LoadedManifest, MANIFEST_NAME, StreamEntry, Tries, runs_named, too_fast,
};
use crate::run::{BlockCache, RunReader};
use crate::state::RunFolder;
use crate::stream::from_definition;
use crate::wal::{ReadMode, WalReader};
use crate::{Error, ErrorKind, Result, Stream};
use past::check_past;

/// Whole runs are read, so their blocks need no cache.
const CACHE_BYTES: u64 = 1 << 20;

/// One thing that is wrong.
///
/// ```
/// # use timestrata_engine::*;
/// # fn main() -> std::result::Result<(), Box<dyn std::error::Error>> {
/// # let temporary = tempfile::tempdir()?;
/// # let dir = temporary.path().join("store");
/// let store = Store::open(&dir, Settings::default())?;
/// std::fs::write(dir.join("notes.txt"), "not the store's")?;
/// let finding = &store.check()?.findings[0];
/// assert!(!finding.is_damage && finding.path.ends_with("notes.txt"));
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The file.
    pub path: PathBuf,
    /// Where in it, if known.
    pub offset: Option<u64>,
    /// What is wrong.
    pub message: String,
    /// Whether data may be lost or wrong (false: a stray file, a torn tail that recovery cuts).
    pub is_damage: bool,
}

impl Finding {
    fn damage(error: &Error, path: &Path) -> Self {
        Self {
            path: error.path().unwrap_or(path).to_owned(),
            offset: error.offset(),
            message: error.message().to_owned(),
            is_damage: true,
        }
    }

    fn remark(path: PathBuf, offset: Option<u64>, message: &str) -> Self {
        Self { path, offset, message: message.to_owned(), is_damage: false }
    }
}

/// What `check` read and found.
///
/// ```
/// # use timestrata_engine::*;
/// # fn main() -> std::result::Result<(), Box<dyn std::error::Error>> {
/// # let temporary = tempfile::tempdir()?;
/// # let dir = temporary.path().join("store");
/// Store::open(&dir, Settings::default())?.close()?;
/// let report = check(&Io::os(), &dir)?;
/// assert!(report.is_sound() && report.files > 0);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CheckReport {
    /// Files read.
    pub files: u64,
    /// Bytes read.
    pub bytes: u64,
    /// Rows decoded from runs.
    pub rows: u64,
    /// Commits decoded from the WAL.
    pub wal_commits: u64,
    /// Rows that were in no run yet but in memory, as [`Store::check`](crate::Store::check) counts them when
    /// the files have been read; 0 where a directory is checked that nobody has open here.
    pub memory_rows: u64,
    /// What is wrong.
    pub findings: Vec<Finding>,
}

impl CheckReport {
    /// Whether nothing is damaged.
    pub fn is_sound(&self) -> bool {
        !self.findings.iter().any(|finding| finding.is_damage)
    }
}

/// Checks the store in `dir` without changing a byte; needs no lock, and goes beside a
/// writer.
///
/// ```
/// # use timestrata_engine::*;
/// # fn main() -> std::result::Result<(), Box<dyn std::error::Error>> {
/// # let temporary = tempfile::tempdir()?;
/// # let dir = temporary.path().join("store");
/// Store::open(&dir, Settings::default())?.close()?;
/// assert!(check(&Io::os(), &dir)?.is_sound());
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// `NotFound` or `NotAStore` if there is no store, `UnsupportedVersion` for one of a newer
/// format, `Io` if the disk refuses; damage is in the report, not an error.
pub fn check(io: &Io, dir: &Path) -> Result<CheckReport> {
    check_parts(io, dir, true)
}

/// As [`check`]; of a store in memory, which has no log, without one.
pub(crate) fn check_parts(io: &Io, dir: &Path, has_log: bool) -> Result<CheckReport> {
    let manifest_path = dir.join(MANIFEST_NAME);
    let mut tries = Tries::begin(&*io.clock);
    let loaded = loop {
        match manifest::load(&*io.disk, dir) {
            Ok(Some(loaded)) => break loaded,
            // Somebody may be making the store just now.
            Ok(None) if is_begun(io, dir) && tries.goes_on() => {}
            Ok(None) => return no_manifest(io, dir),
            Err(error) if error.kind() == ErrorKind::Corruption => {
                let findings = vec![Finding::damage(&error, &manifest_path)];
                return Ok(CheckReport { findings, ..CheckReport::default() });
            }
            Err(error) => return Err(error),
        }
    };
    let mut report = CheckReport { files: 1, bytes: loaded.bytes, ..CheckReport::default() };
    check_manifest(&loaded, &manifest_path, &mut report);
    let folder = RunFolder {
        io: io.clone(),
        dir: dir.join(RUNS_DIR),
        store_id: loaded.store_id,
        cache: Arc::new(BlockCache::new(CACHE_BYTES)),
        damage: Arc::default(),
    };
    check_runs(&folder, dir, &loaded, &mut report)?;
    let loaded = match has_log {
        true => check_log(io, dir, loaded, &mut report)?,
        false => loaded,
    };
    check_names(io, dir, &loaded, &mut report)?;
    check_past(&folder, dir, loaded, &mut report)?;
    Ok(report)
}

fn is_begun(io: &Io, dir: &Path) -> bool {
    io.disk.exists(&dir.join(MANIFEST_NAME)).unwrap_or(false)
}

fn no_manifest(io: &Io, dir: &Path) -> Result<CheckReport> {
    let exists = io.disk.exists(dir).map_err(|error| Error::io("look at", dir, error))?;
    let (kind, message) = match exists {
        true => (ErrorKind::NotAStore, "the directory is not a store: it has no manifest"),
        false => (ErrorKind::NotFound, "there is no such store"),
    };
    Err(Error::new(kind, message).at(dir))
}

fn check_manifest(loaded: &LoadedManifest, path: &Path, report: &mut CheckReport) {
    if let Some(damage) = &loaded.damage {
        let mut finding = Finding::damage(damage, path);
        finding.message += "; its copy stands in for it, and the next open for writing mends it";
        report.findings.push(finding);
    }
    if let Some(offset) = loaded.torn_at {
        let message = "an edit that was never finished; the next open for writing cuts it";
        report.findings.push(Finding::remark(path.to_owned(), Some(offset), message));
    }
}

/// Reads all runs. One that is not there, or not any more what it was, because a writer let go of it
/// meanwhile is no damage: no later manifest names it.
fn check_runs(
    folder: &RunFolder,
    dir: &Path,
    loaded: &LoadedManifest,
    report: &mut CheckReport,
) -> Result<()> {
    for entry in loaded.state.streams.values() {
        check_stream(folder, dir, loaded, entry, report)?;
    }
    if report.is_sound() {
        return Ok(());
    }
    let Some(newer) = manifest::load(&*folder.io.disk, dir)? else { return Ok(()) };
    let all_runs = newer.state.all_runs();
    let path_of = |meta: &RunMeta| folder.path(meta.id, meta.format);
    let named: HashSet<PathBuf> = all_runs.into_values().map(path_of).collect();
    let is_gone = |path: &PathBuf| path.starts_with(&folder.dir) && !named.contains(path);
    report.findings.retain(|finding| !finding.is_damage || !is_gone(&finding.path));
    Ok(())
}

/// Reads the log. Where something is wrong and a writer has gone on meanwhile, the log is read again
/// with its newer manifest, which is given.
fn check_log(
    io: &Io,
    dir: &Path,
    mut loaded: LoadedManifest,
    report: &mut CheckReport,
) -> Result<LoadedManifest> {
    let mut tries = Tries::begin(&*io.clock);
    loop {
        let mut log = CheckReport::default();
        check_wal(io, dir, &loaded, &mut log)?;
        let newer = match log.is_sound() {
            true => None,
            false => manifest::load(&*io.disk, dir)?.filter(|newer| newer.differs_from(&loaded)),
        };
        let Some(newer) = newer else {
            report.bytes += log.bytes;
            report.wal_commits += log.wal_commits;
            report.findings.append(&mut log.findings);
            return Ok(loaded);
        };
        if !tries.goes_on() {
            return Err(too_fast(dir));
        }
        loaded = newer;
    }
}

/// Looks for files that the store has no use for.
fn check_names(
    io: &Io,
    dir: &Path,
    loaded: &LoadedManifest,
    report: &mut CheckReport,
) -> Result<()> {
    let of_history = runs_named(&io.disk, dir, loaded);
    let files = list_files(&*io.disk, dir, &loaded.state, &of_history)?;
    for path in files.orphans {
        let message = "a run that no version names; the next open for writing sets it aside";
        report.findings.push(Finding::remark(path, None, message));
    }
    for file in list_quarantine(&*io.disk, dir)? {
        let message = "a run that no version names, set aside by an open for writing";
        report.findings.push(Finding::remark(file.path, None, message));
    }
    for path in files.strays {
        report.findings.push(Finding::remark(
            path,
            None,
            "not a file of the store's; it is left alone",
        ));
    }
    Ok(())
}

fn check_stream(
    folder: &RunFolder,
    dir: &Path,
    loaded: &LoadedManifest,
    entry: &StreamEntry,
    report: &mut CheckReport,
) -> Result<()> {
    let manifest_path = dir.join(MANIFEST_NAME);
    let stream = match from_definition(&entry.definition) {
        Ok(stream) => Arc::new(stream),
        Err(problem) => {
            let error = Error::corruption(&manifest_path, 0, problem);
            report.findings.push(Finding::damage(&error, &manifest_path));
            return Ok(());
        }
    };
    let of_stream = |meta: &&RunMeta| meta.stream == stream.id();
    for meta in loaded.state.all_runs().into_values().filter(of_stream) {
        verify_run(folder, &stream, meta, report)?;
    }
    Ok(())
}

fn verify_run(
    folder: &RunFolder,
    stream: &Arc<Stream>,
    meta: &RunMeta,
    report: &mut CheckReport,
) -> Result<()> {
    let path = folder.path(meta.id, meta.format);
    let (store_id, cache) = (folder.store_id, Arc::clone(&folder.cache));
    let verified = RunReader::open(&folder.io, path.clone(), store_id, stream, meta.clone(), cache)
        .and_then(|reader| reader.verify_all());
    report.files += 1;
    match verified {
        Ok(verified) => {
            report.bytes += verified.bytes;
            report.rows += verified.rows;
        }
        Err(error) if error.kind() == ErrorKind::Corruption => {
            report.findings.push(Finding::damage(&error, &path));
        }
        Err(error) => return Err(error),
    }
    Ok(())
}

fn check_wal(io: &Io, dir: &Path, loaded: &LoadedManifest, report: &mut CheckReport) -> Result<()> {
    let wal_dir = dir.join(WAL_DIR);
    let mut read = || -> Result<()> {
        let floor = loaded.state.wal_floor;
        // A writer may be alive.
        let mode = ReadMode::Follower;
        let mut reader = WalReader::open(io, &wal_dir, loaded.store_id, mode, floor, None)?;
        if let Some(expected) = loaded.log_expected {
            reader.expect(expected)?;
        }
        while let Some(record) = reader.next_record()? {
            report.wal_commits += 1;
            report.bytes += record.payload.len() as u64;
        }
        if let Some((path, offset)) = reader.tail().torn {
            let message = "a commit that was never finished; the next open for writing cuts it";
            report.findings.push(Finding::remark(path, Some(offset), message));
        }
        Ok(())
    };
    match read() {
        Ok(()) => Ok(()),
        Err(error) if matches!(error.kind(), ErrorKind::Corruption | ErrorKind::NotFound) => {
            let mut finding = Finding::damage(&error, &wal_dir);
            if error.kind() == ErrorKind::NotFound {
                // Else the writer has moved on indeed, and all is read once more.
                finding.message = "a log segment that must be there is missing".to_owned();
            }
            report.findings.push(finding);
            Ok(())
        }
        Err(error) => Err(error),
    }
}
