//! Edges of a block as values, from the edges in memory: without a look at the store.

use std::sync::Arc;

use super::adjacency::{BlockId, Direction, EdgeFilter, View};
use super::edge::{Edge, EdgeKey, EdgeSide};

/// The edges of a block in one direction, in the order in which the store has them: by kind and then by the block at their other
/// end. They lack properties, which are not in memory.
pub(super) fn edges_of(view: &View, side: EdgeSide, id: BlockId) -> Vec<Edge> {
    let Some(number) = view.number(id) else { return Vec::new() };
    let direction = match side {
        EdgeSide::Out => Direction::Out,
        EdgeSide::In => Direction::In,
    };
    let mut edges = Vec::with_capacity(view.degree(number, direction));
    view.for_each(number, direction, &EdgeFilter::all(), |neighbor| {
        let kind = view.kinds().shared_name(neighbor.kind);
        let Some((kind, other)) = kind.zip(view.id(neighbor.number)) else { return };
        let (source, target) = match side {
            EdgeSide::Out => (id, other),
            EdgeSide::In => (other, id),
        };
        edges.push(Edge {
            key: EdgeKey { source, kind: Arc::clone(kind), target },
            weight: neighbor.weight,
            valid_from_ns: neighbor.valid_from,
            properties: None,
        });
    });
    // In memory they are by the numbers of both.
    edges.sort_unstable_by(|one, other| {
        let place = |edge: &Edge| match side {
            EdgeSide::Out => edge.key.target,
            EdgeSide::In => edge.key.source,
        };
        (&*one.key.kind, place(one)).cmp(&(&*other.key.kind, place(other)))
    });
    edges
}
