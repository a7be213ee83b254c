//! Graphs: what is put and linked is found, what is deleted is gone, in memory and on a disk.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod alone;
mod bad_input;
mod blocks;
mod cache;
mod edge_list;
mod edges;
mod first_walks;
mod model;
mod seen_to_fail;
mod walks;

use std::path::Path;

use timestrata_engine::{Durability, Settings, Store};
use timestrata_graph::{
    BlockId, Changed, Edge, EdgeKey, Graph, GraphChanges, GraphOptions, NewBlock,
};

fn memory() -> Store {
    Store::memory(Settings::default()).unwrap()
}

fn graph(store: &Store) -> Graph {
    Graph::create(store, "code", &GraphOptions::default()).unwrap()
}

/// A graph of a store in a folder, made or opened again.
fn open(dir: &Path) -> (Store, Graph) {
    let store = Store::open(dir, Settings::default()).unwrap();
    let graph = graph(&store);
    (store, graph)
}

/// An id that is easy to tell apart.
fn id(number: u8) -> BlockId {
    BlockId::new([number; 16])
}

fn block(number: u8, content: &str) -> NewBlock<'_> {
    NewBlock {
        id: Some(id(number)),
        is_text: true,
        content: content.as_bytes(),
        ..NewBlock::default()
    }
}

fn key(source: u8, kind: &str, target: u8) -> EdgeKey {
    EdgeKey { source: id(source), kind: kind.into(), target: id(target) }
}

fn edge(source: u8, kind: &str, target: u8) -> Edge {
    Edge::new(id(source), kind, id(target))
}

fn change(graph: &Graph, changes: GraphChanges<'_>) -> Changed {
    graph.change(&changes, Durability::Written).unwrap()
}

fn text(graph: &Graph, number: u8) -> Option<String> {
    let block = graph.view().unwrap().get(id(number)).unwrap()?;
    Some(String::from_utf8(block.content().to_vec()).unwrap())
}
