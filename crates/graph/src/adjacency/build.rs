//! Building a base: from edges as they come, or from an older base and a delta.

use std::ops::ControlFlow;

use timestrata_engine::{Error, ErrorKind, Result};

use super::base::{Base, Rows};
use super::numbers::Numbers;
use super::{ALWAYS, BlockId, Direction, Edge, EdgeFilter, View, Weight};

/// Edges of a base at most: what places of four bytes can tell apart.
const EDGES_MAX: usize = u32::MAX as usize;

/// Edges in columns, whatever their order.
#[derive(Debug, Default)]
struct EdgeColumns {
    sources: Vec<u32>,
    rows: Rows,
}

impl EdgeColumns {
    fn len(&self) -> usize {
        self.sources.len()
    }

    fn reserve(&mut self, edges: usize) {
        self.sources.reserve_exact(edges);
        self.rows.others.reserve_exact(edges);
        self.rows.kinds.reserve_exact(edges);
    }

    /// Columns that hardly any graph has begin with the first edge that needs them.
    #[inline]
    fn push(&mut self, source: u32, kind: u16, target: u32, weight: Weight, valid_from: i64) {
        let before = self.len();
        self.sources.push(source);
        self.rows.kinds.push(kind);
        self.rows.others.push(target);
        if weight != Weight::NONE || !self.rows.weights.is_empty() {
            self.rows.weights.resize(before, Weight::NONE);
            self.rows.weights.push(weight);
        }
        if valid_from != ALWAYS || !self.rows.valid_from.is_empty() {
            self.rows.valid_from.resize(before, ALWAYS);
            self.rows.valid_from.push(valid_from);
        }
    }

    /// The edge at a place, pushed to others.
    #[inline]
    fn push_to(&self, place: usize, others: &mut Self) {
        let Some((source, (kind, target))) = self.sources.get(place).zip(self.rows.key(place))
        else {
            return;
        };
        others.push(*source, kind, target, self.rows.weight(place), self.rows.valid_from(place));
    }
}

/// Takes in edges, and makes a base of them.
#[derive(Debug, Default)]
pub struct Builder {
    numbers: Numbers,
    edges: EdgeColumns,
    /// The source of the edge before: those of a source come one after the other.
    source: Option<(BlockId, u32)>,
}

impl Builder {
    /// No edges yet, but room for so many.
    pub fn with_capacity(edges: usize) -> Self {
        let mut builder = Self::default();
        builder.edges.reserve(edges);
        builder
    }

    /// Takes in an edge, in place of an earlier one of the same source, kind and target. Quicker
    /// if edges come in order of these, but any order will do.
    ///
    /// # Errors
    /// `TooLarge` if there are more nodes or edges than a base can have.
    pub fn push(&mut self, edge: &Edge) -> Result<()> {
        let source = match self.source {
            Some((id, number)) if id == edge.source => number,
            _ => self.numbers.intern(edge.source)?,
        };
        self.source = Some((edge.source, source));
        let target = self.numbers.intern(edge.target)?;
        let valid_from = edge.valid_from.unwrap_or(ALWAYS);
        self.push_numbers(source, edge.kind, target, Weight::new(edge.weight), valid_from)
    }

    fn push_numbers(
        &mut self,
        source: u32,
        kind: u16,
        target: u32,
        weight: Weight,
        valid_from: i64,
    ) -> Result<()> {
        if self.edges.len() >= EDGES_MAX {
            let message = format!("edges in memory: at most {EDGES_MAX}");
            return Err(Error::new(ErrorKind::TooLarge, message));
        }
        self.edges.push(source, kind, target, weight, valid_from);
        Ok(())
    }

    /// Makes the base.
    pub fn finish(self) -> Base {
        let Self { mut numbers, edges, .. } = self;
        numbers.shrink();
        let nodes = numbers.len();
        let order = order_by(nodes, &edges.sources, &edges.rows.others, &edges.rows.kinds);
        let sorted = last_of_each(&edges, &order);
        drop((edges, order));
        let order = order_by(nodes, &sorted.rows.others, &sorted.sources, &sorted.rows.kinds);
        let into = rows_in(&sorted, &order);
        let out_starts = starts_of(nodes, &sorted.sources);
        let in_starts = starts_of(nodes, &sorted.rows.others);
        let starts = out_starts.into_iter().zip(in_starts).map(|(out, into)| [out, into]);
        Base { numbers, starts: starts.collect(), out: sorted.rows, into }
    }
}

/// Where the edges of each node would begin if they lay side by side, and where the last end.
fn starts_of(nodes: usize, of: &[u32]) -> Vec<u32> {
    let mut starts = vec![0_u32; nodes + 1];
    for node in of {
        if let Some(count) = starts.get_mut(*node as usize + 1) {
            *count += 1;
        }
    }
    let mut sum = 0;
    for start in &mut starts {
        sum += *start;
        *start = sum;
    }
    starts
}

/// The places of the edges in order of node, kind, other end and place.
///
/// Sorted by node through counting; then row by row, which are short and mostly in order.
fn order_by(nodes: usize, of: &[u32], others: &[u32], kinds: &[u16]) -> Vec<u32> {
    let mut ends = starts_of(nodes, of);
    let mut order = vec![0_u32; of.len()];
    for (place, node) in of.iter().enumerate() {
        if let Some(end) = ends.get_mut(*node as usize) {
            if let Some(slot) = order.get_mut(*end as usize) {
                *slot = place as u32;
            }
            *end += 1;
        }
    }
    // Each start has moved to its row's end.
    let mut row = Vec::new();
    let mut start = 0;
    for end in ends.into_iter().take(nodes) {
        if let Some(places) = order.get_mut(start..end as usize) {
            sort_row(places, others, kinds, &mut row);
        }
        start = end as usize;
    }
    order
}

fn sort_row(places: &mut [u32], others: &[u32], kinds: &[u16], row: &mut Vec<(u64, u32)>) {
    if places.len() < 2 {
        return;
    }
    let key = |place: &u32| {
        let at = *place as usize;
        let kind = kinds.get(at).copied().unwrap_or_default();
        let other = others.get(at).copied().unwrap_or_default();
        (u64::from(kind) << 32 | u64::from(other), *place)
    };
    row.clear();
    row.extend(places.iter().map(key));
    if !row.is_sorted() {
        row.sort_unstable();
        for (place, (_, sorted)) in places.iter_mut().zip(row) {
            *place = *sorted;
        }
    }
}

/// The edges in that order; of several with the same source, kind and target the last.
fn last_of_each(edges: &EdgeColumns, order: &[u32]) -> EdgeColumns {
    let mut sorted = EdgeColumns::default();
    sorted.reserve(order.len());
    let key = |place: u32| (edges.sources.get(place as usize), edges.rows.key(place as usize));
    for (at, place) in order.iter().enumerate() {
        let is_replaced = order.get(at + 1).is_some_and(|next| key(*next) == key(*place));
        if !is_replaced {
            edges.push_to(*place as usize, &mut sorted);
        }
    }
    sorted.rows.others.shrink_to_fit();
    sorted.rows.kinds.shrink_to_fit();
    sorted.rows.weights.shrink_to_fit();
    sorted.rows.valid_from.shrink_to_fit();
    sorted
}

/// The same edges as their targets see them.
fn rows_in(edges: &EdgeColumns, order: &[u32]) -> Rows {
    fn gather<T: Copy>(column: &[T], order: &[u32]) -> Vec<T> {
        let mut gathered = Vec::with_capacity(column.len());
        gathered.extend(order.iter().filter_map(|place| column.get(*place as usize).copied()));
        gathered
    }
    Rows {
        others: gather(&edges.sources, order),
        kinds: gather(&edges.rows.kinds, order),
        weights: gather(&edges.rows.weights, order),
        valid_from: gather(&edges.rows.valid_from, order),
    }
}

impl View {
    /// Makes a base of this one's and what has changed since. Nodes without edges are gone from it;
    /// the others have new numbers.
    ///
    /// # Errors
    /// `TooLarge` if there are more edges than a base can have.
    pub fn rebuild(&self) -> Result<Base> {
        let mut builder = Builder::with_capacity(self.edges());
        let mut renumbered = Vec::with_capacity(self.nodes());
        for number in 0..self.nodes() as u32 {
            let id = self.id(number).filter(|_| self.degree(number, Direction::Both) > 0);
            renumbered.push(id.map(|id| builder.numbers.intern(id)).transpose()?);
        }
        let new = |number: u32| renumbered.get(number as usize).copied().flatten();
        for number in 0..self.nodes() as u32 {
            let Some(source) = new(number) else { continue };
            let pushed = self.visit(number, Direction::Out, &EdgeFilter::all(), |edge| {
                let Some(target) = new(edge.number) else { return ControlFlow::Continue(()) };
                let valid_from = edge.valid_from.unwrap_or(ALWAYS);
                let weight = Weight::new(edge.weight);
                match builder.push_numbers(source, edge.kind, target, weight, valid_from) {
                    Ok(()) => ControlFlow::Continue(()),
                    Err(error) => ControlFlow::Break(error),
                }
            });
            if let ControlFlow::Break(error) = pushed {
                return Err(error);
            }
        }
        Ok(builder.finish())
    }
}
