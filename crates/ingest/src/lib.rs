//! Files and bodies, as what the models take in.
//!
//! - [`rows`]: CSV, JSON, Arrow, Parquet and protobuf as record batches, for tables;
//! - [`lines`]: lines of logs of many formats as entries, for logs.
//!
//! What is read comes from anybody: no bytes make this crate panic, and memory is bounded.
#![forbid(unsafe_code)]

mod encoding;
pub mod lines;
pub mod rows;

pub use encoding::Encoding;
