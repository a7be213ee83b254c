//! `timestrata logs tail`.

use clap::Args;
use timestrata::logs::filter::Filter;
use timestrata::logs::{Clock, Query};

use super::print::{EntryFormat, Printer};
use super::search::{position, print_last};
use super::{Filtered, LogToFollow};
use crate::faces::LogsFace;
use crate::failure::Result;
use crate::interrupt::{Interrupt, is_output_closed};
use crate::output::FormArg;

/// Print the last entries that a filter lets through, and each that arrives from then on.
#[derive(Debug, Args)]
#[command(after_help = "\
'timestrata logs search --help' tells what a FILTER is, and what a line has. Beside a process that \
writes, an entry is seen within a tenth of a second. Ctrl-C ends it in good order.

Entries come in the order of their arrival; a line begins with the time of the clock that the log goes \
by. --after goes on behind an entry, given by its timestamp, and leaves none out.

Examples:
  timestrata logs tail ./store app
  timestrata logs tail ./store app 'level>=warn -healthz' --last 100
  timestrata logs tail ./store app --format json --after 2026-05-01T10:00:00.123456789Z | ./ship")]
pub(super) struct TailArgs {
    #[command(flatten)]
    of: LogToFollow,
    #[command(flatten)]
    filtered: Filtered,
    /// How many that are there already to begin with.
    #[arg(long, value_name = "ENTRIES", default_value_t = 10)]
    last: usize,
    /// Begin behind the entry that arrived at this time.
    #[arg(long, value_name = "TIMESTAMP", conflicts_with = "last", allow_hyphen_values = true)]
    after: Option<String>,
    #[command(flatten)]
    form: FormArg<EntryFormat>,
}

/// Where following begins.
#[derive(Debug, Clone, Copy)]
pub(crate) enum TailStart {
    /// With so many that are there.
    Last(usize),
    /// Behind the one that arrived at a time.
    After(i64),
}

pub(super) fn run(arguments: &TailArgs) -> Result<()> {
    let place = match arguments.after.as_deref() {
        Some(text) => TailStart::After(position(text, Clock::Timestamp)?.timestamp),
        None => TailStart::Last(arguments.last),
    };
    let filter = arguments.filtered.filter()?;
    let interrupt = Interrupt::listen()?;
    let logs = arguments.of.logs(&interrupt)?;
    follow(logs.as_ref(), filter, place, arguments.form.get(), &interrupt)
}

/// Prints entries from a place on, as they arrive, until somebody has had enough.
pub(crate) fn follow(
    logs: &dyn LogsFace,
    filter: Filter,
    place: TailStart,
    form: EntryFormat,
    interrupt: &Interrupt,
) -> Result<()> {
    let mut printer = Printer::new(form, logs.clock()?, &filter);
    let after = match place {
        TailStart::After(timestamp) => timestamp,
        TailStart::Last(last) => {
            // What arrives behind this one is left to the tail, and nothing else.
            let until = logs.last_timestamp()?;
            let to = until.map(|until| until.saturating_add(1));
            let by = Some(Clock::Timestamp);
            let query = Query { by, filter: filter.clone(), to, ..Query::default() };
            if until.is_some() {
                print_last(logs, &query, last, &mut printer)?;
            }
            until.unwrap_or(i64::MIN)
        }
    };
    let mut tail = logs.tail(filter, after)?;
    while !interrupt.is_heard() && !is_output_closed() {
        let Some(entries) = tail.next()? else { continue };
        entries.iter().try_for_each(|entry| printer.entry(&entry))?;
        printer.flush()?;
    }
    Ok(())
}
