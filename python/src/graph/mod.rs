//! Graphs: blocks and the edges between them, what is read of both, walks.

mod arguments;
mod arrow;
mod block;
mod edge;
mod input;
mod object;
mod open;
mod route;
mod staged;
mod view;
mod walk;

pub(crate) use block::Block;
pub(crate) use edge::Edge;
pub(crate) use object::Graph;
pub(crate) use route::Route;
pub(crate) use staged::{CommitGraph, GraphSteps};
pub(crate) use view::GraphView;
pub(crate) use walk::Walk;
