//! A single edge that is linked or unlinked, and a single block that is deleted, by the shortest path: rows
//! of cells, to both streams of edges in one commit.

use std::borrow::Cow;

use timestrata_engine::planted::{Plant, is_planted};
use timestrata_engine::{
    Cell, Durability, ErrorKind, GroupAppender, Result, RowChange, SeqNo, StreamId,
};
use timestrata_io::sync::MutexGuard;

use super::adjacency::{BlockId, View};
use super::changes::{Changed, EdgeChange};
use super::edge::{Edge, EdgeKey, EdgeSide};
use super::handle::{Graph, SharedGraph};
use super::in_memory;
use super::resident::Resident;

/// A block with more edges is deleted as many changes are.
const EDGES_MAX: usize = 256;
/// Streams in the order in which changes name them.
const STREAMS: usize = 3;
const BLOCKS: usize = 2;

impl SharedGraph {
    fn streams(&self) -> [StreamId; STREAMS] {
        [self.edges_out, self.edges_in, self.blocks]
    }
}

/// The place of a stream of edges among those that changes name.
fn place(side: EdgeSide) -> usize {
    match side {
        EdgeSide::Out => 0,
        EdgeSide::In => 1,
    }
}

impl Graph {
    /// Links by an edge that was checked; `None`, and nothing was written, if its kind has to be looked
    /// up first.
    ///
    /// # Errors
    /// As [`Graph::change`].
    pub(super) fn link_alone(
        &self,
        edge: &Edge,
        durability: Durability,
    ) -> Result<Option<Changed>> {
        let resident = self.shared.resident.lock();
        if !self.shared.kinds.lock().knows(&edge.key.kind) {
            return Ok(None);
        }
        let rows = EdgeSide::BOTH.map(|side| edge.cells(side));
        let changes = [RowChange::Put(0, &rows[0]), RowChange::Put(1, &rows[1])];
        let kept = if is_planted(Plant::OneDirection) { &changes[..1] } else { &changes[..] };
        let committed = self.write(kept, durability);
        self.end_alone(resident, committed, &[EdgeChange::Link(edge)], durability).map(Some)
    }

    /// Unlinks an edge whose key was checked; `None`, and nothing was written, where the disk is full:
    /// other changes' way knows what to do then.
    ///
    /// # Errors
    /// As [`Graph::change`].
    pub(super) fn unlink_alone(
        &self,
        key: &EdgeKey,
        durability: Durability,
    ) -> Result<Option<Changed>> {
        let resident = self.shared.resident.lock();
        let keys = EdgeSide::BOTH.map(|side| key.cells(side));
        let changes = [RowChange::DeleteKey(0, &keys[0]), RowChange::DeleteKey(1, &keys[1])];
        let committed = self.write(&changes, durability);
        if is_refused(&committed) {
            return Ok(None);
        }
        let change = EdgeChange::Unlink(Cow::Borrowed(key));
        self.end_alone(resident, committed, &[change], durability).map(Some)
    }

    /// Deletes a block with its edges, if both can be told without a look at the store; `None`, and
    /// nothing was written, if not, and where the disk is full.
    ///
    /// # Errors
    /// As [`Graph::change`].
    pub(super) fn delete_alone(
        &self,
        id: BlockId,
        durability: Durability,
    ) -> Result<Option<Changed>> {
        if self.shared.versions.is_some() {
            return Ok(None);
        }
        self.load_for_deletes()?;
        let resident = self.shared.resident.lock();
        let mut latest = self.shared.latest.lock();
        if latest.is_due() {
            latest.read(&self.store.snapshot_of(self.shared.blocks)?, self.shared.blocks)?;
        }
        let Some((version, view)) = latest.of(id).zip(resident.newest()) else { return Ok(None) };
        let Some(gone) = keys_at(view, id) else { return Ok(None) };
        let block = [Cell::Bytes(id.bytes())];
        let out: Vec<_> = gone.iter().map(|key| key.cells(EdgeSide::Out)).collect();
        let back: Vec<_> = gone.iter().map(|key| key.cells(EdgeSide::In)).collect();
        let mut changes = Vec::with_capacity(1 + 2 * gone.len());
        changes.extend((version > 0).then_some(RowChange::DeleteKey(BLOCKS, &block)));
        for (side, keys) in [(EdgeSide::Out, &out), (EdgeSide::In, &back)] {
            changes.extend(keys.iter().map(|keys| RowChange::DeleteKey(place(side), keys)));
        }
        if changes.is_empty() {
            drop((latest, resident));
            // What is gone may have been deleted a moment ago.
            self.store.acknowledge(durability)?;
            return Ok(Some(Changed { seq: None, put: Vec::new() }));
        }
        self.shared.read_blocks.begin_change([id]);
        let committed = self.write(&changes, durability);
        match &committed {
            Ok(seq) => {
                self.shared.read_blocks.end_change(*seq);
                latest.change(std::iter::once((id, None)));
            }
            Err(_) => latest.forget(),
        }
        drop(latest);
        if is_refused(&committed) {
            return Ok(None);
        }
        let edges: Vec<_> = gone.iter().map(|key| EdgeChange::Unlink(Cow::Borrowed(key))).collect();
        self.end_alone(resident, committed, &edges, durability).map(Some)
    }

    /// Reads all edges, once many blocks were deleted one by one: each would have to ask the store.
    fn load_for_deletes(&self) -> Result<()> {
        let most = self.shared.resident.lock().is_wanted_by_delete();
        let Some(most) = most else { return Ok(()) };
        let view = self.view()?;
        if view.edges_at_most()? <= most {
            view.adjacency()?;
        }
        Ok(())
    }

    fn write(&self, changes: &[RowChange<'_>], durability: Durability) -> Result<SeqNo> {
        let mut appender = self.group.lock();
        let appender: &mut GroupAppender = match &mut *appender {
            Some(appender) => appender,
            none => none.insert(self.store.group_appender(&self.shared.streams())?),
        };
        // Synced once the graph is free again for others, who share the sync.
        appender.commit_leaving_sync(changes, durability)
    }

    /// What follows each commit that has changed edges.
    fn end_alone(
        &self,
        mut resident: MutexGuard<'_, Resident>,
        committed: Result<SeqNo>,
        edges: &[EdgeChange<'_>],
        durability: Durability,
    ) -> Result<Changed> {
        match &committed {
            Ok(seq) => resident.change(*seq, edges),
            Err(_) => resident.forget(),
        }
        drop(resident);
        self.merge_edges();
        let seq = committed?;
        if durability == Durability::Synced {
            self.store.sync_through(seq)?;
        }
        Ok(Changed { seq: Some(seq), put: Vec::new() })
    }
}

fn is_refused(committed: &Result<SeqNo>) -> bool {
    committed.as_ref().is_err_and(|error| error.kind() == ErrorKind::NoSpace)
}

/// Keys of the edges at both sides of a block, each once; `None` where they are many.
fn keys_at(view: &View, id: BlockId) -> Option<Vec<EdgeKey>> {
    let mut keys: Vec<EdgeKey> = Vec::new();
    for side in EdgeSide::BOTH {
        let is_new = |key: &EdgeKey| side == EdgeSide::Out || key.source != key.target;
        let edges = in_memory::edges_of(view, side, id).into_iter().map(|edge| edge.key);
        keys.extend(edges.filter(is_new));
    }
    (keys.len() <= EDGES_MAX).then_some(keys)
}
