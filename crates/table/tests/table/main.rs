//! Tables, through their public face.

mod columns;
mod files;
mod ingest;
mod replaced;
mod rows;
mod series;
mod streams;
mod units;
#[path = "../../../engine/tests/engine/support/watched_disk.rs"]
mod watched_disk;
