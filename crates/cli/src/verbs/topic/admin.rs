//! `timestrata topic`.

use std::io::{self, Write};
use std::time::Duration;

use clap::{Args, ValueEnum};
use serde_json::{Value, json};
use timestrata::topic::{Stamp, TopicOptions, TopicRetention};
use timestrata::{Access, RunCompression};

use super::super::{counted, grouped, verbs};
use super::Opened;
use crate::faces::{Kind, RetentionChange, StoreArg};
use crate::failure::{Failure, Result};
use crate::message::tell;
use crate::output::table::Table;
use crate::output::{FormArg, ReportFormat, print};
use crate::times;

/// Make, list, describe, change, audit and delete topics.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  timestrata topic create ./store payments --partitions 4
  timestrata topic list ./store
  timestrata topic describe ./store payments --json
  timestrata topic set ./store payments --retention-age 30d
  timestrata topic audit ./store payments
  timestrata topic delete ./store payments

'audit' holds each record against the hash of the day it was appended, the hashes against each other, \
and all against the last checkpoint. It finds what somebody has changed who made the checksums of \
the files fit; 'timestrata check' finds what a disk has damaged. A server audits its own: who doesn't trust its word \
verifies the topic from afar, by URL/topics/TOPIC/log/PARTITION/.")]
pub(crate) struct TopicCommand {
    #[command(subcommand)]
    verb: Verb,
}

verbs! {
    Create: Create => create,
    List: List => list,
    Describe: Describe => describe,
    Set: Set => set,
    Retain: Retain => retain,
    Audit: Audit => audit,
    Delete: Delete => delete,
}

/// Make a topic. Fine if it exists with the same options.
#[derive(Debug, Args)]
struct Create {
    #[command(flatten)]
    store: StoreArg,
    /// 1 to 249 of letters, digits, '.', '_' and '-'.
    name: String,
    /// How many partitions.
    #[arg(long, default_value_t = 1)]
    partitions: u32,
    /// Most bytes of a record's key, value and headers together.
    #[arg(long, value_name = "BYTES", default_value_t = TopicOptions::default().record_bytes_max)]
    record_bytes_max: u64,
    /// Whose clock records have.
    #[arg(long, value_enum, default_value_t = Clock::Producer)]
    timestamp: Clock,
    /// How records are packed once they have settled: zstd, zstd:LEVEL (1 to 22), lz4 or none. With none they lie in Arrow
    /// files, read without decoding. Default: zstd.
    #[arg(long, value_name = "CODEC")]
    compression: Option<RunCompression>,
    /// Keep the entries of records that are thrown away, hashes of their parts: exports stay whole.
    #[arg(long)]
    keep_entries: bool,
    #[command(flatten)]
    retention: RetentionArgs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Clock {
    /// The producer's; the store's where it says none.
    Producer,
    /// The store's, whatever the producer says.
    Store,
}

/// What may be thrown away of each partition.
#[derive(Debug, Args)]
struct RetentionArgs {
    /// Throw away records older than this: 90s, 15m, 12h, 30d.
    #[arg(long, value_name = "SPAN", value_parser = times::span)]
    retention_age: Option<Duration>,
    /// Throw away the oldest records beyond so many bytes.
    #[arg(long, value_name = "BYTES")]
    retention_bytes: Option<u64>,
    /// Throw away the oldest records beyond so many.
    #[arg(long, value_name = "RECORDS")]
    retention_records: Option<u64>,
    /// Throw away of each key all but the last record.
    #[arg(long)]
    compact: bool,
    /// Forget groups that have no members and committed nothing for so long.
    #[arg(long, value_name = "SPAN", value_parser = times::span)]
    retention_groups_age: Option<Duration>,
}

impl RetentionArgs {
    fn retention(&self) -> TopicRetention {
        TopicRetention {
            age_ns: self.retention_age.map(times::nanoseconds),
            bytes: self.retention_bytes,
            records: self.retention_records,
            compact: self.compact,
            groups_age_ns: self.retention_groups_age.map(times::nanoseconds),
        }
    }
}

/// List topics.
#[derive(Debug, Args)]
struct List {
    #[command(flatten)]
    store: StoreArg,
    #[command(flatten)]
    form: FormArg<ReportFormat>,
}

/// Print what a topic is and has.
#[derive(Debug, Args)]
struct Describe {
    #[command(flatten)]
    topic: NamedTopic,
    #[command(flatten)]
    form: FormArg<ReportFormat>,
}

/// Have more partitions, or another retention: what is not named stays as it is.
#[derive(Debug, Args)]
struct Set {
    #[command(flatten)]
    topic: NamedTopic,
    /// How many partitions: never fewer than there are. Keys go to other partitions then.
    #[arg(long)]
    partitions: Option<u32>,
    /// Keep everything: no bound that was said before counts any more.
    #[arg(long, conflicts_with_all = ["retention_age", "retention_bytes", "retention_records",
                                      "compact", "retention_groups_age"])]
    keep_all: bool,
    #[command(flatten)]
    retention: RetentionArgs,
}

/// Throw away now what retention lets go.
#[derive(Debug, Args)]
struct Retain {
    #[command(flatten)]
    topic: NamedTopic,
}

/// Hold each record against its hash, and all against the last checkpoint.
#[derive(Debug, Args)]
struct Audit {
    #[command(flatten)]
    topic: NamedTopic,
}

/// Delete a topic and all of its records.
#[derive(Debug, Args)]
struct Delete {
    #[command(flatten)]
    topic: NamedTopic,
}

#[derive(Debug, Args)]
struct NamedTopic {
    #[command(flatten)]
    store: StoreArg,
    /// The topic.
    name: String,
}

impl NamedTopic {
    /// The store, and the topic in it.
    fn open(&self, access: Access) -> Result<Opened> {
        let store = self.store.open(access, None)?;
        let topic = store.topic(&self.name)?;
        Ok((store, topic))
    }
}

pub(crate) fn run(arguments: &TopicCommand) -> Result<()> {
    arguments.verb.run()
}

fn create(arguments: &Create) -> Result<()> {
    let store = arguments.store.open(Access::Write, None)?;
    let options = TopicOptions {
        partitions: arguments.partitions,
        record_bytes_max: arguments.record_bytes_max,
        stamp: match arguments.timestamp {
            Clock::Producer => Stamp::Producer,
            Clock::Store => Stamp::Store,
        },
        retention: arguments.retention.retention(),
        compression: arguments.compression,
        keep_entries: arguments.keep_entries,
    };
    store.create_topic(&arguments.name, &options)?;
    store.close()?;
    let partitions = counted(arguments.partitions.into(), "partition");
    tell(format_args!("topic '{}' has {partitions}", arguments.name));
    Ok(())
}

fn list(arguments: &List) -> Result<()> {
    let store = arguments.store.open(Access::Read, None)?;
    let mut out = io::stdout().lock();
    let mut table = Table::new(["name", "partitions", "offsets"].into_iter());
    let mut broken: Option<Failure> = None;
    for name in store.names(Kind::Topic)? {
        let described = store.topic(&name).and_then(|topic| topic.described());
        // One that can't be read hides no other.
        let described = described.unwrap_or_else(|failure| {
            let line = json!({ "name": name, "error": failure.message() });
            broken.get_or_insert(failure);
            line
        });
        if arguments.form.is_json() {
            writeln!(out, "{described}").map_err(Failure::output)?;
            continue;
        }
        let (mut partitions, mut offsets) = ("?".to_owned(), "?".to_owned());
        if let Some(list) = described.get("partitions").and_then(Value::as_array) {
            let end = |of: &Value| of.get("end").and_then(Value::as_u64).unwrap_or(0);
            partitions = list.len().to_string();
            offsets = grouped(list.iter().map(end).sum());
        }
        table.push(vec![name, partitions, offsets], &mut out).map_err(Failure::output)?;
    }
    if !arguments.form.is_json() {
        table.finish(&mut out).map_err(Failure::output)?;
    }
    broken.map_or(Ok(()), Err)
}

fn describe(arguments: &Describe) -> Result<()> {
    let (_store, topic) = arguments.topic.open(Access::Read)?;
    let described = topic.described()?;
    if arguments.form.is_json() {
        return print(format_args!("{described}\n"));
    }
    let mut out = io::stdout().lock();
    let mut table = Table::new(["partition", "first", "end", "root"].into_iter());
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let write = || {
        for (name, value) in described.as_object().into_iter().flatten() {
            match value.as_array() {
                None => writeln!(out, "{name}: {}", text(value))?,
                Some(partitions) => {
                    for of in partitions {
                        let columns = ["partition", "first", "end", "root"];
                        let cells = columns.map(|column| text(&of[column])).to_vec();
                        table.push(cells, &mut out)?;
                    }
                }
            }
        }
        writeln!(out)?;
        table.finish(&mut out)
    };
    write().map(|_| ()).map_err(Failure::output)
}

fn set(arguments: &Set) -> Result<()> {
    let (store, topic) = arguments.topic.open(Access::WriteExisting)?;
    let named = arguments.retention.retention();
    let retention = RetentionChange { keep_all: arguments.keep_all, named };
    topic.change(arguments.partitions, &retention)?;
    store.close()?;
    Ok(())
}

fn retain(arguments: &Retain) -> Result<()> {
    let (store, topic) = arguments.topic.open(Access::WriteExisting)?;
    let (expired, superseded) = topic.retain()?;
    store.close()?;
    tell(format_args!(
        "{} expired, {} superseded",
        counted(expired, "record"),
        grouped(superseded)
    ));
    Ok(())
}

fn audit(arguments: &Audit) -> Result<()> {
    let (_store, topic) = arguments.topic.open(Access::Read)?;
    for partition in 0..topic.partitions()? {
        let (records, size, root) = topic.audit(partition)?;
        print(format_args!("{partition} {size} {root}\n"))?;
        tell(format_args!(
            "partition {partition}: {} of {} held against their hashes: sound",
            grouped(records),
            counted(size, "record")
        ));
    }
    Ok(())
}

fn delete(arguments: &Delete) -> Result<()> {
    let NamedTopic { store, name } = &arguments.topic;
    let store = store.open(Access::WriteExisting, None)?;
    store.drop_topic(name)?;
    store.close()?;
    tell(format_args!("topic '{name}' is gone"));
    Ok(())
}
