//! All entries of a log.

use std::io::Read;

use timestrata_engine::Result;

use super::guess::SAMPLE_BYTES;
use super::parser::{LineParser, ORIGINAL, PARSE_ERROR, Parsed, keep};
use super::pieces::{Piece, Pieces};
use super::{Format, Guess, SourceOptions, SourceReport, guess};
use crate::logs::{Level, NewEntry};

/// The number of a part of what is too long for one entry.
const PART: &str = "part";

/// Where an entry was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// The first line that it is of, from 1.
    pub line: u64,
}

/// Reads a log of any of the known formats, entry by entry, in memory bounded by
/// [`SourceOptions::line_bytes_max`].
///
/// ```
/// use timestrata_models::logs::NewEntry;
/// use timestrata_models::logs::source::{Format, LineReader, SourceOptions};
///
/// # fn main() -> timestrata_engine::Result<()> {
/// let log = "{\"msg\":\"started\",\"port\":80}\n{\"msg\":\"stopped\"}\nKilled\n";
/// let mut reader = LineReader::new(log.as_bytes(), SourceOptions::new(0));
/// assert_eq!(reader.format()?.format, Format::Json);
/// let mut entry = NewEntry::default();
/// let mut messages = Vec::new();
/// while let Some(place) = reader.next(&mut entry)? {
///     messages.push((place.line, entry.message.clone()));
/// }
/// let expected = [(1, "started"), (2, "stopped"), (3, "Killed")];
/// assert_eq!(messages, expected.map(|(line, message)| (line, message.to_owned())));
/// assert_eq!((reader.report().entries, reader.report().parse_errors), (3, 1));
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct LineReader<R> {
    options: SourceOptions,
    is_begun: bool,
    /// Of no meaning before it is begun.
    guess: Guess,
    pieces: Pieces<R>,
    parser: LineParser,
    /// Parts that were given of what is too long.
    parts: u64,
    rest: Rest,
    report: SourceReport,
}

/// What is left of a message that is too long.
#[derive(Debug, Default)]
struct Rest {
    message: String,
    given: usize,
    line: u64,
    source_time: Option<i64>,
    level: Option<Level>,
}

impl<R: Read> LineReader<R> {
    /// A reader of what `reader` gives, which is not compressed.
    pub fn new(reader: R, options: SourceOptions) -> Self {
        let format = options.format.unwrap_or(Format::Plain);
        Self {
            is_begun: false,
            guess: Guess { format, why: "it was asked for".to_owned() },
            pieces: Pieces::new(reader, &options),
            parser: LineParser::new(format, &options),
            parts: 0,
            rest: Rest::default(),
            report: SourceReport::default(),
            options,
        }
    }

    /// The format that lines are read in, and why it is this one. Reads a first line at least.
    ///
    /// # Errors
    /// `Io` if reading fails.
    pub fn format(&mut self) -> Result<&Guess> {
        if !self.is_begun {
            let start = self.pieces.begin(SAMPLE_BYTES)?;
            if self.options.format.is_none() {
                self.guess = guess(start);
            }
            self.pieces.set_format(self.guess.format);
            self.parser = LineParser::new(self.guess.format, &self.options);
            self.is_begun = true;
        }
        Ok(&self.guess)
    }

    /// Makes `entry` the next one and says where it stands; `None` behind the last.
    ///
    /// What is too long is cut into entries that follow each other, with their number as the field
    /// `part`; the first of them has all that else is known.
    ///
    /// # Errors
    /// `Io` if reading fails. It may be called again then.
    pub fn next(&mut self, entry: &mut NewEntry) -> Result<Option<Place>> {
        self.format()?;
        let place = match self.rest.next(self.options.message_bytes(), entry) {
            Some(place) => {
                self.number_part(entry);
                Some(place)
            }
            None => self.read(entry)?,
        };
        self.report.entries += u64::from(place.is_some());
        Ok(place)
    }

    /// What was read so far.
    pub fn report(&self) -> &SourceReport {
        &self.report
    }

    fn read(&mut self, entry: &mut NewEntry) -> Result<Option<Place>> {
        loop {
            let piece = self.pieces.next()?;
            self.report.lines = self.pieces.lines();
            let Some(piece) = piece else { return Ok(None) };
            let is_entry = match piece.part {
                Some(part) => self.part(piece, part, entry),
                None => self.whole(piece, entry),
            };
            if is_entry {
                return Ok(Some(Place { line: piece.line }));
            }
        }
    }

    /// An entry of a line. `false` if it is empty.
    fn whole(&mut self, piece: Piece, entry: &mut NewEntry) -> bool {
        let line = self.pieces.bytes(piece);
        let flaw = match self.parser.parse(line, entry) {
            Parsed::Empty => return false,
            Parsed::Entry => None,
            Parsed::Flawed(why) => Some(why),
        };
        let bytes_max = self.options.message_bytes();
        if entry.message.len() <= bytes_max {
            if let Some(flaw) = flaw {
                self.report.add_flaw(piece.line, flaw);
            }
            return true;
        }
        let bytes = entry.message.len();
        let cut = format!("the message has {bytes} bytes: these are parts of {bytes_max} at most");
        let cut = flaw.map(|flaw| format!("{flaw}; {cut}")).unwrap_or(cut);
        let is_named = |name| entry.fields.get(name).is_some();
        if is_named(PART) || (flaw.is_none() && is_named(PARSE_ERROR)) {
            // The line has fields of these names itself.
            entry.fields.text(ORIGINAL, &String::from_utf8_lossy(line));
        }
        entry.fields.text(PARSE_ERROR, &cut);
        self.report.add_flaw(piece.line, &cut);
        self.parts = 0;
        self.number_part(entry);
        self.rest.cut(bytes_max, piece.line, entry);
        true
    }

    /// An entry of a part of a line that is too long to be read. `false` if it is empty.
    fn part(&mut self, piece: Piece, part: u64, entry: &mut NewEntry) -> bool {
        let bytes = self.pieces.bytes(piece);
        if bytes.is_empty() {
            return false;
        }
        keep(bytes, entry);
        let bytes_max = self.options.message_bytes();
        if part == 1 {
            let line_bytes_max = self.options.line_bytes();
            let flaw = format!(
                "the line has more than {line_bytes_max} bytes: these are parts of {bytes_max} at most"
            );
            entry.fields.text(PARSE_ERROR, &flaw);
            self.report.add_flaw(piece.line, &flaw);
            self.parts = 0;
        }
        self.number_part(entry);
        // U+FFFD has more bytes than what it stands for.
        self.rest.cut(bytes_max, piece.line, entry);
        true
    }

    fn number_part(&mut self, entry: &mut NewEntry) {
        self.parts += 1;
        entry.fields.uint(PART, self.parts);
    }
}

impl Rest {
    /// Takes what is too much of a message.
    fn cut(&mut self, bytes_max: usize, line: u64, entry: &mut NewEntry) {
        let end = entry.message.floor_char_boundary(bytes_max);
        self.message.clear();
        self.message.push_str(entry.message.get(end..).unwrap_or_default());
        entry.message.truncate(end);
        (self.given, self.line) = (0, line);
        (self.source_time, self.level) = (entry.source_time, entry.level);
    }

    /// Makes `entry` the next part.
    fn next(&mut self, bytes_max: usize, entry: &mut NewEntry) -> Option<Place> {
        let rest = self.message.get(self.given..).filter(|rest| !rest.is_empty())?;
        let part = rest.get(..rest.floor_char_boundary(bytes_max))?;
        entry.clear();
        entry.message.push_str(part);
        (entry.source_time, entry.level) = (self.source_time, self.level);
        self.given += part.len();
        Some(Place { line: self.line })
    }
}
