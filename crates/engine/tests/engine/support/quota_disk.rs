//! A disk in memory that holds so many bytes and no more, for tests of what a full disk does.
//!
//! Files take whole blocks, those of the log all of them at once. A write that doesn't fit is done as
//! far as it does, as file systems do it.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use timestrata_io::sync::Mutex;
use timestrata_io::{Bytes, DirEntry, Disk, DiskFile, LockOutcome, MemoryDisk, OpenMode};

const BLOCK_BYTES: u64 = 1 << 10;

/// What is on the disk, and how much there may be.
#[derive(Debug, Default)]
pub(crate) struct Quota {
    bytes_max: AtomicU64,
    /// Length of each file.
    files: Mutex<HashMap<PathBuf, Arc<AtomicU64>>>,
}

impl Quota {
    pub(crate) fn set(&self, bytes: u64) {
        self.bytes_max.store(bytes, Ordering::SeqCst);
    }

    pub(crate) fn used(&self) -> u64 {
        self.files.lock().values().map(|length| blocks(length.load(Ordering::SeqCst))).sum()
    }

    fn free(&self) -> u64 {
        self.bytes_max.load(Ordering::SeqCst).saturating_sub(self.used())
    }

    /// Lets a file grow to `length`; gives how far it can.
    fn grow(&self, file: &AtomicU64, length: u64) -> u64 {
        let now = file.load(Ordering::SeqCst);
        let may = blocks(now) + self.free();
        let length = length.min(may).max(now);
        file.store(length, Ordering::SeqCst);
        length
    }
}

fn blocks(bytes: u64) -> u64 {
    bytes.next_multiple_of(BLOCK_BYTES)
}

#[derive(Debug)]
pub(crate) struct QuotaDisk {
    disk: MemoryDisk,
    quota: Arc<Quota>,
}

#[derive(Debug)]
struct QuotaFile {
    file: Arc<dyn DiskFile>,
    length: Arc<AtomicU64>,
    quota: Arc<Quota>,
}

impl QuotaDisk {
    pub(crate) fn new(quota: &Arc<Quota>) -> Self {
        Self { disk: MemoryDisk::new(), quota: Arc::clone(quota) }
    }

    fn wrap(&self, file: Arc<dyn DiskFile>, path: &Path) -> io::Result<Arc<dyn DiskFile>> {
        let length = file.len()?;
        let mut files = self.quota.files.lock();
        let known = files.entry(path.to_owned()).or_insert_with(|| Arc::new(length.into()));
        let (length, quota) = (Arc::clone(known), Arc::clone(&self.quota));
        Ok(Arc::new(QuotaFile { file, length, quota }))
    }
}

impl Disk for QuotaDisk {
    fn open(&self, path: &Path, mode: OpenMode) -> io::Result<Arc<dyn DiskFile>> {
        self.wrap(self.disk.open(path, mode)?, path)
    }
    fn open_log(&self, path: &Path, bytes: u64) -> io::Result<Arc<dyn DiskFile>> {
        if !self.disk.exists(path)? && self.quota.free() < blocks(bytes) {
            return Err(io::ErrorKind::StorageFull.into());
        }
        self.wrap(self.disk.open_log(path, bytes)?, path)
    }
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.disk.rename(from, to)?;
        let mut files = self.quota.files.lock();
        if let Some(length) = files.remove(from) {
            files.insert(to.to_owned(), length);
        }
        Ok(())
    }
    fn remove(&self, path: &Path) -> io::Result<()> {
        self.disk.remove(path)?;
        self.quota.files.lock().remove(path);
        Ok(())
    }
    fn list(&self, dir: &Path) -> io::Result<Vec<DirEntry>> {
        self.disk.list(dir)
    }
    fn create_dir(&self, dir: &Path) -> io::Result<()> {
        self.disk.create_dir(dir)
    }
    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        self.disk.sync_dir(dir)
    }
    fn exists(&self, path: &Path) -> io::Result<bool> {
        self.disk.exists(path)
    }
    fn try_lock(&self, path: &Path, owner: &str) -> io::Result<LockOutcome> {
        self.disk.try_lock(path, owner)
    }
    fn free_bytes(&self, _path: &Path) -> io::Result<Option<u64>> {
        Ok(Some(self.quota.free()))
    }
}

impl DiskFile for QuotaFile {
    fn len(&self) -> io::Result<u64> {
        self.file.len()
    }
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        self.file.read_at(offset, buffer)
    }
    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let end = offset + bytes.len() as u64;
        let reached = self.quota.grow(&self.length, end);
        if reached < end {
            let part = reached.saturating_sub(offset) as usize;
            self.file.write_at(offset, &bytes[..part])?;
            return Err(io::ErrorKind::StorageFull.into());
        }
        self.file.write_at(offset, bytes)
    }
    fn append(&self, bytes: &[u8]) -> io::Result<u64> {
        let offset = self.file.len()?;
        self.write_at(offset, bytes).map(|()| offset)
    }
    fn set_len(&self, bytes: u64) -> io::Result<()> {
        self.file.set_len(bytes)?;
        self.length.store(bytes, Ordering::SeqCst);
        Ok(())
    }
    fn sync_data(&self) -> io::Result<()> {
        self.file.sync_data()
    }
    fn sync_all(&self) -> io::Result<()> {
        self.file.sync_all()
    }
    fn map(&self) -> io::Result<Bytes> {
        self.file.map()
    }
}
