//! Graphs: blocks with versions, and edges in both directions.

mod model;
mod read;
mod session;
mod step;

pub use session::Graphs;
