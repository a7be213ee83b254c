//! A disk in memory that is full or broken when it is told to be.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use timestrata_engine::{Access, Io, Settings, Store};

use crate::watched_disk::{Step, WatchedDisk, Watcher};

/// Full: no file gets longer, and what has its blocks is written as ever. Broken: it takes everything, and keeps nothing for good.
#[derive(Debug, Default)]
pub(crate) struct Ailing {
    is_full: AtomicBool,
    is_broken: AtomicBool,
}

impl Ailing {
    pub(crate) fn set_full(&self, is_full: bool) {
        self.is_full.store(is_full, Ordering::SeqCst);
    }

    pub(crate) fn break_it(&self) {
        self.is_broken.store(true, Ordering::SeqCst);
    }
}

impl Watcher for Ailing {
    fn before(&self, step: Step, path: &Path) -> io::Result<()> {
        let has_blocks = path.extension().is_some_and(|ending| ending == "wal");
        match step {
            Step::OpenLog | Step::Write if self.is_full.load(Ordering::SeqCst) && !has_blocks => {
                Err(io::ErrorKind::StorageFull.into())
            }
            Step::Sync if self.is_broken.load(Ordering::SeqCst) => {
                Err(io::Error::other("the disk is gone"))
            }
            _ => Ok(()),
        }
    }
}

/// What a store is opened with on a disk that somebody watches.
pub(crate) fn watched(watcher: Arc<dyn Watcher>) -> Io {
    let memory = Io::memory();
    let disk = WatchedDisk::new(Arc::clone(&memory.disk), watcher);
    Io { disk: Arc::new(disk), ..memory }
}

/// A disk that can be filled, and what opens the store on it, again and again.
pub(crate) fn ailing() -> (Arc<Ailing>, impl Fn() -> Store) {
    let ailing = Arc::new(Ailing::default());
    let io = watched(Arc::clone(&ailing) as _);
    let settings = Settings { wal_segment_bytes: 1 << 20, ..Settings::default() };
    let dir = Path::new("/store");
    let open = move || Store::open_with(io.clone(), dir, Access::Write, settings.clone()).unwrap();
    (ailing, open)
}
