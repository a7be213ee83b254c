//! The writer's lock: its name, and the look whether it is still held.
//!
//! The log looks before each sync, and whoever edits the manifest before each edit: once another writer
//! may have been let in, nothing is acknowledged any more.

use std::path::Path;

use timestrata_io::LockGuard;

use crate::planted::{Plant, is_planted};
use crate::{Error, ErrorKind, Result};

/// The file that the writer's lock is on.
pub(crate) const LOCK_NAME: &str = "LOCK";

/// An error where a writer's lock has been pulled away: somebody has removed the lock's file, or
/// put another directory in the store's place.
pub(crate) fn still_ours(lock: &dyn LockGuard, dir: &Path) -> Result<()> {
    if is_planted(Plant::UnlookedLock) {
        return Ok(());
    }
    let held = lock.still_held();
    match held.map_err(|error| Error::io("look at the store's lock", dir, error))? {
        true => Ok(()),
        false => {
            let message = "the lock file or the directory of the open store has been removed, \
                           replaced or renamed, so another writer may have the store open";
            Err(Error::new(ErrorKind::Locked, message).at(dir))
        }
    }
}
