//! Random changes, held against a map of blocks and a set of edges.

use std::collections::BTreeMap;

use proptest::prelude::*;
use timestrata_engine::{Durability, Maintenance, Settings, Store};
use timestrata_graph::walk::Order;
use timestrata_graph::{
    Along, BlockId, Direction, Edge, EdgeKey, Graph, GraphChanges, GraphOptions, GraphView,
    Unlinked,
};

use super::{block, edge, id, key};

const KINDS: [&str; 3] = ["calls", "imports", "contains"];
/// Ids, few enough to meet.
const IDS: u8 = 7;

#[derive(Debug, Clone)]
enum Op {
    Put(u8, String),
    Delete(u8),
    Link(u8, usize, u8, Option<u8>),
    Unlink(u8, usize, u8),
    UnlinkSource(u8),
    UnlinkTarget(u8),
    UnlinkKind(usize),
}

#[derive(Debug, Clone)]
enum Step {
    Change(Vec<Op>),
    Flush,
    Compact,
    Reopen,
}

fn op() -> impl Strategy<Value = Op> {
    let (node, kind) = (0..IDS, 0..KINDS.len());
    prop_oneof![
        4 => (node.clone(), "[a-z]{0,3}").prop_map(|(id, text)| Op::Put(id, text)),
        1 => node.clone().prop_map(Op::Delete),
        8 => (node.clone(), kind.clone(), node.clone(), any::<Option<u8>>())
            .prop_map(|(source, kind, target, weight)| Op::Link(source, kind, target, weight)),
        2 => (node.clone(), kind.clone(), node.clone())
            .prop_map(|(source, kind, target)| Op::Unlink(source, kind, target)),
        1 => node.clone().prop_map(Op::UnlinkSource),
        1 => node.prop_map(Op::UnlinkTarget),
        1 => kind.prop_map(Op::UnlinkKind),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        8 => prop::collection::vec(op(), 1..6).prop_map(Step::Change),
        2 => Just(Step::Flush),
        1 => Just(Step::Compact),
        1 => Just(Step::Reopen),
    ]
}

/// What must be there.
#[derive(Debug, Clone, Default, PartialEq)]
struct Model {
    blocks: BTreeMap<u8, (u32, String)>,
    edges: BTreeMap<(u8, String, u8), Option<f64>>,
}

impl Model {
    fn apply(&mut self, op: &Op) {
        let edge = |source: u8, kind: usize, target: u8| (source, KINDS[kind].to_owned(), target);
        match op {
            Op::Put(id, text) => {
                let version = self.blocks.get(id).map_or(0, |(version, _)| *version) + 1;
                self.blocks.insert(*id, (version, text.clone()));
            }
            Op::Delete(id) => {
                self.blocks.remove(id);
                self.edges.retain(|(source, _, target), _| source != id && target != id);
            }
            Op::Link(source, kind, target, weight) => {
                self.edges.insert(edge(*source, *kind, *target), weight.map(f64::from));
            }
            Op::Unlink(source, kind, target) => {
                self.edges.remove(&edge(*source, *kind, *target));
            }
            Op::UnlinkSource(id) => self.edges.retain(|(source, _, _), _| source != id),
            Op::UnlinkTarget(id) => self.edges.retain(|(_, _, target), _| target != id),
            Op::UnlinkKind(kind) => self.edges.retain(|(_, is, _), _| is != KINDS[*kind]),
        }
    }
}

fn added<'a>(changes: GraphChanges<'a>, op: &'a Op) -> GraphChanges<'a> {
    match op {
        Op::Put(number, text) => changes.put(block(*number, text)),
        Op::Delete(number) => changes.delete(id(*number)),
        Op::Link(source, kind, target, weight) => changes
            .link(Edge { weight: weight.map(f64::from), ..edge(*source, KINDS[*kind], *target) }),
        Op::Unlink(source, kind, target) => changes.unlink(key(*source, KINDS[*kind], *target)),
        Op::UnlinkSource(number) => changes.unlink_all(Unlinked::Source(id(*number))),
        Op::UnlinkTarget(number) => changes.unlink_all(Unlinked::Target(id(*number))),
        Op::UnlinkKind(kind) => changes.unlink_all(Unlinked::Kind(KINDS[*kind].to_owned())),
    }
}

/// What a graph has, each edge seen from the side asked for.
fn seen(view: &GraphView, direction: Direction) -> Model {
    let mut model = Model::default();
    for number in 0..IDS {
        if let Some(block) = view.get(id(number)).unwrap() {
            let text = String::from_utf8(block.content().to_vec()).unwrap();
            model.blocks.insert(number, (block.version(), text));
        }
        for Edge { key: EdgeKey { source, kind, target }, weight, .. } in
            view.edges(id(number), direction, &[]).unwrap()
        {
            let again = model
                .edges
                .insert((source.bytes()[0], kind.to_string(), target.bytes()[0]), weight);
            assert!(again.is_none(), "an edge was given twice");
        }
    }
    assert_eq!(view.block_count().unwrap(), model.blocks.len() as u64);
    assert_eq!(view.edge_count().unwrap(), model.edges.len() as u64);
    model
}

/// The same edges as walks see them: in memory, or read as they are needed.
fn walked(view: &GraphView, direction: Direction) -> Vec<(u8, String, u8)> {
    let ids: Vec<BlockId> = (0..IDS).map(id).collect();
    let along = Along { direction, ..Along::default() };
    let found = view.neighbors(&ids, &along).unwrap();
    let mut edges = Vec::new();
    for (of, others) in (0..).zip(found) {
        edges.extend(others.into_iter().map(|(other, kind)| match direction {
            Direction::In => (other.bytes()[0], kind.to_string(), of),
            _ => (of, kind.to_string(), other.bytes()[0]),
        }));
    }
    edges.sort();
    edges
}

/// Blocks that can be reached, each with the least number of edges to it.
fn reached(model: &Model, start: u8) -> BTreeMap<u8, u32> {
    let mut found = BTreeMap::from([(start, 0)]);
    for depth in 0..u32::from(IDS) {
        let front: Vec<u8> =
            found.iter().filter(|(_, d)| **d == depth).map(|(id, _)| *id).collect();
        for (source, _, target) in model.edges.keys() {
            if front.contains(source) {
                found.entry(*target).or_insert(depth + 1);
            }
        }
    }
    found
}

fn expect_same(view: &GraphView, model: &Model) {
    let edges: Vec<_> = model.edges.keys().cloned().collect();
    for direction in [Direction::Out, Direction::In] {
        assert_eq!(&seen(view, direction), model);
        assert_eq!(walked(view, direction), edges, "{direction:?}");
    }
    for start in 0..IDS {
        let walk = view.walk(&[id(start)], &Along::default(), Order::Breadth, |_| true).unwrap();
        assert!(!walk.is_cut);
        let depths = walk.blocks.iter().map(|block| (block.id.bytes()[0], block.depth)).collect();
        let expected = reached(model, start);
        assert_eq!(walk.blocks.len(), expected.len(), "each once");
        assert_eq!(expected, depths);
        for (target, depth) in &expected {
            let path = view.shortest_path(id(start), id(*target), &Along::default(), false);
            assert_eq!(path.unwrap().route.unwrap().kinds.len(), *depth as usize);
        }
    }
}

fn open(dir: &std::path::Path) -> (Store, Graph) {
    let settings = Settings { maintenance: Maintenance::Manual, ..Settings::default() };
    let store = Store::open(dir, settings).unwrap();
    let graph = Graph::create(&store, "code", &GraphOptions::default()).unwrap();
    (store, graph)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn a_graph_has_what_was_put_and_linked_and_not_deleted(
        steps in prop::collection::vec(step(), 1..24),
        cache_bytes_max in prop_oneof![Just(u64::MAX), Just(0), Just(100)],
    ) {
        let dir = tempfile::tempdir().unwrap();
        let (mut store, mut graph) = open(dir.path());
        graph.set_cache_bytes_max(cache_bytes_max);
        let mut model = Model::default();
        let mut kept: Option<(GraphView, Model)> = None;
        for step in &steps {
            match step {
                Step::Change(ops) => {
                    ops.iter().for_each(|op| model.apply(op));
                    let changes = ops.iter().fold(GraphChanges::new(), added);
                    graph.change(&changes, Durability::Written).unwrap();
                }
                Step::Flush => store.flush().unwrap(),
                Step::Compact => store.compact(None).unwrap(),
                Step::Reopen => {
                    kept = None;
                    drop(graph);
                    store.close().unwrap();
                    drop(store);
                    (store, graph) = open(dir.path());
                    graph.set_cache_bytes_max(cache_bytes_max);
                }
            }
            expect_same(&graph.view().unwrap(), &model);
            if let Some((view, model)) = &kept {
                expect_same(view, model);
            }
            // One that is read late, when much has been written since.
            if steps.len() % 3 == 0 || kept.is_none() {
                kept = Some((graph.view_at(store.snapshot().unwrap()), model.clone()));
            }
        }
    }
}
