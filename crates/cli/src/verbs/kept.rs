//! What a log or a time log keeps, as arguments of the verbs that set it.

use std::time::Duration;

use clap::Args;

use crate::times;

/// What is not named stays as it is.
#[derive(Debug, Args)]
pub(super) struct KeptArgs {
    /// Throw away what is older: 90s, 15m, 12h, 30d.
    #[arg(long, value_name = "SPAN", value_parser = times::span)]
    retention_age: Option<Duration>,
    /// Throw away the oldest beyond so many bytes.
    #[arg(long, value_name = "BYTES")]
    pub(super) retention_bytes: Option<u64>,
    /// Keep everything.
    #[arg(long, conflicts_with_all = ["retention_age", "retention_bytes"])]
    pub(super) keep_all: bool,
}

impl KeptArgs {
    pub(super) fn age_ns(&self) -> Option<u64> {
        self.retention_age.map(times::nanoseconds)
    }
}
