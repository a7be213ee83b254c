//! JSON text cut into records: a line each, or values one behind the other.

use std::io::{self, Read};
use std::ops::Range;

use super::super::pieces::Boundary;

/// Levels of lists and objects in one another that are read.
pub(super) const DEPTH_MAX: usize = 100;

/// How records are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RecordForm {
    /// One a line. A damaged one spoils no other.
    Lines,
    /// Over any number of lines, in an array or one behind the other.
    Values,
}

/// A record, and the line on which it begins.
pub(super) type Record = (Range<usize>, u64);

impl RecordForm {
    /// How the text that begins like this is written.
    pub(super) fn of(start: &[u8]) -> Self {
        let text = start.trim_ascii_start();
        let first = text.split(|byte| *byte == b'\n').next().unwrap_or_default();
        let is_whole = |line: &[u8]| serde_json::from_slice::<serde::de::IgnoredAny>(line).is_ok();
        let is_cut = first.len() == text.len();
        if text.starts_with(b"[") || !(is_cut || is_whole(first)) {
            Self::Values
        } else {
            Self::Lines
        }
    }

    /// All records of a piece.
    pub(super) fn records(self, bytes: &[u8], line: u64) -> Vec<Record> {
        match self {
            Self::Lines => lines(bytes, line),
            Self::Values => JsonValues { bytes, at: 0, line }.collect(),
        }
    }
}

impl Boundary for RecordForm {
    fn last_end(&self, bytes: &[u8]) -> Option<usize> {
        match self {
            Self::Lines => memchr::memrchr(b'\n', bytes).map(|at| at + 1),
            // What ends with the bytes may go on behind them.
            Self::Values => JsonValues { bytes, at: 0, line: 1 }
                .map(|(record, _)| record.end)
                .take_while(|end| *end < bytes.len())
                .last(),
        }
    }
}

fn lines(bytes: &[u8], line: u64) -> Vec<Record> {
    let mut start = 0;
    let ends = memchr::memchr_iter(b'\n', bytes).chain([bytes.len()]);
    let lines = ends.map(|end| std::mem::replace(&mut start, end + 1)..end).zip(line..);
    let is_empty = |range: &Range<usize>| {
        bytes.get(range.clone()).is_none_or(|text| text.trim_ascii().is_empty())
    };
    lines.filter(|(range, _)| !is_empty(range)).collect()
}

/// Values one behind the other, with what may stand between them in an array.
struct JsonValues<'b> {
    bytes: &'b [u8],
    at: usize,
    line: u64,
}

impl Iterator for JsonValues<'_> {
    type Item = Record;

    fn next(&mut self) -> Option<Record> {
        loop {
            match self.bytes.get(self.at)? {
                b'\n' => self.line += 1,
                byte if byte.is_ascii_whitespace() || matches!(byte, b',' | b'[' | b']') => {}
                _ => break,
            }
            self.at += 1;
        }
        let (start, line) = (self.at, self.line);
        let rest = self.bytes.get(start..).unwrap_or_default();
        let length = if rest.starts_with(b"{") {
            object_length(rest)
        } else {
            memchr::memchr3(b',', b'\n', b']', rest)
        };
        self.at = start + length.unwrap_or(rest.len());
        let record = self.bytes.get(start..self.at).unwrap_or_default();
        self.line += u64::try_from(memchr::memchr_iter(b'\n', record).count()).unwrap_or(0);
        Some((start..self.at, line))
    }
}

/// Calls `step` behind each bracket that is in no string, with the levels that are open there and the place,
/// until it gives something.
fn each_bracket<T>(bytes: &[u8], step: impl Fn(usize, usize) -> Option<T>) -> Option<T> {
    let (mut depth, mut at) = (0usize, 0);
    loop {
        match bytes.get(at)? {
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth = depth.saturating_sub(1),
            b'"' => {
                at += string_length(bytes.get(at..)?)?;
                continue;
            }
            _ => {
                at += 1;
                continue;
            }
        }
        at += 1;
        if let Some(found) = step(depth, at) {
            return Some(found);
        }
    }
}

/// How long the object is that the bytes begin with, if it ends.
fn object_length(bytes: &[u8]) -> Option<usize> {
    each_bracket(bytes, |depth, end| (depth == 0).then_some(end))
}

/// How long the string is that the bytes begin with, quotes included, if it ends.
fn string_length(bytes: &[u8]) -> Option<usize> {
    let mut at = 1;
    loop {
        at += memchr::memchr2(b'"', b'\\', bytes.get(at..)?)?;
        if bytes.get(at) == Some(&b'"') {
            return Some(at + 1);
        }
        at += 2;
    }
}

/// Whether a record is nested deeper than is read.
pub(super) fn is_too_deep(record: &[u8]) -> bool {
    memchr::memchr2_iter(b'{', b'[', record).count() > DEPTH_MAX
        && each_bracket(record, |depth, _| (depth > DEPTH_MAX).then_some(())).is_some()
}

/// Text that begins an array: it must end with the array's end, or some of it is missing.
pub(super) struct Closed<R> {
    reader: R,
    last: u8,
}

impl<R> Closed<R> {
    pub(super) fn new(reader: R) -> Self {
        Self { reader, last: 0 }
    }
}

impl<R: Read> Read for Closed<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.reader.read(buffer)?;
        let bytes = buffer.get(..read).unwrap_or_default();
        if let Some(last) = bytes.iter().rev().find(|byte| !byte.is_ascii_whitespace()) {
            self.last = *last;
        }
        if read == 0 && !buffer.is_empty() && self.last != b']' {
            return Err(io::Error::new(
                io::ErrorKind::UnexpectedEof,
                "the array of objects is not closed",
            ));
        }
        Ok(read)
    }
}
