//! `timestrata query`.

use clap::Args;
use timestrata::logs::Query;

use crate::at::At;
use crate::faces::{EntriesWanted, Kind, RowsWanted, StoreArg, StoreFace};
use crate::failure::{Failure, Result};
use crate::message;
use crate::output::{self, EntryRows, FormArg, Format, Request};
use crate::ranges::{arrivals, range};

/// Print the rows of a range of times, oldest first.
#[derive(Debug, Args)]
#[command(after_help = "\
The range is half-open: --from is in it, --to is not. Integers are in the log's unit. A \
store that is being written may be read; nothing is changed.

Columns: 'time', then the fields of the values; a value that is no map is the column 'value'. A \
field that is itself called 'time' is 'value.time'. Bytes are shown as text where they are \
UTF-8, else as 0x and hexadecimal digits.

Of a log, times are those of arrival, and columns timestamp, source_time, level, message, labels and \
fields (these two as JSON); --columns may also name labels and fields. As JSON an entry is an object with \
all that it has. 'timestrata logs search' takes a filter.

Examples:
  timestrata query ./store weather --from 2013-07-01 --to 2013-07-02T12:00:00Z
  timestrata query ./store weather --reverse --limit 10 --columns time,origin,temp
  timestrata query ./store weather --at pin=monday
  timestrata query ./store weather --format arrow > weather.arrow")]
pub(crate) struct QueryArgs {
    #[command(flatten)]
    store: StoreArg,
    /// The table, time log or log.
    name: String,
    /// First time wanted; default: from the oldest row.
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    from: Option<String>,
    /// First time not wanted any more; default: to the newest row, inclusive.
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    to: Option<String>,
    /// Rows wanted at most.
    #[arg(long, value_name = "ROWS")]
    limit: Option<usize>,
    /// Newest first.
    #[arg(long)]
    reverse: bool,
    /// Columns wanted, in this order; default all.
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    columns: Option<Vec<String>>,
    #[command(flatten)]
    form: FormArg<Format>,
    /// Of a table: leave out what is damaged, and tell which rows are missing, on standard error.
    #[arg(long)]
    skip_damaged: bool,
    #[command(flatten)]
    at: At,
}

pub(crate) fn run(arguments: &QueryArgs) -> Result<()> {
    let store = arguments.store.read(&arguments.at)?;
    let kind = store.kind_of(&arguments.name)?;
    if kind == Some(Kind::Table) {
        return run_on_table(store.as_ref(), arguments);
    }
    if arguments.skip_damaged {
        let what = "--skip-damaged is for tables";
        return Err(Failure::usage(what, "read the ranges around the damage"));
    }
    if kind == Some(Kind::Logs) {
        return run_on_logs(store.as_ref(), arguments);
    }
    let log = store.timelog(&arguments.name)?;
    let range = range(arguments.from.as_deref(), arguments.to.as_deref(), log.unit())?;
    let wanted = EntriesWanted { range, limit: arguments.limit, reverse: arguments.reverse };
    let request =
        Request { rows: log.rows(wanted)?, unit: log.unit(), columns: arguments.columns.clone() };
    output::write(&request, arguments.form.get())?;
    Ok(())
}

fn run_on_table(store: &dyn StoreFace, arguments: &QueryArgs) -> Result<()> {
    let wanted = RowsWanted {
        from: arguments.from.as_deref(),
        to: arguments.to.as_deref(),
        columns: arguments.columns.as_deref(),
        limit: arguments.limit,
        reverse: arguments.reverse,
        skip_damaged: arguments.skip_damaged,
    };
    let mut rows = store.table(&arguments.name)?.rows(&wanted)?;
    output::show_batches(&rows.schema(), &mut rows, arguments.form.get())?;
    for missing in rows.missing() {
        message::tell(format_args!("left out: {missing}"));
    }
    Ok(())
}

fn run_on_logs(store: &dyn StoreFace, arguments: &QueryArgs) -> Result<()> {
    let query = Query {
        newest_first: arguments.reverse,
        limit: arguments.limit,
        ..arrivals(arguments.from.as_deref(), arguments.to.as_deref())?
    };
    let found = store.logs(&arguments.name)?.search(&query)?;
    EntryRows::new(found, arguments.columns.as_deref()).show(arguments.form.get())?;
    Ok(())
}
