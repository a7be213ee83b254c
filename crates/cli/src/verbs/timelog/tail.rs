//! `timestrata timelog tail`.

use std::io::{BufWriter, Write, stdout};

use clap::{Args, ValueEnum};
use timestrata::Access;
use timestrata::timelog::TailCursor;

use crate::faces::{EntriesWanted, StoreArg, TailFrom, TimelogFace};
use crate::failure::{Failure, Result};
use crate::interrupt::{Interrupt, is_output_closed};
use crate::output::{Form, FormArg, Row};
use crate::ranges::TimeRange;
use crate::times::{self, Integers};

/// Entries that it begins with.
const LAST_ENTRIES: usize = 10;

/// Print the last entries of a time log, and each that comes from then on.
#[derive(Debug, Args)]
#[command(after_help = "\
By time, an entry that comes late, before one that was printed, has been passed and is left out. With --late all entries \
come that commits add, each once and in the order of commits, and none that is there already; how far back --after may \
lie then the setting history_min says.

With --cursor a line also has the place behind its entry, which --after goes on from and leaves none out. Beside a process \
that writes, an entry is seen within some hundredths of a second. Ctrl-C ends it in good order.

Examples:
  timestrata timelog tail ./store door
  timestrata timelog tail ./store door --json --since 2026-05-01 --cursor | ./ship
  timestrata timelog tail ./store door --json --after t.1767225600000.1.57
  timestrata timelog tail http://127.0.0.1:8080 door --late")]
pub(super) struct TailArgs {
    #[command(flatten)]
    store: StoreArg,
    /// The time log.
    name: String,
    /// How many that are there already to begin with. Default: 10; with --late none.
    #[arg(long, value_name = "ENTRIES", conflicts_with_all = ["since", "after", "late"])]
    last: Option<usize>,
    /// Begin with the entries from this time on; integers are in the log's unit.
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    since: Option<String>,
    /// Begin behind the entry whose place this is.
    #[arg(long, value_name = "CURSOR", conflicts_with = "since")]
    after: Option<TailCursor>,
    /// Print entries that come late too, in the order of commits.
    #[arg(long)]
    late: bool,
    /// Print the place behind each entry too.
    #[arg(long)]
    cursor: bool,
    #[command(flatten)]
    form: FormArg<EntryForm>,
}

/// How an entry is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum EntryForm {
    /// Its time, and its value as JSON.
    Text,
    /// A JSON object: its time, and the fields of its value.
    Json,
}

impl Form for EntryForm {
    const DEFAULT: &'static str = "text";
    const JSON: Self = Self::Json;
}

/// Where following begins.
#[derive(Debug)]
pub(crate) enum TailBegin {
    /// With so many that are there.
    Last(usize),
    /// At a place.
    At(TailFrom),
}

pub(super) fn run(arguments: &TailArgs) -> Result<()> {
    let interrupt = Interrupt::listen()?;
    let log = arguments.store.open(Access::Read, Some(&interrupt))?.timelog(&arguments.name)?;
    let since = arguments.since.as_deref().map(|text| {
        times::parse(text, Integers::Of(log.unit()), log.unit()).map_err(|why| {
            let hint = format!("integers are in the log's unit, '{}'", log.unit());
            Failure::usage(format!("--since: {why}"), hint)
        })
    });
    let (since, after, late) = (since.transpose()?, arguments.after, arguments.late);
    let begin = match since.is_some() || after.is_some() || late {
        true => TailBegin::At(TailFrom { since, after, late }),
        false => TailBegin::Last(arguments.last.unwrap_or(LAST_ENTRIES)),
    };
    follow(log.as_ref(), begin, arguments.form.get(), arguments.cursor, &interrupt)
}

/// Prints entries from a place on, as they come, until somebody has had enough.
pub(crate) fn follow(
    log: &dyn TimelogFace,
    begin: TailBegin,
    form: EntryForm,
    with_cursor: bool,
    interrupt: &Interrupt,
) -> Result<()> {
    let mut out = BufWriter::new(stdout().lock());
    let mut print = |row: &Row, cursor: Option<TailCursor>| -> Result<()> {
        let cursor = cursor.filter(|_| with_cursor).map(|cursor| cursor.to_string());
        match form {
            EntryForm::Json => row.write_json(log.unit(), cursor.as_deref(), &mut out),
            EntryForm::Text => row.write_line(log.unit(), cursor.as_deref(), &mut out),
        }?;
        out.flush().map_err(Failure::output)
    };
    let (from, last) = match begin {
        TailBegin::At(from) => (from, 0),
        TailBegin::Last(last) => (TailFrom::default(), last),
    };
    let mut tail = log.tail(&from)?;
    for row in before(log, tail.cursor(), last)? {
        print(&row, None)?;
    }
    while !interrupt.is_heard() && !is_output_closed() {
        let found = match tail.next() {
            Err(_) if interrupt.is_heard() => break,
            found => found?,
        };
        found.iter().try_for_each(|(row, cursor)| print(row, Some(*cursor)))?;
    }
    Ok(())
}

/// The last entries before a place, oldest first: what comes behind it is left to the tail.
fn before(log: &dyn TimelogFace, place: TailCursor, last: usize) -> Result<Vec<Row>> {
    let Some((time, given)) = place.time_place() else { return Ok(Vec::new()) };
    let rows = |range, limit, reverse| -> Result<Vec<Row>> {
        log.rows(EntriesWanted { range, limit: Some(limit), reverse })?.rows().collect()
    };
    let behind = time.checked_add(1);
    let given = usize::try_from(given).unwrap_or(usize::MAX);
    let mut found = rows(TimeRange { from: Some(time), to: behind }, given, false)?;
    found.drain(..found.len().saturating_sub(last));
    let earlier = TimeRange { from: None, to: Some(time) };
    let mut all = rows(earlier, last.saturating_sub(found.len()), true)?;
    all.reverse();
    all.append(&mut found);
    Ok(all)
}
