//! Walks against plain ones on small random graphs, and against bounds and odd shapes.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use proptest::prelude::*;
use timestrata_engine::ErrorKind;

use super::*;
use crate::adjacency::{
    Base, BlockId, Change, Delta, Direction, Edge, EdgeFilter, Kinds, Neighbor, View,
};

fn id(number: u32) -> BlockId {
    BlockId::new(u128::from(number).to_be_bytes())
}

fn edge(source: u32, kind: u16, target: u32, weight: Option<f64>) -> Edge {
    Edge { source: id(source), kind, target: id(target), weight, valid_from: None }
}

fn view_of(settled: &[Edge], changed: &[Change]) -> View {
    let base = Base::build(settled).unwrap();
    let delta = Delta::new(&base).after(&base, changed).unwrap();
    let mut kinds = Kinds::default();
    for name in ["calls", "imports", "contains"] {
        kinds.intern(name).unwrap();
    }
    View::new(Arc::new(base), Arc::new(delta), Arc::new(kinds))
}

/// A view of edges of kind 0 without weights; those at odd places come as changes.
fn plain(pairs: &[(u32, u32)]) -> View {
    let edges: Vec<Edge> = pairs.iter().map(|(from, to)| edge(*from, 0, *to, None)).collect();
    let changed: Vec<_> = edges.iter().skip(1).step_by(2).map(|edge| Change::Link(*edge)).collect();
    let settled: Vec<_> = edges.into_iter().step_by(2).collect();
    view_of(&settled, &changed)
}

/// Some graph of few nodes, so that edges meet: partly settled, partly changed.
fn graph() -> impl Strategy<Value = View> {
    let weight =
        prop_oneof![1 => Just(None), 2 => (0..6_u8).prop_map(|w| Some(f64::from(w) / 2.0))];
    let parts = (0..14_u32, 0..3_u16, 0..14_u32, weight, prop::option::of(0..4_i64));
    let edge = parts.prop_map(|(from, kind, to, weight, valid_from)| Edge {
        valid_from,
        ..edge(from, kind, to, weight)
    });
    let settled = prop::collection::vec(edge.clone(), 0..40);
    let change = prop_oneof![
        3 => edge.clone().prop_map(Change::Link),
        2 => edge.prop_map(|Edge { source, kind, target, .. }| Change::Unlink { source, kind, target }),
    ];
    (settled, prop::collection::vec(change, 0..20))
        .prop_map(|(settled, changed)| view_of(&settled, &changed))
}

fn direction() -> impl Strategy<Value = Direction> {
    prop_oneof![Just(Direction::Out), Just(Direction::In), Just(Direction::Both)]
}

fn filter() -> impl Strategy<Value = EdgeFilter> {
    let kinds = prop_oneof![Just(vec![0, 1, 2]), Just(vec![1]), Just(vec![0, 2])];
    let kinds = prop_oneof![Just(EdgeFilter::all()), kinds.prop_map(EdgeFilter::of_kinds)];
    (kinds, prop::option::of(0..4_i64)).prop_map(|(edges, as_of)| EdgeFilter { as_of, ..edges })
}

/// The edges of a node that count, as a list.
fn edges_of(view: &View, number: u32, direction: Direction, filter: &EdgeFilter) -> Vec<Neighbor> {
    view.neighbors(number, direction, filter).collect()
}

/// A node of a walk: number, depth, place of its parent, kind.
type PlainStep = (u32, u32, Option<usize>, Option<u16>);

fn plain_steps(walk: &Walk) -> Vec<PlainStep> {
    let steps = walk.nodes.iter();
    steps.map(|step| (step.number, step.depth, step.parent(), step.kind())).collect()
}

/// The plainest walk in breadth; nodes that the filter turns down count as seen.
fn plain_breadth(
    view: &View,
    starts: &[u32],
    options: &WalkOptions,
    takes: &dyn Fn(u32) -> bool,
) -> Vec<PlainStep> {
    let mut seen = BTreeSet::new();
    let mut steps: Vec<PlainStep> = Vec::new();
    let mut queue = VecDeque::new();
    for start in starts.iter().filter(|start| (**start as usize) < view.nodes()) {
        if seen.insert(*start) {
            queue.push_back(steps.len());
            steps.push((*start, 0, None, None));
        }
    }
    while let Some(place) = queue.pop_front() {
        let (number, depth, ..) = steps[place];
        for edge in edges_of(view, number, options.direction, &options.edges) {
            if depth < options.depth_max && seen.insert(edge.number) && takes(edge.number) {
                queue.push_back(steps.len());
                steps.push((edge.number, depth + 1, Some(place), Some(edge.kind)));
            }
        }
    }
    steps
}

/// The plainest walk in depth: it calls itself.
struct PlainDepth<'a> {
    view: &'a View,
    options: &'a WalkOptions,
    takes: &'a dyn Fn(u32) -> bool,
    seen: BTreeSet<u32>,
    steps: Vec<PlainStep>,
}

impl PlainDepth<'_> {
    fn down(&mut self, step: PlainStep) {
        let place = self.steps.len();
        self.steps.push(step);
        if step.1 == self.options.depth_max {
            return;
        }
        for edge in edges_of(self.view, step.0, self.options.direction, &self.options.edges) {
            if self.seen.insert(edge.number) && (self.takes)(edge.number) {
                self.down((edge.number, step.1 + 1, Some(place), Some(edge.kind)));
            }
        }
    }
}

fn plain_depth(
    view: &View,
    starts: &[u32],
    options: &WalkOptions,
    takes: &dyn Fn(u32) -> bool,
) -> Vec<PlainStep> {
    let starts = starts.iter().filter(|start| (**start as usize) < view.nodes());
    let seen: BTreeSet<u32> = starts.clone().copied().collect();
    let mut plain = PlainDepth { view, options, takes, seen, steps: Vec::new() };
    let mut given = BTreeSet::new();
    for start in starts {
        if given.insert(*start) {
            plain.down((*start, 0, None, None));
        }
    }
    plain.steps
}

/// The least cost of a way to each node, by looking at every edge over and over.
fn least_costs(
    view: &View,
    source: u32,
    options: &WalkOptions,
    weight: impl Fn(&Neighbor) -> f64,
) -> BTreeMap<u32, f64> {
    let mut costs = BTreeMap::from([(source, 0.0)]);
    for _ in 0..view.nodes() {
        for (number, cost) in costs.clone() {
            for edge in edges_of(view, number, options.direction, &options.edges) {
                let cost = cost + weight(&edge);
                let known = costs.entry(edge.number).or_insert(cost);
                *known = known.min(cost);
            }
        }
    }
    costs
}

/// That a path is one, and what its edges weigh in all at the least.
fn cost_of(view: &View, path: &Path, options: &WalkOptions) -> f64 {
    assert_eq!(path.nodes.len(), path.kinds.len() + 1);
    let weight = |ends: &[u32], kind: u16| {
        let edges = edges_of(view, ends[0], options.direction, &options.edges);
        let fitting = edges.iter().filter(|edge| edge.number == ends[1] && edge.kind == kind);
        fitting.map(|edge| edge.weight.unwrap_or(1.0)).min_by(f64::total_cmp).unwrap()
    };
    path.nodes.windows(2).zip(&path.kinds).map(|(ends, kind)| weight(ends, *kind)).sum()
}

/// What the textbook says, with a matrix of everybody's share in everybody's rank.
fn dense_ranks(view: &View, options: &RankOptions) -> Vec<f64> {
    let nodes = view.nodes();
    let mut shares = vec![vec![0.0; nodes]; nodes];
    let mut has_edge = vec![false; nodes];
    for source in 0..nodes {
        let edges = edges_of(view, source as u32, Direction::Out, &options.edges);
        for edge in &edges {
            shares[edge.number as usize][source] += 1.0 / edges.len() as f64;
            has_edge[edge.number as usize] = true;
            has_edge[source] = true;
        }
    }
    let count = has_edge.iter().filter(|has_edge| **has_edge).count() as f64;
    for source in (0..nodes).rev() {
        if shares.iter().all(|row| row[source] == 0.0) {
            (0..nodes).filter(|n| has_edge[*n]).for_each(|n| shares[n][source] = 1.0 / count);
        }
    }
    let mut ranks: Vec<f64> =
        has_edge.iter().map(|has| f64::from(u8::from(*has)) / count).collect();
    for _ in 0..300 {
        let rank = |node: usize| {
            let followed: f64 = (0..nodes).map(|source| shares[node][source] * ranks[source]).sum();
            let jumped = f64::from(u8::from(has_edge[node])) / count;
            (1.0 - options.damping) * jumped + options.damping * followed
        };
        ranks = (0..nodes).map(rank).collect();
    }
    ranks
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn a_walk_gives_each_node_once_as_a_plain_one_does(
        view in graph(), starts in prop::collection::vec(0..18_u32, 0..4), direction in direction(),
        edges in filter(), depth_max in prop_oneof![Just(u32::MAX), 0..5_u32],
        nodes_max in prop_oneof![Just(usize::MAX), 0..9_usize], refused in prop::option::of(0..14_u32),
        is_deep in any::<bool>(),
    ) {
        let order = if is_deep { Order::Depth } else { Order::Breadth };
        let options = WalkOptions { direction, edges, depth_max, nodes_max, query: None };
        let takes = |number| Some(number) != refused;
        let mut asked = BTreeSet::new();
        let mut scratch = Scratch::new();
        let found = walk(&view, &mut scratch, &starts, order, &options, |number| {
            assert!(asked.insert(number), "asked twice");
            takes(number)
        });
        let expected = match order {
            Order::Breadth => plain_breadth(&view, &starts, &options, &takes),
            Order::Depth => plain_depth(&view, &starts, &options, &takes),
        };
        let steps = plain_steps(&found);
        let given = expected.len().min(nodes_max);
        prop_assert_eq!(&steps, &expected[..given]);
        let seen: BTreeSet<u32> = expected.iter().map(|step| step.0).collect();
        prop_assert_eq!(seen.len(), expected.len());
        let leads_on = expected.iter().any(|step| {
            let edges = edges_of(&view, step.0, direction, &options.edges);
            edges.iter().any(|edge| !seen.contains(&edge.number) && takes(edge.number))
        });
        prop_assert_eq!(found.is_cut, given < expected.len() || leads_on);
        for (place, step) in found.nodes.iter().enumerate() {
            let parent = |place: &usize| found.nodes[*place].parent();
            let way_back = std::iter::successors(Some(place), parent);
            prop_assert_eq!(way_back.count(), step.depth as usize + 1);
        }
        if order == Order::Breadth {
            let options = WalkOptions { nodes_max: usize::MAX, ..options.clone() };
            let found = walk(&view, &mut scratch, &starts, order, &options, |_| true);
            if refused.is_none() {
                let numbers = found.nodes.iter().map(|step| step.number);
                prop_assert!(numbers.eq(expected.iter().map(|step| step.0)));
                prop_assert_eq!(found.is_cut, leads_on);
            }
        }
    }

    #[test]
    fn a_shortest_path_has_as_few_edges_as_any(
        view in graph(), source in 0..16_u32, target in 0..16_u32, direction in direction(),
        edges in filter(), depth_max in prop_oneof![Just(u32::MAX), 0..5_u32],
    ) {
        let options = WalkOptions { direction, edges, depth_max, ..WalkOptions::default() };
        let is_there = source.max(target) < view.nodes() as u32;
        let costs = least_costs(&view, source, &options, |_| 1.0);
        let expected = costs.get(&target).copied().filter(|_| is_there);
        let mut scratch = Scratch::new();
        let found = shortest_path(&view, &mut scratch, source, target, &options);
        match found.path {
            Some(path) => {
                prop_assert_eq!((path.nodes[0], path.nodes.last()), (source, Some(&target)));
                prop_assert_eq!(Some(path.cost), expected);
                prop_assert!(path.cost <= f64::from(depth_max) && !found.is_cut);
                prop_assert_eq!(path.kinds.len() as f64, path.cost);
                cost_of(&view, &path, &options);
            }
            None => {
                prop_assert!(expected.is_none_or(|cost| cost > f64::from(depth_max)));
                prop_assert!(found.is_cut || expected.is_none());
            }
        }
    }

    #[test]
    fn a_cheapest_path_weighs_as_little_as_any(
        view in graph(), source in 0..16_u32, target in 0..16_u32, direction in direction(),
        edges in filter(), nodes_max in prop_oneof![Just(usize::MAX), 0..9_usize],
    ) {
        let options = WalkOptions { direction, edges, nodes_max, ..WalkOptions::default() };
        let is_there = source.max(target) < view.nodes() as u32;
        let costs = least_costs(&view, source, &options, |edge| edge.weight.unwrap_or(1.0));
        let expected = costs.get(&target).copied().filter(|_| is_there);
        let found = cheapest_path(&view, &mut Scratch::new(), source, target, &options).unwrap();
        match found.path {
            Some(path) => {
                prop_assert_eq!(Some(path.cost), expected);
                prop_assert_eq!(cost_of(&view, &path, &options), path.cost);
                prop_assert_eq!((path.nodes[0], path.nodes.last()), (source, Some(&target)));
            }
            None => prop_assert!(found.is_cut || expected.is_none()),
        }
        prop_assert!(nodes_max < usize::MAX || !found.is_cut);
    }

    #[test]
    fn a_bound_to_nodes_is_only_told_of_where_it_cut(
        view in graph(), source in 0..14_u32, target in 0..14_u32, nodes_max in 0..20_usize,
    ) {
        let options = WalkOptions { nodes_max, ..WalkOptions::default() };
        let free = WalkOptions::default();
        let mut scratch = Scratch::new();
        let whole = shortest_path(&view, &mut scratch, source, target, &free).path;
        let bound = shortest_path(&view, &mut scratch, source, target, &options);
        prop_assert!(bound.is_cut && bound.path.is_none() || bound.path == whole);
    }

    #[test]
    fn components_are_those_of_a_plain_search(view in graph(), edges in filter()) {
        let found = components(&view, &edges);
        let options = WalkOptions { direction: Direction::Both, edges, ..WalkOptions::default() };
        let mut parts = 0;
        for number in 0..view.nodes() as u32 {
            let together = plain_breadth(&view, &[number], &options, &|_| true);
            let own = found.of[number as usize];
            let has_edge = !edges_of(&view, number, Direction::Both, &options.edges).is_empty();
            prop_assert_eq!(own.is_some(), has_edge);
            let Some(own) = own else { continue };
            prop_assert!(together.iter().all(|step| found.of[step.0 as usize] == Some(own)));
            prop_assert_eq!(found.sizes[own as usize], together.len());
            if together.iter().all(|step| step.0 >= number) {
                prop_assert_eq!(own, parts, "not in order of first nodes");
                parts += 1;
            }
        }
        prop_assert_eq!(found.sizes.len(), parts as usize);
    }

    #[test]
    fn ranks_are_those_of_the_matrix_and_sum_to_one(
        view in graph(), edges in filter(), damping in prop_oneof![Just(0.85), 0.0..0.95],
    ) {
        let options = RankOptions { damping, tolerance: 1e-12, rounds_max: 1_000, edges };
        let found = page_rank(&view, &options).unwrap();
        prop_assert!(found.is_settled);
        let has_edge = |n: u32| !edges_of(&view, n, Direction::Both, &options.edges).is_empty();
        if (0..view.nodes() as u32).any(has_edge) {
            prop_assert!((found.of.iter().sum::<f64>() - 1.0).abs() < 1e-9);
            for (rank, expected) in found.of.iter().zip(dense_ranks(&view, &options)) {
                prop_assert!((rank - expected).abs() < 1e-6, "{} and {}", rank, expected);
            }
        }
    }

    #[test]
    fn edges_are_shown_counted_and_stepped_through_alike(
        view in graph(), number in 0..18_u32, direction in direction(), edges in filter(),
    ) {
        let mut shown = Vec::new();
        view.for_each(number, direction, &edges, |neighbor| shown.push(neighbor));
        prop_assert_eq!(shown.len(), view.degree_of(number, direction, &edges));
        prop_assert_eq!(shown, edges_of(&view, number, direction, &edges));
    }
}

#[test]
fn a_cycle_and_an_edge_to_itself_end() {
    let view = plain(&[(0, 1), (1, 2), (2, 0), (2, 2), (0, 0)]);
    for order in [Order::Breadth, Order::Depth] {
        let options = WalkOptions { direction: Direction::Both, ..WalkOptions::default() };
        let found = walk(&view, &mut Scratch::new(), &[0], order, &options, |_| true);
        assert_eq!((found.nodes.len(), found.is_cut), (3, false));
    }
}

#[test]
fn the_order_of_a_walk_is_that_of_the_rows() {
    let view = plain(&[(0, 1), (0, 2), (1, 3), (2, 3), (3, 4)]);
    let numbers = |order| {
        let options = WalkOptions::default();
        let start = view.number(id(0)).unwrap();
        let found = walk(&view, &mut Scratch::new(), &[start], order, &options, |_| true);
        let ids = found.nodes.iter().map(|step| view.id(step.number).unwrap());
        ids.map(|id| u128::from_be_bytes(*id.bytes())).collect::<Vec<_>>()
    };
    assert_eq!(numbers(Order::Breadth), [0, 1, 2, 3, 4]);
    assert_eq!(numbers(Order::Depth), [0, 1, 3, 4, 2]);
}

#[test]
fn a_node_of_a_million_edges_is_walked_and_bound() {
    let star: Vec<Edge> = (1..=1_000_000).map(|leaf| edge(0, 0, leaf, None)).collect();
    let view = view_of(&star, &[Change::Link(edge(5, 0, 0, None))]);
    let hub = view.number(id(0)).unwrap();
    let leaf = view.number(id(7)).unwrap();
    let mut scratch = Scratch::new();
    for order in [Order::Breadth, Order::Depth] {
        let options = WalkOptions::default();
        let found = walk(&view, &mut scratch, &[hub], order, &options, |_| true);
        assert_eq!((found.nodes.len(), found.is_cut), (1_000_001, false));
        let options = WalkOptions { nodes_max: 10, ..options };
        let found = walk(&view, &mut scratch, &[hub], order, &options, |_| true);
        assert_eq!((found.nodes.len(), found.is_cut), (10, true));
    }
    let both = WalkOptions { direction: Direction::Both, ..WalkOptions::default() };
    let search = shortest_path(&view, &mut scratch, leaf, hub + 9, &both);
    assert_eq!(search.path.map(|path| path.cost), Some(2.0));
    assert_eq!(components(&view, &EdgeFilter::all()).sizes, [1_000_001]);
    let ranks = page_rank(&view, &RankOptions::default()).unwrap();
    assert!((ranks.of.iter().sum::<f64>() - 1.0).abs() < 1e-9);
}

#[test]
fn a_long_chain_is_walked_without_a_deep_stack() {
    let chain: Vec<Edge> = (0..300_000).map(|node| edge(node, 0, node + 1, None)).collect();
    let view = view_of(&chain, &[]);
    let (first, last) = (view.number(id(0)).unwrap(), view.number(id(300_000)).unwrap());
    let mut scratch = Scratch::new();
    let options = WalkOptions::default();
    let found = walk(&view, &mut scratch, &[first], Order::Depth, &options, |_| true);
    assert_eq!(found.nodes.last().map(|step| step.depth), Some(300_000));
    let path = shortest_path(&view, &mut scratch, first, last, &WalkOptions::default()).path;
    assert_eq!(path.map(|path| path.cost), Some(300_000.0));
    assert_eq!(components(&view, &EdgeFilter::all()).sizes, [300_001]);
}

#[test]
fn a_weight_that_no_path_can_have_is_named() {
    for weight in [-0.5, f64::NAN, f64::NEG_INFINITY] {
        let view = view_of(&[edge(1, 0, 2, None), edge(2, 1, 3, Some(weight))], &[]);
        let number = |node| view.number(id(node)).unwrap();
        let mut scratch = Scratch::new();
        let options = WalkOptions::default();
        let near = cheapest_path(&view, &mut scratch, number(1), number(2), &options).unwrap();
        assert_eq!(near.path.map(|path| path.cost), Some(1.0));
        let error = cheapest_path(&view, &mut scratch, number(1), number(3), &options).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidData);
        for part in ["imports", &id(2).to_string(), &id(3).to_string(), &weight.to_string()] {
            assert!(error.to_string().contains(part), "{error} lacks {part}");
        }
    }
}

#[test]
fn ranks_need_a_damping_that_is_a_part() {
    for (damping, tolerance) in
        [(1.5, 0.1), (-0.1, 0.1), (f64::NAN, 0.1), (0.5, f64::NAN), (0.5, -1.0)]
    {
        let options = RankOptions { damping, tolerance, ..RankOptions::default() };
        let error = page_rank(&plain(&[(0, 1)]), &options).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    }
    let ranks = page_rank(&View::default(), &RankOptions::default()).unwrap();
    assert_eq!((ranks.of.len(), ranks.is_settled), (0, true));
    // Two that only lead to each other and back never come to rest when all rank is passed on.
    let options = RankOptions { rounds_max: 7, tolerance: 0.0, ..RankOptions::default() };
    let ranks = page_rank(&plain(&[(0, 1), (1, 2), (2, 0), (0, 2)]), &options).unwrap();
    assert_eq!((ranks.rounds, ranks.is_settled), (7, false));
}

#[test]
fn old_marks_are_never_taken_for_new_ones() {
    let view = plain(&[(0, 1), (1, 2)]);
    let larger = plain(&[(0, 1), (1, 2), (2, 3), (3, 4)]);
    let start = view.number(id(0)).unwrap();
    let mut scratch = Scratch::new();
    // The marks of the first walk are those of the one after the last mark there is.
    let last = u32::from(u16::MAX);
    for round in 0..last + 9 {
        let view = if round == 0 || round >= last { &larger } else { &view };
        let found =
            walk(view, &mut scratch, &[start], Order::Breadth, &WalkOptions::default(), |_| true);
        assert_eq!(found.nodes.len(), view.nodes(), "walk {round}");
    }
}

#[test]
fn a_scratch_comes_back_to_its_pool() {
    let pool = ScratchPool::default();
    let view = plain(&[(0, 1)]);
    let first =
        pool.with(|one| walk(&view, one, &[0], Order::Breadth, &WalkOptions::default(), |_| true));
    assert_eq!(first.nodes.len(), 2);
    let bytes = pool.bytes();
    assert!(bytes > 0);
    let at_once = |one: &Scratch| pool.with(|two| (one.bytes(), two.bytes(), pool.bytes()));
    assert_eq!(pool.with(|one| at_once(one)), (bytes, 0, 0));
    assert_eq!(pool.bytes(), bytes);
    pool.clear();
    assert_eq!(pool.bytes(), 0);
}
