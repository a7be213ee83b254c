//! The graphs that all sides get: made from a fixed seed, or the real one.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;

use flate2::read::GzDecoder;
use timestrata_bench::{Numbers, Result};
use timestrata_graph::BlockId;

/// Names of the kinds of edges.
pub(crate) const KINDS: [&str; 4] = ["calls", "contains", "imports", "references"];

/// The folder of the real graph, seen from the repository.
const REAL: &str = "../shared/data/graph";
const REAL_FILE: &str = "cpython_stdlib_edges.csv.gz";

/// An edge by the places of its nodes and of its kind's name.
pub(crate) type Link = (u32, usize, u32);

/// A graph, before anybody has it.
#[derive(Debug)]
pub(crate) struct Shape {
    pub(crate) name: &'static str,
    pub(crate) ids: Vec<BlockId>,
    pub(crate) links: Vec<Link>,
}

/// An id that is spread as a hash is.
pub(crate) fn id(numbers: &mut Numbers) -> BlockId {
    let (high, low) = (u128::from(numbers.next_u64()), u128::from(numbers.next_u64()));
    BlockId::new((high << 64 | low).to_be_bytes())
}

impl Shape {
    fn new(name: &'static str, nodes: u64, links: Vec<Link>) -> Self {
        let mut numbers = Numbers::new(31);
        Self { name, ids: (0..nodes).map(|_| id(&mut numbers)).collect(), links }
    }

    /// Edges between nodes that are drawn evenly.
    pub(crate) fn uniform(nodes: u64, edges: u64) -> Self {
        Self::new("uniform", nodes, drawn(nodes, edges, |numbers| numbers.below(nodes)))
    }

    /// Edges to nodes of which few get most: one in ten nodes has more than half of them.
    pub(crate) fn power_law(nodes: u64, edges: u64) -> Self {
        let target = |numbers: &mut Numbers| {
            let share = numbers.below(1 << 32) as f64 / (1_u64 << 32) as f64;
            ((share.powi(4) * nodes as f64) as u64).min(nodes - 1)
        };
        Self::new("power law", nodes, drawn(nodes, edges, target))
    }

    /// Each node has as many below it, down to a depth.
    pub(crate) fn tree(name: &'static str, below: u32, depth: u32) -> Self {
        let nodes = (0..=depth).map(|level| below.pow(level)).sum::<u32>();
        let links = (1..nodes).map(|node| ((node - 1) / below, 0, node)).collect();
        Self::new(name, u64::from(nodes), links)
    }

    /// The standard library of a Python, as a code graph; `None` where it is not to be had.
    pub(crate) fn standard_library() -> Result<Option<Self>> {
        let folder = std::env::var_os("TIMESTRATA_BENCH_GRAPH");
        let path = folder.map_or_else(|| PathBuf::from(REAL), PathBuf::from).join(REAL_FILE);
        if !path.is_file() {
            eprintln!(
                "{} is missing: without the real graph; python -m bench.graph.library makes one",
                path.display()
            );
            return Ok(None);
        }
        let (mut places, mut links) = (HashMap::new(), Vec::new());
        for line in BufReader::new(GzDecoder::new(File::open(&path)?)).lines().skip(1) {
            let line = line?;
            let parts: Vec<&str> = line.split(',').collect();
            let [source, target, kind] = parts.as_slice() else {
                return Err(format!("{}: no edge: {line}", path.display()).into());
            };
            let kind = KINDS.iter().position(|known| known == kind).unwrap_or(KINDS.len() - 1);
            let [source, target] = [source, target].map(|name| {
                let next = places.len() as u32;
                *places.entry((*name).to_owned()).or_insert(next)
            });
            links.push((source, kind, target));
        }
        Ok(Some(Self::new("standard library", places.len() as u64, once(links))))
    }

    /// How many edges there are.
    pub(crate) fn edges(&self) -> u64 {
        self.links.len() as u64
    }

    /// The name, with what it is as large as.
    pub(crate) fn title(&self) -> String {
        format!("{} graph of {} edges", self.name, self.edges())
    }
}

/// Edges with evenly drawn sources, each of them once.
fn drawn(nodes: u64, edges: u64, target: impl Fn(&mut Numbers) -> u64) -> Vec<Link> {
    let mut numbers = Numbers::new(37);
    let (mut links, mut seen) = (Vec::new(), HashSet::new());
    while (links.len() as u64) < edges {
        let source = numbers.below(nodes) as u32;
        let kind = numbers.below(KINDS.len() as u64) as usize;
        let link = (source, kind, target(&mut numbers) as u32);
        if seen.insert(link) {
            links.push(link);
        }
    }
    links
}

fn once(links: Vec<Link>) -> Vec<Link> {
    let mut seen = HashSet::new();
    links.into_iter().filter(|link| seen.insert(*link)).collect()
}
