//! Reading all edges of a graph into memory.

use std::sync::Arc;

use arrow_array::RecordBatch;
use timestrata_engine::{KeyRange, Result, ScanSpec, Snapshot};
use timestrata_io::sync::spawn;

use super::adjacency::{Builder, Delta, Edge, Kinds, View, has_place};
use super::edge::{EdgeRows, EdgeSide, PROPERTIES};
use super::handle::{Graph, SharedGraph};
use super::resident::Begun;
use super::view::GraphView;

/// Memory of an edge in both directions, about, with its share of the nodes.
const EDGE_BYTES: u64 = 24;
/// What the edges of a graph may take in memory, unless it is told otherwise.
pub(super) const CACHE_BYTES_MAX: u64 = 4 << 30;

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
            let base = view.rebuild();
            shared.resident.lock().merged(epoch, &view, base);
        };
        if !self.store.has_threads() {
            return merge();
        }
        // Without a thread who writes next tries again; walks are right all the same.
        if spawn("timestrata-graph", merge).is_err() {
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
                let loaded = load(&self.for_all, &self.shared, edges);
                self.shared.resident.lock().loaded(epoch, self.snapshot.seq(), &loaded);
                loaded?
            }
            // What is in memory is newer than this snapshot.
            Begun::Other => load(&self.for_all, &self.shared, edges)?,
        };
        Ok(Some(self.adjacency.get_or_init(|| view).clone()))
    }

    /// How many edges there are at most: some of those that were replaced may be counted too. No row is
    /// read for that.
    pub(super) fn edges_at_most(&self) -> Result<u64> {
        Ok(self.snapshot.estimate(self.shared.edges_out, &[KeyRange::ALL])?.rows_max)
    }
}

/// Reads all edges. Mostly none has properties, and then all that is said of them is in memory.
fn load(snapshot: &Snapshot, shared: &SharedGraph, edges: u64) -> Result<View> {
    let mut builder = Builder::with_capacity(usize::try_from(edges).unwrap_or(0));
    let mut kinds = Kinds::default();
    let mut tells_all = !snapshot.may_have_values(shared.edges_out, PROPERTIES)?;
    for rows in snapshot.scan(shared.edges_out, &columns_needed())? {
        edges_in(EdgeSide::Out, &rows?, &mut kinds, |edge, _| {
            tells_all &= has_place(edge.valid_from);
            builder.push(edge)
        })?;
    }
    let base = Arc::new(builder.finish());
    let delta = Arc::new(Delta::new(&base));
    Ok(View::new(base, delta, Arc::new(kinds)).telling_all(tells_all))
}

/// Everything of an edge but its properties.
pub(super) fn columns_needed() -> ScanSpec {
    ScanSpec { columns: Some((0..PROPERTIES).collect()), ..ScanSpec::default() }
}

/// Gives each edge of some rows, with the name of its kind.
pub(super) fn edges_in(
    side: EdgeSide,
    rows: &RecordBatch,
    kinds: &mut Kinds,
    mut each: impl FnMut(&Edge, &str) -> Result<()>,
) -> Result<()> {
    let edges = EdgeRows::of(side, rows)?;
    let mut last: Option<(&str, u16)> = None;
    for (row, (source, name, target)) in edges.keys().enumerate() {
        let kind = match last {
            Some((known, kind)) if known == name => kind,
            _ => kinds.intern(name)?,
        };
        last = Some((name, kind));
        let (weight, valid_from) = edges.said(row);
        each(&Edge { source, kind, target, weight, valid_from }, name)?;
    }
    Ok(())
}
