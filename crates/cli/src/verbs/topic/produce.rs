//! `timestrata produce`.

use std::io::BufReader;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use indicatif::ProgressBar;
use timestrata::Access;
use timestrata::topic::{OwnedRecord, TopicOptions};
use timestrata::values::lines::NumberedLines;

use super::super::counted;
use crate::faces::{Kind, StoreArg, TopicFace};
use crate::failure::{Failure, Result};
use crate::input;
use crate::message::tell;

/// Append records to a topic.
#[derive(Debug, Args)]
#[command(after_help = "\
Records go in commits of --batch, each synced before the next; input that comes slowly, as from a \
terminal, is committed line by line.

Examples:
  echo 'hello' | timestrata produce ./store greetings
  timestrata produce ./store payments payments.jsonl --format json
  timestrata produce ./store payments --key-separator : < lines.txt")]
pub(crate) struct ProduceArgs {
    #[command(flatten)]
    store: StoreArg,
    /// The topic; made with one partition if it is missing.
    topic: String,
    /// The file; '-' is stdin.
    #[arg(default_value = "-")]
    file: PathBuf,
    /// What a line is.
    #[arg(long, value_enum, default_value_t = LineFormat::Text)]
    format: LineFormat,
    /// Lines of text have their key before this, and their value behind it.
    #[arg(long, value_name = "TEXT")]
    key_separator: Option<String>,
    /// The partition for all; default: by key.
    #[arg(long)]
    partition: Option<u32>,
    /// Records of one commit at most.
    #[arg(long, default_value_t = 1_000, value_name = "RECORDS")]
    batch: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum LineFormat {
    /// A value.
    Text,
    /// A JSON object with key, value, headers and timestamp.
    Json,
}

/// The record of a line. Each is one: a blank line of text is an empty value.
fn record_of(arguments: &ProduceArgs, line: &[u8]) -> std::result::Result<OwnedRecord, String> {
    if arguments.format == LineFormat::Json {
        let value = serde_json::from_slice(line).map_err(|error| error.to_string())?;
        return OwnedRecord::of_json(&value).map_err(|error| error.message().to_owned());
    }
    let Some(separator) = &arguments.key_separator else {
        return Ok(OwnedRecord { value: Some(line.to_vec()), ..OwnedRecord::default() });
    };
    let separator = separator.as_bytes();
    let place = line.windows(separator.len().max(1)).position(|window| window == separator);
    let place = place.ok_or_else(|| "the line has no key separator".to_owned())?;
    let value = line.get(place + separator.len()..).unwrap_or_default().to_vec();
    let key = line.get(..place).unwrap_or_default().to_vec();
    Ok(OwnedRecord { key: Some(key), value: Some(value), ..OwnedRecord::default() })
}

pub(crate) fn run(arguments: &ProduceArgs) -> Result<()> {
    let input = input::open(&arguments.file, &ProgressBar::hidden())?;
    let store = arguments.store.open(Access::Write, None)?;
    if !store.names(Kind::Topic)?.contains(&arguments.topic) {
        store.create_topic(&arguments.topic, &TopicOptions::default())?;
    }
    let topic = store.topic(&arguments.topic)?;
    let mut lines = NumberedLines::new(BufReader::new(input.reader));
    let mut waiting = Vec::new();
    let mut sent = 0_u64;
    let failed = |sent: u64, number: u64, what: String| {
        let sent = counted(sent, "record");
        Failure::failed(
            format!("{}, line {number}: {what}; {sent} before it were appended", input.name),
            "mend the line, and produce from there on",
        )
    };
    loop {
        let read = lines.advance();
        let is_end = !read.map_err(|error| failed(sent, lines.number(), error.to_string()))?;
        if !is_end {
            match record_of(arguments, lines.line()) {
                Ok(record) => waiting.push(record),
                Err(what) => {
                    sent += send(arguments, topic.as_ref(), &mut waiting)?;
                    return Err(failed(sent, lines.number(), what));
                }
            }
        }
        // Nothing more is there at once: who waits for it is not to wait for others.
        if is_end || waiting.len() >= arguments.batch || lines.reader().buffer().is_empty() {
            sent += send(arguments, topic.as_ref(), &mut waiting)?;
        }
        if is_end {
            break;
        }
    }
    store.close()?;
    tell(format_args!("appended {} to '{}'", counted(sent, "record"), arguments.topic));
    Ok(())
}

/// Appends what is waiting, durably.
fn send(
    arguments: &ProduceArgs,
    topic: &dyn TopicFace,
    waiting: &mut Vec<OwnedRecord>,
) -> Result<u64> {
    if !waiting.is_empty() {
        topic.send(waiting, arguments.partition)?;
    }
    let sent = waiting.len() as u64;
    waiting.clear();
    Ok(sent)
}
