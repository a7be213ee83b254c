//! Advisory locks by `flock`: kept by an open file, gone with the process that held them.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use crate::{LockGuard, LockOutcome};

const OWNER_BYTES_MAX: usize = 4096;

/// Tries to take the lock and, having it, writes `owner` into its file.
pub(super) fn try_lock(path: &Path, owner: &str) -> io::Result<LockOutcome> {
    let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)?;
    loop {
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => break,
            Err(Errno::INTR) => {}
            Err(Errno::WOULDBLOCK) => return Ok(LockOutcome::Held(read_owner(&file))),
            Err(error) => return Err(error.into()),
        }
    }
    let guard = Flock { file };
    guard.file.set_len(0)?;
    guard.file.write_all_at(owner.as_bytes(), 0)?;
    Ok(LockOutcome::Acquired(Box::new(guard)))
}

/// What the holder left; empty if it can't be read (the lock still counts).
fn read_owner(file: &File) -> String {
    let mut text = vec![0; OWNER_BYTES_MAX];
    let length = file.read_at(&mut text, 0).unwrap_or(0);
    text.truncate(length);
    String::from_utf8_lossy(&text).into_owned()
}

#[derive(Debug)]
struct Flock {
    file: File,
}

impl LockGuard for Flock {}

impl Drop for Flock {
    fn drop(&mut self) {
        // Closing alone would leave the lock with a forked child that inherited the file.
        let _ = flock(&self.file, FlockOperation::Unlock);
    }
}
