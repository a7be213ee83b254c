//! What the edits of a manifest add up to.

use std::collections::{BTreeMap, BTreeSet};

use timestrata_format::manifest::{ManifestOp, Pin, StreamDefinition, VersionEdit};
use timestrata_format::{KeyRange, LeadKey, RunId, RunMeta, SeqNo, StreamId, Tombstone, WalId};

use crate::tombstones::Tombstones;

/// One stream as the manifest knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StreamEntry {
    pub(crate) definition: StreamDefinition,
    pub(crate) runs: BTreeMap<RunId, RunMeta>,
    /// Range deletes, in the order of commits, and how often each was added.
    tombstones: BTreeMap<TombstoneKey, u32>,
    pub(crate) flushed_through: SeqNo,
}

/// Commit and ends of a range delete, so that one is found among many.
type TombstoneKey = (SeqNo, Option<LeadKey>, Option<LeadKey>);

fn key_of(tombstone: &Tombstone) -> TombstoneKey {
    (tombstone.seq, tombstone.range.lo, tombstone.range.hi)
}

impl StreamEntry {
    /// A stream without anything.
    pub(crate) fn new(definition: StreamDefinition) -> Self {
        let (runs, tombstones) = (BTreeMap::new(), BTreeMap::new());
        Self { definition, runs, tombstones, flushed_through: SeqNo::default() }
    }

    /// Range deletes, in the order of commits.
    pub(crate) fn tombstones(&self) -> impl Iterator<Item = Tombstone> {
        self.tombstones.iter().flat_map(|((seq, lo, hi), count)| {
            let tombstone = Tombstone { range: KeyRange { lo: *lo, hi: *hi }, seq: *seq };
            (0..*count).map(move |_| tombstone)
        })
    }

    /// The same for those who read past them.
    pub(crate) fn to_heed(&self) -> Tombstones {
        Tombstones::of(self.tombstones())
    }

    pub(crate) fn add_tombstone(&mut self, tombstone: Tombstone) {
        *self.tombstones.entry(key_of(&tombstone)).or_default() += 1;
    }

    pub(super) fn forget_tombstones(&mut self) {
        self.tombstones.clear();
    }

    fn remove_tombstone(&mut self, tombstone: &Tombstone) -> Result<(), String> {
        let key = key_of(tombstone);
        let count = self.tombstones.get_mut(&key);
        let count = count.ok_or_else(|| "no such tombstone to remove".to_owned())?;
        *count -= 1;
        if *count == 0 {
            self.tombstones.remove(&key);
        }
        Ok(())
    }

    /// What makes the range deletes `wanted`, which are all different, out of those there are.
    pub(crate) fn to_tombstones(&self, wanted: &[Tombstone]) -> Vec<ManifestOp> {
        let stream = self.definition.id;
        let kept: BTreeSet<TombstoneKey> = wanted.iter().map(key_of).collect();
        let mut left = self.tombstones.clone();
        let mut ops = Vec::new();
        for tombstone in self.tombstones() {
            let key = key_of(&tombstone);
            let count = left.entry(key).or_default();
            if *count > 1 || !kept.contains(&key) {
                *count -= 1;
                ops.push(ManifestOp::RemoveTombstone { stream, tombstone });
            }
        }
        let new =
            wanted.iter().filter(|tombstone| !self.tombstones.contains_key(&key_of(tombstone)));
        ops.extend(new.map(|tombstone| ManifestOp::AddTombstone { stream, tombstone: *tombstone }));
        ops
    }
}

/// The durable state of a store, WAL excepted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ManifestState {
    pub(crate) streams: BTreeMap<StreamId, StreamEntry>,
    names: BTreeMap<String, StreamId>,
    pub(crate) pins: BTreeMap<String, Pin>,
    /// The last commit that is done, of those who follow by name.
    pub(crate) followers: BTreeMap<String, SeqNo>,
    pub(crate) next_run: RunId,
    pub(crate) next_stream: StreamId,
    pub(crate) wal_floor: WalId,
    /// `Some` if the last edit closed the store in good order.
    pub(crate) closed: Option<SeqNo>,
    /// The last commit that was not in the log.
    committed: SeqNo,
    /// No commit to come has an earlier time, in milliseconds since the epoch.
    pub(crate) time_ms: u64,
}

/// What an edit changes: see [`ManifestState::before`].
#[derive(Debug)]
pub(crate) struct StateBefore {
    streams: Vec<(StreamId, Option<StreamEntry>)>,
    pins: Option<BTreeMap<String, Pin>>,
    followers: Option<BTreeMap<String, SeqNo>>,
    /// What is known of the store as a whole; without streams and pins.
    numbers: ManifestState,
}

/// The stream that an operation changes.
fn stream_of(op: &ManifestOp) -> Option<StreamId> {
    match op {
        ManifestOp::CreateStream(definition) | ManifestOp::AlterStream(definition) => {
            Some(definition.id)
        }
        ManifestOp::AddRun(meta) => Some(meta.stream),
        ManifestOp::DropStream(stream)
        | ManifestOp::RemoveRun { stream, .. }
        | ManifestOp::AddTombstone { stream, .. }
        | ManifestOp::RemoveTombstone { stream, .. }
        | ManifestOp::RefineTimes { stream, .. }
        | ManifestOp::FlushedThrough { stream, .. }
        | ManifestOp::SetRetention { stream, .. } => Some(*stream),
        ManifestOp::AddPin(_)
        | ManifestOp::RemovePin(_)
        | ManifestOp::NextRunId(_)
        | ManifestOp::NextStreamId(_)
        | ManifestOp::WalFloor(_)
        | ManifestOp::Closed { .. }
        | ManifestOp::CommitTime(_)
        | ManifestOp::Committed(_)
        | ManifestOp::Rewritten(_)
        | ManifestOp::Expired(_)
        | ManifestOp::SetFollower { .. }
        | ManifestOp::RemoveFollower(_) => None,
    }
}

/// An error for a run that nobody can have written: whoever plans by its keys would go wrong.
fn check_run(meta: &RunMeta) -> Result<(), String> {
    let of_one_kind = meta.key_min.kind() == meta.key_max.kind();
    if !of_one_kind || meta.key_min > meta.key_max || meta.seq_min > meta.seq_max {
        return Err(format!("run {} ends before it begins", meta.id));
    }
    Ok(())
}

impl ManifestState {
    /// That of a store without streams.
    pub(crate) fn new(next_run: RunId) -> Self {
        let (next_stream, wal_floor) = (StreamId(1), WalId(1));
        Self { next_run, next_stream, wal_floor, ..Self::default() }
    }

    /// Applies an edit. An `Err` names the operation that makes no sense; the state is then
    /// unusable, so callers apply to a clone or give up.
    pub(crate) fn apply(&mut self, edit: &VersionEdit) -> Result<(), String> {
        self.closed = None;
        edit.ops.iter().try_for_each(|op| self.apply_op(op))
    }

    fn apply_op(&mut self, op: &ManifestOp) -> Result<(), String> {
        match op {
            ManifestOp::CreateStream(definition) => self.create_stream(definition)?,
            ManifestOp::AlterStream(definition) => {
                if self.names.get(&definition.name).is_some_and(|other| *other != definition.id) {
                    return Err(format!("two streams are named '{}'", definition.name));
                }
                let entry = self.entry(definition.id)?;
                let old = std::mem::replace(&mut entry.definition, definition.clone());
                self.names.remove(&old.name);
                self.names.insert(definition.name.clone(), definition.id);
            }
            ManifestOp::RefineTimes { stream, factor } => self.refine_times(*stream, *factor)?,
            ManifestOp::DropStream(stream) => {
                let dropped = self.streams.remove(stream);
                let dropped = dropped.ok_or_else(|| format!("no stream {stream} to drop"))?;
                self.names.remove(&dropped.definition.name);
            }
            ManifestOp::AddRun(meta) => {
                check_run(meta)?;
                self.next_run = self.next_run.max(meta.id.next());
                let entry = self.entry(meta.stream)?;
                if entry.runs.insert(meta.id, meta.clone()).is_some() {
                    return Err(format!("run {} is added twice", meta.id));
                }
            }
            ManifestOp::RemoveRun { stream, run } => {
                let removed = self.entry(*stream)?.runs.remove(run);
                removed.ok_or_else(|| format!("no run {run} to remove"))?;
            }
            ManifestOp::AddTombstone { stream, tombstone } => {
                self.entry(*stream)?.add_tombstone(*tombstone);
            }
            ManifestOp::RemoveTombstone { stream, tombstone } => {
                self.entry(*stream)?.remove_tombstone(tombstone)?;
            }
            ManifestOp::FlushedThrough { stream, seq } => {
                let entry = self.entry(*stream)?;
                entry.flushed_through = entry.flushed_through.max(*seq);
            }
            ManifestOp::SetRetention { stream, retention } => {
                self.entry(*stream)?.definition.retention = *retention;
            }
            ManifestOp::AddPin(pin) => {
                pin.streams.iter().flat_map(|pinned| &pinned.runs).try_for_each(check_run)?;
                if self.pins.insert(pin.name.clone(), pin.clone()).is_some() {
                    return Err(format!("pin '{}' is added twice", pin.name));
                }
            }
            ManifestOp::RemovePin(name) => {
                self.pins.remove(name).ok_or_else(|| format!("no pin '{name}' to remove"))?;
            }
            ManifestOp::NextRunId(run) => self.next_run = self.next_run.max(*run),
            ManifestOp::NextStreamId(stream) => self.next_stream = self.next_stream.max(*stream),
            ManifestOp::WalFloor(floor) => self.wal_floor = self.wal_floor.max(*floor),
            ManifestOp::Closed { last_seq } => self.closed = Some(*last_seq),
            ManifestOp::CommitTime(time_ms) => self.time_ms = self.time_ms.max(*time_ms),
            ManifestOp::Committed(seq) => self.committed = self.committed.max(*seq),
            ManifestOp::Rewritten(_) | ManifestOp::Expired(_) => {}
            ManifestOp::SetFollower { name, seq } => {
                self.followers.insert(name.clone(), *seq);
            }
            ManifestOp::RemoveFollower(name) => {
                let removed = self.followers.remove(name);
                removed.ok_or_else(|| format!("no follower '{name}' to remove"))?;
            }
        }
        Ok(())
    }

    fn create_stream(&mut self, definition: &StreamDefinition) -> Result<(), String> {
        if self.names.contains_key(&definition.name) {
            return Err(format!("stream '{}' is created twice", definition.name));
        }
        self.next_stream = self.next_stream.max(definition.id.next());
        let entry = StreamEntry::new(definition.clone());
        match self.streams.insert(definition.id, entry) {
            None => {
                self.names.insert(definition.name.clone(), definition.id);
                Ok(())
            }
            Some(_) => Err(format!("stream {} is created twice", definition.id)),
        }
    }

    /// Adds a stream with all that it has.
    pub(crate) fn insert(&mut self, entry: StreamEntry) {
        self.next_stream = self.next_stream.max(entry.definition.id.next());
        self.names.insert(entry.definition.name.clone(), entry.definition.id);
        self.streams.insert(entry.definition.id, entry);
    }

    /// What an edit is going to change, as it is before.
    pub(crate) fn before(&self, edit: &VersionEdit) -> StateBefore {
        let streams: BTreeSet<StreamId> = edit.ops.iter().filter_map(stream_of).collect();
        let entry = |id| (id, self.streams.get(&id).cloned());
        let changes_pins = |op: &ManifestOp| {
            matches!(
                op,
                ManifestOp::AddPin(_) | ManifestOp::RemovePin(_) | ManifestOp::RefineTimes { .. }
            )
        };
        let changes_followers = |op: &ManifestOp| {
            matches!(op, ManifestOp::SetFollower { .. } | ManifestOp::RemoveFollower(_))
        };
        StateBefore {
            streams: streams.into_iter().map(entry).collect(),
            pins: edit.ops.iter().any(changes_pins).then(|| self.pins.clone()),
            followers: edit.ops.iter().any(changes_followers).then(|| self.followers.clone()),
            numbers: Self {
                next_run: self.next_run,
                next_stream: self.next_stream,
                wal_floor: self.wal_floor,
                closed: self.closed,
                committed: self.committed,
                time_ms: self.time_ms,
                ..Self::default()
            },
        }
    }

    /// Takes an edit back, or the part of it that was applied.
    pub(crate) fn take_back(&mut self, before: StateBefore) {
        for (id, _) in &before.streams {
            if let Some(entry) = self.streams.remove(id) {
                self.names.remove(&entry.definition.name);
            }
        }
        before
            .streams
            .into_iter()
            .filter_map(|(_, entry)| entry)
            .for_each(|entry| self.insert(entry));
        self.pins = before.pins.unwrap_or_else(|| std::mem::take(&mut self.pins));
        let followers = std::mem::take(&mut self.followers);
        let followers = before.followers.unwrap_or(followers);
        *self = Self {
            streams: std::mem::take(&mut self.streams),
            names: std::mem::take(&mut self.names),
            pins: std::mem::take(&mut self.pins),
            followers,
            ..before.numbers
        };
    }

    fn entry(&mut self, stream: StreamId) -> Result<&mut StreamEntry, String> {
        self.streams.get_mut(&stream).ok_or_else(|| format!("stream {stream} does not exist"))
    }

    /// One edit that makes this state out of nothing.
    pub(crate) fn to_edit(&self) -> VersionEdit {
        let mut ops = vec![
            ManifestOp::NextRunId(self.next_run),
            ManifestOp::NextStreamId(self.next_stream),
            ManifestOp::WalFloor(self.wal_floor),
        ];
        for (stream, entry) in &self.streams {
            ops.push(ManifestOp::CreateStream(entry.definition.clone()));
            ops.extend(entry.runs.values().cloned().map(ManifestOp::AddRun));
            ops.extend(
                entry
                    .tombstones()
                    .map(|tombstone| ManifestOp::AddTombstone { stream: *stream, tombstone }),
            );
            ops.push(ManifestOp::FlushedThrough { stream: *stream, seq: entry.flushed_through });
        }
        ops.extend(self.pins.values().cloned().map(ManifestOp::AddPin));
        let followers = self.followers.iter().map(|(name, seq)| (name.clone(), *seq));
        ops.extend(followers.map(|(name, seq)| ManifestOp::SetFollower { name, seq }));
        ops.extend(self.closed.map(|last_seq| ManifestOp::Closed { last_seq }));
        ops.extend((self.committed.0 > 0).then_some(ManifestOp::Committed(self.committed)));
        ops.extend((self.time_ms > 0).then_some(ManifestOp::CommitTime(self.time_ms)));
        VersionEdit { ops }
    }

    /// The last commit that this state holds on its own.
    pub(crate) fn last_seq(&self) -> SeqNo {
        let of_stream = |entry: &StreamEntry| {
            let runs = entry.runs.values().map(|run| run.seq_max);
            let tombstones = entry.tombstones.keys().map(|(seq, _, _)| *seq);
            runs.chain(tombstones).max().unwrap_or_default().max(entry.flushed_through)
        };
        let streams = self.streams.values().map(of_stream).max().unwrap_or_default();
        let pins = self.pins.values().map(|pin| pin.seq).max().unwrap_or_default();
        streams.max(pins).max(self.closed.unwrap_or_default()).max(self.committed)
    }

    /// Every run that a file must exist for: those of streams, and those that only pins keep.
    pub(crate) fn all_runs(&self) -> BTreeMap<RunId, &RunMeta> {
        let live = self.streams.values().flat_map(|entry| entry.runs.values());
        let pinned = self
            .pins
            .values()
            .flat_map(|pin| pin.streams.iter())
            .flat_map(|stream| stream.runs.iter());
        live.chain(pinned).map(|meta| (meta.id, meta)).collect()
    }

    /// Every run that a stream has.
    pub(crate) fn runs_of_streams(&self) -> BTreeSet<RunId> {
        self.streams.values().flat_map(|entry| entry.runs.keys()).copied().collect()
    }

    /// Whether a pin keeps this run.
    pub(crate) fn is_pinned(&self, run: RunId) -> bool {
        self.pins
            .values()
            .flat_map(|pin| pin.streams.iter())
            .any(|stream| stream.runs.iter().any(|meta| meta.id == run))
    }
}

#[cfg(test)]
mod tests;
