//! A graph as it was at one moment.

use std::ops::ControlFlow;
use std::sync::Arc;

use super::layers::{Cursor, Layers};
use super::{Base, BlockId, Delta, Direction, EdgeFilter, Kinds, Neighbor};

/// The edges of a graph as they were at one moment; cheap to copy, and never changes.
#[derive(Debug, Clone, Default)]
pub struct View {
    base: Arc<Base>,
    delta: Arc<Delta>,
    kinds: Arc<Kinds>,
}

impl View {
    /// A view of a base and what has changed since, which must belong together.
    pub fn new(base: Arc<Base>, delta: Arc<Delta>, kinds: Arc<Kinds>) -> Self {
        Self { base, delta, kinds }
    }

    #[inline]
    fn layers(&self) -> Layers<'_> {
        Layers { base: &self.base, delta: &self.delta }
    }

    /// The settled edges.
    pub fn base(&self) -> &Arc<Base> {
        &self.base
    }

    /// What has changed since.
    pub fn delta(&self) -> &Arc<Delta> {
        &self.delta
    }

    /// The names of the kinds.
    pub fn kinds(&self) -> &Arc<Kinds> {
        &self.kinds
    }

    /// The number of a block, if an edge names it.
    #[inline]
    pub fn number(&self, id: BlockId) -> Option<u32> {
        self.layers().number(id)
    }

    /// The block of a number.
    #[inline]
    pub fn id(&self, number: u32) -> Option<BlockId> {
        self.layers().id(number)
    }

    /// How many numbers there are: those of nodes from 0 on, of which some may have lost all of
    /// their edges.
    pub fn nodes(&self) -> usize {
        self.layers().nodes()
    }

    /// How many edges there are.
    pub fn edges(&self) -> usize {
        self.layers().edges()
    }

    /// How many edges a node has, of every kind and time; none for what is no node.
    #[inline]
    pub fn degree(&self, number: u32, direction: Direction) -> usize {
        self.layers().degree(number, direction)
    }

    /// How many edges of a node count.
    pub fn degree_of(&self, number: u32, direction: Direction, filter: &EdgeFilter) -> usize {
        let is_any = filter.kinds.is_all() && filter.as_of.is_none();
        if is_any {
            return self.degree(number, direction);
        }
        let mut degree = 0;
        self.for_each(number, direction, filter, |_| degree += 1);
        degree
    }

    /// The edges of a node that count, in order of kind and number within a direction; none for
    /// what is no node.
    pub fn neighbors<'a>(
        &'a self,
        number: u32,
        direction: Direction,
        filter: &'a EdgeFilter,
    ) -> Neighbors<'a> {
        let cursor = self.layers().cursor(number, direction, filter);
        Neighbors { layers: self.layers(), filter, cursor }
    }

    /// Shows every edge of a node that counts, in the order of [`Self::neighbors`] and a bit
    /// quicker.
    #[inline(always)]
    pub fn for_each(
        &self,
        number: u32,
        direction: Direction,
        filter: &EdgeFilter,
        mut each: impl FnMut(Neighbor),
    ) {
        let shown = self.visit(number, direction, filter, |neighbor| {
            each(neighbor);
            ControlFlow::<()>::Continue(())
        });
        debug_assert!(shown.is_continue());
    }

    /// The same, until told to stop.
    #[inline(always)]
    pub fn visit<B>(
        &self,
        number: u32,
        direction: Direction,
        filter: &EdgeFilter,
        mut each: impl FnMut(Neighbor) -> ControlFlow<B>,
    ) -> ControlFlow<B> {
        self.layers().visit(number, direction, filter, &mut each)
    }

    /// Before the first edge of a node.
    #[inline(always)]
    pub(crate) fn cursor(&self, number: u32, direction: Direction, filter: &EdgeFilter) -> Cursor {
        self.layers().cursor(number, direction, filter)
    }

    /// The next edge that counts.
    #[inline(always)]
    pub(crate) fn advance(&self, cursor: &mut Cursor, filter: &EdgeFilter) -> Option<Neighbor> {
        self.layers().advance(cursor, filter)
    }
}

/// The edges of a node, one after the other.
///
/// ```
/// use timestrata_engine::{Durability, Settings, Store};
/// use timestrata_graph::Along;
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
/// let of_main = &code.view()?.neighbors(&[main.id()], &Along::default())?[0];
/// assert_eq!((of_main[0].0, &*of_main[0].1), (run.id(), "calls"));
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Neighbors<'a> {
    layers: Layers<'a>,
    filter: &'a EdgeFilter,
    cursor: Cursor,
}

impl Iterator for Neighbors<'_> {
    type Item = Neighbor;

    #[inline(always)]
    fn next(&mut self) -> Option<Neighbor> {
        self.layers.advance(&mut self.cursor, self.filter)
    }
}
