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

mod diff;
mod files;
mod index;
mod nodes;
mod scip;
mod show;
mod stored;

pub use diff::Written;
pub use files::{Progress, Skipped};
pub use index::{IndexOptions, Indexed, index};
pub use nodes::{external_id, node_id, symbol_id};
pub use scip::{Imported, import_scip};
pub use show::{Relation, Shown, Site, chain, find, names_like, node_of, shown_edges, tree_of};
