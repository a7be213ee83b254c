//! `timestrata graph index`.

use std::path::PathBuf;

use clap::Args;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use timestrata::graph::{Graph, GraphOptions};
use timestrata::{Access, Durability, Io};
use timestrata_codeindex::{IndexOptions, Indexed, index};

use super::super::{counted, open};
use crate::failure::{Failure, Result};
use crate::message::tell;

/// Files left out that are named at most.
const NAMED_MAX: usize = 20;

/// Read a tree of sources into a graph, or what has changed in it since.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The store's directory; made if missing.
    dir: PathBuf,
    /// The graph; made if missing.
    graph: String,
    /// The folder with the sources.
    sources: PathBuf,
    /// Put this tree in the place of the one that the graph holds.
    #[arg(long)]
    replace: bool,
}

pub(super) fn run(arguments: &Arguments) -> Result<()> {
    let root = arguments
        .sources
        .canonicalize()
        .map_err(|cause| Failure::plain(format!("{}: {cause}", arguments.sources.display())))?;
    let store = open(&arguments.dir, Access::Write)?;
    let graph = Graph::create(&store, &arguments.graph, &GraphOptions::default())?;
    let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
    if let Ok(style) = ProgressStyle::with_template("{bar:40} {pos}/{len} files") {
        bar.set_style(style);
    }
    let options = IndexOptions { replace: arguments.replace, durability: Durability::Synced };
    let indexed = index(&graph, &Io::os(), &root, options, &|progress| {
        bar.set_length(progress.files_all as u64);
        bar.set_position(progress.files as u64);
    });
    bar.finish_and_clear();
    let indexed = indexed?;
    store.close()?;
    tell_done(&arguments.graph, &indexed);
    Ok(())
}

fn tell_done(graph: &str, indexed: &Indexed) {
    for skipped in indexed.skipped.iter().take(NAMED_MAX) {
        tell(format_args!("left out: {}: {}", skipped.path, skipped.why));
    }
    if let Some(more) = indexed.skipped.len().checked_sub(NAMED_MAX).filter(|more| *more > 0) {
        tell(format_args!("left out: {} more", counted(more as u64, "file")));
    }
    let Indexed { files, parsed, .. } = indexed;
    tell(format_args!(
        "{graph}: {}, {parsed} read anew; {} written, {} deleted, {} linked, {} unlinked",
        counted(*files as u64, "file"),
        counted(indexed.blocks_put as u64, "block"),
        indexed.blocks_deleted,
        counted(indexed.edges_linked as u64, "edge"),
        indexed.edges_unlinked,
    ));
}
