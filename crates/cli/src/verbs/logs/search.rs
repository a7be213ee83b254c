//! `timestrata logs search` and `timestrata logs count`.

use clap::Args;
#[cfg(feature = "sql")]
use timestrata::logs::filter::Question;
use timestrata::logs::{Clock, Entries, EntryRef, Position, Query};
use timestrata::timelog::Unit;

use super::print::{EntryFormat, Printer};
#[cfg(feature = "sql")]
use super::stats;
use super::{LogOfStore, Wanted};
use crate::faces::LogsFace;
use crate::failure::{Failure, Result};
use crate::message::tell;
#[cfg(feature = "sql")]
use crate::output::Format;
use crate::output::{FormArg, FoundEntries, print};
use crate::terminal::Look;
use crate::times::{self, Integers};

/// Entries that a terminal gets where nobody says how many.
const TERMINAL_ENTRIES: usize = 1_000;

/// Print the entries that a filter lets through, oldest first.
#[derive(Debug, Args)]
#[command(after_help = "\
A FILTER says what entries must have:
  disk full            both words, in any case, in the message, a field or a label
  \"disk full\"          the phrase
  dis*                 words that begin so
  /time ?out/i         a regular expression; i: in any case
  level>=warn          that level, or a worse one
  status:5* host:web   a field or label with such a word; outer.inner is a field in a field
  bytes>1000 user=ada  a field or label that compares so
  trace_id:*           a field that is there
  not a and (b or c)   what combines them; words side by side must all be there
What stands behind a bar counts what is found: 'error | stats count by host', as 'timestrata logs \
stats --help' tells.
Put it into single quotes, so that the shell takes nothing of it for its own.

On a terminal only the last 1,000 entries are printed, unless --limit, --last or --reverse says \
otherwise; elsewhere all are. Where there are more, stderr says how to go on.

The range is half-open: --from is in it, --to is not. Integers are nanoseconds. A line begins with \
the time of the clock that the log goes by, or that --by names. The other time is among the fields: that of the sender where \
the two are more than a second apart, and always that of the arrival, which 'context' and '--after' \
take. Control characters are shown as escapes, so that each entry is one line.

Examples:
  timestrata logs search ./store app 'level>=error' --since 2h
  timestrata logs search ./store app '\"out of memory\" -host:web-1' --last 20
  timestrata logs search ./store app 'status:5*' --by source_time --from 2026-05-01
  timestrata logs search ./store app user:ada --format json | jq .fields.path")]
pub(super) struct SearchArgs {
    #[command(flatten)]
    of: LogOfStore,
    #[command(flatten)]
    wanted: Wanted,
    /// Newest first.
    #[arg(long)]
    reverse: bool,
    /// Entries wanted at most: the first ones.
    #[arg(long, value_name = "ENTRIES")]
    limit: Option<usize>,
    /// Only the last ones, oldest of them first.
    #[arg(long, value_name = "ENTRIES", conflicts_with_all = ["limit", "reverse", "after"])]
    last: Option<usize>,
    /// Go on behind an entry: what an answer that was cut tells, or an entry's timestamp.
    #[arg(long, value_name = "POSITION", allow_hyphen_values = true)]
    after: Option<String>,
    #[command(flatten)]
    form: FormArg<EntryFormat>,
}

/// Print how many entries a filter lets through.
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  timestrata logs count ./store app 'level>=error' --since 24h")]
pub(super) struct CountArgs {
    #[command(flatten)]
    of: LogOfStore,
    #[command(flatten)]
    wanted: Wanted,
}

pub(super) fn run(arguments: &SearchArgs) -> Result<()> {
    #[cfg(feature = "sql")]
    if Question::has_stages(&arguments.wanted.filtered.text()) {
        return figures(arguments);
    }
    let mut query = arguments.wanted.query()?;
    query.newest_first = arguments.reverse;
    query.limit = arguments.limit;
    let view = arguments.of.view()?;
    let by = query.by.map_or_else(|| view.clock(), Ok)?;
    query.by = Some(by);
    query.after = arguments.after.as_deref().map(|text| position(text, by)).transpose()?;
    let mut printer = Printer::new(arguments.form.get(), by, &query.filter);
    let is_bounded = arguments.limit.is_some() || arguments.reverse || query.after.is_some();
    match arguments.last {
        Some(last) => print_last(view.as_ref(), &query, last, &mut printer),
        None if !is_bounded && Look::of_stdout().is_terminal => {
            print_last(view.as_ref(), &query, TERMINAL_ENTRIES, &mut printer)
        }
        None => print_first(view.as_ref(), &query, &mut printer),
    }
}

/// Answers a filter that asks for figures, as `stats` does.
#[cfg(feature = "sql")]
fn figures(arguments: &SearchArgs) -> Result<()> {
    let given = [
        ("--limit", arguments.limit.is_some()),
        ("--last", arguments.last.is_some()),
        ("--reverse", arguments.reverse),
        ("--after", arguments.after.is_some()),
        ("--format message", arguments.form.get() == EntryFormat::Message),
    ];
    if let Some((option, _)) = given.into_iter().find(|(_, is_given)| *is_given) {
        return Err(stats::not_with_figures(option));
    }
    let format = match arguments.form.get() {
        EntryFormat::Json => Format::Json,
        _ => Format::Table,
    };
    let LogOfStore { store, name, at } = &arguments.of;
    let Wanted { filtered, range } = &arguments.wanted;
    stats::answer(store, at, std::slice::from_ref(name), &filtered.text(), range, format)
}

/// Prints the hits in the query's order, and tells where it stopped if there are more.
fn print_first(view: &dyn LogsFace, query: &Query, printer: &mut Printer) -> Result<()> {
    let limit = query.limit.unwrap_or(usize::MAX);
    // One too many is asked for, to know whether there are more.
    let query = Query { limit: query.limit.map(|limit| limit.saturating_add(1)), ..query.clone() };
    let (mut printed, mut last) = (0, None);
    let found = view.search(&query)?;
    let by = found.clock;
    for entries in found.batches {
        let entries = entries?;
        for entry in entries.iter() {
            if printed == limit {
                printer.flush()?;
                tell_cut(&query, last);
                return Ok(());
            }
            printer.entry(&entry)?;
            printed += 1;
            last = Some(entry.position(by));
        }
        printer.flush()?;
    }
    Ok(())
}

/// Prints the last hits, oldest of them first, and tells if there are earlier ones.
pub(super) fn print_last(
    view: &dyn LogsFace,
    query: &Query,
    last: usize,
    printer: &mut Printer,
) -> Result<()> {
    let query = Query { newest_first: true, limit: Some(last.saturating_add(1)), ..query.clone() };
    let FoundEntries { clock: by, batches, .. } = view.search(&query)?;
    let batches: Vec<Entries> = batches.collect::<timestrata::Result<_>>()?;
    let found: Vec<EntryRef<'_>> = batches.iter().flat_map(Entries::iter).collect();
    let shown = found.get(..last).unwrap_or(&found);
    shown.iter().rev().try_for_each(|entry| printer.entry(entry))?;
    printer.flush()?;
    if shown.len() < found.len() {
        tell_cut(&query, shown.last().map(|oldest| oldest.position(by)));
    }
    Ok(())
}

/// Tells how to get what a limit has cut off.
fn tell_cut(query: &Query, last: Option<Position>) {
    let Some(last) = last else { return };
    match query.newest_first {
        true => tell(format_args!("there are earlier entries: --reverse --after {last}")),
        false => tell(format_args!("there are more entries: --after {last}")),
    }
}

/// Reads a position: one that an earlier answer told, or, by the clock of arrivals, the time of one.
pub(super) fn position(text: &str, by: Clock) -> Result<Position> {
    if let Ok(position) = text.parse() {
        return Ok(position);
    }
    let time = match by {
        Clock::Timestamp => times::parse(text, Integers::Of(Unit::Nano), Unit::Nano),
        Clock::SourceTime => Err(format!("'{}' is no position", times::shorten(text))),
    };
    let time = time.map_err(|problem| {
        let hint = "give what an answer that was cut has told; by timestamp also that of an entry";
        Failure::usage(format!("--after: {problem}"), hint)
    })?;
    Ok(Position { time, timestamp: time })
}

pub(super) fn count(arguments: &CountArgs) -> Result<()> {
    let query = arguments.wanted.query()?;
    print(format_args!("{}\n", arguments.of.view()?.count(&query)?))
}
