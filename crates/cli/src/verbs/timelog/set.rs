//! `timestrata timelog set`.

use std::time::Duration;

use clap::Args;
use timestrata::Access;

use super::create::nanoseconds;
use crate::faces::{StoreArg, TimelogRetention};
use crate::failure::{Failure, Result};
use crate::times;

/// Set what of a time log may be thrown away by itself.
#[derive(Debug, Args)]
#[command(after_help = "\
What is not named stays as it is. It goes a file at a time, once all that is in it may go.

Examples:
  timestrata timelog set ./store door --retention-age 30d
  timestrata timelog set ./store door --keep-all")]
pub(super) struct SetArgs {
    #[command(flatten)]
    store: StoreArg,
    /// The time log.
    name: String,
    /// Throw away what is older: 90s, 15m, 12h, 30d.
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
    let change = TimelogRetention {
        keep_all: arguments.keep_all,
        age_ns: arguments.retention_age.map(nanoseconds),
        bytes: arguments.retention_bytes,
    };
    if change == TimelogRetention::default() {
        let hint = "name --retention-age, --retention-bytes or --keep-all";
        return Err(Failure::usage("nothing to set".to_owned(), hint));
    }
    let store = arguments.store.open(Access::WriteExisting, None)?;
    store.timelog(&arguments.name)?.set_retention(&change)?;
    store.sync()?;
    store.close()
}
