//! `timestrata consume` and `timestrata tail`.

use std::io::{self, BufWriter, Write};
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use timestrata::logs::filter::Filter;
use timestrata::logs::{Logs, is_logs};
use timestrata::timelog::Unit;
use timestrata::topic::{
    Consumer, ConsumerOptions, PollLimits, Polled, Record, Topic, TopicPartition,
};
use timestrata::{Access, Store};

use super::super::at::At;
use super::super::{logs, open};
use super::TopicOfStore;
use crate::failure::{Failure, Result};
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
    /// How records are printed.
    #[arg(long, value_enum, default_value_t = RecordFormat::Text)]
    format: RecordFormat,
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
    /// The store's directory.
    dir: PathBuf,
    /// The topic, or the log.
    name: String,
    /// How many to begin with, of each partition.
    #[arg(long, default_value_t = TAIL_RECORDS)]
    lines: u64,
    /// How records are printed.
    #[arg(long, value_enum, default_value_t = RecordFormat::Text)]
    format: RecordFormat,
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

pub(crate) fn run(arguments: &ConsumeArgs) -> Result<()> {
    let (store, topic) = match arguments.group {
        Some(_) => arguments.of.open(Access::WriteExisting)?,
        None => arguments.of.open_at(&arguments.at)?,
    };
    let mut consumer = consumer_of(&store, &topic, arguments)?;
    print(&mut consumer, arguments.format, arguments.limit, arguments.follow)?;
    consumer.close()?;
    store.close()?;
    Ok(())
}

pub(crate) fn run_tail(arguments: &TailArgs) -> Result<()> {
    let store = open(&arguments.dir, Access::Read)?;
    if store.stream(&arguments.name).is_some_and(|stream| is_logs(&stream)) {
        return tail_log(&store, arguments);
    }
    let topic = Topic::open(&store, &arguments.name)?;
    let mut consumer = Consumer::new(&store, ConsumerOptions::default())?;
    // Partitions that are added while it follows are read from their beginning.
    consumer.subscribe([topic.name()])?;
    consumer.refresh()?;
    for place in &places_of(&consumer) {
        let offsets = topic.offsets(place.partition)?;
        let first = offsets.end.saturating_sub(arguments.lines).max(offsets.start);
        consumer.seek(place, first)?;
    }
    print(&mut consumer, arguments.format, None, true)
}

fn tail_log(store: &Store, arguments: &TailArgs) -> Result<()> {
    let form = match arguments.format {
        RecordFormat::Text => logs::EntryFormat::Text,
        RecordFormat::Json => logs::EntryFormat::Json,
        RecordFormat::Keyed => {
            let message = format!("'{}' is a log: its entries have no keys", arguments.name);
            return Err(Failure::usage(message, "say --format text or json"));
        }
    };
    let last = usize::try_from(arguments.lines).unwrap_or(usize::MAX);
    let logs = Logs::open(store, &arguments.name)?;
    logs::follow(&logs, Filter::default(), logs::TailStart::Last(last), form)
}

/// The partitions that are read, of those that there are now.
fn places_of(consumer: &Consumer) -> Vec<TopicPartition> {
    consumer.assignment().cloned().collect()
}

fn consumer_of(store: &Store, topic: &Topic, arguments: &ConsumeArgs) -> Result<Consumer> {
    let group = arguments.group.clone();
    let auto_commit = group.is_some().then_some(Duration::ZERO);
    let options = ConsumerOptions { group, auto_commit, ..ConsumerOptions::default() };
    let mut consumer = Consumer::new(store, options)?;
    // Beside a group the command line has neither a partition nor a place to begin.
    match arguments.partition {
        Some(partition) => {
            let place = TopicPartition { topic: topic.name().to_owned(), partition };
            consumer.assign([place])?;
        }
        // Those that are added while it follows are read too, from their beginning.
        None => consumer.subscribe([topic.name()])?,
    }
    let from = match arguments.from.as_deref() {
        None | Some("earliest") => return Ok(consumer),
        Some(from) => from,
    };
    consumer.refresh()?;
    for place in &places_of(&consumer) {
        if from == "latest" {
            consumer.seek(place, topic.offsets(place.partition)?.end)?;
            continue;
        }
        match from.parse::<u64>() {
            // Past the end of a partition, nothing is printed before it has come so far.
            Ok(offset) => consumer.seek_or_wait(place, offset)?,
            Err(_) => {
                let time = times::parse(from, Integers::Of(Unit::Nano), Unit::Nano);
                let time = time.map_err(|problem| {
                    let hint = "give an offset, a time, 'earliest' or 'latest'";
                    Failure::usage(format!("--from: {problem}"), hint)
                })?;
                consumer.seek_to_time(place, time)?;
            }
        }
    }
    Ok(consumer)
}

/// Prints records until there are no more, or there are enough.
fn print(
    consumer: &mut Consumer,
    form: RecordFormat,
    limit: Option<usize>,
    is_following: bool,
) -> Result<()> {
    let mut out = BufWriter::new(io::stdout().lock());
    let mut left = limit.unwrap_or(usize::MAX);
    let timeout = if is_following { LOOK } else { Duration::ZERO };
    while left > 0 {
        let limits = PollLimits { records: left.min(1_000), ..PollLimits::default() };
        let polled = consumer.poll(timeout, limits)?;
        if polled.is_empty() && !is_following {
            break;
        }
        for Polled { place, records } in &polled {
            for (offset, record) in records.iter() {
                left = left.saturating_sub(1);
                write(&mut out, form, place, offset, &record).map_err(Failure::output)?;
            }
        }
        out.flush().map_err(Failure::output)?;
    }
    Ok(())
}

fn write(
    out: &mut impl Write,
    form: RecordFormat,
    place: &TopicPartition,
    offset: u64,
    record: &Record<'_>,
) -> io::Result<()> {
    match form {
        RecordFormat::Json => {
            return writeln!(out, "{}", record.to_json(&place.topic, place.partition, offset));
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
