//! Long work without deaf ears: the GIL released, Ctrl-C heard.

use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use timestrata_engine::Result;

use crate::error::to_python;

/// How long a waiting call may be deaf to signals.
const DEAF_MAX: Duration = Duration::from_millis(100);

/// Runs `work` with the GIL released, in this thread: for what is short, or may wait a moment.
pub(crate) fn detached<T: Send>(
    py: Python<'_>,
    work: impl FnOnce() -> Result<T> + Send,
) -> PyResult<T> {
    py.detach(work).map_err(|error| to_python(py, &error))
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
            Ok(receiver) => receiver.recv_timeout(DEAF_MAX),
            Err(_) => Err(RecvTimeoutError::Disconnected),
        });
        match outcome {
            Ok(done) => return done.map_err(|error| to_python(py, &error)),
            Err(RecvTimeoutError::Timeout) => py.check_signals()?,
            Err(RecvTimeoutError::Disconnected) => {
                return Err(PyRuntimeError::new_err(
                    "timestrata: the thread that did the work died; please report this",
                ));
            }
        }
    }
}
