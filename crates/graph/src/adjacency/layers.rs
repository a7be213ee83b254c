//! Reading edges through a base and its delta.

use std::ops::{ControlFlow, Range};

use super::base::Rows;
use super::sorted::SortedPlace;
use super::{BlockId, Direction, EdgeFilter, EdgeSide, Neighbor, View};

/// How far the edges of a node have been gone through. It borrows nothing, so that a walk can keep
/// many for the next walk to use their memory.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cursor {
    number: u32,
    /// What is left of the base's row.
    at: u32,
    end: u32,
    /// The next changed edge, if any edge of the node has changed.
    changes: Option<SortedPlace>,
    side: EdgeSide,
    /// Whether the other side is to follow.
    is_first: bool,
}

impl Cursor {
    /// Whether it is known that no edge comes any more.
    #[inline]
    pub(crate) fn is_done(&self) -> bool {
        self.at >= self.end && self.changes.is_none() && !self.is_first
    }
}

impl View {
    /// How many numbers there are: those of nodes from 0 on, of which some may have lost all of
    /// their edges.
    pub fn nodes(&self) -> usize {
        self.base.nodes() + self.delta.new_nodes()
    }

    /// How many edges there are.
    pub fn edges(&self) -> usize {
        let edges = self.base.edges() as i64 + self.delta.more_edges();
        usize::try_from(edges).unwrap_or_default()
    }

    /// The number of a block, if an edge names it.
    #[inline]
    pub fn number(&self, id: BlockId) -> Option<u32> {
        self.base.number(id).or_else(|| self.delta.number(id))
    }

    /// The block of a number.
    #[inline]
    pub fn id(&self, number: u32) -> Option<BlockId> {
        self.base.id(number).or_else(|| self.delta.id(number))
    }

    /// How many edges a node has, of every kind and time; none for what is no node.
    #[inline]
    pub fn degree(&self, number: u32, direction: Direction) -> usize {
        let of_side = |side: EdgeSide| {
            let settled = self.base.row(number, side).len();
            if !self.delta.touches(number, side) {
                return settled;
            }
            let degree = settled as i64 + self.delta.more_edges_of(number, side);
            usize::try_from(degree).unwrap_or_default()
        };
        match direction {
            Direction::Out => of_side(EdgeSide::Out),
            Direction::In => of_side(EdgeSide::In),
            Direction::Both => of_side(EdgeSide::Out) + of_side(EdgeSide::In),
        }
    }

    /// Shows every edge of a node that counts, as [`Self::for_each`] does, until told to stop.
    #[inline(always)]
    pub fn visit<B>(
        &self,
        number: u32,
        direction: Direction,
        filter: &EdgeFilter,
        mut each: impl FnMut(Neighbor) -> ControlFlow<B>,
    ) -> ControlFlow<B> {
        // Each side by its name, and not in turn: that one of them is meant is then known where
        // the edges are gone through.
        if direction != Direction::In {
            self.visit_side(number, EdgeSide::Out, filter, &mut each)?;
        }
        if direction != Direction::Out {
            self.visit_side(number, EdgeSide::In, filter, &mut each)?;
        }
        ControlFlow::Continue(())
    }

    #[inline(always)]
    fn visit_side<B>(
        &self,
        number: u32,
        side: EdgeSide,
        filter: &EdgeFilter,
        each: &mut impl FnMut(Neighbor) -> ControlFlow<B>,
    ) -> ControlFlow<B> {
        let rows = self.base.rows(side);
        let row = self.base.row(number, side);
        if self.delta.touches(number, side) {
            return self.visit_changed(number, side, filter, each);
        }
        let needs_time = filter.as_of.is_some() && !rows.valid_from.is_empty();
        match filter.kinds.only() {
            _ if needs_time => visit_some(rows, row, filter, each),
            Some(kind) => visit_row(rows, rows.of_kind(row, kind), each),
            None if filter.kinds.is_all() => visit_row(rows, row, each),
            None => visit_some(rows, row, filter, each),
        }
    }

    /// The same for a node of which edges have changed.
    #[inline(never)]
    fn visit_changed<B>(
        &self,
        number: u32,
        side: EdgeSide,
        filter: &EdgeFilter,
        each: &mut impl FnMut(Neighbor) -> ControlFlow<B>,
    ) -> ControlFlow<B> {
        let mut cursor = self.cursor_of_side(number, side, filter);
        while let Some(neighbor) = self.advance_changed(&mut cursor, filter) {
            each(neighbor)?;
        }
        ControlFlow::Continue(())
    }

    /// Before the first edge of a node.
    #[inline(always)]
    pub(crate) fn cursor(&self, number: u32, direction: Direction, filter: &EdgeFilter) -> Cursor {
        let side = if direction == Direction::In { EdgeSide::In } else { EdgeSide::Out };
        let cursor = self.cursor_of_side(number, side, filter);
        Cursor { is_first: direction == Direction::Both, ..cursor }
    }

    #[inline(always)]
    fn cursor_of_side(&self, number: u32, side: EdgeSide, filter: &EdgeFilter) -> Cursor {
        let row = row_for(self.base.rows(side), self.base.row(number, side), filter);
        let changes = match self.delta.touches(number, side) {
            true => Some(self.delta.seek(number, filter.kinds.only().unwrap_or_default(), side)),
            false => None,
        };
        let (at, end) = (row.start as u32, row.end as u32);
        Cursor { number, at, end, changes, side, is_first: false }
    }

    /// The next edge that counts. Inlined wherever it is used: what is not asked of an edge is then
    /// not looked up, and an edge not written to memory.
    #[inline(always)]
    pub(crate) fn advance(&self, cursor: &mut Cursor, filter: &EdgeFilter) -> Option<Neighbor> {
        loop {
            let next = match cursor.changes {
                None => advance_row(self.base.rows(cursor.side), cursor, filter),
                Some(_) => self.advance_changed(cursor, filter),
            };
            if next.is_some() || !cursor.is_first {
                return next;
            }
            *cursor = self.cursor_of_side(cursor.number, EdgeSide::In, filter);
        }
    }

    /// The same for a node of which edges have changed: both lists are in order, and of an edge
    /// that both have the changed one counts.
    #[inline(never)]
    fn advance_changed(&self, cursor: &mut Cursor, filter: &EdgeFilter) -> Option<Neighbor> {
        let rows = self.base.rows(cursor.side);
        let mut place = cursor.changes?;
        let found = loop {
            let settled = (cursor.at < cursor.end).then(|| rows.key(cursor.at as usize)).flatten();
            let changed = self.delta.at(&mut place, cursor.number, cursor.side);
            let changed = changed.filter(|(kind, ..)| {
                // Behind the only kind wanted nothing can come.
                filter.kinds.only().is_none_or(|only| *kind <= only)
            });
            let Some((kind, other, changed)) = changed.filter(|(kind, other, _)| {
                settled.is_none_or(|settled| (*kind, *other) <= settled)
            }) else {
                // No changed edge comes first: the next settled one that counts, if it is before
                // the next changed one, can be looked for by itself.
                let Some((kind, other)) = settled else { break None };
                let at = cursor.at as usize;
                cursor.at += 1;
                if filter.kinds.has(kind) && filter.has_time(rows.valid_from(at)) {
                    break Some(rows.neighbor(at, kind, other));
                }
                continue;
            };
            cursor.at += u32::from(settled == Some((kind, other)));
            place.forward();
            if changed.counts(kind, filter) {
                break Some(changed.neighbor(kind, other));
            }
        };
        cursor.changes = Some(place);
        found
    }
}

/// The part of a row that may count: of its only kind, if there is one.
#[inline]
fn row_for(rows: &Rows, row: Range<usize>, filter: &EdgeFilter) -> Range<usize> {
    match filter.kinds.only() {
        Some(kind) => rows.of_kind(row, kind),
        None => row,
    }
}

#[inline(always)]
fn visit_row<B>(
    rows: &Rows,
    row: Range<usize>,
    each: &mut impl FnMut(Neighbor) -> ControlFlow<B>,
) -> ControlFlow<B> {
    let others = rows.others.get(row.clone()).unwrap_or_default();
    let kinds = rows.kinds.get(row.clone()).unwrap_or_default();
    for (place, (other, kind)) in row.zip(others.iter().zip(kinds)) {
        each(rows.neighbor(place, *kind, *other))?;
    }
    ControlFlow::Continue(())
}

#[inline(never)]
fn visit_some<B>(
    rows: &Rows,
    row: Range<usize>,
    filter: &EdgeFilter,
    each: &mut impl FnMut(Neighbor) -> ControlFlow<B>,
) -> ControlFlow<B> {
    let Range { start: mut at, end } = row;
    while let Some(neighbor) = next_in_row(rows, &mut at, end, filter) {
        each(neighbor)?;
    }
    ControlFlow::Continue(())
}

#[inline(always)]
fn advance_row(rows: &Rows, cursor: &mut Cursor, filter: &EdgeFilter) -> Option<Neighbor> {
    let mut at = cursor.at as usize;
    let next = next_in_row(rows, &mut at, cursor.end as usize, filter);
    cursor.at = at as u32;
    next
}

/// The next edge of a row that counts, from a place on, which is moved behind it.
#[inline(always)]
fn next_in_row(rows: &Rows, at: &mut usize, end: usize, filter: &EdgeFilter) -> Option<Neighbor> {
    while *at < end {
        let place = *at;
        let (kind, other) = rows.key(place)?;
        if !filter.kinds.has(kind) {
            *at = rows.end_of_kind(place, end);
            continue;
        }
        *at += 1;
        if filter.has_time(rows.valid_from(place)) {
            return Some(rows.neighbor(place, kind, other));
        }
    }
    None
}
