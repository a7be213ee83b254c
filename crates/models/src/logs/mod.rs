//! Structured logs: entries by the time of their arrival, searched by words, fields and time.

mod entry;
mod fields;
pub mod filter;
mod labels;
mod level;

pub use entry::NewEntry;
pub use fields::{Fields, Scalar};
pub use labels::{LABELS_MAX, Labels};
pub use level::Level;
