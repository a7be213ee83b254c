//! Shortest paths by weight (Dijkstra).

use std::cmp::Reverse;
use std::ops::ControlFlow;

use timestrata_engine::{Error, ErrorKind, Result};

use super::path::{Path, Search};
use super::scratch::{Marks, Scratch};
use super::traverse::WalkOptions;
use crate::adjacency::{BlockId, Neighbor, View};

/// What the way to a node weighs, as bits, and the node; a heap gives the lightest first. No weight is below
/// zero, and so the bits of two are in the order of the weights.
pub(super) type Cost = Reverse<(u64, u32)>;

/// How a node was reached, at the least weight so far.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Reached {
    cost: f64,
    /// The node before it, and the kind of the edge between them.
    before: u32,
    kind: u16,
}

/// Finds a path of the least weight: Dijkstra's way. An edge without a weight weighs 1. The depth has no bound.
///
/// # Errors
/// `InvalidData` if it comes by an edge with a weight below zero or that is no number.
pub fn cheapest_path(
    view: &View,
    scratch: &mut Scratch,
    source: u32,
    target: u32,
    options: &WalkOptions,
) -> Result<Search> {
    if source.max(target) as usize >= view.nodes() {
        return Ok(Search::default());
    }
    let Scratch { marks, reached, heap, .. } = scratch;
    // The first mark is that of nodes some way to which is known, the second that of nodes of
    // which the best is.
    let mark = marks.begin(view.nodes(), 2);
    if reached.len() < view.nodes() {
        reached.resize(view.nodes(), Reached::default());
    }
    heap.clear();
    marks.set(source, mark);
    if let Some(reached) = reached.get_mut(source as usize) {
        *reached = Reached { cost: 0.0, before: source, kind: 0 };
    }
    heap.push(Reverse((0.0_f64.to_bits(), source)));
    let mut settled = 0_usize;
    while let Some(Reverse((bits, number))) = heap.pop() {
        if !marks.enter(number, mark + 1) {
            continue;
        }
        if number == target {
            let path = path_to(reached, source, target);
            return Ok(Search { path: Some(path), is_cut: false });
        }
        if options.is_given_up(settled) {
            return Ok(Search { path: None, is_cut: true });
        }
        settled += 1;
        if settled >= options.nodes_max {
            // It is cut if it would have gone on.
            let is_left = |Reverse((_, next)): &Cost| marks.get(*next) != mark + 1;
            let is_cut = heap.iter().any(is_left) || leads_on(view, marks, number, options, mark);
            return Ok(Search { path: None, is_cut });
        }
        let relaxed = view.visit(number, options.direction, &options.edges, |edge| {
            let weight = edge.weight.unwrap_or(1.0);
            if weight.is_nan() || weight < 0.0 {
                return ControlFlow::Break(edge);
            }
            let (cost, state) = (f64::from_bits(bits) + weight, marks.get(edge.number));
            let Some(known) = reached.get_mut(edge.number as usize) else {
                return ControlFlow::Continue(());
            };
            if state != mark + 1 && (state != mark || cost < known.cost) {
                *known = Reached { cost, before: number, kind: edge.kind };
                marks.set(edge.number, mark);
                heap.push(Reverse((cost.to_bits(), edge.number)));
            }
            ControlFlow::Continue(())
        });
        if let ControlFlow::Break(edge) = relaxed {
            return Err(bad_weight(view, number, edge));
        }
    }
    Ok(Search::default())
}

/// Whether a node has an edge to one that no way is known to.
fn leads_on(view: &View, marks: &Marks, number: u32, options: &WalkOptions, mark: u16) -> bool {
    let found = view.visit(number, options.direction, &options.edges, |edge| {
        match marks.get(edge.number) {
            known if known == mark || known == mark + 1 => ControlFlow::Continue(()),
            _ => ControlFlow::Break(()),
        }
    });
    found.is_break()
}

fn path_to(reached: &[Reached], source: u32, target: u32) -> Path {
    let mut path = Path { nodes: vec![target], ..Path::default() };
    let mut number = target;
    path.cost = reached.get(target as usize).map_or(0.0, |reached| reached.cost);
    while number != source
        && let Some(step) = reached.get(number as usize)
    {
        number = step.before;
        path.nodes.push(number);
        path.kinds.push(step.kind);
    }
    path.nodes.reverse();
    path.kinds.reverse();
    path
}

fn bad_weight(view: &View, number: u32, edge: Neighbor) -> Error {
    let text = |id: Option<BlockId>| id.map(|id| id.to_string()).unwrap_or_default();
    let kind = view.kinds().name(edge.kind).map_or_else(|| edge.kind.to_string(), str::to_owned);
    let message = format!(
        "the edge '{kind}' between {} and {} weighs {}: a path of the least weight needs weights \
         that are zero or more",
        text(view.id(number)),
        text(view.id(edge.number)),
        edge.weight.unwrap_or(1.0),
    );
    Error::new(ErrorKind::InvalidData, message)
}
