//! Changes that are made together, on their way into a commit: what they come to, on top of what is there.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::collections::{BTreeMap, HashMap};

use timestrata_engine::planted::{Plant, is_planted};
use timestrata_engine::{
    Changes, Error, ErrorKind, KeyRange, Result, SeqNo, Snapshot, Store, StreamId,
};
use timestrata_io::sync::MutexGuard;

use super::adjacency::BlockId;
use super::block::{self, Block, NewBlock};
use super::changes::{Change, Changed, EdgeChange, GraphChanges, Unlinked, next_version};
use super::edge::{EdgeKey, EdgeSide};
use super::handle::{Graph, SharedGraph};
use super::latest::LatestVersions;
use super::ordered::Ordered;
use super::resident::Resident;
use super::{in_memory, read};

impl Graph {
    /// Has `commit` commit changes that were [checked](GraphChanges::check) with other changes, while nobody else changes the
    /// graph. [Edges are merged](Self::merge_edges) by who calls it, once no lock is held.
    pub(super) fn commit_changes(
        &self,
        changes: &GraphChanges<'_>,
        others: Changes,
        commit: &mut dyn FnMut(Changes) -> Result<Option<SeqNo>>,
    ) -> Result<Changed> {
        let mut resident = self.shared.resident.lock();
        let snapshot = SnapshotOnDemand::new(&self.store, &self.shared);
        let latest = self.latest_for_changes(&snapshot)?;
        let mut staged = Staged::new(&self.shared, &snapshot, &resident, &latest);
        for change in &changes.list {
            staged.add(change)?;
        }
        let SharedGraph { name, edges_out, .. } = &*self.shared;
        let get = || snapshot.get();
        self.shared.kinds.lock().add(name, &staged.edges, get, *edges_out)?;
        let all = staged.changes(others)?;
        let version = |block: Option<(NewBlock<'_>, u32)>| block.map(|(_, version)| version);
        let blocks: Vec<(BlockId, Option<u32>)> =
            staged.blocks.iter().map(|(id, block)| (*id, version(*block))).collect();
        let Staged { put, edges, .. } = staged;
        drop(latest);
        let committed = self.commit_blocks(all, &blocks, commit);
        match &committed {
            Ok(Some(seq)) => resident.change(*seq, &edges),
            Ok(None) => {}
            Err(_) => resident.forget(),
        }
        drop(resident);
        committed.map(|seq| Changed { seq, put })
    }

    /// What is known of the versions of blocks, which are read if it is time: for as long as the graph's lock is held nobody
    /// changes them.
    fn latest_for_changes(
        &self,
        snapshot: &SnapshotOnDemand<'_>,
    ) -> Result<MutexGuard<'_, LatestVersions>> {
        let mut latest = self.shared.latest.lock();
        if self.shared.versions.is_none() && latest.is_due() {
            latest.read(snapshot.get()?, self.shared.blocks)?;
        }
        Ok(latest)
    }

    /// Commits changes, of which some are to blocks: to these versions, or away.
    fn commit_blocks(
        &self,
        all: Changes,
        blocks: &[(BlockId, Option<u32>)],
        commit: &mut dyn FnMut(Changes) -> Result<Option<SeqNo>>,
    ) -> Result<Option<SeqNo>> {
        if blocks.is_empty() {
            return commit(all);
        }
        self.shared.read_blocks.begin_change(blocks.iter().map(|(id, _)| *id));
        let committed = commit(all);
        let mut latest = self.shared.latest.lock();
        match &committed {
            Ok(None) => {}
            Ok(Some(seq)) => {
                self.shared.read_blocks.end_change(*seq);
                latest.change(blocks.iter().copied());
            }
            Err(_) => latest.forget(),
        }
        committed
    }
}

/// What the graph has, as of when somebody asks for it: most small changes don't, and to take a snapshot has the memtables put
/// their rows in order.
struct SnapshotOnDemand<'s> {
    store: &'s Store,
    shared: &'s SharedGraph,
    taken: OnceCell<Snapshot>,
}

impl<'s> SnapshotOnDemand<'s> {
    fn new(store: &'s Store, shared: &'s SharedGraph) -> Self {
        Self { store, shared, taken: OnceCell::new() }
    }

    fn get(&self) -> Result<&Snapshot> {
        if let Some(snapshot) = self.taken.get() {
            return Ok(snapshot);
        }
        let snapshot = self.store.snapshot_of_streams(&self.shared.all_streams())?;
        Ok(self.taken.get_or_init(|| snapshot))
    }
}

/// Changes that are being put together, on top of what is there. Whoever does has the graph's lock.
struct Staged<'a, 's> {
    shared: &'s SharedGraph,
    snapshot: &'s SnapshotOnDemand<'s>,
    resident: &'s Resident,
    latest: &'s LatestVersions,
    /// Whether there are any: an empty graph is not asked for each block that is put.
    has_blocks: OnceCell<bool>,
    /// Blocks that will be there, or not.
    blocks: BTreeMap<BlockId, Option<(NewBlock<'a>, u32)>>,
    /// Earlier versions that will be there, or not.
    versions: BTreeMap<(BlockId, u32), Option<EarlierVersion<'a>>>,
    put: Vec<(BlockId, u32)>,
    edges: Vec<EdgeChange<'a>>,
    /// Changes to edges by the blocks at their ends, of those up to some place: only who takes all
    /// edges of a block away needs them.
    at_ends: HashMap<BlockId, Vec<usize>>,
    at_ends_up_to: usize,
}

/// An earlier version: as it was put by these changes, or before.
enum EarlierVersion<'a> {
    New(NewBlock<'a>, u32),
    Stored(Block),
}

impl<'a, 's> Staged<'a, 's> {
    fn new(
        shared: &'s SharedGraph,
        snapshot: &'s SnapshotOnDemand<'s>,
        resident: &'s Resident,
        latest: &'s LatestVersions,
    ) -> Self {
        Self {
            shared,
            snapshot,
            resident,
            latest,
            has_blocks: OnceCell::new(),
            blocks: BTreeMap::new(),
            versions: BTreeMap::new(),
            put: Vec::new(),
            edges: Vec::new(),
            at_ends: HashMap::new(),
            at_ends_up_to: 0,
        }
    }

    fn add(&mut self, change: &'a Change<'a>) -> Result<()> {
        match change {
            Change::Expect(id, version) => self.expect_version(*id, *version)?,
            Change::Put(block) => self.put(*block)?,
            Change::Delete(id) => self.delete(*id)?,
            Change::Link(edge) => self.edges.push(EdgeChange::Link(edge)),
            Change::LinkMany(edges) => self.edges.extend(edges.iter().map(EdgeChange::Link)),
            Change::Unlink(key) => self.edges.push(EdgeChange::Unlink(Cow::Borrowed(key))),
            Change::UnlinkAll(which) => self.unlink_all(which)?,
        }
        Ok(())
    }

    /// The version of a block that is there, 0 of one that is not.
    fn stored_version(&self, id: BlockId) -> Result<u32> {
        match self.latest.of(id) {
            Some(version) => Ok(version),
            None => Ok(self.stored(id)?.map_or(0, |block| block.version())),
        }
    }

    fn stored(&self, id: BlockId) -> Result<Option<Block>> {
        let snapshot = self.snapshot.get()?;
        let has_blocks = match self.has_blocks.get() {
            Some(has_blocks) => *has_blocks,
            None => {
                let first = snapshot.min_key(self.shared.blocks, &KeyRange::ALL)?;
                *self.has_blocks.get_or_init(|| first.is_some())
            }
        };
        if has_blocks { self.shared.latest_block(snapshot, id) } else { Ok(None) }
    }

    fn expect_version(&self, id: BlockId, expected: u32) -> Result<()> {
        let version = self.stored_version(id)?;
        if version == expected {
            return Ok(());
        }
        let is = |version| match version {
            0 => "is not there".to_owned(),
            version => format!("has version {version}"),
        };
        let message = format!(
            "graph '{}': block {id} {}, where it was expected that it {}",
            self.shared.name,
            is(version),
            is(expected)
        );
        Err(Error::new(ErrorKind::Conflict, message))
    }

    fn put(&mut self, block: NewBlock<'a>) -> Result<()> {
        if self.shared.versions.is_some() {
            return self.put_keeping(block);
        }
        let id = block.id();
        let latest = match self.blocks.get(&id) {
            Some(staged) => staged.map_or(0, |(_, version)| version),
            None => self.stored_version(id)?,
        };
        let version = next_version(&self.shared.name, id, latest, block.version)?;
        self.blocks.insert(id, Some((block, version)));
        self.put.push((id, version));
        Ok(())
    }

    /// Puts a block of a graph that keeps earlier versions.
    fn put_keeping(&mut self, block: NewBlock<'a>) -> Result<()> {
        let id = block.id();
        let before = match self.blocks.get(&id) {
            Some(staged) => staged.map(|(block, version)| EarlierVersion::New(block, version)),
            None => self.stored(id)?.map(EarlierVersion::Stored),
        };
        let latest = before.as_ref().map_or(0, EarlierVersion::version);
        let version = next_version(&self.shared.name, id, latest, block.version)?;
        if let Some(before) = before.filter(|before| before.version() < version) {
            self.keep(id, before)?;
        }
        self.blocks.insert(id, Some((block, version)));
        self.put.push((id, version));
        Ok(())
    }

    /// Keeps a version that has got a later one, and throws away those that are too many then.
    fn keep(&mut self, id: BlockId, before: EarlierVersion<'a>) -> Result<()> {
        let Some(stream) = self.shared.versions else { return Ok(()) };
        let most = self.shared.options.keep_versions as usize - 1;
        self.versions.insert((id, before.version()), Some(before));
        let mut numbers = self.version_numbers(stream, id)?;
        numbers.sort_unstable();
        let too_many = numbers.len().saturating_sub(most);
        for number in numbers.into_iter().take(too_many) {
            self.versions.insert((id, number), None);
        }
        Ok(())
    }

    /// Numbers of the earlier versions that are there.
    fn version_numbers(&self, stream: StreamId, id: BlockId) -> Result<Vec<u32>> {
        let mut numbers = read::version_numbers(self.snapshot.get()?, stream, id)?;
        numbers.retain(|number| !self.versions.contains_key(&(id, *number)));
        let staged = self.versions.range((id, 0)..=(id, u32::MAX));
        numbers.extend(staged.filter(|(_, kept)| kept.is_some()).map(|((_, number), _)| *number));
        Ok(numbers)
    }

    fn delete(&mut self, id: BlockId) -> Result<()> {
        let is_there = match self.blocks.get(&id) {
            Some(staged) => staged.is_some(),
            None => self.stored_version(id)? > 0,
        };
        if is_there {
            self.blocks.insert(id, None);
        }
        if let Some(stream) = self.shared.versions {
            for number in self.version_numbers(stream, id)? {
                self.versions.insert((id, number), None);
            }
        }
        self.unlink_all(&Unlinked::Source(id))?;
        self.unlink_all(&Unlinked::Target(id))
    }

    /// The places of changes to edges of a block.
    fn places_at(&mut self, id: BlockId) -> Vec<usize> {
        for (place, change) in self.edges.iter().enumerate().skip(self.at_ends_up_to) {
            let key = change.key();
            for end in [key.source, key.target] {
                self.at_ends.entry(end).or_default().push(place);
            }
        }
        self.at_ends_up_to = self.edges.len();
        self.at_ends.get(&id).cloned().unwrap_or_default()
    }

    fn unlink_all(&mut self, which: &Unlinked) -> Result<()> {
        let keys_at = |side: EdgeSide, id: BlockId| -> Result<Vec<EdgeKey>> {
            let edges = match self.resident.newest() {
                Some(view) => in_memory::edges_of(view, side, id),
                None => self.shared.edges_of(self.snapshot.get()?, side, id)?,
            };
            Ok(edges.into_iter().map(|edge| edge.key).collect())
        };
        let mut keys = match which {
            Unlinked::Source(id) => keys_at(EdgeSide::Out, *id)?,
            Unlinked::Target(id) => keys_at(EdgeSide::In, *id)?,
            Unlinked::Kind(kind) => self.shared.keys_of_kind(self.snapshot.get()?, kind)?,
        };
        let added = match which {
            Unlinked::Source(id) | Unlinked::Target(id) => self.places_at(*id),
            Unlinked::Kind(_) => (0..self.edges.len()).collect(),
        };
        let added = added.iter().filter_map(|place| self.edges.get(*place));
        keys.extend(added.map(EdgeChange::key).filter(|key| which.takes(key)).cloned());
        keys.sort_unstable();
        keys.dedup();
        self.edges.extend(keys.into_iter().map(|key| EdgeChange::Unlink(Cow::Owned(key))));
        Ok(())
    }

    /// What the engine is to change.
    fn changes(&self, others: Changes) -> Result<Changes> {
        let mut changes = others;
        // With the ids that they were found to have: to hash their contents once more takes long.
        let identified = |(id, block): (&BlockId, &Option<(NewBlock<'a>, u32)>)| {
            block.map(|(block, version)| (NewBlock { id: Some(*id), ..block }, version))
        };
        let there: Vec<_> = self.blocks.iter().filter_map(identified).collect();
        if block::are_rows(&there) {
            let encoder = self.snapshot.store.row_encoder(self.shared.blocks)?;
            for (block, version) in &there {
                let id = block.id();
                encoder.put(&mut changes, &block::cells(&id, block, *version))?;
            }
        } else {
            changes = changes.insert(self.shared.blocks, block::to_batch(&there)?);
        }
        let gone = self.blocks.iter().filter(|(_, block)| block.is_none());
        let gone: Vec<BlockId> = gone.map(|(id, _)| *id).collect();
        if !gone.is_empty() {
            let keys = block::keys(gone.iter().copied())?;
            changes = changes.delete_keys(self.shared.blocks, keys);
        }
        if let Some(stream) = self.shared.versions {
            let rows: Vec<_> =
                self.versions.values().flatten().map(EarlierVersion::as_new).collect();
            if !rows.is_empty() {
                changes = changes.insert(stream, block::to_batch(&rows)?);
            }
            let gone = self.versions.iter().filter(|(_, kept)| kept.is_none());
            let gone: Vec<_> = gone.map(|(key, _)| *key).collect();
            if !gone.is_empty() {
                changes = changes.delete_keys(stream, block::version_keys(&gone)?);
            }
        }
        self.edge_changes(changes)
    }

    fn edge_changes(&self, mut changes: Changes) -> Result<Changes> {
        if self.edges.is_empty() {
            return Ok(changes);
        }
        let Ordered { linked, unlinked } = Ordered::new(&self.edges);
        let is_kept = |side: EdgeSide| side == EdgeSide::Out || !is_planted(Plant::OneDirection);
        if let Some((linked, unlinked)) = linked.few().zip(unlinked.few()) {
            for side in EdgeSide::BOTH {
                let encoder = self.snapshot.store.row_encoder(self.shared.edges(side))?;
                for edge in linked.iter().filter(|_| is_kept(side)) {
                    encoder.put(&mut changes, &edge.cells(side))?;
                }
                for key in unlinked {
                    encoder.delete_key(&mut changes, &key.cells(side))?;
                }
            }
            return Ok(changes);
        }
        for (side, rows) in linked.edge_rows()?.into_iter().filter(|(side, _)| is_kept(*side)) {
            changes = changes.insert(self.shared.edges(side), rows);
        }
        for (side, keys) in unlinked.key_rows()? {
            changes = changes.delete_keys(self.shared.edges(side), keys);
        }
        Ok(changes)
    }
}

impl EarlierVersion<'_> {
    fn version(&self) -> u32 {
        match self {
            Self::New(_, version) => *version,
            Self::Stored(block) => block.version(),
        }
    }

    fn as_new(&self) -> (NewBlock<'_>, u32) {
        match self {
            Self::New(block, version) => (*block, *version),
            Self::Stored(block) => (block.as_new(), block.version()),
        }
    }
}
