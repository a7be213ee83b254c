//! One turn of a client: the requests that have arrived, their writes as one commit, and the answers.

use std::io;
use std::sync::Arc;

use timestrata_engine::locks::Mutex;
use timestrata_engine::{Durability, ErrorKind, Result, RunningQuery};
use timestrata_logs::{Logs, LogsOptions, NewEntry};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::lines::{Line, Lines};
use super::metadata::Metadata;
use super::reading::Reading;
use super::refusal::Refusal;
use super::request::{self, Request};
use crate::config::LogTcpConfig;
use crate::retry::retry_while_busy;
use crate::state::AppState;

/// Requests of one turn: more of them are another commit, and another client's turn may come first.
const REQUESTS_MAX: usize = 2_048;
/// Buffers that are kept for later turns, and what an entry in one may keep of its memory.
const SCRATCH_MAX: usize = 16;
const ENTRY_BYTES_KEPT: usize = 1 << 10;
/// Clients that have rows in memory to be sent, at once.
const READERS_MAX: usize = 4;
const OK: &[u8] = b"{\"status\":\"ok\"}\n";

/// Carries out the requests of all clients.
#[derive(Debug)]
pub(super) struct Service {
    pub(super) state: AppState,
    name: String,
    durability: Durability,
    /// Closed where the log was removed, until the next request makes it again.
    logs: Mutex<Option<Logs>>,
    scratch_kept: Mutex<Vec<Scratch>>,
    readers: Arc<Semaphore>,
}

/// What a turn came to.
#[derive(Debug)]
pub(super) struct Turn {
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

/// Buffers of one turn. They keep their memory for the next.
#[derive(Debug, Default)]
struct Scratch {
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

impl Service {
    /// Makes the log if it isn't there.
    pub(super) fn new(state: AppState, config: &LogTcpConfig) -> Result<Self> {
        let service = Self {
            state,
            name: config.log.clone(),
            durability: config.durability,
            logs: Mutex::default(),
            scratch_kept: Mutex::default(),
            readers: Arc::new(Semaphore::new(READERS_MAX)),
        };
        service.logs()?;
        Ok(service)
    }

    /// Carries out what has arrived, up to a request to read; with `is_end`, also a last line without an
    /// end. To be called on a thread that may block.
    pub(super) fn work(&self, lines: &mut Lines, is_end: bool) -> Turn {
        let mut scratch = self.scratch_kept.lock().pop().unwrap_or_default();
        let logs = self.logs();
        let bytes_max = logs.as_ref().map_or(usize::MAX, Logs::message_bytes_max);
        let reading = scratch.fill(lines, is_end, bytes_max);
        let written = logs.and_then(|logs| self.write(&logs, scratch.entries()));
        let failure = written.err().map(|error| {
            tracing::error!(%error, entries = scratch.written, "entries were not written");
            if error.kind() == ErrorKind::NotFound {
                *self.logs.lock() = None;
            }
            Refusal::WriteLogError(error.to_string())
        });
        let answers = scratch.render(failure.as_ref());
        scratch.clear();
        let mut scratch_kept = self.scratch_kept.lock();
        if scratch_kept.len() < SCRATCH_MAX {
            scratch_kept.push(scratch);
        }
        Turn { answers, reading }
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

    /// Waits until so few others have rows in memory to be sent that one more may. Permits are given in the order
    /// in which they were asked for.
    pub(super) async fn read_permit(&self) -> io::Result<OwnedSemaphorePermit> {
        let permit = Arc::clone(&self.readers).acquire_owned().await;
        permit.map_err(io::Error::other)
    }

    /// Whether others wait for a permit to read.
    pub(super) fn is_waited_for(&self) -> bool {
        self.readers.available_permits() == 0
    }

    fn logs(&self) -> Result<Logs> {
        let mut logs = self.logs.lock();
        if let Some(logs) = &*logs {
            return Ok(logs.clone());
        }
        let opened = self.state.logs_to_write(&self.name, &LogsOptions::default())?;
        Ok(logs.insert(opened).clone())
    }

    fn write(&self, logs: &Logs, entries: &[NewEntry]) -> Result<()> {
        retry_while_busy(&self.state.store, || match entries {
            [] => Ok(()),
            [entry] => logs.write_with(entry, self.durability).map(drop),
            entries => logs.write_many(entries, self.durability).map(drop),
        })?;
        self.state.metrics.log_entries.inc_by(entries.len() as u64);
        Ok(())
    }
}

impl Scratch {
    /// Reads requests, up to one that is to read.
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
