//! `timestrata delete`.

use clap::{ArgGroup, Args};
use timestrata::Access;

use super::counted;
use crate::faces::{Kind, StoreArg};
use crate::failure::{Failure, Result};
use crate::message::tell;
use crate::ranges::{arrivals, range};

/// Delete the rows of a range of times.
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("bound").required(true).multiple(true).args(["from", "to", "all"]))]
#[command(after_help = "\
The range is half-open: --from is in it, --to is not. Integers are in the log's unit. The \
rows are gone at once; their room on disk is freed by compaction. Of a log, times are those of arrival. A server \
deletes rows of a table if it lets SQL write ('sql.may_write').

Examples:
  timestrata delete ./store weather --to 2013-02-01
  timestrata delete http://127.0.0.1:8080 weather --from 2013-02-01 --to 2013-02-02")]
pub(crate) struct DeleteArgs {
    #[command(flatten)]
    store: StoreArg,
    /// The table, time log or log.
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
    let DeleteArgs { name, from, to, .. } = arguments;
    let (from, to) = (from.as_deref(), to.as_deref());
    let store = arguments.store.open(Access::WriteExisting, None)?;
    let rows = match store.kind_of(name)? {
        Some(Kind::Table) => store.table(name)?.delete(from, to)?,
        Some(Kind::Logs) => store.logs(name)?.delete(&arrivals(from, to)?)?,
        Some(Kind::Topic) => {
            return Err(Failure::usage(
                format!("'{name}' is a topic, whose records go by retention alone"),
                "say what it keeps by 'timestrata topic set', or 'topic delete' all of it",
            ));
        }
        Some(Kind::Timelog) | None => {
            let log = store.timelog(name)?;
            log.delete(range(from, to, log.unit())?)?
        }
    };
    store.close()?;
    tell(format_args!("deleted {} from '{name}'", counted(rows, "row")));
    Ok(())
}
