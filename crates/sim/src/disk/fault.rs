//! What can be made to go wrong: faults that are reported, and lies that are not.

use std::io;
use std::path::Path;

/// A reported fault of one operation ([`super::SimDisk::fail_at`]).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Fault {
    /// The operation has no effect and gives an I/O error.
    Io,
    /// The operation has no effect and gives `StorageFull`.
    NoSpace,
    /// Half of a write is done, then `StorageFull`; as [`Fault::NoSpace`] for all else.
    ShortWrite,
    /// The sync of a file gives an I/O error, and what was not synced is marked clean, as
    /// Linux does: still seen by readers, but no later sync will write it. As
    /// [`Fault::Io`] for all else.
    SyncLosesPages,
}

impl Fault {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Io, Self::NoSpace, Self::ShortWrite, Self::SyncLosesPages];

    pub(super) fn error(self) -> io::Error {
        match self {
            Self::Io | Self::SyncLosesPages => io::Error::other("simulated I/O error"),
            Self::NoSpace | Self::ShortWrite => {
                io::Error::new(io::ErrorKind::StorageFull, "simulated full disk")
            }
        }
    }
}

/// Which calls of a kind, counted from 0 since the disk was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Which {
    /// Every one.
    All,
    /// Just this one.
    Nth(u64),
}

impl Which {
    pub(super) fn holds(self, n: u64) -> bool {
        match self {
            Self::All => true,
            Self::Nth(nth) => nth == n,
        }
    }
}

/// A fault that the disk keeps to itself: planted, to see that the runner notices.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Lie {
    /// Syncs of files say that they were done, and do nothing.
    DropFileSync(Which),
    /// Syncs of directories say that they were done, and do nothing.
    DropDirSync(Which),
    /// After a crash, files whose path contains this text are as they were before their
    /// last sync.
    Stale(String),
    /// After a crash, the second half of the last synced write to files whose path contains
    /// this text is zero.
    Tear(String),
}

/// Whether a lie that speaks of files by a part of their path means this one.
pub(super) fn means(text: &str, path: &Path) -> bool {
    path.to_string_lossy().contains(text)
}
