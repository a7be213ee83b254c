//! Group commit: one sync for everyone who waits.
//!
//! Owns the turn of who syncs. The first to ask leads: it syncs all that has been appended
//! by then, without a lock that appends need; who asks meanwhile waits, and of those whose
//! commit came too late for that sync one leads the next.

use std::time::Duration;

use timestrata_format::SeqNo;
use timestrata_io::sync::{Condvar, Mutex};

use crate::planted::{Plant, is_planted};
use crate::{Error, ErrorKind, Result};

/// Who syncs, how far, and whether anything has failed for ever.
#[derive(Debug, Default)]
pub(super) struct GroupSync {
    state: Mutex<GroupState>,
    done: Condvar,
}

#[derive(Debug, Default)]
struct GroupState {
    leading: bool,
    synced: SeqNo,
    failure: Option<Error>,
    counts: SyncCounts,
}

/// How often the log was synced since it was opened.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct SyncCounts {
    /// Syncs that were made,
    pub(crate) syncs: u64,
    /// and callers who wanted one, and found that what they wanted was not durable yet.
    pub(crate) waits: u64,
}

impl GroupSync {
    /// With all up to `synced` durable.
    pub(super) fn new(synced: SeqNo) -> Self {
        let state = GroupState { synced, ..GroupState::default() };
        Self { state: Mutex::new(state), done: Condvar::new() }
    }

    /// Waits until `goal` is durable. `lead` syncs all there is and gives how far that is;
    /// it is called at most once, by one caller at a time, which waits for `delay` before.
    pub(super) fn through(
        &self,
        goal: SeqNo,
        delay: Duration,
        lead: impl FnOnce() -> Result<SeqNo>,
    ) -> Result<SeqNo> {
        let mut state = self.state.lock();
        state.counts.waits += u64::from(state.failure.is_none() && state.synced < goal);
        loop {
            if let Some(failure) = &state.failure {
                return Err(Error::poisoned_by(failure));
            }
            if state.synced >= goal {
                return Ok(state.synced);
            }
            if !state.leading {
                break;
            }
            self.done.wait(&mut state);
        }
        state.leading = true;
        if !delay.is_zero() {
            // Who appends meanwhile needs no lock of this, and finds a leader.
            self.done.wait_while_for(&mut state, |state| state.failure.is_none(), delay);
        }
        drop(state);
        let result = lead();
        let mut state = self.state.lock();
        state.leading = false;
        state.counts.syncs += u64::from(result.is_ok());
        match &result {
            Ok(synced) => state.synced = state.synced.max(*synced),
            Err(_) if is_planted(Plant::UnheededFailure) => {}
            Err(error) => state.fail(error),
        }
        drop(state);
        self.done.notify_all();
        result
    }

    pub(super) fn counts(&self) -> SyncCounts {
        self.state.lock().counts
    }

    /// From now on everything fails, for this reason.
    pub(super) fn poison(&self, error: &Error) {
        self.state.lock().fail(error);
        self.done.notify_all();
    }

    /// The error of a log that has failed.
    pub(super) fn failure(&self) -> Error {
        match &self.state.lock().failure {
            Some(failure) => Error::poisoned_by(failure),
            None => Error::new(ErrorKind::Poisoned, "the log takes no more writes"),
        }
    }
}

impl GroupState {
    /// The first failure is the one to tell of.
    fn fail(&mut self, error: &Error) {
        self.failure.get_or_insert_with(|| error.duplicate());
    }
}
