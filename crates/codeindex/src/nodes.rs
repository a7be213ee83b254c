//! What the graph of a tree is as blocks and edges.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::Arc;

use serde_json::{Value, json};
use timestrata_codegraph::{
    Confidence, EdgeKind, Facts, Node, NodeKind, Position, Resolved, Symbol, SymbolKind,
};
use timestrata_graph::{BlockId, Edge, EdgeKey};
use timestrata_merkle::Hash;

use crate::ids::{EXTERNAL, FACTS, external_id, id_of, node_id};

/// The kind of a file's block.
pub(crate) const FILE: &str = "file";

/// A block as it has to be.
pub(crate) struct Put<'a> {
    pub(crate) id: BlockId,
    pub(crate) path: Option<&'a str>,
    pub(crate) metadata: String,
    pub(crate) is_text: bool,
    pub(crate) content: Cow<'a, [u8]>,
}

pub(crate) fn facts_id(path: &str) -> BlockId {
    id_of(FACTS, path)
}

/// Bytes as hexadecimal digits of their SHA-256.
pub(crate) fn hash_text(bytes: &[u8]) -> String {
    let digit = |half: u8| char::from_digit(half.into(), 16).unwrap_or_default();
    let hash = Hash::of_bytes(bytes).0;
    hash.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

/// What is said of a file, or of a symbol in it, of which these are the facts and the bytes.
pub(crate) fn metadata(path: &str, symbol: Option<&Symbol>, facts: &Facts, bytes: &[u8]) -> String {
    let mut said = json!({ "path": path, "language": facts.language.name() });
    match symbol {
        None => set_names(&mut said, FILE, file_name(path), path),
        Some(symbol) => {
            let (name, qualified) = (facts.text(symbol.name), facts.text(symbol.qualified));
            set_names(&mut said, symbol.kind.name(), name, qualified);
            set(&mut said, "start", place(symbol.span.start));
            set(&mut said, "end", place(symbol.span.end));
        }
    }
    set(&mut said, "hash", json!(hash_text(content(symbol, bytes))));
    said.to_string()
}

/// The text of a file, or of a symbol in it.
pub(crate) fn content<'a>(symbol: Option<&Symbol>, bytes: &'a [u8]) -> &'a [u8] {
    let Some(span) = symbol.map(|symbol| symbol.span) else { return bytes };
    bytes.get(span.start_byte as usize..span.end_byte as usize).unwrap_or_default()
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
    const KINDS: [EdgeKind; 4] =
        [EdgeKind::Contains, EdgeKind::Imports, EdgeKind::Calls, EdgeKind::Inherits];
    let kinds = KINDS.map(|kind| (kind, Arc::<str>::from(kind.name())));
    let named = |kind: EdgeKind| {
        let known = kinds.iter().find(|(known, _)| *known == kind);
        known.map_or_else(|| kind.name().into(), |(_, name)| Arc::clone(name))
    };
    let ids: Vec<BlockId> = resolved.nodes.iter().map(|node| node_id(&node.key)).collect();
    let id = |number: u32| ids.get(number as usize).copied();
    let mut all: Vec<(EdgeKey, Edge)> =
        Vec::with_capacity(resolved.edges.len() + resolved.unresolved.len());
    let mut add = |source, kind, target, said| {
        if let (Some(source), Some(target)) = (source, target) {
            all.push(edge(EdgeKey { source, kind: named(kind), target }, said));
        }
    };
    for edge in &resolved.edges {
        let is_by_name = edge.confidence == Confidence::ByName;
        add(id(edge.source), edge.kind, id(edge.target), sites(&edge.sites, is_by_name));
    }
    let mut names: Vec<&str> = Vec::new();
    for loose in &resolved.unresolved {
        let target = Some(external_id(&loose.name));
        add(id(loose.source), loose.kind, target, sites(&loose.sites, false));
        names.push(&loose.name);
    }
    names.sort_unstable();
    names.dedup();
    (all.into_iter().collect(), names.into_iter().map(str::to_owned).collect())
}

/// An edge of which something is said, by its key.
pub(crate) fn edge(key: EdgeKey, said: String) -> (EdgeKey, Edge) {
    let mut edge = Edge::new(key.source, Arc::clone(&key.kind), key.target);
    edge.properties = Some(said.into());
    (key, edge)
}

/// Where an edge's reference stands, and whether it was found by its name alone: a JSON object.
pub(crate) fn sites(sites: &[Position], is_by_name: bool) -> String {
    let mut said =
        String::from(if is_by_name { r#"{"by":"name","sites":["# } else { r#"{"sites":["# });
    for (place, at) in sites.iter().enumerate() {
        let comma = if place > 0 { "," } else { "" };
        // Writing to a text never fails.
        let _ = write!(said, "{comma}[{},{}]", at.line, at.column);
    }
    said.push_str("]}");
    said
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
