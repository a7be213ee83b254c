//! Every touch of disk, clock and randomness goes through the traits in this
//! crate, so that a store can run on the real machine, in memory, or on a
//! simulated disk that crashes where a test tells it to.
//!
//! No other crate of the workspace may name `std::fs`, `std::time` clocks or a
//! source of randomness; a lint enforces it. What the process holds of the heap without need is
//! given back here too.

mod clock;
mod heap;
pub mod locks;
mod memory;
mod os;
#[doc(hidden)]
pub mod parts;
mod random;
pub mod sync;

use std::fmt::Debug;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub use bytes::Bytes;
pub use clock::{Clock, ManualClock, OsClock};
pub use heap::{Arena, ArenaBytes, give_back_memory};
pub use memory::MemoryDisk;
pub use os::OsDisk;
pub use random::{OsRng, Rng, SeededRng};

/// From this length on a write to a log file of the real disk is a system call, and no store through
/// its map: to touch so many pages for the first time costs more than the kernel's copy (a page fault
/// each, 0.5 to 1 us).
pub const LOG_CALL_BYTES_MIN: usize = 32 << 10;

/// How [`Disk::open`] opens a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OpenMode {
    /// The file must exist; writes fail.
    Read,
    /// The file must exist; reads and writes.
    ReadWrite,
    /// The file must not exist; reads and writes. The new directory entry is
    /// durable only after [`Disk::sync_dir`].
    CreateNew,
    /// As [`OpenMode::CreateNew`], for what nobody but its owner may read.
    CreatePrivate,
}

impl OpenMode {
    /// Whether the file must not exist.
    #[must_use]
    pub fn creates(self) -> bool {
        matches!(self, Self::CreateNew | Self::CreatePrivate)
    }
}

/// One entry of [`Disk::list`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DirEntry {
    /// File name without its directory. Names that are not UTF-8 are given lossily.
    pub name: String,
    /// Length in bytes; 0 for directories.
    pub len: u64,
    /// Whether the entry is a directory.
    pub is_dir: bool,
}

/// What [`Disk::try_lock`] found.
#[derive(Debug)]
pub enum LockOutcome {
    /// The lock is ours until the guard is dropped.
    Acquired(Box<dyn LockGuard>),
    /// Somebody holds it: the text they left in the file (a process id), if readable.
    Held(String),
}

/// Keeps an advisory lock; dropping it releases the lock.
pub trait LockGuard: Send + Sync + Debug {
    /// Whether the names that were locked still lead to what is locked: false once somebody has
    /// removed or replaced the lock's file or its directory, and so could let another holder in.
    fn still_held(&self) -> io::Result<bool>;
}

/// A file system as the store needs it.
///
/// Nothing is durable by itself: file contents need [`DiskFile::sync_data`] or
/// [`DiskFile::sync_all`], and names (create, rename, remove) need
/// [`Disk::sync_dir`] of the directory that holds them.
pub trait Disk: Send + Sync + Debug + 'static {
    /// Opens a file. Errors are those of the operating system
    /// (`NotFound`, `AlreadyExists`, `PermissionDenied`, `StorageFull`, ...).
    fn open(&self, path: &Path, mode: OpenMode) -> io::Result<Arc<dyn DiskFile>>;

    /// Opens, or creates, a log file that is exactly `bytes` long, with every block
    /// allocated and written, so that a later [`DiskFile::write_at`] inside it changes no
    /// file metadata and can't run out of space. On the real disk such a file is mapped:
    /// `write_at` is a memory copy into the page cache, which survives the process being
    /// killed. A new file is zero-filled; an existing one of the right length keeps its bytes.
    fn open_log(&self, path: &Path, bytes: u64) -> io::Result<Arc<dyn DiskFile>>;

    /// As [`Disk::open_log`], for a caller who can't wait: the blocks of a new file need only
    /// be reserved, not written. It is made sooner, and what is first written to it costs
    /// more to sync. It has to be written from front to back: with what
    /// [`DiskFile::write_at_to_sync`] writes, some blocks behind it may be filled with zeros.
    fn open_log_at_once(&self, path: &Path, bytes: u64) -> io::Result<Arc<dyn DiskFile>> {
        self.open_log(path, bytes)
    }

    /// Renames a file over whatever has the new name.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;
    /// Has two files change their names, at once: nobody finds either name without a file.
    ///
    /// # Errors
    /// `Unsupported` where the disk has no such thing.
    fn exchange(&self, _one: &Path, _other: &Path) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }
    /// Removes a file.
    fn remove(&self, path: &Path) -> io::Result<()>;
    /// Lists a directory, sorted by name.
    fn list(&self, dir: &Path) -> io::Result<Vec<DirEntry>>;
    /// Lists a directory that may not be there: then as one without entries.
    fn list_if_there(&self, dir: &Path) -> io::Result<Vec<DirEntry>> {
        match self.list(dir) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
            listed => listed,
        }
    }
    /// Creates a directory and the missing ones above it. Fine if it exists.
    fn create_dir(&self, dir: &Path) -> io::Result<()>;
    /// [`DiskFile::sync_all`] of several files, in any order; at an error, its place and the error:
    /// then nobody knows which of the others are durable. What a disk can do beside each other it does.
    fn sync_files(&self, files: &[Arc<dyn DiskFile>]) -> Result<(), (usize, io::Error)> {
        let mut files = files.iter().enumerate();
        files.try_for_each(|(place, file)| file.sync_all().map_err(|error| (place, error)))
    }
    /// Makes the names in a directory durable.
    fn sync_dir(&self, dir: &Path) -> io::Result<()>;
    /// Whether something has this name.
    fn exists(&self, path: &Path) -> io::Result<bool>;
    /// The same path for as long as the process lives, whatever directory it goes to.
    fn absolute(&self, path: &Path) -> io::Result<PathBuf> {
        Ok(path.to_owned())
    }
    /// Takes an exclusive advisory lock on a file, which is created if missing, and on the
    /// directory that it is in, where that can be locked; leaves `owner` in the file for others
    /// to read. Never blocks. Held also against other holders in the same process. A symbolic
    /// link, and a file that has another name too, are refused and left as they are.
    fn try_lock(&self, path: &Path, owner: &str) -> io::Result<LockOutcome>;
    /// Bytes that may still be written to the file system that holds `path`, if known.
    fn free_bytes(&self, path: &Path) -> io::Result<Option<u64>>;
}

/// An open file. Positions are byte offsets from the start; all methods may be called
/// from several threads.
pub trait DiskFile: Send + Sync + Debug {
    /// Length in bytes now.
    fn len(&self) -> io::Result<u64>;
    /// Whether the file holds no byte.
    fn is_empty(&self) -> io::Result<bool> {
        Ok(self.len()? == 0)
    }
    /// Fills `buffer` from `offset`; `UnexpectedEof` if the file ends before.
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()>;
    /// Writes all of `bytes` at `offset`, growing the file if needed (a log file from
    /// [`Disk::open_log`] doesn't grow: writing past its end is `InvalidInput`).
    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()>;
    /// As [`DiskFile::write_at`], for bytes that the caller will sync at once. On the real disk a
    /// log file is written here by a system call: to sync a page that was written through its
    /// map costs several times as much (measured on ext4: 415 us against 58 us).
    fn write_at_to_sync(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.write_at(offset, bytes)
    }
    /// Says that the whole of a log file is about to be written by [`DiskFile::write_at`] in pieces
    /// shorter than [`LOG_CALL_BYTES_MIN`], so that its map can be made ready for that ahead of time.
    /// A hint: where it can't be followed, nothing happens.
    fn expect_writes(&self) {}
    /// Asks for bytes that were written to be on their way to the disk while the caller goes
    /// on, so that the sync to come finds less to do. A hint that makes nothing durable and
    /// hides no failure from that sync.
    fn start_writing_back(&self, _offset: u64, _bytes: u64) {}
    /// Writes all of `bytes` at the current end and gives the offset where they begin.
    /// One writer at a time.
    fn append(&self, bytes: &[u8]) -> io::Result<u64>;
    /// Cuts or zero-extends the file.
    fn set_len(&self, bytes: u64) -> io::Result<()>;
    /// Makes the contents durable (and the length, where it changed).
    fn sync_data(&self) -> io::Result<()>;
    /// Makes contents and all metadata durable.
    fn sync_all(&self) -> io::Result<()>;
    /// The whole file as it is now, as shared memory. Only for files that no longer
    /// change: on the real disk it is a memory map.
    fn map(&self) -> io::Result<Bytes>;
}

/// The three things a store takes from its surroundings.
///
/// ```
/// # use timestrata_io::Io;
/// let io = Io::memory();
/// assert!(!io.disk.exists(std::path::Path::new("store"))?);
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Io {
    /// Where files live.
    pub disk: Arc<dyn Disk>,
    /// Wall and monotonic time.
    pub clock: Arc<dyn Clock>,
    /// Randomness for identities, never for decisions.
    pub rng: Arc<dyn Rng>,
}

impl Io {
    /// The real machine.
    pub fn os() -> Self {
        Self {
            disk: Arc::new(OsDisk::new()),
            clock: Arc::new(OsClock::new()),
            rng: Arc::new(OsRng::new()),
        }
    }

    /// Files in memory; real clock and randomness.
    pub fn memory() -> Self {
        Self { disk: Arc::new(MemoryDisk::new()), ..Self::os() }
    }
}
