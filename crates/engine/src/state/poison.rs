//! The store's memory of its first failure that leaves in doubt what is on disk.
//!
//! After a failed write or sync of the log, of the manifest or of the names in their directories
//! nobody knows what is on disk, so no write is taken any more; reads go on from what is in memory
//! and in runs. Reopening recovers. What fails in files that nothing depends on yet doesn't come here:
//! see `maintenance/troubles.rs`.

use std::sync::OnceLock;

use crate::{Error, Result};

/// Set once, by the first failure.
#[derive(Debug, Default)]
pub(crate) struct Poison(OnceLock<Error>);

impl Poison {
    /// An error if the store is poisoned.
    pub(crate) fn check(&self) -> Result<()> {
        self.0.get().map_or(Ok(()), |cause| Err(Error::poisoned_by(cause)))
    }

    /// Whether there was such a failure.
    pub(crate) fn is_set(&self) -> bool {
        self.0.get().is_some()
    }

    /// Remembers a failure, if it is the first, and gives it back to be returned.
    pub(crate) fn set(&self, error: Error) -> Error {
        let copy = error.duplicate();
        // A later failure is a consequence of the first: the first one is kept.
        let _ = self.0.set(copy);
        error
    }

    /// What happened, if something did.
    pub(crate) fn cause(&self) -> Option<String> {
        self.0.get().map(Error::to_string)
    }
}
