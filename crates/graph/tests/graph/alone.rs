//! Edges linked and unlinked, and blocks deleted, each in a commit of its own: by the shortest path, which
//! must come to what other changes' way comes to.

use std::collections::BTreeSet;
use std::thread;

use proptest::prelude::*;
use timestrata_engine::{Durability, Store};
use timestrata_graph::{Along, Direction, Edge, Graph, GraphChanges, GraphView};

use super::{block, change, edge, graph, id, key, memory, open};

const IDS: u8 = 24;
const KINDS: [&str; 3] = ["calls", "imports", "contains"];

#[derive(Debug, Clone)]
enum Op {
    Put(u8),
    Delete(u8),
    Link(u8, usize, u8, Option<i8>, bool),
    Unlink(u8, usize, u8),
    Walk,
}

fn op() -> impl Strategy<Value = Op> {
    let edge = || (0..IDS, 0..KINDS.len(), 0..IDS);
    prop_oneof![
        2 => (0..IDS).prop_map(Op::Put),
        2 => (0..IDS).prop_map(Op::Delete),
        8 => (edge(), any::<Option<i8>>(), prop::bool::weighted(0.1))
            .prop_map(|((source, kind, target), weight, has_more)| {
                Op::Link(source, kind, target, weight, has_more)
            }),
        3 => edge().prop_map(|(source, kind, target)| Op::Unlink(source, kind, target)),
        1 => Just(Op::Walk),
    ]
}

fn changes(op: &Op) -> GraphChanges<'static> {
    let changes = GraphChanges::new();
    match op {
        Op::Put(number) => changes.put(block(*number, "content")),
        Op::Delete(number) => changes.delete(id(*number)),
        Op::Link(source, kind, target, weight, has_more) => changes.link(Edge {
            weight: weight.map(f64::from),
            valid_from_ns: has_more.then_some(7),
            properties: has_more.then(|| r#"{"line":7}"#.into()),
            ..edge(*source, KINDS[*kind], *target)
        }),
        Op::Unlink(source, kind, target) => changes.unlink(key(*source, KINDS[*kind], *target)),
        Op::Walk => changes,
    }
}

/// Blocks, edges in both directions as the streams have them, and as walks see them.
fn seen(graph: &Graph) -> (Vec<Option<u32>>, [Vec<Edge>; 2], [usize; 2]) {
    let view = graph.view().unwrap();
    let versions = (0..IDS).map(|n| view.get(id(n)).unwrap().map(|block| block.version()));
    let edges = [Direction::Out, Direction::In].map(|direction| edges(&view, direction));
    let walked = [Direction::Out, Direction::In].map(|direction| {
        let along = Along { direction, ..Along::default() };
        let ids: Vec<_> = (0..IDS).map(id).collect();
        view.neighbors(&ids, &along).unwrap().iter().map(Vec::len).sum()
    });
    assert_eq!(edges.each_ref().map(Vec::len), walked);
    assert_eq!(view.edge_count().unwrap(), walked[0] as u64);
    let mut versions: Vec<_> = versions.collect();
    let blocks = versions.iter().flatten().count();
    assert_eq!(view.block_count().unwrap(), blocks as u64);
    versions.push(Some(blocks as u32));
    (versions, edges, walked)
}

fn edges(view: &GraphView, direction: Direction) -> Vec<Edge> {
    let of = |number| view.edges(id(number), direction, &[]).unwrap();
    let mut edges: Vec<_> = (0..IDS).flat_map(of).collect();
    edges.sort_by(|one, other| one.key.cmp(&other.key));
    edges
}

fn load(graph: &Graph) {
    graph.view().unwrap().adjacency().unwrap().unwrap();
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn single_changes_come_to_what_changes_together_come_to(
        begin in prop::collection::vec(op(), 0..20),
        ops in prop::collection::vec(op(), 1..120),
        is_loaded: bool,
    ) {
        let dir = tempfile::tempdir().unwrap();
        let (store, alone) = open(dir.path());
        let other_store = memory();
        let together = graph(&other_store);
        // So many single puts that versions are known, where a delete asks for them.
        let puts: Vec<_> = (0..IDS).map(Op::Put).collect();
        let all = puts.iter().chain(&begin).chain(&ops);
        for (turn, op) in all.enumerate() {
            if matches!(op, Op::Walk) || (is_loaded && turn == usize::from(IDS)) {
                load(&alone);
            }
            change(&alone, changes(op));
            // An edge that nobody links is unlinked with it, so that it is not alone.
            change(&together, changes(op).unlink(key(0, "of nobody", 0)));
        }
        let expected = seen(&together);
        prop_assert_eq!(&seen(&alone), &expected);
        store.close().unwrap();
        let (store, again) = open(dir.path());
        prop_assert_eq!(&seen(&again), &expected);
        store.compact(None).unwrap();
        prop_assert_eq!(&seen(&again), &expected);
        prop_assert!(store.check().unwrap().is_sound());
    }
}

/// Links some edges again and again, and unlinks those of every other block.
fn write(graph: &Graph, ends: &[(u8, u8)], durability: Durability) {
    for round in 0..6 {
        for (source, target) in ends {
            let linked = edge(*source, KINDS[0], *target);
            graph.change(&GraphChanges::new().link(linked), durability).unwrap();
            if round % 2 == 1 && source % 2 == 1 {
                let gone = key(*source, KINDS[0], *target);
                graph.change(&GraphChanges::new().unlink(gone), durability).unwrap();
            }
        }
    }
}

/// Every view has each edge in both directions, whoever writes meanwhile.
#[test]
fn single_changes_are_seen_in_both_directions_or_in_none() {
    let dir = tempfile::tempdir().unwrap();
    let (store, graph) = open(dir.path());
    for number in 0..IDS {
        change(&graph, GraphChanges::new().put(block(number, "content")));
    }
    change(&graph, GraphChanges::new().link(edge(0, KINDS[0], 1)));
    let ends: Vec<(u8, u8)> = (0..8).flat_map(|a| (8..16).map(move |b| (a, b))).collect();
    let halves = ends.split_at(ends.len() / 2);
    thread::scope(|scope| {
        let first = scope.spawn(|| write(&graph, halves.0, Durability::Written));
        let second = scope.spawn(|| write(&graph, halves.1, Durability::Synced));
        scope.spawn(|| {
            // Blocks that others' edges have nothing to do with come and go.
            for _ in 0..40 {
                change(&graph, GraphChanges::new().link(edge(20, KINDS[0], 21)));
                change(&graph, GraphChanges::new().delete(id(20)));
                change(&graph, GraphChanges::new().put(block(20, "content")));
            }
        });
        while !(first.is_finished() && second.is_finished()) {
            let view = graph.view().unwrap();
            let stored = [Direction::Out, Direction::In].map(|side| edges(&view, side));
            assert_eq!(stored[0], stored[1]);
            view.adjacency().unwrap();
            let loaded = [Direction::Out, Direction::In].map(|side| edges(&view, side));
            assert_eq!(loaded[0], loaded[1]);
            assert_eq!(loaded[0], stored[0]);
            store.flush().unwrap();
        }
    });
    let left = |graph: &Graph| {
        let edges = edges(&graph.view().unwrap(), Direction::Out);
        edges.iter().map(|e| (e.key.source.bytes()[0], e.key.target.bytes()[0])).collect()
    };
    let mut expected: BTreeSet<(u8, u8)> = ends.iter().copied().filter(|e| e.0 % 2 == 0).collect();
    expected.insert((0, 1));
    let found: BTreeSet<(u8, u8)> = left(&graph);
    assert_eq!(found, expected);
    drop((graph, store));
    let (_store, graph): (Store, Graph) = open(dir.path());
    let found: BTreeSet<(u8, u8)> = left(&graph);
    assert_eq!(found, expected);
}

/// A delete that changes nothing is an acknowledgement all the same.
#[test]
fn what_is_gone_already_can_be_deleted_again() {
    let store = memory();
    let graph = graph(&store);
    for number in 0..IDS {
        change(&graph, GraphChanges::new().put(block(number, "content")));
    }
    load(&graph);
    let seqs: Vec<_> = (0..3)
        .map(|_| graph.change(&GraphChanges::new().delete(id(3)), Durability::Synced).unwrap().seq)
        .collect();
    assert!(seqs[0].is_some());
    assert_eq!(seqs[1..], [None, None]);
    // An edge to itself goes once.
    change(&graph, GraphChanges::new().link(edge(4, KINDS[0], 4)));
    change(&graph, GraphChanges::new().delete(id(4)));
    assert_eq!(graph.view().unwrap().edge_count().unwrap(), 0);
}
