//! The store's memory of its first I/O failure.
//!
//! After a failed write or sync nobody knows what is on disk, so no write is taken any more;
//! reads go on from what is in memory and in runs. Reopening recovers.

use std::sync::OnceLock;

use crate::{Error, ErrorKind, Result};

/// Set once, by the first failure.
#[derive(Debug, Default)]
pub(crate) struct Poison(OnceLock<Error>);

impl Poison {
    /// An error if the store is poisoned.
    pub(crate) fn check(&self) -> Result<()> {
        match self.0.get() {
            None => Ok(()),
            Some(cause) => {
                let mut error = Error::new(
                    ErrorKind::Poisoned,
                    format!("the store takes no writes since an earlier failure: {cause}"),
                );
                if let Some(path) = cause.path() {
                    error = error.at(path);
                }
                Err(error)
            }
        }
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
