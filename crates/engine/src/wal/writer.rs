//! Appending to the log.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

use timestrata_format::wal::RecordKind;
use timestrata_format::{SeqNo, StoreId, WalId};
use timestrata_io::sync::Mutex;
use timestrata_io::{Clock, Io, LOG_CALL_BYTES_MIN, LockGuard, OpenMode};

use super::past::past_segments;
use super::row_record::RowRecord;
use super::segment::{
    FIRST_COMMIT_OFFSET, NewPayload, NewRecord, Payload, RESERVED_BYTES, START_OFFSET, Segment,
    payload_bytes_max, segment_path, space_for,
};
use super::segment_files;
use super::spares::{OldSegments, Spares};
use super::sync::{GroupSync, SyncCounts};
use crate::error::NotDurable;
use crate::lock::still_ours;
use crate::planted::{Plant, is_planted};
use crate::{Error, ErrorKind, Result, Settings};

/// A time in milliseconds, as commits are dated; none is from before the epoch.
pub(crate) fn ms_of(time_ns: i64) -> u64 {
    u64::try_from(time_ns / 1_000_000).unwrap_or(0)
}

/// Bytes of an older segment that are read and written again at once.
const RENEWED_BYTES: u64 = 1 << 20;

/// Where a log goes on, as [`super::WalReader`] found it; of a log without any commit, the
/// default with an id.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct WalStart {
    /// The segment to begin; no file has its id.
    pub(crate) id: WalId,
    /// The last commit in the log so far; 0 if none.
    pub(crate) previous_seq: SeqNo,
    /// The segment that holds it.
    pub(crate) previous_id: WalId,
    /// Segments before, oldest first, that are still needed, each with the last commit in it
    /// or before it.
    pub(crate) older: Vec<(WalId, SeqNo)>,
    /// Commits up to this had been synced when a later record was written.
    pub(crate) synced: SeqNo,
    /// The time of the last commit, in milliseconds since the epoch; 0 where it is not known.
    pub(crate) time_ms: u64,
}

/// The log of an open store. Shared by all its threads.
#[derive(Debug)]
pub(crate) struct Wal {
    pub(super) segment_bytes: u64,
    clock: Arc<dyn Clock>,
    pub(super) appender: Mutex<Appender>,
    pub(super) spares: Spares,
    group: GroupSync,
    appended: AtomicU64,
    synced: AtomicU64,
    /// Bytes that recovery would read, for a look without the lock.
    bytes: AtomicU64,
    /// Set when a segment has been taken, or a fourth of the first is full: the next one should be
    /// made ready.
    next_is_due: AtomicBool,
    failed: AtomicBool,
    /// The lock that says that nobody else writes, and the directory that it is of.
    /// Closing the store lets go of it.
    lock: OnceLock<(Weak<dyn LockGuard>, PathBuf)>,
}

#[derive(Debug)]
pub(super) struct Appender {
    pub(super) active: Arc<Segment>,
    /// Where the next record goes.
    pub(super) offset: u64,
    /// Bytes of the active segment's records that a disk with maps stores through its map.
    stored: u64,
    last_seq: SeqNo,
    /// The segment that holds `last_seq`.
    last_id: WalId,
    /// When the last commit was made, in milliseconds since the epoch.
    time_ms: u64,
    /// Full segments with records that may not be durable, oldest first.
    unsynced: Vec<Arc<Segment>>,
    /// Full segments that are still needed, oldest first.
    pub(super) full: Vec<FullSegment>,
    /// Those before them that only the store's history needs, oldest first.
    pub(super) past: VecDeque<FullSegment>,
}

#[derive(Debug)]
pub(super) struct FullSegment {
    pub(super) id: WalId,
    pub(super) last_seq: SeqNo,
    /// Length of its file.
    pub(super) bytes: u64,
    /// Whether this process wrote it, so that nobody has it mapped.
    pub(super) own: bool,
}

impl Appender {
    /// The time of the commit that comes next: by the wall clock, unless that was set back.
    fn tick(&mut self, clock: &dyn Clock) -> u64 {
        let now_ms = ms_of(clock.wall_ns());
        self.time_ms = self.time_ms.max(now_ms);
        self.time_ms
    }
}

impl Wal {
    /// Begins a segment in `dir`, which is made if missing. The segments before it are made
    /// durable first, and so is its beginning.
    pub(crate) fn create(
        io: &Io,
        dir: &Path,
        store_id: StoreId,
        settings: &Settings,
        start: WalStart,
        old: OldSegments,
    ) -> Result<Self> {
        let failed = |source| Error::io("make the log's directory", dir, source);
        io.disk.create_dir(dir).map_err(failed)?;
        for &(id, last_seq) in &start.older {
            if last_seq > start.synced {
                renew(io, &segment_path(dir, id))?;
            }
        }
        if !start.older.is_empty() {
            // Their names too: the next segment's must not be the only one to survive.
            io.disk.sync_dir(dir).map_err(|source| Error::io("sync the log", dir, source))?;
        }
        let floor = start.older.first().map_or(start.id, |&(id, _)| id);
        let segment_bytes = settings.wal_segment_bytes;
        let files = segment_files(&*io.disk, dir)?;
        let past = past_segments(&files, old.past().unwrap_or(floor), floor);
        let spares = Spares::open(io, dir, store_id, segment_bytes, floor, start.id, old)?;
        let active = spares.first().map_err(NotDurable::into_error)?;
        let full_segment = |&(id, last_seq): &(WalId, SeqNo)| FullSegment {
            id,
            last_seq,
            // Written under other settings it may be of another length.
            bytes: files.get(&id).copied().unwrap_or(segment_bytes),
            own: false,
        };
        let full = start.older.iter().map(full_segment).collect();
        let appender = Appender {
            active: Arc::new(active),
            offset: START_OFFSET,
            stored: 0,
            last_seq: start.previous_seq,
            last_id: start.previous_id,
            time_ms: start.time_ms,
            unsynced: Vec::new(),
            full,
            past,
        };
        let wal = Self {
            segment_bytes,
            clock: Arc::clone(&io.clock),
            appender: Mutex::new(appender),
            spares,
            group: GroupSync::new(start.previous_seq),
            appended: AtomicU64::new(start.previous_seq.0),
            synced: AtomicU64::new(start.previous_seq.0),
            bytes: AtomicU64::new(0),
            next_is_due: AtomicBool::new(false),
            failed: AtomicBool::new(false),
            lock: OnceLock::new(),
        };
        let mut appender = wal.appender.lock();
        wal.write_start(&mut appender)?;
        wal.count_bytes(&appender);
        appender.active.sync()?;
        drop(appender);
        Ok(wal)
    }

    /// From now on nothing is called durable without a look at the writer's lock: once for all
    /// who share a sync.
    pub(crate) fn guard_by(&self, lock: &Arc<dyn LockGuard>, dir: &Path) {
        // A log is opened once, and so is guarded once.
        let _ = self.lock.set((Arc::downgrade(lock), dir.to_owned()));
    }

    /// Appends the record of commit `seq`, which comes after all before. The payload is the
    /// parts, one behind the other, and `payload_crc` its CRC-32C if the caller has it.
    ///
    /// The record survives the process being killed when this returns, and a power cut
    /// after [`Wal::sync_through`]. After an error the log is as it was, unless it
    /// [has failed](Wal::has_failed). `to_sync` says that the caller
    /// syncs next: such a record is written so that its sync is cheap, not its append.
    pub(crate) fn append(
        &self,
        seq: SeqNo,
        parts: &[&[u8]],
        payload_crc: Option<u32>,
        to_sync: bool,
    ) -> Result<()> {
        let payload = NewPayload::of_parts(parts, payload_crc);
        let mut appender = self.appender.lock();
        self.make_room(&mut appender, payload.bytes)?;
        self.append_payload(&mut appender, seq, payload, to_sync)
    }

    /// As [`Wal::append`], of rows.
    pub(crate) fn append_rows(
        &self,
        seq: SeqNo,
        record: &mut RowRecord,
        to_sync: bool,
    ) -> Result<()> {
        let (bytes, crc) = (record.payload().len(), record.payload_crc());
        match record.whole() {
            Some(whole) => {
                let payload = NewPayload { bytes, crc, content: Payload::InRecord(whole) };
                let mut appender = self.appender.lock();
                self.make_room(&mut appender, bytes)?;
                self.append_payload(&mut appender, seq, payload, to_sync)
            }
            None => self.append(seq, &[record.payload()], Some(crc), to_sync),
        }
    }

    /// As [`Wal::append_rows`], of a few bytes that no sync follows. `None`, and nothing
    /// written, if that would wait: for the lock or for a segment.
    pub(crate) fn try_append_rows(&self, seq: SeqNo, record: &mut RowRecord) -> Option<Result<()>> {
        let (bytes, crc) = (record.payload().len(), record.payload_crc());
        let payload = NewPayload { bytes, crc, content: Payload::InRecord(record.whole()?) };
        let mut appender = self.appender.try_lock()?;
        if !self.fits(appender.offset, bytes) {
            return None;
        }
        Some(self.append_payload(&mut appender, seq, payload, false))
    }

    /// Sees to it that the payload fits into the active segment.
    fn make_room(&self, appender: &mut Appender, payload_bytes: usize) -> Result<()> {
        if self.fits(appender.offset, payload_bytes) {
            return Ok(());
        }
        self.check_whole()?;
        self.check_size(payload_bytes)?;
        self.roll(appender)
    }

    fn append_payload(
        &self,
        appender: &mut Appender,
        seq: SeqNo,
        payload: NewPayload<'_>,
        to_sync: bool,
    ) -> Result<()> {
        self.check_whole()?;
        assert!(seq > appender.last_seq, "commit {seq} after {}", appender.last_seq);
        let payload_bytes = payload.bytes;
        let synced_through = self.synced_seq();
        let time_ms = Some(appender.tick(&*self.clock));
        let kind = RecordKind::Commit;
        let record = NewRecord { kind, seq, synced_through, time_ms, payload, to_sync };
        let written = appender.active.write_record(appender.offset, record);
        let begin = appender.offset;
        appender.offset = written.map_err(|error| self.fail(error))?;
        if !to_sync && payload_bytes < LOG_CALL_BYTES_MIN {
            appender.stored += appender.offset - begin;
        }
        if begin < self.segment_bytes / 4 && appender.offset >= self.segment_bytes / 4 {
            self.next_is_due.store(true, Ordering::Relaxed);
        }
        appender.last_seq = seq;
        appender.last_id = appender.active.id;
        self.count_bytes(appender);
        self.appended.store(seq.0, Ordering::Release);
        Ok(())
    }

    /// Refuses a payload that no segment can hold.
    pub(crate) fn check_size(&self, payload_bytes: usize) -> Result<()> {
        let payload_bytes_max = payload_bytes_max(self.segment_bytes);
        if payload_bytes as u64 <= payload_bytes_max {
            return Ok(());
        }
        Err(Error::new(
            ErrorKind::TooLarge,
            format!(
                "a commit of {payload_bytes} bytes; a log segment (wal_segment_bytes = {}) takes \
                 at most {payload_bytes_max}",
                self.segment_bytes
            ),
        ))
    }

    fn fits(&self, offset: u64, payload_bytes: usize) -> bool {
        offset + space_for(offset, payload_bytes) + RESERVED_BYTES <= self.segment_bytes
    }

    /// Goes on in the next segment. It is begun before the full one is ended, so that an end
    /// record always has a segment behind it. Where there can be no next one, nothing has changed.
    pub(super) fn roll(&self, appender: &mut Appender) -> Result<()> {
        let next = self.spares.take(appender.stored > self.segment_bytes / 2);
        let next = next.map_err(|why| why.failing_in_doubt(|error| self.fail(error)))?;
        self.go_on_in(appender, next).map_err(|error| self.fail(error))
    }

    fn go_on_in(&self, appender: &mut Appender, next: Segment) -> Result<()> {
        appender.stored = 0;
        self.next_is_due.store(true, Ordering::Relaxed);
        let full = std::mem::replace(&mut appender.active, Arc::new(next));
        let full_offset = appender.offset;
        self.write_start(appender)?;
        full.write_record(full_offset, self.mark(RecordKind::End, appender.last_seq, &[]))?;
        let (last_seq, bytes) = (appender.last_seq, self.segment_bytes);
        appender.full.push(FullSegment { id: full.id, last_seq, bytes, own: true });
        appender.unsynced.push(full);
        Ok(())
    }

    fn write_start(&self, appender: &mut Appender) -> Result<()> {
        let previous = appender.last_id.0.to_le_bytes();
        let parts = [&previous[..]];
        let record = self.mark(RecordKind::Start, appender.last_seq, &parts);
        appender.offset = appender.active.write_record(START_OFFSET, record)?;
        assert!(appender.offset == FIRST_COMMIT_OFFSET, "the start record's length is known");
        Ok(())
    }

    fn mark<'a>(&self, kind: RecordKind, seq: SeqNo, parts: &'a [&'a [u8]]) -> NewRecord<'a> {
        NewRecord {
            kind,
            seq,
            synced_through: self.synced_seq(),
            time_ms: None,
            payload: NewPayload::of_parts(parts, None),
            // Written while another sync may follow soon, and rarely enough.
            to_sync: true,
        }
    }

    /// Makes every commit up to `seq` that has a record survive a power cut; gives the last
    /// commit with a record that does. One sync serves all who call meanwhile. Not to be
    /// called under the commit lock: appends go on.
    pub(crate) fn sync_through(&self, seq: SeqNo) -> Result<SeqNo> {
        self.sync_commit(seq, Duration::ZERO)
    }

    /// The same, where the caller waits so long for others if it is the one who syncs.
    pub(crate) fn sync_commit(&self, seq: SeqNo, delay: Duration) -> Result<SeqNo> {
        let goal = seq.min(self.appended_seq());
        self.group.through(goal, delay, || self.sync_all().map_err(|error| self.fail(error)))
    }

    /// Has the disk begin with what a sync would write, while the caller does something else. Not to be called under the
    /// commit lock: a disk that has much to do lets it wait.
    pub(crate) fn start_writing_back(&self) {
        let appender = self.appender.lock();
        let segments = appender.unsynced.iter().chain([&appender.active]);
        let segments: Vec<Arc<Segment>> = segments.map(Arc::clone).collect();
        drop(appender);
        segments.iter().for_each(|segment| segment.file.start_writing_back(0, self.segment_bytes));
    }

    fn sync_all(&self) -> Result<SeqNo> {
        let appender = self.appender.lock();
        let goal = appender.last_seq;
        let mut segments = appender.unsynced.clone();
        segments.push(Arc::clone(&appender.active));
        drop(appender);
        self.check_whole()?;
        if let Some((lock, dir)) = self.lock.get()
            && let Some(lock) = lock.upgrade()
        {
            still_ours(&*lock, dir)?;
        }
        segments.iter().try_for_each(|segment| segment.sync())?;
        let active = segments.last().map(|segment| segment.id);
        let mut appender = self.appender.lock();
        appender.unsynced.retain(|segment| Some(segment.id) >= active);
        self.synced.store(goal.0, Ordering::Release);
        self.write_synced(&mut appender, goal)?;
        Ok(goal)
    }

    /// Notes a sync in the log. Commits tell how far the log was durable when they were
    /// written; behind the last one nobody would, and damage to it would pass for a torn end.
    /// The note itself is durable with the next sync, which the kernel makes in time.
    fn write_synced(&self, appender: &mut Appender, goal: SeqNo) -> Result<()> {
        if goal == appender.last_seq && self.fits(appender.offset, 0) {
            let record = self.mark(RecordKind::Synced, goal, &[]);
            appender.offset = appender.active.write_record(appender.offset, record)?;
        }
        Ok(())
    }

    /// Ends all writing; gives the error back.
    fn fail(&self, error: Error) -> Error {
        if is_planted(Plant::UnheededFailure) {
            return error;
        }
        self.failed.store(true, Ordering::Release);
        if error.kind() != ErrorKind::Poisoned {
            self.group.poison(&error);
        }
        error
    }

    /// Whether a write or a sync has left in doubt what is on disk.
    pub(crate) fn has_failed(&self) -> bool {
        self.failed.load(Ordering::Acquire)
    }

    fn check_whole(&self) -> Result<()> {
        if self.has_failed() { Err(self.failure()) } else { Ok(()) }
    }

    /// The error of a log that has failed.
    pub(crate) fn failure(&self) -> Error {
        self.group.failure()
    }

    /// The last commit with a record.
    pub(crate) fn appended_seq(&self) -> SeqNo {
        SeqNo(self.appended.load(Ordering::Acquire))
    }

    /// Dates a commit that goes straight to runs: no record that is appended later has an earlier time.
    pub(crate) fn tick(&self) {
        self.appender.lock().tick(&*self.clock);
    }

    /// When the last commit was made, in milliseconds since the epoch.
    pub(crate) fn time_ms(&self) -> u64 {
        self.appender.lock().time_ms
    }

    /// The last commit with a record that survives a power cut.
    pub(crate) fn synced_seq(&self) -> SeqNo {
        SeqNo(self.synced.load(Ordering::Acquire))
    }

    /// How often it was synced.
    pub(crate) fn sync_counts(&self) -> SyncCounts {
        self.group.counts()
    }

    /// Bytes that recovery would read. Takes no lock: every commit asks.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    fn count_bytes(&self, appender: &Appender) {
        let bytes = appender.full.len() as u64 * self.segment_bytes + appender.offset;
        self.bytes.store(bytes, Ordering::Relaxed);
    }

    /// Files in the log's directory, spares included.
    pub(crate) fn segments(&self) -> u64 {
        let appender = self.appender.lock();
        let in_use = (appender.full.len() + appender.past.len()) as u64 + 1;
        drop(appender);
        in_use + self.spares.files()
    }

    /// The id after the segment that is written to: the floor of a log that a clean close
    /// leaves without a needed segment.
    pub(crate) fn next_id(&self) -> WalId {
        self.appender.lock().active.id.next()
    }

    /// Whether it has become time to [prepare](Wal::prepare_spare) the next segment since the
    /// last call: one was taken, or a fourth of the first is full. A store that is opened for a
    /// few commits never makes another file.
    pub(crate) fn needs_spare(&self) -> bool {
        self.next_is_due.load(Ordering::Relaxed) && self.next_is_due.swap(false, Ordering::Relaxed)
    }

    /// Makes the next segment ready, so that the append that needs it doesn't wait for the
    /// disk. For background maintenance.
    pub(crate) fn prepare_spare(&self) -> Result<()> {
        self.check_whole()?;
        self.spares.prepare().map_err(|why| why.failing_in_doubt(|error| self.fail(error)))
    }

    /// Removes the files that wait to be used. For a log that ends in good order: the next writer
    /// uses the last segment's file again, and makes more when it needs them.
    pub(crate) fn remove_spares(&self) {
        self.spares.remove_all();
    }

    /// Removes the files that wait for a segment, of a log that goes on.
    pub(crate) fn remove_idle(&self) {
        self.spares.remove_idle();
    }

    /// If every commit up to `seq` is in runs: the first segment that is still needed, where
    /// that is a later one than before. It becomes the floor in the manifest, and then
    /// [`Wal::let_go_below`] may be called.
    pub(crate) fn release_through(&self, seq: SeqNo) -> Result<Option<WalId>> {
        let appender = self.appender.lock();
        let needed = appender.full.iter().find(|segment| segment.last_seq > seq);
        let floor = needed.map_or(appender.active.id, |segment| segment.id);
        let moves = appender.full.first().is_some_and(|oldest| oldest.id < floor);
        drop(appender);
        if !moves {
            return Ok(None);
        }
        // The first segment's start record must be durable: nothing before it tells any more
        // that it is missing.
        self.sync_through(self.appended_seq())?;
        Ok(Some(floor))
    }

    /// Recovery reads from `floor` on, which must be durable in the manifest: what is before is history.
    pub(crate) fn let_go_below(&self, floor: WalId) {
        let mut appender = self.appender.lock();
        let Appender { full, past, unsynced, .. } = &mut *appender;
        let count = full.iter().take_while(|segment| segment.id < floor).count();
        past.extend(full.drain(..count));
        unsynced.retain(|segment| segment.id >= floor);
        self.count_bytes(&appender);
    }
}

/// A record that recovery read may still be in the page cache only, and what is appended from
/// now on claims that everything before is durable. A sync is not enough: if one has failed
/// before, the system calls the pages clean and would write nothing. So they are written
/// again, with what they hold.
fn renew(io: &Io, path: &Path) -> Result<()> {
    let rewrite = || {
        let file = io.disk.open(path, OpenMode::ReadWrite)?;
        let length = file.len()?;
        let mut bytes = vec![0; RENEWED_BYTES.min(length) as usize];
        let mut offset = 0;
        while offset < length {
            bytes.truncate((length - offset) as usize);
            file.read_at(offset, &mut bytes)?;
            file.write_at(offset, &bytes)?;
            offset += bytes.len() as u64;
        }
        file.sync_data()
    };
    rewrite().map_err(|source| Error::io("make the log durable", path, source))
}
