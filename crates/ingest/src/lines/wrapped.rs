//! Lines of programs in containers, in the line that the container's runtime makes of each: docker's JSON, and the text of the CRI.
//!
//! The time of the program counts, where it says one, and its level and fields are the entry's. A program's line that is
//! too long for the runtime comes in several of its lines:
//!
//! ```text
//!   {"log":"a long l","stream":"stdout", ...}      no line end: the next of the same stream goes on
//!   {"log":"ine\n","stream":"stdout", ...}
//!   2026-10-18T18:01:47.5Z stderr P a long l       P: partial; F: full
//!   2026-10-18T18:01:47.5Z stderr F ine
//! ```

use std::borrow::Cow;

use serde::Deserialize;
use timestrata_logs::{NewEntry, Scalar};

use super::members::Members;
use super::parser::append_lines;
use super::time::Calendar;
use super::{Format, json, plain};

/// The format of lines that the CRI has runtimes write.
const CRI: &str = "cri";
/// The field that says which stream a program wrote to.
const STREAM: &str = "stream";
/// The field of the CRI's that says whether a line is whole.
const TAG: &str = "tag";
/// In front of a field of a program's own that the runtime has too.
const PREFIX: &str = "log_";

/// Who makes lines of those of programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Runtime {
    Docker,
    Cri,
}

/// What a line of a runtime has of a program's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Inner<'a> {
    pub(super) stream: Cow<'a, str>,
    /// Whether the program's line goes on in the next one.
    pub(super) is_partial: bool,
    /// Without its end.
    pub(super) text: Cow<'a, str>,
}

/// A line of docker's.
#[derive(Deserialize)]
struct DockerLine<'a> {
    #[serde(borrow)]
    log: Cow<'a, str>,
    #[serde(borrow)]
    stream: Cow<'a, str>,
}

impl Runtime {
    /// Whose lines those of a log are that begins so.
    pub(super) fn of(format: &Format, start: &[u8]) -> Option<Self> {
        if format.name() == CRI {
            return Some(Self::Cri);
        }
        let first = start.split(|byte| *byte == b'\n').next().unwrap_or_default();
        (*format == Format::Json && Self::Docker.inner(first).is_some()).then_some(Self::Docker)
    }

    /// A program's line, if there is one in this.
    pub(super) fn inner(self, line: &[u8]) -> Option<Inner<'_>> {
        match self {
            Self::Docker => {
                // It writes this first, and a whole line is read only where it does.
                let line = line.starts_with(b"{\"log\":\"").then_some(line)?;
                let DockerLine { log, stream } = serde_json::from_slice(line).ok()?;
                let is_partial = !log.ends_with('\n');
                let text = match log {
                    Cow::Borrowed(log) => Cow::Borrowed(without_end(log)),
                    Cow::Owned(log) => Cow::Owned(without_end(&log).to_owned()),
                };
                is_stream(&stream).then_some(Inner { stream, is_partial, text })
            }
            Self::Cri => {
                let mut parts = line.splitn(4, |byte| *byte == b' ').skip(1);
                let stream =
                    std::str::from_utf8(parts.next()?).ok().filter(|name| is_stream(name))?;
                let tag = parts.next().filter(|tag| matches!(*tag, b"F" | b"P"))?;
                let text = String::from_utf8_lossy(parts.next()?);
                Some(Inner { stream: Cow::Borrowed(stream), is_partial: tag == b"P", text })
            }
        }
    }

    /// Appends what lines of the runtime have of a record; what is none of its lines stays as it is. Whether the last one
    /// is partial.
    fn join(self, message: &mut String, is_partial: bool, rest: &str) -> bool {
        let mut is_partial = is_partial;
        for line in rest.split('\n') {
            let line = line.strip_suffix('\r').unwrap_or(line);
            if !is_partial {
                message.push('\n');
            }
            match self.inner(line.as_bytes()) {
                Some(inner) => {
                    message.push_str(&inner.text);
                    is_partial = inner.is_partial;
                }
                None => message.push_str(line),
            }
        }
        is_partial
    }

    /// Makes the message the whole of what `rest` has of the record, whose first line `entry` is of.
    pub(super) fn join_rest(self, entry: &mut NewEntry, rest: &str) {
        let is_tagged =
            |tag: &str| entry.fields.get(TAG).and_then(Scalar::of_item) == Some(Scalar::Text(tag));
        let is_partial = match self {
            Self::Docker => !entry.message.ends_with('\n'),
            Self::Cri => is_tagged("P"),
        };
        let mut message = without_end(&entry.message).to_owned();
        let is_partial = self.join(&mut message, is_partial, rest);
        entry.message = message;
        if self == Self::Cri && !is_partial && is_tagged("P") {
            entry.fields.text(TAG, "F");
        }
    }
}

/// Whether a line of JSON is one that docker made.
pub(super) fn is_of_docker(line: &str, entry: &NewEntry) -> bool {
    entry.source_time.is_some() && has_stream(entry) && line.contains("\"log\":\"")
}

fn has_stream(entry: &NewEntry) -> bool {
    let stream = entry.fields.get(STREAM).and_then(Scalar::of_item);
    matches!(stream, Some(Scalar::Text(name)) if is_stream(name))
}

fn is_stream(name: &str) -> bool {
    matches!(name, "stdout" | "stderr")
}

fn without_end(line: &str) -> &str {
    let line = line.strip_suffix('\n').unwrap_or(line);
    line.strip_suffix('\r').unwrap_or(line)
}

/// What a program's line is read with.
pub(super) struct Unwrapping<'a> {
    pub(super) members: &'a mut Members,
    pub(super) escapes: &'a mut Vec<u8>,
    pub(super) calendar: &'a mut Calendar,
}

impl Unwrapping<'_> {
    /// Takes the message apart, which is a program's line, or a record of several. `inner` is memory.
    pub(super) fn unwrap(self, entry: &mut NewEntry, inner: &mut NewEntry) {
        inner.clear();
        let text = std::mem::take(&mut entry.message);
        let record = without_end(&text);
        let (line, rest) = match record.split_once('\n') {
            Some((line, rest)) => (without_end(line), Some(rest)),
            None => (record, None),
        };
        let is_json =
            line.starts_with('{') && json::parse(line, self.members, self.escapes, inner).is_ok();
        if !is_json {
            inner.clear();
            plain::parse(line, self.calendar, inner);
        }
        if let Some(rest) = rest {
            append_lines(rest, inner);
        }
        entry.message.push_str(&inner.message);
        entry.level = inner.level.or(entry.level);
        entry.source_time = inner.source_time.or(entry.source_time);
        for (name, item) in inner.fields.iter() {
            let write = |out: &mut Vec<u8>| out.extend_from_slice(item);
            match entry.fields.get(name) {
                None => entry.fields.add(name, write),
                Some(_) => entry.fields.item(&format!("{PREFIX}{name}"), write),
            };
        }
    }
}
