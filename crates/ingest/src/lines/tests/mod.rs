//! Lines in, entries out.

mod access;
mod encodings;
mod envelope;
mod guess;
mod joins;
mod journal;
mod json;
mod logfmt;
mod object;
mod patterns;
mod plain;
mod random;
mod reader;
mod real;
mod syslog;

use arrow_schema::TimeUnit;
use ciborium::Value;
use timestrata_logs::NewEntry;
use timestrata_values::instant::Instant;

use super::*;

/// When the logs of these tests were written at the latest.
const REFERENCE: &str = "2026-11-23T13:09:20Z";

/// Nanoseconds of a time.
fn at(text: &str) -> i64 {
    Instant::parse(text.as_bytes()).unwrap().to_unit(TimeUnit::Nanosecond).unwrap()
}

fn options() -> SourceOptions {
    SourceOptions::new(at(REFERENCE))
}

/// The entry of a line, which has to be one that can be read.
fn read(format: Format, line: impl AsRef<[u8]>) -> NewEntry {
    let line = line.as_ref();
    let mut entry = NewEntry::default();
    let mut parser = LineParser::new(format, &options());
    let parsed = parser.parse(line, &mut entry);
    assert_eq!(parsed, Parsed::Entry, "{}", line.escape_ascii());
    entry
}

/// The entry of a line with a flaw, and the flaw.
fn read_flawed(format: Format, line: impl AsRef<[u8]>) -> (NewEntry, String) {
    let line = line.as_ref();
    let mut entry = NewEntry::default();
    let mut parser = LineParser::new(format, &options());
    match parser.parse(line, &mut entry) {
        Parsed::Flawed(flaw) => {
            let flaw = flaw.to_owned();
            assert!(fields(&entry).contains("parse_error="), "{entry:?}");
            (entry, flaw)
        }
        other => panic!("{other:?} of {}", line.escape_ascii()),
    }
}

/// Why a line can't be read: all of it must have become the message.
fn flaw_of(format: Format, line: &str) -> String {
    let (entry, flaw) = read_flawed(format, line);
    assert_eq!(entry.message, line);
    assert_eq!(fields(&entry), format!("parse_error={flaw:?}"));
    assert_eq!((entry.source_time, entry.level), (None, None));
    flaw
}

/// Fields as `name=value`.
fn fields(entry: &NewEntry) -> String {
    let shown = entry.fields.iter().map(|(name, item)| {
        let value: Value = ciborium::from_reader(item).unwrap();
        format!("{name}={}", show(&value))
    });
    shown.collect::<Vec<_>>().join(" ")
}

fn show(value: &Value) -> String {
    let list = |values: Vec<String>| values.join(", ");
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(value) => value.to_string(),
        Value::Integer(value) => i128::from(*value).to_string(),
        Value::Float(value) => format!("{value:?}"),
        Value::Text(value) => format!("{value:?}"),
        Value::Bytes(value) => value.iter().map(|byte| format!("{byte:02x}")).collect(),
        Value::Tag(tag, value) => format!("{tag}({})", show(value)),
        Value::Array(values) => format!("[{}]", list(values.iter().map(show).collect())),
        Value::Map(members) => {
            let member =
                |(name, value): &(Value, Value)| format!("{}: {}", show(name), show(value));
            format!("{{{}}}", list(members.iter().map(member).collect()))
        }
        other => format!("{other:?}"),
    }
}

/// All entries of a log, each with its line.
fn read_all(log: &[u8], options: SourceOptions) -> (Vec<(u64, NewEntry)>, SourceReport) {
    let mut reader = LineReader::new(log, options);
    let mut entry = NewEntry::default();
    let mut entries = Vec::new();
    while let Some(place) = reader.next(&mut entry).unwrap() {
        entries.push((place.line, entry.clone()));
    }
    assert_eq!(reader.report().entries, entries.len() as u64);
    (entries, reader.report().clone())
}
