//! The threads of a store whose maintenance is in the background.

use std::sync::{Arc, Weak};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use parking_lot::{Condvar, Mutex};

use crate::store::{Engine, Slot};
use crate::{Error, ErrorKind, Result};

/// Compaction and retention look for work at least this often.
const LOOK_INTERVAL: Duration = Duration::from_millis(500);

#[derive(Debug, Default)]
struct State {
    /// Rises with every call for work.
    calls: u64,
    stopping: bool,
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    called: Condvar,
}

impl Shared {
    /// Waits for a call newer than `seen`, for the time to pass, or for the end; false at
    /// the end.
    fn wait(&self, seen: &mut u64, at_most: Duration) -> bool {
        let mut state = self.state.lock();
        if !state.stopping && state.calls == *seen {
            self.called.wait_for(&mut state, at_most);
        }
        *seen = state.calls;
        !state.stopping
    }
}

/// What a thread does when it is called.
type Work = fn(&Engine) -> Result<()>;

/// The threads: one flushes, one compacts and retains, one syncs. Idle ones sleep.
#[derive(Debug, Default)]
pub(crate) struct Workers {
    shared: Arc<Shared>,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

impl Workers {
    /// Starts the threads. They hold the engine weakly, so that a store that nobody holds
    /// any more can be closed.
    pub(crate) fn start(&self, engine: &Arc<Engine>) -> Result<()> {
        let sync_interval = engine.settings.sync_interval;
        let roles: [(&str, Duration, Work); 3] = [
            ("timestrata-flush", sync_interval.max(LOOK_INTERVAL), Engine::flush_sealed),
            ("timestrata-compact", LOOK_INTERVAL, Engine::compact_due),
            ("timestrata-sync", sync_interval, Engine::sync_due),
        ];
        let mut threads = self.threads.lock();
        for (name, interval, work) in roles {
            let (shared, engine) = (Arc::clone(&self.shared), Arc::downgrade(engine));
            let body = move || run(&shared, &engine, interval, work);
            let thread = thread::Builder::new().name(name.to_owned()).spawn(body);
            threads.push(thread.map_err(|error| {
                Error::new(ErrorKind::Io, format!("could not start the thread '{name}': {error}"))
                    .caused_by(error)
            })?);
        }
        Ok(())
    }

    /// Calls for work.
    pub(crate) fn wake(&self) {
        self.shared.state.lock().calls += 1;
        self.shared.called.notify_all();
    }

    /// Waits in the middle of work, unless the end comes.
    pub(crate) fn pause(&self, duration: Duration) {
        let mut state = self.shared.state.lock();
        if !state.stopping {
            // A call for work wakes it early: the rate is a bound on the average only.
            self.shared.called.wait_for(&mut state, duration);
        }
    }

    /// Ends the threads and waits for them.
    pub(crate) fn stop(&self) {
        self.shared.state.lock().stopping = true;
        self.shared.called.notify_all();
        let threads = std::mem::take(&mut *self.threads.lock());
        for thread in threads {
            // The last holder of the engine may be one of its own threads.
            if thread.thread().id() != thread::current().id() {
                // A panic there has been printed, and poisons nothing: its locks are free.
                let _ = thread.join();
            }
        }
    }
}

fn run(
    shared: &Shared,
    engine: &Weak<Engine>,
    interval: Duration,
    work: fn(&Engine) -> Result<()>,
) {
    let mut seen = 0;
    while shared.wait(&mut seen, interval) {
        let Some(engine) = engine.upgrade() else { return };
        // A failure has poisoned the store: the next write tells of it.
        let _ = work(&engine);
    }
}

impl Engine {
    /// All compaction and retention that is due.
    pub(crate) fn compact_due(&self) -> Result<()> {
        while self.maintain_runs()? {}
        Ok(())
    }

    /// One piece of compaction or retention of any stream; false if none was due.
    pub(crate) fn maintain_runs(&self) -> Result<bool> {
        let slots: Vec<Slot> = self.core.lock().live().map(|(slot, _)| slot).collect();
        for slot in slots {
            self.check_open()?;
            if self.retain_step(slot)? || self.compact_step(slot, false)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Syncs what has been written but not synced.
    pub(crate) fn sync_due(&self) -> Result<()> {
        let Some(wal) = &self.wal else { return Ok(()) };
        wal.prepare_spare().map_err(|error| self.fail(error))?;
        let appended = wal.appended_seq();
        if wal.synced_seq() < appended {
            self.sync_through(appended)?;
        }
        Ok(())
    }
}
