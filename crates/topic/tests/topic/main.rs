//! Topics, through their public face.

mod audit;
mod checkpoints;
mod consumers;
mod damage;
mod epochs;
mod groups;
mod json;
mod kept_entries;
mod other_readers;
mod packed;
mod proofs;
mod published;
mod records;
mod retention;
mod standing;
mod syncs;
#[path = "../../../engine/tests/engine/support/watched_disk.rs"]
mod watched_disk;
