//! The store's memory of its first failure that leaves in doubt what is on disk.
//!
//! After a failed write or sync of the log, of the manifest or of the names in their directories
//! nobody knows what is on disk, so no write is taken any more; reads go on from what is in memory
//! and in runs. Reopening recovers. What fails in files that nothing depends on yet doesn't come here:
//! see `state/troubles.rs`.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::{Error, Result};

/// Set once, by the first failure.
#[derive(Debug, Default)]
pub(crate) struct Poison {
    cause: OnceLock<Error>,
    is_told: AtomicBool,
}

impl Poison {
    /// An error if the store is poisoned.
    pub(crate) fn check(&self) -> Result<()> {
        self.cause.get().map_or(Ok(()), |cause| Err(Error::poisoned_by(cause)))
    }

    /// Whether there was such a failure.
    pub(crate) fn is_set(&self) -> bool {
        self.cause.get().is_some()
    }

    /// Remembers a failure, if it is the first, and gives it back to be returned.
    pub(crate) fn set(&self, error: Error) -> Error {
        let copy = error.duplicate();
        // A later failure is a consequence of the first: the first one is kept.
        let _ = self.cause.set(copy);
        error
    }

    /// What happened, if something did.
    pub(crate) fn cause(&self) -> Option<String> {
        self.cause.get().map(Error::to_string)
    }

    /// What happened, for the first who asks.
    pub(crate) fn untold(&self) -> Option<&Error> {
        let cause = self.cause.get()?;
        (!self.is_told.swap(true, Ordering::AcqRel)).then_some(cause)
    }
}
