//! The thread that writes, and the bounded queue before it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread::JoinHandle;

use timestrata::logs::{Level, Logs, NewEntry};
use timestrata::{Durability, Error, ErrorKind, Result};

/// Entries of one commit at most.
const BATCH_ENTRIES: usize = 1_000;

/// What goes through the queue.
enum Said {
    Entry(Box<NewEntry>),
    /// No more will be said.
    End,
}

/// What was not written, and why.
#[derive(Debug, Default)]
struct Lost {
    /// Entries that the queue had no room for, since that was last said.
    dropped: AtomicU64,
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
                self.lost.dropped.fetch_add(1, Ordering::Relaxed);
            }
        }
    }
}

/// Writes what a [`LogsLayer`](crate::LogsLayer) was told. Dropped, it writes all that waits, and ends.
#[derive(Debug)]
pub struct Writer {
    sender: SyncSender<Said>,
    lost: Arc<Lost>,
    thread: Option<JoinHandle<()>>,
}

impl Writer {
    pub(crate) fn start(logs: Logs, entries: usize) -> Result<(Queue, Self)> {
        let (sender, receiver) = sync_channel(entries);
        let lost = Arc::new(Lost::default());
        let work = Work { logs: logs.clone(), receiver, lost: Arc::clone(&lost) };
        let thread = std::thread::Builder::new().name("timestrata-logs".to_owned());
        let thread = thread.spawn(move || work.run()).map_err(|error| {
            Error::new(ErrorKind::Io, "there is no thread to write the log").caused_by(error)
        })?;
        let queue = Queue { sender: sender.clone(), lost: Arc::clone(&lost), logs };
        Ok((queue, Self { sender, lost, thread: Some(thread) }))
    }

    /// Events that were lost so far: the queue was full, or they could not be written.
    pub fn lost(&self) -> u64 {
        self.lost.total.load(Ordering::Relaxed)
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        // Where the thread is gone already there is nobody to tell.
        let _ = self.sender.send(Said::End);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// What the thread has.
struct Work {
    logs: Logs,
    receiver: Receiver<Said>,
    lost: Arc<Lost>,
}

impl Work {
    fn run(self) {
        let mut is_over = false;
        while !is_over {
            let Ok(first) = self.receiver.recv() else { return };
            let mut entries = Vec::new();
            let mut next = Some(first);
            while let Some(said) = next {
                match said {
                    Said::Entry(entry) => entries.push(*entry),
                    Said::End => is_over = true,
                }
                next = match entries.len() < BATCH_ENTRIES && !is_over {
                    true => self.receiver.try_recv().ok(),
                    false => None,
                };
            }
            self.write(entries);
        }
    }

    fn write(&self, mut entries: Vec<NewEntry>) {
        let dropped = self.lost.dropped.swap(0, Ordering::Relaxed);
        if dropped > 0 {
            let mut entry = NewEntry::new(format!("{dropped} entries are missing before this one"));
            entry.level = Some(Level::Warn);
            entry.fields.uint("dropped", dropped);
            entries.push(entry);
        }
        if self.logs.write_many(&entries, Durability::Written).is_ok() {
            return;
        }
        // One of them may be what the log doesn't take; the others are not lost with it.
        for entry in &entries {
            if self.logs.write(entry).is_err() {
                self.lost.total.fetch_add(1, Ordering::Relaxed);
            }
        }
    }
}
