//! The reader: a whole log becomes entries, one after the other.

use std::collections::VecDeque;
use std::io::Read;
use std::sync::Arc;

use timestrata_engine::{Clock, Result};
use timestrata_logs::NewEntry;

use super::guess::SAMPLE_BYTES;
use super::parser::{LineParser, PARSE_ERROR, Parsed};
use super::parts::{PART, Parts};
use super::pieces::{Piece, Pieces};
use super::{Format, Guess, SourceOptions, SourceReport, guess};

/// Fields of a part take as much at most.
const NOTES_BYTES: usize = 256;

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
/// use timestrata_logs::NewEntry;
/// use timestrata_ingest::lines::{Format, LineReader, SourceOptions};
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
    parts: Parts,
    /// Records of the last line that were not given yet, and which line it is.
    records: (u64, VecDeque<NewEntry>),
    report: SourceReport,
    /// The clock that dates without a year go by, if lines come as they are written.
    clock: Option<Arc<dyn Clock>>,
    /// How often something had been read when it was looked at.
    reads: u64,
}

impl<R: Read> LineReader<R> {
    /// A reader of what `reader` gives, which is not compressed.
    pub fn new(reader: R, options: SourceOptions) -> Self {
        let format = options.format.clone().unwrap_or(Format::Plain);
        Self {
            is_begun: false,
            guess: Guess { format: format.clone(), why: "it was asked for".to_owned() },
            pieces: Pieces::new(reader, &options),
            parser: LineParser::new(format, &options),
            parts: Parts::default(),
            records: (0, VecDeque::new()),
            report: SourceReport::default(),
            clock: None,
            reads: 0,
            options,
        }
    }

    /// Lines come as they are written, maybe for years: what they are not later than is the time at which
    /// they are read, by this clock, and not [`SourceOptions::reference_time`].
    #[must_use]
    pub fn with_clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.pieces.follow();
        Self { clock: Some(clock), ..self }
    }

    /// Passes over so many lines, which is to be called first: they count for nothing. Gives how many there were of them.
    ///
    /// # Errors
    /// `Io` if reading fails.
    pub fn skip_lines(&mut self, lines: u64) -> Result<u64> {
        self.pieces.skip_lines(lines)
    }

    /// The format that lines are read in, and why it is this one. Reads a first line at least.
    ///
    /// # Errors
    /// `Io` if reading fails.
    pub fn format(&mut self) -> Result<&Guess> {
        if !self.is_begun {
            let start = self.pieces.begin(SAMPLE_BYTES)?;
            if self.options.format.is_none() {
                self.guess = guess(start, &self.options.formats);
            }
            self.pieces.set_format(&self.guess.format, &self.options);
            self.parser = LineParser::new(self.guess.format.clone(), &self.options);
            self.is_begun = true;
        }
        Ok(&self.guess)
    }

    /// Makes `entry` the next one and says where it stands; `None` behind the last.
    ///
    /// What is too long for one entry is cut into several that follow each other, with their number as
    /// the field `part`: a message, all else that is known being said with its first part; or else the
    /// line as it is.
    ///
    /// # Errors
    /// `Io` if reading fails. It may be called again then.
    pub fn next(&mut self, entry: &mut NewEntry) -> Result<Option<Place>> {
        self.format()?;
        let line = match self.parts.next(&self.pieces, entry).or_else(|| self.record(entry)) {
            Some(line) => Some(line),
            None => self.read(entry)?,
        };
        self.report.entries += u64::from(line.is_some());
        Ok(line.map(|line| Place { line }))
    }

    /// What was read so far.
    pub fn report(&self) -> &SourceReport {
        &self.report
    }

    /// The entry of the next line that is not empty, or of its first part.
    fn read(&mut self, entry: &mut NewEntry) -> Result<Option<u64>> {
        loop {
            let piece = self.pieces.next()?;
            self.look_at_clock();
            self.report.lines = self.pieces.lines();
            let Some(piece) = piece else { return Ok(None) };
            let line = match piece.part {
                None => self.whole(piece, entry),
                Some(1) => {
                    entry.clear();
                    let bytes_max = self.options.line_bytes();
                    let why =
                        format!("the line has more than {bytes_max} bytes: this is its first part");
                    self.in_parts(piece, &why, entry)
                }
                Some(_) => {
                    self.parts.go_on(piece);
                    self.parts.next(&self.pieces, entry)
                }
            };
            if line.is_some() {
                return Ok(line);
            }
        }
    }

    /// Where something was read since, it may be of a later day than what came before.
    fn look_at_clock(&mut self) {
        let reads = self.pieces.reads();
        if let Some(clock) = self.clock.as_ref().filter(|_| reads != self.reads) {
            self.parser.set_reference_time(clock.wall_ns());
            self.reads = reads;
        }
    }

    /// The next record of a line that has several.
    fn record(&mut self, entry: &mut NewEntry) -> Option<u64> {
        let (line, records) = &mut self.records;
        *entry = records.pop_front()?;
        Some(*line)
    }

    /// Takes a line apart that is an envelope of several records, if it is one and each of them fits.
    fn open_envelope(&mut self, piece: Piece) -> bool {
        if self.guess.format != Format::Json {
            return false;
        }
        let Some(records) = self.parser.records(self.pieces.bytes(piece)) else { return false };
        let (message_max, fields_max) = (self.options.message_bytes(), self.options.fields_bytes());
        let fits = |entry: &NewEntry| {
            entry.message.len() <= message_max && entry.fields.bytes() <= fields_max
        };
        if !records.iter().all(fits) {
            return false;
        }
        self.records = (piece.line, records.into());
        true
    }

    fn whole(&mut self, piece: Piece, entry: &mut NewEntry) -> Option<u64> {
        if self.open_envelope(piece) {
            return self.record(entry);
        }
        let flaw = match self.parser.parse_whole(self.pieces.bytes(piece), entry) {
            Parsed::Empty => return None,
            Parsed::Entry => None,
            Parsed::Flawed(why) => Some(why),
        };
        let (message_max, fields_max) = (self.options.message_bytes(), self.options.fields_bytes());
        let (message, fields) = (entry.message.len(), entry.fields.bytes());
        if message <= message_max && fields <= fields_max {
            if let Some(flaw) = flaw {
                self.report.add_flaw(piece.line, flaw);
            }
            return Some(piece.line);
        }
        let has_own = |name| entry.fields.get(name).is_some();
        let has_room = fields + NOTES_BYTES <= fields_max;
        let is_free = !has_own(PART) && (flaw.is_some() || !has_own(PARSE_ERROR));
        let flaw = flaw.map_or(String::new(), |flaw| format!("{flaw}; "));
        if !has_room || !is_free {
            let why = format!(
                "{flaw}the message has {message} bytes and the fields {fields}: this is the first \
                 part of the line"
            );
            return self.in_parts(piece, &why, entry);
        }
        let why = format!("{flaw}the message has {message} bytes: this is its first part");
        self.parts.cut_message(piece.line, message_max, entry);
        self.flaw(piece, &why, entry);
        Some(piece.line)
    }

    /// The first of the parts of a line as it is.
    fn in_parts(&mut self, piece: Piece, why: &str, entry: &mut NewEntry) -> Option<u64> {
        self.parts.cut_line(piece, self.options.message_bytes(), entry);
        let line = self.parts.next(&self.pieces, entry)?;
        self.flaw(piece, why, entry);
        Some(line)
    }

    fn flaw(&mut self, piece: Piece, why: &str, entry: &mut NewEntry) {
        entry.fields.text(PARSE_ERROR, why);
        self.report.add_flaw(piece.line, why);
    }
}
