//! Walks that read edges for themselves, since not all are in memory, come to what those in memory come to:
//! whatever kinds, times, bounds and filters they have.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use timestrata_engine::{Settings, Store};
use timestrata_graph::walk::Order;
use timestrata_graph::{Along, BlockId, Direction, Edge, Graph, GraphChanges, GraphView, Walked};

use super::{change, graph};

const NODES: u64 = 400;

fn id(number: u64) -> BlockId {
    BlockId::new((u128::from(number) * 0x9e37_79b9_7f4a_7c15).to_be_bytes())
}

/// Numbers that look drawn by lot.
struct Drawn(u64);

impl Drawn {
    fn below(&mut self, most: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % most
    }
}

/// Many edges of one kind, few of two others; some hold from a time on.
fn drawn_edges(drawn: &mut Drawn) -> Vec<Edge> {
    let hubs =
        (0..4_000).map(|_| (drawn.below(8), "common", drawn.below(NODES))).collect::<Vec<_>>();
    let others = (0..1_500).map(|place| {
        let kind = ["rare", "odd"][usize::from(place % 3 == 0)];
        (drawn.below(NODES), kind, drawn.below(NODES))
    });
    let all: Vec<_> = hubs.into_iter().chain(others.collect::<Vec<_>>()).collect();
    let edge = |(from, kind, to): (u64, &str, u64)| Edge {
        valid_from_ns: (drawn.below(2) == 0).then(|| drawn.below(100) as i64),
        weight: (drawn.below(3) > 0).then(|| drawn.below(9) as f64),
        ..Edge::new(id(from), kind, id(to))
    };
    all.into_iter().map(edge).collect()
}

/// How a graph is read: as it was just opened, with no more memory than for an edge, or all of it in memory.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Read {
    First,
    Near,
    Whole,
}

fn opened(dir: &Path, read: Read) -> (Store, GraphView) {
    let store = Store::open(dir, Settings::default()).unwrap();
    let graph = Graph::open(&store, "code").unwrap();
    match read {
        Read::First => {}
        Read::Near => graph.set_cache_bytes_max(24),
        Read::Whole => drop(graph.view().unwrap().adjacency().unwrap().unwrap()),
    }
    let view = graph.view().unwrap();
    (store, view)
}

/// One question of many.
#[derive(Debug, Clone)]
struct Asked {
    starts: Vec<BlockId>,
    along: Along<'static>,
    order: Order,
    filtered: bool,
}

fn drawn_question(drawn: &mut Drawn) -> Asked {
    const KINDS: [&[&str]; 4] = [&[], &["rare"], &["odd", "rare"], &["common"]];
    let order = if drawn.below(3) == 0 { Order::Depth } else { Order::Breadth };
    let is_deep = order == Order::Depth || drawn.below(2) == 0;
    Asked {
        starts: (0..1 + drawn.below(3)).map(|_| id(drawn.below(NODES))).collect(),
        along: Along {
            direction: [Direction::Out, Direction::In, Direction::Both][drawn.below(3) as usize],
            kinds: KINDS[drawn.below(4) as usize],
            as_of_ns: (drawn.below(2) == 0).then(|| drawn.below(100) as i64),
            depth_max: if is_deep { u32::MAX } else { drawn.below(5) as u32 },
            nodes_max: if drawn.below(2) == 0 { usize::MAX } else { drawn.below(40) as usize },
        },
        order,
        filtered: drawn.below(2) == 0,
    }
}

fn walk(view: &GraphView, asked: &Asked) -> Walked {
    let mut times = HashMap::new();
    let walked = view
        .walk(&asked.starts, &asked.along, asked.order, |id| {
            *times.entry(id).or_insert(0) += 1;
            !asked.filtered || id.bytes()[5] % 3 > 0
        })
        .unwrap();
    assert!(times.values().all(|times| *times == 1), "a block was asked for twice: {asked:?}");
    walked
}

fn depths(walked: &Walked) -> BTreeMap<BlockId, u32> {
    walked.blocks.iter().map(|block| (block.id, block.depth)).collect()
}

#[test]
fn whatever_a_walk_asks_it_comes_to_what_it_would_with_all_edges_in_memory() {
    for seed in 0..3 {
        let mut drawn = Drawn(seed);
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(dir.path(), Settings::default()).unwrap();
        change(&graph(&store), GraphChanges::new().link_many(drawn_edges(&mut drawn)));
        store.close().unwrap();
        drop(store);
        let questions: Vec<Asked> = (0..60).map(|_| drawn_question(&mut drawn)).collect();
        let (store, whole) = opened(dir.path(), Read::Whole);
        let expected: Vec<Walked> = questions.iter().map(|asked| walk(&whole, asked)).collect();
        let unbound = |asked: &Asked| {
            let along = Along { nodes_max: usize::MAX, ..asked.along.clone() };
            depths(&walk(&whole, &Asked { along, ..asked.clone() }))
        };
        let reachable: Vec<_> = questions.iter().map(unbound).collect();
        drop((whole, store));
        for read in [Read::First, Read::Near] {
            let (mut store, mut view) = opened(dir.path(), read);
            for (place, asked) in questions.iter().enumerate() {
                if read == Read::First && place % 4 == 0 {
                    drop((view, store));
                    (store, view) = opened(dir.path(), read);
                }
                let (found, expected) = (walk(&view, asked), &expected[place]);
                let what = format!("seed {seed}, {read:?}: {asked:?}");
                assert_eq!(found.is_cut, expected.is_cut, "{what}");
                assert_eq!(found.blocks.len(), expected.blocks.len(), "{what}");
                assert_eq!(depths(&found).len(), found.blocks.len(), "{what}");
                if asked.order == Order::Breadth {
                    for (id, depth) in depths(&found) {
                        assert_eq!(reachable[place].get(&id), Some(&depth), "{what}");
                    }
                    let sorted = |walked: &Walked| {
                        let mut all: Vec<u32> = walked.blocks.iter().map(|b| b.depth).collect();
                        all.sort_unstable();
                        all
                    };
                    assert_eq!(sorted(&found), sorted(expected), "{what}");
                } else {
                    let known = |id: &BlockId| reachable[place].contains_key(id);
                    assert!(depths(&found).keys().all(known), "{what}");
                }
            }
            drop((view, store));
        }
    }
}

#[test]
fn paths_of_graphs_that_are_read_are_those_of_graphs_in_memory() {
    let mut drawn = Drawn(77);
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path(), Settings::default()).unwrap();
    change(&graph(&store), GraphChanges::new().link_many(drawn_edges(&mut drawn)));
    store.close().unwrap();
    drop(store);
    let questions: Vec<(Asked, BlockId, bool)> = (0..80)
        .map(|_| {
            let mut asked = drawn_question(&mut drawn);
            asked.along.depth_max = u32::MAX;
            (asked, id(drawn.below(NODES)), drawn.below(2) == 0)
        })
        .collect();
    let find =
        |view: &GraphView, (asked, target, by_weight): &(Asked, BlockId, bool), most: usize| {
            let along = Along { nodes_max: most, ..asked.along.clone() };
            view.shortest_path(asked.starts[0], *target, &along, *by_weight).unwrap()
        };
    let (store, whole) = opened(dir.path(), Read::Whole);
    let cost = |routed: &timestrata_graph::Routed| routed.route.as_ref().map(|r| r.cost);
    let expected: Vec<_> =
        questions.iter().map(|asked| cost(&find(&whole, asked, usize::MAX))).collect();
    drop((whole, store));
    for read in [Read::First, Read::Near] {
        let (store, view) = opened(dir.path(), read);
        for (asked, expected) in questions.iter().zip(&expected) {
            assert_eq!(cost(&find(&view, asked, usize::MAX)), *expected, "{read:?}: {asked:?}");
            let bound = find(&view, asked, asked.0.along.nodes_max);
            assert!(bound.is_cut || cost(&bound) == *expected, "{read:?}: {asked:?}: {bound:?}");
        }
        drop((view, store));
    }
}

/// The story: edges of other kinds filled the bound of a walk, which gave 2 blocks of 20, and said nothing.
#[test]
fn a_bound_counts_no_block_that_a_walk_does_not_go_through() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path(), Settings::default()).unwrap();
    let common = (0..1_000).map(|other| Edge::new(id(0), "common", id(1_000 + other)));
    let rare = (0..20).map(|step| Edge::new(id(step), "rare", id(step + 1)));
    change(&graph(&store), GraphChanges::new().link_many(common.chain(rare).collect()));
    store.close().unwrap();
    drop(store);
    for read in [Read::First, Read::Near, Read::Whole] {
        let (_store, view) = opened(dir.path(), read);
        let along = Along { kinds: &["rare"], nodes_max: 10, ..Along::default() };
        let walked = view.walk(&[id(0)], &along, Order::Breadth, |_| true).unwrap();
        assert_eq!((walked.blocks.len(), walked.is_cut), (10, true), "{read:?}");
    }
}
