//! Indexing a tree: what is there is read, what has changed is taken apart, all of it is resolved, and
//! what differs from what the graph has is written in one commit.

use std::borrow::Cow;
use std::collections::HashMap;
use std::path::Path;

use serde_json::json;
use timestrata_codegraph::{Facts, Resolved, resolve};
use timestrata_engine::{Durability, Io, Result};
use timestrata_graph::Graph;

use crate::diff::{Diff, Written};
use crate::files::{self, File, Progress, Skipped};
use crate::ids::{FACTS, external_id, node_id};
use crate::nodes::{self, Put, facts_id};
use crate::stored::{Stored, check_tree};

/// How a tree, or an index that another program made of one, is taken into a graph.
#[derive(Debug, Clone, Copy, Default)]
pub struct IndexOptions {
    /// Whether a graph that holds another tree is to hold this one instead.
    pub replace: bool,
    /// How what is written survives.
    pub durability: Durability,
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
    /// What of the graph had to change.
    pub written: Written,
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
    check_tree(graph, &view, &tree, options.replace)?;
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
    indexed.parsed = files.iter().filter(|file| file.fresh.is_some()).count();
    let each: Vec<(&str, &Facts)> =
        files.iter().map(|file| (file.path.as_str(), &file.facts)).collect();
    let resolved = resolve(&each);
    let mut diff = Diff::new(&view, &tree)?;
    let (added, edges) = std::thread::scope(|scope| {
        let edges = scope.spawn(|| nodes::edges(&resolved));
        (add_files(&mut diff, &files, &resolved, &stored), edges.join())
    });
    added?;
    // A thread that died has left nothing: it is done here.
    let (edges, names) = edges.unwrap_or_else(|_| nodes::edges(&resolved));
    for name in &names {
        let (id, metadata) = (external_id(name), nodes::external(name).to_string());
        diff.put(Put { id, path: None, metadata, is_text: true, content: Cow::default() })?;
    }
    diff.finish(&stored, edges)?;
    indexed.written = diff.write(graph, options.durability)?;
    Ok(indexed)
}

/// The blocks of files and of what they define.
fn add_files<'a>(
    diff: &mut Diff<'a>,
    files: &'a [File],
    resolved: &Resolved,
    stored: &Stored,
) -> Result<()> {
    let by_path: HashMap<&str, &'a File> =
        files.iter().map(|file| (file.path.as_str(), file)).collect();
    for file in files {
        let (id, path) = (facts_id(&file.path), Some(file.path.as_str()));
        let Some(fresh) = &file.fresh else {
            // As it was: so are its blocks.
            diff.keep(id);
            let blocks = stored.of_file.get(&file.path);
            blocks.into_iter().flatten().for_each(|block| diff.keep(*block));
            continue;
        };
        let metadata = json!({ "kind": FACTS, "hash": file.hash }).to_string();
        let content = Cow::Borrowed(fresh.facts.as_slice());
        diff.put(Put { id, path, metadata, is_text: false, content })?;
    }
    for node in resolved.nodes.iter().filter(|node| nodes::is_shown(node)) {
        let Some(file) = by_path.get(resolved.path_of(node)) else { continue };
        let Some(fresh) = &file.fresh else { continue };
        let symbol = node.symbol.and_then(|symbol| file.facts.symbols.get(symbol as usize));
        let metadata = match node.symbol {
            None => Some(&fresh.metadata),
            Some(symbol) => fresh.of_symbols.get(symbol as usize),
        };
        diff.put(Put {
            id: node_id(&node.key),
            path: Some(&file.path),
            metadata: metadata.cloned().unwrap_or_default(),
            is_text: true,
            content: Cow::Borrowed(nodes::content(symbol, &fresh.bytes)),
        })?;
    }
    Ok(())
}
