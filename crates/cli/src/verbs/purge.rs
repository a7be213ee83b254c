//! `timestrata purge`.

use std::path::PathBuf;

use clap::Args;
use timestrata::{Access, purge_by_name};

use super::{bytes_shown, counted};
use crate::faces::{expect_directory, open};
use crate::failure::Result;
use crate::message::tell;

/// Erase what was deleted or replaced from all files of the store.
#[derive(Debug, Args)]
#[command(after_help = "\
A delete hides rows at once; their bytes stay in the store's files until compaction and history have let go of them. No \
earlier commit can be read behind a purge, and backups are not reached.

Examples:
  timestrata delete ./store weather --to 2020-01-01 && timestrata purge ./store weather
  timestrata purge ./store")]
pub(crate) struct PurgeArgs {
    /// The store's directory.
    dir: PathBuf,
    /// Only these tables, logs, topics, graphs and time logs; default all.
    names: Vec<String>,
}

pub(crate) fn run(arguments: &PurgeArgs) -> Result<()> {
    expect_directory(&arguments.dir, "stop the server, and give its directory")?;
    let store = open(&arguments.dir, Access::WriteExisting)?;
    let names: Vec<&str> = arguments.names.iter().map(String::as_str).collect();
    let report = purge_by_name(&store, &names)?;
    store.close()?;
    tell(format_args!(
        "erased what was deleted or replaced up to commit {}: removed {} ({})",
        report.seq,
        counted(report.files, "file"),
        bytes_shown(report.bytes),
    ));
    Ok(())
}
