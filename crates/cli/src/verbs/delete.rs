//! `timestrata delete`.

use std::path::PathBuf;

use clap::{ArgGroup, Args};
use timestrata::logs::{Logs, is_logs};
use timestrata::timelog::Timelog;
use timestrata::{Access, Changes, Durability, KeyRange, LeadKey, Store};

use super::{arrivals, counted, open, range};
use crate::failure::Result;
use crate::message::tell;

/// Delete the rows of a range of times.
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("bound").required(true).multiple(true).args(["from", "to", "all"]))]
#[command(after_help = "\
The range is half-open: --from is in it, --to is not. Integers are in the log's unit. The \
rows are gone at once; their room on disk is freed by compaction. Of a log, times are those of arrival.

Example:
  timestrata delete ./store weather --to 2013-02-01")]
pub(crate) struct DeleteArgs {
    /// The store's directory.
    dir: PathBuf,
    /// The time log, or the log.
    name: String,
    /// First time deleted; default: from the oldest row.
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    from: Option<String>,
    /// First time kept again; default: to the newest row, inclusive.
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    to: Option<String>,
    /// Delete every row.
    #[arg(long, conflicts_with_all = ["from", "to"])]
    all: bool,
}

pub(crate) fn run(arguments: &DeleteArgs) -> Result<()> {
    let store = open(&arguments.dir, Access::WriteExisting)?;
    let is_logs = store.stream(&arguments.name).is_some_and(|stream| is_logs(&stream));
    let rows = match is_logs {
        true => delete_entries(&store, arguments)?,
        false => delete_values(&store, arguments)?,
    };
    store.close()?;
    tell(format_args!("deleted {} from '{}'", counted(rows, "row"), arguments.name));
    Ok(())
}

fn delete_values(store: &Store, arguments: &DeleteArgs) -> Result<u64> {
    let log = Timelog::open(store, &arguments.name)?;
    let range = range(arguments.from.as_deref(), arguments.to.as_deref(), log.unit())?;
    let rows = log.range(range.bounds())?.count()?;
    log.delete_range(range.bounds())?;
    log.sync()?;
    Ok(rows)
}

fn delete_entries(store: &Store, arguments: &DeleteArgs) -> Result<u64> {
    let logs = Logs::open(store, &arguments.name)?;
    let query = arrivals(arguments.from.as_deref(), arguments.to.as_deref())?;
    let rows = logs.count(&query)?;
    let range = KeyRange::new(query.from.map(LeadKey::Time), query.to.map(LeadKey::Time));
    let changes = Changes::new().delete_range(logs.stream_id(), range);
    store.commit(changes, Durability::Synced)?;
    Ok(rows)
}
