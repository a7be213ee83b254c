//! An input in pieces of one entry each: lines, or the lines of an entry of the journal.
//!
//! No more than a longest line and what is read at once is ever held of it: what is longer comes in parts, which is why
//! this is no [`NumberedLines`](timestrata_values::lines::NumberedLines).

use std::io::Read;

use memchr::{memchr, memchr_iter};
use timestrata_engine::{Error, Result};
use timestrata_values::lines::BYTE_ORDER_MARK;

use super::buffer::Buffer;
use super::joins::{Joins, is_part_of_trace};
use super::journal::{self, GAP_BYTES_MAX};
use super::{Format, SourceOptions};
use crate::encoding::Utf8;

/// Where an entry ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    /// It has so many bytes, and so many with what separates it from the next.
    At(usize, usize),
    /// Not in what was read.
    Unread,
    /// It has too many bytes.
    TooLong,
}

impl End {
    pub(super) fn at(bytes: usize, all: usize, bytes_max: usize) -> Self {
        if bytes > bytes_max { Self::TooLong } else { Self::At(bytes, all) }
    }

    /// Of an entry whose end was not found in what was read.
    pub(super) fn without_gap(unread: &[u8], is_all: bool, bytes_max: usize) -> Self {
        match unread.len() {
            bytes if bytes > bytes_max => Self::TooLong,
            bytes if is_all => Self::At(bytes, bytes),
            _ => Self::Unread,
        }
    }
}

/// An entry, or a part of one that is too long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Piece {
    /// The first line that it is of, from 1.
    pub(super) line: u64,
    /// Which part it is, from 1, if it is one.
    pub(super) part: Option<u64>,
    bytes: usize,
    all: usize,
}

/// Finds the ends of entries.
#[derive(Debug)]
enum Cutter {
    /// Each line is one. Holds the bytes that have no line end in them.
    Lines(usize),
    Journal(journal::Cutter),
}

impl Cutter {
    fn new(format: &Format) -> Self {
        match format {
            Format::Journal => Self::Journal(journal::Cutter::default()),
            _ => Self::Lines(0),
        }
    }

    fn end(&mut self, unread: &[u8], is_all: bool, bytes_max: usize) -> End {
        let searched = match self {
            Self::Journal(cutter) => return cutter.end(unread, is_all, bytes_max),
            Self::Lines(searched) => searched,
        };
        let from = std::mem::replace(searched, unread.len());
        match memchr(b'\n', unread.get(from..).unwrap_or_default()) {
            Some(at) => {
                let (bytes, all) = line_end(unread, from + at);
                End::at(bytes, all, bytes_max)
            }
            None => match End::without_gap(unread, is_all, bytes_max) {
                End::At(bytes, all) => End::At(line_end(unread, bytes).0, all),
                end => end,
            },
        }
    }

    /// Where an entry that is too long ends, and where the next begins, if that is within a text.
    fn end_of_long(&self, text: &[u8]) -> Option<(usize, usize)> {
        match self {
            Self::Lines(_) => memchr(b'\n', text).map(|at| line_end(text, at)),
            Self::Journal(_) => journal::gap(text),
        }
    }
}

/// The entries of an input, one after the other.
#[derive(Debug)]
pub(super) struct Pieces<R> {
    buffer: Buffer<Utf8<R>>,
    format: Format,
    cutter: Cutter,
    joins: Option<Joins>,
    /// What was read is given before more is waited for.
    is_followed: bool,
    /// What went wrong while a line was looked for behind one that was given.
    failed: Option<Error>,
    bytes_max: usize,
    part_bytes_max: usize,
    /// Parts that were given of an entry that is too long.
    parts: Option<u64>,
    /// Bytes of the last piece, which are dropped when the next is asked for.
    used: usize,
    lines: u64,
}

impl<R: Read> Pieces<R> {
    /// Of lines, until another format is set.
    pub(super) fn new(reader: R, options: &SourceOptions) -> Self {
        Self {
            buffer: Buffer::new(Utf8::new(reader, options.encoding)),
            format: Format::Plain,
            cutter: Cutter::new(&Format::Plain),
            joins: None,
            is_followed: false,
            failed: None,
            bytes_max: options.line_bytes(),
            part_bytes_max: options.message_bytes().min(options.line_bytes()),
            parts: None,
            used: 0,
            lines: 0,
        }
    }

    /// The first bytes, up to as many: a line at least, if there is one. Passes over a byte order
    /// mark.
    pub(super) fn begin(&mut self, bytes_max: usize) -> Result<&[u8]> {
        let is_enough = |start: &[u8]| start.len() >= bytes_max || memchr(b'\n', start).is_some();
        while !is_enough(self.buffer.unread()) && self.buffer.fill()? {}
        if self.buffer.unread().starts_with(BYTE_ORDER_MARK) {
            self.buffer.consume(BYTE_ORDER_MARK.len());
        }
        Ok(self.buffer.unread())
    }

    /// Passes over so many lines, before anything else is asked for. How many there were of them.
    pub(super) fn skip_lines(&mut self, lines: u64) -> Result<u64> {
        let mut passed = 0;
        while passed < lines {
            let unread = self.buffer.unread();
            let end = memchr(b'\n', unread).map(|at| at + 1);
            match end {
                None if self.buffer.is_all() => {
                    passed += u64::from(!unread.is_empty());
                    self.buffer.consume(unread.len());
                    break;
                }
                None => {
                    let bytes = unread.len();
                    // A line may be of any length; what is passed over is not held.
                    if bytes > self.bytes_max {
                        self.buffer.consume(bytes);
                    }
                    self.buffer.fill()?;
                }
                Some(end) => {
                    self.buffer.consume(end);
                    passed += 1;
                }
            }
        }
        Ok(passed)
    }

    /// Sets the format, before the first piece.
    pub(super) fn set_format(&mut self, format: &Format, options: &SourceOptions) {
        self.format = format.clone();
        self.joins = Joins::new(format, self.buffer.unread(), options);
    }

    /// Lines come as they are written: none waits for what may belong to it and was not read with it.
    pub(super) fn follow(&mut self) {
        self.is_followed = true;
    }

    /// How often something was read of the input.
    pub(super) fn reads(&self) -> u64 {
        self.buffer.reads()
    }

    /// Lines of all pieces so far.
    pub(super) fn lines(&self) -> u64 {
        self.lines
    }

    /// The bytes of the last piece, without what separates it from the next.
    pub(super) fn bytes(&self, piece: Piece) -> &[u8] {
        self.buffer.unread().get(..piece.bytes).unwrap_or_default()
    }

    /// The next entry or part of one; empty lines are entries too.
    pub(super) fn next(&mut self) -> Result<Option<Piece>> {
        self.buffer.consume(std::mem::take(&mut self.used));
        if let Some(error) = self.failed.take() {
            return Err(error);
        }
        let piece = match self.parts {
            None => self.whole()?,
            Some(parts) => self.part(parts + 1)?,
        };
        if let Some(piece) = piece {
            self.used = piece.all;
            self.lines += self.lines_of(piece);
        }
        Ok(piece)
    }

    fn whole(&mut self) -> Result<Option<Piece>> {
        self.cutter = Cutter::new(&self.format);
        loop {
            let (unread, is_all) = (self.buffer.unread(), self.buffer.is_all());
            if is_all && unread.is_empty() {
                return Ok(None);
            }
            match self.cutter.end(unread, is_all, self.bytes_max) {
                End::At(bytes, all) => {
                    let (bytes, all) = self.joined(bytes, all);
                    return Ok(Some(Piece { line: self.lines + 1, part: None, bytes, all }));
                }
                End::TooLong => return self.part(1),
                End::Unread => {
                    self.buffer.fill()?;
                }
            }
        }
    }

    /// Where a record ends whose first line ends here, and where the next begins.
    fn joined(&mut self, bytes: usize, all: usize) -> (usize, usize) {
        let Some(joins) = &mut self.joins else { return (bytes, all) };
        joins.begin(self.buffer.unread().get(..bytes).unwrap_or_default());
        let (mut end, mut seen) = ((bytes, all), all);
        loop {
            let (unread, is_all) = (self.buffer.unread(), self.buffer.is_all());
            let rest = unread.get(seen..).unwrap_or_default();
            let (line, next) = match memchr(b'\n', rest) {
                Some(at) => line_end(rest, at),
                None if is_all => (line_end(rest, rest.len()).0, rest.len()),
                None if (self.is_followed && !joins.is_open() && !is_part_of_trace(rest))
                    || rest.len() > self.bytes_max =>
                {
                    return end;
                }
                None => match self.buffer.fill() {
                    Ok(_) => continue,
                    Err(error) => {
                        self.failed = Some(error);
                        return end;
                    }
                },
            };
            let text = rest.get(..line).unwrap_or_default();
            let is_last = next == 0 || seen + line > self.part_bytes_max;
            if is_last || (!text.is_empty() && !joins.take(text)) {
                return end;
            }
            if !text.is_empty() {
                end = (seen + line, seen + next);
            }
            seen += next;
        }
    }

    /// The next part of an entry that is too long. The last one ends where the entry does.
    fn part(&mut self, part: u64) -> Result<Option<Piece>> {
        let piece = |bytes, all| Piece { line: self.lines + 1, part: Some(part), bytes, all };
        let needed = self.part_bytes_max + GAP_BYTES_MAX;
        while self.buffer.unread().len() < needed && self.buffer.fill()? {}
        let unread = self.buffer.unread();
        let window = unread.get(..needed).unwrap_or(unread);
        let end = self.cutter.end_of_long(window);
        let end = end.or((window.len() < needed).then_some((window.len(), window.len())));
        match end.filter(|(bytes, _)| *bytes <= self.part_bytes_max) {
            Some((bytes, all)) => {
                self.parts = None;
                Ok(Some(piece(bytes, all)))
            }
            None => {
                self.parts = Some(part);
                let cut = character_start(window, self.part_bytes_max);
                Ok(Some(piece(cut, cut)))
            }
        }
    }

    fn lines_of(&self, piece: Piece) -> u64 {
        if piece.part.is_none() && self.format != Format::Journal && self.joins.is_none() {
            return 1;
        }
        let text = self.buffer.unread().get(..piece.all).unwrap_or_default();
        let is_last = self.buffer.is_all() && text.len() == self.buffer.unread().len();
        let is_open = is_last && text.last().is_some_and(|last| *last != b'\n');
        memchr_iter(b'\n', text).count() as u64 + u64::from(is_open)
    }
}

/// Where the line ends that has its line feed here, and where the next begins.
fn line_end(text: &[u8], at: usize) -> (usize, usize) {
    let line = text.get(..at).unwrap_or_default();
    (line.strip_suffix(b"\r").unwrap_or(line).len(), at + 1)
}

/// The last place up to `at` where a character of UTF-8 may begin; `at`, if the bytes are none.
pub(super) fn character_start(text: &[u8], at: usize) -> usize {
    let is_inside = |at: &usize| text.get(*at).is_some_and(|byte| byte & 0xc0 == 0x80);
    (at.saturating_sub(3)..=at).rev().find(|at| !is_inside(at)).filter(|at| *at > 0).unwrap_or(at)
}
