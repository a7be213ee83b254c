//! `timestrata logs context`.

use clap::Args;
use timestrata::logs::Clock;
use timestrata::logs::filter::Filter;
use timestrata::timelog::Unit;

use super::LogOfStore;
use super::print::{EntryFormat, Printer};
use crate::failure::{Failure, Result};
use crate::output::FormArg;
use crate::times::{self, Integers};

/// Print an entry with those around it, whatever they hold.
#[derive(Debug, Args)]
#[command(after_help = "\
The entry is marked with '>'. Its timestamp names it: take all nine digits behind the second.

Example:
  timestrata logs context ./store app 2026-05-01T10:00:00.123456789Z --before 20 --after 5")]
pub(super) struct ContextArgs {
    #[command(flatten)]
    of: LogOfStore,
    /// When the entry arrived, exactly as it is printed, or in nanoseconds.
    #[arg(allow_hyphen_values = true)]
    timestamp: String,
    /// Entries before it.
    #[arg(long, value_name = "ENTRIES", default_value_t = 5)]
    before: usize,
    /// Entries behind it.
    #[arg(long, value_name = "ENTRIES", default_value_t = 5)]
    after: usize,
    #[command(flatten)]
    form: FormArg<EntryFormat>,
}

pub(super) fn run(arguments: &ContextArgs) -> Result<()> {
    let ContextArgs { of, timestamp, before, after, form } = arguments;
    let hint = "give the timestamp of an entry with all its digits, as 'timestrata logs search' \
                prints it";
    let wanted = times::parse(timestamp, Integers::Of(Unit::Nano), Unit::Nano)
        .map_err(|problem| Failure::usage(problem, hint))?;
    let around = of.view()?.context(wanted, *before, *after)?;
    if around.is_empty() {
        let time = times::format(wanted, Unit::Nano);
        return Err(Failure::failed(format!("log '{}' has no entry of {time}", of.name), hint));
    }
    let mut printer = Printer::new(form.get(), Clock::Timestamp, &Filter::default());
    for entries in &around {
        for entry in entries.iter() {
            let mark = if entry.timestamp() == wanted { "> " } else { "  " };
            printer.marked(mark, &entry)?;
        }
    }
    printer.flush()
}
