//! Records of several lines: the trace of an exception belongs to the line that tells of it.
//!
//! ```text
//!   2026-11-23 13:09:20 ERROR it failed          a head: the format knows how one begins
//!   java.lang.IllegalStateException: no           begins a trace
//!       at shop.Db.read(Db.java:42)               indented
//!   Caused by: java.io.IOException: gone          goes on with one
//!       at shop.Disk.read(Disk.java:7)
//!   2026-11-23 13:09:21 INFO next                 the next head
//! ```
//!
//! Where a format has no heads (plain text without times), only lines that can't be anything else than parts of a trace are joined.
//! Where each line is one of a container's runtime, the program's lines in them are looked at.

use super::patterns::{PatternReader, without_colours};
use super::plain;
use super::wrapped::{Inner, Runtime};
use super::{Format, SourceOptions};

/// How a trace of Python begins, also behind something else.
const PYTHON: &[u8] = b"Traceback (most recent call last):";

/// How the first line of a record is told from those that follow it.
#[derive(Debug)]
enum Heads {
    /// Not at all.
    Unknown,
    /// It begins with a time.
    Times,
    /// It begins as syslog's do.
    Syslog,
    /// It is in the format.
    Pattern(PatternReader),
}

/// The kind of trace that the lines so far end with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Trace {
    None,
    /// Of most languages: frames are indented.
    Indented,
    /// Of Python: behind the frames there is one line that is not indented, the exception.
    Python,
    /// Of Go: each frame has a line that is not indented.
    Go,
    /// Another one follows that belongs to it.
    Chained,
    /// Of Rust: the line behind says what the panic was about.
    Rust,
}

/// Which lines belong to the one before.
#[derive(Debug)]
pub(super) struct Joins {
    heads: Heads,
    trace: Trace,
    runtime: Option<Runtime>,
    /// The stream of the last line, and whether it is partial, where a runtime says that.
    last: Option<(String, bool)>,
}

impl Joins {
    /// For a log that begins so; `None` where each line is a record.
    pub(super) fn new(format: &Format, start: &[u8], options: &SourceOptions) -> Option<Self> {
        let runtime = Runtime::of(format, start);
        let have_times = |start| match runtime {
            Some(runtime) => have_inner_times(runtime, start),
            None => have_times(start),
        };
        let heads = match format {
            _ if !options.joins_lines => return None,
            _ if runtime.is_some() && !have_times(start) => Heads::Unknown,
            _ if runtime.is_some() => Heads::Times,
            Format::Json | Format::Logfmt | Format::Access | Format::Journal => return None,
            Format::Syslog => Heads::Syslog,
            Format::Plain if have_times(start) => Heads::Times,
            Format::Plain => Heads::Unknown,
            Format::Pattern(pattern) => Heads::Pattern(PatternReader::new(pattern)),
        };
        Some(Self { heads, trace: Trace::None, runtime, last: None })
    }

    /// How many records lines are in a format.
    pub(super) fn records(format: &Format, lines: &[&[u8]]) -> usize {
        let Some(mut joins) = Self::new(format, &[], &SourceOptions::new(0)) else {
            return lines.len();
        };
        if joins.runtime.is_some() {
            // Each line is in the format, whatever the program's are.
            return lines.len();
        }
        let mut is_first = |line: &&&[u8]| {
            let is_first = !joins.take(line);
            if is_first {
                joins.begin(line);
            }
            is_first
        };
        lines.iter().filter(|line| is_first(line)).count()
    }

    /// Begins a record, by its first line.
    pub(super) fn begin(&mut self, head: &[u8]) {
        let Some(runtime) = self.runtime else { return self.begin_own(head) };
        match runtime.inner(head) {
            Some(inner) => {
                self.begin_own(inner.text.as_bytes());
                self.last = Some((inner.stream.into_owned(), inner.is_partial));
            }
            None => (self.trace, self.last) = (Trace::None, None),
        }
    }

    /// Whether a line belongs to the record. An empty one does if one behind it does.
    pub(super) fn take(&mut self, line: &[u8]) -> bool {
        let Some(runtime) = self.runtime else { return self.take_own(line) };
        let (Some(inner), Some((stream, is_open))) = (runtime.inner(line), self.last.take()) else {
            return false;
        };
        let Inner { stream: its, is_partial, text } = inner;
        let is_taken = its == stream && (is_open || self.take_own(text.as_bytes()));
        self.last = is_taken.then_some((stream, is_partial));
        is_taken
    }

    /// Whether the record goes on for sure.
    pub(super) fn is_open(&self) -> bool {
        self.trace == Trace::Rust || self.last.as_ref().is_some_and(|(_, is_partial)| *is_partial)
    }

    fn begin_own(&mut self, head: &[u8]) {
        self.trace = match self.heads {
            _ if is_panic(head) => Trace::Rust,
            Heads::Unknown => begun(head).map_or(Trace::None, |(trace, _)| trace),
            // Others don't stand behind a time.
            _ if head.ends_with(PYTHON) => Trace::Python,
            _ => Trace::None,
        };
    }

    fn take_own(&mut self, line: &[u8]) -> bool {
        if matches!(line.first(), Some(b' ' | b'\t')) {
            let is_frame = is_frame(line.trim_ascii_start());
            if is_frame && self.trace == Trace::None {
                self.trace = Trace::Indented;
            }
            return is_frame || self.trace != Trace::None || !matches!(self.heads, Heads::Unknown);
        }
        // What panics says so itself: no line before tells of it.
        if self.is_head(line) || is_panic(line) {
            return false;
        }
        let before = self.trace;
        if let Some((trace, goes_on)) = begun(line) {
            self.trace = trace;
            // Else it is a trace of its own, which no other line tells of.
            return !matches!(self.heads, Heads::Unknown)
                || matches!(before, Trace::Python | Trace::Chained)
                || (goes_on && before != Trace::None);
        }
        match before {
            Trace::Python | Trace::Rust => {
                self.trace = Trace::Indented;
                true
            }
            Trace::Go => true,
            Trace::None | Trace::Indented | Trace::Chained => false,
        }
    }

    fn is_head(&self, line: &[u8]) -> bool {
        match &self.heads {
            Heads::Unknown => false,
            Heads::Times => has_time(line),
            // A priority, a month, or the year of a time.
            Heads::Syslog => {
                matches!(line.first(), Some(b'<' | b'0'..=b'9'))
                    || line.get(..3).is_some_and(|name| super::time::month_of(name).is_some())
            }
            Heads::Pattern(pattern) => pattern.fits(&String::from_utf8_lossy(line)),
        }
    }
}

/// Whether a line is certainly no head, whatever the format is.
pub(super) fn is_part_of_trace(line: &[u8]) -> bool {
    matches!(line.first(), Some(b' ' | b'\t')) || begun(line).is_some()
}

/// Whether records of a plain text begin with a time: of traces that are not told as such each has several lines.
fn have_times(start: &[u8]) -> bool {
    let lines = start.split(|byte| *byte == b'\n').map(|line| line.trim_ascii_end());
    let heads = lines.filter(|line| !line.is_empty() && !is_part_of_trace(line)).take(100);
    let (mut all, mut with_time) = (0, 0);
    for head in heads {
        all += 1;
        with_time += usize::from(has_time(head));
    }
    with_time * 4 >= all && with_time > 0
}

/// The same of the lines of programs that a runtime has wrapped.
fn have_inner_times(runtime: Runtime, start: &[u8]) -> bool {
    let lines = start.split(|byte| *byte == b'\n').filter_map(|line| runtime.inner(line));
    let texts: Vec<_> = lines.take(400).map(|inner| inner.text.into_owned()).collect();
    have_times(texts.join("\n").as_bytes())
}

fn has_time(line: &[u8]) -> bool {
    plain::has_time(&without_colours(&String::from_utf8_lossy(line)))
}

/// The trace that a line begins, or goes on with; and whether it can only be the latter.
fn begun(line: &[u8]) -> Option<(Trace, bool)> {
    const CHAINED: [&[u8]; 2] = [
        b"During handling of the above exception, another exception occurred:",
        b"The above exception was the direct cause of the following exception:",
    ];
    const GOES_ON: [&[u8]; 5] = [
        b"Caused by: ",
        b"Suppressed: ",
        b"stack backtrace:",
        b"note: run with `RUST_BACKTRACE",
        b"note: Some details are omitted, run with `RUST_BACKTRACE",
    ];
    let begins = |words: &[&[u8]]| words.iter().any(|word| line.starts_with(word));
    if line.ends_with(PYTHON) {
        return Some((Trace::Python, false));
    }
    if begins(&CHAINED) {
        return Some((Trace::Chained, true));
    }
    if begins(&[b"panic: ", b"fatal error: "]) {
        return Some((Trace::Go, false));
    }
    if begins(&[b"goroutine "]) {
        return Some((Trace::Go, true));
    }
    if begins(&GOES_ON) {
        return Some((Trace::Indented, true));
    }
    let is_own = begins(&[b"Exception in thread "]) || is_exception(line);
    is_own.then_some((Trace::Indented, false))
}

/// Whether a line tells that Rust code has panicked, the reason being in the next one: `thread 'main' panicked at a.rs:2:5:`.
fn is_panic(line: &[u8]) -> bool {
    line.starts_with(b"thread '")
        && line.ends_with(b":")
        && memchr::memmem::find(line, b" panicked at ").is_some()
}

/// Whether a line begins with the name of an exception: `java.io.IOException: gone`.
fn is_exception(line: &[u8]) -> bool {
    let is_of_name = |byte: &u8| byte.is_ascii_alphanumeric() || b"._$".contains(byte);
    let end = line.iter().position(|byte| !is_of_name(byte)).unwrap_or(line.len());
    let (name, behind) = line.split_at(end);
    let is_end = behind.is_empty() || behind.starts_with(b": ");
    let is_named = [&b"Exception"[..], b"Error"].iter().any(|kind| name.ends_with(kind));
    is_end && is_named
}

/// Whether a line, without what it is indented by, is a frame of a trace.
fn is_frame(line: &[u8]) -> bool {
    const BEGINNINGS: [&[u8]; 5] = [b"at ", b"File \"", b"Caused by: ", b"Suppressed: ", b"... "];
    BEGINNINGS.iter().any(|begin| line.starts_with(begin))
}
