//! Advisory locks of a disk that only this process can see.

use std::collections::BTreeSet;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;

use crate::{LockGuard, LockOutcome};

/// Which files are locked.
#[derive(Debug, Default)]
pub struct Locks {
    held: Arc<Mutex<BTreeSet<PathBuf>>>,
}

impl Locks {
    /// Whether somebody holds the lock on this file.
    pub fn is_held(&self, path: &Path) -> bool {
        self.held.lock().contains(path)
    }

    /// Takes the lock on a file on which nobody holds one, until the guard is dropped.
    /// `is_there` tells whether the name still leads to the file that was locked.
    pub fn take(
        &self,
        path: PathBuf,
        is_there: impl Fn() -> bool + Send + Sync + 'static,
    ) -> LockOutcome {
        self.held.lock().insert(path.clone());
        let is_there = Box::new(is_there);
        LockOutcome::Acquired(Box::new(Guard { held: Arc::clone(&self.held), path, is_there }))
    }
}

struct Guard {
    held: Arc<Mutex<BTreeSet<PathBuf>>>,
    path: PathBuf,
    is_there: Box<dyn Fn() -> bool + Send + Sync>,
}

impl fmt::Debug for Guard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Guard").field("path", &self.path).finish_non_exhaustive()
    }
}

impl LockGuard for Guard {
    fn still_held(&self) -> io::Result<bool> {
        Ok((self.is_there)())
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.held.lock().remove(&self.path);
    }
}
