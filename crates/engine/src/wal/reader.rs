//! Reading the log back.
//!
//! Two readers share the rules. *Recovery* owns the store: nothing is written meanwhile. A *follower*
//! reads beside a living writer: the file may be used again under its hands, and where the records end
//! is simply the end for now. Both read a window at a time, and hand out payloads without copying them
//! once more.
//!
//! What can't be read is one of three things. Later records whose `synced_through` lies
//! beyond the last whole one prove that something durable is missing: corruption. A later
//! segment whose start record names the last whole record shows that an earlier recovery
//! stopped here too: the log goes on there. Otherwise the log ends here.

mod ahead;
mod cursor;
mod records;
mod verdict;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use timestrata_format::wal::RecordKind;
use timestrata_format::{SeqNo, StoreId, WalId};
use timestrata_io::{Bytes, Io};

use super::segment::{FIRST_COMMIT_OFFSET, START_OFFSET, segment_path};
use super::segment_ids;
use super::writer::WalStart;
use crate::{Error, ErrorKind, Result};
use ahead::Windows;
pub(crate) use ahead::each_record;
#[cfg(test)]
pub(super) use ahead::{each_ahead, each_alone};
use cursor::SegmentCursor;

/// Who reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReadMode {
    /// The one who holds the store's lock.
    Recovery,
    /// Somebody beside a writer that may be alive. An error of kind `NotFound` means that
    /// the writer has moved on: read the manifest again and start over.
    Follower,
}

/// Between two records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct WalPosition {
    pub(crate) segment: WalId,
    pub(crate) offset: u64,
    /// The last commit before, and the segment it is in.
    pub(crate) last: Option<(SeqNo, WalId)>,
}

/// One commit's record, where the reader is now.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WalRecord<'a> {
    pub(crate) seq: SeqNo,
    /// When it was made, in milliseconds since the epoch; `None` of one that an earlier build wrote.
    pub(crate) time_ms: Option<u64>,
    /// The entries, their checksum verified.
    pub(crate) payload: &'a [u8],
    /// The segment's file and where in it the payload begins, for errors about what is in it.
    pub(crate) path: &'a Path,
    pub(crate) payload_offset: u64,
    /// What the payload is a part of.
    memory: &'a Bytes,
}

impl WalRecord<'_> {
    /// A part of the payload, without copying it, for as long as it is wanted.
    pub(crate) fn share(&self, part: &[u8]) -> Bytes {
        self.memory.slice_ref(part)
    }
}

/// Where the log ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct WalTail {
    /// File and offset of a last record that was not written to its end, and is cut.
    pub(crate) torn: Option<(PathBuf, u64)>,
    /// The last commit in the log.
    pub(crate) last_seq: Option<SeqNo>,
    /// Bytes of the records read.
    pub(crate) bytes_read: u64,
    /// Where a follower goes on.
    pub(crate) position: WalPosition,
    /// Where a new writer goes on.
    pub(crate) start: WalStart,
}

/// Gives the records of a log in order.
#[derive(Debug)]
pub(crate) struct WalReader {
    io: Io,
    dir: PathBuf,
    store_id: StoreId,
    mode: ReadMode,
    floor: WalId,
    /// The segments there are, from the floor on.
    segments: Vec<WalId>,
    cursor: Option<SegmentCursor>,
    offset: u64,
    /// The last commit so far (0 if there is none), and its segment. Not known as long as
    /// no segment had a start record.
    last: Option<(SeqNo, WalId)>,
    /// Whether to look for proof of damage behind the last whole record.
    searches: bool,
    bytes_read: u64,
    /// The furthest that a record says was synced.
    synced: SeqNo,
    /// The latest time of a commit, in milliseconds since the epoch.
    time_ms: u64,
    /// Segments left behind, each with the last commit in it or before it.
    passed: Vec<(WalId, SeqNo)>,
    /// Where bytes begin that are cut.
    torn: Option<(WalId, u64)>,
    /// The last commit to be given.
    through: Option<SeqNo>,
    /// Whether what is read is from before the log was begun anew, perhaps.
    is_past: bool,
    finished: bool,
    /// Memory to read into, where others keep what was read for a while.
    windows: Option<Arc<Windows>>,
}

impl WalReader {
    /// Reads the log in `dir` from the start of segment `floor`, or from where an earlier
    /// reading ended. A directory without a needed segment is an empty log.
    pub(crate) fn open(
        io: &Io,
        dir: &Path,
        store_id: StoreId,
        mode: ReadMode,
        floor: WalId,
        from: Option<WalPosition>,
    ) -> Result<Self> {
        let mut reader = Self::begin(io, dir, store_id, mode, floor);
        if let Some(position) = from {
            reader.floor = position.segment;
            reader.offset = position.offset;
            reader.last = position.last;
            reader.searches = false;
        }
        reader.list()?;
        match reader.segments.first().copied() {
            Some(first) => reader.cursor = Some(reader.open_segment(first)?),
            // Nothing of a segment had been read that isn't there yet: its writer was closed.
            None if reader.offset > START_OFFSET => return Err(reader.moved_on(reader.floor)),
            None => reader.finished = true,
        }
        Ok(reader)
    }

    /// Reads some segments one after the other, whatever others are missing.
    pub(crate) fn of_segments(
        io: &Io,
        dir: &Path,
        store_id: StoreId,
        segments: Vec<WalId>,
    ) -> Result<Self> {
        let floor = segments.first().copied().unwrap_or_default();
        let mut reader = Self::begin(io, dir, store_id, ReadMode::Recovery, floor);
        reader.segments = segments;
        reader.cursor = Some(reader.open_segment(floor)?);
        Ok(reader)
    }

    fn begin(io: &Io, dir: &Path, store_id: StoreId, mode: ReadMode, floor: WalId) -> Self {
        Self {
            io: io.clone(),
            dir: dir.to_path_buf(),
            store_id,
            mode,
            floor,
            segments: Vec::new(),
            cursor: None,
            offset: START_OFFSET,
            last: None,
            searches: true,
            bytes_read: 0,
            synced: SeqNo::default(),
            time_ms: 0,
            passed: Vec::new(),
            torn: None,
            through: None,
            is_past: false,
            finished: false,
            windows: None,
        }
    }

    /// Reads into memory that is given back from now on.
    fn reuse(&mut self, windows: &Arc<Windows>) {
        self.windows = Some(Arc::clone(windows));
        if let Some(cursor) = &mut self.cursor {
            cursor.windows = self.windows.clone();
        }
    }

    /// Bytes that are still to be read, about: all segments but the last are full. None for who goes on where an
    /// earlier reading ended.
    fn bytes_left(&self) -> u64 {
        let length = self.cursor.as_ref().map_or(0, |cursor| cursor.len);
        let full = self.segments.len().saturating_sub(1) as u64;
        if self.searches { length.saturating_mul(full) } else { 0 }
    }

    /// Refuses a log without a segment that must be there.
    pub(crate) fn expect(&self, id: WalId) -> Result<()> {
        if self.segments.contains(&id) {
            return Ok(());
        }
        if self.mode == ReadMode::Follower {
            return Err(self.moved_on(id));
        }
        let message = format!("log segment {id} is missing: the store was not closed without it");
        Err(Error::corruption(&segment_path(&self.dir, id), 0, message))
    }

    /// Gives no commit behind this one: there the log ends, and a follower goes on later.
    pub(crate) fn stop_behind(&mut self, seq: SeqNo) {
        self.through = Some(seq);
    }

    /// Gives what came through a commit, also where a writer has closed the store since and begun the log anew:
    ///
    /// ```text
    ///    2.wal                3.wal
    ///    start commit commit  start            what is between 7 and 9 went straight to runs; the close left nothing that
    ///    (5)   6      7       (9, no segment)  recovery needs, so 3.wal says that it follows on no segment
    /// ```
    pub(crate) fn read_past(&mut self, through: SeqNo) {
        self.through = Some(through);
        self.is_past = true;
    }

    /// The next record; `None` at the end, when [`WalReader::tail`] says how it ended.
    pub(crate) fn next_record(&mut self) -> Result<Option<WalRecord<'_>>> {
        while !self.finished {
            match self.read()? {
                Some(header) if header.kind == RecordKind::Commit => {
                    if self.through.is_some_and(|through| header.seq > through) {
                        self.finished = true;
                        break;
                    }
                    return self.commit(&header).map(Some);
                }
                Some(header) => self.pass_mark(&header)?,
                None => self.stop_or_go_on()?,
            }
        }
        Ok(None)
    }

    /// Where it is: before the next record.
    pub(crate) fn position(&self) -> WalPosition {
        let segment = self.cursor.as_ref().map_or(self.floor, |cursor| cursor.id);
        WalPosition { segment, offset: self.offset, last: self.last }
    }

    /// Where the log ended. Meant for after the last record.
    pub(crate) fn tail(&self) -> WalTail {
        let segment = self.cursor.as_ref().map_or(self.floor, |cursor| cursor.id);
        let last_seq = self.last.map(|(seq, _)| seq).filter(|seq| seq.0 > 0);
        let (previous_seq, previous_id) = self.last.unwrap_or_default();
        let mut older = self.passed.clone();
        let rest = self.segments.iter().filter(|id| **id >= segment);
        older.extend(rest.map(|id| (*id, previous_seq)));
        let id = self.segments.last().map_or(self.floor, |last| last.next());
        WalTail {
            torn: self.torn.map(|(id, offset)| (segment_path(&self.dir, id), offset)),
            last_seq,
            bytes_read: self.bytes_read,
            position: self.position(),
            start: WalStart {
                id,
                previous_seq,
                previous_id,
                older,
                synced: self.synced,
                time_ms: self.time_ms,
            },
        }
    }

    fn list(&mut self) -> Result<()> {
        self.segments = segment_ids(&*self.io.disk, &self.dir)?;
        self.segments.retain(|id| *id >= self.floor);
        let mut expected = self.floor;
        for &id in &self.segments {
            if id != expected {
                return Err(self.missing(expected, id));
            }
            expected = id.next();
        }
        Ok(())
    }

    fn missing(&self, id: WalId, later: WalId) -> Error {
        if self.mode == ReadMode::Follower {
            return self.moved_on(id);
        }
        let path = segment_path(&self.dir, id);
        let message = format!("log segment {id} is missing, but segment {later} is there");
        Error::corruption(&path, 0, message)
    }

    fn moved_on(&self, id: WalId) -> Error {
        moved_on(&self.dir, id)
    }
}

fn moved_on(dir: &Path, id: WalId) -> Error {
    Error::new(
        ErrorKind::NotFound,
        format!("log segment {id} is no longer there: the writer has moved on"),
    )
    .at(segment_path(dir, id))
}
