//! What resolving gives: the graph of a tree.

use serde::Serialize;

use crate::{Position, SymbolKind};

/// The graph of a tree of files. The same files give the same graph, in whatever order they come.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Resolved {
    /// The paths of the files, sorted.
    pub files: Vec<String>,
    /// Files and what they define: each file, followed by its symbols in the order of its facts.
    pub nodes: Vec<Node>,
    /// What leads from one node to another, sorted by source, kind and target.
    pub edges: Vec<Edge>,
    /// What leads out of the tree, or to something that names alone don't tell; sorted by source.
    pub unresolved: Vec<Unresolved>,
}

impl Resolved {
    /// A node by its number, as edges have it.
    #[must_use]
    pub fn node(&self, number: u32) -> Option<&Node> {
        usize::try_from(number).ok().and_then(|at| self.nodes.get(at))
    }

    /// The path of the file that a node stands in; empty for a node of another graph.
    #[must_use]
    pub fn path_of(&self, node: &Node) -> &str {
        let file = usize::try_from(node.file).ok();
        file.and_then(|at| self.files.get(at)).map_or("", String::as_str)
    }
}

/// A file, or something that it defines.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Node {
    /// What tells it from all others, and stays the same as long as path and name do: the path of a
    /// file; `path::Outer.inner` for what it defines; `path::Outer.inner#2` for the second of a name.
    pub key: String,
    /// What it is.
    pub kind: NodeKind,
    /// Its file, as a place in [`Resolved::files`].
    pub file: u32,
    /// Its symbol, as a place in the file's [`Facts::symbols`](crate::Facts::symbols).
    pub symbol: Option<u32>,
}

/// What a node is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub enum NodeKind {
    /// A file.
    File,
    /// Something that a file defines.
    Symbol(SymbolKind),
}

/// How one node refers to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub enum EdgeKind {
    /// The target stands in the source, or is a member of it.
    Contains,
    /// The source, a file, imports the target: a file, and what of it is imported.
    Imports,
    /// The source calls or constructs the target.
    Calls,
    /// The target is a base of the source, or what it implements.
    Inherits,
}

impl EdgeKind {
    /// Its name in small letters.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Contains => "contains",
            Self::Imports => "imports",
            Self::Calls => "calls",
            Self::Inherits => "inherits",
        }
    }
}

/// How an edge was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub enum Confidence {
    /// By the language's rules for names, as far as they are followed here.
    Scoped,
    /// Only because nothing else in the tree has that name.
    ByName,
}

/// A reference from one node to another; there is one a source, kind and target.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Edge {
    /// The node that refers.
    pub source: u32,
    /// How.
    pub kind: EdgeKind,
    /// The node that is referred to.
    pub target: u32,
    /// How well it is known; the best of its sites.
    pub confidence: Confidence,
    /// Where in the source's file, sorted. Of what is contained, where it begins; of a base that an
    /// `impl` in another file than its type names, where it stands in that file.
    pub sites: Vec<Position>,
}

/// References to a name that isn't of this tree, or could be several things in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Unresolved {
    /// The node that refers.
    pub source: u32,
    /// How.
    pub kind: EdgeKind,
    /// What was written, with dots between names, see [`Reference`](crate::Reference).
    pub name: String,
    /// Where, sorted.
    pub sites: Vec<Position>,
}
