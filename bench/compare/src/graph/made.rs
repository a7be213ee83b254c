//! A graph of ours, and the same for who has no store.

use std::path::Path;
use std::sync::Arc;

use petgraph::csr::Csr;
use petgraph::stable_graph::StableDiGraph;
use timestrata_bench::Result;
use timestrata_engine::{Durability, Settings, Store};
use timestrata_graph::adjacency::View;
use timestrata_graph::{Edge, Graph, GraphChanges, GraphOptions};

use crate::data::{KINDS, Link, Shape};

/// Edges of a commit where many are written.
pub(crate) const COMMIT_EDGES: usize = 100_000;

/// A graph in a store of its own.
pub(crate) struct Made {
    pub(crate) store: Store,
    pub(crate) graph: Graph,
}

impl Made {
    /// An empty one.
    pub(crate) fn empty(dir: &Path) -> Result<Self> {
        let store = Store::open(dir, Settings::default())?;
        let graph = Graph::create(&store, "graph", &GraphOptions::default())?;
        Ok(Self { store, graph })
    }

    /// One with all edges of a shape.
    pub(crate) fn of(dir: &Path, shape: &Shape) -> Result<Self> {
        let made = Self::empty(dir)?;
        for links in shape.links.chunks(COMMIT_EDGES) {
            made.graph.change(&changes(shape, links), Durability::Written)?;
        }
        Ok(made)
    }

    /// One that is there.
    pub(crate) fn open(dir: &Path) -> Result<Self> {
        let store = Store::open(dir, Settings::default())?;
        let graph = Graph::open(&store, "graph")?;
        Ok(Self { store, graph })
    }

    /// Its edges in memory.
    pub(crate) fn adjacency(&self) -> Result<View> {
        Ok(self.graph.view()?.adjacency()?.ok_or("the edges take more memory than they may")?)
    }

    pub(crate) fn close(self) -> Result<()> {
        Ok(self.store.close()?)
    }
}

/// Some edges as what is written.
pub(crate) fn changes(shape: &Shape, links: &[Link]) -> GraphChanges<'static> {
    let kinds: [Arc<str>; KINDS.len()] = KINDS.map(Arc::from);
    let edges = links.iter().map(|(source, kind, target)| {
        let [source, target] = [source, target].map(|node| shape.ids[*node as usize]);
        Edge::new(source, Arc::clone(&kinds[*kind]), target)
    });
    GraphChanges::new().link_many(edges.collect())
}

/// The graph as petgraph's users have it, and those of rustworkx.
pub(crate) fn stable(shape: &Shape) -> StableDiGraph<(), u16> {
    let mut graph = StableDiGraph::with_capacity(shape.ids.len(), shape.links.len());
    let nodes: Vec<_> = shape.ids.iter().map(|_| graph.add_node(())).collect();
    for (source, kind, target) in &shape.links {
        graph.add_edge(nodes[*source as usize], nodes[*target as usize], *kind as u16);
    }
    graph
}

/// The graph in petgraph's most compact form, which has one edge from a node to another.
pub(crate) fn compressed(shape: &Shape) -> Result<Csr<(), ()>> {
    let mut edges: Vec<(u32, u32)> =
        shape.links.iter().map(|(source, _, target)| (*source, *target)).collect();
    edges.sort_unstable();
    edges.dedup();
    let mut graph = Csr::from_sorted_edges(&edges).map_err(|error| format!("{error:?}"))?;
    while graph.node_count() < shape.ids.len() {
        graph.add_node(());
    }
    Ok(graph)
}
