//! A tree of sources as a code graph: a block a file, class and function, and edges for what contains,
//! imports, calls and inherits what.
//!
//! Indexing again writes what has changed, and always ends with what indexing into an empty graph gives:
//! what a file says depends on its bytes alone and is kept beside it, and who means whom is worked out
//! anew from all files each time. So a callee that is renamed, moved or edited keeps its callers where
//! their sources still name it, and loses them where they don't.
//!
//! Blocks are known by what they stand for: `path`, `path::Outer.inner`. Names that nothing in the tree
//! has are blocks too, of kind `external`, so that one can ask who calls them.
//!
//! A tree in another language comes as an index that a program made which knows it: see [`import_scip`].
#![forbid(unsafe_code)]

#[cfg(feature = "index")]
mod diff;
#[cfg(feature = "index")]
mod files;
mod ids;
#[cfg(feature = "index")]
mod index;
mod json;
#[cfg(feature = "index")]
mod nodes;
#[cfg(feature = "index")]
mod scip;
mod show;
#[cfg(feature = "index")]
mod stored;

#[cfg(feature = "index")]
pub use diff::Written;
#[cfg(feature = "index")]
pub use files::{Progress, Skipped};
pub use ids::{external_id, node_id, symbol_id};
#[cfg(feature = "index")]
pub use index::{IndexOptions, Indexed, index};
#[cfg(feature = "index")]
pub use scip::{Imported, import_scip};
pub use show::{
    Kinds, Linked, Relation, Shown, Site, chain, find, kinds_of, links_of, named, names_like,
    node_of, shown_edges, tree_of,
};
