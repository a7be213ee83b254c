//! One turn of a client: the requests that have arrived, their writes as one commit, and the answers.

use std::io;
use std::sync::Arc;

use parking_lot::Mutex;
use timestrata_engine::{Durability, ErrorKind, Result, RunningQuery};
use timestrata_logs::{Logs, NewEntry};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::lines::{Line, Lines};
use super::metadata::Metadata;
use super::reading::Reading;
use super::refusal::Refusal;
use super::request::{self, Request};
use crate::busy::patiently;
use crate::config::LogTcpConfig;
use crate::state::AppState;

/// Requests of one turn: more of them are another commit, and another client's turn may come first.
const REQUESTS_MAX: usize = 2_048;
/// Sheets that wait for their next turn, and what an entry on one may keep of its memory.
const SHEETS_MAX: usize = 16;
const ENTRY_BYTES_KEPT: usize = 1 << 10;
/// Clients that have rows in memory to be sent, at once.
const TURNS: usize = 4;
const OK: &[u8] = b"{\"status\":\"ok\"}\n";

/// Where the requests of all clients are worked off.
#[derive(Debug)]
pub(super) struct Desk {
    state: AppState,
    name: String,
    durability: Durability,
    /// Closed where the log was removed, until the next request makes it again.
    logs: Mutex<Option<Logs>>,
    sheets: Mutex<Vec<Sheet>>,
    turns: Arc<Semaphore>,
}

/// What a turn came to.
#[derive(Debug)]
pub(super) struct Round {
    pub(super) answers: Vec<u8>,
    /// What the client asked for next, if that was to read: its answer comes before any other.
    pub(super) reading: Option<Range>,
}

/// Arrivals, in milliseconds, both included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Range {
    pub(super) start: u64,
    pub(super) end: u64,
}

/// What a turn is worked out on. It keeps its memory for the next.
#[derive(Debug, Default)]
struct Sheet {
    entries: Vec<NewEntry>,
    /// Those that are to be written.
    written: usize,
    answers: Vec<Answer>,
    metadata: Metadata,
}

#[derive(Debug)]
enum Answer {
    /// As the commit of the turn turns out.
    Written,
    Refused(Refusal),
}

impl Desk {
    /// Makes the log if it isn't there.
    pub(super) fn new(state: AppState, config: &LogTcpConfig) -> Result<Self> {
        let desk = Self {
            state,
            name: config.log.clone(),
            durability: config.durability,
            logs: Mutex::default(),
            sheets: Mutex::default(),
            turns: Arc::new(Semaphore::new(TURNS)),
        };
        desk.logs()?;
        Ok(desk)
    }

    pub(super) fn state(&self) -> &AppState {
        &self.state
    }

    /// Works off what has arrived, up to a request to read; with `is_end`, also a last line without an
    /// end. To be called on a thread that may block.
    pub(super) fn work(&self, lines: &mut Lines, is_end: bool) -> Round {
        let mut sheet = self.sheets.lock().pop().unwrap_or_default();
        let logs = self.logs();
        let bytes_max = logs.as_ref().map_or(usize::MAX, Logs::message_bytes_max);
        let reading = sheet.fill(lines, is_end, bytes_max);
        let written = logs.and_then(|logs| self.write(&logs, sheet.entries()));
        let failure = written.err().map(|error| {
            tracing::error!(%error, entries = sheet.written, "entries were not written");
            if error.kind() == ErrorKind::NotFound {
                *self.logs.lock() = None;
            }
            Refusal::WriteLogError(error.to_string())
        });
        let answers = sheet.render(failure.as_ref());
        sheet.clear();
        let mut sheets = self.sheets.lock();
        if sheets.len() < SHEETS_MAX {
            sheets.push(sheet);
        }
        Round { answers, reading }
    }

    /// Begins to read. To be called on a thread that may block.
    pub(super) fn read(&self, range: Range, query: &RunningQuery) -> Result<Reading> {
        Reading::new(&self.logs()?, range, query.clone())
    }

    /// What a request to read is on the list of queries.
    pub(super) fn begin(&self, range: Range) -> RunningQuery {
        let Range { start, end } = range;
        let text = format!("line protocol: read '{}' from {start} to {end} ms", self.name);
        self.state.store.begin_query(&text, Some(self.state.config.query_time_max))
    }

    /// Waits for its turn with who has rows in memory to be sent. Turns are taken in the order in which
    /// they were asked for.
    pub(super) async fn turn(&self) -> io::Result<OwnedSemaphorePermit> {
        let turn = Arc::clone(&self.turns).acquire_owned().await;
        turn.map_err(io::Error::other)
    }

    /// Whether others wait for a turn.
    pub(super) fn is_waited_for(&self) -> bool {
        self.turns.available_permits() == 0
    }

    fn logs(&self) -> Result<Logs> {
        let mut logs = self.logs.lock();
        if let Some(logs) = &*logs {
            return Ok(logs.clone());
        }
        let opened = self.state.logs_to_write(&self.name)?;
        Ok(logs.insert(opened).clone())
    }

    fn write(&self, logs: &Logs, entries: &[NewEntry]) -> Result<()> {
        patiently(&self.state.store, || match entries {
            [] => Ok(()),
            [entry] => logs.write_with(entry, self.durability).map(drop),
            entries => logs.write_many(entries, self.durability).map(drop),
        })?;
        self.state.metrics.log_entries.inc_by(entries.len() as u64);
        Ok(())
    }
}

impl Sheet {
    /// Takes down requests, up to one that is to read.
    fn fill(&mut self, lines: &mut Lines, is_end: bool, bytes_max: usize) -> Option<Range> {
        while self.answers.len() < REQUESTS_MAX {
            let line = match lines.has_next() {
                true => lines.next(),
                false if is_end => lines.rest(),
                false => None,
            };
            let asked = match line? {
                Line::TooLong => Err(Refusal::RequestTooLarge),
                Line::Whole(line) if line.trim_ascii().is_empty() => continue,
                Line::Whole(line) => self.parse(line, bytes_max),
            };
            match asked {
                Ok(Request::Read { start, end }) => return Some(Range { start, end }),
                Ok(Request::Write) => {
                    self.written += 1;
                    self.answers.push(Answer::Written);
                }
                Err(refusal) => self.answers.push(Answer::Refused(refusal)),
            }
        }
        None
    }

    /// Reads a line into the next entry.
    fn parse(&mut self, line: &[u8], bytes_max: usize) -> std::result::Result<Request, Refusal> {
        if self.written == self.entries.len() {
            self.entries.push(NewEntry::default());
        }
        let entry = &mut self.entries[self.written];
        entry.clear();
        request::parse(line, bytes_max, &mut self.metadata, entry)
    }

    fn entries(&self) -> &[NewEntry] {
        self.entries.get(..self.written).unwrap_or_default()
    }

    /// The answers' lines; those of writes are `failure`, if there was one.
    fn render(&self, failure: Option<&Refusal>) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.answers.len() * OK.len());
        for answer in &self.answers {
            match (answer, failure) {
                (Answer::Written, None) => out.extend_from_slice(OK),
                (Answer::Written, Some(refusal)) | (Answer::Refused(refusal), _) => {
                    refusal.write(&mut out);
                }
            }
        }
        out
    }

    /// As new, keeping the memory of short entries.
    fn clear(&mut self) {
        for entry in self.entries.iter_mut().take(self.written + 1) {
            if entry.message.len() + entry.fields.bytes() > ENTRY_BYTES_KEPT {
                *entry = NewEntry::default();
            }
        }
        self.written = 0;
        self.answers.clear();
        self.metadata.shrink();
    }
}
