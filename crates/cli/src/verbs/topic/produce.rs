//! `timestrata produce`.

use std::io::{self, BufRead, BufReader, Read};
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use indicatif::ProgressBar;
use timestrata::Access;
use timestrata::topic::{OwnedRecord, TopicOptions};
use timestrata::values::lines::NumberedLines;

use super::super::counted;
use super::pattern::unescaped;
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
  timestrata produce ./store payments --key-separator : < lines.txt
  echo '{\"cents\": 5}' | timestrata produce ./store payments -k alice -H source=till

As JSON a line is an object with key, value, headers and timestamp; the value may be an object or a list itself.")]
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
    #[arg(long, short = 'K', value_name = "TEXT", value_parser = unescaped_arg)]
    key_separator: Option<Escaped>,
    /// The key of all.
    #[arg(long, short, conflicts_with = "key_separator")]
    key: Option<String>,
    /// A header of all, as NAME=VALUE; may be given several times.
    #[arg(long, short = 'H', value_name = "NAME=VALUE", value_parser = header)]
    header: Vec<(String, String)>,
    /// An empty value, and an empty key, is null: a value that is null says that the key is gone.
    #[arg(long, short = 'Z')]
    empty_is_null: bool,
    /// What stands behind each record in the input, in place of a line's end.
    #[arg(long, short = 'D', value_name = "TEXT", value_parser = unescaped_arg)]
    delimiter: Option<Escaped>,
    /// Records at most.
    #[arg(long, short = 'c', value_name = "RECORDS")]
    limit: Option<u64>,
    /// The partition for all; default: by key.
    #[arg(long, short)]
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

/// Bytes as the command line has them.
#[derive(Debug, Clone)]
struct Escaped(Vec<u8>);

fn unescaped_arg(text: &str) -> std::result::Result<Escaped, String> {
    let bytes = unescaped(text)?;
    match bytes.is_empty() {
        false => Ok(Escaped(bytes)),
        true => Err("it must have a character".to_owned()),
    }
}

fn header(text: &str) -> std::result::Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err("write it as NAME=VALUE".to_owned()),
    }
}

impl ProduceArgs {
    /// The record of a line. Each is one: a blank line of text is an empty value.
    fn record_of(&self, line: &[u8]) -> std::result::Result<OwnedRecord, String> {
        let mut record = self.bare_record_of(line)?;
        if let (Some(key), None) = (&self.key, &record.key) {
            record.key = Some(key.clone().into_bytes());
        }
        let headers = self.header.iter();
        record.headers.extend(headers.map(|(name, value)| (name.clone(), value.clone().into())));
        if self.empty_is_null {
            record.key = record.key.filter(|key| !key.is_empty());
            record.value = record.value.filter(|value| !value.is_empty());
        }
        Ok(record)
    }

    fn bare_record_of(&self, line: &[u8]) -> std::result::Result<OwnedRecord, String> {
        if self.format == LineFormat::Json {
            let text = std::str::from_utf8(line).map_err(|error| error.to_string())?;
            let read = OwnedRecord::of_json_text(text);
            return read.map(|(record, _)| record).map_err(|error| error.message().to_owned());
        }
        let Some(Escaped(separator)) = &self.key_separator else {
            return Ok(OwnedRecord { value: Some(line.to_vec()), ..OwnedRecord::default() });
        };
        let place = line.windows(separator.len().max(1)).position(|window| window == separator);
        let place = place.ok_or_else(|| "the line has no key separator".to_owned())?;
        let value = line.get(place + separator.len()..).unwrap_or_default().to_vec();
        let key = line.get(..place).unwrap_or_default().to_vec();
        Ok(OwnedRecord { key: Some(key), value: Some(value), ..OwnedRecord::default() })
    }
}

pub(crate) fn run(arguments: &ProduceArgs) -> Result<()> {
    let input = input::open(&arguments.file, &ProgressBar::hidden())?;
    let store = arguments.store.open(Access::Write, None)?;
    if !store.names(Kind::Topic)?.contains(&arguments.topic) {
        store.create_topic(&arguments.topic, &TopicOptions::default())?;
    }
    let topic = store.topic(&arguments.topic)?;
    let mut lines = Messages::new(BufReader::new(input.reader), arguments.delimiter.as_ref());
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
        let is_enough = arguments.limit.is_some_and(|limit| sent + waiting.len() as u64 >= limit);
        let read = if is_enough { Ok(false) } else { lines.advance() };
        let is_end = !read.map_err(|error| failed(sent, lines.number(), error.to_string()))?;
        if !is_end {
            match arguments.record_of(lines.line()) {
                Ok(record) => waiting.push(record),
                Err(what) => {
                    sent += send(arguments, topic.as_ref(), &mut waiting)?;
                    return Err(failed(sent, lines.number(), what));
                }
            }
        }
        // Nothing more is there at once: who waits for it is not to wait for others.
        if is_end || waiting.len() >= arguments.batch || lines.has_to_wait() {
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

/// The input, record by record: lines, or what stands before each delimiter.
struct Messages<'a, R> {
    lines: NumberedLines<BufReader<R>>,
    delimiter: Option<&'a [u8]>,
    /// Where there is a delimiter: what was read of a record, and how many there were.
    message: Vec<u8>,
    number: u64,
}

impl<'a, R: Read> Messages<'a, R> {
    fn new(reader: BufReader<R>, delimiter: Option<&'a Escaped>) -> Self {
        let delimiter = delimiter.map(|Escaped(bytes)| bytes.as_slice());
        Self { lines: NumberedLines::new(reader), delimiter, message: Vec::new(), number: 0 }
    }

    /// Reads the next; false at the end. What stands behind the last delimiter is one too, unless it is nothing.
    fn advance(&mut self) -> io::Result<bool> {
        let Some((delimiter, last)) = self.delimiter.and_then(|all| Some((all, *all.last()?)))
        else {
            return self.lines.advance();
        };
        self.message.clear();
        loop {
            let read = self.lines.reader_mut().read_until(last, &mut self.message)?;
            if self.message.ends_with(delimiter) {
                self.message.truncate(self.message.len() - delimiter.len());
                break;
            }
            if read == 0 {
                // An editor ends the last line of a file.
                let is_blank = matches!(self.message.as_slice(), b"" | b"\n" | b"\r\n");
                if is_blank {
                    return Ok(false);
                }
                break;
            }
        }
        self.number += 1;
        Ok(true)
    }

    fn line(&self) -> &[u8] {
        if self.delimiter.is_some() { &self.message } else { self.lines.line() }
    }

    fn number(&self) -> u64 {
        if self.delimiter.is_some() { self.number } else { self.lines.number() }
    }

    /// Whether nothing more is there at once.
    fn has_to_wait(&self) -> bool {
        self.lines.reader().buffer().is_empty()
    }
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
