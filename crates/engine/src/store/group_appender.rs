//! A few rows of several streams in one commit: the fast path, without a batch for any.

use std::sync::Arc;

use timestrata_format::SeqNo;
use timestrata_format::wal::EntryKind;

use super::appender::{altered, end_commit};
use super::handle::Handle;
use crate::memtable::{check_keys, check_row};
use crate::state::{Engine, Slot, StoreState};
use crate::wal::{RowLayout, RowRecord};
use crate::{Cell, Durability, Error, ErrorKind, Result, Stream};

/// One change that a [`GroupAppender`] makes. The number is the place of its stream among those of
/// the appender.
///
/// ```
/// use timestrata_engine::{Cell, RowChange};
///
/// let row = [Cell::UInt(7), Cell::Text("seven")];
/// let changes = [RowChange::Put(0, &row), RowChange::DeleteKey(1, &row[..1])];
/// assert_eq!(changes.map(|change| change.place()), [0, 1]);
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum RowChange<'a> {
    /// Adds a row: one cell a column of the schema, in its order.
    Put(usize, &'a [Cell<'a>]),
    /// Deletes a key of a stream that keeps the latest row a key: one cell a key column, in key order.
    DeleteKey(usize, &'a [Cell<'a>]),
}

impl RowChange<'_> {
    /// The place of the stream among those of the appender.
    pub fn place(&self) -> usize {
        match self {
            Self::Put(place, _) | Self::DeleteKey(place, _) => *place,
        }
    }
}

/// Commits a few rows of several streams together, without a batch for any of them.
///
/// ```
/// # use std::sync::Arc;
/// # use arrow_schema::{DataType, Field, Schema};
/// use timestrata_engine::{Cell, Durability, KeyRange, Merge, RowChange, Settings, Store, StreamSpec};
///
/// # fn main() -> timestrata_engine::Result<()> {
/// # let store = Store::memory(Settings::default())?;
/// # let keyed = |name, value| {
/// #     let fields = vec![Field::new("id", DataType::UInt64, false), value];
/// #     let spec = StreamSpec::new(name, Arc::new(Schema::new(fields)));
/// #     store.create_stream(StreamSpec { merge: Merge::Latest, ..spec })
/// # };
/// # let names = keyed("names", Field::new("name", DataType::Utf8, true))?;
/// # let ages = keyed("ages", Field::new("age", DataType::UInt8, true))?;
/// // Two streams that keep the latest row of each `id`.
/// let mut people = store.group_appender(&[names, ages])?;
/// let name = [Cell::UInt(7), Cell::Text("Ada")];
/// let age = [Cell::UInt(7), Cell::UInt(36)];
/// people.commit(&[RowChange::Put(0, &name), RowChange::Put(1, &age)], Durability::Written)?;
/// // Gone from both or from none.
/// let id = [Cell::UInt(7)];
/// people.commit(&[RowChange::DeleteKey(0, &id), RowChange::DeleteKey(1, &id)], Durability::Synced)?;
/// assert_eq!(store.snapshot()?.count(names, &KeyRange::ALL)?, 0);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct GroupAppender {
    handle: Arc<Handle>,
    targets: Vec<Target>,
    record: RowRecord,
}

/// A stream that is written to.
#[derive(Debug)]
struct Target {
    stream: Arc<Stream>,
    slot: Slot,
    rows: RowLayout,
    /// `None` where no key can be deleted.
    keys: Option<RowLayout>,
}

impl Target {
    fn new(stream: Arc<Stream>, slot: Slot) -> Result<Self> {
        let rows = RowLayout::of(stream.schema())?;
        let keys = stream.is_latest().then(|| RowLayout::of_keys(&stream)).transpose()?;
        Ok(Self { stream, slot, rows, keys })
    }

    /// Writes down one change, as the log has it.
    fn encode(&self, change: &RowChange<'_>, out: &mut Vec<u8>) -> Result<()> {
        // The check is made for what it says of a cell that doesn't fit.
        let encoded = match (change, &self.keys) {
            (RowChange::Put(_, cells), _) => self.rows.encode(cells, out),
            (RowChange::DeleteKey(_, keys), Some(layout)) => layout.encode(keys, out),
            (RowChange::DeleteKey(..), None) => return self.check(change),
        };
        encoded.or_else(|error| self.check(change).and(Err(error)))
    }

    fn check(&self, change: &RowChange<'_>) -> Result<()> {
        match change {
            RowChange::Put(_, cells) => check_row(&self.stream, cells),
            RowChange::DeleteKey(_, keys) => check_keys(&self.stream, keys),
        }
    }
}

impl GroupAppender {
    pub(super) fn new(
        handle: Arc<Handle>,
        streams: impl Iterator<Item = (Arc<Stream>, Slot)>,
    ) -> Result<Self> {
        let targets = streams.map(|(stream, slot)| Target::new(stream, slot));
        Ok(Self { handle, targets: targets.collect::<Result<_>>()?, record: RowRecord::new() })
    }

    /// Commits changes, in their order, all or none. No two may be of one key.
    ///
    /// # Errors
    /// `InvalidArgument` for no changes, a place that no stream has, and a key to delete of a stream that
    /// keeps every row; else as [`RowAppender::append`](crate::RowAppender::append).
    pub fn commit(&mut self, changes: &[RowChange<'_>], durability: Durability) -> Result<SeqNo> {
        let placed = self.place(changes, durability == Durability::Synced);
        end_commit(&self.handle.engine, placed, durability)
    }

    /// As [`commit`](Self::commit), but the sync of [`Durability::Synced`] is left to the caller, who lets go of a lock of
    /// its own and then calls [`crate::Store::sync_through`] at once.
    ///
    /// # Errors
    /// As [`commit`](Self::commit).
    pub fn commit_leaving_sync(
        &mut self,
        changes: &[RowChange<'_>],
        durability: Durability,
    ) -> Result<SeqNo> {
        let placed = self.place(changes, durability == Durability::Synced);
        end_commit(&self.handle.engine, placed, durability.without_sync())
    }

    /// Gives changes their place in the order of commits; and whether a flush is due.
    fn place(&mut self, changes: &[RowChange<'_>], to_sync: bool) -> Result<(SeqNo, bool)> {
        let (encoded, mut core) = loop {
            let encoded = self.encode(changes);
            let engine: &Engine = &self.handle.engine;
            let core = match &encoded {
                Ok(()) => engine.lock_with_room(self.record.payload().len() as u64)?,
                Err(_) => engine.core.lock(),
            };
            if !follow(&mut self.targets, &core)? {
                break (encoded, core);
            }
        };
        encoded?;
        let engine: &Engine = &self.handle.engine;
        let seq = core.last_seq.next();
        if let Some(wal) = &engine.wal {
            wal.append_rows(seq, &mut self.record, to_sync)
                .map_err(|error| engine.refused_by_log(&mut core, seq, error))?;
        }
        core.last_seq = seq;
        crate::planted::placed(seq);
        for change in changes {
            apply(&mut core, self.targets[change.place()].slot, seq, change);
        }
        // Only now, as for all commits that change more than one stream.
        let mut flush_due = engine.seal_for_wal(&mut core);
        for target in &self.targets {
            flush_due |= engine.seal_if_full(&mut core, target.slot);
        }
        Ok((seq, flush_due))
    }

    /// Checks changes and makes their record, where there is a log. Nothing is locked for that.
    fn encode(&mut self, changes: &[RowChange<'_>]) -> Result<()> {
        let Self { handle, targets, record } = self;
        let target = |place: usize| {
            targets.get(place).ok_or_else(|| {
                let streams = targets.len();
                let message = format!("a change of stream {place} of an appender of {streams}");
                Error::new(ErrorKind::InvalidArgument, message)
            })
        };
        if changes.is_empty() {
            let message = "a commit of no changes; give at least one";
            return Err(Error::new(ErrorKind::InvalidArgument, message));
        }
        if handle.engine.wal.is_none() {
            return changes.iter().try_for_each(|change| target(change.place())?.check(change));
        }
        record.begin();
        for alike in changes.chunk_by(|one, next| one.entry() == next.entry()) {
            let Some((place, kind)) = alike.first().map(RowChange::entry) else { continue };
            let target = target(place)?;
            record.add(kind, &target.stream, |out| {
                alike.iter().try_for_each(|change| target.encode(change, out))
            })?;
        }
        record.end();
        Ok(())
    }
}

impl RowChange<'_> {
    /// What tells those apart that share an entry of the log.
    fn entry(&self) -> (usize, EntryKind) {
        match self {
            Self::Put(place, _) => (*place, EntryKind::Rows),
            Self::DeleteKey(place, _) => (*place, EntryKind::DeleteKeys),
        }
    }
}

/// Goes on with other columns, where a stream has got some; and whether one has.
fn follow(targets: &mut [Target], core: &StoreState) -> Result<bool> {
    let mut has_followed = false;
    for target in targets {
        if let Some(stream) = altered(core, target.slot, &target.stream)? {
            *target = Target::new(stream, target.slot)?;
            has_followed = true;
        }
    }
    Ok(has_followed)
}

/// Applies a change that has been logged.
fn apply(core: &mut StoreState, slot: Slot, seq: SeqNo, change: &RowChange<'_>) {
    core.touch(slot);
    let state = &mut core.streams[slot];
    match (change, &mut state.key_changes) {
        (RowChange::Put(_, cells), _) => state.note_row(seq, cells),
        (RowChange::DeleteKey(_, keys), Some(changes)) => changes.note_key(seq, keys),
        (RowChange::DeleteKey(..), None) => {}
    }
    let active = &mut state.active;
    let before = active.bytes();
    match change {
        RowChange::Put(_, cells) => active.append_row(seq, cells),
        RowChange::DeleteKey(_, keys) => active.delete_key(seq, keys),
    }
    let grown = active.bytes().saturating_sub(before);
    core.grow(slot, grown as u64);
}
