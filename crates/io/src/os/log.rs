//! Log files: allocated, zeroed and mapped, so that a write is a memory copy.
//!
//! Invariant: the file is exactly as long as its map for as long as the map lives, so no
//! access to the map can lie behind the end of the file.

use std::fs::{File, OpenOptions};
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use memmap2::MmapRaw;

use super::sync;
use crate::parts::{Access, failure, fixed_length};
use crate::{DiskFile, LOG_CALL_BYTES_MIN};

/// A page a write: longer ones leave large folios in the page cache, and a store through the
/// map then dirties, and a sync writes, the whole folio (measured on ext4: 282 us and 1 MiB a
/// sync after writes of 1 MiB, 51 us and 4 KiB after writes of 4 KiB).
const ZEROS_BYTES: usize = 4 << 10;

/// How many bytes of a file whose blocks are reserved only are written at once as a sync gets there.
/// A sync that is the first to write a block changes metadata, and took half as long again (p99 330 us,
/// against 215 us); so one in hundreds takes longer by all of them.
const AHEAD_BYTES: u64 = 256 << 10;

/// Whether the blocks of a new file are written before it is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Blocks {
    Written,
    Reserved,
}

#[derive(Debug)]
pub(super) struct LogFile {
    file: File,
    map: Arc<MmapRaw>,
    /// Where blocks begin that are reserved only; of a file all of whose blocks were written, its end.
    reserved_from: AtomicU64,
}

impl LogFile {
    /// Opens the log file at `path`, or makes it, `bytes` long.
    pub(super) fn open(path: &Path, bytes: u64, blocks: Blocks) -> io::Result<Self> {
        if bytes == 0 {
            let what = "a log file must have a length";
            return Err(failure(io::ErrorKind::InvalidInput, path, what));
        }
        let mut options = OpenOptions::new();
        options.read(true).write(true);
        let mut reserved_from = bytes;
        let file = match options.open(path) {
            Ok(file) => {
                let found = file.metadata()?.len();
                if found != bytes {
                    let what = format!("expected a log file of {bytes} bytes, found {found} bytes");
                    return Err(failure(io::ErrorKind::InvalidData, path, &what));
                }
                file
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let file = options.create_new(true).open(path)?;
                match take_blocks(&file, bytes, blocks) {
                    Ok(Blocks::Written) => {}
                    Ok(Blocks::Reserved) => reserved_from = 0,
                    Err(error) => {
                        // A piece of a log file would only be in the way of the next try.
                        let _ = std::fs::remove_file(path);
                        return Err(error);
                    }
                }
                file
            }
            Err(error) => return Err(error),
        };
        let map = MmapRaw::map_raw(&file)?;
        if map.len() as u64 != bytes {
            let what = "its length changed while it was opened";
            return Err(failure(io::ErrorKind::InvalidData, path, what));
        }
        Ok(Self { file, map: Arc::new(map), reserved_from: AtomicU64::new(reserved_from) })
    }

    /// Writes the next reserved blocks, if a write up to `end` has come to them. A log is written from
    /// front to back, so nothing is there yet.
    fn write_blocks_from(&self, end: u64) -> io::Result<()> {
        if end <= self.reserved_from.load(Ordering::Relaxed) {
            return Ok(());
        }
        let from = end.next_multiple_of(ZEROS_BYTES as u64);
        let to = from.saturating_add(AHEAD_BYTES).min(self.map.len() as u64);
        write_zeros(&self.file, from..to)?;
        self.reserved_from.store(to, Ordering::Relaxed);
        Ok(())
    }

    /// What was written through the map is the file's: on Linux at once.
    #[cfg(target_os = "linux")]
    fn hand_over(&self) -> io::Result<()> {
        Ok(())
    }

    /// Elsewhere a sync of the file need not reach what was written through a map of it.
    #[cfg(not(target_os = "linux"))]
    fn hand_over(&self) -> io::Result<()> {
        self.map.flush()
    }

    /// Where `bytes` begin in the map, if all of them lie in it.
    fn checked_start(&self, offset: u64, bytes: &[u8]) -> io::Result<usize> {
        Access::Log.check_write(offset, bytes.len(), self.map.len() as u64)?;
        // Not above the map's length, so it fits.
        Ok(usize::try_from(offset).unwrap_or(usize::MAX))
    }
}

/// Gives the file its length and its blocks; whether these were written.
fn take_blocks(file: &File, bytes: u64, blocks: Blocks) -> io::Result<Blocks> {
    // Finds out about a full disk early and keeps the blocks together.
    let reserved = reserve(file, bytes)?;
    if reserved && blocks == Blocks::Reserved {
        file.set_len(bytes)?;
        return Ok(Blocks::Reserved);
    }
    fill_with_zeros(file, bytes)?;
    Ok(Blocks::Written)
}

/// Reserves the blocks; false where the file system can't, and takes them as they are written.
#[cfg(target_os = "linux")]
fn reserve(file: &File, bytes: u64) -> io::Result<bool> {
    use rustix::fs::{FallocateFlags, fallocate};
    use rustix::io::Errno;
    match fallocate(file, FallocateFlags::KEEP_SIZE, 0, bytes) {
        Ok(()) => Ok(true),
        Err(Errno::OPNOTSUPP | Errno::NOSYS | Errno::INTR) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

#[cfg(not(target_os = "linux"))]
fn reserve(_file: &File, _bytes: u64) -> io::Result<bool> {
    Ok(false)
}

/// Writes every block, durably. Reserving alone would leave extents that are marked
/// unwritten, and the first write to each would change metadata.
fn fill_with_zeros(file: &File, bytes: u64) -> io::Result<()> {
    write_zeros(file, 0..bytes)?;
    file.set_len(bytes)?;
    sync::all(file)
}

fn write_zeros(file: &File, range: Range<u64>) -> io::Result<()> {
    let zeros = [0; ZEROS_BYTES];
    let mut written = range.start;
    while written < range.end {
        let piece = (range.end - written).min(ZEROS_BYTES as u64);
        file.write_all_at(&zeros[..piece as usize], written)?;
        written += piece;
    }
    Ok(())
}

impl DiskFile for LogFile {
    fn len(&self) -> io::Result<u64> {
        Ok(self.map.len() as u64)
    }

    /// Reads through the file, which shows what was written to the map, because a sector
    /// that can't be read is then an error and not a signal that ends the process.
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        self.file.read_exact_at(buffer, offset)
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let start = self.checked_start(offset, bytes)?;
        if bytes.len() >= LOG_CALL_BYTES_MIN {
            return self.file.write_all_at(bytes, offset);
        }
        // SAFETY: `start + bytes.len()` is within the map, which lives as long as `self` and
        // whose file keeps its length. No reference into the map is formed here, writers keep
        // to disjoint ranges, and `bytes` is not part of the map: by the contract of
        // `DiskFile::map`, a slice of it is only held once the file no longer changes.
        unsafe {
            let target = self.map.as_mut_ptr().add(start);
            std::ptr::copy_nonoverlapping(bytes.as_ptr(), target, bytes.len());
        }
        Ok(())
    }

    fn write_at_to_sync(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.checked_start(offset, bytes)?;
        self.file.write_all_at(bytes, offset)?;
        self.write_blocks_from(offset + bytes.len() as u64)
    }

    #[cfg(target_os = "linux")]
    fn expect_writes(&self) {
        // Kernels before 5.14 refuse, and the pages come as they are touched.
        let _ = self.map.advise(memmap2::Advice::PopulateWrite);
    }

    fn start_writing_back(&self, offset: u64, bytes: u64) {
        super::start_writing_back(&self.file, offset, bytes);
    }

    fn append(&self, _bytes: &[u8]) -> io::Result<u64> {
        Err(fixed_length("appended to"))
    }

    fn set_len(&self, _bytes: u64) -> io::Result<()> {
        Err(fixed_length("cut or extended"))
    }

    fn sync_data(&self) -> io::Result<()> {
        self.hand_over()?;
        sync::data(&self.file)
    }

    fn sync_all(&self) -> io::Result<()> {
        self.hand_over()?;
        sync::all(&self.file)
    }

    fn map(&self) -> io::Result<Bytes> {
        Ok(Bytes::from_owner(MapOwner(Arc::clone(&self.map))))
    }
}

struct MapOwner(Arc<MmapRaw>);

impl AsRef<[u8]> for MapOwner {
    fn as_ref(&self) -> &[u8] {
        // SAFETY: the map is readable, `len` bytes long and kept alive by the `Arc`; by the
        // contract of `DiskFile::map` nobody writes to the file while the slice is used.
        unsafe { std::slice::from_raw_parts(self.0.as_ptr(), self.0.len()) }
    }
}
