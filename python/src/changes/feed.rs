//! `Changes`: an iterator over commits.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use pyo3::prelude::*;
use timestrata::{ChangeFeed, ErrorKind, Result, SeqNo};

use super::CommittedChanges;
use crate::awaiting;
use crate::error::to_python;
use crate::handle::Handle;
use crate::interrupt::{detached, next_followed};
use crate::lock::Lock;
use crate::settings::span_ns;

/// Bytes of changes that are read at once.
const BYTES_MAX: usize = 1 << 20;

/// What commits change, each once and in order. Made by `Store.changes`.
///
/// Iterate over it, also with ``async for``. Without ``follow`` it ends behind the last commit; with it, it waits for further ones until
/// the store is closed.
///
/// Examples
/// --------
/// >>> import tempfile, timestrata
/// >>> folder = tempfile.TemporaryDirectory()
/// >>> store = timestrata.open(folder.name, history_min=600)
/// >>> door = store.timelog("door")
/// >>> door.append(1, "opened")
/// >>> door.delete_range(0, 10)
/// >>> for commit in store.changes(0):
/// ...     for change in commit.changes:
/// ...         print(commit.seq, change.kind, change.range)
/// 1 inserted None
/// 2 deleted_range (0, 10)
/// >>> store.close(); folder.cleanup()
#[pyclass(frozen, module = "timestrata", weakref)]
#[derive(Debug)]
pub(crate) struct Changes {
    handle: Arc<Handle>,
    follow: bool,
    /// Held while waiting. Who wants what is there already need not wait for it.
    feed: Lock<ChangeFeed>,
    ready: Lock<Ready>,
}

#[derive(Debug)]
struct Ready {
    commits: VecDeque<timestrata::CommittedChanges>,
    /// The last commit that was given.
    seq: u64,
}

/// What came of a look.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Found {
    Some,
    Nothing,
    Closed,
}

impl Changes {
    pub(crate) fn new(handle: Arc<Handle>, feed: ChangeFeed, follow: bool) -> Self {
        let ready = Ready { commits: VecDeque::new(), seq: feed.last_seq().0 };
        Self { handle, follow, feed: Lock::new(feed), ready: Lock::new(ready) }
    }

    /// Reads what comes next, and waits for it; Python isn't asked for anything meanwhile.
    fn read(&self, timeout: Duration) -> Result<Found> {
        let mut feed = self.feed.lock();
        if !self.ready.lock().commits.is_empty() {
            return Ok(Found::Some);
        }
        let found = match self.follow {
            true => feed.follow(BYTES_MAX, timeout)?,
            false => feed.poll(BYTES_MAX)?,
        };
        let is_empty = found.is_empty();
        self.ready.lock().commits.extend(found);
        Ok(if is_empty { Found::Nothing } else { Found::Some })
    }

    fn look(&self, py: Python<'_>, timeout: Duration) -> PyResult<Found> {
        self.handle.store_even_closed()?;
        if self.handle.is_closed() {
            return Ok(Found::Closed);
        }
        match py.detach(|| self.read(timeout)) {
            Ok(found) => Ok(found),
            Err(error) if error.kind() == ErrorKind::Closed => Ok(Found::Closed),
            Err(error) => Err(to_python(error)),
        }
    }

    fn take(&self) -> Option<CommittedChanges> {
        let mut ready = self.ready.lock();
        let commit = ready.commits.pop_front()?;
        ready.seq = commit.seq.0;
        drop(ready);
        Some(CommittedChanges::new(commit))
    }
}

#[pymethods]
impl Changes {
    /// The last commit that was given: `Store.changes` goes on behind it, also in another process.
    #[getter]
    fn seq(&self) -> u64 {
        self.ready.lock().seq
    }

    /// Note durably that all commits are done that were given so far: a follower by name goes on behind them, also in another process.
    /// Gives the last of them.
    ///
    /// Raises
    /// ------
    /// InvalidArgumentError
    ///     It has no name.
    /// ReadOnlyError
    ///     The store was opened for reading.
    fn save(&self, py: Python<'_>) -> PyResult<u64> {
        let seq = SeqNo(self.seq());
        self.handle.store()?;
        detached(py, || self.feed.lock().save(seq)).map(|seq| seq.0)
    }

    /// Wait for a commit, so many seconds at most; False where none will come. For ``async for``.
    fn _fill(&self, py: Python<'_>, seconds: f64) -> PyResult<bool> {
        let timeout = span_ns("seconds", Some(seconds))?.map(Duration::from_nanos);
        let found = self.look(py, timeout.unwrap_or_default())?;
        Ok(found == Found::Some || (self.follow && found == Found::Nothing))
    }

    /// The next commit of those that are there. For ``async for``.
    fn _take(&self) -> Option<CommittedChanges> {
        self.take()
    }

    fn __iter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Option<CommittedChanges>> {
        let wait = |timeout| {
            Ok(match self.look(py, timeout)? {
                Found::Some => true,
                Found::Nothing => self.follow,
                Found::Closed => false,
            })
        };
        next_followed(py, || Ok(self.take()), wait)
    }

    fn __aiter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    fn __anext__<'py>(slf: Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        awaiting::next(&slf, "next_followed")
    }

    fn __repr__(&self) -> String {
        format!("<Changes behind {}>", self.seq())
    }
}
