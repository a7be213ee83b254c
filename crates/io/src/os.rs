//! The real disk: ordinary files, mapped log files, advisory locks.
//!
//! Owns every call into the operating system's file system, and the crate's memory maps, which
//! are `unsafe`. Invariant: nothing here is cached, so what another process does to the
//! directory is seen by the next call. Called through [`crate::Disk`] only.
#![expect(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    reason = "this module is the one place that touches the real disk"
)]

mod lock;
mod log;
mod sync;

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::locks::Mutex;
use bytes::Bytes;
use memmap2::Mmap;

use crate::parts::Access;
use crate::{DirEntry, Disk, DiskFile, LockOutcome, OpenMode};

/// The operating system's file system.
#[derive(Debug, Clone, Copy, Default)]
pub struct OsDisk;

/// The owner reads and writes.
#[cfg(unix)]
const PRIVATE_MODE: u32 = 0o600;

impl OsDisk {
    /// The operating system's file system.
    pub fn new() -> Self {
        Self
    }
}

impl Disk for OsDisk {
    fn open(&self, path: &Path, mode: OpenMode) -> io::Result<Arc<dyn DiskFile>> {
        let mut options = OpenOptions::new();
        options.read(true).write(mode != OpenMode::Read).create_new(mode.creates());
        #[cfg(unix)]
        if mode == OpenMode::CreatePrivate {
            std::os::unix::fs::OpenOptionsExt::mode(&mut options, PRIVATE_MODE);
        }
        let file = options.open(path)?;
        let metadata = file.metadata()?;
        if metadata.is_dir() {
            return Err(io::Error::new(
                io::ErrorKind::IsADirectory,
                format!("{} is a directory", path.display()),
            ));
        }
        Ok(Arc::new(OsFile { file, access: mode.into(), end: Mutex::new(metadata.len()) }))
    }

    fn open_log(&self, path: &Path, bytes: u64) -> io::Result<Arc<dyn DiskFile>> {
        Ok(Arc::new(log::LogFile::open(path, bytes, log::Blocks::Written)?))
    }

    fn open_log_at_once(&self, path: &Path, bytes: u64) -> io::Result<Arc<dyn DiskFile>> {
        Ok(Arc::new(log::LogFile::open(path, bytes, log::Blocks::Reserved)?))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }

    #[cfg(target_os = "linux")]
    fn exchange(&self, one: &Path, other: &Path) -> io::Result<()> {
        use rustix::fs::{CWD, RenameFlags, renameat_with};
        match renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE) {
            // What file systems say that can't.
            Err(rustix::io::Errno::INVAL | rustix::io::Errno::NOSYS) => {
                Err(io::ErrorKind::Unsupported.into())
            }
            done => Ok(done?),
        }
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }

    fn list(&self, dir: &Path) -> io::Result<Vec<DirEntry>> {
        let mut entries = Vec::new();
        for entry in fs::read_dir(dir)? {
            let entry = entry?;
            let metadata = match entry.metadata() {
                Ok(metadata) => metadata,
                // Removed between the listing and the look.
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(error) => return Err(error),
            };
            let is_dir = metadata.is_dir();
            entries.push(DirEntry {
                name: entry.file_name().to_string_lossy().into_owned(),
                len: if is_dir { 0 } else { metadata.len() },
                is_dir,
            });
        }
        entries.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(entries)
    }

    fn create_dir(&self, dir: &Path) -> io::Result<()> {
        fs::create_dir_all(dir)
    }

    fn sync_files(&self, files: &[Arc<dyn DiskFile>]) -> Result<(), (usize, io::Error)> {
        sync::beside(files)
    }

    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        let handle = File::open(dir)?;
        if !handle.metadata()?.is_dir() {
            return Err(io::Error::new(
                io::ErrorKind::NotADirectory,
                format!("{} is not a directory", dir.display()),
            ));
        }
        sync::all(&handle)
    }

    fn exists(&self, path: &Path) -> io::Result<bool> {
        path.try_exists()
    }

    fn absolute(&self, path: &Path) -> io::Result<PathBuf> {
        std::path::absolute(path)
    }

    fn try_lock(&self, path: &Path, owner: &str) -> io::Result<LockOutcome> {
        lock::try_lock(path, owner)
    }

    fn free_bytes(&self, path: &Path) -> io::Result<Option<u64>> {
        let figures = rustix::fs::statvfs(path)?;
        Ok(Some(figures.f_bavail.saturating_mul(figures.f_frsize)))
    }
}

/// An ordinary file. `end` is where the next append goes; it serialises appends.
#[derive(Debug)]
struct OsFile {
    file: File,
    access: Access,
    end: Mutex<u64>,
}

impl DiskFile for OsFile {
    fn len(&self) -> io::Result<u64> {
        Ok(self.file.metadata()?.len())
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        self.file.read_exact_at(buffer, offset)
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.access.check_writable()?;
        if bytes.is_empty() {
            return Ok(());
        }
        self.file.write_all_at(bytes, offset)?;
        let mut end = self.end.lock();
        *end = (*end).max(offset.saturating_add(bytes.len() as u64));
        Ok(())
    }

    fn append(&self, bytes: &[u8]) -> io::Result<u64> {
        self.access.check_writable()?;
        let mut end = self.end.lock();
        let start = *end;
        // After a failure the end stays, so that a torn piece is not counted as written.
        self.file.write_all_at(bytes, start)?;
        *end = start.saturating_add(bytes.len() as u64);
        Ok(start)
    }

    fn start_writing_back(&self, offset: u64, bytes: u64) {
        start_writing_back(&self.file, offset, bytes);
    }

    fn set_len(&self, bytes: u64) -> io::Result<()> {
        self.access.check_writable()?;
        let mut end = self.end.lock();
        self.file.set_len(bytes)?;
        *end = bytes;
        Ok(())
    }

    fn sync_data(&self) -> io::Result<()> {
        sync::data(&self.file)
    }

    fn sync_all(&self) -> io::Result<()> {
        sync::all(&self.file)
    }

    fn map(&self) -> io::Result<Bytes> {
        if self.len()? == 0 {
            return Ok(Bytes::new());
        }
        // SAFETY: by the contract of `DiskFile::map` the file no longer changes; run files
        // are immutable by the store's design, and the store's lock keeps other writers out.
        let map = unsafe { Mmap::map(&self.file)? };
        Ok(Bytes::from_owner(map))
    }
}

/// Has the system begin to write a part of a file, where it knows how to.
#[cfg(target_os = "linux")]
fn start_writing_back(file: &File, offset: u64, bytes: u64) {
    use std::os::fd::AsRawFd;
    let (Ok(offset), Ok(bytes)) = (i64::try_from(offset), i64::try_from(bytes)) else { return };
    // SAFETY: a call about a descriptor that `file` keeps open; it touches no memory of ours.
    // That it may fail changes nothing: the sync to come does all that is left.
    unsafe {
        libc::sync_file_range(file.as_raw_fd(), offset, bytes, libc::SYNC_FILE_RANGE_WRITE);
    }
}

#[cfg(not(target_os = "linux"))]
fn start_writing_back(_file: &File, _offset: u64, _bytes: u64) {}

/// Fills `bytes` from the operating system's generator.
pub(crate) fn fill_random(bytes: &mut [u8]) {
    const BYTES_A_CALL_MAX: usize = 256;
    for chunk in bytes.chunks_mut(BYTES_A_CALL_MAX) {
        loop {
            // SAFETY: the pointer and the length are those of one live, writable slice.
            let outcome = unsafe { libc::getentropy(chunk.as_mut_ptr().cast(), chunk.len()) };
            if outcome == 0 {
                break;
            }
            let error = io::Error::last_os_error();
            if error.kind() != io::ErrorKind::Interrupted {
                // A store with a guessable or repeated identity would mix up its files.
                eprintln!("timestrata: the operating system gives no random bytes: {error}");
                std::process::abort();
            }
        }
    }
}
