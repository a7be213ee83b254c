//! What the graph of a tree is as blocks and edges.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use timestrata_codegraph::{
    Confidence, EdgeKind, Facts, Node, NodeKind, Position, Resolved, SymbolKind,
};
use timestrata_merkle::Hash;
use timestrata_models::graph::{BlockId, Edge, EdgeKey};

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

/// A block as it has to be.
pub(crate) struct Wanted<'a> {
    pub(crate) id: BlockId,
    pub(crate) path: &'a str,
    pub(crate) metadata: String,
    pub(crate) content: &'a [u8],
}

/// The block of a node, of whose file these are the facts and the bytes.
pub(crate) fn block<'a>(node: &Node, path: &'a str, facts: &Facts, bytes: &'a [u8]) -> Wanted<'a> {
    let symbol = node.symbol.and_then(|symbol| facts.symbols.get(symbol as usize));
    let mut said = json!({ "path": path, "language": facts.language.name() });
    let content = match symbol {
        None => {
            set(&mut said, "kind", json!(FILE));
            set(&mut said, "name", json!(path.rsplit('/').next().unwrap_or(path)));
            set(&mut said, "qualified", json!(path));
            bytes
        }
        Some(symbol) => {
            let span = symbol.span;
            set(&mut said, "kind", json!(symbol.kind.name()));
            set(&mut said, "name", json!(facts.text(symbol.name)));
            set(&mut said, "qualified", json!(facts.text(symbol.qualified)));
            set(&mut said, "start", place(span.start));
            set(&mut said, "end", place(span.end));
            bytes.get(span.start_byte as usize..span.end_byte as usize).unwrap_or_default()
        }
    };
    set(&mut said, "hash", json!(hash_text(content)));
    Wanted { id: node_id(&node.key), path, metadata: said.to_string(), content }
}

fn set(object: &mut Value, name: &str, value: Value) {
    if let Some(object) = object.as_object_mut() {
        object.insert(name.to_owned(), value);
    }
}

fn place(at: Position) -> Value {
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
                let mut edge = Edge::new(source, kind.name(), target);
                edge.properties = Some(said.to_string().into());
                edges.insert(edge.key.clone(), edge);
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

fn sites(sites: &[Position]) -> Value {
    json!({ "sites": sites.iter().map(|at| place(*at)).collect::<Vec<_>>() })
}

/// What is said of a name that nothing in the tree has.
pub(crate) fn external_metadata(name: &str) -> String {
    let last = name.rsplit('.').next().unwrap_or(name);
    json!({ "kind": EXTERNAL, "name": last, "qualified": name }).to_string()
}

/// Whether a node has a block of its own.
pub(crate) fn is_shown(node: &Node) -> bool {
    !matches!(node.kind, NodeKind::Symbol(SymbolKind::Extension))
}
