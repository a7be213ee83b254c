//! Views against a plain map of edges, and what bases and deltas promise.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::sync::Arc;

use proptest::prelude::*;
use timestrata_engine::ErrorKind;

use super::sorted::Sorted;
use super::*;

impl Base {
    /// A base of edges.
    pub(crate) fn build<'a>(
        edges: impl IntoIterator<Item = &'a Edge>,
    ) -> timestrata_engine::Result<Self> {
        let mut builder = Builder::default();
        edges.into_iter().try_for_each(|edge| builder.push(edge))?;
        Ok(builder.finish())
    }
}

impl View {
    /// The edges of a node that count, one after the other, as walks in depth go through them.
    pub(crate) fn neighbors(
        &self,
        number: u32,
        direction: Direction,
        filter: &EdgeFilter,
    ) -> impl Iterator<Item = Neighbor> {
        let mut cursor = self.cursor(number, direction, filter);
        std::iter::from_fn(move || self.advance(&mut cursor, filter))
    }
}

/// Source, kind and target of an edge, by small numbers.
type Key = (u8, u16, u8);

/// What is known of an edge besides.
type Value = (Option<f64>, Option<i64>);

/// The plainest graph there is.
type Model = BTreeMap<Key, Value>;

fn id(number: u8) -> BlockId {
    BlockId::new([number.wrapping_mul(37); 16])
}

fn edge(key: Key, value: Value) -> Edge {
    let (source, kind, target) = key;
    Edge { source: id(source), kind, target: id(target), weight: value.0, valid_from: value.1 }
}

fn edges(model: &Model) -> Vec<Edge> {
    model.iter().map(|(key, value)| edge(*key, *value)).collect()
}

fn unlink((source, kind, target): Key) -> Change {
    Change::Unlink { source: id(source), kind, target: id(target) }
}

/// Everything a view says of the nodes, as a map.
fn read(view: &View) -> Model {
    let mut model = Model::new();
    let number_of: BTreeMap<BlockId, u8> = (0..=255).map(|number| (id(number), number)).collect();
    for number in 0..view.nodes() as u32 {
        let source = number_of[&view.id(number).unwrap()];
        for edge in view.neighbors(number, Direction::Out, &EdgeFilter::all()) {
            let target = number_of[&view.id(edge.number).unwrap()];
            let before = model.insert((source, edge.kind, target), (edge.weight, edge.valid_from));
            assert_eq!(before, None, "an edge comes twice");
        }
    }
    model
}

/// Holds all that can be asked of a view against the model.
fn check(view: &View, model: &Model, filter: &EdgeFilter) {
    assert_eq!(&read(view), model);
    assert_eq!(view.edges(), model.len());
    for node in 0..=255_u8 {
        let Some(number) = view.number(id(node)) else {
            assert!(model.keys().all(|(source, _, target)| *source != node && *target != node));
            continue;
        };
        assert_eq!(view.id(number), Some(id(node)));
        for direction in [Direction::Out, Direction::In, Direction::Both] {
            check_node(view, model, (node, number), direction, filter);
        }
    }
}

fn check_node(
    view: &View,
    model: &Model,
    (node, number): (u8, u32),
    direction: Direction,
    filter: &EdgeFilter,
) {
    let out = model.iter().filter(|((source, ..), _)| *source == node);
    let out = out.map(|((_, kind, other), value)| (0, *kind, *other, *value));
    let into = model.iter().filter(|((_, _, target), _)| *target == node);
    let into = into.map(|((other, kind, _), value)| (1, *kind, *other, *value));
    let mut all: Vec<_> = out.chain(into).collect();
    all.retain(|(side, ..)| match direction {
        Direction::Out => *side == 0,
        Direction::In => *side == 1,
        Direction::Both => true,
    });
    assert_eq!(view.degree(number, direction), all.len());
    all.retain(|(_, kind, _, (_, valid_from))| {
        let is_late = filter.as_of.zip(*valid_from).is_some_and(|(time, from)| from > time);
        filter.kinds.has(*kind) && !is_late
    });
    assert_eq!(view.degree_of(number, direction, filter), all.len());
    let mut expected: Vec<_> = all
        .into_iter()
        .map(|(side, kind, other, value)| (side, kind, view.number(id(other)).unwrap(), value))
        .collect();
    expected.sort_by_key(|(side, kind, other, _)| (*side, *kind, *other));
    let expected: Vec<_> =
        expected.into_iter().map(|(_, kind, other, value)| (kind, other, value)).collect();
    let plain = |edge: Neighbor| (edge.kind, edge.number, (edge.weight, edge.valid_from));
    let mut shown = Vec::new();
    view.for_each(number, direction, filter, |edge| shown.push(plain(edge)));
    assert_eq!(shown, expected);
    assert!(view.neighbors(number, direction, filter).map(plain).eq(expected.iter().copied()));
    let first = view.visit(number, direction, filter, ControlFlow::Break);
    assert_eq!(first.break_value().map(plain), expected.first().copied());
}

/// A graph that changes, and the model of it.
struct Graph {
    view: View,
    model: Model,
}

impl Graph {
    fn new(edges_there: &Model) -> Self {
        let base = Base::build(&edges(edges_there)).unwrap();
        let delta = Delta::new(&base);
        let view = View::new(Arc::new(base), Arc::new(delta), Arc::default());
        Self { view, model: edges_there.clone() }
    }

    fn change(&mut self, changes: &[Change]) {
        let delta = self.view.delta().after(self.view.base(), changes).unwrap();
        let (base, kinds) = (Arc::clone(self.view.base()), Arc::clone(self.view.kinds()));
        self.view = View::new(base, Arc::new(delta), kinds);
    }

    fn link(&mut self, links: &[(Key, Value)]) {
        let changes: Vec<_> =
            links.iter().map(|(key, value)| Change::Link(edge(*key, *value))).collect();
        self.change(&changes);
        self.model.extend(links.iter().copied());
    }

    fn unlink(&mut self, keys: &[Key]) {
        let changes: Vec<_> = keys.iter().copied().map(unlink).collect();
        self.change(&changes);
        self.model.retain(|key, _| !keys.contains(key));
    }

    /// Rebuilds from an older view, and carries over what changed since.
    fn rebuild(&mut self, from: &View) {
        let base = from.rebuild().unwrap();
        let delta = self.view.delta().moved(self.view.base(), from.delta(), &base).unwrap();
        self.view = View::new(Arc::new(base), Arc::new(delta), Arc::clone(self.view.kinds()));
    }
}

#[derive(Debug, Clone)]
enum Step {
    Link(Vec<(Key, Value)>),
    Unlink(Vec<Key>),
    /// Removes every edge of a node.
    Delete(u8),
    Hold,
    /// Begins a rebuild, which is done with the next of these.
    Rebuild,
}

fn key() -> impl Strategy<Value = Key> {
    let kind = prop_oneof![4 => 0..3_u16, 1 => 60..70_u16, 1 => Just(65_534)];
    (0..24_u8, kind, 0..24_u8)
}

fn value() -> impl Strategy<Value = Value> {
    let weight = prop_oneof![
        3 => Just(None),
        1 => Just(Some(0.0)),
        1 => any::<f64>().prop_filter("equal to itself", |weight| !weight.is_nan()).prop_map(Some),
    ];
    let valid_from = prop_oneof![3 => Just(None), 1 => (-3..4_i64).prop_map(Some)];
    (weight, valid_from)
}

/// Most graphs have neither weights nor times: then there are no columns of them.
fn links(most: usize) -> impl Strategy<Value = Vec<(Key, Value)>> {
    prop_oneof![
        prop::collection::vec((key(), value()), 0..most),
        prop::collection::vec((key(), Just((None, None))), 0..most),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => links(20).prop_map(Step::Link),
        4 => prop::collection::vec(key(), 0..20).prop_map(Step::Unlink),
        2 => (0..24_u8).prop_map(Step::Delete),
        2 => Just(Step::Hold),
        2 => Just(Step::Rebuild),
    ]
}

fn filter() -> impl Strategy<Value = EdgeFilter> {
    let kinds = prop_oneof![
        1 => Just(KindFilter::all()),
        2 => (0..3_u16).prop_map(|kind| KindFilter::of([kind])),
        1 => prop::collection::vec(0..64_u16, 0..4).prop_map(KindFilter::of),
        1 => prop::collection::vec(0..70_u16, 0..60).prop_map(KindFilter::of),
    ];
    (kinds, prop::option::of(-4..4_i64)).prop_map(|(kinds, as_of)| EdgeFilter { kinds, as_of })
}

proptest! {
    #[test]
    fn a_view_is_a_set_of_edges(
        first in links(300), steps in prop::collection::vec(step(), 0..20), filter in filter(),
    ) {
        let mut graph = Graph::new(&first.into_iter().collect());
        let mut held: Vec<(View, Model)> = Vec::new();
        let mut rebuilt: Option<View> = None;
        for step in steps {
            match step {
                Step::Link(links) => graph.link(&links),
                Step::Unlink(keys) => graph.unlink(&keys),
                Step::Delete(node) => {
                    let keys = graph.model.keys().copied();
                    let of_node = keys.filter(|(source, _, target)| [*source, *target].contains(&node));
                    let keys: Vec<_> = of_node.collect();
                    graph.unlink(&keys);
                }
                Step::Hold => held.push((graph.view.clone(), graph.model.clone())),
                Step::Rebuild => match rebuilt.take() {
                    None => rebuilt = Some(graph.view.clone()),
                    Some(from) => graph.rebuild(&from),
                },
            }
            check(&graph.view, &graph.model, &filter);
        }
        let base = graph.view.rebuild().unwrap();
        let ends = graph.model.keys().flat_map(|(source, _, target)| [*source, *target]);
        prop_assert_eq!(base.nodes(), ends.collect::<BTreeSet<_>>().len());
        for (view, model) in held {
            check(&view, &model, &filter);
        }
    }

    #[test]
    fn edges_come_in_any_order_and_the_last_of_its_key_counts(links in links(400)) {
        let given: Vec<_> = links.iter().map(|(key, value)| edge(*key, *value)).collect();
        let base = Base::build(&given).unwrap();
        let delta = Delta::new(&base);
        let view = View::new(Arc::new(base), Arc::new(delta), Arc::default());
        check(&view, &links.into_iter().collect(), &EdgeFilter::all());
    }

    #[test]
    fn a_sorted_map_is_a_sorted_map_and_its_copies_stay(
        keys in prop::collection::vec(0..20_000_u16, 0..15_000), held_at in 0..15_000_usize,
    ) {
        let (mut map, mut model) = (Sorted::default(), BTreeMap::new());
        let mut held = None;
        for (at, key) in keys.iter().enumerate() {
            if at == held_at {
                held = Some((map.clone(), model.clone()));
            }
            map.insert(*key, at);
            model.insert(*key, at);
        }
        if let Some((held, held_model)) = held {
            prop_assert!(held.from(0).copied().eq(held_model.clone()));
            let newer: BTreeMap<_, _> = map.newer_than(&held).copied().collect();
            prop_assert!(newer.iter().all(|(key, value)| model.get(key) == Some(value)));
            let changed = model.iter().filter(|(key, value)| held_model.get(key) != Some(value));
            prop_assert!(changed.into_iter().all(|(key, _)| newer.contains_key(key)));
        }
        prop_assert_eq!(map.len(), model.len());
        prop_assert!(map.from(0).copied().eq(model.clone()));
        for key in 0..100 {
            prop_assert_eq!(map.get(&key), model.get(&key));
            let from: Vec<_> = map.from(key * 50).take(3).copied().collect();
            prop_assert!(from.into_iter().eq(model.range(key * 50..).take(3).map(|(k, v)| (*k, *v))));
        }
    }

    #[test]
    fn an_id_is_read_back_from_its_text(bytes in any::<[u8; 16]>()) {
        let id = BlockId::from(bytes);
        let text = id.to_string();
        prop_assert_eq!(text.parse::<BlockId>().unwrap(), id);
        prop_assert_eq!(text.to_uppercase().parse::<BlockId>().unwrap(), id);
        prop_assert_eq!(BlockId::try_from(&bytes[..]).unwrap(), id);
        prop_assert_eq!(<[u8; 16]>::from(id), bytes);
    }
}

#[test]
fn what_is_no_id_is_refused() {
    let sign = format!("+{}", "0".repeat(31));
    for text in
        ["", "12", "0123456789abcdef0123456789abcdeg", "é123456789abcdef0123456789abcdef", &sign]
    {
        let error = text.parse::<BlockId>().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{text}");
    }
    assert!(BlockId::try_from(&[0_u8; 15][..]).is_err());
}

#[test]
fn kinds_are_numbered_up_to_their_limit() {
    let mut kinds = Kinds::default();
    for number in 0..KINDS_MAX {
        assert_eq!(kinds.intern(&number.to_string()).unwrap() as usize, number);
    }
    assert_eq!(kinds.intern("17").unwrap(), 17);
    let error = kinds.intern("one more").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TooLarge);
    assert_eq!((kinds.name(65_534), kinds.name(65_535)), (Some("65534"), None));
    assert_eq!((kinds.number("3"), kinds.number("one more")), (Some(3), None));
    assert_eq!((kinds.len(), kinds.names().count()), (KINDS_MAX, KINDS_MAX));
}

#[test]
fn a_set_of_kinds_has_what_it_was_made_of() {
    for kinds in [vec![], vec![0], vec![63], vec![64], vec![0, 63], vec![5, 64, 5], vec![65_534]] {
        let filter = KindFilter::of(kinds.iter().copied());
        for kind in 0..=u16::MAX {
            assert_eq!(filter.has(kind), kinds.contains(&kind), "{kind} in {kinds:?}");
        }
    }
    assert!((0..=u16::MAX).all(|kind| KindFilter::all().has(kind)));
}

/// A counted id: such as people give, all but its last bytes the same.
fn counted(number: u32) -> BlockId {
    BlockId::new(u128::from(number).to_be_bytes())
}

/// Edges from node to node, of kind 0.
fn plain_edges(pairs: impl IntoIterator<Item = (u32, u32)>) -> Vec<Edge> {
    let edge = |(source, target)| Edge {
        source: counted(source),
        kind: 0,
        target: counted(target),
        weight: None,
        valid_from: None,
    };
    pairs.into_iter().map(edge).collect()
}

/// Pairs of numbers below a bound, the same at every run.
fn random_pairs(nodes: u32, edges: usize) -> impl Iterator<Item = (u32, u32)> {
    let mut state = 1_u64;
    let mut next = move || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as u32 % nodes
    };
    (0..edges).map(move |_| (next(), next()))
}

#[test]
fn every_id_is_found_and_no_other() {
    let nodes = 400_000;
    let base = Base::build(&plain_edges((1..nodes).map(|node| (0, node)))).unwrap();
    assert_eq!(base.nodes(), nodes as usize);
    for node in 0..nodes {
        assert_eq!(
            base.number(counted(node)).and_then(|number| base.id(number)),
            Some(counted(node))
        );
        assert_eq!(base.number(counted(nodes + node)), None);
    }
}

#[test]
fn an_edge_needs_less_than_24_bytes() {
    let base = Base::build(&plain_edges(random_pairs(100_000, 1_000_000))).unwrap();
    assert!(base.edges() > 990_000 && base.nodes() > 99_000);
    let bytes = base.bytes() as f64 / base.edges() as f64;
    assert!(bytes < 17.0, "{bytes} bytes an edge");
}

#[test]
fn a_node_of_a_million_edges_changes_as_quickly_as_any() {
    let hub = 1_000_000;
    let star = (0..hub).flat_map(|leaf| [(hub, leaf), (leaf, hub)]);
    let base = Base::build(&plain_edges(star)).unwrap();
    let mut delta = Delta::new(&base);
    for leaf in 0..2_000 {
        let [linked] = plain_edges([(hub, hub + 1 + leaf)])[..] else { panic!() };
        let gone = Change::Unlink { source: counted(leaf), kind: 0, target: counted(hub) };
        delta = delta.after(&base, &[Change::Link(linked), gone]).unwrap();
    }
    let view = View::new(Arc::new(base), Arc::new(delta), Arc::default());
    let number = view.number(counted(hub)).unwrap();
    assert_eq!(view.degree(number, Direction::Out), 1_002_000);
    assert_eq!(view.degree(number, Direction::In), 998_000);
    let all = EdgeFilter::all();
    assert_eq!(view.neighbors(number, Direction::Both, &all).count(), 2_000_000);
    assert_eq!(view.degree_of(number, Direction::Both, &EdgeFilter::of_kinds([1, 2])), 0);
    let rebuilt = view.rebuild().unwrap();
    assert_eq!((rebuilt.nodes(), rebuilt.edges()), (1_002_001, 2_000_000));
}

#[test]
fn an_empty_graph_answers_everything() {
    let view = View::default();
    assert_eq!((view.nodes(), view.edges(), view.number(id(1)), view.id(0)), (0, 0, None, None));
    assert_eq!(view.degree(0, Direction::Both), 0);
    assert_eq!(view.neighbors(u32::MAX, Direction::Both, &EdgeFilter::all()).count(), 0);
    let rebuilt = view.rebuild().unwrap();
    assert_eq!((rebuilt.nodes(), rebuilt.edges()), (0, 0));
}

#[test]
fn unlinking_what_is_not_there_leaves_no_trace() {
    let mut graph = Graph::new(&Model::from([((1, 0, 2), (None, None))]));
    graph.unlink(&[(1, 1, 2), (2, 0, 1), (7, 0, 8)]);
    graph.link(&[((1, 0, 2), (None, None))]);
    assert_eq!((graph.view.delta().edges(), graph.view.delta().new_nodes()), (0, 0));
}

#[test]
fn not_a_number_is_a_weight_and_none_is_not() {
    let mut graph = Graph::new(&Model::new());
    let odd = f64::from_bits(Weight::NONE.0);
    graph.link(&[((1, 0, 2), (Some(odd), None)), ((1, 0, 3), (None, Some(i64::MIN)))]);
    for view in [graph.view.clone(), {
        graph.rebuild(&graph.view.clone());
        graph.view
    }] {
        let number = view.number(id(1)).unwrap();
        let edges: Vec<_> = view.neighbors(number, Direction::Out, &EdgeFilter::all()).collect();
        assert!(edges[0].weight.is_some_and(f64::is_nan));
        assert_eq!((edges[1].weight, edges[1].valid_from), (None, None));
    }
}

#[test]
fn readers_are_not_disturbed_by_a_writer() {
    let base = Arc::new(Base::build(&plain_edges((0..1_000).map(|n| (n, n + 1)))).unwrap());
    let first = Arc::new(Delta::new(&base));
    let shared = timestrata_io::sync::Mutex::new(Arc::clone(&first));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for source in 0..2_000 {
                let changes: Vec<_> =
                    plain_edges([(source, source + 2)]).into_iter().map(Change::Link).collect();
                let next = shared.lock().after(&base, &changes).unwrap();
                *shared.lock() = Arc::new(next);
            }
        });
        scope.spawn(|| {
            let mut edges = 1_000;
            while edges < 3_000 {
                let delta = Arc::clone(&shared.lock());
                let view = View::new(Arc::clone(&base), delta, Arc::default());
                let out = |number| view.degree_of(number, Direction::Out, &EdgeFilter::all());
                let found: usize = (0..view.nodes() as u32).map(out).sum();
                assert!(found == view.edges() && found >= edges);
                edges = found;
            }
        });
    });
    assert_eq!(first.edges(), 0);
}
