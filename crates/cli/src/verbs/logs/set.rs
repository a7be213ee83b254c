//! `timestrata logs set`.

use std::time::Duration;

use clap::Args;
use timestrata::Access;
use timestrata::logs::Clock;

use super::By;
use crate::faces::{LogsChange, StoreArg};
use crate::failure::{Failure, Result};
use crate::times;

/// Set a log's clock, or what may be thrown away by itself.
#[derive(Debug, Args)]
#[command(after_help = "\
What is not named stays as it is. The clock is what search, count, histogram, facets and --since go by \
unless --by names another: a log that 'timestrata ingest' makes goes by source_time, others by timestamp. \
Positions of one clock are none of the other. Retention goes by arrivals always.

Examples:
  timestrata logs set ./store app --clock source_time
  timestrata logs set ./store app --retention-age 30d")]
pub(super) struct SetArgs {
    #[command(flatten)]
    store: StoreArg,
    /// The log.
    name: String,
    /// The clock that queries go by which name none.
    #[arg(long, value_enum)]
    clock: Option<By>,
    /// Throw away what arrived longer ago: 90s, 15m, 12h, 30d.
    #[arg(long, value_name = "SPAN", value_parser = times::span)]
    retention_age: Option<Duration>,
    /// Throw away the oldest beyond so many bytes.
    #[arg(long, value_name = "BYTES")]
    retention_bytes: Option<u64>,
    /// Keep everything.
    #[arg(long, conflicts_with_all = ["retention_age", "retention_bytes"])]
    keep_all: bool,
}

pub(super) fn run(arguments: &SetArgs) -> Result<()> {
    let change = LogsChange {
        clock: arguments.clock.map(Clock::from),
        keep_all: arguments.keep_all,
        age_ns: arguments
            .retention_age
            .map(|age| u64::try_from(age.as_nanos()).unwrap_or(u64::MAX)),
        bytes: arguments.retention_bytes,
    };
    if change == LogsChange::default() {
        let hint = "name --clock, --retention-age, --retention-bytes or --keep-all";
        return Err(Failure::usage("nothing to set".to_owned(), hint));
    }
    let store = arguments.store.open(Access::WriteExisting, None)?;
    store.logs(&arguments.name)?.change(&change)?;
    store.close()
}
