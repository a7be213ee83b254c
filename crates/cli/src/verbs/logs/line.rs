//! An entry as one line for people: time, level, message, then labels and fields.

use ciborium::Value;
use timestrata::logs::filter::Filter;
use timestrata::logs::{Clock, EntryRef, FieldValue, Level, Scalar};
use timestrata::table::time_text;
use timestrata::timelog::Unit;

use crate::output::cell;
use crate::terminal::{FAINT, Look, push_visible};
use crate::times;

/// A sender's time that is as near to that of the arrival says nothing more.
const NEAR_NS: u64 = 1_000_000_000;
/// Begins what was looked for, in the colour that grep has for it.
const FOUND: &str = "\x1b[1;31m";
/// What stands for a level where there is none.
const NO_LEVEL: &str = "-    ";

/// Writes entries as lines.
#[derive(Debug)]
pub(super) struct Lines {
    /// The clock whose time comes first.
    by: Clock,
    look: Look,
    /// What was looked for, which is marked in messages.
    filter: Filter,
    /// The name of a field that is being written, piece by piece.
    name: String,
}

impl Lines {
    pub(super) fn new(by: Clock, look: Look, filter: Filter) -> Self {
        Self { by, look, filter, name: String::new() }
    }

    /// Appends an entry, and a line's end. Each character of it stands on one line.
    pub(super) fn push(&mut self, entry: &EntryRef<'_>, out: &mut String) {
        let (time, other) = times_of(entry, self.by);
        self.look.paint(FAINT, &time, out);
        out.push(' ');
        match entry.level() {
            Some(level) => self.look.paint(colour_of(level), padded(level), out),
            None => out.push_str(NO_LEVEL),
        }
        if !entry.message().is_empty() {
            out.push(' ');
            self.push_message(entry.message(), out);
        }
        if let Some((name, time)) = other {
            self.push_pair(name, &time, out);
        }
        for (key, value) in entry.labels().iter() {
            self.push_pair(key, value, out);
        }
        entry.each_field(|name, value| self.push_field(name, value, out));
        out.push('\n');
    }

    /// A message, with what was looked for marked where there are colours.
    fn push_message(&self, message: &str, out: &mut String) {
        let places = if self.look.has_colours { self.filter.places(message) } else { Vec::new() };
        let mut done = 0;
        for place in places {
            let (before, found) = (message.get(done..place.start), message.get(place.clone()));
            // An expression of bytes may end within a character.
            let (Some(before), Some(found)) = (before, found) else { continue };
            push_visible(before, out);
            self.look.painted(FOUND, out, |out| push_visible(found, out));
            done = place.end;
        }
        push_visible(message.get(done..).unwrap_or_default(), out);
    }

    fn push_field(&mut self, name: &str, value: FieldValue<'_>, out: &mut String) {
        let item = match value {
            FieldValue::Scalar(Scalar::Text(text)) => return self.push_pair(name, text, out),
            FieldValue::Scalar(_) => return self.push_pair(name, &value.to_text(), out),
            FieldValue::Item(item) => item,
        };
        let mut whole = std::mem::take(&mut self.name);
        whole.clear();
        whole.push_str(name);
        match ciborium::from_reader::<Value, _>(item) {
            Ok(nested) => self.push_nested(&mut whole, &nested, out),
            // Deeper than anybody writes.
            Err(_) => self.push_pair(name, &value.to_text(), out),
        }
        self.name = whole;
    }

    /// A field in a field has the name by which a filter knows it, `outer.inner`.
    fn push_nested(&self, name: &mut String, value: &Value, out: &mut String) {
        match value {
            Value::Map(fields) if !fields.is_empty() => {
                for (inner, value) in fields {
                    let end = name.len();
                    name.push('.');
                    name.push_str(&cell::text(inner));
                    self.push_nested(name, value, out);
                    name.truncate(end);
                }
            }
            Value::Null => self.push_pair(name, "null", out),
            value => self.push_pair(name, &cell::text(value), out),
        }
    }

    /// ` name=value`, as logfmt has it.
    fn push_pair(&self, name: &str, value: &str, out: &mut String) {
        out.push(' ');
        self.look.painted(FAINT, out, |out| {
            push_quoted_if_needed(name, out);
            out.push('=');
        });
        push_quoted_if_needed(value, out);
    }
}

/// A level's name as lines have it, all of one width.
const fn padded(level: Level) -> &'static str {
    match level {
        Level::Trace => "TRACE",
        Level::Debug => "DEBUG",
        Level::Info => "INFO ",
        Level::Warn => "WARN ",
        Level::Error => "ERROR",
        Level::Fatal => "FATAL",
    }
}

/// The colour of a level.
pub(super) const fn colour_of(level: Level) -> &'static str {
    match level {
        Level::Trace => FAINT,
        Level::Debug => "\x1b[36m",
        Level::Info => "\x1b[32m",
        Level::Warn => "\x1b[33m",
        Level::Error => "\x1b[31m",
        Level::Fatal => "\x1b[1;31m",
    }
}

/// The time that comes first; and what the other clock says, with its name, if that is worth saying.
/// An arrival always is where it isn't first: it names the entry.
fn times_of(entry: &EntryRef<'_>, by: Clock) -> (String, Option<(&'static str, String)>) {
    let arrived = entry.timestamp();
    let arrival = times::format(arrived, Unit::Nano);
    match (by, entry.source_time()) {
        (Clock::Timestamp, Some(sent)) if sent.abs_diff(arrived) > NEAR_NS => {
            (arrival, Some(("source_time", time_text(sent))))
        }
        (Clock::Timestamp, _) | (Clock::SourceTime, None) => (arrival, None),
        (Clock::SourceTime, Some(sent)) => (time_text(sent), Some(("timestamp", arrival))),
    }
}

/// What logfmt has in quotes, and what must not be seen as it is.
fn needs_quotes(text: &str) -> bool {
    let is_bare = |byte: u8| byte.is_ascii_graphic() && byte != b'=' && byte != b'"';
    if text.bytes().all(is_bare) {
        return text.is_empty();
    }
    let mut visible = String::with_capacity(text.len());
    push_visible(text, &mut visible);
    text.contains(|c: char| c.is_whitespace() || c == '=' || c == '"') || visible != text
}

fn push_quoted_if_needed(text: &str, out: &mut String) {
    if !needs_quotes(text) {
        return out.push_str(text);
    }
    out.push('"');
    for piece in text.split_inclusive(['"', '\\', '\t']) {
        let (plain, escape) = match piece.as_bytes().last() {
            Some(b'"') => (piece.strip_suffix('"'), "\\\""),
            Some(b'\\') => (piece.strip_suffix('\\'), "\\\\"),
            Some(b'\t') => (piece.strip_suffix('\t'), "\\t"),
            _ => (None, ""),
        };
        push_visible(plain.unwrap_or(piece), out);
        out.push_str(escape);
    }
    out.push('"');
}

#[cfg(test)]
mod tests {
    use timestrata::logs::{Entries, Labels, Logs, LogsOptions, NewEntry, Query};
    use timestrata::{Settings, Store};

    use super::*;

    fn written(entry: &NewEntry) -> Entries {
        let store = Store::memory(Settings::default()).unwrap();
        let logs = Logs::create(&store, "app", &LogsOptions::default()).unwrap();
        logs.write(entry).unwrap();
        logs.search(&Query::default()).unwrap().next().unwrap().unwrap()
    }

    /// The line of an entry; without its time, whose digits only the store knows.
    fn line(entry: &NewEntry) -> String {
        let entries = written(entry);
        let mut out = String::new();
        Lines::new(Clock::Timestamp, Look::PLAIN, Filter::default())
            .push(&entries.get(0).unwrap(), &mut out);
        let (time, rest) = out.split_once(' ').unwrap();
        assert_eq!(time.len(), "2026-05-01T10:00:00.123456789Z".len(), "{out}");
        rest.to_owned()
    }

    #[test]
    fn a_line_has_level_message_labels_and_fields() {
        let mut entry = NewEntry::new("disk is full");
        entry.level = Some(Level::Warn);
        entry.fields.text("device", "sda1").int("free", 0).bool("root", true).float("load", 0.5);
        entry.labels.set("host", "web 1").unwrap();
        let expected = "WARN  disk is full host=\"web 1\" device=sda1 free=0 root=true load=0.5\n";
        assert_eq!(line(&entry), expected);
        assert_eq!(line(&NewEntry::new("alone")), "-     alone\n");
        assert_eq!(line(&NewEntry::default()), "-    \n");
    }

    #[test]
    fn an_entry_is_one_line_whatever_it_holds() {
        let mut entry = NewEntry::new("first\nsecond \x1b[2J\u{9b}m");
        entry.fields.text("a b", "x=\"\\\t\n\x1b").text("", "").text("ok", "ö\u{a0}").null("no");
        let expected = "-     first\\nsecond \\x1b[2J\\u{9b}m \"a b\"=\"x=\\\"\\\\\\t\\n\\x1b\" \
                        \"\"=\"\" ok=\"ö\u{a0}\" no=null\n";
        assert_eq!(line(&entry), expected);
    }

    #[test]
    fn fields_in_fields_have_the_names_that_filters_know() {
        let mut entry = NewEntry::new("m");
        // {"a": {"n": 1, "z": {}}, "b": [1, "x y"]}
        entry.fields.item("o", |out| {
            out.extend(b"\xa2\x61a\xa2\x61n\x01\x61z\xa0\x61b\x82\x01\x63x y");
        });
        assert_eq!(line(&entry), "-     m o.a.n=1 o.a.z={} o.b=\"[1,\\\"x y\\\"]\"\n");
    }

    #[test]
    fn both_times_are_told_where_they_differ() {
        let mut entry = NewEntry { source_time: Some(1_500_000_000), ..NewEntry::new("late") };
        assert_eq!(line(&entry), "-     late source_time=1970-01-01T00:00:01.500Z\n");
        entry.source_time = Some(-60_000_000_000);
        let entries = written(&entry);
        let mut out = String::new();
        let entry = entries.get(0).unwrap();
        Lines::new(Clock::SourceTime, Look::PLAIN, Filter::default()).push(&entry, &mut out);
        let arrival = times::format(entry.timestamp(), Unit::Nano);
        assert_eq!(out, format!("1969-12-31T23:59:00Z -     late timestamp={arrival}\n"));
    }

    #[test]
    fn colours_change_nothing_but_the_colour() {
        let mut entry = NewEntry::new("m");
        entry.level = Some(Level::Fatal);
        entry.fields.int("n", 1);
        entry.labels = Labels::default();
        let entries = written(&entry);
        let mut out = String::new();
        let look = Look { has_colours: true, ..Look::PLAIN };
        Lines::new(Clock::Timestamp, look, Filter::default())
            .push(&entries.get(0).unwrap(), &mut out);
        assert!(out.contains("\x1b[1;31mFATAL\x1b[0m m \x1b[2mn=\x1b[0m1\n"), "{out:?}");
    }

    #[test]
    fn what_was_looked_for_is_marked_where_there_are_colours() {
        let entries = written(&NewEntry::new("Disk\n98% full"));
        let line = |look| {
            let filter = "disk or /9.%/".parse().unwrap();
            let mut out = String::new();
            Lines::new(Clock::Timestamp, look, filter).push(&entries.get(0).unwrap(), &mut out);
            out.split_once("-     ").unwrap().1.to_owned()
        };
        let marked = line(Look { has_colours: true, ..Look::PLAIN });
        assert_eq!(marked, "\x1b[1;31mDisk\x1b[0m\\n\x1b[1;31m98%\x1b[0m full\n");
        assert_eq!(line(Look::PLAIN), "Disk\\n98% full\n");
    }
}
