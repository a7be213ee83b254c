//! What differs between the graph and what it is to hold.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashSet};

use serde_json::json;
use timestrata_engine::{Durability, Result, SeqNo};
use timestrata_graph::{BlockId, Edge, EdgeKey, Graph, GraphChanges, GraphView, NewBlock};

use crate::ids::{TREE, tree_id};
use crate::nodes::Put;
use crate::stored::Stored;

/// What was written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Written {
    /// Blocks written.
    pub blocks_put: usize,
    /// Blocks deleted.
    pub blocks_deleted: usize,
    /// Edges written.
    pub edges_linked: usize,
    /// Edges taken away.
    pub edges_unlinked: usize,
    /// The commit; `None` if nothing had changed.
    pub seq: Option<SeqNo>,
}

/// What is to be written. All blocks that the graph is to hold are put or kept first, then it is
/// finished with the edges.
pub(crate) struct Diff<'a> {
    view: &'a GraphView,
    wanted: HashSet<BlockId>,
    put: Vec<Put<'a>>,
    deleted: Vec<BlockId>,
    linked: Vec<Edge>,
    unlinked: Vec<EdgeKey>,
}

impl<'a> Diff<'a> {
    /// Against what a view shows, for a graph that is to hold a tree.
    pub(crate) fn new(view: &'a GraphView, tree: &'a str) -> Result<Self> {
        let mut diff = Self {
            view,
            wanted: HashSet::new(),
            put: Vec::new(),
            deleted: Vec::new(),
            linked: Vec::new(),
            unlinked: Vec::new(),
        };
        let metadata = json!({ "kind": TREE }).to_string();
        let (id, path) = (tree_id(), Some(tree));
        diff.put(Put { id, path, metadata, is_text: true, content: Cow::default() })?;
        Ok(diff)
    }

    /// A block stays as it is, if it is there.
    pub(crate) fn keep(&mut self, id: BlockId) {
        self.wanted.insert(id);
    }

    /// A block is written unless it is there already. Of several with one id, the first counts.
    pub(crate) fn put(&mut self, put: Put<'a>) -> Result<()> {
        if !self.wanted.insert(put.id) {
            return Ok(());
        }
        let is_same = self.view.get(put.id)?.is_some_and(|block| {
            block.source_uri() == put.path
                && block.metadata() == Some(put.metadata.as_str())
                && *block.content() == *put.content
        });
        if !is_same {
            self.put.push(put);
        }
        Ok(())
    }

    /// What else the graph has goes, and its edges become these.
    pub(crate) fn finish(
        &mut self,
        stored: &Stored,
        mut edges: BTreeMap<EdgeKey, Edge>,
    ) -> Result<()> {
        let stored = stored.of_file.values().flatten().chain(&stored.others);
        self.deleted = stored.filter(|id| !self.wanted.contains(*id)).copied().collect();
        self.deleted.sort_unstable();
        for edge in self.view.all_edges()? {
            let edge = edge?;
            match edges.get(&edge.key) {
                None => self.unlinked.push(edge.key),
                Some(same) if *same == edge => {
                    edges.remove(&edge.key);
                }
                Some(_) => {}
            }
        }
        self.linked = edges.into_values().collect();
        Ok(())
    }

    /// Writes it, in one commit.
    pub(crate) fn write(mut self, graph: &Graph, durability: Durability) -> Result<Written> {
        let mut written = Written {
            blocks_put: self.put.len(),
            blocks_deleted: self.deleted.len(),
            edges_linked: self.linked.len(),
            edges_unlinked: self.unlinked.len(),
            seq: None,
        };
        let (linked, unlinked) =
            (std::mem::take(&mut self.linked), std::mem::take(&mut self.unlinked));
        let changes = unlinked.into_iter().fold(GraphChanges::new(), GraphChanges::unlink);
        let changes = self.add_blocks(changes).link_many(linked);
        written.seq = graph.change(&changes, durability)?.seq;
        Ok(written)
    }

    fn add_blocks<'b>(&'b self, mut changes: GraphChanges<'b>) -> GraphChanges<'b> {
        for id in &self.deleted {
            changes = changes.delete(*id);
        }
        for put in &self.put {
            changes = changes.put(NewBlock {
                id: Some(put.id),
                version: None,
                source_uri: put.path,
                metadata: Some(&put.metadata),
                is_text: put.is_text,
                content: &put.content,
            });
        }
        changes
    }
}
