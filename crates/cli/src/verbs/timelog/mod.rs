//! `timestrata timelog`.

mod create;
mod set;
mod tail;

use clap::Args;

use super::verbs;
use crate::failure::Result;

pub(crate) use tail::{EntryForm, TailBegin, follow};

/// Make, change and follow time logs.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  timestrata timelog create ./store door --retention-age 30d
  timestrata timelog set ./store door --retention-bytes 1000000000
  timestrata timelog tail ./store door

Entries come in by 'timestrata ingest --as timelog', and are read by 'timestrata query' and 'timestrata sql'.")]
pub(crate) struct TimelogCommand {
    #[command(subcommand)]
    verb: Verb,
}

verbs! {
    Create: create::CreateArgs => create::run,
    Set: set::SetArgs => set::run,
    Tail: tail::TailArgs => tail::run,
}

pub(crate) fn run(arguments: &TimelogCommand) -> Result<()> {
    arguments.verb.run()
}
