//! The parser: one line becomes one entry.

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use timestrata_logs::NewEntry;

use super::flaw::Flaw;
use super::members::Members;
use super::patterns::{PatternReader, without_colours};
use super::time::Calendar;
use super::wrapped::{self, Runtime, Unwrapping};
use super::{Format, SourceOptions, access, envelope, journal, json, logfmt, plain, syslog};

/// Why a line was not, or not only, read as its format has it.
pub(super) const PARSE_ERROR: &str = "parse_error";
/// The line, where fields don't say all that it does.
const ORIGINAL: &str = "original";
/// The same for lines that are not UTF-8.
const ORIGINAL_BASE64: &str = "original_base64";

/// What a line became.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Parsed<'a> {
    /// Nothing: it is empty.
    Empty,
    /// An entry.
    Entry,
    /// An entry with this `parse_error`, from which nothing of the line is missing.
    Flawed(&'a str),
}

/// Reads lines one by one, for who gets them so. It remembers nothing of them but what makes the next
/// one faster to read.
///
/// ```
/// use timestrata_ingest::lines::{Format, LineParser, Parsed, SourceOptions};
/// use timestrata_logs::{Level, NewEntry};
///
/// let now = 1_795_439_360_000_000_000;
/// let mut parser = LineParser::new(Format::Logfmt, &SourceOptions::new(now));
/// let mut entry = NewEntry::default();
/// assert_eq!(parser.parse(b"level=warn msg=\"disk is full\" free=0", &mut entry), Parsed::Entry);
/// assert_eq!((entry.level, entry.message.as_str()), (Some(Level::Warn), "disk is full"));
/// assert_eq!(parser.parse(b"what?", &mut entry), Parsed::Flawed("no key=value"));
/// assert_eq!(entry.message, "what?");
/// ```
#[derive(Debug)]
pub struct LineParser {
    format: Format,
    pattern: Option<PatternReader>,
    calendar: Calendar,
    minute: access::LastMinute,
    members: Members,
    escapes: Vec<u8>,
    /// Memory for a line within a line.
    inner: NewEntry,
    /// Whose lines have a program's in them, where all of the format have.
    runtime: Option<Runtime>,
    flaw: String,
}

impl LineParser {
    /// A parser of lines of a format. Of the options only those about time matter.
    pub fn new(format: Format, options: &SourceOptions) -> Self {
        let runtime = Runtime::of(&format, &[]);
        let pattern = match &format {
            Format::Pattern(pattern) => Some(PatternReader::new(pattern)),
            _ => None,
        };
        Self {
            format,
            pattern,
            calendar: Calendar::new(options.year, options.reference_time),
            minute: access::LastMinute::default(),
            members: Members::default(),
            escapes: Vec::new(),
            inner: NewEntry::default(),
            runtime,
            flaw: String::new(),
        }
    }

    /// Sets [`SourceOptions::reference_time`] anew, as who reads for long must do.
    pub fn set_reference_time(&mut self, reference_time: i64) {
        self.calendar.set_reference_time(reference_time);
    }

    /// Makes `entry` what a line says; with [`Format::Journal`], all lines of an entry. It may end
    /// with a line end. However long the line is, it becomes one entry.
    pub fn parse(&mut self, line: &[u8], entry: &mut NewEntry) -> Parsed<'_> {
        if self.format == Format::Journal {
            return self.parse_whole(line, entry);
        }
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        self.parse_whole(line.strip_suffix(b"\r").unwrap_or(line), entry)
    }

    /// The entries of a line that has several, which [`parse`](Self::parse) makes one of.
    pub(super) fn records(&mut self, line: &[u8]) -> Option<Vec<NewEntry>> {
        envelope::is_likely(line).then(|| envelope::records(line, &mut self.members)).flatten()
    }

    /// The same of a line without its end.
    pub(super) fn parse_whole(&mut self, line: &[u8], entry: &mut NewEntry) -> Parsed<'_> {
        entry.clear();
        if self.format == Format::Journal {
            return self.journal(line, entry);
        }
        if line.is_empty() {
            return Parsed::Empty;
        }
        let text = std::str::from_utf8(line);
        let text = text.map_or_else(|_| String::from_utf8_lossy(line), Cow::Borrowed);
        let read = match text.split_once('\n') {
            Some((head, rest)) => self.read(head.trim_end_matches('\r'), Some(rest), entry),
            None => self.read(&text, None, entry),
        };
        let is_flawed = self.settle(read, &text, entry);
        if let Cow::Owned(_) = text {
            add_original_bytes(line, entry);
        }
        self.parsed(is_flawed)
    }

    /// Reads the first line of a record; `rest` are its other lines.
    fn read(&mut self, line: &str, rest: Option<&str>, entry: &mut NewEntry) -> Result<(), Flaw> {
        let read = self.read_line(line, entry);
        let runtime = match self.format {
            Format::Json if wrapped::is_of_docker(line, entry) => Some(Runtime::Docker),
            _ => self.runtime,
        };
        match (runtime, rest) {
            (Some(runtime), rest) if read.is_ok() => {
                if let Some(rest) = rest {
                    runtime.join_rest(entry, rest);
                }
                let Self { calendar, members, escapes, inner, .. } = self;
                Unwrapping { members, escapes, calendar }.unwrap(entry, inner);
            }
            // What can't be read at all is kept as a whole.
            (_, Some(rest)) if !matches!(read, Err(Flaw::Unread(_))) => append_lines(rest, entry),
            _ => {}
        }
        read
    }

    fn read_line(&mut self, line: &str, entry: &mut NewEntry) -> Result<(), Flaw> {
        let Self { calendar, minute, members, escapes, pattern, .. } = self;
        if let Some(pattern) = pattern {
            return pattern.parse(line, calendar, entry).map_err(|flaw| match flaw {
                // What else there may be of a time and a level is better than nothing.
                Flaw::Unread(why) => {
                    plain::parse(&without_colours(line), calendar, entry);
                    Flaw::Noted(why)
                }
                other => other,
            });
        }
        match self.format {
            Format::Json => json::parse(line, members, escapes, entry),
            Format::Logfmt => logfmt::parse(line, members, entry),
            Format::Access => access::parse(line, minute, entry),
            Format::Syslog => syslog::parse(line, calendar, members, entry),
            Format::Journal | Format::Plain | Format::Pattern(_) => {
                plain::parse(&without_colours(line), calendar, entry);
                Ok(())
            }
        }
    }

    fn journal(&mut self, lines: &[u8], entry: &mut NewEntry) -> Parsed<'_> {
        if lines.iter().all(|byte| matches!(byte, b'\r' | b'\n')) {
            return Parsed::Empty;
        }
        let (read, is_utf8) = match journal::parse(lines, &mut self.members, entry) {
            Ok(is_utf8) => (Ok(()), is_utf8),
            Err(flaw) => (Err(flaw), std::str::from_utf8(lines).is_ok()),
        };
        let is_flawed = read.is_err() && self.settle(read, &String::from_utf8_lossy(lines), entry);
        if !is_utf8 {
            add_original_bytes(lines, entry);
        }
        self.parsed(is_flawed)
    }

    /// Adds what is wrong with a line to its entry. Whether there is anything.
    fn settle(&mut self, read: Result<(), Flaw>, line: &str, entry: &mut NewEntry) -> bool {
        let why = match read {
            Ok(()) => return false,
            Err(Flaw::Unread(why)) => {
                entry.clear();
                entry.message.push_str(line);
                why
            }
            Err(Flaw::Noted(why)) => why,
            Err(Flaw::Partly(why)) => {
                entry.fields.text(ORIGINAL, line);
                why
            }
        };
        entry.fields.text(PARSE_ERROR, &why);
        self.flaw = why.into_owned();
        true
    }

    fn parsed(&self, is_flawed: bool) -> Parsed<'_> {
        if is_flawed { Parsed::Flawed(&self.flaw) } else { Parsed::Entry }
    }
}

/// Adds the lines of a record behind its first.
pub(super) fn append_lines(lines: &str, entry: &mut NewEntry) {
    let message = &mut entry.message;
    if message.is_empty() {
        message.push_str(lines.trim_start());
    } else {
        message.push('\n');
        message.push_str(lines);
    }
    if message.contains("\r\n") {
        *message = message.replace("\r\n", "\n");
    }
}

/// Makes `entry` a part of a line.
pub(super) fn keep(part: &[u8], entry: &mut NewEntry) {
    entry.clear();
    entry.message.push_str(&String::from_utf8_lossy(part));
    if std::str::from_utf8(part).is_err() {
        add_original_bytes(part, entry);
    }
}

/// Keeps bytes that are not UTF-8, in whose place the text of an entry has U+FFFD.
fn add_original_bytes(bytes: &[u8], entry: &mut NewEntry) {
    entry.fields.text(ORIGINAL_BASE64, &STANDARD.encode(bytes));
}
