//! What every benchmark needs: its command line, a stop watch, the spread of samples, made-up
//! rows, raw files to hold figures against, children, and the report.
//!
//! Invariant: a figure and what it is held against are taken in the same run, in turns, by
//! the same clock, so that their ratio means something on a machine that is not idle.

pub mod child;
mod measure;
pub mod published;
mod raw;
pub mod report;
mod request;
mod rows;
mod sample;
pub mod suite;

pub use measure::{Better, Measure, grouped};
pub use raw::{
    Direct, Prepared, anonymous_bytes, folder_bytes, process_seconds, read_folder, scratch,
    sync_disk, tree_bytes, written_bytes,
};
pub use request::{OPTIONS, Request};
pub use rows::{Batches, Numbers, STEP, Shuffle, bytes_schema};
pub use sample::{Samples, Watch};
pub use suite::{Bench, Group, settle};

/// A benchmark's outcome; it gives up at the first error.
pub type Result<T> = std::result::Result<T, Box<dyn std::error::Error + Send + Sync>>;
