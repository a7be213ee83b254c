//! `timestrata backup`.

use std::path::PathBuf;

use clap::Args;
use timestrata::Access;

use super::{bytes_shown, counted, open};
use crate::failure::Result;
use crate::message::tell;

/// Copy a store to a new directory, consistently.
#[derive(Debug, Args)]
#[command(after_help = "\
The store may be written meanwhile: the copy holds it as of one instant.

Example:
  timestrata backup ./store /mnt/backups/store-monday")]
pub(crate) struct Arguments {
    /// The store's directory.
    dir: PathBuf,
    /// The copy's directory; it must not exist, or be empty.
    destination: PathBuf,
}

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let store = open(&arguments.dir, Access::Read)?;
    let report = store.backup(&arguments.destination)?;
    store.close()?;
    tell(format_args!(
        "copied {} ({}) to {}, up to commit {}",
        counted(report.files, "file"),
        bytes_shown(report.bytes),
        arguments.destination.display(),
        report.seq.0
    ));
    Ok(())
}
