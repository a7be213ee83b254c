//! `timestrata restore`.

use std::path::PathBuf;

use clap::Args;
use timestrata::Access;

use super::{bytes_shown, counted};
use crate::faces::{expect_directory, open};
use crate::failure::Result;
use crate::message::tell;

/// Make a store anew of a backup.
#[derive(Debug, Args)]
#[command(after_help = "\
The backup is read and copied, and stays as it is. A store that is to be replaced is moved away first: nothing is written \
over. 'timestrata check' reads every byte of the new one.

Example:
  mv ./store ./store-damaged
  timestrata restore /mnt/backups/store-monday ./store")]
pub(crate) struct RestoreArgs {
    /// The backup's directory.
    backup: PathBuf,
    /// The store's directory; it must not exist, or be empty.
    dir: PathBuf,
}

pub(crate) fn run(arguments: &RestoreArgs) -> Result<()> {
    let RestoreArgs { backup, dir } = arguments;
    let instead = "stop the server, restore into a directory, and serve that";
    expect_directory(backup, instead)?;
    expect_directory(dir, instead)?;
    let store = open(backup, Access::Read)?;
    let report = store.backup(dir)?;
    store.close()?;
    tell(format_args!(
        "restored {} ({}) to {}, up to commit {}",
        counted(report.files, "file"),
        bytes_shown(report.bytes),
        dir.display(),
        report.seq.0
    ));
    Ok(())
}
