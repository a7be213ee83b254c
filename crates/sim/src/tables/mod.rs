//! Tables: one that keeps every row, and one for each way in which rows are replaced.
//!
//! Two of them are two streams each, which change in one commit or not at all.

mod ingest;
mod model;
mod read;
mod rows;
mod session;
mod step;

pub use session::Tables;
