//! What a graph holds before it is brought up to date: which tree, and the blocks of each file.

use std::collections::HashMap;

use timestrata_codegraph::Facts;
use timestrata_engine::{Error, ErrorKind, Result};
use timestrata_graph::{BlockId, Find, Graph, GraphView};

use crate::ids::{FACTS, tree_id};
use crate::nodes::facts_id;

/// An error if the graph holds something else than this tree, and that isn't to be replaced.
pub(crate) fn check_tree(graph: &Graph, view: &GraphView, tree: &str, replace: bool) -> Result<()> {
    let held = view.get(tree_id())?;
    let held = held.as_ref().and_then(|block| block.source_uri());
    let what = match held {
        Some(held) if held == tree => return Ok(()),
        Some(held) => format!("the tree {held}"),
        None if view.block_count()? == 0 => return Ok(()),
        None => "blocks that are no tree's".to_owned(),
    };
    if replace && held.is_some() {
        return Ok(());
    }
    let message = format!(
        "graph '{}' holds {what}; index {tree} into a graph of another name, or replace it",
        graph.name()
    );
    Err(Error::new(ErrorKind::AlreadyExists, message))
}

/// What the graph has, by file.
#[derive(Debug, Default)]
pub(crate) struct Stored {
    /// Hashes of the files whose facts are there.
    hashes: HashMap<String, String>,
    /// Blocks of each file, its facts' among them.
    pub(crate) of_file: HashMap<String, Vec<BlockId>>,
    /// Blocks of no file: names that nothing in the tree had.
    pub(crate) others: Vec<BlockId>,
}

impl Stored {
    pub(crate) fn of(view: &GraphView) -> Result<Self> {
        let mut stored = Self::default();
        for block in view.find(&Find::default())? {
            let Some(path) = block.source_uri() else {
                stored.others.push(block.id());
                continue;
            };
            if block.id() == tree_id() {
                continue;
            }
            if block.id() == facts_id(path)
                && let Some(hash) = hash_of(block.metadata())
            {
                stored.hashes.insert(path.to_owned(), hash);
            }
            stored.of_file.entry(path.to_owned()).or_default().push(block.id());
        }
        Ok(stored)
    }

    /// The facts of a file that is as it was; `None` if they can't be read, so that they are made anew.
    pub(crate) fn facts(&self, view: &GraphView, path: &str, hash: &str) -> Option<Facts> {
        self.hashes.get(path).filter(|known| *known == hash)?;
        let block = view.get(facts_id(path)).ok()??;
        ciborium::from_reader(block.content()).ok()
    }
}

/// What the metadata of a file's facts say it was.
fn hash_of(metadata: Option<&str>) -> Option<String> {
    let said: serde_json::Value = serde_json::from_str(metadata?).ok()?;
    (said.get("kind")?.as_str()? == FACTS).then(|| said.get("hash")?.as_str().map(str::to_owned))?
}
