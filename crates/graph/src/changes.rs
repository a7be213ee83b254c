//! Changes to a graph that are made together, in one commit: blocks put and deleted, edges linked and unlinked.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};

use timestrata_engine::planted::{Plant, is_planted};
use timestrata_engine::{Changes, Durability, Error, ErrorKind, Result, SeqNo, Snapshot, StreamId};

use super::adjacency::{BlockId, View};
use super::block::{self, Block, NewBlock};
use super::edge::{Edge, EdgeKey, EdgeSide, check_kind};
use super::handle::{Graph, SharedGraph};
use super::ordered::Ordered;
use super::{in_memory, read};

/// Changes to a graph, made in the order in which they were added, all or none.
///
/// ```
/// use timestrata_engine::{Durability, Settings, Store};
/// use timestrata_graph::{Edge, Graph, GraphChanges, GraphOptions, NewBlock};
///
/// # fn main() -> timestrata_engine::Result<()> {
/// # let store = Store::memory(Settings::default())?;
/// # let code = Graph::create(&store, "code", &GraphOptions::default())?;
/// # let block = |content| NewBlock { is_text: true, content, ..NewBlock::default() };
/// # let (main, run) = (block(b"fn main() { run() }"), block(b"fn run() {}"));
/// let call = Edge::new(main.id(), "calls", run.id());
/// let changes = GraphChanges::new().put(main).put(run).link(call);
/// code.change(&changes, Durability::Written)?; // all of it or nothing
/// assert_eq!(code.view()?.edge_count()?, 1);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Default)]
pub struct GraphChanges<'a> {
    list: Vec<Change<'a>>,
}

#[derive(Debug, Clone)]
enum Change<'a> {
    Put(NewBlock<'a>),
    Delete(BlockId),
    Link(Edge),
    LinkMany(Vec<Edge>),
    Unlink(EdgeKey),
    UnlinkAll(Unlinked),
}

/// Which edges go.
///
/// ```
/// use timestrata_engine::{Durability, Settings, Store};
/// use timestrata_graph::Unlinked;
/// # use timestrata_graph::{Edge, Graph, GraphChanges, GraphOptions, NewBlock};
///
/// # fn main() -> timestrata_engine::Result<()> {
/// # let store = Store::memory(Settings::default())?;
/// # let code = Graph::create(&store, "code", &GraphOptions::default())?;
/// # let block = |content| NewBlock { is_text: true, content, ..NewBlock::default() };
/// # let (main, run) = (block(b"fn main() { run() }"), block(b"fn run() {}"));
/// # let call = Edge::new(main.id(), "calls", run.id());
/// # let changes = GraphChanges::new().put(main).put(run).link(call);
/// # code.change(&changes, Durability::Written)?;
/// // A block `main` has an edge to a block `run`, of the kind `calls`.
/// let changes = GraphChanges::new().unlink_all(Unlinked::Kind("calls".into()));
/// code.change(&changes, Durability::Written)?;
/// assert_eq!(code.view()?.edge_count()?, 0);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unlinked {
    /// Those that come from a block.
    Source(BlockId),
    /// Those that go to a block.
    Target(BlockId),
    /// Those of a kind.
    Kind(String),
}

/// What became of changes.
///
/// ```
/// use timestrata_engine::{Durability, Settings, Store};
/// # use timestrata_graph::{Edge, Graph, GraphChanges, GraphOptions, NewBlock};
///
/// # fn main() -> timestrata_engine::Result<()> {
/// # let store = Store::memory(Settings::default())?;
/// # let code = Graph::create(&store, "code", &GraphOptions::default())?;
/// # let block = |content| NewBlock { is_text: true, content, ..NewBlock::default() };
/// # let (main, run) = (block(b"fn main() { run() }"), block(b"fn run() {}"));
/// # let call = Edge::new(main.id(), "calls", run.id());
/// # let changes = GraphChanges::new().put(main).put(run).link(call);
/// # code.change(&changes, Durability::Written)?;
/// // A block `main` has an edge to a block `run`, of the kind `calls`.
/// let changed = code.change(&GraphChanges::new().put(run), Durability::Written)?;
/// assert_eq!(changed.put, [(run.id(), 2)]); // its second version
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Changed {
    /// Their place in the order of commits; `None` if there was nothing to change.
    pub seq: Option<SeqNo>,
    /// Id and version of each block that was put, in the order of the changes.
    pub put: Vec<(BlockId, u32)>,
}

impl<'a> GraphChanges<'a> {
    /// No changes yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    fn with(mut self, change: Change<'a>) -> Self {
        self.list.push(change);
        self
    }

    /// Puts a block: it is the latest of its id from then on.
    #[must_use]
    pub fn put(self, block: NewBlock<'a>) -> Self {
        self.with(Change::Put(block))
    }

    /// Deletes a block with its earlier versions and all of its edges, if it is there. What is put or
    /// linked later is there again.
    #[must_use]
    pub fn delete(self, id: BlockId) -> Self {
        self.with(Change::Delete(id))
    }

    /// Links two blocks, which need not exist; an edge of that kind which is there is replaced.
    #[must_use]
    pub fn link(self, edge: Edge) -> Self {
        self.with(Change::Link(edge))
    }

    /// Links as [`link`](Self::link) does, one edge after the other.
    #[must_use]
    pub fn link_many(self, edges: Vec<Edge>) -> Self {
        self.with(Change::LinkMany(edges))
    }

    /// Takes an edge away, if it is there.
    #[must_use]
    pub fn unlink(self, key: EdgeKey) -> Self {
        self.with(Change::Unlink(key))
    }

    /// Takes edges away.
    #[must_use]
    pub fn unlink_all(self, which: Unlinked) -> Self {
        self.with(Change::UnlinkAll(which))
    }

    /// Whether there is nothing to change.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    pub(super) fn check(&self) -> Result<()> {
        self.list.iter().try_for_each(|change| match change {
            Change::Put(block) => block.check(),
            Change::Link(edge) => edge.check(),
            Change::LinkMany(edges) => edges.iter().try_for_each(Edge::check),
            Change::Unlink(EdgeKey { kind, .. }) => check_kind(kind),
            Change::UnlinkAll(Unlinked::Kind(kind)) => check_kind(kind),
            Change::Delete(_) | Change::UnlinkAll(_) => Ok(()),
        })
    }
}

/// One change to the edges.
#[derive(Debug, Clone)]
pub(super) enum EdgeChange<'a> {
    Link(&'a Edge),
    Unlink(Cow<'a, EdgeKey>),
}

impl EdgeChange<'_> {
    pub(super) fn key(&self) -> &EdgeKey {
        match self {
            Self::Link(edge) => &edge.key,
            Self::Unlink(key) => key,
        }
    }
}

impl Graph {
    /// Makes changes, in one commit.
    ///
    /// # Errors
    /// `InvalidArgument` for a block or an edge that can't be, `Conflict` for a block whose version is
    /// older than that of the block which is there; what a commit may fail with. Nothing is changed
    /// then.
    pub fn change(&self, changes: &GraphChanges<'_>, durability: Durability) -> Result<Changed> {
        self.change_with(changes, durability, Changes::new())
    }

    /// As [`Graph::change`], in one commit with other changes of the store, which come first.
    ///
    /// # Errors
    /// As [`Graph::change`].
    pub fn change_with(
        &self,
        changes: &GraphChanges<'_>,
        durability: Durability,
        others: Changes,
    ) -> Result<Changed> {
        changes.check()?;
        if let [change] = changes.list.as_slice()
            && others.is_empty()
            && let Some(changed) = self.change_alone(change, durability)?
        {
            return Ok(changed);
        }
        // Synced once the graph is free again for others, who share the sync.
        let commit = &mut |all: Changes| match all.is_empty() {
            true => Ok(None),
            false => self.store.commit_leaving_sync(all, durability).map(Some),
        };
        let changed = self.commit_changes(changes, others, commit);
        self.merge_edges();
        let changed = changed?;
        match changed.seq {
            // What is there, or gone, already may have been changed a moment ago.
            None => self.store.acknowledge(durability).map(|_| ())?,
            Some(seq) if durability == Durability::Synced => {
                self.store.sync_through(seq)?;
            }
            Some(_) => {}
        }
        Ok(changed)
    }

    /// Has `commit` commit changes that were [checked](GraphChanges::check) with other changes, while nobody else changes the
    /// graph. [Edges are merged](Self::merge_edges) by who calls it, once no lock is held.
    pub(super) fn commit_changes(
        &self,
        changes: &GraphChanges<'_>,
        others: Changes,
        commit: &mut dyn FnMut(Changes) -> Result<Option<SeqNo>>,
    ) -> Result<Changed> {
        let mut resident = self.shared.resident.lock();
        let snapshot = self.store.snapshot_of_streams(&self.shared.all_streams())?;
        let in_memory = resident.at(snapshot.seq(), self.store.is_read_only());
        let mut staged = Staged::new(&self.shared, &snapshot, in_memory)?;
        for change in &changes.list {
            staged.add(change)?;
        }
        let SharedGraph { name, edges_out, .. } = &*self.shared;
        self.shared.kinds.lock().add(name, &staged.edges, &snapshot, *edges_out)?;
        let all = staged.changes(others)?;
        let version = |block: Option<(NewBlock<'_>, u32)>| block.map(|(_, version)| version);
        let blocks: Vec<(BlockId, Option<u32>)> =
            staged.blocks.iter().map(|(id, block)| (*id, version(*block))).collect();
        let Staged { put, edges, .. } = staged;
        let committed = self.commit_blocks(all, &blocks, commit);
        match &committed {
            Ok(Some(seq)) => resident.change(*seq, &edges),
            Ok(None) => {}
            Err(_) => resident.forget(),
        }
        drop(resident);
        committed.map(|seq| Changed { seq, put })
    }

    /// Makes a single change by the shortest path; `None`, and nothing was written, if it has to go with
    /// other changes' way.
    fn change_alone(&self, change: &Change<'_>, durability: Durability) -> Result<Option<Changed>> {
        match change {
            Change::Put(block) => self.put_alone(block, durability),
            Change::Delete(id) => self.delete_alone(*id, durability),
            Change::Link(edge) => self.link_alone(edge, durability),
            Change::Unlink(key) => self.unlink_alone(key, durability),
            Change::LinkMany(_) | Change::UnlinkAll(_) => Ok(None),
        }
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

/// Changes that are being put together, on top of what a snapshot has.
struct Staged<'a> {
    shared: &'a SharedGraph,
    snapshot: &'a Snapshot,
    /// The edges that the snapshot has, if they are in memory.
    in_memory: Option<View>,
    has_blocks: bool,
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

impl<'a> Staged<'a> {
    fn new(
        shared: &'a SharedGraph,
        snapshot: &'a Snapshot,
        in_memory: Option<View>,
    ) -> Result<Self> {
        let has_blocks = snapshot.min_key(shared.blocks, &timestrata_engine::KeyRange::ALL)?;
        Ok(Self {
            shared,
            snapshot,
            in_memory,
            has_blocks: has_blocks.is_some(),
            blocks: BTreeMap::new(),
            versions: BTreeMap::new(),
            put: Vec::new(),
            edges: Vec::new(),
            at_ends: HashMap::new(),
            at_ends_up_to: 0,
        })
    }

    fn add(&mut self, change: &'a Change<'a>) -> Result<()> {
        match change {
            Change::Put(block) => self.put(*block)?,
            Change::Delete(id) => self.delete(*id)?,
            Change::Link(edge) => self.edges.push(EdgeChange::Link(edge)),
            Change::LinkMany(edges) => self.edges.extend(edges.iter().map(EdgeChange::Link)),
            Change::Unlink(key) => self.edges.push(EdgeChange::Unlink(Cow::Borrowed(key))),
            Change::UnlinkAll(which) => self.unlink_all(which)?,
        }
        Ok(())
    }

    fn stored(&self, id: BlockId) -> Result<Option<Block>> {
        match self.has_blocks {
            true => self.shared.latest_block(self.snapshot, id),
            false => Ok(None),
        }
    }

    fn put(&mut self, block: NewBlock<'a>) -> Result<()> {
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
        let mut numbers = read::version_numbers(self.snapshot, stream, id)?;
        numbers.retain(|number| !self.versions.contains_key(&(id, *number)));
        let staged = self.versions.range((id, 0)..=(id, u32::MAX));
        numbers.extend(staged.filter(|(_, kept)| kept.is_some()).map(|((_, number), _)| *number));
        Ok(numbers)
    }

    fn delete(&mut self, id: BlockId) -> Result<()> {
        let is_there = match self.blocks.get(&id) {
            Some(staged) => staged.is_some(),
            None => self.stored(id)?.is_some(),
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
            let edges = match &self.in_memory {
                Some(view) => in_memory::edges_of(view, side, id),
                None => self.shared.edges_of(self.snapshot, side, id)?,
            };
            Ok(edges.into_iter().map(|edge| edge.key).collect())
        };
        let mut keys = match which {
            Unlinked::Source(id) => keys_at(EdgeSide::Out, *id)?,
            Unlinked::Target(id) => keys_at(EdgeSide::In, *id)?,
            Unlinked::Kind(kind) => self.shared.keys_of_kind(self.snapshot, kind)?,
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
        let there: Vec<_> = self.blocks.values().copied().flatten().collect();
        if !there.is_empty() {
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
        let Ordered { linked, unlinked } = Ordered::new(&self.edges);
        let is_kept = |side: EdgeSide| side == EdgeSide::Out || !is_planted(Plant::OneDirection);
        for (side, rows) in linked.edge_rows()?.into_iter().filter(|(side, _)| is_kept(*side)) {
            changes = changes.insert(self.shared.edges(side), rows);
        }
        for (side, keys) in unlinked.key_rows()? {
            changes = changes.delete_keys(self.shared.edges(side), keys);
        }
        Ok(changes)
    }
}

/// The version of a block that is put behind one of version `latest`, 0 for none.
pub(super) fn next_version(
    graph: &str,
    id: BlockId,
    latest: u32,
    given: Option<u32>,
) -> Result<u32> {
    match given {
        Some(version) if version >= latest => Ok(version),
        Some(version) => {
            let message = format!(
                "graph '{graph}': block {id} has version {latest}; version {version} is older"
            );
            Err(Error::new(ErrorKind::Conflict, message))
        }
        None => latest.checked_add(1).ok_or_else(|| {
            let message = format!(
                "graph '{graph}': block {id} has version {latest}, and there is none behind it"
            );
            Error::new(ErrorKind::InvalidArgument, message)
        }),
    }
}

impl Unlinked {
    fn takes(&self, key: &EdgeKey) -> bool {
        match self {
            Self::Source(id) => key.source == *id,
            Self::Target(id) => key.target == *id,
            Self::Kind(kind) => *key.kind == **kind,
        }
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
