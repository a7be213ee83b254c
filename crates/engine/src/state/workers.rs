//! The threads of a store whose maintenance is in the background: started, called, stopped.

use std::sync::{Arc, Weak};
use std::thread;
use std::time::Duration;

use timestrata_io::sync::{self, Condvar, JoinHandle, Mutex};

use super::engine::Engine;
use crate::planted;
use crate::{Error, ErrorKind, Result};

#[derive(Debug, Default)]
struct Calls {
    /// Rises with every call for work.
    calls: u64,
    stopping: bool,
}

#[derive(Debug, Default)]
struct WorkerSignals {
    state: Mutex<Calls>,
    called: Condvar,
}

impl WorkerSignals {
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

    /// Waits for the time to pass, whoever calls, or for the end; false at the end.
    fn wait_out(&self, time: Duration) -> bool {
        let mut state = self.state.lock();
        self.called.wait_while_for(&mut state, |state| !state.stopping, time);
        !state.stopping
    }
}

/// A thread: its name, how long it waits at most, what it does then, and whether calls for
/// work are for it.
pub(crate) struct Role {
    pub(crate) name: &'static str,
    pub(crate) interval: Duration,
    pub(crate) work: fn(&Engine) -> Result<()>,
    pub(crate) hears_calls: bool,
}

/// The threads. What they do is for [`crate::maintenance`] to say.
#[derive(Debug, Default)]
pub(crate) struct Workers {
    shared: Arc<WorkerSignals>,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

impl Workers {
    /// Starts threads. They hold the engine weakly, so that a store that nobody holds
    /// any more can be closed.
    pub(crate) fn start(
        &self,
        engine: &Arc<Engine>,
        roles: impl IntoIterator<Item = Role>,
    ) -> Result<()> {
        let mut threads = self.threads.lock();
        for role in roles {
            let name = role.name;
            let (shared, engine) = (Arc::clone(&self.shared), Arc::downgrade(engine));
            let body = move || run(&shared, &engine, &role);
            threads.push(spawn(name, body)?);
        }
        Ok(())
    }

    /// Starts a thread of somebody's who is above the engine. `work` says whether there is more to do.
    pub(crate) fn repeat(
        &self,
        name: &str,
        interval: Duration,
        work: impl Fn() -> bool + Send + 'static,
    ) -> Result<()> {
        let shared = Arc::clone(&self.shared);
        let body = move || while shared.wait_out(interval) && work() {};
        self.threads.lock().push(spawn(name, body)?);
        Ok(())
    }

    /// Calls for work.
    pub(crate) fn wake(&self) {
        self.shared.state.lock().calls += 1;
        self.shared.called.notify_all();
    }

    /// Waits in the middle of work, unless the end comes.
    pub(crate) fn pause(&self, duration: Duration) {
        self.shared.wait_out(duration);
    }

    /// Whether the threads are to end.
    pub(crate) fn is_stopping(&self) -> bool {
        self.shared.state.lock().stopping
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

fn spawn(name: &str, body: impl FnOnce() + Send + 'static) -> Result<JoinHandle<()>> {
    sync::spawn(name, planted::carried(body)).map_err(|error| {
        Error::new(ErrorKind::Io, format!("could not start the thread '{name}': {error}"))
            .caused_by(error)
    })
}

fn run(shared: &WorkerSignals, engine: &Weak<Engine>, role: &Role) {
    let mut seen = 0;
    loop {
        let goes_on = match role.hears_calls {
            true => shared.wait(&mut seen, role.interval),
            false => shared.wait_out(role.interval),
        };
        let Some(engine) = engine.upgrade().filter(|_| goes_on) else { return };
        // A failure has been noted, or has poisoned the store: writes and figures tell of it.
        let _ = engine.telling((role.work)(&engine));
    }
}
