//! Space held back, so that a full disk can be emptied.
//!
//! Owns the file `RESERVE`: it holds nothing, and takes the blocks that opening the store, closing it,
//! and the edits of the manifest that let files go need where there are none left. It is removed when
//! that is so, and made again when there is room. Without it a full disk could not be helped from
//! within: to drop a stream takes a few bytes first.
//!
//! Also says how much room there must be for what can wait: files made ahead, compaction.

use std::path::{Path, PathBuf};

use timestrata_io::Io;
use timestrata_io::sync::Mutex;

use crate::directory::RESERVE_NAME;
use crate::{ErrorKind, Result, Settings};

/// Enough for the manifest anew, and for a segment of the log as short as they get.
const RESERVE_BYTES: u64 = 2 << 20;
/// Where the segments are so short that this is more than so many of them, less is held.
const SEGMENTS: u64 = 4;
/// Free space below so many reserves is for those who can't wait.
const LOW_PARTS: u64 = 8;
/// The reserve itself is taken as soon as so many would fit.
const RESTORE_PARTS: u64 = 3;
/// A segment takes this part of the free space at most, unless it is as short as it may be.
const SEGMENT_PARTS: u64 = 8;
/// The log takes this part of the free space at most, unless that is less than two segments.
const LOG_PARTS: u64 = 4;
/// On a small disk segments get no shorter than this.
const SEGMENT_BYTES_MIN: u64 = 256 << 10;

/// The file, and whether it is there.
#[derive(Debug)]
pub(crate) struct Reserve {
    io: Io,
    path: PathBuf,
    bytes: u64,
    is_held: Mutex<bool>,
}

impl Reserve {
    /// Of the store in `dir`. Nothing is made yet.
    pub(crate) fn new(io: &Io, dir: &Path, settings: &Settings) -> Self {
        let path = dir.join(RESERVE_NAME);
        let is_held = Mutex::new(io.disk.exists(&path).unwrap_or(false));
        let bytes = RESERVE_BYTES.min(settings.wal_segment_bytes.saturating_mul(SEGMENTS));
        Self { io: io.clone(), path, bytes, is_held }
    }

    /// Bytes that may still be written, if the disk has an end.
    fn free_bytes(&self) -> Option<u64> {
        let dir = self.path.parent()?;
        self.io.disk.free_bytes(dir).ok().flatten()
    }

    /// Whether `bytes` can be written for work that can wait, so that there is room left for work that
    /// can't.
    pub(crate) fn leaves_room_for(&self, bytes: u64) -> bool {
        let needed = bytes.saturating_add(self.bytes.saturating_mul(LOW_PARTS));
        self.free_bytes().is_none_or(|free| free >= needed)
    }

    /// Takes the space again, if it was given back and there is room.
    pub(crate) fn restore(&self) {
        let mut is_held = self.is_held.lock();
        if *is_held {
            return;
        }
        // Where the disk has no end there is nothing to hold back.
        let enough = self.bytes.saturating_mul(RESTORE_PARTS);
        if self.free_bytes().is_none_or(|free| free < enough) {
            return;
        }
        *is_held = self.io.disk.open_log_at_once(&self.path, self.bytes).is_ok();
    }

    /// Gives the space back to the disk; false if there was none.
    pub(crate) fn release(&self) -> bool {
        let mut is_held = self.is_held.lock();
        std::mem::take(&mut *is_held) && self.io.disk.remove(&self.path).is_ok()
    }

    /// Does what must not fail for want of space: if the disk is full, once more with the reserve.
    pub(crate) fn with_room<T>(&self, mut attempt: impl FnMut() -> Result<T>) -> Result<T> {
        match attempt() {
            Err(error) if error.kind() == ErrorKind::NoSpace && self.release() => attempt(),
            outcome => outcome,
        }
    }
}

/// The settings for a disk with so much free space: a log that would fill it is kept shorter.
pub(crate) fn fit(mut settings: Settings, free_bytes: u64) -> Settings {
    let segment_bytes = (free_bytes / SEGMENT_PARTS).max(SEGMENT_BYTES_MIN);
    if segment_bytes < settings.wal_segment_bytes {
        settings.wal_segment_bytes = segment_bytes / SEGMENT_BYTES_MIN * SEGMENT_BYTES_MIN;
    }
    let log_bytes = (free_bytes / LOG_PARTS).max(2 * settings.wal_segment_bytes);
    settings.wal_bytes_max = settings.wal_bytes_max.min(log_bytes);
    settings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn on_a_small_disk_the_log_is_kept_short_and_elsewhere_as_it_is_set() {
        let settings = Settings::default();
        let large = fit(settings.clone(), 8 << 30);
        assert_eq!(large, settings);
        let small = fit(settings.clone(), 48 << 20);
        assert_eq!((small.wal_segment_bytes, small.wal_bytes_max), (6 << 20, 12 << 20));
        let full = fit(settings, 0);
        assert_eq!((full.wal_segment_bytes, full.wal_bytes_max), (256 << 10, 512 << 10));
        assert!(full.validate().is_ok());
        let short =
            Settings { wal_segment_bytes: 4096, wal_bytes_max: 8192, ..Settings::default() };
        assert_eq!(fit(short.clone(), 0), short);
    }
}
