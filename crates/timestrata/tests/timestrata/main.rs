//! All models together.

mod acknowledging;
mod identity;
mod small_disk;
mod together;
#[path = "../../../engine/tests/engine/support/watched_disk.rs"]
mod watched_disk;
