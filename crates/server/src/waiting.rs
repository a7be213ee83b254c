//! Long polls: a request that found nothing waits until there is something, without a thread of its own.
//!
//! Invariant: whoever waits holds one of `limits.waits_max` permits, and gives it back when it is answered, when
//! its client goes away (which drops the request) and when the server is told to stop.

use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, watch};
use tokio::time::sleep;

use crate::error::{Failure, Result};
use crate::state::AppState;

/// How often one looks for what nobody tells: members of groups that were not heard of, and records that
/// another process wrote.
const LOOK_INTERVAL: Duration = Duration::from_millis(500);
const FOLLOW_INTERVAL: Duration = Duration::from_millis(100);

/// One who waits.
pub(crate) struct Waiter {
    state: AppState,
    appended: watch::Receiver<u64>,
    until_ns: u64,
    interval: Duration,
    permit: Option<OwnedSemaphorePermit>,
}

impl Waiter {
    /// Waits for `wait` at most, from now on.
    pub(crate) fn new(state: &AppState, wait: Duration) -> Self {
        let wait_ns = u64::try_from(wait.as_nanos()).unwrap_or(u64::MAX);
        let until_ns = state.io.clock.monotonic_ns().saturating_add(wait_ns);
        let interval = match state.store.is_read_only() {
            true => FOLLOW_INTERVAL,
            false => LOOK_INTERVAL,
        };
        let appended = state.appended.clone();
        Self { state: state.clone(), appended, until_ns, interval, permit: None }
    }

    /// For what nobody tells: looks as often as that.
    pub(crate) fn looking_every(mut self, interval: Duration) -> Self {
        self.interval = interval.min(self.interval);
        self
    }

    /// To be called before each look, so that nothing is missed that comes while it is taken.
    pub(crate) fn begin_look(&mut self) {
        self.appended.mark_unchanged();
    }

    /// Waits until it is worth to look again: false if the time is over, or the server stops.
    ///
    /// # Errors
    /// `503` if too many wait already.
    pub(crate) async fn wait(&mut self) -> Result<bool> {
        let left_ns = self.until_ns.saturating_sub(self.state.io.clock.monotonic_ns());
        if left_ns == 0 || *self.state.stopping.borrow() {
            return Ok(false);
        }
        if self.permit.is_none() {
            let permit = self.state.waits.clone().try_acquire_owned();
            self.permit = Some(permit.map_err(|_| {
                Failure::for_now("too many requests wait for records (limits.waits_max); try again")
            })?);
            self.state.metrics.waits.inc();
        }
        let appended = async {
            if self.appended.changed().await.is_err() {
                // Nobody tells any more: the store is closed, which the next look finds.
                std::future::pending::<()>().await;
            }
        };
        tokio::select! {
            () = appended => {}
            () = sleep(self.interval.min(Duration::from_nanos(left_ns))) => {}
            () = self.state.stopped() => {}
        }
        Ok(true)
    }
}

impl Drop for Waiter {
    fn drop(&mut self) {
        if self.permit.is_some() {
            self.state.metrics.waits.dec();
        }
    }
}
