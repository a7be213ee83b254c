//! `timestrata backup`.

use std::path::PathBuf;

use clap::Args;
use timestrata::{Access, BackupOptions};

use super::{bytes_shown, counted};
use crate::faces::{expect_directory, open};
use crate::failure::Result;
use crate::message::tell;

/// Copy a store to a new directory, consistently.
#[derive(Debug, Args)]
#[command(after_help = "\
The store may be written meanwhile: the copy holds it as of one instant. Where a run is damaged or missing there \
is no copy, unless --with-damage asks for one that has the same damage.

Example:
  timestrata backup ./store /mnt/backups/store-monday")]
pub(crate) struct BackupArgs {
    /// The store's directory.
    dir: PathBuf,
    /// The copy's directory; it must not exist, or be empty.
    destination: PathBuf,
    /// Copy what is there where runs are damaged or missing, and tell which rows can't be read.
    #[arg(long)]
    with_damage: bool,
}

pub(crate) fn run(arguments: &BackupArgs) -> Result<()> {
    expect_directory(
        &arguments.dir,
        "run it beside the server, on its directory: a store that is being written may be copied",
    )?;
    let store = open(&arguments.dir, Access::Read)?;
    let report = store.backup_with(
        &arguments.destination,
        BackupOptions { with_damage: arguments.with_damage },
    )?;
    store.close()?;
    tell(format_args!(
        "copied {} ({}) to {}, up to commit {}",
        counted(report.files, "file"),
        bytes_shown(report.bytes),
        arguments.destination.display(),
        report.seq.0
    ));
    for missing in &report.damaged {
        tell(format_args!("damaged in the copy too: {missing}"));
    }
    Ok(())
}
