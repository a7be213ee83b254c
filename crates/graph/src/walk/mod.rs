//! Walks over a view of a graph: searches, paths, and figures of the graph as a whole.
//!
//! A walk needs marks and lists as long as the graph has nodes. They are kept in a [`Scratch`],
//! of which a [`ScratchPool`] has some ready: a walk takes no memory but for what it gives, and
//! clears none. Every walk is bounded by its options, and says so if a bound has cut it.
//!
//! Cycles, edges from a node to itself, and blocks that are named by edges but don't exist are
//! nothing special.

mod components;
mod path;
mod rank;
mod scratch;
mod traverse;
mod weighted;

pub use components::{Components, components};
pub use path::{Path, Search, shortest_path};
pub use rank::{RankOptions, Ranks, page_rank};
pub use scratch::{Scratch, ScratchPool};
pub use traverse::{Order, Step, Walk, WalkOptions, walk};
pub use weighted::cheapest_path;

#[cfg(test)]
mod tests;
