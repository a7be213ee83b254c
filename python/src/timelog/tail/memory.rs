//! Following a log of objects in memory: its writers note what a tail must know, and wake it.
//!
//! A tail by time looks at the rows, from its place on; a delete that holds the place says so, for then all that is there
//! is new. One that gives late entries too is handed each row, in a queue of its own.
//!
//! Invariant: a row is noted in the step that adds it, under the log's lock, so that no tail misses one. Objects are let go of
//! where no lock is held.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Weak};
use std::time::Duration;

use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use timestrata_engine::ErrorKind;
use timestrata_timelog::memory::Slice;

use super::super::memory::MemoryLog;
use super::super::object::Object;
use super::super::{Asked, Timelog};
use crate::error::refused;
use crate::lock::Lock;

/// Rows that a tail by time looks at at once.
const LOOK_ROWS: usize = 1_024;
/// Rows that wait for a tail with late entries, at most.
const WAITING_ROWS_MAX: usize = 1 << 20;

/// The tails of a log.
#[derive(Debug, Default)]
pub(in super::super) struct Tails(Vec<Weak<Watch>>);

/// What a log and one of its tails tell each other.
#[derive(Debug, Default)]
struct Watch {
    noted: Lock<Noted>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Noted {
    place: Option<i64>,
    /// Rows of the place that were read.
    read: usize,
    /// Rows in the order in which they came; `None` for a tail by time.
    late: Option<VecDeque<(i64, Object)>>,
    /// Whether rows came for which the queue had no room.
    is_lost: bool,
    has_news: bool,
    is_closed: bool,
}

impl Tails {
    #[inline]
    pub(in super::super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// A row was added.
    #[cold]
    pub(in super::super) fn note_row(&mut self, time: i64, object: &Object) {
        self.each(|noted| {
            if let Some(late) = &mut noted.late {
                noted.is_lost |= late.len() >= WAITING_ROWS_MAX;
                if !noted.is_lost {
                    late.push_back((time, object.clone()));
                }
            }
        });
    }

    /// Rows were deleted, and among them those of a tail's place if they were `held`.
    pub(in super::super) fn note_delete(&mut self, held: impl Fn(i64) -> bool) {
        self.each(|noted| {
            if noted.place.is_some_and(&held) {
                noted.read = 0;
            }
        });
    }

    fn each(&mut self, mut note: impl FnMut(&mut Noted)) {
        self.0.retain(|watch| {
            let Some(watch) = watch.upgrade() else { return false };
            let mut noted = watch.noted.lock();
            note(&mut noted);
            // Who waits has seen none, and is woken by the first.
            let is_first = !std::mem::replace(&mut noted.has_news, true);
            drop(noted);
            if is_first {
                watch.changed.notify_all();
            }
            true
        });
    }
}

impl Drop for Tails {
    fn drop(&mut self) {
        self.each(|noted| noted.is_closed = true);
    }
}

/// Follows a log in memory.
#[derive(Debug)]
pub(super) struct MemoryTail {
    watch: Arc<Watch>,
    ready: Lock<Ready>,
}

#[derive(Debug, Default)]
struct Ready {
    rows: VecDeque<(i64, Object)>,
    /// What was there at first, of a tail with late entries.
    backlog: Option<Slice<Object>>,
    /// The place of the last row that was given.
    place: Option<i64>,
    given: u64,
}

impl Ready {
    /// Reads some of what was there at first; gives what is left to be dropped when that was all.
    fn take_backlog(&mut self) -> Option<Slice<Object>> {
        let backlog = self.backlog.as_mut()?;
        while self.rows.len() < LOOK_ROWS {
            let Some((time, object)) = backlog.next_row() else { return self.backlog.take() };
            self.rows.push_back((time, object.clone()));
        }
        None
    }
}

impl MemoryTail {
    /// From a place on: so many rows of a time were given before. Without one, from now on.
    pub(super) fn begin(log: &mut MemoryLog, place: Option<(i64, u64)>, late: bool) -> Self {
        let (place, read) = match place {
            Some((time, given)) => (Some(time), usize::try_from(given).unwrap_or(usize::MAX)),
            None => {
                let last = log.rows.max_time();
                (last, last.map_or(0, |last| log.rows.slice(last..=last).left()))
            }
        };
        let mut ready = Ready { place, given: read as u64, ..Ready::default() };
        let mut noted = Noted { place, read, ..Noted::default() };
        if late {
            noted.late = Some(VecDeque::new());
            let mut backlog = match place {
                Some(place) => log.rows.slice(place..),
                None => log.rows.slice(..),
            };
            for _ in 0..read {
                backlog.next_row();
            }
            ready.backlog = Some(backlog);
        }
        let watch = Arc::new(Watch { noted: Lock::new(noted), changed: Condvar::new() });
        log.tails.0.push(Arc::downgrade(&watch));
        Self { watch, ready: Lock::new(ready) }
    }

    /// Where it is, as text that a tail by time begins behind.
    pub(super) fn cursor(&self) -> Option<String> {
        if self.watch.noted.lock().late.is_some() {
            return None;
        }
        let ready = self.ready.lock();
        let time = ready.place.map_or_else(String::new, |place| place.to_string());
        Some(format!("t.{time}.{}.0", ready.given))
    }

    /// The next row that is there.
    pub(super) fn take(&self) -> Option<(i64, Object)> {
        let mut ready = self.ready.lock();
        let row = ready.rows.pop_front()?;
        ready.given = if ready.place == Some(row.0) { ready.given + 1 } else { 1 };
        ready.place = Some(row.0);
        Some(row)
    }

    /// Reads what comes next, and waits for it up to `timeout`; `None` where none will come.
    pub(super) fn fill(
        &self,
        py: Python<'_>,
        log: &Timelog,
        timeout: Duration,
    ) -> PyResult<Option<bool>> {
        let found = self.look(log)?;
        if found != Some(false) {
            return Ok(found);
        }
        py.detach(|| {
            let noted = self.watch.noted.lock();
            let is_idle = |noted: &mut Noted| !noted.has_news && !noted.is_closed;
            // A poisoned lock is one whose value is whole, as everywhere.
            drop(self.watch.changed.wait_timeout_while(noted, timeout, is_idle));
        });
        self.look(log)
    }

    /// Reads what is there: whether there is something, and `None` where the log has been closed.
    fn look(&self, log: &Timelog) -> PyResult<Option<bool>> {
        // Held until rows that were read are added: of two threads one reads. The log's lock and that of what is noted
        // are taken with it, and never the other way round.
        let mut ready = self.ready.lock();
        if !ready.rows.is_empty() {
            return Ok(Some(true));
        }
        let mut noted = self.watch.noted.lock();
        noted.has_news = false;
        let (is_closed, is_lost, is_late) = (noted.is_closed, noted.is_lost, noted.late.is_some());
        drop(noted);
        if !is_late {
            let rows = if is_closed { None } else { log.ask(|log| self.look_by_time(log)).ok() };
            let Some(Asked::Answer(rows)) = rows else { return Ok(None) };
            ready.rows = rows;
            return Ok(Some(!ready.rows.is_empty()));
        }
        let done = ready.take_backlog();
        if ready.rows.is_empty()
            && let Some(late) = &mut self.watch.noted.lock().late
        {
            std::mem::swap(late, &mut ready.rows);
        }
        let has_some = !ready.rows.is_empty();
        // Its leaves may hold objects, which go without the lock.
        drop(ready);
        drop(done);
        if !has_some && is_lost {
            return Err(refused(
                ErrorKind::HistoryLost,
                format!(
                    "more than {WAITING_ROWS_MAX} entries came that this tail has not read, and a log in memory keeps \
                     no more for one: begin a new tail"
                ),
            ));
        }
        Ok((has_some || !is_closed).then_some(has_some))
    }

    /// What is behind the place by now. With the log's lock held.
    fn look_by_time(&self, log: &mut MemoryLog) -> VecDeque<(i64, Object)> {
        let mut noted = self.watch.noted.lock();
        let mut rows = VecDeque::new();
        let mut slice = match noted.place {
            Some(place) => {
                if log.rows.max_time().is_none_or(|newest| newest < place) {
                    return rows;
                }
                log.rows.slice(place..)
            }
            None => log.rows.slice(..),
        };
        for _ in 0..noted.read {
            slice.next_row();
        }
        while rows.len() < LOOK_ROWS
            && let Some((time, object)) = slice.next_row()
        {
            noted.read = if noted.place == Some(time) { noted.read + 1 } else { 1 };
            noted.place = Some(time);
            rows.push_back((time, object.clone()));
        }
        rows
    }

    /// Shows the objects that wait to Python's collector.
    pub(super) fn traverse(&self, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
        if let Some(ready) = self.ready.try_lock() {
            ready.rows.iter().try_for_each(|(_, object)| object.visit(visit))?;
        }
        let Some(noted) = self.watch.noted.try_lock() else { return Ok(()) };
        noted.late.iter().flatten().try_for_each(|(_, object)| object.visit(visit))
    }

    /// Lets go of all objects that wait.
    pub(super) fn clear(&self) {
        let ready = std::mem::take(&mut *self.ready.lock());
        let late = self.watch.noted.lock().late.as_mut().map(std::mem::take);
        drop((ready, late));
    }
}
