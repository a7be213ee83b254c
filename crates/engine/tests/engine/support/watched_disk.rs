//! A disk that asks before it writes or syncs, for tests in which that fails, waits or is
//! written down. Tests of the engine's parts include this file by its path.

use std::fmt::Debug;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use timestrata_io::{Bytes, DirEntry, Disk, DiskFile, LockOutcome, OpenMode};

/// What is about to be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    OpenLog,
    Write,
    Sync,
    SyncDir,
    Rename,
}

pub(crate) trait Watcher: Debug + Send + Sync + 'static {
    /// An error is what the caller gets; the disk then does nothing.
    fn before(&self, step: Step, path: &Path) -> io::Result<()>;

    /// The same for making a file that must not be there yet.
    fn before_create(&self, _path: &Path) -> io::Result<()> {
        Ok(())
    }

    /// The same for reading from a file.
    fn before_read(&self, _path: &Path, _offset: u64) -> io::Result<()> {
        Ok(())
    }

    /// The same for mapping a file.
    fn before_map(&self, _path: &Path) -> io::Result<()> {
        Ok(())
    }
}

#[derive(Debug)]
pub(crate) struct WatchedDisk {
    disk: Arc<dyn Disk>,
    watcher: Arc<dyn Watcher>,
}

#[derive(Debug)]
struct WatchedFile {
    file: Arc<dyn DiskFile>,
    watcher: Arc<dyn Watcher>,
    path: PathBuf,
}

impl WatchedDisk {
    pub(crate) fn new(disk: Arc<dyn Disk>, watcher: Arc<dyn Watcher>) -> Self {
        Self { disk, watcher }
    }

    fn wrap(&self, file: Arc<dyn DiskFile>, path: &Path) -> Arc<dyn DiskFile> {
        let watcher = Arc::clone(&self.watcher);
        Arc::new(WatchedFile { file, watcher, path: path.to_path_buf() })
    }
}

impl Disk for WatchedDisk {
    fn open(&self, path: &Path, mode: OpenMode) -> io::Result<Arc<dyn DiskFile>> {
        if mode == OpenMode::CreateNew {
            self.watcher.before_create(path)?;
        }
        Ok(self.wrap(self.disk.open(path, mode)?, path))
    }
    fn open_log(&self, path: &Path, bytes: u64) -> io::Result<Arc<dyn DiskFile>> {
        self.watcher.before(Step::OpenLog, path)?;
        Ok(self.wrap(self.disk.open_log(path, bytes)?, path))
    }
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.watcher.before(Step::Rename, from)?;
        self.disk.rename(from, to)
    }
    fn exchange(&self, one: &Path, other: &Path) -> io::Result<()> {
        self.watcher.before(Step::Rename, one)?;
        self.disk.exchange(one, other)
    }
    fn remove(&self, path: &Path) -> io::Result<()> {
        self.disk.remove(path)
    }
    fn list(&self, dir: &Path) -> io::Result<Vec<DirEntry>> {
        self.disk.list(dir)
    }
    fn create_dir(&self, dir: &Path) -> io::Result<()> {
        self.disk.create_dir(dir)
    }
    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        self.watcher.before(Step::SyncDir, dir)?;
        self.disk.sync_dir(dir)
    }
    fn exists(&self, path: &Path) -> io::Result<bool> {
        self.disk.exists(path)
    }
    fn try_lock(&self, path: &Path, owner: &str) -> io::Result<LockOutcome> {
        self.disk.try_lock(path, owner)
    }
    fn free_bytes(&self, path: &Path) -> io::Result<Option<u64>> {
        self.disk.free_bytes(path)
    }
}

impl DiskFile for WatchedFile {
    fn len(&self) -> io::Result<u64> {
        self.file.len()
    }
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        self.watcher.before_read(&self.path, offset)?;
        self.file.read_at(offset, buffer)
    }
    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.watcher.before(Step::Write, &self.path)?;
        self.file.write_at(offset, bytes)
    }
    fn append(&self, bytes: &[u8]) -> io::Result<u64> {
        self.watcher.before(Step::Write, &self.path)?;
        self.file.append(bytes)
    }
    fn set_len(&self, bytes: u64) -> io::Result<()> {
        self.file.set_len(bytes)
    }
    fn sync_data(&self) -> io::Result<()> {
        self.watcher.before(Step::Sync, &self.path)?;
        self.file.sync_data()
    }
    fn sync_all(&self) -> io::Result<()> {
        self.watcher.before(Step::Sync, &self.path)?;
        self.file.sync_all()
    }
    fn map(&self) -> io::Result<Bytes> {
        self.watcher.before_map(&self.path)?;
        self.file.map()
    }
}
