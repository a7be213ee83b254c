//! `timestrata consume` and `timestrata tail`.

use std::io::{self, BufWriter, Write};
use std::time::Duration;

use clap::{Args, ValueEnum};
use timestrata::Access;
use timestrata::logs::filter::Filter;
use timestrata::timelog::Unit;
use timestrata::topic::Record;

use super::super::logs;
use super::TopicOfStore;
use crate::at::At;
use crate::faces::{Kind, RecordsFace, Start, StartPlace, StoreArg};
use crate::failure::{Failure, Result};
use crate::interrupt::Interrupt;
use crate::output::{Form, FormArg};
use crate::times::{self, Integers};

/// How long one look for new records takes at most.
const LOOK: Duration = Duration::from_secs(1);
/// Records that `tail` begins with.
const TAIL_RECORDS: u64 = 10;

/// Print records of a topic.
#[derive(Debug, Args)]
#[command(after_help = "\
Without a group nothing is remembered, and a store that is being written can be read. With one, \
reading goes on where the group has committed, and what was printed is committed.

Examples:
  timestrata consume ./store payments
  timestrata consume ./store payments --from 17 --limit 1 --format json
  timestrata consume ./store payments --from 2026-01-01T00:00:00Z --follow
  timestrata consume ./store payments --group ledger")]
pub(crate) struct ConsumeArgs {
    #[command(flatten)]
    of: TopicOfStore,
    /// Where to begin: an offset, a time, 'earliest' or 'latest'. Of partitions that end before an offset
    /// nothing is printed until they have come so far.
    #[arg(long, value_name = "PLACE")]
    from: Option<String>,
    /// Only this partition; default all.
    #[arg(long)]
    partition: Option<u32>,
    /// Records at most.
    #[arg(long, value_name = "RECORDS")]
    limit: Option<usize>,
    /// Wait for more when all have been printed.
    #[arg(long, short, conflicts_with = "at")]
    follow: bool,
    /// Go on where this group has committed, and commit what was printed.
    #[arg(long, conflicts_with_all = ["from", "partition", "at"])]
    group: Option<String>,
    #[command(flatten)]
    form: FormArg<RecordFormat>,
    #[command(flatten)]
    at: At,
}

/// Print the last records of a topic, or entries of a log, and wait for more.
#[derive(Debug, Args)]
#[command(after_help = "\
'timestrata logs tail' follows only those entries of a log that a filter lets through.

Examples:
  timestrata tail ./store payments --format json
  timestrata tail ./store app")]
pub(crate) struct TailArgs {
    #[command(flatten)]
    store: StoreArg,
    /// The topic, or the log.
    name: String,
    /// How many that are there already to begin with, of each partition.
    #[arg(long, value_name = "RECORDS", default_value_t = TAIL_RECORDS)]
    last: u64,
    #[command(flatten)]
    form: FormArg<RecordFormat>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum RecordFormat {
    /// The value, one a line; bytes that are no text as they are.
    Text,
    /// The value behind the key and a tab.
    Keyed,
    /// One JSON object a line, which 'verify-proof' and 'produce --format json' read.
    Json,
}

impl Form for RecordFormat {
    const DEFAULT: &'static str = "text";
    const JSON: Self = Self::Json;
}

pub(crate) fn run(arguments: &ConsumeArgs) -> Result<()> {
    let start = start_of(arguments)?;
    let (store, topic) = match arguments.group {
        Some(_) => arguments.of.open(Access::WriteExisting)?,
        None => arguments.of.open_at(&arguments.at)?,
    };
    let mut records = topic.read(&start)?;
    let of = Printed { topic: &arguments.of.topic, form: arguments.form.get() };
    print(records.as_mut(), &of, arguments.limit, arguments.follow)?;
    records.close()?;
    store.close()
}

pub(crate) fn run_tail(arguments: &TailArgs) -> Result<()> {
    let TailArgs { store, name, last, .. } = arguments;
    let format = arguments.form.get();
    // Of a log; a topic's records are read until the signal ends the command.
    if let Some(interrupt) = listening_for_a_log(arguments)? {
        let form = match format {
            RecordFormat::Text => logs::EntryFormat::Text,
            RecordFormat::Json => logs::EntryFormat::Json,
            RecordFormat::Keyed => {
                let message = format!("'{name}' is a log: its entries have no keys");
                return Err(Failure::usage(message, "say --format text or json"));
            }
        };
        let last = usize::try_from(*last).unwrap_or(usize::MAX);
        let logs = store.open(Access::Read, Some(&interrupt))?.logs(name)?;
        let start = logs::TailStart::Last(last);
        return logs::follow(logs.as_ref(), Filter::default(), start, form, &interrupt);
    }
    let topic = store.open(Access::Read, None)?.topic(name)?;
    let mut records = topic.read(&Start::Last(*last))?;
    print(records.as_mut(), &Printed { topic: name, form: format }, None, true)
}

fn listening_for_a_log(arguments: &TailArgs) -> Result<Option<Interrupt>> {
    let store = arguments.store.open(Access::Read, None)?;
    match store.kind_of(&arguments.name)? {
        Some(Kind::Logs) => Interrupt::listen().map(Some),
        _ => Ok(None),
    }
}

/// Where the command line has reading begin.
fn start_of(arguments: &ConsumeArgs) -> Result<Start> {
    // Beside a group the command line has neither a partition nor a place to begin.
    if let Some(group) = &arguments.group {
        return Ok(Start::Group(group.clone()));
    }
    let place = match arguments.from.as_deref() {
        None | Some("earliest") => StartPlace::Earliest,
        Some("latest") => StartPlace::Latest,
        Some(from) => match from.parse() {
            Ok(offset) => StartPlace::Offset(offset),
            Err(_) => {
                let time = times::parse(from, Integers::Of(Unit::Nano), Unit::Nano);
                StartPlace::Time(time.map_err(|problem| {
                    let hint = "give an offset, a time, 'earliest' or 'latest'";
                    Failure::usage(format!("--from: {problem}"), hint)
                })?)
            }
        },
    };
    Ok(Start::At(arguments.partition, place))
}

/// What is printed, and how.
struct Printed<'a> {
    topic: &'a str,
    form: RecordFormat,
}

/// Prints records until there are no more, or there are enough.
fn print(
    records: &mut dyn RecordsFace,
    of: &Printed<'_>,
    limit: Option<usize>,
    is_following: bool,
) -> Result<()> {
    let mut out = BufWriter::new(io::stdout().lock());
    let mut left = limit.unwrap_or(usize::MAX);
    let timeout = if is_following { LOOK } else { Duration::ZERO };
    while left > 0 {
        let taken = records.poll(timeout, left.min(1_000), &mut |partition, offset, record| {
            write(&mut out, of, partition, offset, record).map_err(Failure::output)
        })?;
        if taken == 0 && !is_following {
            break;
        }
        left = left.saturating_sub(taken);
        out.flush().map_err(Failure::output)?;
    }
    Ok(())
}

fn write(
    out: &mut impl Write,
    of: &Printed<'_>,
    partition: u32,
    offset: u64,
    record: &Record<'_>,
) -> io::Result<()> {
    match of.form {
        RecordFormat::Json => {
            return writeln!(out, "{}", record.to_json(of.topic, partition, offset));
        }
        RecordFormat::Text => {}
        RecordFormat::Keyed => {
            out.write_all(record.key.unwrap_or_default())?;
            out.write_all(b"\t")?;
        }
    }
    out.write_all(record.value.unwrap_or_default())?;
    out.write_all(b"\n")
}
