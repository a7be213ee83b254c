//! Changes to a graph that are made together, in one commit: blocks put and deleted, edges linked and unlinked.

use std::borrow::Cow;

use timestrata_engine::{Changes, Durability, Error, ErrorKind, Result, SeqNo};

use super::adjacency::BlockId;
use super::block::NewBlock;
use super::edge::{Edge, EdgeKey, check_kind};
use super::handle::Graph;

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
    pub(super) list: Vec<Change<'a>>,
}

#[derive(Debug, Clone)]
pub(super) enum Change<'a> {
    /// Nothing, if the block has this version before all changes, 0 if it is not there.
    Expect(BlockId, u32),
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

    /// Makes all changes only if a block has this version before them, 0 if it is not there: else they are a `Conflict`.
    #[must_use]
    pub fn expect_version(self, id: BlockId, version: u32) -> Self {
        self.with(Change::Expect(id, version))
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
            Change::Expect(..) | Change::Delete(_) | Change::UnlinkAll(_) => Ok(()),
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

    /// Makes a single change by the shortest path; `None`, and nothing was written, if it has to go with
    /// other changes' way.
    fn change_alone(&self, change: &Change<'_>, durability: Durability) -> Result<Option<Changed>> {
        match change {
            Change::Put(block) => self.put_alone(block, durability),
            Change::Delete(id) => self.delete_alone(*id, durability),
            Change::Link(edge) => self.link_alone(edge, durability),
            Change::Unlink(key) => self.unlink_alone(key, durability),
            Change::Expect(..) | Change::LinkMany(_) | Change::UnlinkAll(_) => Ok(None),
        }
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
    pub(super) fn takes(&self, key: &EdgeKey) -> bool {
        match self {
            Self::Source(id) => key.source == *id,
            Self::Target(id) => key.target == *id,
            Self::Kind(kind) => *key.kind == **kind,
        }
    }
}
