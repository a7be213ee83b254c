//! Advisory locks of a disk that only this process can see.

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::locks::Mutex;

use crate::{LockGuard, LockOutcome};

/// Which files are locked.
#[derive(Debug, Default)]
pub struct Locks {
    held: Arc<Mutex<Held>>,
}

/// Who holds which file, by the number of the taking.
#[derive(Debug, Default)]
struct Held {
    files: BTreeMap<PathBuf, u64>,
    takings: u64,
}

impl Locks {
    /// Whether somebody holds the lock on this file.
    pub fn is_held(&self, path: &Path) -> bool {
        self.held.lock().files.contains_key(path)
    }

    /// Takes the lock away from whoever holds it, without a word: for simulations.
    pub fn pull_away(&self, path: &Path) {
        self.held.lock().files.remove(path);
    }

    /// Takes the lock on a file on which nobody holds one, until the guard is dropped.
    /// `is_there` tells whether the name still leads to the file that was locked.
    pub fn take(
        &self,
        path: PathBuf,
        is_there: impl Fn() -> bool + Send + Sync + 'static,
    ) -> LockOutcome {
        let mut held = self.held.lock();
        held.takings += 1;
        let taking = held.takings;
        held.files.insert(path.clone(), taking);
        drop(held);
        let is_there = Box::new(is_there);
        let held = Arc::clone(&self.held);
        LockOutcome::Acquired(Box::new(Guard { held, path, taking, is_there }))
    }
}

struct Guard {
    held: Arc<Mutex<Held>>,
    path: PathBuf,
    taking: u64,
    is_there: Box<dyn Fn() -> bool + Send + Sync>,
}

impl fmt::Debug for Guard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Guard").field("path", &self.path).finish_non_exhaustive()
    }
}

impl LockGuard for Guard {
    fn still_held(&self) -> io::Result<bool> {
        let is_ours = self.held.lock().files.get(&self.path) == Some(&self.taking);
        Ok(is_ours && (self.is_there)())
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        let mut held = self.held.lock();
        if held.files.get(&self.path) == Some(&self.taking) {
            held.files.remove(&self.path);
        }
    }
}
