//! State that all handles of a log share: the greatest timestamp that was given out, which fields have
//! columns, and who waits for new entries.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use hashbrown::HashMap;
use timestrata_engine::{KeyRange, LeadKey, Result, Store, Stream, StreamId};
use timestrata_io::sync::{Condvar, Mutex, MutexGuard};

use super::layout::Layout;
use super::promote::Sampler;

/// All logs of a store that somebody has opened.
#[derive(Debug, Default)]
pub(super) struct Hub {
    logs: Mutex<HashMap<StreamId, Arc<SharedLog>>>,
    /// Held while a log is removed or altered, so that nobody removes one of its name that was made since, or undoes what another changes.
    pub(super) changing: Mutex<()>,
}

impl Hub {
    /// What the handles of a log share; made at the first call.
    pub(super) fn shared(&self, store: &Store, stream: &Arc<Stream>) -> Result<Arc<SharedLog>> {
        let mut logs = self.logs.lock();
        if let Some(shared) = logs.get(&stream.id()) {
            return Ok(Arc::clone(shared));
        }
        let newest = store.snapshot_of(stream.id())?.max_key(stream.id(), &KeyRange::ALL)?;
        let last = newest.and_then(LeadKey::time).unwrap_or(i64::MIN);
        let shared = Arc::new(SharedLog {
            writing: Mutex::new(Writing {
                last,
                layout: Arc::new(Layout::new(Arc::clone(stream))),
                sampler: Sampler::default(),
            }),
            waiting: AtomicU32::new(0),
            changed: Condvar::new(),
        });
        logs.insert(stream.id(), Arc::clone(&shared));
        Ok(shared)
    }

    /// Keeps nothing of a log that was removed.
    pub(super) fn forget(&self, log: StreamId) {
        self.logs.lock().remove(&log);
    }
}

/// What the handles of one log share.
#[derive(Debug)]
pub(super) struct SharedLog {
    /// Held from giving entries their timestamps until they are committed, so that the order of
    /// timestamps is that of commits: whoever has read up to one has missed nothing before it.
    pub(super) writing: Mutex<Writing>,
    waiting: AtomicU32,
    changed: Condvar,
}

#[derive(Debug)]
pub(super) struct Writing {
    /// The greatest timestamp given.
    last: i64,
    pub(super) layout: Arc<Layout>,
    pub(super) sampler: Sampler,
}

impl Writing {
    /// The timestamps of the next `count` entries: from this one, each a nanosecond after the other.
    /// Each is given once and they rise even if the clock goes back, so a timestamp names an entry.
    pub(super) fn arrive(&self, wall_ns: i64, count: usize) -> i64 {
        let count = i64::try_from(count).unwrap_or(i64::MAX);
        wall_ns.max(self.last.saturating_add(1)).min(i64::MAX - count)
    }

    /// Notes that entries with timestamps up to this one are committed.
    pub(super) fn committed(&mut self, last: i64) {
        self.last = self.last.max(last);
    }
}

impl SharedLog {
    /// Wakes who waits for entries.
    pub(super) fn announce(&self) {
        // Whoever begins to wait looks for entries again before it does.
        if self.waiting.load(Ordering::SeqCst) > 0 {
            self.changed.notify_all();
        }
    }

    /// Waits until entries are written after `is_due` was false, or time is up.
    pub(super) fn wait(&self, timeout: Duration, is_due: impl Fn(i64) -> bool) {
        self.waiting.fetch_add(1, Ordering::SeqCst);
        let mut writing: MutexGuard<'_, Writing> = self.writing.lock();
        if !is_due(writing.last) {
            self.changed.wait_for(&mut writing, timeout);
        }
        drop(writing);
        self.waiting.fetch_sub(1, Ordering::SeqCst);
    }
}
