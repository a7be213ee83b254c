//! What the graph of a tree is as blocks and edges.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde_json::{Value, json};
use timestrata_codegraph::{
    Confidence, EdgeKind, Facts, Node, NodeKind, Position, Resolved, SymbolKind,
};
use timestrata_merkle::Hash;
use timestrata_models::graph::{BlockId, Edge, EdgeKey};

use crate::diff::Put;

/// Kinds of blocks that are no symbol's.
pub(crate) const FILE: &str = "file";
pub(crate) const FACTS: &str = "facts";
pub(crate) const EXTERNAL: &str = "external";
pub(crate) const TREE: &str = "tree";

/// The block of a node: `path`, or `path::Outer.inner`.
#[must_use]
pub fn node_id(key: &str) -> BlockId {
    id_of("node", key)
}

/// The block of a name that nothing in the tree has.
#[must_use]
pub fn external_id(name: &str) -> BlockId {
    id_of(EXTERNAL, name)
}

/// The block of a symbol that an index of another program names, be it defined there or not.
#[must_use]
pub fn symbol_id(symbol: &str) -> BlockId {
    id_of("symbol", symbol)
}

pub(crate) fn facts_id(path: &str) -> BlockId {
    id_of(FACTS, path)
}

pub(crate) fn tree_id() -> BlockId {
    id_of(TREE, "")
}

fn id_of(what: &str, text: &str) -> BlockId {
    let hash = Hash::of_bytes(format!("{what}\0{text}").as_bytes()).0;
    BlockId::new(std::array::from_fn(|place| hash[place]))
}

/// Bytes as hexadecimal digits of their SHA-256.
pub(crate) fn hash_text(bytes: &[u8]) -> String {
    Hash::of_bytes(bytes).0.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The block of a node, of whose file these are the facts and the bytes.
pub(crate) fn block<'a>(node: &Node, path: &'a str, facts: &Facts, bytes: &'a [u8]) -> Put<'a> {
    let symbol = node.symbol.and_then(|symbol| facts.symbols.get(symbol as usize));
    let mut said = json!({ "path": path, "language": facts.language.name() });
    let content = match symbol {
        None => {
            set_names(&mut said, FILE, file_name(path), path);
            bytes
        }
        Some(symbol) => {
            let span = symbol.span;
            let (name, qualified) = (facts.text(symbol.name), facts.text(symbol.qualified));
            set_names(&mut said, symbol.kind.name(), name, qualified);
            set(&mut said, "start", place(span.start));
            set(&mut said, "end", place(span.end));
            bytes.get(span.start_byte as usize..span.end_byte as usize).unwrap_or_default()
        }
    };
    put(node_id(&node.key), path, said, Cow::Borrowed(content))
}

/// A block of a file with what is said of it, and its content's hash.
pub(crate) fn put<'a>(
    id: BlockId,
    path: &'a str,
    mut said: Value,
    content: Cow<'a, [u8]>,
) -> Put<'a> {
    set(&mut said, "hash", json!(hash_text(&content)));
    Put { id, path: Some(path), metadata: said.to_string(), is_text: true, content }
}

pub(crate) fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

pub(crate) fn set_names(said: &mut Value, kind: &str, name: &str, qualified: &str) {
    set(said, "kind", json!(kind));
    set(said, "name", json!(name));
    set(said, "qualified", json!(qualified));
}

pub(crate) fn set(object: &mut Value, name: &str, value: Value) {
    if let Some(object) = object.as_object_mut() {
        object.insert(name.to_owned(), value);
    }
}

pub(crate) fn place(at: Position) -> Value {
    json!([at.line, at.column])
}

/// All edges, and the names that nothing in the tree has.
pub(crate) fn edges(resolved: &Resolved) -> (BTreeMap<EdgeKey, Edge>, Vec<String>) {
    let mut edges = BTreeMap::new();
    let mut names: Vec<String> = Vec::new();
    let id = |number: u32| resolved.node(number).map(|node| node_id(&node.key));
    let mut add =
        |source: Option<BlockId>, kind: EdgeKind, target: Option<BlockId>, said: Value| {
            if let (Some(source), Some(target)) = (source, target) {
                add_edge(&mut edges, EdgeKey { source, kind: kind.name().into(), target }, said);
            }
        };
    for edge in &resolved.edges {
        let mut said = sites(&edge.sites);
        if edge.confidence == Confidence::ByName {
            set(&mut said, "by", json!("name"));
        }
        add(id(edge.source), edge.kind, id(edge.target), said);
    }
    for loose in &resolved.unresolved {
        add(id(loose.source), loose.kind, Some(external_id(&loose.name)), sites(&loose.sites));
        names.push(loose.name.clone());
    }
    names.sort_unstable();
    names.dedup();
    (edges, names)
}

pub(crate) fn add_edge(edges: &mut BTreeMap<EdgeKey, Edge>, key: EdgeKey, said: Value) {
    let mut edge = Edge::new(key.source, key.kind.clone(), key.target);
    edge.properties = Some(said.to_string().into());
    edges.insert(key, edge);
}

pub(crate) fn sites(sites: &[Position]) -> Value {
    json!({ "sites": sites.iter().map(|at| place(*at)).collect::<Vec<_>>() })
}

/// What is said of a name that nothing in the tree has.
pub(crate) fn external(name: &str) -> Value {
    let mut said = json!({});
    set_names(&mut said, EXTERNAL, name.rsplit('.').next().unwrap_or(name), name);
    said
}

/// Whether a node has a block of its own.
pub(crate) fn is_shown(node: &Node) -> bool {
    !matches!(node.kind, NodeKind::Symbol(SymbolKind::Extension))
}
