//! `timestrata graph import`.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use timestrata::graph::{Graph, GraphOptions};
use timestrata::{Access, Durability, Io};
use timestrata_codeindex::{IndexOptions, import_scip};

use super::super::{counted, open};
use super::progress::{Bar, changes, tell_skipped};
use crate::failure::{Failure, Result};
use crate::message::tell;

/// Take a file into a graph that another program made: an index of sources.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The store's directory; made if missing.
    dir: PathBuf,
    /// The graph; made if missing.
    graph: String,
    /// The file.
    file: PathBuf,
    /// What the file is; what its name's ending says, if not given.
    #[arg(long, value_enum)]
    format: Option<Format>,
    /// Put what the file holds in the place of the tree that the graph holds.
    #[arg(long)]
    replace: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// An index in the SCIP format (.scip).
    Scip,
}

impl Format {
    fn of(file: &Path) -> Option<Self> {
        match file.extension()?.to_str()? {
            "scip" => Some(Self::Scip),
            _ => None,
        }
    }
}

pub(super) fn run(arguments: &Arguments) -> Result<()> {
    let file = &arguments.file;
    let Some(format) = arguments.format.or_else(|| Format::of(file)) else {
        return Err(Failure::failed(
            format!("{}: its name doesn't say what it is", file.display()),
            "say it with --format scip",
        ));
    };
    if !file.is_file() {
        return Err(Failure::plain(format!("{}: there is no such file", file.display())));
    }
    let store = open(&arguments.dir, Access::Write)?;
    let graph = Graph::create(&store, &arguments.graph, &GraphOptions::default())?;
    match format {
        Format::Scip => scip(&graph, arguments)?,
    }
    store.close()?;
    Ok(())
}

fn scip(graph: &Graph, arguments: &Arguments) -> Result<()> {
    let options = IndexOptions { replace: arguments.replace, durability: Durability::Synced };
    let bar = Bar::new();
    let show = |progress| bar.show(progress);
    let imported = import_scip(graph, &Io::os(), &arguments.file, options, &show)?;
    drop(bar);
    tell_skipped(&imported.skipped, "piece");
    tell(format_args!(
        "{}: {}, {}, {} of other trees; {}",
        arguments.graph,
        counted(imported.files as u64, "file"),
        counted(imported.symbols as u64, "symbol"),
        imported.externals,
        changes(&imported.written),
    ));
    Ok(())
}
