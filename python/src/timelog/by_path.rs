//! Stores that logs open by their paths: one a path and process, which closes with the last log of it.
//!
//! Two logs of one store, `Timelog(path=P, name="a")` and `Timelog(path=P, name="b")`, share what one
//! of them has opened; one of a store that the program has open itself uses that and leaves it open.
//! While a store is being opened or closed its entry says so, and who comes meanwhile waits: the list's
//! lock is held only to look at it.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use pyo3::prelude::*;
use timestrata_engine::{Access, Durability, Io, Settings, Store as EngineStore};

use crate::error::invalid;
use crate::fork::Guarded;
use crate::handle::{Handle, opened_at};
use crate::interrupt::detached;
use crate::lock::Lock;

static OPEN: Lock<Vec<Entry>> = Lock::new(Vec::new());

/// How long one waits before it looks again whether a store has been opened or closed.
const WAIT: Duration = Duration::from_millis(1);

#[derive(Debug)]
struct Entry {
    path: PathBuf,
    settings: Settings,
    /// `None` while it is being opened or closed.
    handle: Option<Weak<Handle>>,
    users: usize,
    /// An entry of the parent process is none.
    process: Guarded<()>,
}

/// How a log's store is opened by its path.
#[derive(Debug, Clone)]
pub(super) struct PathOptions {
    pub(super) path: PathBuf,
    pub(super) mode: &'static str,
    pub(super) access: Access,
    pub(super) durability: Durability,
    /// What was asked for; `None`: what a store has unless told otherwise.
    pub(super) settings: Option<Settings>,
}

/// A log's share of a store that was opened by its path.
#[derive(Debug)]
pub(super) struct PathUse {
    pub(super) options: PathOptions,
    pub(super) handle: Arc<Handle>,
    canonical: PathBuf,
    /// Whether there is nothing to give back: it was, or the store is the program's.
    is_released: AtomicBool,
}

enum Claimed {
    Open(Arc<Handle>),
    /// It is being opened or closed.
    Busy,
    /// It is the caller's to open.
    Own,
}

impl PathOptions {
    /// Opens the store, or takes part in the one that is open.
    ///
    /// # Errors
    /// `InvalidArgumentError` if that has other settings, and all that opening a store may meet.
    pub(super) fn open(self, py: Python<'_>) -> PyResult<PathUse> {
        let canonical = canonical(&self.path);
        let of = |options: Self, handle, is_released: bool| PathUse {
            options,
            handle,
            canonical: canonical.clone(),
            is_released: AtomicBool::new(is_released),
        };
        if self.access == Access::Read {
            // Readers need no lock: each has its own view.
            let handle = self.opened(py)?;
            return Ok(of(self, handle, false));
        }
        loop {
            if let Some(handle) = opened_at(&canonical, is_of_a_log) {
                self.refuse_settings(None)?;
                return Ok(of(self, handle, true));
            }
            match self.claim(&canonical)? {
                Claimed::Open(handle) => return Ok(of(self, handle, false)),
                Claimed::Busy => {
                    py.check_signals()?;
                    py.detach(|| std::thread::sleep(WAIT));
                }
                Claimed::Own => {
                    let opened = self.opened(py);
                    let mut open = OPEN.lock();
                    match &opened {
                        Ok(handle) => entry_of(&mut open, &canonical)
                            .into_iter()
                            .for_each(|entry| entry.handle = Some(Arc::downgrade(handle))),
                        Err(_) => open.retain(|entry| entry.path != canonical),
                    }
                    drop(open);
                    return Ok(of(self, opened?, false));
                }
            }
        }
    }

    fn opened(&self, py: Python<'_>) -> PyResult<Arc<Handle>> {
        let settings = self.settings.clone().unwrap_or_default();
        let open = || EngineStore::open_with(Io::os(), &self.path, self.access, settings);
        Ok(Handle::new(detached(py, open)?, self.mode, self.durability))
    }

    /// Takes part in a store that other logs have open, or says that it is the caller's to open.
    fn claim(&self, canonical: &Path) -> PyResult<Claimed> {
        // Whatever goes away goes without the lock.
        let mut seen: Vec<Arc<Handle>> = Vec::new();
        let mut open = OPEN.lock();
        open.retain(|entry| {
            if !entry.process.is_own() {
                return false;
            }
            let Some(handle) = &entry.handle else { return true };
            let handle = handle.upgrade();
            seen.extend(handle.clone());
            handle.is_some_and(|handle| !handle.is_closed())
        });
        let claimed = match entry_of(&mut open, canonical) {
            Some(entry) => match entry.handle.as_ref().and_then(Weak::upgrade) {
                Some(handle) => {
                    self.refuse_settings(Some(&entry.settings))?;
                    entry.users += 1;
                    Claimed::Open(handle)
                }
                None => Claimed::Busy,
            },
            None => {
                open.push(Entry {
                    path: canonical.to_owned(),
                    settings: self.settings.clone().unwrap_or_default(),
                    handle: None,
                    users: 1,
                    process: Guarded::new(()),
                });
                Claimed::Own
            }
        };
        drop(open);
        drop(seen);
        Ok(claimed)
    }

    /// Refuses settings that a store that is open already does not have.
    fn refuse_settings(&self, there: Option<&Settings>) -> PyResult<()> {
        if self.settings.is_none() || self.settings.as_ref() == there {
            return Ok(());
        }
        Err(invalid(format!(
            "the store '{}' is open in this process already, with settings of its own: leave out \
             maintenance, busy_policy and sizes, or give all of its logs the same",
            self.path.display()
        )))
    }
}

impl PathUse {
    /// Gives the share back; the last one closes the store.
    ///
    /// # Errors
    /// Closing's own; `ForkedError` in a child of the process that opened it.
    pub(super) fn release(&self, py: Python<'_>) -> PyResult<()> {
        self.handle.store_even_closed()?;
        if self.is_released.swap(true, Ordering::AcqRel) {
            return Ok(());
        }
        if self.options.access != Access::Read {
            let mut open = OPEN.lock();
            if let Some(entry) = entry_of(&mut open, &self.canonical) {
                entry.users = entry.users.saturating_sub(1);
                if entry.users > 0 {
                    return Ok(());
                }
                entry.handle = None;
            }
        }
        let closed = self.handle.close(py);
        if self.options.access != Access::Read {
            OPEN.lock().retain(|entry| entry.path != self.canonical);
        }
        closed
    }
}

impl Drop for PathUse {
    fn drop(&mut self) {
        // Errors have nobody to go to here; what was acknowledged is in the log of the store.
        if !self.is_released.load(Ordering::Acquire) {
            let _ = Python::try_attach(|py| self.release(py));
        }
    }
}

/// Whether a store is one that logs have opened by its path.
fn is_of_a_log(handle: &Arc<Handle>) -> bool {
    let of_handle = |entry: &Entry| {
        entry.handle.as_ref().is_some_and(|known| std::ptr::eq(known.as_ptr(), Arc::as_ptr(handle)))
    };
    OPEN.lock().iter().any(of_handle)
}

fn entry_of<'a>(open: &'a mut [Entry], path: &Path) -> Option<&'a mut Entry> {
    open.iter_mut().find(|entry| entry.path == path)
}

/// A path without links; of a folder that is still to be made, that in which it will be.
fn canonical(path: &Path) -> PathBuf {
    let made = || {
        let folder = match path.parent() {
            Some(folder) if folder.as_os_str().is_empty() => Path::new("."),
            Some(folder) => folder,
            None => return None,
        };
        Some(folder.canonicalize().ok()?.join(path.file_name()?))
    };
    path.canonicalize().ok().or_else(made).unwrap_or_else(|| path.to_owned())
}
