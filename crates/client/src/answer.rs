//! Answers that are read as they come: rows, and lines.

use std::io::{self, BufRead, BufReader, Read};

use arrow_array::RecordBatch;
use arrow_ipc::reader::StreamReader;
use arrow_schema::{ArrowError, SchemaRef};
use serde_json::Value;
use timestrata_engine::{Error, ErrorKind, Result};
use timestrata_logs::Clock;
use ureq::{Body, BodyReader};

use crate::server::Server;

const READ_BYTES: usize = 64 << 10;
/// Bytes of one line of an answer.
const LINE_BYTES_MAX: u64 = 256 << 20;

/// The body of an answer. One that ends early is an error, and never an end: none of its readers may take a part
/// for the whole.
pub(crate) struct AnswerReader {
    body: BodyReader<'static>,
    server: Server,
}

impl AnswerReader {
    pub(crate) fn new(server: &Server, body: Body) -> Self {
        Self { body: body.into_reader(), server: server.clone() }
    }
}

impl Read for AnswerReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        // Of another kind than what readers of streams take for an end, or try again.
        self.body.read(buffer).map_err(|cause| io::Error::other(self.server.could_not(&cause)))
    }
}

/// The error that a reader met.
fn error_of(cause: io::Error) -> Error {
    match cause.downcast::<Error>() {
        Ok(error) => error,
        Err(cause) => unreadable(&cause),
    }
}

fn unreadable(cause: &dyn std::fmt::Display) -> Error {
    Error::new(ErrorKind::Io, format!("the answer can't be read: {cause}"))
        .hinting("see what runs there, and that it isn't older")
}

/// What the head of an answer says of its rows.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Told {
    /// Where to go on behind them.
    pub(crate) next: Option<i64>,
    pub(crate) clock: Clock,
}

/// Rows of an answer, as they come.
pub struct ReceivedRows {
    reader: StreamReader<BufReader<AnswerReader>>,
    told: Told,
    is_done: bool,
}

impl std::fmt::Debug for ReceivedRows {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ReceivedRows").field("schema", &self.schema()).finish_non_exhaustive()
    }
}

impl ReceivedRows {
    pub(crate) fn new(reader: AnswerReader, told: Told) -> Result<Self> {
        let reader = BufReader::with_capacity(READ_BYTES, reader);
        let reader = StreamReader::try_new(reader, None).map_err(of_arrow)?;
        Ok(Self { reader, told, is_done: false })
    }

    /// Where to go on behind these rows, where the answer says so.
    pub fn next_position(&self) -> Option<i64> {
        self.told.next
    }

    /// By which clock these are in order, if they are entries of a log.
    pub fn clock(&self) -> Clock {
        self.told.clock
    }

    /// The columns.
    pub fn schema(&self) -> SchemaRef {
        self.reader.schema()
    }
}

impl Iterator for ReceivedRows {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.is_done {
            return None;
        }
        let next = self.reader.next();
        self.is_done = !matches!(next, Some(Ok(_)));
        next.map(|batch| batch.map_err(of_arrow))
    }
}

fn of_arrow(error: ArrowError) -> Error {
    match error {
        ArrowError::IoError(_, cause) => error_of(cause),
        other => unreadable(&other),
    }
}

/// Lines of an answer, each a JSON value, as they come.
pub struct Lines {
    reader: BufReader<AnswerReader>,
    line: Vec<u8>,
    next: Option<i64>,
}

impl std::fmt::Debug for Lines {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Lines").field("next", &self.next).finish_non_exhaustive()
    }
}

impl Lines {
    pub(crate) fn new(reader: AnswerReader, next: Option<i64>) -> Self {
        Self { reader: BufReader::with_capacity(READ_BYTES, reader), line: Vec::new(), next }
    }

    /// Where to go on behind these lines, where the answer says so.
    pub fn next_offset(&self) -> Option<u64> {
        self.next.and_then(|next| u64::try_from(next).ok())
    }

    /// The next line as it came, without its end.
    ///
    /// # Errors
    /// Where the answer ends early.
    pub fn next_line(&mut self) -> Result<Option<&[u8]>> {
        self.line.clear();
        let mut bounded = (&mut self.reader).take(LINE_BYTES_MAX);
        let bytes = bounded.read_until(b'\n', &mut self.line).map_err(error_of)?;
        if bytes == 0 {
            return Ok(None);
        }
        match self.line.pop() {
            Some(b'\n') => Ok(Some(&self.line)),
            _ => Err(unreadable(&"a line of it has no end")),
        }
    }
}

impl Iterator for Lines {
    type Item = Result<Value>;

    fn next(&mut self) -> Option<Self::Item> {
        let line = self.next_line().transpose()?;
        Some(line.and_then(|line| serde_json::from_slice(line).map_err(|error| unreadable(&error))))
    }
}
