//! The data models: what people see on top of the engine's streams.
//!
//! A model is a set of streams with agreed schemas and words in their properties, and the
//! calls that fit what people do with it. Models hold no state of their own that a crash
//! could lose, and name no file: everything goes through a
//! [`Store`](timestrata_engine::Store).
#![forbid(unsafe_code)]

mod fit;
pub mod graph;
mod instant;
pub mod logs;
mod name;
mod number;
mod owner;
mod processors;
mod range;
pub mod table;
pub mod timelog;
pub mod topic;

pub use fit::fit;
pub use owner::drop_by_name;
