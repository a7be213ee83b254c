//! Advisory locks of a disk that only this process can see.

use std::collections::BTreeSet;
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
    pub fn take(&self, path: PathBuf) -> LockOutcome {
        self.held.lock().insert(path.clone());
        LockOutcome::Acquired(Box::new(Guard { held: Arc::clone(&self.held), path }))
    }
}

#[derive(Debug)]
struct Guard {
    held: Arc<Mutex<BTreeSet<PathBuf>>>,
    path: PathBuf,
}

impl LockGuard for Guard {}

impl Drop for Guard {
    fn drop(&mut self) {
        self.held.lock().remove(&self.path);
    }
}
