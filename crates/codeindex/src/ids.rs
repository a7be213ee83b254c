//! The ids that blocks have, by what they stand for, and the kinds of those that are no symbol's.

use timestrata_graph::{BlockId, id_of_content};

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

pub(crate) fn tree_id() -> BlockId {
    id_of(TREE, "")
}

pub(crate) fn id_of(what: &str, text: &str) -> BlockId {
    id_of_content(format!("{what}\0{text}").as_bytes())
}
