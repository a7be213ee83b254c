//! `timestrata graph index`.

use std::path::PathBuf;

use clap::Args;
use timestrata::{Durability, Io};
use timestrata_codeindex::{IndexOptions, index};

use super::super::counted;
use super::fill;
use super::progress::{Bar, changes, tell_skipped};
use crate::faces::StoreArg;
use crate::failure::{Failure, Result};

/// Read a tree of sources into a graph, or what has changed in it since.
#[derive(Debug, Args)]
pub(crate) struct IndexArgs {
    #[command(flatten)]
    store: StoreArg,
    /// The graph; made if missing.
    graph: String,
    /// The folder with the sources.
    sources: PathBuf,
    /// Put this tree in the place of the one that the graph holds.
    #[arg(long)]
    replace: bool,
}

pub(super) fn run(arguments: &IndexArgs) -> Result<()> {
    let root = arguments
        .sources
        .canonicalize()
        .map_err(|cause| Failure::plain(format!("{}: {cause}", arguments.sources.display())))?;
    let options = IndexOptions { replace: arguments.replace, durability: Durability::Synced };
    fill(&arguments.store, &arguments.graph, |graph| {
        let bar = Bar::new();
        let indexed = index(graph, &Io::os(), &root, options, &|progress| bar.show(progress))?;
        drop(bar);
        tell_skipped(&indexed.skipped, "file");
        Ok(format!(
            "{}, {} read anew; {}",
            counted(indexed.files as u64, "file"),
            indexed.parsed,
            changes(&indexed.written),
        ))
    })
}
