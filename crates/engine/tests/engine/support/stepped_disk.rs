//! A disk that asks before each call, so that a test has something happen there.

use std::fmt;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use timestrata_engine::Io;
use timestrata_io::{DirEntry, Disk, DiskFile, LockOutcome, OpenMode};

use super::support::Machine;

/// Told the number of each call.
pub(crate) type Hook = Box<dyn Fn(u64) -> io::Result<()> + Send + Sync>;

/// A disk that asks before each call.
struct SteppedDisk {
    disk: Arc<dyn Disk>,
    calls: AtomicU64,
    before: Hook,
}

impl fmt::Debug for SteppedDisk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SteppedDisk")
    }
}

impl SteppedDisk {
    fn step(&self) -> io::Result<&dyn Disk> {
        (self.before)(self.calls.fetch_add(1, Ordering::Relaxed))?;
        Ok(&*self.disk)
    }
}

impl Disk for SteppedDisk {
    fn open(&self, path: &Path, mode: OpenMode) -> io::Result<Arc<dyn DiskFile>> {
        self.step()?.open(path, mode)
    }
    fn open_log(&self, path: &Path, bytes: u64) -> io::Result<Arc<dyn DiskFile>> {
        self.step()?.open_log(path, bytes)
    }
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.step()?.rename(from, to)
    }
    fn remove(&self, path: &Path) -> io::Result<()> {
        self.step()?.remove(path)
    }
    fn list(&self, dir: &Path) -> io::Result<Vec<DirEntry>> {
        self.step()?.list(dir)
    }
    fn create_dir(&self, dir: &Path) -> io::Result<()> {
        self.step()?.create_dir(dir)
    }
    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        self.step()?.sync_dir(dir)
    }
    fn exists(&self, path: &Path) -> io::Result<bool> {
        self.step()?.exists(path)
    }
    fn try_lock(&self, path: &Path, owner: &str) -> io::Result<LockOutcome> {
        self.step()?.try_lock(path, owner)
    }
    fn free_bytes(&self, path: &Path) -> io::Result<Option<u64>> {
        self.disk.free_bytes(path)
    }
}

/// The surroundings of a machine, on such a disk.
pub(crate) fn stepped(machine: &Machine, before: Hook) -> Io {
    let disk = Arc::clone(&machine.io.disk);
    let disk = SteppedDisk { disk, calls: AtomicU64::new(0), before };
    Io { disk: Arc::new(disk), ..machine.io.clone() }
}
