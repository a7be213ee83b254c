//! Files for the segments to come: made ahead, or used again.
//!
//! To make a file is slow: its blocks are written and synced, so that a commit's sync is
//! cheap. A thread of its own does that ahead of time. A writer that outruns it takes a file
//! whose blocks are reserved only, which costs its syncs more and the writer no wait.
//!
//! A file gets a segment's name only once the segment's header in it is durable, so a named
//! segment without a whole header is damage and never a crash's doing. Only files that no
//! reader has mapped are used again: those this process wrote, and those nobody needed any
//! more when the log was opened.
//!
//! None of these files is a part of the log before it has a segment's name, so one that can't be made,
//! written or synced is thrown away, and another is made when it is needed again.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use timestrata_format::wal::{END_MARK_BYTES, SEGMENT_HEADER_BYTES, SegmentHeader};
use timestrata_format::{StoreId, WalId};
use timestrata_io::sync::Mutex;
use timestrata_io::{DiskFile, Io};

use super::segment::{FileName, Segment, segment_path, spare_path};
use crate::error::NotDurable;
use crate::{Error, Result};

/// Files that may wait: a flush lets go of as many at once, and the next memtable's log needs
/// them again.
const SPARES_MAX: usize = 8;

/// A segment that was full of stores sooner than this is followed by others like it: worth getting
/// every page of the next one ready, all of which a sync then writes. (For commits that are synced,
/// and so written past the map, that sync is a stall: 16 MiB took 70 ms.)
const HURRY: Duration = Duration::from_secs(1);

/// What becomes of segments below the floor when a log is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OldSegments {
    /// Their files are used again, but for those from a segment on, which are a part of the store's history.
    ReuseBelow(WalId),
    /// They stay, as the last trace of what a damaged run held.
    Keep,
}

impl OldSegments {
    fn gives(self, id: WalId) -> bool {
        matches!(self, Self::ReuseBelow(past) if id < past)
    }

    /// The first one that is kept for the history and is to be let go of later.
    pub(super) fn past(self) -> Option<WalId> {
        match self {
            Self::ReuseBelow(past) => Some(past),
            Self::Keep => None,
        }
    }
}

/// The files that wait.
#[derive(Debug)]
pub(super) struct Spares {
    pub(super) io: Io,
    pub(super) dir: PathBuf,
    pub(super) store_id: StoreId,
    segment_bytes: u64,
    state: Mutex<SpareFiles>,
}

#[derive(Debug)]
struct SpareFiles {
    /// The next segment, ready to be written to.
    prepared: Option<Segment>,
    /// The segment to make next. It is counted here, under this lock, so that no id is made
    /// twice by two who need the next one.
    next: WalId,
    /// Files of the right length with a spare's name.
    idle: Vec<PathBuf>,
    /// The name of the next file that is made ahead. Counts down, so that it meets none of a
    /// segment that was let go.
    next_made: WalId,
    /// When a segment was taken last, by the monotonic clock.
    taken_ns: u64,
    /// The segment before was soon full, and of stores.
    hurry: bool,
}

impl Spares {
    /// For a log whose next segment is `next`. Takes over what an earlier process left in the
    /// directory: files with a spare's name, and segments below `floor`. Keeps what fits and
    /// removes the rest.
    pub(super) fn open(
        io: &Io,
        dir: &Path,
        store_id: StoreId,
        segment_bytes: u64,
        floor: WalId,
        next: WalId,
        old: OldSegments,
    ) -> Result<Self> {
        let spares = Self {
            io: io.clone(),
            dir: dir.to_path_buf(),
            store_id,
            segment_bytes,
            state: Mutex::new(SpareFiles {
                prepared: None,
                next,
                idle: Vec::new(),
                next_made: WalId(u64::MAX),
                taken_ns: io.clock.monotonic_ns(),
                hurry: false,
            }),
        };
        let entries = io.disk.list(dir).map_err(|source| Error::io("list the log", dir, source))?;
        for entry in entries.iter().filter(|entry| !entry.is_dir) {
            let path = dir.join(&entry.name);
            let fits = entry.len == segment_bytes;
            match FileName::parse(&entry.name) {
                Some(FileName::Spare(id)) if fits && spares.has_room() => {
                    let mut state = spares.state.lock();
                    state.idle.push(path);
                    if id > state.next {
                        state.next_made = state.next_made.min(WalId(id.0 - 1));
                    }
                }
                Some(FileName::Spare(_)) => spares.discard(&path),
                Some(FileName::Segment(id)) if id < floor && old.gives(id) => {
                    spares.retire(id, fits);
                }
                Some(FileName::Segment(_)) | None => {}
            }
        }
        Ok(spares)
    }

    fn has_room(&self) -> bool {
        self.state.lock().idle.len() < SPARES_MAX
    }

    /// Removes a file that the log doesn't need, if that is possible: whoever opens the log next
    /// finds it otherwise.
    fn discard(&self, path: &Path) {
        let _ = self.io.disk.remove(path);
    }

    /// Takes a segment out of the log; its file becomes a spare if it may and there is room. If it
    /// can't be renamed, whoever opens the log next sees to it: it is below the floor. The disk is
    /// called without the lock, for which a commit that needs a segment waits.
    pub(super) fn retire(&self, id: WalId, reusable: bool) {
        let path = segment_path(&self.dir, id);
        if !reusable || !self.has_room() {
            self.discard(&path);
            return;
        }
        let spare = spare_path(&self.dir, id);
        if self.io.disk.rename(&path, &spare).is_err() {
            return;
        }
        let mut state = self.state.lock();
        if state.idle.len() < SPARES_MAX {
            state.idle.push(spare);
            return;
        }
        drop(state);
        self.discard(&spare);
    }

    /// Removes the files that wait for a segment; gives whether the next segment has one already.
    pub(super) fn remove_idle(&self) -> bool {
        let mut state = self.state.lock();
        let idle = std::mem::take(&mut state.idle);
        let next_is_made = state.prepared.is_some();
        drop(state);
        idle.iter().for_each(|path| self.discard(path));
        next_is_made
    }

    /// Removes the files that wait, the next segment's too.
    pub(super) fn remove_all(&self) {
        let mut state = self.state.lock();
        let prepared = state.prepared.take().map(|segment| segment.path);
        state.idle.drain(..).chain(prepared).for_each(|path| self.discard(&path));
    }

    /// How many files wait.
    pub(super) fn files(&self) -> u64 {
        let state = self.state.lock();
        state.idle.len() as u64 + u64::from(state.prepared.is_some())
    }

    /// Makes the next segment ready, unless it is. What takes long is done without the lock,
    /// so that a writer who needs a segment now doesn't wait for it.
    pub(super) fn prepare(&self) -> std::result::Result<(), NotDurable> {
        self.lay_in().map_err(NotDurable::NotMade)?;
        let mut state = self.state.lock();
        if state.prepared.is_none() && !state.idle.is_empty() {
            state.prepared = Some(self.make(&mut state)?);
        }
        let writes_follow = state.hurry;
        let file = state.prepared.as_ref().map(|segment| Arc::clone(&segment.file));
        drop(state);
        if writes_follow {
            // Before the next file is made: of the two this is needed sooner.
            file.iter().for_each(|file| file.expect_writes());
            self.lay_in().map_err(NotDurable::NotMade)?;
        }
        Ok(())
    }

    /// Makes a file ahead, if none waits. In a hurry without writing its blocks: that takes as long as
    /// filling a segment does, and the writer would get there first.
    fn lay_in(&self) -> Result<()> {
        let mut state = self.state.lock();
        if !state.idle.is_empty() {
            return Ok(());
        }
        let path = spare_path(&self.dir, state.next_made);
        state.next_made = WalId(state.next_made.0 - 1);
        let hurry = state.hurry;
        drop(state);
        let made = match hurry {
            true => self.io.disk.open_log_at_once(&path, self.segment_bytes),
            false => self.io.disk.open_log(&path, self.segment_bytes),
        };
        made.map_err(|source| Error::io("make a log file ahead", &path, source))?;
        self.state.lock().idle.push(path);
        Ok(())
    }

    /// The first segment of a log that has just been opened: with all that makes syncs cheap.
    pub(super) fn first(&self) -> std::result::Result<Segment, NotDurable> {
        let mut state = self.state.lock();
        if state.idle.is_empty() {
            drop(state);
            self.lay_in().map_err(NotDurable::NotMade)?;
            state = self.state.lock();
        }
        self.make(&mut state)
    }

    /// The next segment. The one before was filled through its map, or by calls.
    pub(super) fn take(&self, was_stored: bool) -> std::result::Result<Segment, NotDurable> {
        let mut state = self.state.lock();
        let now_ns = self.io.clock.monotonic_ns();
        let is_soon = u128::from(now_ns.saturating_sub(state.taken_ns)) < HURRY.as_nanos();
        state.hurry = was_stored && is_soon;
        state.taken_ns = now_ns;
        match state.prepared.take() {
            Some(segment) => Ok(segment),
            None => self.make(&mut state),
        }
    }

    fn make(&self, state: &mut SpareFiles) -> std::result::Result<Segment, NotDurable> {
        let id = state.next;
        let path = segment_path(&self.dir, id);
        let header = SegmentHeader::new(self.store_id, id, self.segment_bytes);
        let from = state.idle.pop().unwrap_or_else(|| spare_path(&self.dir, id));
        let file = self.begin(&from, &path, &header)?;
        state.next = id.next();
        Ok(Segment { id, path, file, seed: header.seed() })
    }

    /// Writes a segment's beginning to a file, and gives it the segment's name.
    fn begin(
        &self,
        from: &Path,
        path: &Path,
        header: &SegmentHeader,
    ) -> std::result::Result<Arc<dyn DiskFile>, NotDurable> {
        // Behind the header zeros, as behind every last record.
        let mut beginning = [0; SEGMENT_HEADER_BYTES + END_MARK_BYTES];
        beginning[..SEGMENT_HEADER_BYTES].copy_from_slice(&header.encode());
        let begin = || {
            let file = self.io.disk.open_log_at_once(from, self.segment_bytes)?;
            file.write_at(0, &beginning)?;
            file.sync_all()?;
            self.io.disk.rename(from, path)?;
            Ok(file)
        };
        let failed = |source| Error::io("make a log segment", path, source);
        let file = begin().map_err(|source| {
            self.discard(from);
            NotDurable::NotMade(failed(source))
        })?;
        let named = self.io.disk.sync_dir(&self.dir);
        // Where the name may be durable or not, so may those of other files be.
        named.map_err(|source| NotDurable::InDoubt(failed(source)))?;
        Ok(file)
    }
}
