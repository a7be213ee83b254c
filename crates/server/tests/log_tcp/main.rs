//! The line protocol of logs, byte for byte over real sockets.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "../support/ailing_disk.rs"]
mod ailing_disk;
mod clients;
mod cost;
mod deaf;
mod durability;
mod full_disk;
mod harness;
mod refusals;
mod stopping;
#[path = "../../../engine/tests/engine/support/until.rs"]
mod until;
#[path = "../../../engine/tests/engine/support/watched_disk.rs"]
mod watched_disk;
mod writing;
