//! Every endpoint, through a real client over a real socket.
#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

#[path = "../support/ailing_disk.rs"]
mod ailing_disk;
mod answers;
mod bad_input;
mod changes;
mod commits;
mod curl;
mod described;
mod ending;
mod forms;
mod graphs;
mod groups;
mod guards;
mod harness;
mod hosts;
mod ingest;
mod logs;
mod logs_ingest;
mod logs_options;
mod metrics;
mod moments;
mod proofs;
mod pulsora;
mod request_ids;
mod revoked;
mod store;
mod tail;
mod timelogs;
mod tls;
mod tokens;
mod topics;
#[path = "../../../engine/tests/engine/support/until.rs"]
mod until;
mod views;
mod waits;
#[path = "../../../engine/tests/engine/support/watched_disk.rs"]
mod watched_disk;
