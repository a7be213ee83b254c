//! `timestrata graph`.

mod export;
mod import;
mod index;
mod progress;
mod show;

use clap::{Args, ValueEnum};
use timestrata::Access;
use timestrata::graph::Graph;

use super::verbs;
use crate::at::At;
use crate::faces::{GraphFace, StoreArg};
use crate::failure::Result;
use crate::message::tell;
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

/// Fills a graph, which is made if it is missing, and tells what `work` says of that.
fn fill(
    store: &StoreArg,
    name: &str,
    mut work: impl FnMut(&Graph) -> Result<String>,
) -> Result<()> {
    let store = store.open(Access::Write, None)?;
    let mut said = String::new();
    let filled = store.change_graph(name, &mut |graph| {
        said = work(graph)?;
        Ok(())
    });
    let closed = store.close();
    filled?;
    closed?;
    tell(format_args!("{name}: {said}"));
    Ok(())
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
