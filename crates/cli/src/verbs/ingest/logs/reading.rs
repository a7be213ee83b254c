//! A file of lines, read, taken apart and gathered as columns by a thread of its own while another stores
//! what was read.

use std::cell::RefCell;
use std::io::{self, Read};
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, channel, sync_channel};
use std::time::Duration;

use indicatif::ProgressBar;
use timestrata::ingest::lines::{Guess, LineReader, SourceOptions, SourceReport};
use timestrata::logs::{EntryBatch, Labels, NewEntry};
use timestrata::{Clock, Error, ErrorKind};

use super::load::BATCH_BYTES;
use crate::failure::{Failure, Result};
use crate::input;
use crate::interrupt::Interrupt;

/// Bytes that are read, and then handed on as entries, at once.
const READ_BYTES: usize = 256 << 10;
/// Parts that wait to be stored: as much as one commit has, for it takes a while to become durable.
const PARTS_WAITING_MAX: usize = BATCH_BYTES / READ_BYTES;
/// How often somebody who waits looks whether it is to end.
pub(super) const LOOK: Duration = Duration::from_millis(250);

/// What becomes of a file.
#[derive(Debug)]
pub(super) enum Event {
    /// Its format is known.
    Begun(Guess),
    /// Some of its entries, in order.
    Entries(Box<Part>),
    /// That was all.
    Ended(SourceReport),
}

/// Entries that follow each other.
#[derive(Debug)]
pub(super) struct Part {
    pub(super) entries: EntryBatch,
    /// Lines that are all in these entries, or in those before.
    pub(super) lines: u64,
}

/// Where entries are gathered, which is known only once there is a store for them.
#[derive(Debug)]
pub(super) struct Target {
    /// Without entries.
    pub(super) batch: EntryBatch,
    /// What all entries get.
    pub(super) labels: Labels,
    /// Entries that a part has at most.
    pub(super) rows_max: usize,
}

/// A file that is being read.
#[derive(Debug)]
pub(super) struct Reading {
    /// What to call the file in messages.
    pub(super) name: String,
    /// Of the file's lines, those that were left out.
    pub(super) skipped: u64,
    events: Receiver<Result<Event>>,
    target: Sender<Target>,
    /// Its format, before anybody has asked for events.
    begun: Option<Guess>,
}

impl Reading {
    /// Begins to read; by a clock, lines that come as they are written.
    pub(super) fn begin(
        path: &Path,
        options: SourceOptions,
        clock: Option<Arc<dyn Clock>>,
        skip_lines: u64,
        bar: ProgressBar,
    ) -> Result<Self> {
        let name = input::name(path);
        let path = path.to_owned();
        let open = move || Ok(input::open(&path, &bar)?.reader);
        Self::of(name, open, options, clock, skip_lines)
    }

    /// Begins to read what a thread of its own opens.
    pub(super) fn of(
        name: String,
        open: impl FnOnce() -> Result<Box<dyn Read>> + Send + 'static,
        options: SourceOptions,
        clock: Option<Arc<dyn Clock>>,
        skip_lines: u64,
    ) -> Result<Self> {
        let (sender, events) = sync_channel(PARTS_WAITING_MAX);
        let (target, targets) = channel();
        let called = name.clone();
        let read = move || {
            let lines = LinesRead { skipped: skip_lines, targets, sender: sender.clone() };
            let outcome = open().and_then(|reader| lines.read(&called, reader, options, clock));
            // Who no longer wants entries doesn't want to know either.
            let _ = sender.send(outcome.map(Event::Ended));
        };
        std::thread::Builder::new()
            .name("timestrata-lines".to_owned())
            .spawn(read)
            .map_err(|cause| Failure::plain(format!("could not start a thread: {cause}")))?;
        Ok(Self { name, skipped: skip_lines, events, target, begun: None })
    }

    /// Waits until the file has turned out to be one that can be read.
    pub(super) fn await_format(&mut self, interrupt: &Interrupt) -> Result<()> {
        while self.begun.is_none() {
            if interrupt.is_heard() {
                return Err(Failure::plain("interrupted before anything was read"));
            }
            if let Some(Event::Begun(guess)) = self.next(LOOK)? {
                self.begun = Some(guess);
            }
        }
        Ok(())
    }

    /// Lets entries be gathered. Until then none are given.
    pub(super) fn gather_into(&self, target: Target) {
        // A thread that has failed wants none; its event tells why.
        let _ = self.target.send(target);
    }

    /// What comes next; `None`: nothing until now.
    pub(super) fn next(&mut self, timeout: Duration) -> Result<Option<Event>> {
        if let Some(guess) = self.begun.take() {
            return Ok(Some(Event::Begun(guess)));
        }
        match self.events.recv_timeout(timeout) {
            Ok(event) => event.map(Some),
            Err(RecvTimeoutError::Timeout) => Ok(None),
            Err(RecvTimeoutError::Disconnected) => {
                Err(Failure::plain(format!("reading ended before its time [{}]", self.name)))
            }
        }
    }
}

/// What the thread that reads knows.
struct LinesRead {
    skipped: u64,
    targets: Receiver<Target>,
    sender: SyncSender<Result<Event>>,
}

impl LinesRead {
    /// Reads all of a file.
    fn read(
        self,
        name: &str,
        reader: Box<dyn Read>,
        options: SourceOptions,
        clock: Option<Arc<dyn Clock>>,
    ) -> Result<SourceReport> {
        let failed =
            |error: Error| Failure::failed(format!("{} [{name}]", error.message()), error.hint());
        let outbox = Rc::new(RefCell::new(None));
        let reader = Announced { reader, outbox: Rc::clone(&outbox) };
        let lines = LineReader::new(reader, options);
        let mut lines = match clock {
            Some(clock) => lines.with_clock(clock),
            None => lines,
        };
        let skipped = lines.skip_lines(self.skipped).map_err(failed)?;
        if skipped < self.skipped {
            return Err(Failure::usage(
                format!("--skip-lines {}: {name} has {skipped} lines", self.skipped),
                "give the number that the load before has told",
            ));
        }
        let guess = lines.format().map_err(failed)?.clone();
        // It fails only if nobody wants to know; the next read sees that too.
        let _ = self.sender.send(Ok(Event::Begun(guess)));
        let Ok(Target { batch, labels, rows_max }) = self.targets.recv() else {
            return Ok(SourceReport::default());
        };
        *outbox.borrow_mut() = Some(Outbox { batch, lines: 0, sender: self.sender.clone() });
        let mut entry = NewEntry::default();
        while let Some(place) = lines.next(&mut entry).map_err(failed)? {
            for (key, value) in labels.iter() {
                entry.labels.set(key, value)?;
            }
            let mut outbox = outbox.borrow_mut();
            let Some(outbox) = outbox.as_mut() else { break };
            let lines_before = place.line.saturating_sub(1);
            if outbox.batch.len() >= rows_max {
                outbox.send(lines_before)?;
            }
            if let Err(error) = outbox.batch.push(&entry) {
                outbox.send(lines_before)?;
                return Err(self.refused(error, name, place.line));
            }
            outbox.lines = lines.report().lines;
        }
        if let Some(outbox) = outbox.borrow_mut().as_mut() {
            outbox.send(outbox.lines)?;
        }
        Ok(lines.report().clone())
    }

    /// An entry that the log doesn't take.
    fn refused(&self, error: Error, name: &str, line: u64) -> Failure {
        if error.kind() != ErrorKind::TooLarge {
            return error.into();
        }
        let line = self.skipped + line;
        Failure::failed(
            format!("{name}, line {line}: {}", error.message()),
            format!(
                "load into a new log with a larger --message-bytes-max, or leave the line out: \
                 --skip-lines {line}"
            ),
        )
    }
}

/// Entries that were read and not handed on.
struct Outbox {
    batch: EntryBatch,
    /// Lines that are all in it, or in what was handed on before.
    lines: u64,
    sender: SyncSender<Result<Event>>,
}

impl Outbox {
    /// Hands them on, with which these lines are.
    fn send(&mut self, lines: u64) -> timestrata::Result<()> {
        if self.batch.is_empty() {
            return Ok(());
        }
        let part = Part { entries: self.batch.split_off()?, lines };
        let gone = |_| Error::new(ErrorKind::Closed, "nobody takes entries any more");
        self.sender.send(Ok(Event::Entries(Box::new(part)))).map_err(gone)
    }
}

/// Hands on what there is before it may have to wait for more: a log that grows slowly is stored as it
/// grows.
struct Announced<R> {
    reader: R,
    outbox: Rc<RefCell<Option<Outbox>>>,
}

impl<R: Read> Read for Announced<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if let Some(outbox) = self.outbox.borrow_mut().as_mut() {
            outbox.send(outbox.lines).map_err(io::Error::other)?;
        }
        let length = buffer.len().min(READ_BYTES);
        self.reader.read(buffer.get_mut(..length).unwrap_or_default())
    }
}
