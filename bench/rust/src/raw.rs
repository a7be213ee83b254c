//! The machine without a store: files to hold figures against, and what the process takes of memory, disk and processor.

use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags, fdatasync, open, syncfs};
use rustix::io::{pread, pwrite, read};
use rustix::time::{ClockId, clock_gettime};
use tempfile::TempDir;
use timestrata_io::{Disk, OsDisk};

use crate::Result;

const PAGE_BYTES: usize = 4096;
const PIECE_BYTES: usize = 1 << 20;

/// A directory of the benchmark's own on the disk under test; gone when dropped.
///
/// # Errors
/// Those of the disk.
pub fn scratch(parent: &Path) -> Result<TempDir> {
    OsDisk::new().create_dir(parent)?;
    Ok(tempfile::Builder::new().prefix("bench-").tempdir_in(parent)?)
}

/// Where benchmarks write unless told otherwise: next to the program, because temporary
/// folders are often in memory.
pub(crate) fn default_dir() -> PathBuf {
    let program = std::env::current_exe().ok();
    let folder = program.as_deref().and_then(Path::parent);
    folder.map_or_else(std::env::temp_dir, |folder| folder.join("bench-data"))
}

/// A file whose blocks are all allocated and written, so that writing into it again changes
/// contents only.
#[derive(Debug)]
pub struct Prepared {
    file: OwnedFd,
    bytes: u64,
    next: u64,
}

impl Prepared {
    /// Makes the file.
    ///
    /// # Errors
    /// Those of the disk.
    pub fn create(path: &Path, bytes: u64) -> Result<Self> {
        let file =
            open(path, OFlags::CREATE | OFlags::RDWR | OFlags::TRUNC, Mode::RUSR | Mode::WUSR)?;
        // Page by page: larger pieces leave larger units in the page cache, which later small
        // writes pay for, and the floor is to be the best that the machine can do.
        let zeros = vec![0; PAGE_BYTES];
        let mut at = 0;
        while at < bytes {
            at += pwrite(&file, &zeros, at)? as u64;
        }
        fdatasync(&file)?;
        Ok(Self { file, bytes: at, next: 0 })
    }

    /// Writes after what was written last, and from the start again at the end.
    ///
    /// # Errors
    /// Those of the disk.
    pub fn write(&mut self, bytes: &[u8]) -> Result<()> {
        if self.next + bytes.len() as u64 > self.bytes {
            self.next = 0;
        }
        let mut left = bytes;
        while !left.is_empty() {
            let written = pwrite(&self.file, left, self.next)?;
            self.next += written as u64;
            left = left.get(written..).unwrap_or_default();
        }
        Ok(())
    }

    /// Writes, and makes it survive a power cut: the least that a synced write can be.
    ///
    /// # Errors
    /// Those of the disk.
    pub fn write_synced(&mut self, bytes: &[u8]) -> Result<()> {
        self.write(bytes)?;
        Ok(fdatasync(&self.file)?)
    }
}

/// A prepared file whose writes pass the page cache by and return when they are durable
/// (`O_DIRECT` and `O_DSYNC`).
#[derive(Debug)]
pub struct Direct {
    file: OwnedFd,
    buffer: Vec<u8>,
    pages: u64,
    next: u64,
}

impl Direct {
    /// Makes the file.
    ///
    /// # Errors
    /// Those of the disk, which may not know `O_DIRECT`.
    pub fn create(path: &Path, bytes: u64) -> Result<Self> {
        drop(Prepared::create(path, bytes)?);
        let file = open(path, OFlags::RDWR | OFlags::DIRECT | OFlags::DSYNC, Mode::empty())?;
        let pages = bytes / PAGE_BYTES as u64;
        Ok(Self { file, buffer: vec![7; 2 * PAGE_BYTES], pages, next: 0 })
    }

    /// Overwrites the next page.
    ///
    /// # Errors
    /// Those of the disk.
    pub fn write_page(&mut self) -> Result<()> {
        // The kernel takes only buffers that begin at a page.
        let skip = self.buffer.as_ptr().align_offset(PAGE_BYTES);
        let page = self.buffer.get(skip..skip + PAGE_BYTES).ok_or("no page in the buffer")?;
        let offset = (self.next % self.pages) * PAGE_BYTES as u64;
        self.next += 1;
        match pwrite(&self.file, page, offset)? {
            PAGE_BYTES => Ok(()),
            written => Err(format!("a page of {PAGE_BYTES} bytes, {written} written").into()),
        }
    }
}

/// Writes out what anybody left to be written on the disk of a folder, so that whoever comes next
/// does not wait for it.
///
/// # Errors
/// Those of the disk.
pub fn sync_disk(dir: &Path) -> Result<()> {
    Ok(syncfs(open(dir, OFlags::RDONLY, Mode::empty())?)?)
}

/// Reads files in pieces, in the order of their names, giving each piece to `see`, until
/// `bytes_max` bytes were read; gives how many were.
///
/// # Errors
/// Those of the disk.
pub fn read_folder(dir: &Path, bytes_max: u64, mut see: impl FnMut(&[u8])) -> Result<u64> {
    let mut buffer = vec![0; PIECE_BYTES];
    let mut total = 0;
    for entry in OsDisk::new().list(dir)?.iter().filter(|entry| !entry.is_dir) {
        let file = open(dir.join(&entry.name), OFlags::RDONLY, Mode::empty())?;
        let mut at = 0;
        while total < bytes_max {
            let count = pread(&file, &mut buffer, at)?;
            if count == 0 {
                break;
            }
            see(buffer.get(..count).unwrap_or_default());
            at += count as u64;
            total += count as u64;
        }
    }
    Ok(total)
}

/// Bytes of all files of a folder.
///
/// # Errors
/// Those of the disk.
pub fn folder_bytes(dir: &Path) -> Result<u64> {
    Ok(OsDisk::new().list(dir)?.iter().map(|entry| entry.len).sum())
}

/// Bytes of all files of a folder and of those below it.
///
/// # Errors
/// Those of the disk.
pub fn tree_bytes(dir: &Path) -> Result<u64> {
    let mut total = 0;
    for entry in OsDisk::new().list(dir)? {
        total += if entry.is_dir { tree_bytes(&dir.join(&entry.name))? } else { entry.len };
    }
    Ok(total)
}

/// Memory of this process that no file backs, in bytes (`RssAnon`): what the process costs,
/// mapped runs and log segments left out.
///
/// # Errors
/// Where the system has no `/proc`.
pub fn anonymous_bytes() -> Result<u64> {
    Ok(told_by_kernel("/proc/self/status", "RssAnon:")? * 1024)
}

/// Bytes that this process has had the system write to disks so far: pages count when they are changed,
/// those of mapped files too.
///
/// # Errors
/// Where the system has no `/proc`, or doesn't count them.
pub fn written_bytes() -> Result<u64> {
    told_by_kernel("/proc/self/io", "write_bytes:")
}

/// The number behind a word at the beginning of a line.
fn told_by_kernel(path: &str, word: &str) -> Result<u64> {
    let file = open(path, OFlags::RDONLY, Mode::empty())?;
    let mut text = vec![0; PAGE_BYTES];
    let count = read(&file, &mut text)?;
    text.truncate(count);
    let text = String::from_utf8_lossy(&text);
    let line = text.lines().find_map(|line| line.strip_prefix(word));
    let number = line.and_then(|rest| rest.split_whitespace().next());
    Ok(number.ok_or_else(|| format!("no {word} in {path}"))?.parse()?)
}

/// Processor time that this process has taken so far, in seconds: of all threads, those that have ended too.
pub fn process_seconds() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}
