//! Indexing a tree: what is there is read, what has changed is taken apart, all of it is resolved, and
//! what differs from what the graph has is written in one commit.

use std::collections::HashMap;
use std::path::Path;

use timestrata_codegraph::{Facts, resolve};
use timestrata_engine::{Durability, Error, ErrorKind, Io, Result, SeqNo};
use timestrata_models::graph::{BlockId, Find, Graph, GraphView};

use crate::diff::Diff;
use crate::files::{self, File};
use crate::nodes::{FACTS, facts_id, tree_id};

/// How a tree is indexed.
#[derive(Debug, Clone, Copy, Default)]
pub struct IndexOptions {
    /// Whether a graph that holds another tree is to hold this one instead.
    pub replace: bool,
    /// How what is written survives.
    pub durability: Durability,
}

/// How far it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// Files that were read.
    pub files: usize,
    /// Files that there are.
    pub files_all: usize,
}

/// A file that is left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skipped {
    /// Its path in the tree; empty where it can't be told.
    pub path: String,
    /// Why.
    pub why: String,
}

/// What indexing did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Indexed {
    /// Files in the graph now.
    pub files: usize,
    /// Files that were taken apart, since they are new or not as they were.
    pub parsed: usize,
    /// Files that were left out, in the order of their paths.
    pub skipped: Vec<Skipped>,
    /// Blocks written and deleted.
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

/// Indexes the sources below `root` into a graph, which then holds this tree and nothing else.
///
/// Files that can't be read or parsed are left out whole, and told.
///
/// # Errors
/// `NotFound` if there is no such folder; `AlreadyExists` if the graph holds another tree; what reading
/// and writing the graph may fail with. Nothing is written then.
pub fn index(
    graph: &Graph,
    io: &Io,
    root: &Path,
    options: IndexOptions,
    progress: &(dyn Fn(Progress) + Sync),
) -> Result<Indexed> {
    let view = graph.view()?;
    let tree = root.to_string_lossy();
    check_tree(graph, &view, &tree, options)?;
    io.disk.list(root).map_err(|cause| files::unread("the folder", root, cause))?;
    let mut indexed = Indexed::default();
    let listed = files::listed(root, &mut indexed.skipped);
    let stored = Stored::of(&view)?;
    let known = |path: &str, hash: &str| stored.facts(&view, path, hash);
    let mut files: Vec<File> = Vec::with_capacity(listed.len());
    for read in files::read(io, root, &listed, &known, progress) {
        match read {
            Ok(file) => files.extend(file),
            Err(skipped) => indexed.skipped.push(skipped),
        }
    }
    indexed.skipped.sort_unstable_by(|a, b| a.path.cmp(&b.path));
    indexed.files = files.len();
    indexed.parsed = files.iter().filter(|file| file.bytes.is_some()).count();
    let each: Vec<(&str, &Facts)> =
        files.iter().map(|file| (file.path.as_str(), &file.facts)).collect();
    let resolved = resolve(&each);
    let diff = Diff::new(&view, &tree, &files, &resolved, &stored)?;
    diff.count(&mut indexed);
    indexed.seq = graph.change(&diff.changes(), options.durability)?.seq;
    Ok(indexed)
}

/// An error if the graph holds something else than this tree.
fn check_tree(graph: &Graph, view: &GraphView, tree: &str, options: IndexOptions) -> Result<()> {
    let held = view.get(tree_id())?;
    let held = held.as_ref().and_then(|block| block.source_uri());
    let what = match held {
        Some(held) if held == tree => return Ok(()),
        Some(held) => format!("the tree {held}"),
        None if view.block_count()? == 0 => return Ok(()),
        None => "blocks that are no tree's".to_owned(),
    };
    if options.replace && held.is_some() {
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
    fn of(view: &GraphView) -> Result<Self> {
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

    /// Whether a file is as it was.
    pub(crate) fn is_same(&self, path: &str, hash: &str) -> bool {
        self.hashes.get(path).is_some_and(|known| known == hash)
    }

    /// The facts of a file that is as it was; `None` if they can't be read, so that they are made anew.
    fn facts(&self, view: &GraphView, path: &str, hash: &str) -> Option<Facts> {
        if !self.is_same(path, hash) {
            return None;
        }
        let block = view.get(facts_id(path)).ok()??;
        ciborium::from_reader(block.content()).ok()
    }
}

/// What the metadata of a file's facts say it was.
fn hash_of(metadata: Option<&str>) -> Option<String> {
    let said: serde_json::Value = serde_json::from_str(metadata?).ok()?;
    (said.get("kind")?.as_str()? == FACTS).then(|| said.get("hash")?.as_str().map(str::to_owned))?
}
