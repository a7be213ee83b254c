//! Files for the segments to come: made ahead, or used again.
//!
//! A file gets a segment's name only once the segment's header in it is durable, so a named
//! segment without a whole header is damage and never a crash's doing. Only files that no
//! reader has mapped are used again: those this process wrote, and those nobody needed any
//! more when the log was opened.

use std::path::{Path, PathBuf};

use parking_lot::Mutex;
use timestrata_format::wal::{END_MARK_BYTES, SEGMENT_HEADER_BYTES, SegmentHeader};
use timestrata_format::{StoreId, WalId};
use timestrata_io::Io;

use super::segment::{FileName, Segment, segment_path, spare_path};
use crate::{Error, Result};

/// Files that may wait: a flush lets go of as many at once, and the next memtable's log needs
/// them again.
const SPARES_MAX: usize = 8;

/// The files that wait.
#[derive(Debug)]
pub(super) struct Spares {
    io: Io,
    dir: PathBuf,
    store_id: StoreId,
    segment_bytes: u64,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    /// The next segment, ready to be written to.
    prepared: Option<Segment>,
    /// The segment to make next. It is counted here, under this lock, so that no id is made
    /// twice by two who need the next one.
    next: WalId,
    /// Files of the right length with a spare's name.
    idle: Vec<PathBuf>,
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
    ) -> Result<Self> {
        let spares = Self {
            io: io.clone(),
            dir: dir.to_path_buf(),
            store_id,
            segment_bytes,
            state: Mutex::new(State { prepared: None, next, idle: Vec::new() }),
        };
        let entries = io.disk.list(dir).map_err(|source| Error::io("list the log", dir, source))?;
        for entry in entries.iter().filter(|entry| !entry.is_dir) {
            let path = dir.join(&entry.name);
            let fits = entry.len == segment_bytes;
            match FileName::parse(&entry.name) {
                Some(FileName::Spare(_)) if fits && spares.has_room() => {
                    spares.state.lock().idle.push(path);
                }
                Some(FileName::Spare(_)) => spares.remove(&path)?,
                Some(FileName::Segment(id)) if id < floor => spares.retire(id, fits)?,
                Some(FileName::Segment(_)) | None => {}
            }
        }
        Ok(spares)
    }

    fn has_room(&self) -> bool {
        self.state.lock().idle.len() < SPARES_MAX
    }

    fn remove(&self, path: &Path) -> Result<()> {
        let removed = self.io.disk.remove(path);
        removed.map_err(|source| Error::io("remove an old log segment", path, source))
    }

    /// Takes a segment out of the log; its file becomes a spare if it may and there is room.
    pub(super) fn retire(&self, id: WalId, reusable: bool) -> Result<()> {
        let path = segment_path(&self.dir, id);
        let mut state = self.state.lock();
        if !reusable || state.idle.len() >= SPARES_MAX {
            drop(state);
            return self.remove(&path);
        }
        let spare = spare_path(&self.dir, id);
        let renamed = self.io.disk.rename(&path, &spare);
        renamed.map_err(|source| Error::io("retire a log segment", &path, source))?;
        state.idle.push(spare);
        Ok(())
    }

    /// How many files wait.
    pub(super) fn files(&self) -> u64 {
        let state = self.state.lock();
        state.idle.len() as u64 + u64::from(state.prepared.is_some())
    }

    /// Makes the next segment ready, unless it is.
    pub(super) fn prepare(&self) -> Result<()> {
        let mut state = self.state.lock();
        if state.prepared.is_none() {
            state.prepared = Some(self.make(&mut state)?);
        }
        Ok(())
    }

    /// The next segment.
    pub(super) fn take(&self) -> Result<Segment> {
        let mut state = self.state.lock();
        match state.prepared.take() {
            Some(segment) => Ok(segment),
            None => self.make(&mut state),
        }
    }

    fn make(&self, state: &mut State) -> Result<Segment> {
        let id = state.next;
        let from = state.idle.pop().unwrap_or_else(|| spare_path(&self.dir, id));
        let path = segment_path(&self.dir, id);
        let header = SegmentHeader::new(self.store_id, id, self.segment_bytes);
        // Behind the header zeros, as behind every last record.
        let mut beginning = [0; SEGMENT_HEADER_BYTES + END_MARK_BYTES];
        beginning[..SEGMENT_HEADER_BYTES].copy_from_slice(&header.encode());
        let make = || {
            let file = self.io.disk.open_log(&from, self.segment_bytes)?;
            file.write_at(0, &beginning)?;
            file.sync_all()?;
            self.io.disk.rename(&from, &path)?;
            self.io.disk.sync_dir(&self.dir)?;
            Ok(file)
        };
        let file = make().map_err(|source| Error::io("make a log segment", &path, source))?;
        state.next = id.next();
        Ok(Segment { id, path, file, seed: header.seed() })
    }
}
