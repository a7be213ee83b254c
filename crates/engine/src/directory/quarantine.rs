//! Run files that no version names are set aside, not removed.
//!
//! Mostly they are what a crash left of a flush or a compaction. But if the manifest were not what
//! it should be, one could be the only copy of its rows, so it stays for a while, where it can be
//! found. Owns `DIR/quarantine`; nothing in it is ever read by the store.

use std::path::{Path, PathBuf};

use timestrata_io::{Disk, Io};

use crate::planted::{Plant, is_planted};
use crate::{Error, Result, Settings};

/// Name of the directory in the store's.
pub(crate) const QUARANTINE_DIR: &str = "quarantine";

const NS_PER_MS: i64 = 1_000_000;
/// Hexadecimal digits of the time before a file's own name.
const TIME_DIGITS: usize = 16;

/// A file that was set aside.
///
/// ```
/// # use std::sync::Arc;
/// # use arrow_schema::{DataType, Field, Schema};
/// # use timestrata_engine::*;
/// # fn main() -> timestrata_engine::Result<()> {
/// # let store = Store::memory(Settings::default())?;
/// # let schema = Schema::new(vec![
/// #     Field::new("time", DataType::Int64, false),
/// #     Field::new("celsius", DataType::Float64, true),
/// # ]);
/// # let kitchen = store.create_stream(StreamSpec::new("kitchen", Arc::new(schema)))?;
/// # let mut appender = store.appender(kitchen)?;
/// # for (time, celsius) in [(1_000, 20.5), (2_000, 21.0), (3_000, 21.5)] {
/// #     appender.append(&[Cell::Int(time), Cell::Float(celsius)], Durability::Written)?;
/// # }
/// for file in store.quarantine()? {
///     println!("{}: {} bytes", file.path.display(), file.bytes);
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QuarantinedFile {
    /// Where it is now.
    pub path: PathBuf,
    /// Its length.
    pub bytes: u64,
    /// Wall clock when it was set aside, milliseconds since the epoch.
    pub since_wall_ms: u64,
}

/// What is in quarantine, the oldest first.
pub(crate) fn list(disk: &dyn Disk, dir: &Path) -> Result<Vec<QuarantinedFile>> {
    let dir = dir.join(QUARANTINE_DIR);
    let entries = disk.list_if_there(&dir);
    let entries = entries.map_err(|error| Error::io("list the quarantine", &dir, error))?;
    // Names begin with the time, in digits that sort as the numbers do.
    let files = entries.iter().filter(|entry| !entry.is_dir).filter_map(|entry| {
        let (digits, _) = entry.name.split_once('-').filter(|(d, _)| d.len() == TIME_DIGITS)?;
        let since_wall_ms = u64::from_str_radix(digits, 16).ok()?;
        Some(QuarantinedFile { path: dir.join(&entry.name), bytes: entry.len, since_wall_ms })
    });
    Ok(files.collect())
}

/// What became of the files that no version names.
#[derive(Debug, Default)]
pub(crate) struct SetAside {
    /// Where they are now.
    pub(crate) kept: Vec<PathBuf>,
    /// What went for good, from the quarantine, because it was too old or there was too much.
    pub(crate) removed: Vec<PathBuf>,
}

/// Sets files aside, and lets go of what the settings don't keep. What can't be moved stays where
/// it is, and is looked at again by the next open: nothing relies on it, so a full disk is no
/// reason not to open.
pub(crate) fn set_aside(
    io: &Io,
    dir: &Path,
    orphans: &[PathBuf],
    settings: &Settings,
) -> Result<SetAside> {
    let now_ms = u64::try_from(io.clock.wall_ns() / NS_PER_MS).unwrap_or(0);
    let mut outcome = SetAside::default();
    if !orphans.is_empty() {
        if is_planted(Plant::OrphansRemoved) {
            orphans.iter().for_each(|orphan| drop(io.disk.remove(orphan)));
            return Ok(outcome);
        }
        outcome.kept = move_all(&*io.disk, dir, orphans, now_ms).unwrap_or_default();
    }
    let mut files = list(&*io.disk, dir)?;
    let mut bytes: u64 = files.iter().map(|file| file.bytes).sum();
    let age_ms_max = u64::try_from(settings.quarantine_age_max.as_millis()).unwrap_or(u64::MAX);
    files.retain(|file| {
        let is_old = now_ms.saturating_sub(file.since_wall_ms) > age_ms_max;
        let goes = is_old || bytes > settings.quarantine_bytes_max;
        if goes {
            bytes -= file.bytes;
        }
        goes
    });
    for file in files {
        if io.disk.remove(&file.path).is_ok() {
            outcome.kept.retain(|kept| *kept != file.path);
            outcome.removed.push(file.path);
        }
    }
    Ok(outcome)
}

fn move_all(
    disk: &dyn Disk,
    dir: &Path,
    orphans: &[PathBuf],
    now_ms: u64,
) -> std::io::Result<Vec<PathBuf>> {
    let quarantine = dir.join(QUARANTINE_DIR);
    if !disk.exists(&quarantine)? {
        disk.create_dir(&quarantine)?;
        disk.sync_dir(dir)?;
    }
    let mut moved = Vec::with_capacity(orphans.len());
    for orphan in orphans {
        let Some(name) = orphan.file_name() else { continue };
        let to = quarantine.join(format!("{now_ms:016x}-{}", name.to_string_lossy()));
        disk.rename(orphan, &to)?;
        moved.push(to);
    }
    // The new names first: a power cut may leave a file under both names, and never under none.
    disk.sync_dir(&quarantine)?;
    if let Some(from) = orphans.first().and_then(|orphan| orphan.parent()) {
        disk.sync_dir(from)?;
    }
    Ok(moved)
}
