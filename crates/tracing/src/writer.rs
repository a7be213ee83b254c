//! The thread that writes, and the bounded queue before it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;

use timestrata::logs::{Level, Logs, NewEntry};
use timestrata::{Durability, Error, ErrorKind, Result};

/// Entries of one commit at most, and bytes of them at which it is enough.
const BATCH_ENTRIES: usize = 1_000;
const BATCH_BYTES: usize = 4 << 20;
/// How long the thread waits before it tries again where the store's flushes are behind, and for how long
/// it tries once it should end.
const BUSY_PAUSE: Duration = Duration::from_millis(50);
const BUSY_NS_AT_END: u64 = 5_000_000_000;
/// More than what belongs to a field takes besides its name and its value.
const FIELD_BYTES: usize = 9;

/// What goes through the queue.
enum Said {
    Entry(Box<NewEntry>),
    /// No more will be said.
    End,
}

/// What was not written, and why.
#[derive(Debug, Default)]
struct Lost {
    /// Entries that were lost since that was last said.
    unsaid: AtomicU64,
    /// Entries that were lost in all.
    total: AtomicU64,
}

/// The end of the queue that layers have.
#[derive(Debug)]
pub(crate) struct Queue {
    sender: SyncSender<Said>,
    lost: Arc<Lost>,
    logs: Logs,
}

impl Queue {
    /// Wall clock of the log's store.
    pub(crate) fn wall_ns(&self) -> i64 {
        self.logs.store().wall_ns()
    }

    /// Hands an entry over, if there is room for it.
    pub(crate) fn put(&self, entry: NewEntry) {
        if let Err(error) = self.sender.try_send(Said::Entry(Box::new(entry))) {
            self.lost.total.fetch_add(1, Ordering::Relaxed);
            // Who is gone says nothing any more of what was dropped.
            if matches!(error, TrySendError::Full(_)) {
                self.lost.unsaid.fetch_add(1, Ordering::Relaxed);
            }
        }
    }
}

/// Writes what a [`LogsLayer`](crate::LogsLayer) was told. Dropped, it writes all that waits, and ends.
#[derive(Debug)]
pub struct Writer {
    sender: SyncSender<Said>,
    lost: Arc<Lost>,
    /// When the thread tries no longer, by the store's clock.
    deadline: Arc<AtomicU64>,
    logs: Logs,
    thread: Option<JoinHandle<()>>,
}

impl Writer {
    pub(crate) fn start(logs: Logs, entries: usize) -> Result<(Queue, Self)> {
        let (sender, receiver) = sync_channel(entries);
        let lost = Arc::new(Lost::default());
        let deadline = Arc::new(AtomicU64::new(u64::MAX));
        let work = Work {
            logs: logs.clone(),
            receiver,
            lost: Arc::clone(&lost),
            deadline: Arc::clone(&deadline),
        };
        let thread = std::thread::Builder::new().name("timestrata-logs".to_owned());
        let thread = thread.spawn(move || work.run()).map_err(|error| {
            Error::new(ErrorKind::Io, "there is no thread to write the log").caused_by(error)
        })?;
        let queue = Queue { sender: sender.clone(), lost: Arc::clone(&lost), logs: logs.clone() };
        Ok((queue, Self { sender, lost, deadline, logs, thread: Some(thread) }))
    }

    /// Events that were lost so far: the queue was full, or they could not be written.
    pub fn lost(&self) -> u64 {
        self.lost.total.load(Ordering::Relaxed)
    }

    /// Writes what was said, and ends; how many events were [`lost`](Self::lost) in all. To drop it does
    /// the same.
    pub fn end(mut self) -> u64 {
        self.stop();
        self.lost()
    }

    fn stop(&mut self) {
        let Some(thread) = self.thread.take() else { return };
        let ends_by_ns = self.logs.store().monotonic_ns().saturating_add(BUSY_NS_AT_END);
        self.deadline.store(ends_by_ns, Ordering::Relaxed);
        // Where the thread is gone already there is nobody to tell.
        let _ = self.sender.send(Said::End);
        let _ = thread.join();
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.stop();
    }
}

/// What the thread has.
struct Work {
    logs: Logs,
    receiver: Receiver<Said>,
    lost: Arc<Lost>,
    deadline: Arc<AtomicU64>,
}

impl Work {
    fn run(self) {
        let mut is_over = false;
        while !is_over {
            let Ok(first) = self.receiver.recv() else { return };
            is_over = self.write_next(first);
        }
        // What others have said meanwhile.
        while let Ok(first) = self.receiver.try_recv() {
            self.write_next(first);
        }
    }

    /// Writes what came first, and what is there behind it. Whether that is the end.
    fn write_next(&self, first: Said) -> bool {
        let (mut entries, mut bytes, mut is_over) = (Vec::new(), 0, false);
        let mut next = Some(first);
        while let Some(said) = next {
            match said {
                Said::Entry(entry) => {
                    bytes += entry.message.len() + entry.fields.bytes();
                    entries.push(*entry);
                }
                Said::End => is_over = true,
            }
            let is_enough = entries.len() >= BATCH_ENTRIES || bytes >= BATCH_BYTES;
            next = if is_enough { None } else { self.receiver.try_recv().ok() };
        }
        self.write(entries);
        is_over
    }

    fn write(&self, mut entries: Vec<NewEntry>) {
        let unsaid = self.lost.unsaid.swap(0, Ordering::Relaxed);
        let said = entries.len() as u64;
        if unsaid > 0 {
            let mut entry = NewEntry::new(format!("{unsaid} entries are missing before this one"));
            entry.level = Some(Level::Warn);
            entry.fields.uint("dropped", unsaid);
            entries.push(entry);
        }
        match self.commit(&entries) {
            Ok(()) => {}
            // One of them is what the log doesn't take; the others are not lost with it.
            Err(error) if is_of_an_entry(&error) => {
                entries.iter().for_each(|entry| self.write_one(entry));
            }
            Err(_) => {
                self.lost.total.fetch_add(said, Ordering::Relaxed);
                self.lost.unsaid.fetch_add(said + unsaid, Ordering::Relaxed);
            }
        }
    }

    fn write_one(&self, entry: &NewEntry) {
        let written = match self.commit(std::slice::from_ref(entry)) {
            Err(error) if is_of_an_entry(&error) => {
                self.commit(&[shortened(entry, self.logs.message_bytes_max())])
            }
            written => written,
        };
        if written.is_err() {
            self.lost.total.fetch_add(1, Ordering::Relaxed);
            self.lost.unsaid.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Writes entries as one commit. Where the store is busy nothing was written and later it may be:
    /// the queue takes what comes meanwhile.
    fn commit(&self, entries: &[NewEntry]) -> Result<()> {
        loop {
            match self.logs.write_many(entries, Durability::Written) {
                Err(error) if error.kind() == ErrorKind::Busy && !self.is_overdue() => {
                    std::thread::sleep(BUSY_PAUSE);
                }
                written => return written.map(drop),
            }
        }
    }

    fn is_overdue(&self) -> bool {
        self.logs.store().monotonic_ns() >= self.deadline.load(Ordering::Relaxed)
    }
}

/// Whether an error says something of an entry, and nothing of all others.
fn is_of_an_entry(error: &Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::TooLarge | ErrorKind::InvalidArgument | ErrorKind::InvalidData
    )
}

/// An entry as a log takes it, which says that it was longer.
fn shortened(entry: &NewEntry, bytes_max: usize) -> NewEntry {
    let end = entry.message.floor_char_boundary(bytes_max);
    let mut short = NewEntry::new(entry.message.get(..end).unwrap_or_default());
    short.level = entry.level;
    short.source_time = entry.source_time;
    short.fields.bool("shortened", true);
    for (name, item) in entry.fields.iter() {
        if short.fields.bytes() + name.len() + item.len() + FIELD_BYTES <= bytes_max {
            short.fields.item(name, |out| out.extend_from_slice(item));
        }
    }
    short
}
