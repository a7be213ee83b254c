//! Going from record to record.

use std::ops::Range;

use timestrata_format::SeqNo;
use timestrata_format::wal::{RecordHeader, RecordKind};

use super::{
    Error, FIRST_COMMIT_OFFSET, ReadMode, Result, START_OFFSET, SegmentCursor, WalId, WalReader,
    WalRecord, moved_on, segment_path,
};

impl WalReader {
    pub(super) fn open_segment(&self, id: WalId) -> Result<SegmentCursor> {
        let path = segment_path(&self.dir, id);
        match SegmentCursor::open(&self.io, path, self.store_id, id) {
            Ok(Some(mut cursor)) => {
                cursor.windows.clone_from(&self.windows);
                Ok(cursor)
            }
            Ok(None) => Err(self.moved_on(id)),
            // Renamed and used again between the listing and the opening.
            Err(_) if self.mode == ReadMode::Follower && !self.still_there(id)? => {
                Err(self.moved_on(id))
            }
            Err(error) => Err(error),
        }
    }

    fn still_there(&self, id: WalId) -> Result<bool> {
        let path = segment_path(&self.dir, id);
        self.io.disk.exists(&path).map_err(|source| Error::io("look for", &path, source))
    }

    /// The whole record at the present place, if there is one.
    pub(super) fn read(&mut self) -> Result<Option<RecordHeader>> {
        let Some(cursor) = &mut self.cursor else { return Ok(None) };
        let Some(header) = cursor.record(self.offset)? else { return Ok(None) };
        self.synced = self.synced.max(header.synced_through);
        let starts = header.kind == RecordKind::Start;
        if starts == (self.offset == START_OFFSET) {
            return Ok(Some(header));
        }
        let message = "a start record that is not the first, or a first that is none";
        Err(Error::corruption(&cursor.path, self.offset, message))
    }

    /// Goes past commits that lie whole and right in the window that the last record is in, one behind the other, `most` at
    /// most: what nearly all of a log is. Gives where in the window each of their payloads is. Whatever stands behind them
    /// [`WalReader::next_record`] has a word for.
    pub(super) fn pass_commits(
        &mut self,
        most: usize,
        mut each: impl FnMut(&RecordHeader, Range<usize>),
    ) {
        let (Some(cursor), Some((mut last, id))) = (&self.cursor, self.last) else { return };
        if id != cursor.id || self.finished {
            return;
        }
        let through = self.through.unwrap_or(SeqNo(u64::MAX));
        for _ in 0..most {
            let Some((header, payload)) = cursor.in_window(self.offset) else { break };
            let follows = header.seq > last && header.seq <= through;
            if header.kind != RecordKind::Commit || !follows {
                break;
            }
            last = header.seq;
            each(&header, payload);
            self.synced = self.synced.max(header.synced_through);
            self.time_ms = self.time_ms.max(header.time_ms.unwrap_or(0));
            self.offset += header.record_bytes();
            self.bytes_read += header.record_bytes();
        }
        self.last = Some((last, id));
    }

    /// Takes a commit's record and goes behind it.
    pub(super) fn commit(&mut self, header: &RecordHeader) -> Result<WalRecord<'_>> {
        let Some(cursor) = &mut self.cursor else { return Err(moved_on(&self.dir, self.floor)) };
        if let Some((last, _)) = self.last
            && header.seq <= last
        {
            let message = format!("commit {} stands behind commit {last}", header.seq);
            return Err(Error::corruption(&cursor.path, self.offset, message));
        }
        let payload = cursor.payload(self.offset, header)?;
        let payload_offset = self.offset + header.payload_offset();
        self.last = Some((header.seq, cursor.id));
        self.time_ms = self.time_ms.max(header.time_ms.unwrap_or(0));
        self.offset += header.record_bytes();
        self.bytes_read += header.record_bytes();
        Ok(WalRecord {
            seq: header.seq,
            time_ms: header.time_ms,
            payload: cursor.window.get(payload).unwrap_or_default(),
            path: &cursor.path,
            payload_offset,
            memory: &cursor.window,
        })
    }

    /// Goes past a record without a payload.
    pub(super) fn pass_mark(&mut self, header: &RecordHeader) -> Result<()> {
        let Some(cursor) = &mut self.cursor else { return Err(self.moved_on(self.floor)) };
        if header.kind == RecordKind::Start {
            // Only of the very first segment: later ones are entered behind theirs.
            let previous_id = cursor.previous_id(self.offset, header)?;
            self.last = Some((header.seq, previous_id));
            self.offset = FIRST_COMMIT_OFFSET;
            return Ok(());
        }
        let ended = cursor.id;
        if header.kind == RecordKind::Synced && self.last.is_some_and(|(seq, _)| seq == header.seq)
        {
            self.offset += header.record_bytes();
            return Ok(());
        }
        if self.last.map_or(0, |(seq, _)| seq.0) != header.seq.0 {
            let message = format!("commit {} is missing before this mark", header.seq);
            return Err(Error::corruption(&cursor.path, self.offset, message));
        }
        if !self.segments.contains(&ended.next()) {
            self.list()?;
        }
        if !self.segments.contains(&ended.next()) {
            let path = segment_path(&self.dir, ended.next());
            let message = format!("log segment {} is missing: {ended} was full", ended.next());
            return Err(match self.mode {
                ReadMode::Recovery => Error::corruption(&path, 0, message),
                ReadMode::Follower => self.moved_on(ended.next()),
            });
        }
        self.stop_or_go_on()
    }
}
