//! `timestrata graph import`.

use std::io::BufReader;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use indicatif::ProgressBar;
use timestrata::graph::{EdgeList, Graph, ImportedEdges};
use timestrata::ingest::rows::{self, ReadOptions, open_path};
use timestrata::{Durability, Io};
use timestrata_codeindex::{IndexOptions, import_scip};

use super::super::counted;
use super::fill;
use super::progress::{Bar, changes, tell_skipped};
use crate::faces::StoreArg;
use crate::failure::{Failure, Result};
use crate::input;

/// Take a file into a graph that another program made: an index of sources, or a list of edges.
#[derive(Debug, Args)]
pub(crate) struct ImportArgs {
    #[command(flatten)]
    store: StoreArg,
    /// The graph; made if missing.
    graph: String,
    /// The file.
    file: PathBuf,
    /// What the file is; what its name's ending says, if not given.
    #[arg(long, value_enum)]
    format: Option<GraphFileFormat>,
    #[command(flatten)]
    index: OfIndex,
    #[command(flatten)]
    edges: OfEdges,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "An index in the SCIP format")]
struct OfIndex {
    /// Put what the file holds in the place of the tree that the graph holds.
    #[arg(long)]
    replace: bool,
    /// The folder with the sources, whose text is read where the index has none.
    #[arg(long, value_name = "DIR")]
    sources: Option<PathBuf>,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "A list of edges")]
struct OfEdges {
    /// The column with the blocks that edges come from.
    #[arg(long, value_name = "COLUMN", default_value = "source")]
    source: String,
    /// The column with the blocks that they go to.
    #[arg(long, value_name = "COLUMN", default_value = "target")]
    target: String,
    /// The column with their kinds.
    #[arg(long, value_name = "COLUMN", default_value = "kind")]
    kind: String,
    /// The kind of all edges of a list without such a column.
    #[arg(long, value_name = "KIND")]
    all_are: Option<String>,
    /// Both ends are names and no ids: each gets a block with the name as its content.
    #[arg(long)]
    names: bool,
}

impl OfEdges {
    fn list(&self) -> EdgeList {
        EdgeList {
            source: self.source.clone(),
            target: self.target.clone(),
            kind: self.kind.clone(),
            kind_of_all: self.all_are.clone(),
            are_names: self.names,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum GraphFileFormat {
    /// An index in the SCIP format (.scip).
    Scip,
    /// Edges as text in columns (.csv, .tsv), maybe packed (.gz, .zst).
    Csv,
    /// Edges as JSON objects, one a line (.jsonl, .ndjson), and blocks, as 'graph export' prints both.
    Jsonl,
    /// Edges in an Arrow file (.arrow, .feather).
    Arrow,
    /// Edges in a Parquet file (.parquet).
    Parquet,
}

impl GraphFileFormat {
    fn of(file: &Path) -> Option<Self> {
        if file.extension()?.to_str()? == "scip" {
            return Some(Self::Scip);
        }
        let found = rows::Format::of_path(file)?;
        Self::value_variants().iter().copied().find(|format| format.of_rows() == Some(found))
    }

    /// As a form of rows; none of an index.
    fn of_rows(self) -> Option<rows::Format> {
        match self {
            Self::Scip => None,
            Self::Csv => Some(rows::Format::Csv),
            Self::Jsonl => Some(rows::Format::JsonLines),
            Self::Arrow => Some(rows::Format::ArrowFile),
            Self::Parquet => Some(rows::Format::Parquet),
        }
    }
}

pub(super) fn run(arguments: &ImportArgs) -> Result<()> {
    let file = &arguments.file;
    let Some(format) = arguments.format.or_else(|| GraphFileFormat::of(file)) else {
        return Err(Failure::failed(
            format!("{}: its name doesn't say what it is", file.display()),
            "say it with --format scip, csv, jsonl, arrow or parquet",
        ));
    };
    if !file.is_file() {
        return Err(Failure::plain(format!("{}: there is no such file", file.display())));
    }
    fill(&arguments.store, &arguments.graph, |graph| match format.of_rows() {
        None => scip(graph, arguments),
        Some(rows) => edges(graph, arguments, rows),
    })
}

fn edges(graph: &Graph, arguments: &ImportArgs, format: rows::Format) -> Result<String> {
    let list = arguments.edges.list();
    if format == rows::Format::JsonLines {
        let lines = BufReader::new(input::open(&arguments.file, &ProgressBar::hidden())?.reader);
        let imported = graph.import_lines(lines, &list, Durability::Synced).map_err(|error| {
            Failure::failed(format!("{}: {error}", arguments.file.display()), error.hint())
        })?;
        return Ok(said_of(&imported));
    }
    let options = ReadOptions {
        format: Some(format),
        schema: (format == rows::Format::Csv).then(|| list.text_schema()),
        ..ReadOptions::default()
    };
    let batches = open_path(&Io::os(), &arguments.file, &options)?;
    let imported = graph.import_edges(batches, &list, Durability::Synced)?;
    Ok(said_of(&imported))
}

fn said_of(imported: &ImportedEdges) -> String {
    let (edges, blocks) = (counted(imported.edges, "edge"), counted(imported.blocks_put, "block"));
    format!("{edges} linked, {blocks} written")
}

fn scip(graph: &Graph, arguments: &ImportArgs) -> Result<String> {
    let OfIndex { replace, sources } = &arguments.index;
    let options = IndexOptions { replace: *replace, durability: Durability::Synced };
    let bar = Bar::new();
    let show = |progress| bar.show(progress);
    let (io, file) = (Io::os(), &arguments.file);
    let imported = import_scip(graph, &io, file, sources.as_deref(), options, &show)?;
    drop(bar);
    tell_skipped(&imported.skipped, "piece");
    Ok(format!(
        "{}, {}, {} of other trees; {}",
        counted(imported.files as u64, "file"),
        counted(imported.symbols as u64, "symbol"),
        imported.externals,
        changes(&imported.written),
    ))
}
