//! `timestrata graph stats` and `export`.

use std::collections::{BTreeMap, HashMap};
use std::io::{self, BufWriter, Write};

use clap::{Args, ValueEnum};
use serde_json::{Value, json};
use timestrata_codeindex::{Kinds, Shown};

use super::super::grouped;
use super::GraphOfStore;
use crate::faces::GraphFace;
use crate::failure::{Failure, Result};
use crate::output::{Form, FormArg, ReportFormat};

/// Print how much of what a graph has.
#[derive(Debug, Args)]
pub(crate) struct StatsArgs {
    #[command(flatten)]
    of: GraphOfStore,
    #[command(flatten)]
    form: FormArg<ReportFormat>,
}

/// Print all blocks and edges of a graph.
#[derive(Debug, Args)]
pub(crate) struct GraphExportArgs {
    #[command(flatten)]
    of: GraphOfStore,
    #[command(flatten)]
    form: FormArg<GraphFormat>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum GraphFormat {
    /// An edge a line: names of both ends with the kind between them.
    Text,
    /// A JSON object a line: blocks in their latest versions, then edges; 'graph import' takes it in again.
    Json,
    /// A graph for Graphviz.
    Dot,
}

impl Form for GraphFormat {
    const DEFAULT: &'static str = "json";
    const JSON: Self = Self::Json;
}

pub(super) fn stats(arguments: &StatsArgs) -> Result<()> {
    let Kinds { blocks, edges } = arguments.of.open()?.kinds()?;
    let mut out = io::stdout().lock();
    let written = if arguments.form.is_json() {
        writeln!(out, "{}", json!({ "blocks": blocks, "edges": edges }))
    } else {
        let lines = |what: &str, counts: &BTreeMap<String, u64>| -> String {
            let total: u64 = counts.values().sum();
            let each =
                counts.iter().map(|(kind, count)| format!("  {kind}: {}\n", grouped(*count)));
            format!("{what}: {}\n{}", grouped(total), each.collect::<String>())
        };
        write!(out, "{}{}", lines("blocks", &blocks), lines("edges", &edges))
    };
    written.map_err(Failure::output)
}

pub(super) fn run(arguments: &GraphExportArgs) -> Result<()> {
    let graph = arguments.of.open()?;
    let mut out = BufWriter::new(io::stdout().lock());
    match arguments.form.get() {
        GraphFormat::Json => graph.lines(true, &mut |line| {
            put(&mut out, line)?;
            put(&mut out, "\n")
        })?,
        GraphFormat::Text => {
            named_edges(&*graph, &mut |source, kind, target| {
                put(&mut out, &format!("{source} -{kind}-> {target}\n"))
            })?;
        }
        GraphFormat::Dot => {
            put(&mut out, "digraph {\n")?;
            named_edges(&*graph, &mut |source, kind, target| {
                let [source, kind, target] = [source, kind, target].map(quoted);
                put(&mut out, &format!("  {source} -> {target} [label={kind}]\n"))
            })?;
            put(&mut out, "}\n")?;
        }
    }
    out.flush().map_err(Failure::output)
}

fn put(out: &mut impl Write, text: &str) -> Result<()> {
    out.write_all(text.as_bytes()).map_err(Failure::output)
}

/// A text as Graphviz reads it.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

/// Edges, each with the names of its ends around its kind.
fn named_edges(
    graph: &dyn GraphFace,
    take: &mut dyn FnMut(&str, &str, &str) -> Result<()>,
) -> Result<()> {
    let mut names: HashMap<String, String> = HashMap::new();
    graph.lines(false, &mut |line| {
        let line: Value = serde_json::from_str(line)
            .map_err(|error| Failure::plain(format!("a line of the graph: {error}")))?;
        if let Some(id) = line["block"].as_str() {
            if let Some(shown) = Shown::of_line(&line) {
                names.insert(id.to_owned(), name_of(shown));
            }
            return Ok(());
        }
        let text = |member: &str| line[member].as_str().unwrap_or_default();
        // What stands for nothing in the sources has no other name than its id.
        let name = |id| names.get(id).map_or(id, String::as_str);
        take(name(text("source")), text("kind"), name(text("target")))
    })
}

fn name_of(shown: Shown) -> String {
    match (shown.path, shown.kind.as_str()) {
        (Some(path), "file") => path,
        (Some(path), _) => format!("{path}::{}", shown.qualified),
        (None, _) => shown.qualified,
    }
}
