//! Entries for a client that may stop taking them: what was read ahead for it is let go of, and read again from
//! where it stands once it goes on.
//!
//! Invariant: of a client that takes nothing there is one batch of about a megabyte on its way, and its place.

use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use timestrata_engine::Result;
use timestrata_logs::{Entries, Hits, LogsView, Position, Query};
use tokio::runtime::Handle;
use tokio::sync::OwnedSemaphorePermit;

use crate::search_limits::SearchLimits;

/// Bytes of a batch that goes out, unless one entry has more.
const BATCH_BYTES: usize = 1 << 20;
/// How long what was read ahead waits for a client that takes nothing.
const PATIENCE: Duration = Duration::from_millis(100);

/// The hits of a search in their order.
#[derive(Debug)]
pub(crate) struct RestingHits {
    view: LogsView,
    query: Query,
    /// What is still to be read, and a batch of which the rows from one on are still to come; neither while it rests.
    hits: Option<Hits>,
    ahead: Option<(Entries, usize)>,
    /// The place of the last one that was given.
    last: Option<Position>,
    given: usize,
    is_done: bool,
}

impl RestingHits {
    /// # Errors
    /// Those of a search.
    pub(crate) fn new(view: &LogsView, query: &Query) -> Result<Self> {
        let mut resting = Self {
            view: view.clone(),
            query: query.clone(),
            hits: None,
            ahead: None,
            last: None,
            given: 0,
            is_done: false,
        };
        resting.hits = Some(resting.search()?);
        Ok(resting)
    }

    /// The search of what is still to come.
    fn search(&self) -> Result<Hits> {
        let limit = self.query.limit.map(|limit| limit.saturating_sub(self.given));
        let after = self.last.or(self.query.after);
        self.view.search(&Query { limit, after, ..self.query.clone() })
    }

    /// Lets go of what was read ahead. What comes next is the same as if it had not.
    fn rest(&mut self) {
        (self.hits, self.ahead) = (None, None);
    }

    fn is_resting(&self) -> bool {
        self.hits.is_none() && self.ahead.is_none()
    }

    fn next_batch(&mut self) -> Result<Option<Entries>> {
        if self.is_done {
            return Ok(None);
        }
        let (entries, row) = match self.ahead.take() {
            Some(ahead) => ahead,
            None => {
                if self.hits.is_none() {
                    self.hits = Some(self.search()?);
                }
                match self.hits.as_mut().and_then(Iterator::next).transpose()? {
                    Some(entries) => (entries, 0),
                    None => return Ok(None),
                }
            }
        };
        let rows = rows_within(&entries, row);
        let end = row + rows;
        let by = self.view.clock_of(&self.query);
        self.last =
            entries.get(end.saturating_sub(1)).map(|entry| entry.position(by)).or(self.last);
        self.given += rows;
        if row == 0 && end == entries.len() {
            return Ok(Some(entries));
        }
        // A slice would hold on to all of the batch.
        let part = entries.copied(row..end)?;
        if end < entries.len() {
            self.ahead = Some((entries, end));
        }
        Ok(Some(part))
    }
}

impl Iterator for RestingHits {
    type Item = Result<Entries>;

    fn next(&mut self) -> Option<Self::Item> {
        let batch = self.next_batch().transpose();
        if !matches!(batch, Some(Ok(_))) {
            self.rest();
            self.is_done = true;
        }
        batch
    }
}

/// How many rows from one on go into a batch: one at least.
fn rows_within(entries: &Entries, row: usize) -> usize {
    let rest = entries.len().saturating_sub(row);
    if entries.bytes(row..entries.len()) <= BATCH_BYTES {
        return rest;
    }
    let mut sum = 0;
    let fitting = (row..entries.len()).take_while(|row| {
        sum += entries.bytes(*row..row + 1);
        sum <= BATCH_BYTES
    });
    fitting.count().clamp(1, rest.max(1))
}

/// Hits, and the permit to have read ahead.
struct WatchedHits {
    hits: RestingHits,
    ahead: Option<OwnedSemaphorePermit>,
}

impl WatchedHits {
    fn rest(&mut self) {
        self.hits.rest();
        self.ahead = None;
    }
}

/// The hits for one client, which rest while it takes nothing.
pub(crate) struct ForClient {
    watched: Arc<Mutex<WatchedHits>>,
    limits: Arc<SearchLimits>,
    runtime: Handle,
}

impl ForClient {
    /// Searches, and watches over the hits from now on. They are taken by threads that may wait, of this runtime, as this one is.
    ///
    /// # Errors
    /// Those of a search.
    pub(crate) fn search(
        (view, query): (&LogsView, &Query),
        limits: Arc<SearchLimits>,
        runtime: Handle,
    ) -> Result<Self> {
        let reading = limits.turn(&runtime);
        let hits = RestingHits::new(view, query)?;
        drop(reading);
        let watched = Arc::new(Mutex::new(WatchedHits { hits, ahead: None }));
        runtime.spawn(watch(Arc::downgrade(&watched)));
        Ok(Self { watched, limits, runtime })
    }
}

impl Iterator for ForClient {
    type Item = Result<Entries>;

    fn next(&mut self) -> Option<Self::Item> {
        let _reading = self.limits.turn(&self.runtime);
        // Who panicked in a read has left it as a read that failed does.
        let mut watched = self.watched.lock().unwrap_or_else(PoisonError::into_inner);
        let batch = watched.hits.next();
        if watched.hits.is_resting() {
            watched.ahead = None;
        } else if watched.ahead.is_none() {
            match Arc::clone(&self.limits.ahead).try_acquire_owned() {
                Ok(permit) => watched.ahead = Some(permit),
                // What comes next is read anew.
                Err(_) => watched.rest(),
            }
        }
        batch
    }
}

/// Has hits rest whenever nobody has taken any for a while, as long as there is somebody who may.
async fn watch(watched: Weak<Mutex<WatchedHits>>) {
    let mut seen = None;
    loop {
        tokio::time::sleep(PATIENCE).await;
        let Some(watched) = watched.upgrade() else { return };
        // Who holds it is reading for a client that takes.
        let Ok(mut watched) = watched.try_lock() else { continue };
        if watched.hits.is_done {
            return;
        }
        let given = watched.hits.given;
        if seen.replace(given) == Some(given) {
            watched.rest();
        }
    }
}

#[cfg(test)]
mod tests;
