//! A file of lines, read and taken apart by a thread of its own while another stores what was read.

use std::cell::RefCell;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;
use std::rc::Rc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::Duration;

use indicatif::ProgressBar;
use timestrata::logs::NewEntry;
use timestrata::logs::source::{Guess, LineReader, SourceOptions, SourceReport};

use crate::failure::{Failure, Result};
use crate::input::{self, Input, could_not_read};
use crate::interrupt::Interrupt;

/// Bytes that are read, and then handed on as entries, at once.
const READ_BYTES: usize = 256 << 10;
/// Parts that wait to be stored.
const PARTS_WAITING_MAX: usize = 4;
/// How often somebody who waits looks whether it is to end.
pub(super) const LOOK: Duration = Duration::from_millis(250);

/// What becomes of a file.
#[derive(Debug)]
pub(super) enum Event {
    /// Its format is known.
    Begun(Guess),
    /// Some of its entries, in order.
    Entries(Part),
    /// That was all.
    Ended(SourceReport),
}

/// Entries, each with the line on which it begins, from 1.
#[derive(Debug, Default)]
pub(super) struct Part {
    pub(super) entries: Vec<(u64, NewEntry)>,
    /// Lines that are all in these entries, or in those before.
    pub(super) lines: u64,
}

/// A file that is being read.
#[derive(Debug)]
pub(super) struct Reading {
    name: String,
    /// Of the file's lines, those that were left out.
    pub(super) skipped: u64,
    events: Receiver<Result<Event>>,
    /// Its format, before anybody has asked for events.
    begun: Option<Guess>,
}

impl Reading {
    /// Begins to read.
    pub(super) fn begin(
        path: &Path,
        options: SourceOptions,
        skip_lines: u64,
        bar: ProgressBar,
    ) -> Result<Self> {
        let (sender, events) = sync_channel(PARTS_WAITING_MAX);
        let name = input::name(path);
        let path = path.to_owned();
        let read = move || {
            let outcome = read(&path, options, skip_lines, &bar, &sender);
            // Who no longer wants entries doesn't want to know either.
            let _ = sender.send(outcome.map(Event::Ended));
        };
        std::thread::Builder::new()
            .name("timestrata-lines".to_owned())
            .spawn(read)
            .map_err(|cause| Failure::plain(format!("could not start a thread: {cause}")))?;
        Ok(Self { name, skipped: skip_lines, events, begun: None })
    }

    /// What to call the file in messages.
    pub(super) fn name(&self) -> &str {
        &self.name
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

/// Reads all of a file.
fn read(
    path: &Path,
    options: SourceOptions,
    skip_lines: u64,
    bar: &ProgressBar,
    sender: &SyncSender<Result<Event>>,
) -> Result<SourceReport> {
    let Input { name, reader } = input::open(path, bar)?;
    let reader = without_lines(reader, skip_lines, &name)?;
    let outbox = Rc::new(RefCell::new(Outbox { part: Part::default(), sender: sender.clone() }));
    let reader = Announced { reader, outbox: Rc::clone(&outbox) };
    let mut lines = LineReader::new(reader, options);
    let failed = |error: timestrata::Error| {
        Failure::failed(format!("{} [{name}]", error.message()), error.hint())
    };
    let guess = lines.format().map_err(failed)?.clone();
    // It fails only if nobody wants to know; the next read sees that too.
    let _ = sender.send(Ok(Event::Begun(guess)));
    let mut entry = NewEntry::default();
    while let Some(place) = lines.next(&mut entry).map_err(failed)? {
        let mut outbox = outbox.borrow_mut();
        outbox.part.entries.push((place.line, std::mem::take(&mut entry)));
        outbox.part.lines = lines.report().lines;
    }
    let _ = outbox.borrow_mut().send();
    Ok(lines.report().clone())
}

/// Passes over lines.
fn without_lines(reader: Box<dyn Read>, lines: u64, name: &str) -> Result<Box<dyn Read>> {
    if lines == 0 {
        return Ok(reader);
    }
    let mut reader = BufReader::with_capacity(READ_BYTES, reader);
    for line in 0..lines {
        let bytes = reader.skip_until(b'\n').map_err(|cause| could_not_read(name, &cause))?;
        if bytes == 0 {
            return Err(Failure::usage(
                format!("--skip-lines {lines}: {name} has {line} lines"),
                "give the number that the load before has told",
            ));
        }
    }
    Ok(Box::new(reader))
}

/// Entries that were read and not handed on.
#[derive(Debug)]
struct Outbox {
    part: Part,
    sender: SyncSender<Result<Event>>,
}

impl Outbox {
    /// Hands them on.
    fn send(&mut self) -> io::Result<()> {
        if self.part.entries.is_empty() {
            return Ok(());
        }
        let next = Part { entries: Vec::new(), lines: self.part.lines };
        let part = std::mem::replace(&mut self.part, next);
        let gone = |_| io::Error::other("nobody takes entries any more");
        self.sender.send(Ok(Event::Entries(part))).map_err(gone)
    }
}

/// Hands on what there is before it may have to wait for more: a log that grows slowly is stored as it
/// grows.
struct Announced<R> {
    reader: R,
    outbox: Rc<RefCell<Outbox>>,
}

impl<R: Read> Read for Announced<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.outbox.borrow_mut().send()?;
        let length = buffer.len().min(READ_BYTES);
        self.reader.read(buffer.get_mut(..length).unwrap_or_default())
    }
}
