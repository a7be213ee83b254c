//! Shortest paths by number of edges, searched from both ends.

use std::ops::ControlFlow;

use super::scratch::{Marks, Scratch};
use super::traverse::{Step, WalkOptions};
use crate::adjacency::{Direction, View};

/// A way from one node to another.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Path {
    /// The numbers of the nodes on it, both ends included.
    pub nodes: Vec<u32>,
    /// The kinds of the edges between them, one less than there are nodes.
    pub kinds: Vec<u16>,
    /// What the edges weigh in all; those without a weight weigh 1, and all of them where a path
    /// of the fewest edges was asked for.
    pub cost: f64,
}

/// What a search for a path came by.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Search {
    /// The path, if there is one within the bounds.
    pub path: Option<Path>,
    /// Whether a bound kept it from looking further; then a path may be there all the same.
    pub is_cut: bool,
}

/// Finds a path of the fewest edges.
///
/// Looks from both ends, always from the one where fewer nodes wait: what is looked at grows with
/// half the length of the path.
pub fn shortest_path(
    view: &View,
    scratch: &mut Scratch,
    source: u32,
    target: u32,
    options: &WalkOptions,
) -> Search {
    let (met, is_cut) = meet(view, scratch, source, target, options);
    let [ahead, back] = &scratch.ends;
    Search { path: met.map(|met| path_through(ahead, back, met)), is_cut }
}

/// An edge at which the searches from both ends met.
#[derive(Debug, Clone, Copy)]
struct Meeting {
    /// The place among the steps of the end that found the other, and which end it is.
    place: usize,
    end: usize,
    /// The node of the other end.
    number: u32,
    kind: Option<u16>,
}

/// The search from one end.
struct SearchEnd<'a> {
    steps: &'a mut Vec<Step>,
    direction: Direction,
    mark: u16,
    /// Where the nodes begin that are farthest from the end.
    front: usize,
}

impl SearchEnd<'_> {
    fn waiting(&self) -> usize {
        self.steps.len() - self.front
    }

    fn begin(&mut self, marks: &mut Marks, number: u32) {
        self.steps.clear();
        self.steps.push(Step::first(number));
        marks.set(number, self.mark);
    }
}

/// Why the search from an end stopped.
enum Stop {
    Met(Meeting),
    Cut,
}

fn meet(
    view: &View,
    scratch: &mut Scratch,
    source: u32,
    target: u32,
    options: &WalkOptions,
) -> (Option<Meeting>, bool) {
    let Scratch { marks, ends: [ahead, back], .. } = scratch;
    let mark = marks.begin(view.nodes(), 2);
    let direction = options.direction;
    let mut ahead = SearchEnd { steps: ahead, direction, mark, front: 0 };
    let mut back =
        SearchEnd { steps: back, direction: direction.reversed(), mark: mark + 1, front: 0 };
    ahead.begin(marks, source);
    back.begin(marks, target);
    if source.max(target) as usize >= view.nodes() {
        return (None, false);
    }
    if source == target {
        return (Some(Meeting { place: 0, end: 0, number: target, kind: None }), false);
    }
    let mut depth = 0;
    while ahead.waiting() > 0 && back.waiting() > 0 {
        if depth >= options.depth_max {
            return (None, true);
        }
        depth += 1;
        let is_ahead = ahead.waiting() <= back.waiting();
        let (near, far) = if is_ahead { (&mut ahead, &back) } else { (&mut back, &ahead) };
        let nodes_max = options.nodes_max.saturating_sub(far.steps.len()).min(u32::MAX as usize);
        match expand(view, marks, near, far.mark, options, nodes_max) {
            ControlFlow::Continue(()) => {}
            ControlFlow::Break(Stop::Cut) => return (None, true),
            ControlFlow::Break(Stop::Met(met)) => {
                return (Some(Meeting { end: usize::from(!is_ahead), ..met }), false);
            }
        }
    }
    (None, false)
}

/// Goes one edge farther from an end. The first meeting is at a shortest path: had the other end
/// reached that node with fewer edges than its farthest, both would have met before.
fn expand(
    view: &View,
    marks: &mut Marks,
    near: &mut SearchEnd<'_>,
    far_mark: u16,
    options: &WalkOptions,
    nodes_max: usize,
) -> ControlFlow<Stop> {
    let SearchEnd { steps, direction, mark, front } = near;
    let end = steps.len();
    for place in *front..end {
        let Some(step) = steps.get(place).copied() else { break };
        if options.is_given_up(place) {
            return ControlFlow::Break(Stop::Cut);
        }
        view.visit(step.number, *direction, &options.edges, |neighbor| {
            let number = neighbor.number;
            if marks.get(number) == far_mark {
                let kind = Some(neighbor.kind);
                return ControlFlow::Break(Stop::Met(Meeting { place, end: 0, number, kind }));
            }
            if marks.enter(number, *mark) {
                if steps.len() >= nodes_max {
                    return ControlFlow::Break(Stop::Cut);
                }
                steps.push(Step::behind(place as u32, step.depth, number, neighbor.kind));
            }
            ControlFlow::Continue(())
        })?;
    }
    *front = end;
    ControlFlow::Continue(())
}

fn path_through(ahead: &[Step], back: &[Step], met: Meeting) -> Path {
    let place_in = |steps: &[Step]| {
        steps.iter().position(|step| step.number == met.number).unwrap_or_default()
    };
    let (to_source, to_target) = match met.end {
        0 => (met.place, place_in(back)),
        _ => (place_in(ahead), met.place),
    };
    let mut path = Path::default();
    if met.kind.is_some() {
        // Without an edge between them both ends are the same node.
        push_way(&mut path, ahead, to_source);
    }
    path.nodes.reverse();
    path.kinds.reverse();
    path.kinds.extend(met.kind);
    push_way(&mut path, back, to_target);
    path.cost = path.kinds.len() as f64;
    path
}

/// Adds the nodes from a place back to where its search began, and the kinds between them.
fn push_way(path: &mut Path, steps: &[Step], place: usize) {
    let mut next = steps.get(place);
    while let Some(step) = next {
        path.nodes.push(step.number);
        path.kinds.extend(step.kind());
        next = step.parent().and_then(|parent| steps.get(parent));
    }
}
