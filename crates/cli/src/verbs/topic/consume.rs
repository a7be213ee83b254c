//! `timestrata consume` and `timestrata tail`.

use clap::{Args, ValueEnum};
use timestrata::Access;
use timestrata::logs::filter::Filter;

use super::super::{logs, timelog};
use super::TopicOfStore;
use super::pattern::{Pattern, unescaped};
use super::place::place;
use super::printing::{Printed, RecordForm, print};
use crate::at::At;
use crate::faces::{Kind, Start, StartPlace, StoreArg};
use crate::failure::{Failure, Result};
use crate::interrupt::Interrupt;
use crate::output::{Form, FormArg};
use crate::times;

/// Records that `tail` begins with.
const TAIL_RECORDS: u64 = 10;

/// Print records of a topic.
#[derive(Debug, Args)]
#[command(after_help = "\
Without a group nothing is remembered, and a store that is being written can be read. With one, \
reading goes on where the group has committed, and what was printed is committed.

A pattern has %s and %S for the value and its bytes, %k and %K for the key, %t topic, %p partition, %o offset, %T time in \
milliseconds since 1970, %h headers, and \\n and the like; nothing stands behind a record but what it says.

Examples:
  timestrata consume ./store payments
  timestrata consume ./store payments --from 17 --limit 1 --format json
  timestrata consume ./store payments --from 2026-01-01T00:00:00Z --follow
  timestrata consume ./store payments -o -5 -f '%p:%o %k=%s\\n'
  timestrata consume ./store payments --group ledger")]
pub(crate) struct ConsumeArgs {
    #[command(flatten)]
    of: TopicOfStore,
    /// Where to begin: an offset, the last so many ('-5'), a time, 'earliest' or 'latest' ('beginning', 'end'). Of
    /// partitions that end before an offset nothing is printed until they have come so far.
    #[arg(long, short = 'o', value_name = "PLACE", allow_hyphen_values = true)]
    from: Option<String>,
    /// The first place that is not printed any more: an offset, a time, or 'latest' as it is now.
    #[arg(long, value_name = "PLACE", conflicts_with = "group")]
    to: Option<String>,
    /// Only this partition; default all.
    #[arg(long, short)]
    partition: Option<u32>,
    /// Records at most.
    #[arg(long, short = 'c', value_name = "RECORDS")]
    limit: Option<usize>,
    /// Wait for more when all have been printed.
    #[arg(long, short = 'F', conflicts_with = "at")]
    follow: bool,
    /// End when all have been printed, which is done in any case unless --follow asks for more.
    #[arg(long, short = 'e', conflicts_with = "follow")]
    exit: bool,
    /// Go on where this group has committed, and commit what was printed.
    #[arg(long, conflicts_with_all = ["from", "partition", "at"])]
    group: Option<String>,
    /// Print each record by this pattern.
    #[arg(long, short = 'f', value_name = "PATTERN", conflicts_with_all = ["format", "json"])]
    pattern: Option<String>,
    /// Print the key, and this before the value.
    #[arg(long, short = 'K', value_name = "TEXT", conflicts_with_all = ["format", "json", "pattern"])]
    key_delimiter: Option<String>,
    /// Print this behind each record, in place of a line's end.
    #[arg(long, short = 'D', value_name = "TEXT", conflicts_with_all = ["json", "pattern"])]
    delimiter: Option<String>,
    /// What is printed for a key or a value that is null; default: nothing, as for an empty one.
    #[arg(long, value_name = "TEXT")]
    null: Option<String>,
    /// The same as --null NULL.
    #[arg(short = 'Z', conflicts_with = "null")]
    null_by_name: bool,
    #[command(flatten)]
    form: FormArg<RecordFormat>,
    #[command(flatten)]
    at: At,
}

/// Print the last records of a topic, or entries of a log or a time log, and wait for more.
#[derive(Debug, Args)]
#[command(after_help = "\
'timestrata logs tail' follows only those entries of a log that a filter lets through, 'timestrata timelog tail' from \
a time or a place on.

Examples:
  timestrata tail ./store payments --format json
  timestrata tail ./store app")]
pub(crate) struct TailArgs {
    #[command(flatten)]
    store: StoreArg,
    /// The topic, the log, or the time log.
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
    let to = arguments.to.as_deref().map(|to| place("--to", to)).transpose()?;
    let mut of = Printed {
        topic: &arguments.of.topic,
        form: arguments.record_form()?,
        null: match (&arguments.null, arguments.null_by_name) {
            (Some(null), _) => bytes_of("--null", null)?,
            (None, is_named) => {
                if is_named {
                    b"NULL".to_vec()
                } else {
                    Vec::new()
                }
            }
        },
        limit: arguments.limit,
        is_following: arguments.follow,
        ends: None,
    };
    let (store, topic) = match arguments.group {
        Some(_) => arguments.of.open(Access::WriteExisting)?,
        None => arguments.of.open_at(&arguments.at)?,
    };
    if let Some(to) = to {
        let mut ends = topic.offsets_at(to)?;
        ends.retain(|partition, end| {
            *end > 0 && arguments.partition.is_none_or(|only| only == *partition)
        });
        of.ends = Some(ends);
    }
    let mut records = topic.read(&start)?;
    print(records.as_mut(), &of)?;
    records.close()?;
    store.close()
}

/// What a text on the command line stands for.
fn bytes_of(option: &str, text: &str) -> Result<Vec<u8>> {
    unescaped(text).map_err(|what| Failure::usage(format!("{option}: {what}"), "mend it"))
}

impl ConsumeArgs {
    fn record_form(&self) -> Result<RecordForm> {
        if let Some(text) = &self.pattern {
            let pattern = Pattern::read(text)
                .map_err(|what| Failure::usage(format!("--pattern: {what}"), "mend the pattern"))?;
            if !pattern.is_of_a_record() {
                return Err(Failure::usage(
                    format!("--pattern: '{}' has nothing of a record in it", times::shorten(text)),
                    "write such as -f '%s\\n'; to wait for more records say --follow, or -F",
                ));
            }
            return Ok(RecordForm::Pattern(pattern));
        }
        let behind = match &self.delimiter {
            Some(text) => bytes_of("--delimiter", text)?,
            None => b"\n".to_vec(),
        };
        let between = match &self.key_delimiter {
            Some(text) => Some(bytes_of("--key-delimiter", text)?),
            None => None,
        };
        Ok(match (self.form.get(), between) {
            (RecordFormat::Keyed, None) => {
                RecordForm::Text { between: Some(b"\t".to_vec()), behind }
            }
            (RecordFormat::Json, None) => RecordForm::Json,
            (_, between) => RecordForm::Text { between, behind },
        })
    }
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
    let opened = store.open(Access::Read, None)?;
    if opened.kind_of(name)? == Some(Kind::Timelog) {
        drop(opened);
        return follow_a_timelog(arguments);
    }
    let topic = opened.topic(name)?;
    let mut records = topic.read(&Start::At(None, StartPlace::Last(*last)))?;
    let behind = b"\n".to_vec();
    let form = match format {
        RecordFormat::Json => RecordForm::Json,
        RecordFormat::Text => RecordForm::Text { between: None, behind },
        RecordFormat::Keyed => RecordForm::Text { between: Some(b"\t".to_vec()), behind },
    };
    let null = Vec::new();
    let of = Printed { topic: name, form, null, limit: None, is_following: true, ends: None };
    print(records.as_mut(), &of)
}

fn follow_a_timelog(arguments: &TailArgs) -> Result<()> {
    let form = match arguments.form.get() {
        RecordFormat::Text => timelog::EntryForm::Text,
        RecordFormat::Json => timelog::EntryForm::Json,
        RecordFormat::Keyed => {
            let message = format!("'{}' is a time log: its entries have no keys", arguments.name);
            return Err(Failure::usage(message, "say --format text or json"));
        }
    };
    let interrupt = Interrupt::listen()?;
    let store = arguments.store.open(Access::Read, Some(&interrupt))?;
    let begin = timelog::TailBegin::Last(usize::try_from(arguments.last).unwrap_or(usize::MAX));
    timelog::follow(store.timelog(&arguments.name)?.as_ref(), begin, form, false, &interrupt)
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
    let from = arguments.from.as_deref().map(|from| place("--from", from)).transpose()?;
    Ok(Start::At(arguments.partition, from.unwrap_or(StartPlace::Earliest)))
}
