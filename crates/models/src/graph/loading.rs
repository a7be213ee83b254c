//! The edges of a graph as somebody walks them: all of them in memory, or, where these would be too
//! many, those near to where the walk begins.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use arrow_array::RecordBatch;
use hashbrown::HashSet;
use timestrata_engine::{KeyRange, Result, ScanSpec, Snapshot};

use super::adjacency::{BlockId, Builder, Delta, Direction, Edge, Kinds, View};
use super::edge::{EdgeRows, Side};
use super::handle::{Graph, Shared};
use super::read;
use super::resident::Begun;
use super::view::GraphView;

/// Memory of an edge in both directions, about, with its share of the nodes.
const EDGE_BYTES: u64 = 24;
/// What the edges of a graph may take in memory, unless it is told otherwise.
pub(super) const CACHE_BYTES_MAX: u64 = 4 << 30;

/// The first walks read the edges of one block in so many edges that there are, all together: to read all
/// edges takes about twice as long.
const EDGES_PER_BLOCK_NEAR: u64 = 256;
/// So many walks at most do so: each makes what it reads with anew.
const WALKS_NEAR: usize = 16;

/// How far edges are needed where not all of them are in memory.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reach {
    pub(super) direction: Direction,
    pub(super) depth_max: u32,
    pub(super) nodes_max: usize,
}

impl Graph {
    /// What the edges may take in memory, in bytes. Where they would take more, walks read those that
    /// they need. Holds for all handles of the graph, until the store is closed. Default: 4 GiB.
    pub fn set_cache_bytes_max(&self, bytes: u64) {
        let mut resident = self.shared.resident.lock();
        resident.bytes_max = bytes;
        resident.forget();
    }

    /// Merges what has changed with what was read, if it is time: in the background where the store
    /// has threads of its own.
    pub(super) fn merge_edges(&self) {
        let Some((epoch, view)) = self.shared.resident.lock().merge_due() else { return };
        let shared = Arc::clone(&self.shared);
        let merge = move || {
            let base = view.base().rebuild(view.delta());
            shared.resident.lock().merged(epoch, &view, base);
        };
        if !self.store.has_threads() {
            return merge();
        }
        let thread = std::thread::Builder::new().name("timestrata-graph".to_owned());
        // Without a thread who writes next tries again; walks are right all the same.
        if thread.spawn(merge).is_err() {
            self.shared.resident.lock().give_up_merge(epoch);
        }
    }
}

impl GraphView {
    /// All edges at this snapshot, in memory; `None` where they would take more than they may. The
    /// first call reads them, and later ones of any view cost nothing.
    ///
    /// # Errors
    /// What reading may fail with; `TooLarge` for more nodes or kinds than have numbers.
    pub fn adjacency(&self) -> Result<Option<View>> {
        if let Some(view) = self.adjacency.get() {
            return Ok(Some(view.clone()));
        }
        let edges = self.edges_at_most()?;
        if edges.saturating_mul(EDGE_BYTES) > self.shared.resident.lock().bytes_max {
            return Ok(None);
        }
        // One reads, and who comes meanwhile waits for that.
        let _loading = self.shared.loading.lock();
        let begun = self.shared.resident.lock().begin(self.snapshot.seq(), self.follows);
        let view = match begun {
            Begun::Ready(view) => view,
            Begun::Load(epoch) => {
                let loaded = load(&self.snapshot, &self.shared, edges);
                self.shared.resident.lock().loaded(epoch, self.snapshot.seq(), &loaded);
                loaded?
            }
            // What is in memory is newer than this snapshot.
            Begun::Other => load(&self.snapshot, &self.shared, edges)?,
        };
        Ok(Some(self.adjacency.get_or_init(|| view).clone()))
    }

    /// All edges, or those that a walk from some blocks may come to.
    ///
    /// The first short walks of a large graph read what they need, and don't wait until all edges are in
    /// memory; after some of them, or one that goes far, all are.
    pub(super) fn adjacency_near(&self, starts: &[BlockId], reach: Reach) -> Result<View> {
        if self.adjacency.get().is_none()
            && let Some(view) = self.near_at_first(starts, reach)?
        {
            return Ok(view);
        }
        match self.adjacency()? {
            Some(view) => Ok(view),
            None => {
                let found = near(&self.snapshot, &self.shared, starts, reach, usize::MAX)?;
                Ok(found.view)
            }
        }
    }

    /// How many edges there are at most: some of those that were replaced may be counted too. No row is
    /// read for that.
    fn edges_at_most(&self) -> Result<u64> {
        Ok(self.snapshot.survey(self.shared.edges_out, &[KeyRange::ALL])?.rows_max)
    }

    /// The edges that a walk may come to, if they are few and it is worth it.
    fn near_at_first(&self, starts: &[BlockId], reach: Reach) -> Result<Option<View>> {
        let edges = self.edges_at_most()?;
        let most = usize::try_from(edges / EDGES_PER_BLOCK_NEAR).unwrap_or(usize::MAX);
        let read = self.shared.blocks_near.load(Ordering::Relaxed);
        let Some(left) = most.checked_sub(read).filter(|left| *left > 0) else { return Ok(None) };
        if self.shared.resident.lock().at(self.snapshot.seq(), self.follows).is_some() {
            return Ok(None);
        }
        let found = near(&self.snapshot, &self.shared, starts, reach, left)?;
        self.shared.blocks_near.fetch_add(found.blocks + most / WALKS_NEAR, Ordering::Relaxed);
        Ok((!found.is_cut).then_some(found.view))
    }
}

/// Reads all edges.
fn load(snapshot: &Snapshot, shared: &Shared, edges: u64) -> Result<View> {
    let mut taking = Taking::new(usize::try_from(edges).unwrap_or(0));
    for rows in snapshot.scan(shared.edges_out, &columns_needed())? {
        taking.take(Side::Out, &rows?, |_| {})?;
    }
    Ok(taking.finish())
}

/// The edges that a walk may come to.
struct Near {
    view: View,
    /// Blocks of which edges were read.
    blocks: usize,
    /// Whether there were more than may be read.
    is_cut: bool,
}

/// Reads the edges that a walk may come to, of at most so many blocks: those of the blocks it begins with,
/// then those of the blocks at their other ends, as far as it goes.
fn near(
    snapshot: &Snapshot,
    shared: &Shared,
    starts: &[BlockId],
    reach: Reach,
    blocks_max: usize,
) -> Result<Near> {
    let (mut taking, mut blocks) = (Taking::new(0), 0);
    let mut seen: HashSet<BlockId> = starts.iter().copied().collect();
    let mut front: Vec<BlockId> = seen.iter().copied().collect();
    // One step more than the walk goes: it tells whether there was more.
    for _ in 0..=reach.depth_max {
        let mut next = Vec::new();
        for id in std::mem::take(&mut front) {
            // All of a block's edges are read, or none.
            let is_cut = blocks >= blocks_max;
            // Behind the walk's own bound nothing is missing.
            if is_cut || seen.len() / 2 > reach.nodes_max {
                return Ok(Near { view: taking.finish(), blocks, is_cut });
            }
            blocks += 1;
            for side in Side::of(reach.direction) {
                let spec = ScanSpec { range: read::range_of(id), ..columns_needed() };
                for rows in snapshot.scan(shared.edges(*side), &spec)? {
                    taking.take(*side, &rows?, |other| {
                        if seen.insert(other) {
                            next.push(other);
                        }
                    })?;
                }
            }
        }
        if next.is_empty() {
            break;
        }
        front = next;
    }
    Ok(Near { view: taking.finish(), blocks, is_cut: false })
}

/// Everything of an edge but its properties.
fn columns_needed() -> ScanSpec {
    ScanSpec { columns: Some((0..5).collect()), ..ScanSpec::default() }
}

/// Rows of edges on their way into memory.
struct Taking {
    builder: Builder,
    kinds: Kinds,
}

impl Taking {
    fn new(edges: usize) -> Self {
        Self { builder: Builder::with_capacity(edges), kinds: Kinds::new() }
    }

    /// Takes rows in, and tells the block at the other end of each.
    fn take(
        &mut self,
        side: Side,
        rows: &RecordBatch,
        mut other: impl FnMut(BlockId),
    ) -> Result<()> {
        let edges = EdgeRows::of(side, rows)?;
        let mut last: Option<(&str, u16)> = None;
        for (row, (source, name, target)) in edges.keys().enumerate() {
            let kind = match last {
                Some((known, kind)) if known == name => kind,
                _ => self.kinds.intern(name)?,
            };
            last = Some((name, kind));
            let (weight, valid_from) = edges.said(row);
            self.builder.push(&Edge { source, kind, target, weight, valid_from })?;
            other(if side == Side::Out { target } else { source });
        }
        Ok(())
    }

    fn finish(self) -> View {
        let base = Arc::new(self.builder.finish());
        let delta = Arc::new(Delta::new(&base));
        View::new(base, delta, Arc::new(self.kinds))
    }
}
