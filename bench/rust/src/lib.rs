//! What every benchmark needs: its command line, a stop watch, the spread of samples, made-up
//! rows, raw files to hold figures against, children, and the report.
//!
//! Invariant: a figure and what it is held against are taken in the same run, in turns, by
//! the same clock, so that their ratio means something on a machine that is not idle.

pub mod child;
pub mod measure;
pub mod raw;
pub mod report;
pub mod request;
pub mod rows;
pub mod sample;
pub mod suite;

/// A benchmark's outcome; it gives up at the first error.
pub type Result<T> = std::result::Result<T, Box<dyn std::error::Error + Send + Sync>>;
