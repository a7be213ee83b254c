//! Advisory locks by `flock`: kept by open files, gone with the process that held them.
//!
//! Two are taken: one on the directory itself, which nobody can remove from under an open file, and
//! one on the lock file in it, which is all that builds of version 0.1 look at. Whether both paths
//! still lead to what is locked can be asked at any time.

use std::fs::{File, Metadata, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use crate::{LockGuard, LockOutcome};

const OWNER_BYTES_MAX: usize = 4096;
/// Times a lock file that somebody removes while it is being locked is made anew.
const TRIES: usize = 16;

/// What one attempt at an `flock` came to.
enum Attempt {
    Taken,
    Held,
    /// This file system knows no such lock on this kind of file: network file systems lock files
    /// that are open for writing only, which directories never are.
    Unknown,
}

/// Tries to take the lock and, having it, writes `owner` into its file.
pub(super) fn try_lock(path: &Path, owner: &str) -> io::Result<LockOutcome> {
    // A program may change its working directory; what is locked stays where it is.
    let path = std::path::absolute(path)?;
    let dir_path = path.parent().map_or_else(|| PathBuf::from("/"), Path::to_path_buf);
    let dir = File::open(&dir_path)?;
    let dir_locked = match attempt(&dir)? {
        Attempt::Taken => true,
        Attempt::Held => return Ok(LockOutcome::Held(owner_of(&path))),
        Attempt::Unknown => false,
    };
    let dir_place = FileIdentity::of(&dir.metadata()?);
    let dir = LockedFile { file: dir, locked: dir_locked };
    for _ in 0..TRIES {
        let file = open_lock_file(&path)?;
        match attempt(&file)? {
            Attempt::Taken => {}
            Attempt::Held => return Ok(LockOutcome::Held(read_owner(&file))),
            Attempt::Unknown => return Err(io::ErrorKind::Unsupported.into()),
        }
        let file = LockedFile { file, locked: true };
        let place = FileIdentity::of(&file.file.metadata()?);
        // Removed between opening and locking: what is locked is no longer what others open.
        if FileIdentity::at(&path)? != Some(place) {
            continue;
        }
        file.file.set_len(0)?;
        file.file.write_all_at(owner.as_bytes(), 0)?;
        let guard = Flock { path, place, dir_path, dir_place, _file: file, _dir: dir };
        return Ok(LockOutcome::Acquired(Box::new(guard)));
    }
    Err(io::Error::other("somebody keeps removing the lock file"))
}

/// Opens the lock file, or makes it. What else may have its name is left alone.
fn open_lock_file(path: &Path) -> io::Result<File> {
    let no_follow = libc::O_NOFOLLOW | libc::O_NONBLOCK;
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false).custom_flags(no_follow);
    let file = options.open(path).map_err(|error| match error.raw_os_error() {
        Some(libc::ELOOP) => foreign("a symbolic link, which is not followed"),
        _ => error,
    })?;
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Err(foreign("not an ordinary file"));
    }
    // The owner is written into it: not into a file that somebody knows by another name.
    if metadata.nlink() > 1 {
        return Err(foreign("a file that has another name too"));
    }
    Ok(file)
}

fn foreign(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, format!("the lock file is {what}"))
}

fn attempt(file: &File) -> io::Result<Attempt> {
    loop {
        match flock(file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => return Ok(Attempt::Taken),
            Err(Errno::INTR) => {}
            Err(Errno::WOULDBLOCK) => return Ok(Attempt::Held),
            Err(Errno::BADF | Errno::INVAL | Errno::NOTSUP | Errno::NOSYS | Errno::NOLCK) => {
                return Ok(Attempt::Unknown);
            }
            Err(error) => return Err(error.into()),
        }
    }
}

/// What the holder of the directory left in the lock file; empty if it can't be read.
fn owner_of(path: &Path) -> String {
    let mut options = OpenOptions::new();
    options.read(true).custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK);
    options.open(path).map(|file| read_owner(&file)).unwrap_or_default()
}

/// What the holder left; empty if it can't be read (the lock still counts).
fn read_owner(file: &File) -> String {
    let mut text = vec![0; OWNER_BYTES_MAX];
    let length = file.read_at(&mut text, 0).unwrap_or(0);
    text.truncate(length);
    String::from_utf8_lossy(&text).into_owned()
}

/// Which file a name leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct FileIdentity {
    device: u64,
    inode: u64,
}

impl FileIdentity {
    fn of(metadata: &Metadata) -> Self {
        Self { device: metadata.dev(), inode: metadata.ino() }
    }

    /// `None` where nothing has the name.
    fn at(path: &Path) -> io::Result<Option<Self>> {
        Self::found(std::fs::symlink_metadata(path))
    }

    fn found(metadata: io::Result<Metadata>) -> io::Result<Option<Self>> {
        match metadata {
            Ok(metadata) => Ok(Some(Self::of(&metadata))),
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
                ) =>
            {
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }
}

/// An open file that may be locked.
#[derive(Debug)]
struct LockedFile {
    file: File,
    locked: bool,
}

impl Drop for LockedFile {
    fn drop(&mut self) {
        if self.locked {
            // Closing alone would leave the lock with a forked child that inherited the file.
            let _ = flock(&self.file, FlockOperation::Unlock);
        }
    }
}

#[derive(Debug)]
struct Flock {
    path: PathBuf,
    place: FileIdentity,
    dir_path: PathBuf,
    dir_place: FileIdentity,
    // Let go of in this order: who finds the directory free finds the file free too.
    _file: LockedFile,
    _dir: LockedFile,
}

impl LockGuard for Flock {
    fn still_held(&self) -> io::Result<bool> {
        // The directory may be named by a link, which was followed then too.
        let dir = FileIdentity::found(std::fs::metadata(&self.dir_path))?;
        Ok(dir == Some(self.dir_place) && FileIdentity::at(&self.path)? == Some(self.place))
    }
}
