//! Topics: records, trees, groups, producers and checkpoints, and a stream beside them that changes in
//! the same commits.

mod model;
mod read;
mod session;
mod step;

pub use session::Topics;
