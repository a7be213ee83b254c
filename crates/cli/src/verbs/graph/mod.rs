//! `timestrata graph`.

mod export;
mod import;
mod index;
mod progress;
mod show;

use std::path::Path;

use clap::{Args, ValueEnum};
use timestrata::Access;
use timestrata::graph::{Graph, GraphOptions};

use super::verbs;
use crate::at::At;
use crate::faces::{GraphFace, StoreArg, expect_directory, open};
use crate::failure::Result;
use crate::output::Form;

/// Index sources as a code graph, or import an index of them, and ask it who calls what.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  timestrata graph index ./store code ./src
  timestrata graph import ./store java index.scip --sources ./src
  timestrata graph import ./store links edges.csv --names
  timestrata graph find ./store code Parser.parse
  timestrata graph show ./store code callers parse
  timestrata graph path ./store code main parse
  timestrata graph stats ./store code
  timestrata graph export ./store code --format dot | dot -Tsvg > code.svg

Python, Rust, C, JavaScript, TypeScript, Go and Zig are read; what .gitignore and .ignore name is not. \
Indexing again reads what has changed and writes what differs. A file that can't be parsed is told and \
left out whole. Other languages come as an index in the SCIP format, which their own indexers write.

A NAME is that of a function, class or file: 'parse', 'Parser.parse', 'src/parser.py'; or of something \
that the tree uses and doesn't have, as it is written there: 'os.path.join'.")]
pub(crate) struct GraphCommand {
    #[command(subcommand)]
    verb: Verb,
}

verbs! {
    Index: index::IndexArgs => index::run,
    Import: import::ImportArgs => import::run,
    Find: show::FindArgs => show::find,
    Show: show::ShowArgs => show::run,
    Path: show::PathArgs => show::path,
    Stats: export::StatsArgs => export::stats,
    Export: export::GraphExportArgs => export::run,
}

/// What to do where a server has the store: what is read is held against all that the graph has.
const INSTEAD: &str =
    "stop the server and give its directory; programs write to the server's /graphs/GRAPH/changes";

/// A graph of a store.
#[derive(Debug, Args)]
struct GraphOfStore {
    #[command(flatten)]
    store: StoreArg,
    /// The graph.
    graph: String,
    #[command(flatten)]
    at: At,
}

impl GraphOfStore {
    fn open(&self) -> Result<Box<dyn GraphFace>> {
        self.store.read(&self.at)?.graph(&self.graph)
    }
}

/// Fills a graph, which is made if it is missing; where that fails, one that was made for it goes again.
fn fill(dir: &Path, name: &str, work: impl FnOnce(&Graph) -> Result<()>) -> Result<()> {
    expect_directory(dir, INSTEAD)?;
    let store = open(dir, Access::Write)?;
    let is_new = store.stream(name).is_none();
    let graph = Graph::create(&store, name, &GraphOptions::default())?;
    let filled = work(&graph);
    drop(graph);
    if filled.is_err() && is_new {
        // What went wrong first is what is told.
        let _ = Graph::drop(&store, name);
    }
    let closed = store.close();
    filled?;
    Ok(closed?)
}

/// How answers are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ShownFormat {
    /// A line each, for people: file, line, kind and name.
    Text,
    /// A JSON object a line.
    Json,
}

impl Form for ShownFormat {
    const DEFAULT: &'static str = "text";
    const JSON: Self = Self::Json;
}

pub(crate) fn run(arguments: &GraphCommand) -> Result<()> {
    arguments.verb.run()
}
