//! Logs, through their public face.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod odd;
mod reading;
mod searching;
mod support;
mod writing;
