//! `timestrata graph stats` and `export`.

use std::collections::BTreeMap;
use std::io::{self, BufWriter, Write};

use clap::{Args, ValueEnum};
use serde_json::{Value, json};
use timestrata::graph::{Find, GraphView, block_line, edge_line};
use timestrata_codeindex::node_of;

use super::super::grouped;
use super::GraphOfStore;
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
    let view = arguments.of.view()?;
    let (mut blocks, mut edges) = (BTreeMap::new(), BTreeMap::new());
    for block in view.find(&Find::default())? {
        let said: Option<Value> = block.metadata().and_then(|text| serde_json::from_str(text).ok());
        let kind = said.as_ref().and_then(|said| said.get("kind")?.as_str());
        *blocks.entry(kind.unwrap_or("other").to_owned()).or_insert(0_u64) += 1;
    }
    for edge in view.all_edges()? {
        *edges.entry(edge?.key.kind.to_string()).or_insert(0_u64) += 1;
    }
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
    let view = arguments.of.view()?;
    let mut out = BufWriter::new(io::stdout().lock());
    match arguments.form.get() {
        GraphFormat::Json => json_lines(&view, &mut out)?,
        GraphFormat::Text => named_edges(&view, &mut out, &["", " -", "-> ", "\n"], "")?,
        GraphFormat::Dot => {
            put(&mut out, "digraph {\n")?;
            named_edges(&view, &mut out, &["  ", " -> ", " [label=", "]\n"], "\"")?;
            put(&mut out, "}\n")?;
        }
    }
    out.flush().map_err(Failure::output)
}

fn put(out: &mut impl Write, text: &str) -> Result<()> {
    out.write_all(text.as_bytes()).map_err(Failure::output)
}

/// Lines that 'graph import' takes in again.
fn json_lines(view: &GraphView, out: &mut impl Write) -> Result<()> {
    for block in view.find(&Find::default())? {
        put(out, &format!("{}\n", block_line(&block)))?;
    }
    for edge in view.all_edges()? {
        put(out, &format!("{}\n", edge_line(&edge?)))?;
    }
    Ok(())
}

/// Edges with the names of their ends; in Graphviz's words the kind comes last.
fn named_edges(
    view: &GraphView,
    out: &mut impl Write,
    between: &[&str; 4],
    quote: &str,
) -> Result<()> {
    let mut names: BTreeMap<timestrata::graph::BlockId, String> = BTreeMap::new();
    let mut name = |id| -> Result<String> {
        if let Some(known) = names.get(&id) {
            return Ok(known.clone());
        }
        let shown = node_of(view, id)?;
        let name = match shown {
            Some(shown) => match (&shown.path, shown.kind.as_str()) {
                (Some(path), "file") => path.clone(),
                (Some(path), _) => format!("{path}::{}", shown.qualified),
                (None, _) => shown.qualified,
            },
            None => id.to_string(),
        };
        names.insert(id, name.clone());
        Ok(name)
    };
    let quoted = |text: &str| match quote {
        "" => text.to_owned(),
        quote => format!("{quote}{}{quote}", text.replace('\\', "\\\\").replace('"', "\\\"")),
    };
    let [start, first, second, end] = between;
    for edge in view.all_edges()? {
        let key = edge?.key;
        let (source, target) = (quoted(&name(key.source)?), quoted(&name(key.target)?));
        let kind = quoted(&key.kind);
        let (middle, last) = if quote.is_empty() { (kind, target) } else { (target, kind) };
        put(out, &format!("{start}{source}{first}{middle}{second}{last}{end}"))?;
    }
    Ok(())
}
