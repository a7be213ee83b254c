//! `timestrata logs set`.

use clap::Args;
use timestrata::Access;
use timestrata::logs::Clock;

use super::By;
use crate::faces::{LogsChange, StoreArg};
use crate::failure::{Failure, Result};
use crate::verbs::kept::KeptArgs;

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
    #[command(flatten)]
    kept: KeptArgs,
}

pub(super) fn run(arguments: &SetArgs) -> Result<()> {
    let change = LogsChange {
        clock: arguments.clock.map(Clock::from),
        keep_all: arguments.kept.keep_all,
        age_ns: arguments.kept.age_ns(),
        bytes: arguments.kept.retention_bytes,
    };
    if change == LogsChange::default() {
        let hint = "name --clock, --retention-age, --retention-bytes or --keep-all";
        return Err(Failure::usage("nothing to set".to_owned(), hint));
    }
    let store = arguments.store.open(Access::WriteExisting, None)?;
    store.logs(&arguments.name)?.change(&change)?;
    store.close()
}
