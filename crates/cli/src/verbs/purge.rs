//! `timestrata purge`.

use clap::Args;
use timestrata::Access;

use super::{bytes_shown, counted};
use crate::faces::StoreArg;
use crate::failure::Result;
use crate::interrupt::Interrupt;
use crate::message::tell;

/// Erase what was deleted or replaced from all files of the store.
#[derive(Debug, Args)]
#[command(after_help = "\
A delete hides rows at once; their bytes stay in the store's files until compaction and history have let go of them. No \
earlier commit can be read behind a purge, and backups are not reached. Pins and followers that keep such rows are named, \
and nothing is erased. Ctrl-C gives it up: what is done by then stays done, and another purge goes on from there.

Examples:
  timestrata delete ./store weather --to 2020-01-01 && timestrata purge ./store weather
  timestrata purge ./store
  timestrata purge http://127.0.0.1:8080 weather --token-file admin.token")]
pub(crate) struct PurgeArgs {
    #[command(flatten)]
    store: StoreArg,
    /// Only these tables, logs, topics, graphs and time logs; default all.
    names: Vec<String>,
}

pub(crate) fn run(arguments: &PurgeArgs) -> Result<()> {
    let interrupt = Interrupt::listen()?;
    let store = arguments.store.open(Access::WriteExisting, Some(&interrupt))?;
    let names: Vec<&str> = arguments.names.iter().map(String::as_str).collect();
    let purged = store.purge(&names, &interrupt)?;
    store.close()?;
    tell(format_args!(
        "erased what was deleted or replaced up to commit {}: removed {} ({})",
        purged.seq,
        counted(purged.files, "file"),
        bytes_shown(purged.bytes),
    ));
    if purged.still_read > 0 {
        tell(format_args!(
            "{} still read; each goes with the last who reads it",
            match purged.still_read {
                1 => "1 file is".to_owned(),
                many => format!("{many} files are"),
            }
        ));
    }
    Ok(())
}
