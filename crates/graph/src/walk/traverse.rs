//! Breadth-first and depth-first walks.

use std::ops::ControlFlow;

use timestrata_engine::RunningQuery;

use super::scratch::{Frame, Scratch};
use crate::adjacency::{Direction, EdgeFilter, View};

/// Stands for the parent of a node that the walk began with.
const NO_PARENT: u32 = u32::MAX;

/// Nodes that a walk has room for at first.
const NODES_FIRST: usize = 256;

/// In which order a walk comes to nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Order {
    /// Nearer ones first: all that are one edge away, then those two away, and so on. A node's
    /// depth is the least there is.
    #[default]
    Breadth,
    /// Down each path as far as it goes before the next: a node comes before those that are
    /// reached through it. Its depth is that of the path it was reached by; with a bound to the
    /// depth, nodes that another path would reach sooner may be missed.
    Depth,
}

/// Along which edges to walk, or to look for a path, and how far.
#[derive(Debug, Clone)]
pub struct WalkOptions {
    /// Along which edges.
    pub direction: Direction,
    /// Which of them count.
    pub edges: EdgeFilter,
    /// How many edges away at most.
    pub depth_max: u32,
    /// How many nodes at most, those it begins with included.
    pub nodes_max: usize,
    /// Who asks. Once they want no answer any more it ends, and what it gives is cut.
    pub query: Option<RunningQuery>,
}

/// So many nodes are looked at between two looks whether somebody still wants the answer.
const NODES_PER_LOOK: usize = 1_024;

impl WalkOptions {
    /// Whether nobody wants the answer any more, asked once a node.
    #[inline]
    pub(super) fn is_given_up(&self, nodes: usize) -> bool {
        nodes.is_multiple_of(NODES_PER_LOOK)
            && self.query.as_ref().is_some_and(|query| query.check().is_err())
    }
}

impl Default for WalkOptions {
    /// Along all edges that go out, without bounds.
    fn default() -> Self {
        Self {
            direction: Direction::Out,
            edges: EdgeFilter::all(),
            depth_max: u32::MAX,
            nodes_max: usize::MAX,
            query: None,
        }
    }
}

/// A node of a walk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Step {
    /// Its number.
    pub number: u32,
    /// How many edges it is away from where the walk began.
    pub depth: u32,
    parent: u32,
    kind: u16,
}

impl Step {
    pub(super) fn first(number: u32) -> Self {
        Self { number, depth: 0, parent: NO_PARENT, kind: 0 }
    }

    #[inline]
    pub(super) fn behind(parent: u32, depth: u32, number: u32, kind: u16) -> Self {
        Self { number, depth: depth + 1, parent, kind }
    }

    /// The place in the walk of the node it was reached from; none where the walk began.
    #[inline]
    pub fn parent(&self) -> Option<usize> {
        (self.parent != NO_PARENT).then_some(self.parent as usize)
    }

    /// The kind of the edge it was reached by; none where the walk began.
    #[inline]
    pub fn kind(&self) -> Option<u16> {
        (self.parent != NO_PARENT).then_some(self.kind)
    }
}

/// What a walk came by.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Walk {
    /// Each node once, in the order of the walk.
    pub nodes: Vec<Step>,
    /// Whether a bound kept it from some node.
    pub is_cut: bool,
}

/// Walks from some nodes to all that can be reached from them, each once.
///
/// Those it begins with are at depth 0, each once, whatever the filter says; numbers of no node
/// are passed over. The filter is asked at most once for each other node: one that it turns down is
/// neither given nor gone through.
pub fn walk(
    view: &View,
    scratch: &mut Scratch,
    starts: &[u32],
    order: Order,
    options: &WalkOptions,
    filter: impl FnMut(u32) -> bool,
) -> Walk {
    let mark = scratch.marks.begin(view.nodes(), 1);
    let nodes_max = options.nodes_max.min(NO_PARENT as usize);
    let nodes = Vec::with_capacity(NODES_FIRST.min(nodes_max));
    let walk = Walk { nodes, is_cut: false };
    let mut walker = Walker { view, scratch, options, filter, mark, nodes_max, walk };
    match order {
        Order::Breadth => walker.in_breadth(starts),
        Order::Depth => walker.in_depth(starts),
    }
    walker.walk
}

struct Walker<'a, F> {
    view: &'a View,
    scratch: &'a mut Scratch,
    options: &'a WalkOptions,
    filter: F,
    mark: u16,
    nodes_max: usize,
    walk: Walk,
}

impl<F: FnMut(u32) -> bool> Walker<'_, F> {
    fn in_breadth(&mut self, starts: &[u32]) {
        let Self { view, scratch, options, filter, mark, nodes_max, walk } = self;
        let Walk { nodes, is_cut } = walk;
        for start in starts {
            if scratch.marks.enter(*start, *mark) {
                if nodes.len() >= *nodes_max {
                    *is_cut = true;
                    return;
                }
                nodes.push(Step::first(*start));
            }
        }
        // The nodes found are the queue as well.
        let mut at = 0;
        while let Some(step) = nodes.get(at).copied() {
            if step.depth >= options.depth_max {
                break;
            }
            if options.is_given_up(at) {
                *is_cut = true;
                return;
            }
            let found = view.visit(step.number, options.direction, &options.edges, |neighbor| {
                if !scratch.marks.enter(neighbor.number, *mark) || !filter(neighbor.number) {
                    return ControlFlow::Continue(());
                }
                if nodes.len() >= *nodes_max {
                    return ControlFlow::Break(());
                }
                let (place, kind) = (at as u32, neighbor.kind);
                nodes.push(Step::behind(place, step.depth, neighbor.number, kind));
                ControlFlow::Continue(())
            });
            if found.is_break() {
                *is_cut = true;
                return;
            }
            at += 1;
        }
        self.look_deeper(at);
    }

    fn in_depth(&mut self, starts: &[u32]) {
        // All of them are marked first, so that each is at depth 0 though another may lead to it.
        let mut firsts = std::mem::take(self.scratch.first_steps());
        firsts.clear();
        for start in starts {
            if self.scratch.marks.enter(*start, self.mark) {
                firsts.push(Step::first(*start));
            }
        }
        self.scratch.frames.clear();
        self.walk.is_cut = firsts.iter().any(|first| self.go_down(*first).is_break());
        *self.scratch.first_steps() = firsts;
        if !self.walk.is_cut {
            self.look_deeper(0);
        }
    }

    /// Takes in a node and all that is to be reached through it.
    fn go_down(&mut self, first: Step) -> ControlFlow<()> {
        let Self { view, scratch, options, filter, mark, nodes_max, walk } = self;
        let Scratch { marks, frames, .. } = &mut **scratch;
        let nodes = &mut walk.nodes;
        if nodes.len() >= *nodes_max {
            return ControlFlow::Break(());
        }
        let mut place = nodes.len() as u32;
        let mut depth = 0;
        nodes.push(first);
        if options.depth_max == 0 {
            return ControlFlow::Continue(());
        }
        let mut cursor = view.cursor(first.number, options.direction, &options.edges);
        let mut turns = 0;
        loop {
            if options.is_given_up(turns) {
                return ControlFlow::Break(());
            }
            turns += 1;
            let Some(neighbor) = view.advance(&mut cursor, &options.edges) else {
                let Some(above) = frames.pop() else { return ControlFlow::Continue(()) };
                Frame { cursor, place, depth } = above;
                continue;
            };
            let number = neighbor.number;
            if !marks.enter(number, *mark) || !filter(number) {
                continue;
            }
            if nodes.len() >= *nodes_max {
                return ControlFlow::Break(());
            }
            let next_place = nodes.len() as u32;
            nodes.push(Step::behind(place, depth, number, neighbor.kind));
            if depth + 1 >= options.depth_max {
                continue;
            }
            let below = view.cursor(number, options.direction, &options.edges);
            // Many nodes lead nowhere: there is no way down from them, and so none back.
            if !below.is_done() {
                frames.push(Frame { cursor, place, depth });
                (cursor, place, depth) = (below, next_place, depth + 1);
            }
        }
    }

    /// Says that the walk is cut if a node as deep as may be, from a place on, leads to another.
    fn look_deeper(&mut self, from: usize) {
        let Self { view, scratch, options, filter, mark, walk, .. } = self;
        if options.depth_max as usize >= walk.nodes.len() {
            // There is none so deep.
            return;
        }
        let deepest = walk.nodes.iter().skip(from);
        let mut deepest = deepest.filter(|step| step.depth == options.depth_max);
        let mut looked_at = 0;
        walk.is_cut = deepest.any(|step| {
            if options.is_given_up(looked_at) {
                return true;
            }
            looked_at += 1;
            let found = view.visit(step.number, options.direction, &options.edges, |neighbor| {
                let is_new = scratch.marks.enter(neighbor.number, *mark);
                match is_new && filter(neighbor.number) {
                    true => ControlFlow::Break(()),
                    false => ControlFlow::Continue(()),
                }
            });
            found.is_break()
        });
    }
}
