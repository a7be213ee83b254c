//! `LogTail`: entries as they arrive.

use std::sync::Arc;
use std::time::Duration;

use pyo3::prelude::*;
use timestrata_engine::{ErrorKind, Result};
use timestrata_logs::{Clock, Position, Tail};

use super::LogEntry;
use super::ahead::Ahead;
use crate::awaiting;
use crate::error::to_python;
use crate::handle::Handle;
use crate::interrupt::next_followed;
use crate::lock::Lock;
use crate::settings::span_ns;

/// Follows a log: each entry that arrives, once and in order. Made by `Logs.tail`.
///
/// Iterate over it, also with ``async for``: it waits for entries until the store is closed, and then
/// ends. One that isn't read costs nothing and misses nothing.
///
/// Examples
/// --------
/// >>> import timestrata
/// >>> store = timestrata.open()
/// >>> logs = store.logs("app")
/// >>> tail = logs.tail("disk")
/// >>> timestamps = logs.write_many(["all is well", "disk is full"])
/// >>> next(tail).message
/// 'disk is full'
/// >>> store.close()
/// >>> list(tail)
/// []
#[pyclass(frozen, module = "timestrata", weakref)]
#[derive(Debug)]
pub(crate) struct LogTail {
    handle: Arc<Handle>,
    /// Held while waiting. Who wants what is there already need not wait for it.
    tail: Lock<Tail>,
    delivered: Lock<Delivered>,
}

#[derive(Debug)]
struct Delivered {
    ahead: Ahead,
    /// Behind this arrival comes what is wanted and was not delivered.
    position: i64,
}

impl LogTail {
    pub(super) fn new(handle: Arc<Handle>, tail: Tail) -> Self {
        let delivered = Delivered { ahead: Ahead::default(), position: tail.position() };
        Self { handle, tail: Lock::new(tail), delivered: Lock::new(delivered) }
    }

    /// Reads what comes next, and waits for it; Python isn't asked for anything meanwhile.
    fn read(&self, timeout: Duration) -> Result<()> {
        let mut tail = self.tail.lock();
        let found = tail.next(timeout)?;
        let mut delivered = self.delivered.lock();
        match found {
            Some(entries) => delivered.ahead.push(entries),
            // What was looked at and not wanted need not be looked at again.
            None if delivered.ahead.is_empty() => delivered.position = tail.position(),
            None => {}
        }
        Ok(())
    }

    /// Waits for entries; false once the store is closed.
    fn wait(&self, py: Python<'_>, timeout: Duration) -> PyResult<bool> {
        self.handle.store_even_closed()?;
        if self.handle.is_closed() {
            return Ok(false);
        }
        match py.detach(|| self.read(timeout)) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == ErrorKind::Closed => Ok(false),
            Err(error) => Err(to_python(error)),
        }
    }

    fn take(&self) -> PyResult<Option<LogEntry>> {
        let mut delivered = self.delivered.lock();
        let entry = delivered.ahead.take(Clock::Timestamp);
        if let Some(entry) = &entry {
            delivered.position = entry.arrival()?;
        }
        Ok(entry)
    }
}

#[pymethods]
impl LogTail {
    /// The position of the last entry that was delivered; later ones that were only looked at may count
    /// too. `Logs.tail` and `Logs.search` go on behind it, also in another process.
    #[getter]
    fn position(&self) -> String {
        let time = self.delivered.lock().position;
        Position { time, timestamp: time }.to_string()
    }

    /// Wait for entries, so many seconds at most; False once the store is closed. For ``async for``.
    fn _fill(&self, py: Python<'_>, seconds: f64) -> PyResult<bool> {
        let timeout = span_ns("seconds", Some(seconds))?.map(Duration::from_nanos);
        self.wait(py, timeout.unwrap_or_default())
    }

    /// The next entry of those that are there. For ``async for``.
    fn _take(&self) -> PyResult<Option<LogEntry>> {
        self.take()
    }

    fn __iter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Option<LogEntry>> {
        next_followed(py, || self.take(), |timeout| self.wait(py, timeout))
    }

    fn __aiter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    fn __anext__<'py>(slf: Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        awaiting::next(&slf, "next_followed")
    }

    fn __repr__(&self) -> String {
        format!("<LogTail behind {}>", self.position())
    }
}
