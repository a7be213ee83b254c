//! `timestrata compact`.

use std::path::PathBuf;

use clap::Args;
use timestrata::{Access, Error, ErrorKind, Store};

use super::{bytes_shown, counted};
use crate::faces::{expect_directory, open};
use crate::failure::Result;
use crate::message::tell;

/// Merge what memory and runs hold into fewer, better runs; drop what is deleted or expired.
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  timestrata compact ./store weather")]
pub(crate) struct CompactArgs {
    /// The store's directory.
    dir: PathBuf,
    /// Only this stream; default all.
    name: Option<String>,
}

pub(crate) fn run(arguments: &CompactArgs) -> Result<()> {
    expect_directory(
        &arguments.dir,
        "a server compacts by itself; to have it done at once, stop it and give its directory",
    )?;
    let store = open(&arguments.dir, Access::WriteExisting)?;
    let name = arguments.name.as_deref();
    let stream = match name {
        None => None,
        Some(name) => Some(store.stream(name).ok_or_else(|| {
            Error::new(ErrorKind::NotFound, format!("no stream '{name}'")).at(&arguments.dir)
        })?),
    };
    store.flush()?;
    let before = runs(&store, name);
    store.compact(stream.map(|stream| stream.id()))?;
    let after = runs(&store, name);
    store.close()?;
    tell(format_args!(
        "compacted {} ({}) to {} ({})",
        counted(before.0, "run"),
        bytes_shown(before.1),
        counted(after.0, "run"),
        bytes_shown(after.1)
    ));
    Ok(())
}

/// Runs and their bytes, of one stream or all.
fn runs(store: &Store, name: Option<&str>) -> (u64, u64) {
    store
        .stats()
        .streams
        .iter()
        .filter(|stream| name.is_none_or(|name| stream.name == name))
        .fold((0, 0), |(runs, bytes), stream| (runs + stream.runs, bytes + stream.run_bytes))
}
