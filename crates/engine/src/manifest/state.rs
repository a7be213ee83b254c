//! What the edits of a manifest add up to.

use std::collections::BTreeMap;

use timestrata_format::manifest::{ManifestOp, Pin, StreamDefinition, VersionEdit};
use timestrata_format::{RunId, RunMeta, SeqNo, StreamId, Tombstone, WalId};

/// One stream as the manifest knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StreamEntry {
    pub(crate) definition: StreamDefinition,
    pub(crate) runs: BTreeMap<RunId, RunMeta>,
    pub(crate) tombstones: Vec<Tombstone>,
    pub(crate) flushed_through: SeqNo,
}

/// The durable state of a store, WAL excepted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ManifestState {
    pub(crate) streams: BTreeMap<StreamId, StreamEntry>,
    pub(crate) pins: BTreeMap<String, Pin>,
    pub(crate) next_run: RunId,
    pub(crate) next_stream: StreamId,
    pub(crate) wal_floor: WalId,
    /// `Some` if the last edit closed the store in good order.
    pub(crate) closed: Option<SeqNo>,
}

impl ManifestState {
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
                let is_other = |entry: &StreamEntry| entry.definition.id != definition.id;
                let mut others = self.streams.values().filter(|entry| is_other(entry));
                if others.any(|entry| entry.definition.name == definition.name) {
                    return Err(format!("two streams are named '{}'", definition.name));
                }
                self.entry(definition.id)?.definition = definition.clone();
            }
            ManifestOp::DropStream(stream) => {
                self.streams.remove(stream).ok_or_else(|| format!("no stream {stream} to drop"))?;
            }
            ManifestOp::AddRun(meta) => {
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
                self.entry(*stream)?.tombstones.push(*tombstone);
            }
            ManifestOp::RemoveTombstone { stream, tombstone } => {
                let tombstones = &mut self.entry(*stream)?.tombstones;
                let place = tombstones.iter().position(|other| other == tombstone);
                let place = place.ok_or_else(|| "no such tombstone to remove".to_owned())?;
                tombstones.remove(place);
            }
            ManifestOp::FlushedThrough { stream, seq } => {
                let entry = self.entry(*stream)?;
                entry.flushed_through = entry.flushed_through.max(*seq);
            }
            ManifestOp::SetRetention { stream, retention } => {
                self.entry(*stream)?.definition.retention = *retention;
            }
            ManifestOp::AddPin(pin) => {
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
        }
        Ok(())
    }

    fn create_stream(&mut self, definition: &StreamDefinition) -> Result<(), String> {
        if self.streams.values().any(|entry| entry.definition.name == definition.name) {
            return Err(format!("stream '{}' is created twice", definition.name));
        }
        self.next_stream = self.next_stream.max(definition.id.next());
        let entry = StreamEntry {
            definition: definition.clone(),
            runs: BTreeMap::new(),
            tombstones: Vec::new(),
            flushed_through: SeqNo::default(),
        };
        match self.streams.insert(definition.id, entry) {
            None => Ok(()),
            Some(_) => Err(format!("stream {} is created twice", definition.id)),
        }
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
            ops.extend(entry.tombstones.iter().map(|tombstone| ManifestOp::AddTombstone {
                stream: *stream,
                tombstone: *tombstone,
            }));
            ops.push(ManifestOp::FlushedThrough { stream: *stream, seq: entry.flushed_through });
        }
        ops.extend(self.pins.values().cloned().map(ManifestOp::AddPin));
        ops.extend(self.closed.map(|last_seq| ManifestOp::Closed { last_seq }));
        VersionEdit { ops }
    }

    /// The last commit that this state holds on its own.
    pub(crate) fn last_seq(&self) -> SeqNo {
        let of_stream = |entry: &StreamEntry| {
            let runs = entry.runs.values().map(|run| run.seq_max);
            let tombstones = entry.tombstones.iter().map(|tombstone| tombstone.seq);
            runs.chain(tombstones).max().unwrap_or_default().max(entry.flushed_through)
        };
        let streams = self.streams.values().map(of_stream).max().unwrap_or_default();
        let pins = self.pins.values().map(|pin| pin.seq).max().unwrap_or_default();
        streams.max(pins).max(self.closed.unwrap_or_default())
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

    /// Whether a pin keeps this run.
    pub(crate) fn is_pinned(&self, run: RunId) -> bool {
        self.pins
            .values()
            .flat_map(|pin| pin.streams.iter())
            .any(|stream| stream.runs.iter().any(|meta| meta.id == run))
    }
}
