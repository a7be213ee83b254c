//! Repair: a store of what can be read of a damaged one.
//!
//! The original is only read. What a new manifest needs is taken from the old one as far as it can be
//! read, from what run files say of themselves ([`found`], [`lineage`], [`streams`]), and from the log
//! ([`log`]). [`write`] makes the new store: runs that are whole are copied, of damaged ones the blocks
//! that can be read; its manifest gets its name last, so that what is interrupted is no store.
//!
//! Nothing is guessed in silence: what is missing, what was left out and what is in doubt is in the report.

mod found;
mod lineage;
mod log;
mod pins;
mod report;
mod state;
mod streams;
mod units;
mod write;

use std::path::{Path, PathBuf};

use timestrata_io::{Io, LockOutcome};

pub use report::{FileLeftOut, RepairReport, RepairedStream};

use crate::directory::LOCK_NAME;
use crate::{Error, ErrorKind, Result};

/// How a store is repaired.
///
/// ```
/// # use timestrata_engine::*;
/// # fn main() -> std::result::Result<(), Box<dyn std::error::Error>> {
/// # let temporary = tempfile::tempdir()?;
/// # let dir = temporary.path().join("store");
/// Store::open(&dir, Settings::default())?.close()?;
/// let options = RepairOptions { dry_run: true, ..RepairOptions::default() };
/// assert!(repair(&Io::os(), &dir, &options)?.to.is_none(), "nothing is written");
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RepairOptions {
    /// Where the repaired store goes: missing, or an empty directory. Default: beside the original, its
    /// name with `-repaired` behind it.
    pub to: Option<PathBuf>,
    /// Only find out what would come of it; nothing is written.
    pub dry_run: bool,
}

/// Makes a new store of what can be read of the one in `dir`, which nobody may have open for writing. No
/// byte of `dir` is changed.
///
/// Where the manifest or its copy is whole, it says which runs make the store, and damaged runs are
/// read block by block. Where it is not, the runs themselves tell: outputs of a compaction stand in for
/// its inputs once all of them are there, and files that an open has set aside count where nothing else
/// has their commits. Commits of the log that are in no run are kept. Pins that the manifest, or what is
/// left of it, knows are kept as far as their runs are there.
///
/// ```
/// # use timestrata_engine::{Io, RepairOptions, Settings, Store, repair};
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let temporary = tempfile::tempdir()?;
/// # let dir = temporary.path().join("store");
/// Store::open(&dir, Settings::default())?.close()?;
/// let report = repair(&Io::os(), &dir, &RepairOptions::default())?;
/// assert!(report.lost_nothing());
/// Store::open(report.to.unwrap_or_default(), Settings::default())?;
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// `NotFound` and `NotAStore` where there is nothing to repair, `Locked` if a writer has it open,
/// `AlreadyExists` if the destination holds something, `UnsupportedVersion` for a store of a newer format,
/// `Io` and `NoSpace` from the disk.
pub fn repair(io: &Io, dir: &Path, options: &RepairOptions) -> Result<RepairReport> {
    let _lock = lock(io, dir)?;
    let to = match &options.to {
        Some(to) => to.clone(),
        None => beside(dir)?,
    };
    if !options.dry_run {
        write::check_destination(io, &to)?;
    }
    let mut report = RepairReport::default();
    let plan = state::plan(io, dir, &mut report)?;
    let log = log::read(io, dir, &plan, &mut report)?;
    match options.dry_run {
        true => write::try_out(io, plan, log, &mut report)?,
        false => {
            write::write(io, &to, plan, log, &mut report)?;
            report.to = Some(to);
        }
    }
    Ok(report)
}

/// Keeps writers out meanwhile; where no lock can be had because the disk takes no write, none is needed.
fn lock(io: &Io, dir: &Path) -> Result<Option<Box<dyn timestrata_io::LockGuard>>> {
    let path = dir.join(LOCK_NAME);
    if !io.disk.exists(&path).unwrap_or(false) {
        return Ok(None);
    }
    match io.disk.try_lock(&path, &format!("{}\n", std::process::id())) {
        Ok(LockOutcome::Acquired(guard)) => Ok(Some(guard)),
        Ok(LockOutcome::Held(owner)) => {
            let message = format!("the store is locked: process {} has it open", owner.trim());
            Err(Error::new(ErrorKind::Locked, message).at(dir))
        }
        Err(_) => Ok(None),
    }
}

fn beside(dir: &Path) -> Result<PathBuf> {
    let name = dir.file_name().ok_or_else(|| {
        let message = "say where the repaired store is to go: the directory has no name";
        Error::new(ErrorKind::InvalidArgument, message).at(dir)
    })?;
    let mut name = name.to_os_string();
    name.push("-repaired");
    Ok(dir.with_file_name(name))
}
