//! Neighbours and degrees of many nodes in one call.

use crate::adjacency::{Direction, EdgeFilter, View};

/// The edges of many nodes, in columns.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Hops {
    /// Where each node's edges begin in the other columns, and behind the last node's where they
    /// end.
    pub starts: Vec<usize>,
    /// The other ends.
    pub numbers: Vec<u32>,
    /// The kinds.
    pub kinds: Vec<u16>,
    /// The weights of those that have one.
    pub weights: Vec<Option<f64>>,
    /// From when on those count that don't always.
    pub valid_from: Vec<Option<i64>>,
}

/// The edges of each of these nodes; none of what is no node.
pub fn neighbors_of_many(
    view: &View,
    numbers: &[u32],
    direction: Direction,
    filter: &EdgeFilter,
) -> Hops {
    let mut hops = Hops { starts: Vec::with_capacity(numbers.len() + 1), ..Hops::default() };
    hops.starts.push(0);
    for number in numbers {
        view.for_each(*number, direction, filter, |neighbor| {
            hops.numbers.push(neighbor.number);
            hops.kinds.push(neighbor.kind);
            hops.weights.push(neighbor.weight);
            hops.valid_from.push(neighbor.valid_from);
        });
        hops.starts.push(hops.numbers.len());
    }
    hops
}

/// How many edges each node has, by its number.
pub fn degrees(view: &View, direction: Direction, filter: &EdgeFilter) -> Vec<usize> {
    let numbers = 0..view.nodes() as u32;
    numbers.map(|number| view.degree_of(number, direction, filter)).collect()
}
