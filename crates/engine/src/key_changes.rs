//! Which keys have changed lately, for commits that are made only if a key has not.
//!
//! No row says which commit it is of: a run, and a chunk of a memtable, know the commits of all their rows together. So once somebody
//! asks for a key of a stream, the keys that its later commits change are noted, in memory and up to a bound. What was before that is
//! not known, and whoever asks about it is told so.
//!
//! ```text
//!    commits that changed the stream    ... 17   21   30  |  34   35   41
//!                                                         noted from here on
//!
//!    unchanged since 30?  by the keys of 34, 35 and 41
//!    unchanged since 21?  not known: a conflict
//! ```

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::RecordBatch;
use timestrata_format::{KeyRange, LeadKey, SeqNo};

use crate::key::lead_key_of;
use crate::wal::RowLayout;
use crate::{Cell, ErrorKind, Result, Stream};

/// Memory for the keys of a stream; with more, all are forgotten.
const BYTES_MAX: usize = 4 << 20;
/// What a key takes beside its bytes, about.
const KEY_BYTES: usize = 48;
const RANGES_MAX: usize = 1 << 10;
/// Of larger batches the keys are not noted: that would be done under the lock that all commits take.
const BATCH_ROWS_MAX: usize = 4 << 10;

/// A key that must not have changed since a commit.
#[derive(Debug, Clone)]
pub(crate) struct UnchangedKey {
    pub(crate) stream: Arc<Stream>,
    /// `None`: the keys of the stream are to be noted from the commit on, and none is asked for.
    key: Option<SoughtKey>,
}

#[derive(Debug, Clone)]
struct SoughtKey {
    /// As [`RowLayout::of_key_fields`] writes it.
    bytes: Box<[u8]>,
    lead: LeadKey,
    since: SeqNo,
}

impl UnchangedKey {
    /// Has the keys of a stream noted.
    pub(crate) fn none_of(stream: &Arc<Stream>) -> Self {
        Self { stream: Arc::clone(stream), key: None }
    }

    /// # Errors
    /// `InvalidArgument` where the stream keeps every row, or has a key that cells can't express; `InvalidData` if the cells are no key.
    pub(crate) fn new(stream: &Arc<Stream>, cells: &[Cell<'_>], since: SeqNo) -> Result<Self> {
        if !stream.is_latest() {
            let why = "it keeps every row, so that no row of a key is replaced: there is none to be unchanged";
            return Err(stream.spec().error(ErrorKind::InvalidArgument, why));
        }
        let mut bytes = Vec::new();
        RowLayout::of_key_fields(stream)?.encode(cells, &mut bytes)?;
        let lead = cells.first().and_then(|cell| lead_key_of(stream.lead_kind(), *cell));
        let lead = lead.ok_or_else(|| {
            stream.spec().error(ErrorKind::InvalidData, "the first cell of a key is no leading key")
        })?;
        let key = SoughtKey { bytes: bytes.into(), lead, since };
        Ok(Self { stream: Arc::clone(stream), key: Some(key) })
    }

    /// An error if it is to be what it was at a commit after the last one: of that nothing could ever be later.
    ///
    /// # Errors
    /// `InvalidArgument`: the number is another store's, or no commit's at all.
    pub(crate) fn check_is_past(&self, last: SeqNo) -> Result<()> {
        match &self.key {
            Some(SoughtKey { since, .. }) if *since > last => {
                let why = format!(
                    "the key is to be unchanged since commit {since}, and the last one so far is {last}: give the last \
                     commit from before the key was read"
                );
                Err(self.stream.spec().error(ErrorKind::InvalidArgument, why))
            }
            _ => Ok(()),
        }
    }

    /// An error unless it is of this stream, which has its id.
    ///
    /// # Errors
    /// `InvalidArgument` where it is of a stream of another store.
    pub(crate) fn check_is_of(&self, stream: &Stream) -> Result<()> {
        match stream.key_fields().eq(self.stream.key_fields()) {
            true => Ok(()),
            false if stream.time_unit_ns() != self.stream.time_unit_ns() => {
                Err(stream.has_been_altered())
            }
            false => Err(stream.spec().error(
                ErrorKind::InvalidArgument,
                "the key is of a stream of another store: take this store's",
            )),
        }
    }
}

/// The keys of one stream that have changed, by the last commit that changed each.
#[derive(Debug)]
pub(crate) struct KeyChanges {
    layout: RowLayout,
    /// All changes of later commits are noted.
    known_from: SeqNo,
    keys: HashMap<Box<[u8]>, SeqNo>,
    ranges: Vec<(KeyRange, SeqNo)>,
    bytes: usize,
    scratch: Vec<u8>,
}

impl KeyChanges {
    /// None yet, of a stream that was not changed after a commit.
    ///
    /// # Errors
    /// `InvalidArgument` for a key that cells can't express.
    pub(crate) fn new(stream: &Stream, known_from: SeqNo) -> Result<Self> {
        Ok(Self {
            layout: RowLayout::of_key_fields(stream)?,
            known_from,
            keys: HashMap::new(),
            ranges: Vec::new(),
            bytes: 0,
            scratch: Vec::new(),
        })
    }

    /// Notes a row of the stream's schema.
    pub(crate) fn note_row(&mut self, stream: &Stream, seq: SeqNo, cells: &[Cell<'_>]) {
        let cell = |column: &usize| cells.get(*column).copied().unwrap_or(Cell::Null);
        let keys: Vec<Cell<'_>> = stream.key_columns().iter().map(cell).collect();
        self.note_key(seq, &keys);
    }

    /// Notes a key that is written or deleted.
    pub(crate) fn note_key(&mut self, seq: SeqNo, keys: &[Cell<'_>]) {
        let mut key = std::mem::take(&mut self.scratch);
        key.clear();
        match self.layout.encode(keys, &mut key) {
            Ok(()) => self.note(seq, &key),
            // A key that was checked is one. If not, nothing is known.
            Err(_) => self.forget(seq),
        }
        self.scratch = key;
    }

    /// Notes the rows of a batch that has the stream's columns at their places.
    pub(crate) fn note_batch(&mut self, stream: &Stream, seq: SeqNo, rows: &RecordBatch) {
        if rows.num_rows() > BATCH_ROWS_MAX {
            return self.forget(seq);
        }
        let mut keys = Vec::with_capacity(stream.key_columns().len());
        for row in 0..rows.num_rows() {
            keys.clear();
            for column in stream.key_columns() {
                let cell = rows.columns().get(*column).and_then(|column| Cell::of(column, row));
                let Some(cell) = cell else { return self.forget(seq) };
                keys.push(cell);
            }
            self.note_key(seq, &keys);
        }
    }

    /// Notes that rows of a range were deleted.
    pub(crate) fn note_range(&mut self, seq: SeqNo, range: KeyRange) {
        if self.ranges.len() >= RANGES_MAX {
            return self.forget(seq);
        }
        self.ranges.push((range, seq));
    }

    /// Forgets all that was noted: a commit has changed nobody knows what.
    pub(crate) fn forget(&mut self, seq: SeqNo) {
        self.known_from = seq;
        self.keys.clear();
        self.ranges.clear();
        self.bytes = 0;
    }

    fn note(&mut self, seq: SeqNo, key: &[u8]) {
        if let Some(last) = self.keys.get_mut(key) {
            *last = seq;
            return;
        }
        self.bytes += key.len() + KEY_BYTES;
        if self.bytes > BYTES_MAX {
            return self.forget(seq);
        }
        self.keys.insert(key.into(), seq);
    }

    /// Whether a key is what it was.
    ///
    /// # Errors
    /// `Conflict` if it has changed, or that is not known.
    pub(crate) fn check(&self, key: &UnchangedKey) -> Result<()> {
        let Some(SoughtKey { bytes, lead, since }) = &key.key else { return Ok(()) };
        let conflict = |why: String| Err(key.stream.spec().error(ErrorKind::Conflict, why));
        if *since < self.known_from {
            return conflict(format!(
                "whether the key has changed since commit {since} is not known: keys are noted from commit {} on. Read \
                 it again, and try again",
                self.known_from
            ));
        }
        let ranges = self.ranges.iter().filter(|(range, _)| range.contains(*lead));
        let changes = self.keys.get(bytes).into_iter().chain(ranges.map(|(_, seq)| seq));
        match changes.max().filter(|seq| *seq > since) {
            None => Ok(()),
            Some(seq) => {
                conflict(format!("the key was changed by commit {seq}, after commit {since}"))
            }
        }
    }
}
