//! The delta: edges that have changed since the base was built.

use timestrata_engine::Result;

use super::base::Base;
use super::bits::Bits;
use super::numbers::{NODES_MAX, too_many};
use super::sorted::{Sorted, SortedPlace};
use super::{ALWAYS, BlockId, Edge, EdgeFilter, EdgeSide, Neighbor, Weight, valid_from_of};

/// A change of one edge.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Change {
    /// The edge is there, and what it weighs and since when it is valid is this.
    Link(Edge),
    /// The edge is not there.
    Unlink {
        /// Where it began.
        source: BlockId,
        /// The number of its kind.
        kind: u16,
        /// Where it ended.
        target: BlockId,
    },
}

/// An edge as one of its ends sees it; in order of these within a side.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key {
    pub(super) node: u32,
    pub(super) kind: u16,
    pub(super) other: u32,
}

impl Key {
    /// One that is before all of a node's edges of a kind and behind it.
    pub(super) fn first_of(node: u32, kind: u16) -> Self {
        Self { node, kind, other: 0 }
    }
}

/// What has become of an edge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Changed {
    pub(super) weight: Weight,
    pub(super) valid_from: i64,
    pub(super) is_linked: bool,
    /// Whether the base has it, whatever its weight there.
    is_in_base: bool,
}

impl Changed {
    /// It is gone.
    const UNLINKED: Self =
        Self { weight: Weight::NONE, valid_from: ALWAYS, is_linked: false, is_in_base: false };

    fn linked(weight: Weight, valid_from: i64) -> Self {
        Self { weight, valid_from, is_linked: true, is_in_base: false }
    }

    /// Whether the edge is there and meant.
    #[inline]
    pub(super) fn counts(&self, kind: u16, filter: &EdgeFilter) -> bool {
        self.is_linked && filter.kinds.has(kind) && filter.has_time(self.valid_from)
    }

    /// The other end of the edge.
    #[inline]
    pub(super) fn neighbor(&self, kind: u16, number: u32) -> Neighbor {
        let valid_from = valid_from_of(self.valid_from);
        Neighbor { number, kind, weight: self.weight.get(), valid_from }
    }
}

/// The changes as the nodes of one side see them.
#[derive(Debug, Clone, Default)]
struct Changes {
    edges: Sorted<Key, Changed>,
    /// The nodes that have any: all others have the base's row.
    nodes: Bits,
}

/// What has changed since a base: an immutable value, of which [`Delta::after`] makes the next.
///
/// The next one shares with it all but what changed, so that making it costs little and disturbs
/// nobody who reads the old one. Nodes that the base doesn't have are numbered from where its
/// numbers end.
///
/// An edge that has changed stays in it until the next rebuild, even if it is again as it was:
/// so whatever differs between a delta and an older one can be seen in the newer.
#[derive(Debug, Clone, Default)]
pub struct Delta {
    out: Changes,
    into: Changes,
    base_nodes: u32,
    numbers: Sorted<BlockId, u32>,
    ids: Sorted<u32, BlockId>,
    /// Edges that there are more than in the base; fewer below zero.
    more_edges: i64,
}

impl Delta {
    /// Nothing has changed since this base.
    pub fn new(base: &Base) -> Self {
        Self { base_nodes: base.nodes() as u32, ..Self::default() }
    }

    /// How many edges have changed: whether it is time for [`crate::adjacency::View::rebuild`].
    pub fn edges(&self) -> usize {
        self.out.edges.len()
    }

    /// Nodes that the base doesn't have.
    pub fn new_nodes(&self) -> usize {
        self.ids.len()
    }

    /// The delta after some more changes, in their order. The base must be the one that it
    /// belongs to.
    ///
    /// # Errors
    /// `TooLarge` if there are more nodes than a graph can have.
    pub fn after<'a>(
        &self,
        base: &Base,
        changes: impl IntoIterator<Item = &'a Change>,
    ) -> Result<Self> {
        let mut next = self.clone();
        next.change(base, changes)?;
        Ok(next)
    }

    /// Makes some more changes, in their order: as [`after`](Self::after), but what no copy shares is
    /// changed in its place. After an error some of them may have been made.
    ///
    /// # Errors
    /// As [`after`](Self::after).
    pub(crate) fn change<'a>(
        &mut self,
        base: &Base,
        changes: impl IntoIterator<Item = &'a Change>,
    ) -> Result<()> {
        changes.into_iter().try_for_each(|change| self.apply(base, change))
    }

    /// The delta that says to a rebuilt base what this one says to the base `from`: what has
    /// changed since `merged`, an earlier one that went into the rebuilt base. What did not
    /// change since costs little.
    ///
    /// # Errors
    /// `TooLarge` if there are more nodes than a graph can have.
    pub fn moved(&self, from: &Base, merged: &Self, to: &Base) -> Result<Self> {
        let mut next = Self::new(to);
        for (key, changed) in self.out.edges.newer_than(&merged.out.edges) {
            let id = |number: u32| from.id(number).or_else(|| self.id(number));
            let (Some(source), Some(target)) = (id(key.node), id(key.other)) else { continue };
            let kind = key.kind;
            let change = match changed.is_linked {
                false => Change::Unlink { source, kind, target },
                true => Change::Link(Edge {
                    source,
                    kind,
                    target,
                    weight: changed.weight.get(),
                    valid_from: valid_from_of(changed.valid_from),
                }),
            };
            next.apply(to, &change)?;
        }
        Ok(next)
    }

    fn apply(&mut self, base: &Base, change: &Change) -> Result<()> {
        match change {
            Change::Link(edge) => self.link(base, edge),
            Change::Unlink { source, kind, target } => {
                let number = |id| base.number(id).or_else(|| self.number(id));
                if let Some((node, other)) = number(*source).zip(number(*target)) {
                    self.put(base, Key { node, kind: *kind, other }, Changed::UNLINKED);
                }
                Ok(())
            }
        }
    }

    fn link(&mut self, base: &Base, edge: &Edge) -> Result<()> {
        let source = self.intern(base, edge.source)?;
        let target = self.intern(base, edge.target)?;
        let linked = Changed::linked(Weight::new(edge.weight), edge.valid_from.unwrap_or(ALWAYS));
        self.put(base, Key { node: source, kind: edge.kind, other: target }, linked);
        Ok(())
    }

    /// Puts what has become of an edge, unless it is that already.
    fn put(&mut self, base: &Base, key: Key, mut changed: Changed) {
        let before = self.out.edges.get(&key).copied().or_else(|| {
            let place = base.find(key.node, key.kind, key.other)?;
            let settled = Changed::linked(base.out.weight(place), base.out.valid_from(place));
            Some(Changed { is_in_base: true, ..settled })
        });
        let was_linked = before.is_some_and(|before| before.is_linked);
        changed.is_in_base = before.is_some_and(|before| before.is_in_base);
        if Some(changed) == before || (before.is_none() && !changed.is_linked) {
            return;
        }
        self.more_edges += i64::from(changed.is_linked) - i64::from(was_linked);
        self.out.nodes.set(key.node);
        self.out.edges.insert(key, changed);
        self.into.nodes.set(key.other);
        let seen_from_target = Key { node: key.other, kind: key.kind, other: key.node };
        self.into.edges.insert(seen_from_target, changed);
    }

    fn intern(&mut self, base: &Base, id: BlockId) -> Result<u32> {
        if let Some(number) = base.number(id).or_else(|| self.number(id)) {
            return Ok(number);
        }
        let number = self.base_nodes as usize + self.new_nodes();
        if number >= NODES_MAX {
            return Err(too_many());
        }
        self.numbers.insert(id, number as u32);
        self.ids.insert(number as u32, id);
        Ok(number as u32)
    }

    /// The number of a block that the base doesn't have.
    pub(super) fn number(&self, id: BlockId) -> Option<u32> {
        self.numbers.get(&id).copied()
    }

    /// The block of a number that the base doesn't have.
    pub(super) fn id(&self, number: u32) -> Option<BlockId> {
        self.ids.get(&number).copied()
    }

    pub(super) fn more_edges(&self) -> i64 {
        self.more_edges
    }

    fn side(&self, side: EdgeSide) -> &Changes {
        match side {
            EdgeSide::Out => &self.out,
            EdgeSide::In => &self.into,
        }
    }

    /// Whether any edge of a node has changed.
    #[inline]
    pub(super) fn touches(&self, number: u32, side: EdgeSide) -> bool {
        self.side(side).nodes.has(number)
    }

    /// Edges that a node has more than in the base; fewer below zero.
    pub(super) fn more_edges_of(&self, number: u32, side: EdgeSide) -> i64 {
        let changes = self.side(side).edges.from(Key::first_of(number, 0));
        let of_node = changes.take_while(|(key, _)| key.node == number);
        of_node
            .map(|(_, changed)| i64::from(changed.is_linked) - i64::from(changed.is_in_base))
            .sum()
    }

    /// Where the changed edges of a node begin, from a kind on.
    #[inline(never)]
    pub(super) fn seek(&self, number: u32, kind: u16, side: EdgeSide) -> SortedPlace {
        self.side(side).edges.seek(&Key::first_of(number, kind))
    }

    /// The changed edge of a node at a place or next behind it.
    #[inline]
    pub(super) fn at(
        &self,
        place: &mut SortedPlace,
        number: u32,
        side: EdgeSide,
    ) -> Option<(u16, u32, Changed)> {
        let (key, changed) = self.side(side).edges.at(place)?;
        (key.node == number).then_some((key.kind, key.other, *changed))
    }
}
