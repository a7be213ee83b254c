//! `timestrata query`.

use std::path::PathBuf;

use clap::Args;
use timestrata::Store;
use timestrata::logs::{Query, is_logs};
use timestrata::table::{Table, TableScan, is_table};
use timestrata::timelog::Timelog;

use super::at::At;
use super::{arrivals, range, table_range};
use crate::failure::{Failure, Result};
use crate::message;
use crate::output::{self, EntryRows, Format, Request};

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
    /// The store's directory.
    dir: PathBuf,
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
    /// How to print them.
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
    /// Of a table: leave out what is damaged, and tell which rows are missing, on standard error.
    #[arg(long)]
    skip_damaged: bool,
    #[command(flatten)]
    at: At,
}

pub(crate) fn run(arguments: &QueryArgs) -> Result<()> {
    let store = arguments.at.open(&arguments.dir)?;
    if store.stream(&arguments.name).is_some_and(|stream| is_table(&stream)) {
        return run_on_table(&store, arguments);
    }
    if arguments.skip_damaged {
        let what = "--skip-damaged is for tables";
        return Err(Failure::usage(what, "read the ranges around the damage"));
    }
    if store.stream(&arguments.name).is_some_and(|stream| is_logs(&stream)) {
        return run_on_logs(&store, arguments);
    }
    let log = Timelog::open(&store, &arguments.name)?;
    let range = range(arguments.from.as_deref(), arguments.to.as_deref(), log.unit())?;
    let mut selection = log.range(range.bounds())?;
    if arguments.reverse {
        selection = selection.reverse();
    }
    if let Some(limit) = arguments.limit {
        selection = selection.limit(limit);
    }
    let request = Request {
        selection,
        name: arguments.name.clone(),
        codec: log.codec(),
        unit: log.unit(),
        columns: arguments.columns.clone(),
    };
    output::write(&request, arguments.format)?;
    Ok(())
}

fn run_on_table(store: &Store, arguments: &QueryArgs) -> Result<()> {
    let view = Table::open(store, &arguments.name)?.view()?;
    let scan = TableScan {
        range: table_range(&view, (arguments.from.as_deref(), arguments.to.as_deref()))?,
        columns: arguments.columns.clone(),
        limit: arguments.limit,
        reverse: arguments.reverse,
        ahead: true,
        skip_damaged: arguments.skip_damaged,
    };
    let mut rows = view.scan(&scan)?;
    let schema = rows.schema();
    output::show_batches(&schema, &mut rows, arguments.format)?;
    for missing in rows.missing() {
        message::tell(format_args!("left out: {missing}"));
    }
    Ok(())
}

fn run_on_logs(store: &Store, arguments: &QueryArgs) -> Result<()> {
    let query = Query {
        newest_first: arguments.reverse,
        limit: arguments.limit,
        ..arrivals(arguments.from.as_deref(), arguments.to.as_deref())?
    };
    EntryRows::open(store, &arguments.name, &query, arguments.columns.as_deref())?
        .show(arguments.format)?;
    Ok(())
}
