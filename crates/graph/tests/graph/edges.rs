use timestrata_engine::{Changes, Durability};
use timestrata_graph::{Direction, Edge, Graph, GraphChanges, Unlinked};

use super::{block, change, edge, graph, id, key, memory};

/// The edges of a block, as their ends and kinds.
fn found(graph: &Graph, of: u8, direction: Direction) -> Vec<(u8, String, u8)> {
    let edges = graph.view().unwrap().edges(id(of), direction, &[]).unwrap();
    let short = |edge: &Edge| {
        (edge.key.source.bytes()[0], edge.key.kind.to_string(), edge.key.target.bytes()[0])
    };
    edges.iter().map(short).collect()
}

fn out(graph: &Graph, of: u8) -> Vec<(u8, String, u8)> {
    found(graph, of, Direction::Out)
}

fn e(source: u8, kind: &str, target: u8) -> (u8, String, u8) {
    (source, kind.to_owned(), target)
}

#[test]
fn an_edge_is_found_from_both_ends_with_all_that_is_said_of_it() {
    let store = memory();
    let graph = graph(&store);
    let whole = Edge {
        weight: Some(0.5),
        valid_from_ns: Some(-3),
        properties: Some(r#"{"line":4}"#.into()),
        ..edge(1, "calls", 2)
    };
    change(&graph, GraphChanges::new().link(whole.clone()).link(edge(2, "calls", 2)));
    let view = graph.view().unwrap();
    assert_eq!(view.edges(id(1), Direction::Out, &[]).unwrap(), std::slice::from_ref(&whole));
    assert_eq!(view.edges(id(2), Direction::In, &[]).unwrap(), [whole, edge(2, "calls", 2)]);
    // The one to itself is given once.
    assert_eq!(found(&graph, 2, Direction::Both), [e(2, "calls", 2), e(1, "calls", 2)]);
    assert!(out(&graph, 9).is_empty());
    assert_eq!(view.edge_count().unwrap(), 2);
}

#[test]
fn there_is_one_edge_a_source_kind_and_target_and_the_last_one_counts() {
    let store = memory();
    let graph = graph(&store);
    let weighted = |weight| Edge { weight: Some(weight), ..edge(1, "calls", 2) };
    change(
        &graph,
        GraphChanges::new()
            .link(weighted(1.0))
            .link(edge(1, "imports", 2))
            .link(weighted(2.0))
            .unlink(key(1, "imports", 2))
            .link(edge(1, "calls", 3)),
    );
    assert_eq!(out(&graph, 1), [e(1, "calls", 2), e(1, "calls", 3)]);
    let edges = graph.view().unwrap().edges(id(1), Direction::Out, &["calls"]).unwrap();
    assert_eq!(edges[0].weight, Some(2.0));
    change(&graph, GraphChanges::new().unlink(key(1, "calls", 2)).unlink(key(7, "calls", 7)));
    assert_eq!(out(&graph, 1), [e(1, "calls", 3)]);
    assert!(found(&graph, 2, Direction::In).is_empty());
}

#[test]
fn edges_go_by_source_by_target_and_by_kind() {
    let links = || {
        let mut links = GraphChanges::new();
        for (source, kind, target) in
            [(1, "a", 2), (1, "b", 3), (2, "a", 1), (3, "a", 3), (3, "b", 1)]
        {
            links = links.link(edge(source, kind, target));
        }
        links
    };
    let left = |which: Unlinked, together: bool| {
        let store = memory();
        let graph = graph(&store);
        // In one commit with the links, and in the next one.
        match together {
            true => drop(change(&graph, links().unlink_all(which))),
            false => {
                change(&graph, links());
                change(&graph, GraphChanges::new().unlink_all(which));
            }
        }
        let by_source: Vec<_> = (1..=3).flat_map(|of| out(&graph, of)).collect();
        let mut by_target: Vec<_> =
            (1..=3).flat_map(|of| found(&graph, of, Direction::In)).collect();
        by_target.sort();
        let mut sorted = by_source.clone();
        sorted.sort();
        assert_eq!(by_target, sorted, "both directions");
        by_source
    };
    for together in [false, true] {
        let source = left(Unlinked::Source(id(1)), together);
        assert_eq!(source, [e(2, "a", 1), e(3, "a", 3), e(3, "b", 1)]);
        let target = left(Unlinked::Target(id(1)), together);
        assert_eq!(target, [e(1, "a", 2), e(1, "b", 3), e(3, "a", 3)]);
        let kind = left(Unlinked::Kind("a".to_owned()), together);
        assert_eq!(kind, [e(1, "b", 3), e(3, "b", 1)]);
    }
}

#[test]
fn a_deleted_block_takes_its_edges_with_it_and_later_ones_are_seen() {
    let store = memory();
    let graph = graph(&store);
    change(
        &graph,
        GraphChanges::new()
            .put(block(1, "a"))
            .put(block(2, "b"))
            .link(edge(1, "calls", 2))
            .link(edge(2, "calls", 1))
            .link(edge(2, "calls", 2))
            .link(edge(2, "calls", 3)),
    );
    store.flush().unwrap();
    change(&graph, GraphChanges::new().link(edge(2, "reads", 9)).delete(id(2)));
    assert!(out(&graph, 1).is_empty() && out(&graph, 2).is_empty());
    for other in [1, 2, 3, 9] {
        assert!(found(&graph, other, Direction::In).is_empty(), "{other}");
    }
    change(&graph, GraphChanges::new().delete(id(2)).put(block(2, "c")).link(edge(2, "calls", 3)));
    assert_eq!(out(&graph, 2), [e(2, "calls", 3)]);
    assert_eq!(found(&graph, 3, Direction::In), [e(2, "calls", 3)]);
}

#[test]
fn one_commit_has_a_graphs_changes_and_others() {
    let store = memory();
    let code = graph(&store);
    let notes = Graph::create(&store, "notes", &Default::default()).unwrap();
    let before = store.snapshot().unwrap().seq();
    let blocks = store.stream("notes").unwrap().id();
    let copied = {
        change(&code, GraphChanges::new().put(block(1, "a")));
        let stream = store.stream("code").unwrap().id();
        store.snapshot().unwrap().collect(stream, &Default::default()).unwrap()
    };
    let changes = GraphChanges::new().link(edge(1, "calls", 2));
    let others = Changes::new().insert(blocks, copied);
    let changed = code.change_with(&changes, Durability::Written, others).unwrap();
    assert_eq!(changed.seq.unwrap().0, before.0 + 2);
    assert!(notes.view().unwrap().contains(id(1)).unwrap());
    assert_eq!(out(&code, 1), [e(1, "calls", 2)]);
}

/// A graph whose edges are in memory once somebody has walked, and the same read from the store at each call.
fn assert_same_in_memory(graph: &Graph, nodes: u8) {
    assert!(graph.view().unwrap().adjacency().unwrap().is_some(), "edges in memory");
    let (walked, read) = (graph.view().unwrap(), graph.view_at(graph.store().snapshot().unwrap()));
    for node in 0..nodes {
        for direction in [Direction::Out, Direction::In, Direction::Both] {
            for kinds in [&[][..], &["b"], &["b", "none"]] {
                let expected = read.edges(id(node), direction, kinds).unwrap();
                let found = walked.edges(id(node), direction, kinds).unwrap();
                assert_eq!(found, expected, "{node} {direction:?} {kinds:?}");
            }
        }
    }
}

#[test]
fn edges_are_told_in_the_same_order_and_with_all_that_is_said_of_them_when_they_are_in_memory() {
    let store = memory();
    let graph = graph(&store);
    // In another order than that of ids and of names, so that numbers in memory have another one too.
    let mut links = GraphChanges::new();
    for (source, kind, target) in
        [(5, "z", 1), (5, "b", 4), (5, "b", 2), (5, "a", 5), (1, "b", 5), (4, "z", 5), (2, "a", 1)]
    {
        links = links.link(edge(source, kind, target));
    }
    change(&graph, links);
    assert_same_in_memory(&graph, 7);
    // Of edges that were changed since, too.
    let told = Edge { weight: Some(-0.5), valid_from_ns: Some(7), ..edge(5, "b", 2) };
    change(&graph, GraphChanges::new().link(told).unlink(key(5, "z", 1)).link(edge(6, "c", 5)));
    assert_same_in_memory(&graph, 7);
    // What has no place in memory is read.
    for (source, valid_from_ns, properties) in
        [(3, None, Some(r#"{"line":4}"#.into())), (2, Some(i64::MIN), None)]
    {
        let told = Edge { valid_from_ns, properties, ..edge(source, "b", 5) };
        change(&graph, GraphChanges::new().link(told));
        assert_same_in_memory(&graph, 7);
    }
    // And so it is where it was there before the edges were loaded.
    store.compact(None).unwrap();
    let again = Graph::open(&store, graph.name()).unwrap();
    again.set_cache_bytes_max(u64::MAX);
    assert_same_in_memory(&again, 7);
    change(&again, GraphChanges::new().delete(id(5)).delete(id(3)));
    assert_same_in_memory(&again, 7);
    let left = again.view().unwrap();
    assert_eq!(left.edge_count().unwrap(), 1);
}

/// Edges come and go, and get properties and lose them, while a reader asks: what it is told is what its own snapshot has.
#[test]
fn edges_in_memory_are_those_of_the_snapshot_beside_a_writer() {
    const COMMITS: u8 = 200;
    let store = memory();
    let graph = graph(&store);
    change(&graph, GraphChanges::new().link(edge(1, "calls", 2)));
    let writer = Graph::open(&store, graph.name()).unwrap();
    std::thread::scope(|scope| {
        let writing = scope.spawn(|| {
            for round in 0..COMMITS {
                let told = (round % 16 == 9).then(|| r#"{"line":4}"#.into());
                let link = Edge { properties: told, ..edge(1, "calls", 2 + round % 5) };
                let changes =
                    GraphChanges::new().link(link).unlink(key(1, "calls", 2 + (round + 2) % 5));
                change(&writer, changes);
                if round % 32 == 31 {
                    change(&writer, GraphChanges::new().delete(id(1)));
                    // What is in memory begins anew, without properties.
                    writer.set_cache_bytes_max(u64::MAX);
                }
            }
        });
        let mut seen = 0;
        while !writing.is_finished() || seen < 50 {
            let view = graph.view().unwrap();
            view.adjacency().unwrap();
            let read = graph.view_at(view.snapshot().clone());
            let (found, expected) =
                (view.edges(id(1), Direction::Out, &[]), read.edges(id(1), Direction::Out, &[]));
            assert_eq!(found.unwrap(), expected.unwrap());
            seen += 1;
        }
        writing.join().unwrap();
    });
}
