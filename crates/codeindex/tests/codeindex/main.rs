//! A tree of sources as a graph: what is in it, and that indexing again gives what a clean index does.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
#![expect(clippy::disallowed_methods, reason = "trees are written to be indexed")]

mod again;
mod scip;
mod tree;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use timestrata_codeindex::{IndexOptions, Indexed, index};
use timestrata_engine::{Io, Settings, Store};
use timestrata_graph::{BlockId, Find, Graph, GraphOptions};

/// A tree in a folder of its own.
pub(crate) struct Tree(tempfile::TempDir);

impl Tree {
    pub(crate) fn new(files: &[(&str, &str)]) -> Self {
        let tree = Self(tempfile::tempdir().unwrap());
        files.iter().for_each(|(path, text)| tree.write(path, text));
        tree
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    pub(crate) fn write(&self, path: &str, text: &str) {
        let path = self.0.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
}

pub(crate) fn graph() -> Graph {
    let store = Store::memory(Settings::default()).unwrap();
    Graph::create(&store, "code", &GraphOptions::default()).unwrap()
}

pub(crate) fn indexed(graph: &Graph, tree: &Tree) -> Indexed {
    index(graph, &Io::os(), tree.path(), IndexOptions::default(), &|_| {}).unwrap()
}

type Blocks = BTreeMap<BlockId, (Option<String>, Option<String>, Vec<u8>)>;

/// All that a graph holds, but for versions.
pub(crate) fn contents(graph: &Graph) -> (Blocks, BTreeSet<String>) {
    let view = graph.view().unwrap();
    let blocks = view.find(&Find::default()).unwrap().into_iter().map(|block| {
        let (uri, metadata) = (block.source_uri(), block.metadata());
        let said = (uri.map(str::to_owned), metadata.map(str::to_owned), block.content().to_vec());
        (block.id(), said)
    });
    let edges = view.all_edges().unwrap().map(|edge| format!("{:?}", edge.unwrap()));
    (blocks.collect(), edges.collect())
}
