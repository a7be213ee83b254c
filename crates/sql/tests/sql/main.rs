//! SQL over stores with all that streams can be; one program, so that DataFusion is linked once.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod across;
mod aggregates;
mod answers;
mod behaviour;
mod ending;
mod events_of_bluesky;
mod far_times;
mod filters;
mod graphs;
mod json;
mod local;
mod log_questions;
mod logs;
mod materialized;
mod models;
mod names;
mod optimizer;
mod other_dialects;
mod pages;
mod parameters;
mod plans;
mod pushdown;
mod runtime_filters;
mod scripts;
mod spellings;
mod support;
mod table_changes;
mod time_steps;
mod topics;
mod views;
mod views_at_random;
mod views_on_full_disk;

#[path = "../../../engine/tests/engine/golden/files.rs"]
mod files;
#[path = "../../../engine/tests/engine/support/quota_disk.rs"]
mod quota_disk;
#[path = "../../../engine/tests/engine/support/until.rs"]
mod until;
