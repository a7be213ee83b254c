//! Graphs: blocks with versions, and edges in both directions.

mod model;
mod read;
mod session;
mod step;

pub(crate) use session::Graphs;
pub use step::GraphStep;
