//! What differs between the graph and the tree.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap, HashSet};

use serde_json::json;
use timestrata_codegraph::Resolved;
use timestrata_engine::{Error, ErrorKind, Result};
use timestrata_models::graph::{BlockId, Edge, EdgeKey, GraphChanges, GraphView, NewBlock};

use crate::files::File;
use crate::index::{Indexed, Stored};
use crate::nodes::{self, FACTS, TREE, external_id, facts_id, tree_id};

/// A block that is to be written.
struct Put<'a> {
    id: BlockId,
    path: Option<&'a str>,
    metadata: String,
    is_text: bool,
    content: Cow<'a, [u8]>,
}

/// What is to be written.
pub(crate) struct Diff<'a> {
    put: Vec<Put<'a>>,
    deleted: Vec<BlockId>,
    linked: Vec<Edge>,
    unlinked: Vec<EdgeKey>,
}

impl<'a> Diff<'a> {
    pub(crate) fn new(
        view: &GraphView,
        tree: &'a str,
        files: &'a [File],
        resolved: &Resolved,
        stored: &Stored,
    ) -> Result<Self> {
        let mut diff =
            Self { put: Vec::new(), deleted: Vec::new(), linked: Vec::new(), unlinked: Vec::new() };
        let (edges, names) = nodes::edges(resolved);
        let mut kept: HashSet<BlockId> = HashSet::new();
        diff.add_tree(view, tree)?;
        diff.add_files(view, files, resolved, stored, &mut kept)?;
        for name in &names {
            let id = external_id(name);
            kept.insert(id);
            let metadata = nodes::external_metadata(name);
            diff.put_if_other(
                view,
                Put { id, path: None, metadata, is_text: true, content: Cow::default() },
            )?;
        }
        let stored_ids = stored.of_file.values().flatten().chain(&stored.others);
        diff.deleted = stored_ids.filter(|id| !kept.contains(*id)).copied().collect();
        diff.deleted.sort_unstable();
        diff.add_edges(view, edges)?;
        Ok(diff)
    }

    fn add_tree(&mut self, view: &GraphView, tree: &'a str) -> Result<()> {
        let metadata = json!({ "kind": TREE }).to_string();
        let (id, path) = (tree_id(), Some(tree));
        self.put_if_other(view, Put { id, path, metadata, is_text: true, content: Cow::default() })
    }

    fn add_files(
        &mut self,
        view: &GraphView,
        files: &'a [File],
        resolved: &Resolved,
        stored: &Stored,
        kept: &mut HashSet<BlockId>,
    ) -> Result<()> {
        let by_path: HashMap<&str, &'a File> =
            files.iter().map(|file| (file.path.as_str(), file)).collect();
        for file in files {
            kept.insert(facts_id(&file.path));
            if file.bytes.is_none() {
                // As it was: so are its blocks.
                kept.extend(stored.of_file.get(&file.path).into_iter().flatten());
                continue;
            }
            let mut content = Vec::new();
            ciborium::into_writer(&file.facts, &mut content).map_err(|error| {
                let message = format!("{}: its facts can't be written: {error}", file.path);
                Error::new(ErrorKind::InvalidData, message)
            })?;
            let metadata = json!({ "kind": FACTS, "hash": file.hash }).to_string();
            let (id, path) = (facts_id(&file.path), Some(file.path.as_str()));
            self.put_if_other(
                view,
                Put { id, path, metadata, is_text: false, content: content.into() },
            )?;
        }
        for node in resolved.nodes.iter().filter(|node| nodes::is_shown(node)) {
            let Some(file) = by_path.get(resolved.path_of(node)) else { continue };
            let Some(bytes) = &file.bytes else { continue };
            let wanted = nodes::block(node, &file.path, &file.facts, bytes);
            kept.insert(wanted.id);
            let (id, metadata) = (wanted.id, wanted.metadata);
            let (path, content) = (Some(wanted.path), Cow::Borrowed(wanted.content));
            self.put_if_other(view, Put { id, path, metadata, is_text: true, content })?;
        }
        Ok(())
    }

    fn put_if_other(&mut self, view: &GraphView, put: Put<'a>) -> Result<()> {
        let is_same = view.get(put.id)?.is_some_and(|block| {
            block.source_uri() == put.path
                && block.metadata() == Some(put.metadata.as_str())
                && *block.content() == *put.content
        });
        if !is_same {
            self.put.push(put);
        }
        Ok(())
    }

    fn add_edges(&mut self, view: &GraphView, mut wanted: BTreeMap<EdgeKey, Edge>) -> Result<()> {
        for edge in view.all_edges()? {
            let edge = edge?;
            match wanted.get(&edge.key) {
                None => self.unlinked.push(edge.key),
                Some(same) if *same == edge => {
                    wanted.remove(&edge.key);
                }
                Some(_) => {}
            }
        }
        self.linked = wanted.into_values().collect();
        Ok(())
    }

    /// Says what is to be written.
    pub(crate) fn count(&self, indexed: &mut Indexed) {
        indexed.blocks_put = self.put.len();
        indexed.blocks_deleted = self.deleted.len();
        indexed.edges_linked = self.linked.len();
        indexed.edges_unlinked = self.unlinked.len();
    }

    /// The changes that make the graph the tree's.
    pub(crate) fn changes(&self) -> GraphChanges<'_> {
        let mut changes = GraphChanges::new();
        for key in &self.unlinked {
            changes = changes.unlink(key.clone());
        }
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
        for edge in &self.linked {
            changes = changes.link(edge.clone());
        }
        changes
    }
}
