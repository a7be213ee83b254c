//! Going from commit to commit.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use timestrata_format::wal::{Entries, EntryKind, EntryRef};
use timestrata_format::{RunMeta, SeqNo, StreamId, WalId};
use timestrata_io::sync::Mutex;
use timestrata_io::{Bytes, Io};

use super::change::{ChangeKind, CommittedChanges, Content, EncodedEntry, StreamChange};
use super::recent::{self, Counted, Found, Recent};
use super::rewritten::Before;
use super::rows::{EntryLayout, Marked, marked, part_of};
use super::told::{Told, stream_of};
use crate::directory::WAL_DIR;
use crate::manifest::{History, MANIFEST_NAME, ManifestLog, ManifestStamp};
use crate::recovery::{beside, core_at, known_runs, past_handle};
use crate::scan::Source;
use crate::state::{Engine, RunHandle};
use crate::wal::{ReadMode, WalPosition, WalReader, WalRecord, decode_batch, decode_range};
use crate::{Error, ErrorKind, Result, Stream};

/// Payloads of fewer bytes are copied: a part of a window keeps all of it in memory.
const SHARED_BYTES_MIN: usize = 64 << 10;
/// What a commit counts beside its payload: many small ones must count too.
const COMMIT_BYTES: usize = 256;

/// How far somebody has followed.
#[derive(Debug)]
pub(crate) struct Feed {
    place: Place,
    layouts: Layouts,
    recent: Arc<Recent>,
}

#[derive(Debug, Clone, Copy)]
struct Place {
    /// The last commit that was given.
    last: SeqNo,
    /// Behind its record, or somewhere before that.
    position: Option<WalPosition>,
    /// The last edit of which it was told that is no commit.
    seen: Option<ManifestStamp>,
    /// Whether there may be more than was asked for.
    is_cut: bool,
}

/// How entries of streams are read, by the version of their columns.
type Layouts = Mutex<HashMap<(StreamId, u16), Arc<EntryLayout>>>;

/// How far it was read, and what: each with the bytes that it counts.
type Read = (Place, Vec<Counted>);

impl Feed {
    /// From behind a commit on.
    ///
    /// # Errors
    /// `HistoryLost` where not all of what comes behind it is kept; `InvalidArgument` for a commit that has not been made, and where
    /// the store keeps no log.
    pub(crate) fn behind(engine: &Engine, since: SeqNo) -> Result<Self> {
        let place = Place { last: since, position: None, seen: None, is_cut: true };
        let feed = Self { place, layouts: Mutex::default(), recent: Recent::of(engine) };
        match (own_manifest(engine), &engine.follower) {
            (Some(manifest), _) => {
                let manifest = manifest.lock();
                let last_seq = engine.core.lock().last_seq;
                if since > last_seq {
                    return Err(not_made(since, last_seq));
                }
                feed.check(engine, manifest.history())?;
            }
            (None, Some(_)) => {
                beside(engine, |_, history| feed.check(engine, history).map(drop))?;
            }
            (None, None) => return Err(keeps_no_log(engine)),
        }
        Ok(feed)
    }

    /// The last commit that was given.
    pub(crate) fn last(&self) -> SeqNo {
        self.place.last
    }

    /// Whether there may be more that was there when it was asked last.
    pub(crate) fn is_cut(&self) -> bool {
        self.place.is_cut
    }

    /// What comes next, about so many bytes of it, and one commit at least where there is one.
    ///
    /// # Errors
    /// `HistoryLost` where a commit is not kept any more that comes next.
    pub(crate) fn poll(
        &mut self,
        engine: &Engine,
        bytes_max: usize,
    ) -> Result<Vec<CommittedChanges>> {
        engine.check_open()?;
        let (place, found) = match (own_manifest(engine), &engine.follower) {
            (Some(manifest), _) => self.poll_own(engine, manifest, bytes_max)?,
            (None, Some(_)) => {
                let read =
                    |_: &_, history: Option<&History>| self.poll_beside(engine, history, bytes_max);
                beside(engine, read)?.ok_or_else(|| engine.lost(self.place.last, None))?
            }
            (None, None) => return Err(keeps_no_log(engine)),
        };
        self.place = place;
        Ok(found.into_iter().map(|(commit, _)| commit).collect())
    }

    fn check<'a>(&self, engine: &Engine, history: Option<&'a History>) -> Result<&'a History> {
        let last = self.place.last;
        let history = history.ok_or_else(|| engine.lost(last, None))?;
        match history.has_all_behind(last) {
            true => Ok(history),
            false => Err(engine.lost(last, Some(history.oldest()))),
        }
    }

    /// Of the store that this process writes.
    fn poll_own(
        &self,
        engine: &Engine,
        manifest: &Mutex<ManifestLog>,
        bytes_max: usize,
    ) -> Result<Read> {
        let locked = manifest.lock();
        let history = self.check(engine, locked.history())?;
        let _held = engine.past.hold();
        // With the manifest locked nothing goes to runs: what is not told of up to here is in the log.
        let through = engine.core.lock().last_seq;
        let manifest_path = engine.dir.join(MANIFEST_NAME);
        let mut known = None;
        let mut handle_of = |stream: &Arc<Stream>, meta: &RunMeta| {
            let known = known.get_or_insert_with(|| known_runs(engine));
            past_handle(engine, known, stream, meta)
        };
        let Place { last, seen, .. } = self.place;
        let told = Told::behind(last, seen, history, &manifest_path, &mut handle_of)?;
        let log_from = history.log_behind(last);
        drop(locked);
        let is_shared =
            bytes_max <= recent::BYTES_MAX && !self.recent.is_of_one() && told.is_empty();
        let _reading = is_shared.then(|| self.recent.read_alone());
        // None behind what was looked for in the history: what is told there comes first.
        if is_shared && let Some(found) = self.recent.between(last, through, bytes_max) {
            return Ok(self.given(found, log_from, bytes_max));
        }
        let find = |stream, version| match manifest.lock().history() {
            Some(history) => stream_of(history, &manifest_path, stream, Some(version)),
            None => Ok(None),
        };
        let log = Log { io: &engine.io, floor: log_from, through };
        let (place, found) = self.read(engine, &log, told, &find, bytes_max)?;
        if is_shared {
            self.share(&place, &found);
        }
        Ok((place, found))
    }

    /// What somebody else has read.
    fn given(&self, found: Found, log_from: WalId, bytes_max: usize) -> Read {
        let Found { commits, position, bytes } = found;
        // One of a segment that is let go of since is none.
        let position = position.or(self.place.position);
        let position = position.filter(|position| position.segment >= log_from);
        let last = commits.last().map_or(self.place.last, |(commit, _)| commit.seq);
        (Place { last, position, is_cut: bytes >= bytes_max, ..self.place }, commits)
    }

    /// Leaves what was read to others who follow.
    fn share(&self, place: &Place, found: &[Counted]) {
        let is_of_log = |(commit, _): &Counted| commit.changes.iter().all(StreamChange::is_of_log);
        if let Some(end) = place.position
            && found.iter().all(is_of_log)
        {
            self.recent.keep(self.place.last, found, end);
        }
    }

    /// Beside a writer that may be alive.
    fn poll_beside(
        &self,
        engine: &Engine,
        history: Option<&History>,
        bytes_max: usize,
    ) -> Result<Read> {
        let history = self.check(engine, history)?;
        let manifest_path = engine.dir.join(MANIFEST_NAME);
        let mut handle_of = |stream: &Arc<Stream>, meta: &RunMeta| -> Result<Arc<RunHandle>> {
            let handle = engine.folder.handle(stream, meta.clone())?;
            // What is mapped may go meanwhile.
            handle.blocks()?;
            Ok(handle)
        };
        let Place { last, seen, .. } = self.place;
        let told = Told::behind(last, seen, history, &manifest_path, &mut handle_of)?;
        let find = |stream, version| stream_of(history, &manifest_path, stream, Some(version));
        let floor = history.log_behind(last);
        let log = Log { io: &engine.io, floor, through: SeqNo(u64::MAX) };
        self.read(engine, &log, told, &find, bytes_max)
    }

    fn read(
        &self,
        engine: &Engine,
        log: &Log<'_>,
        told: Told,
        find: &FindStream<'_>,
        bytes_max: usize,
    ) -> Result<Read> {
        let (dir, store_id) = (engine.dir.join(WAL_DIR), engine.folder.store_id);
        let (floor, position) = (log.floor, self.place.position);
        let mut reader =
            WalReader::open(log.io, &dir, store_id, ReadMode::Follower, floor, position)?;
        reader.read_past(log.through);
        let (place, found) = (self.place, Vec::new());
        let mut merged = Merged { engine, place, told, found, bytes: 0, bytes_max };
        loop {
            if merged.is_enough() {
                merged.place.position = Some(reader.position());
                return Ok(merged.end());
            }
            let before = reader.position();
            let Some(record) = reader.next_record()? else { break };
            if record.seq <= merged.place.last {
                continue;
            }
            if !merged.reaches(record.seq)? {
                merged.place.position = Some(before);
                return match merged.found.is_empty() {
                    true => Err(engine.lost(merged.place.last, None)),
                    false => Ok(merged.end()),
                };
            }
            let mut entries = RecordEntries { record: &record, layouts: &self.layouts, find };
            let (commit, rewritten) = entries.commit()?;
            merged.push(commit, &rewritten, record.payload.len())?;
        }
        merged.place.position = Some(reader.position());
        merged.reaches(SeqNo(u64::MAX))?;
        Ok(merged.end())
    }
}

impl Drop for Feed {
    fn drop(&mut self) {
        // Whoever is left reads alone.
        if Arc::strong_count(&self.recent) <= 3 {
            self.recent.clear();
        }
    }
}

/// Of which commits the log is read.
struct Log<'a> {
    io: &'a Io,
    floor: WalId,
    through: SeqNo,
}

/// Commits of the log and what edits tell, in one order.
struct Merged<'a> {
    engine: &'a Engine,
    place: Place,
    told: Told,
    found: Vec<Counted>,
    bytes: usize,
    bytes_max: usize,
}

impl Merged<'_> {
    fn is_enough(&self) -> bool {
        self.bytes >= self.bytes_max
    }

    /// Gives all that comes before a commit; false where some of it is not there, or for now is enough.
    fn reaches(&mut self, seq: SeqNo) -> Result<bool> {
        loop {
            self.events();
            let next = self.place.last.next();
            if next == seq {
                return Ok(true);
            }
            let enough = self.is_enough();
            let Some(told) = self.told.commits.remove(&next).filter(|_| !enough) else {
                return Ok(false);
            };
            self.push(told.commit, &told.rewritten, 0)?;
        }
    }

    /// Gives what is no commit and comes before the next one.
    fn events(&mut self) {
        let last = self.place.last;
        while let Some(told) = self.told.events.pop_front_if(|told| told.event.seq <= last) {
            self.place.seen = Some(told.stamp);
            self.bytes += COMMIT_BYTES;
            self.found.push((told.event, COMMIT_BYTES));
        }
    }

    fn push(
        &mut self,
        mut commit: CommittedChanges,
        rewritten: &[StreamId],
        bytes: usize,
    ) -> Result<()> {
        for stream in rewritten {
            self.tell_gone(&mut commit, *stream)?;
        }
        self.place.last = commit.seq;
        let bytes = bytes + COMMIT_BYTES;
        self.bytes += bytes;
        self.found.push((commit, bytes));
        Ok(())
    }

    /// Tells of the rows of a stream that were deleted, in place of ranges and of rows that stay.
    fn tell_gone(&self, commit: &mut CommittedChanges, id: StreamId) -> Result<()> {
        let all = std::mem::take(&mut commit.changes);
        let (of_stream, others): (Vec<_>, Vec<_>) =
            all.into_iter().partition(|change| change.stream.id() == id);
        commit.changes = others;
        let ranges: Vec<_> = of_stream.iter().filter_map(StreamChange::range).collect();
        let is_row = |change: &StreamChange| change.kind == ChangeKind::Inserted;
        let stay: Vec<_> = of_stream.into_iter().filter(is_row).collect();
        let mut core = core_at(self.engine, SeqNo(commit.seq.0.saturating_sub(1)))?;
        let slot = core.slot_of(id)?;
        let stream = Arc::clone(&core.streams[slot].stream);
        let snapshot = core.snapshot();
        let before = Before { stream: Arc::clone(&stream), snapshot, ranges, stay };
        let (kind, range, content) = (ChangeKind::DeletedRows, None, Content::Rewritten(before));
        commit.changes.insert(0, StreamChange { stream, kind, range, content });
        Ok(())
    }

    fn end(mut self) -> Read {
        self.place.is_cut = self.is_enough();
        (self.place, self.found)
    }
}

/// Finds a stream with a version of its columns.
type FindStream<'a> = dyn Fn(StreamId, u16) -> Result<Option<Arc<Stream>>> + 'a;

/// The entries of one commit's record.
struct RecordEntries<'a> {
    record: &'a WalRecord<'a>,
    layouts: &'a Layouts,
    find: &'a FindStream<'a>,
}

impl RecordEntries<'_> {
    /// The changes, and the streams of which only rows that stay were added.
    fn commit(&mut self) -> Result<(CommittedChanges, Vec<StreamId>)> {
        let WalRecord { seq, time_ms, payload, path, payload_offset, .. } = *self.record;
        let (mut changes, mut rewritten) = (Vec::new(), Vec::new());
        let path: Arc<Path> = Arc::from(path);
        for entry in Entries::new(payload) {
            let entry = entry.map_err(|error| Error::decode(&path, payload_offset, error))?;
            let layout = self.layout(&entry)?;
            let offset = payload_offset + entry.body_offset as u64;
            let stream = Arc::clone(&layout.stream);
            let of = |kind, content| StreamChange { stream, kind, range: None, content };
            match entry.kind {
                EntryKind::Rewritten => rewritten.push(entry.stream),
                EntryKind::DeleteRange => {
                    let range = decode_range(entry.body)
                        .map_err(|error| Error::decode(&path, offset, error))?;
                    let kind = ChangeKind::DeletedRange;
                    changes.push(StreamChange::of_range(layout.stream.clone(), kind, range));
                }
                EntryKind::Batch => self.batch(&entry, &layout, &path, offset, &mut changes)?,
                EntryKind::Rows | EntryKind::DeleteKeys => {
                    let what = match entry.kind {
                        EntryKind::DeleteKeys => ChangeKind::DeletedKeys,
                        _ => ChangeKind::Inserted,
                    };
                    let (kind, body) = (entry.kind, self.keep(entry.body));
                    let path = Arc::clone(&path);
                    let encoded = EncodedEntry { kind, layout, body, path, offset };
                    changes.push(of(what, Content::Encoded(encoded)));
                }
            }
        }
        Ok((CommittedChanges { seq, time_ms, changes }, rewritten))
    }

    fn batch(
        &self,
        entry: &EntryRef<'_>,
        layout: &EntryLayout,
        path: &Path,
        offset: u64,
        changes: &mut Vec<StreamChange>,
    ) -> Result<()> {
        let stream = &layout.stream;
        let stored = decode_batch(&self.keep(entry.body), stream.stored_schema())
            .map_err(|error| Error::decode(path, offset, error))?;
        let kinds: &[ChangeKind] = match marked(stream, &stored) {
            Marked::None => &[ChangeKind::Inserted],
            Marked::All => &[ChangeKind::DeletedKeys],
            Marked::Some => &[ChangeKind::DeletedKeys, ChangeKind::Inserted],
        };
        for kind in kinds {
            let part = part_of(stream, &stored, *kind == ChangeKind::DeletedKeys)?;
            let (stream, content) = (Arc::clone(stream), Content::Batch(part));
            changes.push(StreamChange { stream, kind: *kind, range: None, content });
        }
        Ok(())
    }

    /// Bytes of the record for as long as they are wanted.
    fn keep(&self, part: &[u8]) -> Bytes {
        match part.len() < SHARED_BYTES_MIN {
            true => Bytes::copy_from_slice(part),
            false => self.record.share(part),
        }
    }

    fn layout(&self, entry: &EntryRef<'_>) -> Result<Arc<EntryLayout>> {
        let at = (entry.stream, entry.schema_version);
        if let Some(layout) = self.layouts.lock().get(&at) {
            return Ok(Arc::clone(layout));
        }
        let Some(stream) = (self.find)(at.0, at.1)? else {
            let message = format!(
                "a commit to stream {} with version {} of its columns, of which nothing is known",
                at.0, at.1
            );
            let WalRecord { path, payload_offset, .. } = *self.record;
            return Err(Error::corruption(path, payload_offset, message));
        };
        let layout = Arc::new(EntryLayout::new(stream));
        self.layouts.lock().insert(at, Arc::clone(&layout));
        Ok(layout)
    }
}

/// The manifest of a store that this process writes, if it has a log.
fn own_manifest(engine: &Engine) -> Option<&Mutex<ManifestLog>> {
    engine.manifest.as_ref().filter(|_| engine.wal.is_some())
}

fn not_made(since: SeqNo, last_seq: SeqNo) -> Error {
    let message = format!("commit {since} has not been made: the last one is {last_seq}");
    Error::new(ErrorKind::InvalidArgument, message)
}

fn keeps_no_log(engine: &Engine) -> Error {
    let message = match engine.moment {
        Some(seq) => format!(
            "this is the store as of commit {seq}: what comes behind it is told by the store itself"
        ),
        None => "a store in memory keeps no log, and so tells nobody of its changes".to_owned(),
    };
    Error::new(ErrorKind::InvalidArgument, message)
}
