//! Plain streams of the engine: one that keeps every row, one that keeps the latest of a key.

mod model;
mod session;
mod step;

pub use session::Streams;
pub(crate) use session::specs;
