use std::collections::BTreeSet;

use timestrata_engine::{Access, Durability, ErrorKind, Io, Maintenance, Settings, Store};
use timestrata_graph::walk::Order;
use timestrata_graph::{
    Along, BlockId, Direction, Edge, Graph, GraphChanges, GraphOptions, GraphView, Walked,
};

use super::{block, change, edge, graph, id, memory};

/// Ids of a walk, as their first bytes.
fn ids(walked: &Walked) -> Vec<u8> {
    walked.blocks.iter().map(|block| block.id.bytes()[0]).collect()
}

fn walk(view: &GraphView, start: u8, along: &Along<'_>) -> Walked {
    view.walk(&[id(start)], along, Order::Breadth, |_| true).unwrap()
}

fn linked(graph: &Graph, edges: &[(u8, &str, u8)]) {
    let links = edges.iter().fold(GraphChanges::new(), |all, (source, kind, target)| {
        all.link(edge(*source, kind, *target))
    });
    change(graph, links);
}

#[test]
fn a_walk_goes_along_kinds_and_directions_to_its_bounds() {
    let store = memory();
    let graph = graph(&store);
    linked(&graph, &[(1, "a", 2), (1, "b", 3), (2, "a", 4), (4, "a", 1), (4, "a", 4), (5, "a", 1)]);
    let view = graph.view().unwrap();
    let along = Along::default();
    assert_eq!(ids(&walk(&view, 1, &along)), [1, 2, 3, 4]);
    assert_eq!(ids(&walk(&view, 1, &Along { kinds: &["a"], ..along.clone() })), [1, 2, 4]);
    assert_eq!(ids(&walk(&view, 1, &Along { kinds: &["none"], ..along.clone() })), [1]);
    let back = Along { direction: Direction::In, ..along.clone() };
    assert_eq!(ids(&walk(&view, 1, &back)), [1, 4, 5, 2]);
    let near = walk(&view, 1, &Along { depth_max: 1, ..along.clone() });
    assert_eq!((ids(&near), near.is_cut), (vec![1, 2, 3], true));
    let few = walk(&view, 1, &Along { nodes_max: 2, ..along.clone() });
    assert_eq!((few.blocks.len(), few.is_cut), (2, true));
    let whole = walk(&view, 1, &Along { nodes_max: 4, ..along.clone() });
    assert!(!whole.is_cut);
    // How each was reached.
    let last = &whole.blocks[3];
    assert_eq!((last.depth, last.kind.as_deref()), (2, Some("a")));
    assert_eq!(whole.blocks[last.parent.unwrap()].id, id(2));
    // A block without edges is where a walk of it begins and ends; one turned down leads nowhere.
    assert_eq!(ids(&walk(&view, 9, &along)), [9]);
    let without = view.walk(&[id(1)], &along, Order::Depth, |other| other != id(2)).unwrap();
    assert_eq!(ids(&without), [1, 3]);
}

#[test]
fn edges_hold_from_their_time_on() {
    let store = memory();
    let graph = graph(&store);
    let from = |time, target| Edge { valid_from_ns: Some(time), ..edge(1, "a", target) };
    change(&graph, GraphChanges::new().link(from(10, 2)).link(from(20, 3)).link(edge(1, "a", 4)));
    let view = graph.view().unwrap();
    let at = |time| ids(&walk(&view, 1, &Along { as_of_ns: Some(time), ..Along::default() })).len();
    assert_eq!((at(9), at(10), at(20)), (2, 3, 4));
}

#[test]
fn paths_go_by_number_or_by_weight_of_edges() {
    let store = memory();
    let graph = graph(&store);
    let weighs =
        |source, target, weight| Edge { weight: Some(weight), ..edge(source, "a", target) };
    let links = GraphChanges::new()
        .link(weighs(1, 2, 10.0))
        .link(weighs(1, 3, 1.0))
        .link(weighs(3, 4, 1.0))
        .link(edge(4, "b", 2));
    change(&graph, links);
    let view = graph.view().unwrap();
    let route = |to, by_weight| {
        view.shortest_path(id(1), id(to), &Along::default(), by_weight).unwrap().route
    };
    assert_eq!(route(2, false).unwrap().ids, [id(1), id(2)]);
    let cheap = route(2, true).unwrap();
    assert_eq!((cheap.ids, cheap.cost), (vec![id(1), id(3), id(4), id(2)], 3.0));
    assert_eq!(cheap.kinds.iter().map(AsRef::as_ref).collect::<Vec<&str>>(), ["a", "a", "b"]);
    assert_eq!(route(9, false), None);
    let alone = view.shortest_path(id(9), id(9), &Along::default(), false).unwrap();
    assert_eq!(alone.route.unwrap().ids, [id(9)]);
    change(&graph, GraphChanges::new().link(weighs(1, 3, -1.0)));
    let view = graph.view().unwrap();
    let error = view.shortest_path(id(1), id(2), &Along::default(), true).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidData);
}

#[test]
fn parts_ranks_and_a_piece_of_the_graph_are_those_of_its_edges() {
    let store = memory();
    let graph = graph(&store);
    change(&graph, GraphChanges::new().put(block(1, "one")).put(block(2, "two")));
    linked(&graph, &[(1, "a", 2), (3, "a", 2), (7, "a", 8)]);
    let view = graph.view().unwrap();
    let parts = view.components(&Along::default()).unwrap();
    let part = |number: u8| parts.iter().find(|(of, _)| *of == id(number)).unwrap().1;
    assert!(part(1) == part(3) && part(7) == part(8) && part(1) != part(7));
    let ranks = view.page_rank(&Along::default(), 0.85).unwrap();
    let sum: f64 = ranks.iter().map(|(_, rank)| rank).sum();
    let best = ranks.iter().max_by(|a, b| a.1.total_cmp(&b.1)).unwrap();
    assert!((sum - 1.0).abs() < 1e-9 && best.0 == id(2), "{ranks:?}");
    let (blocks, edges) = view.subgraph(&[id(2), id(1), id(3)]).unwrap();
    assert_eq!((blocks.num_rows(), edges.num_rows()), (2, 2));
    graph.set_cache_bytes_max(10);
    let error = graph.view().unwrap().components(&Along::default()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TooLarge);
}

/// An id that is one of many.
fn many(number: u32) -> BlockId {
    let mut bytes = [0; 16];
    bytes[..4].copy_from_slice(&number.to_be_bytes());
    BlockId::new(bytes)
}

#[test]
fn many_changes_are_merged_and_older_views_stay_as_they_are() {
    for maintenance in [Maintenance::Background, Maintenance::Manual] {
        let store = Store::memory(Settings { maintenance, ..Settings::default() }).unwrap();
        let graph = graph(&store);
        let mut views: Vec<(GraphView, u32)> = Vec::new();
        let targets = |view: &GraphView| -> BTreeSet<BlockId> {
            let found = view.neighbors(&[many(0)], &Along::default()).unwrap();
            found[0].iter().map(|(other, _)| *other).collect()
        };
        for round in 0..60_u32 {
            let of_round = round * 1_000..(round + 1) * 1_000;
            let mut changes = GraphChanges::new();
            for number in of_round.clone() {
                changes = changes.link(Edge::new(many(0), "a", many(number)));
                // Those of the round before go, but for the first.
                if round > 0 && number % 1_000 > 0 {
                    let gone = Edge::new(many(0), "a", many(number - 1_000));
                    changes = changes.unlink(gone.key);
                }
            }
            graph.change(&changes, Durability::Written).unwrap();
            let view = graph.view().unwrap();
            assert_eq!(targets(&view).len(), 1_000 + round as usize);
            if round % 7 == 0 {
                views.push((view, round));
            }
        }
        for (view, round) in &views {
            let expected: BTreeSet<BlockId> = (0..*round)
                .map(|before| many(before * 1_000))
                .chain((round * 1_000..(round + 1) * 1_000).map(many))
                .collect();
            assert_eq!(targets(view), expected);
        }
    }
}

#[test]
fn a_reader_of_another_process_s_store_sees_what_was_written_when_it_looks_again() {
    let dir = tempfile::tempdir().unwrap();
    let writer = Store::open(dir.path(), Settings::default()).unwrap();
    let written = graph(&writer);
    linked(&written, &[(1, "a", 2)]);
    writer.sync().unwrap();
    let reader = Store::open_with(Io::os(), dir.path(), Access::Read, Settings::default()).unwrap();
    let read = Graph::open(&reader, "code").unwrap();
    let before = read.view().unwrap();
    assert_eq!(ids(&walk(&before, 1, &Along::default())), [1, 2]);
    linked(&written, &[(2, "a", 3)]);
    writer.sync().unwrap();
    reader.refresh().unwrap();
    assert_eq!(ids(&walk(&read.view().unwrap(), 1, &Along::default())), [1, 2, 3]);
    assert_eq!(ids(&walk(&before, 1, &Along::default())), [1, 2]);
    let refused = read.change(&GraphChanges::new().delete(id(1)), Durability::Written);
    assert_eq!(refused.unwrap_err().kind(), ErrorKind::ReadOnly);
    let missing = Graph::create(&reader, "other", &GraphOptions::default()).unwrap_err();
    assert_eq!(missing.kind(), ErrorKind::ReadOnly);
}

/// Walks of a graph that was just opened read what they come to, later ones go through memory: both come to
/// the same blocks.
#[test]
fn the_first_walks_come_to_what_later_ones_do() {
    const NODES: u128 = 3_000;
    let id = |number: u128| BlockId::new((number * 0x9e37_79b9_7f4a_7c15).to_be_bytes());
    let dir = tempfile::tempdir().unwrap();
    let edges = (0..NODES).flat_map(|from| {
        let to = [(from * 7 + 1) % NODES, (from * 11 + 5) % NODES, from / 2, (from + 1) % NODES];
        let kinds = ["calls", "imports", "contains", "calls"];
        to.into_iter().zip(kinds).map(move |(to, kind)| Edge::new(id(from), kind, id(to)))
    });
    let store = Store::open(dir.path(), Settings::default()).unwrap();
    change(&graph(&store), GraphChanges::new().link_many(edges.collect()));
    store.close().unwrap();
    let along = |depth_max, kinds| Along { depth_max, kinds, ..Along::default() };
    let mut first: Vec<Vec<(BlockId, u32)>> = Vec::new();
    for round in 0..2 {
        let store = Store::open(dir.path(), Settings::default()).unwrap();
        let graph = Graph::open(&store, "code").unwrap();
        if round == 1 {
            graph.view().unwrap().adjacency().unwrap().unwrap();
        }
        for walk in 0..60_u128 {
            let view = graph.view().unwrap();
            let along = along(walk as u32 % 4, [&[][..], &["calls"]][walk as usize % 2]);
            let walked = view.walk(&[id(walk * 37)], &along, Order::Breadth, |_| true).unwrap();
            let mut found: Vec<_> =
                walked.blocks.iter().map(|block| (block.id, block.depth)).collect();
            found.sort_unstable();
            match round {
                0 => first.push(found),
                _ => assert_eq!(first[walk as usize], found, "walk {walk}"),
            }
        }
        store.close().unwrap();
    }
}

/// A block of many.
fn nth(number: u32) -> BlockId {
    let mut bytes = [0; 16];
    bytes[..4].copy_from_slice(&number.to_be_bytes());
    BlockId::new(bytes)
}

/// A walk went on to its end on a thread of the server's, however long nobody had waited for it.
#[test]
fn a_walk_that_nobody_waits_for_any_more_ends_soon() {
    const BLOCKS: u32 = 50_000;
    let store = memory();
    let graph = graph(&store);
    // One block after the other, and from each to one far off.
    let links = (0..BLOCKS).fold(GraphChanges::new(), |all, number| {
        let far = nth((number * 7) % BLOCKS);
        all.link(Edge::new(nth(number), "next", nth((number + 1) % BLOCKS))).link(Edge::new(
            nth(number),
            "far",
            far,
        ))
    });
    graph.change(&links, Durability::Buffered).unwrap();
    let view = graph.view().unwrap();
    for order in [Order::Breadth, Order::Depth] {
        let query = store.begin_query("a walk", None);
        let mut asked = 0;
        let walked = view.for_query(&query).walk(&[nth(0)], &Along::default(), order, |_| {
            asked += 1;
            if asked == 10 {
                query.cancel();
            }
            true
        });
        assert_eq!(walked.unwrap_err().kind(), ErrorKind::Cancelled);
        assert!(asked < 5_000, "{asked} blocks were asked for after all");
        // Whoever asks next is not disturbed.
        let whole = view.walk(&[nth(0)], &Along::default(), order, |_| true).unwrap();
        assert_eq!((whole.blocks.len(), whole.is_cut), (BLOCKS as usize, false));
    }
    let query = store.begin_query("a path", None);
    query.cancel();
    let given_up = view.for_query(&query);
    for by_weight in [false, true] {
        let path = given_up.shortest_path(nth(0), nth(BLOCKS / 2), &Along::default(), by_weight);
        assert_eq!(path.unwrap_err().kind(), ErrorKind::Cancelled);
        let path = view.shortest_path(nth(0), nth(BLOCKS / 2), &Along::default(), by_weight);
        assert!(path.unwrap().route.is_some());
    }
}
