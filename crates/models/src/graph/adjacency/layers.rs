//! A base with its delta over it: reading edges through both.

use std::ops::{ControlFlow, Range};

use super::base::{Base, Rows};
use super::sorted::Place;
use super::{BlockId, Delta, Direction, EdgeFilter, Neighbor, Side, valid_from_of};

/// A base and what has changed since.
#[derive(Debug, Clone, Copy)]
pub(super) struct Layers<'a> {
    pub(super) base: &'a Base,
    pub(super) delta: &'a Delta,
}

/// How far the edges of a node have been gone through. It borrows nothing, so that a walk can keep
/// many for the next walk to use their memory.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cursor {
    number: u32,
    /// What is left of the base's row.
    at: u32,
    end: u32,
    /// The next changed edge, if any edge of the node has changed.
    changes: Option<Place>,
    side: Side,
    /// Whether the other side is to follow.
    is_first: bool,
}

impl<'a> Layers<'a> {
    pub(super) fn nodes(self) -> usize {
        self.base.nodes() + self.delta.new_nodes()
    }

    pub(super) fn edges(self) -> usize {
        let edges = self.base.edges() as i64 + self.delta.more_edges();
        usize::try_from(edges).unwrap_or_default()
    }

    #[inline]
    pub(super) fn number(self, id: BlockId) -> Option<u32> {
        self.base.number(id).or_else(|| self.delta.number(id))
    }

    #[inline]
    pub(super) fn id(self, number: u32) -> Option<BlockId> {
        self.base.id(number).or_else(|| self.delta.id(number))
    }

    #[inline]
    pub(super) fn degree(self, number: u32, direction: Direction) -> usize {
        let of_side = |side: &Side| {
            let settled = self.base.row(number, *side).len();
            if !self.delta.touches(number, *side) {
                return settled;
            }
            let degree = settled as i64 + self.delta.more_edges_of(number, *side);
            usize::try_from(degree).unwrap_or_default()
        };
        direction.sides().iter().map(of_side).sum()
    }

    /// Shows every edge of a node that counts, until told to stop.
    #[inline]
    pub(super) fn visit<B>(
        self,
        number: u32,
        direction: Direction,
        filter: &EdgeFilter,
        each: &mut impl FnMut(Neighbor) -> ControlFlow<B>,
    ) -> ControlFlow<B> {
        for side in direction.sides() {
            if self.delta.touches(number, *side) {
                let mut cursor = self.cursor_of_side(number, *side, filter);
                while let Some(neighbor) = self.advance(&mut cursor, filter) {
                    each(neighbor)?;
                }
                continue;
            }
            let rows = self.base.rows(*side);
            let row = row_for(rows, self.base.row(number, *side), filter);
            let is_each_of_it = filter.kinds.is_all() || filter.kinds.only().is_some();
            if is_each_of_it && (filter.as_of.is_none() || rows.valid_from.is_empty()) {
                visit_row(rows, row, each)?;
            } else {
                visit_some(rows, row, filter, each)?;
            }
        }
        ControlFlow::Continue(())
    }

    /// Before the first edge of a node.
    #[inline]
    pub(super) fn cursor(self, number: u32, direction: Direction, filter: &EdgeFilter) -> Cursor {
        let side = direction.sides().first().copied().unwrap_or(Side::Out);
        let cursor = self.cursor_of_side(number, side, filter);
        Cursor { is_first: direction == Direction::Both, ..cursor }
    }

    #[inline]
    fn cursor_of_side(self, number: u32, side: Side, filter: &EdgeFilter) -> Cursor {
        let row = row_for(self.base.rows(side), self.base.row(number, side), filter);
        let changes = self.delta.touches(number, side);
        let first_kind = filter.kinds.only().unwrap_or_default();
        Cursor {
            number,
            at: row.start as u32,
            end: row.end as u32,
            changes: changes.then(|| self.delta.seek(number, first_kind, side)),
            side,
            is_first: false,
        }
    }

    /// The next edge that counts.
    #[inline]
    pub(super) fn advance(self, cursor: &mut Cursor, filter: &EdgeFilter) -> Option<Neighbor> {
        loop {
            let next = match cursor.changes {
                None => advance_row(self.base.rows(cursor.side), cursor, filter),
                Some(_) => self.advance_changed(cursor, filter),
            };
            if next.is_some() || !cursor.is_first {
                return next;
            }
            *cursor = self.cursor_of_side(cursor.number, Side::In, filter);
        }
    }

    /// The same for a node of which edges have changed: both lists are in order, and of an edge
    /// that both have the changed one counts.
    fn advance_changed(self, cursor: &mut Cursor, filter: &EdgeFilter) -> Option<Neighbor> {
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
            let counts = changed.is_linked && filter.has_time(changed.valid_from);
            if counts && filter.kinds.has(kind) {
                let weight = changed.weight.get();
                let valid_from = valid_from_of(changed.valid_from);
                break Some(Neighbor { number: other, kind, weight, valid_from });
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

#[inline]
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

fn visit_some<B>(
    rows: &Rows,
    row: Range<usize>,
    filter: &EdgeFilter,
    each: &mut impl FnMut(Neighbor) -> ControlFlow<B>,
) -> ControlFlow<B> {
    let mut at = row.start;
    while at < row.end {
        let Some((kind, other)) = rows.key(at) else { break };
        if !filter.kinds.has(kind) {
            at = rows.end_of_kind(at, row.end);
            continue;
        }
        if filter.has_time(rows.valid_from(at)) {
            each(rows.neighbor(at, kind, other))?;
        }
        at += 1;
    }
    ControlFlow::Continue(())
}

#[inline]
fn advance_row(rows: &Rows, cursor: &mut Cursor, filter: &EdgeFilter) -> Option<Neighbor> {
    while cursor.at < cursor.end {
        let at = cursor.at as usize;
        let (kind, other) = rows.key(at)?;
        if !filter.kinds.has(kind) {
            cursor.at = rows.end_of_kind(at, cursor.end as usize) as u32;
            continue;
        }
        cursor.at += 1;
        if filter.has_time(rows.valid_from(at)) {
            return Some(rows.neighbor(at, kind, other));
        }
    }
    None
}
