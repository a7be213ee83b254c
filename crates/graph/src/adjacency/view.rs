//! A graph as it was at one moment.

use std::ops::ControlFlow;
use std::sync::Arc;

use timestrata_engine::Result;

use super::{Base, Change, Delta, Direction, EdgeFilter, Kinds, Neighbor};

/// The edges of a graph as they were at one moment; cheap to copy, and never changes.
#[derive(Debug, Clone, Default)]
pub struct View {
    pub(super) base: Arc<Base>,
    pub(super) delta: Arc<Delta>,
    kinds: Arc<Kinds>,
    tells_all: bool,
}

impl View {
    /// A view of a base and what has changed since, which must belong together.
    pub fn new(base: Arc<Base>, delta: Arc<Delta>, kinds: Arc<Kinds>) -> Self {
        Self { base, delta, kinds, tells_all: false }
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

    /// Makes some more changes, whose kinds are these, for all who look at this view from now on; other
    /// copies of it stay as they are. After an error it may be between both.
    ///
    /// # Errors
    /// As [`Delta::after`].
    pub(crate) fn change(&mut self, kinds: Arc<Kinds>, changes: &[Change]) -> Result<()> {
        self.kinds = kinds;
        Arc::make_mut(&mut self.delta).change(&self.base, changes)
    }

    /// The same, where nothing is said of any edge that isn't here: no properties.
    pub(crate) fn telling_all(self, tells_all: bool) -> Self {
        Self { tells_all, ..self }
    }

    /// Whether all that is said of its edges is here; false where nobody has looked.
    pub(crate) fn tells_all(&self) -> bool {
        self.tells_all
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

    /// Shows every edge of a node that counts, in order of kind and number within a direction; none of
    /// what is no node.
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
}
