//! `timestrata timelog set`.

use clap::Args;
use timestrata::Access;

use crate::faces::{StoreArg, TimelogRetention};
use crate::failure::{Failure, Result};
use crate::verbs::kept::KeptArgs;

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
    #[command(flatten)]
    kept: KeptArgs,
}

pub(super) fn run(arguments: &SetArgs) -> Result<()> {
    let change = TimelogRetention {
        keep_all: arguments.kept.keep_all,
        age_ns: arguments.kept.age_ns(),
        bytes: arguments.kept.retention_bytes,
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
