//! Reading a long log back on two threads: one reads and checks records, the other takes in what they say.
//!
//! ```text
//!   reading thread:   window -> records, checked --+           +--> next window into the same memory
//!                                                  v           |
//!                                       queue of windows    windows that nothing was kept of
//!                                                  |           ^
//!   who recovers:                                  +-> commits to memtables
//! ```
//!
//! The order of records is the log's, and an error stands where it would for who reads alone: behind all
//! records before it.

use std::collections::VecDeque;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use timestrata_format::SeqNo;
use timestrata_io::Bytes;
use timestrata_io::sync::{Condvar, JoinHandle, Mutex, is_scheduled, processors, spawn};

use super::{WalReader, WalRecord};
use crate::{Error, ErrorKind, Result, planted};

/// A log from which on a second thread is worth it: it begins within a tenth of a millisecond, in which some hundred
/// kilobytes are read.
const LOG_BYTES_MIN: u64 = 16 << 20;
/// Windows that wait to be taken in.
const READY_MAX: usize = 8;
/// Records of a window that are handed on at once.
const RECORDS_MAX: usize = 4_096;

/// A commit, its time, and where in the window its payload is.
type Place = (SeqNo, Option<u64>, Range<usize>);

/// Some records of one window, in order.
#[derive(Debug)]
struct Records {
    window: Bytes,
    /// Where in the file it begins.
    window_offset: u64,
    path: PathBuf,
    places: Vec<Place>,
}

impl Records {
    fn of(record: &WalRecord<'_>) -> Self {
        let window_offset = record.payload_offset - start_of(record) as u64;
        let (window, path) = (record.memory.clone(), record.path.to_owned());
        Self { window, window_offset, path, places: Vec::with_capacity(RECORDS_MAX) }
    }

    /// Whether a record is in the same window, and there is room for it.
    fn takes(&self, record: &WalRecord<'_>) -> bool {
        let is_same = std::ptr::eq(self.window.as_ptr(), record.memory.as_ptr());
        is_same && self.places.len() < RECORDS_MAX
    }

    fn push(&mut self, record: &WalRecord<'_>) {
        let start = start_of(record);
        self.places.push((record.seq, record.time_ms, start..start + record.payload.len()));
    }

    /// Takes those behind the last as well, as far as they are in the same window and there is room.
    fn push_those_behind(&mut self, reader: &mut WalReader) {
        let room = RECORDS_MAX - self.places.len();
        reader.pass_commits(room, |header, payload| {
            self.places.push((header.seq, header.time_ms, payload));
        });
    }

    /// Each of them.
    fn iter(&self) -> impl Iterator<Item = WalRecord<'_>> {
        self.places.iter().map(|(seq, time_ms, payload)| WalRecord {
            seq: *seq,
            time_ms: *time_ms,
            payload: self.window.get(payload.clone()).unwrap_or_default(),
            path: &self.path,
            payload_offset: self.window_offset + payload.start as u64,
            memory: &self.window,
        })
    }
}

/// Where in its window a record's payload begins.
fn start_of(record: &WalRecord<'_>) -> usize {
    record.payload.as_ptr().addr() - record.memory.as_ptr().addr()
}

/// Memory of windows that can be read into again: new pages cost about as much as what is read into them.
#[derive(Debug, Default)]
pub(super) struct Windows(Mutex<Vec<Vec<u8>>>);

impl Windows {
    pub(super) fn take(&self) -> Option<Vec<u8>> {
        self.0.lock().pop()
    }

    fn give_back(&self, window: Bytes) {
        if let Ok(bytes) = window.try_into_mut() {
            let mut windows = self.0.lock();
            if windows.len() < READY_MAX {
                windows.push(Vec::from(bytes));
            }
        }
    }
}

#[derive(Debug, Default)]
struct Queue {
    ready: VecDeque<Result<Records>>,
    /// Nobody wants more.
    is_over: bool,
    /// The thread has ended, and here is what it read with; `None` if it died.
    ended: Option<Option<WalReader>>,
}

#[derive(Debug, Default)]
struct SharedQueue {
    queue: Mutex<Queue>,
    changed: Condvar,
}

/// Says that the thread has ended, whatever its end was.
struct EndOnDrop {
    shared: Arc<SharedQueue>,
    reader: Option<WalReader>,
}

impl Drop for EndOnDrop {
    fn drop(&mut self) {
        self.shared.queue.lock().ended = Some(self.reader.take());
        self.shared.changed.notify_all();
    }
}

/// Gives each record to `take`, in order and until it fails, and in the end what was read with.
pub(crate) fn each_record(
    reader: WalReader,
    take: &mut dyn FnMut(&WalRecord<'_>) -> Result<()>,
) -> Result<WalReader> {
    let is_long = reader.bytes_left() >= LOG_BYTES_MIN;
    match is_long && processors() > 1 && !is_scheduled() {
        true => each_ahead(reader, take),
        false => each_alone(reader, take),
    }
}

pub(in crate::wal) fn each_alone(
    mut reader: WalReader,
    take: &mut dyn FnMut(&WalRecord<'_>) -> Result<()>,
) -> Result<WalReader> {
    while let Some(record) = reader.next_record()? {
        take(&record)?;
    }
    Ok(reader)
}

pub(in crate::wal) fn each_ahead(
    mut reader: WalReader,
    take: &mut dyn FnMut(&WalRecord<'_>) -> Result<()>,
) -> Result<WalReader> {
    let (shared, windows) = (Arc::<SharedQueue>::default(), Arc::<Windows>::default());
    reader.reuse(&windows);
    // In a slot, where it still is if no thread begins.
    let slot = Arc::new(Mutex::new(Some(reader)));
    let (theirs, mut end) =
        (Arc::clone(&slot), EndOnDrop { shared: Arc::clone(&shared), reader: None });
    let body = move || {
        let reader = theirs.lock().take();
        if let Some(mut reader) = reader {
            read(&mut reader, &end.shared);
            end.reader = Some(reader);
        }
    };
    match spawn("timestrata-read", planted::carried(body)) {
        Ok(thread) => {
            let ahead = ReadAhead { shared, thread: Some(thread) };
            while let Some(records) = ahead.next()? {
                records.iter().try_for_each(|record| take(&record))?;
                windows.give_back(records.window);
            }
            ahead.end()
        }
        Err(_) => {
            let reader = slot.lock().take();
            each_alone(reader.ok_or_else(died)?, take)
        }
    }
}

/// A log that another thread reads.
struct ReadAhead {
    shared: Arc<SharedQueue>,
    thread: Option<JoinHandle<()>>,
}

impl ReadAhead {
    /// The next records; `None` behind the last.
    fn next(&self) -> Result<Option<Records>> {
        let mut queue = self.shared.queue.lock();
        loop {
            if let Some(records) = queue.ready.pop_front() {
                self.shared.changed.notify_all();
                return records.map(Some);
            }
            match &queue.ended {
                Some(Some(_)) => return Ok(None),
                Some(None) => return Err(died()),
                None => self.shared.changed.wait(&mut queue),
            }
        }
    }

    /// What it was read with.
    fn end(mut self) -> Result<WalReader> {
        self.stop();
        self.shared.queue.lock().ended.take().flatten().ok_or_else(died)
    }

    fn stop(&mut self) {
        self.shared.queue.lock().is_over = true;
        self.shared.changed.notify_all();
        if let Some(thread) = self.thread.take() {
            // Its panic has been printed; that it left no reader says the rest.
            let _ = thread.join();
        }
    }
}

impl Drop for ReadAhead {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Reads to the end, or until nobody wants more.
fn read(reader: &mut WalReader, shared: &SharedQueue) {
    let mut records: Option<Records> = None;
    loop {
        let error = match reader.next_record() {
            Ok(Some(record)) => {
                if !records.as_ref().is_some_and(|records| records.takes(&record)) {
                    if !hand_on(shared, records.take().map(Ok)) {
                        return;
                    }
                    records = Some(Records::of(&record));
                }
                if let Some(records) = &mut records {
                    records.push(&record);
                    records.push_those_behind(reader);
                }
                continue;
            }
            Ok(None) => None,
            Err(error) => Some(Err(error)),
        };
        let _ = hand_on(shared, records.map(Ok)) && hand_on(shared, error);
        return;
    }
}

/// Hands on what there is, once there is room; false if nobody wants it.
fn hand_on(shared: &SharedQueue, records: Option<Result<Records>>) -> bool {
    let Some(records) = records else { return true };
    let mut queue = shared.queue.lock();
    while queue.ready.len() >= READY_MAX && !queue.is_over {
        shared.changed.wait(&mut queue);
    }
    if queue.is_over {
        return false;
    }
    queue.ready.push_back(records);
    shared.changed.notify_all();
    true
}

fn died() -> Error {
    Error::new(ErrorKind::Io, "the thread that read the log died")
}
