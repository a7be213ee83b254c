//! What a disk refuses though nothing is broken: more bytes, more open files; and reads that fail.

use std::collections::BTreeSet;
use std::io;

use super::world::World;

/// The system's number for too many open files.
const EMFILE: i32 = 24;

/// What is refused, and what was asked for so far.
#[derive(Debug, Default)]
pub(super) struct Limits {
    /// Bytes that all files may have; `None`: any.
    pub(super) bytes_max: Option<u64>,
    /// Files that may be open; `None`: any.
    pub(super) open_files_max: Option<usize>,
    pub(super) open_files: usize,
    /// Calls that read, so far.
    pub(super) reads: u64,
    /// Those of them that fail, by number.
    pub(super) failing_reads: BTreeSet<u64>,
    /// A place that can't be read any more: file and byte.
    pub(super) bad_place: Option<(u64, u64)>,
}

fn unreadable() -> io::Error {
    io::Error::other("simulated failure of a read")
}

impl World {
    /// Refuses that a file gets so long, if there is no room for that.
    pub(super) fn check_room(&mut self, id: u64, bytes: u64) -> io::Result<()> {
        let Some(bytes_max) = self.limits.bytes_max else { return Ok(()) };
        let grown = bytes.saturating_sub(self.node(id)?.len());
        match grown == 0 || self.used_bytes() + grown <= bytes_max {
            true => Ok(()),
            false => Err(io::Error::new(io::ErrorKind::StorageFull, "simulated full disk")),
        }
    }

    /// Bytes of all files that have a name.
    pub(super) fn used_bytes(&self) -> u64 {
        let state = &self.state;
        state.names.files.values().filter_map(|id| state.nodes.get(id)).map(|node| node.len()).sum()
    }

    /// Counts a call that reads, and fails it if it is due.
    pub(super) fn begin_read(&mut self) -> io::Result<()> {
        let n = self.limits.reads;
        self.limits.reads += 1;
        match self.limits.failing_reads.remove(&n) {
            true => Err(unreadable()),
            false => Ok(()),
        }
    }

    /// As [`World::begin_read`], of some bytes of a file.
    pub(super) fn begin_read_at(&mut self, id: u64, offset: u64, bytes: usize) -> io::Result<()> {
        self.begin_read()?;
        let range = offset..offset.saturating_add(bytes as u64);
        match self.limits.bad_place {
            Some((bad, byte)) if bad == id && range.contains(&byte) => Err(unreadable()),
            _ => Ok(()),
        }
    }

    /// Refuses that one more file is open, if that is one too many.
    pub(super) fn check_open_files(&self) -> io::Result<()> {
        match self.limits.open_files_max.is_some_and(|most| self.limits.open_files >= most) {
            true => Err(io::Error::from_raw_os_error(EMFILE)),
            false => Ok(()),
        }
    }
}
