//! Long work with the GIL released, in which Ctrl-C is heard nevertheless.

use std::cell::{Cell, RefCell};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use timestrata_engine::{Io, Result};

use crate::error::to_python;

/// How long a call waits before it looks for signals again.
pub(crate) const SIGNAL_INTERVAL: Duration = Duration::from_millis(100);
/// How many rows are converted before signals are looked for again.
pub(crate) const SIGNAL_ROWS: usize = 4_096;
/// How long a call keeps the interpreter from other threads. They ask for it after 5 ms: who lets go of it sooner, unasked,
/// has it again before one of them has woken up.
const TURN_NS: u64 = 6_000_000;

static SURROUNDINGS: LazyLock<Io> = LazyLock::new(Io::os);

/// The turns that other threads have while a call goes on.
pub(crate) struct Turns {
    /// When they had the last one.
    last_ns: u64,
}

impl Turns {
    pub(crate) fn new() -> Self {
        Self { last_ns: SURROUNDINGS.clock.monotonic_ns() }
    }

    /// Lets others have one, where they have waited for it by now. No lock may be held.
    pub(crate) fn give(&mut self, py: Python<'_>) {
        if SURROUNDINGS.clock.monotonic_ns().saturating_sub(self.last_ns) >= TURN_NS {
            py.detach(|| ());
            self.last_ns = SURROUNDINGS.clock.monotonic_ns();
        }
    }
}

/// What is given next to one that follows: what `take` has, waiting for it with `wait`, which says `false` once there won't be
/// any more. Hears Ctrl-C.
pub(crate) fn next_followed<T>(
    py: Python<'_>,
    take: impl Fn() -> PyResult<Option<T>>,
    wait: impl Fn(Duration) -> PyResult<bool>,
) -> PyResult<Option<T>> {
    loop {
        if let Some(next) = take()? {
            return Ok(Some(next));
        }
        if !wait(SIGNAL_INTERVAL)? {
            return Ok(None);
        }
        py.check_signals()?;
    }
}

thread_local! {
    /// Whether this thread is in [`detached`], and what a signal's handler has raised there.
    static DETACHED: Cell<bool> = const { Cell::new(false) };
    static RAISED: Cell<Option<PyErr>> = const { Cell::new(None) };
    /// Says that nobody waits any more for what this thread does.
    static GIVEN_UP: RefCell<Option<Arc<AtomicBool>>> = const { RefCell::new(None) };
}

/// Whether nobody waits any more for what this thread does.
fn is_given_up() -> bool {
    GIVEN_UP.with_borrow(|flag| flag.as_ref().is_some_and(|flag| flag.load(Ordering::Acquire)))
}

/// Runs `work`, which calls this package in this thread, until it is done or `flag` says that nobody waits for it any more.
pub(crate) fn until_given_up<T>(flag: &Arc<AtomicBool>, work: impl FnOnce() -> T) -> T {
    let before = GIVEN_UP.replace(Some(Arc::clone(flag)));
    let done = work();
    GIVEN_UP.set(before);
    done
}

/// Runs Python code in the middle of what [`detached`] runs: it is not in a call of ours.
pub(crate) fn attached<T>(work: impl FnOnce(Python<'_>) -> T) -> T {
    let before = DETACHED.replace(false);
    let done = Python::attach(work);
    DETACHED.set(before);
    done
}

/// Runs `work` with the GIL released, in this thread: for what is short, may wait a moment, or listens
/// to [`asker_stays`] now and then.
pub(crate) fn detached<T: Send>(
    py: Python<'_>,
    work: impl FnOnce() -> Result<T> + Send,
) -> PyResult<T> {
    let outcome = py.detach(|| {
        let before = DETACHED.replace(true);
        let outcome = work();
        DETACHED.set(before);
        outcome
    });
    // What Ctrl-C came to says more than that a query was given up.
    match (outcome, RAISED.take()) {
        (Ok(done), None) => Ok(done),
        (_, Some(raised)) => Err(raised),
        (Err(error), None) => Err(to_python(error)),
    }
}

/// Whether the thread that asked goes on waiting: `false` once Ctrl-C, or another signal, was heard there, or
/// another thread has said so ([`until_given_up`]). On threads that only work it is so always.
pub(crate) fn asker_stays() -> bool {
    if !DETACHED.get() {
        return true;
    }
    if is_given_up() {
        return false;
    }
    let heard = attached(|py| py.check_signals());
    heard.map_err(|raised| RAISED.set(Some(raised))).is_ok()
}

/// Runs `work` in a thread of its own and waits for it, hearing signals: for what may take
/// minutes. Ctrl-C ends the waiting; the work itself, which has no way to stop half-way, goes on
/// and is safe to leave (the store's own threads do the same things).
pub(crate) fn interruptible<T: Send + 'static>(
    py: Python<'_>,
    work: impl FnOnce() -> Result<T> + Send + 'static,
) -> PyResult<T> {
    let (sender, receiver) = channel();
    std::thread::Builder::new().name("timestrata-call".into()).spawn(move || {
        // Nobody listens any more after Ctrl-C; that is fine.
        let _ = sender.send(work());
    })?;
    let receiver = std::sync::Mutex::new(receiver);
    loop {
        let outcome = py.detach(|| match receiver.lock() {
            Ok(receiver) => receiver.recv_timeout(SIGNAL_INTERVAL),
            Err(_) => Err(RecvTimeoutError::Disconnected),
        });
        match outcome {
            Ok(done) => return done.map_err(to_python),
            Err(RecvTimeoutError::Timeout) => py.check_signals()?,
            Err(RecvTimeoutError::Disconnected) => {
                return Err(PyRuntimeError::new_err(
                    "timestrata: the thread that did the work died; please report this",
                ));
            }
        }
    }
}
