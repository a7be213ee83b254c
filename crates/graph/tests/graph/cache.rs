//! Blocks that were read lately are kept in memory: nobody is ever shown one of another time.

use std::sync::atomic::{AtomicBool, Ordering};

use timestrata_engine::Durability;
use timestrata_graph::{Graph, GraphChanges, GraphView, NewBlock};

use super::{block, change, graph, id, memory, open, text};

fn content(view: &GraphView, number: u8) -> Option<Vec<u8>> {
    Some(view.get(id(number)).unwrap()?.content().to_vec())
}

#[test]
fn a_block_that_was_read_is_read_anew_once_it_has_changed() {
    let store = memory();
    let graph = graph(&store);
    change(&graph, GraphChanges::new().put(block(1, "a")).put(block(2, "other")));
    let before = graph.view().unwrap();
    assert_eq!((text(&graph, 1).as_deref(), text(&graph, 1).as_deref()), (Some("a"), Some("a")));
    change(&graph, GraphChanges::new().put(block(1, "b")));
    assert_eq!(content(&before, 1).as_deref(), Some(&b"a"[..]));
    assert_eq!(text(&graph, 1).as_deref(), Some("b"));
    // Whoever reads an older one leaves nothing of it to those who come later.
    assert_eq!(content(&before, 1).as_deref(), Some(&b"a"[..]));
    assert_eq!(text(&graph, 1).as_deref(), Some("b"));
    change(&graph, GraphChanges::new().delete(id(1)));
    assert_eq!(text(&graph, 1), None);
    assert_eq!(content(&before, 1).as_deref(), Some(&b"a"[..]));
    assert_eq!(text(&graph, 2).as_deref(), Some("other"));
    // What was refused has changed nothing, and stands in nobody's way.
    let older = GraphChanges::new().put(NewBlock { version: Some(0), ..block(2, "x") });
    assert!(graph.change(&older, Durability::Written).is_err());
    assert_eq!(text(&graph, 2).as_deref(), Some("other"));
}

#[test]
fn a_pin_of_an_earlier_life_is_shown_the_blocks_of_its_own_time() {
    let dir = tempfile::tempdir().unwrap();
    let (store, graph) = open(dir.path());
    change(&graph, GraphChanges::new().put(block(1, "first")));
    store.pin("release").unwrap();
    change(&graph, GraphChanges::new().put(block(1, "second")));
    store.close().unwrap();
    drop((store, graph));
    let (store, graph) = open(dir.path());
    for _ in 0..2 {
        let pinned = graph.view_at(store.snapshot_at("release").unwrap());
        assert_eq!(content(&pinned, 1).as_deref(), Some(&b"first"[..]));
        assert_eq!(text(&graph, 1).as_deref(), Some("second"));
    }
}

#[test]
fn large_contents_are_not_kept_and_come_whole_all_the_same() {
    let store = memory();
    let graph = graph(&store);
    let large = "x".repeat(1 << 20);
    change(&graph, GraphChanges::new().put(block(1, &large)));
    for _ in 0..3 {
        assert!(text(&graph, 1).as_deref() == Some(&large));
    }
}

/// A block's version and its content are changed together; every reader sees a pair that was put, and
/// none sees an older one than it has seen.
#[test]
fn readers_beside_a_writer_never_see_a_block_of_the_past() {
    const VERSIONS: u32 = 3_000;
    let store = memory();
    let graph = graph(&store);
    let put = |version: u32| {
        let content = version.to_string();
        change(&graph, GraphChanges::new().put(block(1, &content)));
    };
    put(1);
    let is_done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let readers: Vec<_> = (0..2)
            .map(|reader| {
                let (graph, store, is_done) = (&graph, &store, &is_done);
                scope.spawn(move || {
                    let mut last = 0;
                    while !is_done.load(Ordering::Relaxed) {
                        // One takes the graph's own views, the other any snapshot of the store.
                        let view = match reader {
                            0 => graph.view().unwrap(),
                            _ => graph.view_at(store.snapshot().unwrap()),
                        };
                        let first = view.get(id(1)).unwrap().unwrap();
                        let again = view.get(id(1)).unwrap().unwrap();
                        assert_eq!(first.version(), again.version());
                        assert_eq!(first.content(), first.version().to_string().as_bytes());
                        assert!(first.version() >= last, "{} behind {last}", first.version());
                        last = first.version();
                    }
                })
            })
            .collect();
        (2..=VERSIONS).for_each(put);
        is_done.store(true, Ordering::Relaxed);
        readers.into_iter().for_each(|reader| reader.join().unwrap());
    });
    assert_eq!(text(&graph, 1), Some(VERSIONS.to_string()));
}

/// Blocks put one by one take the short way once versions are in memory; whatever else changes them in
/// between, each put is one version behind the last, and what is read is what was put last.
#[test]
fn versions_rise_by_one_whoever_changes_a_block_and_however() {
    let dir = tempfile::tempdir().unwrap();
    let (mut store, mut graph) = open(dir.path());
    let mut expected = [0_u32; 8];
    for round in 0_u32..600 {
        let number = (round * 7 % 8) as u8;
        let content = format!("{number} {round}");
        let one = || GraphChanges::new().put(block(number, &content));
        let changed = match round % 50 {
            // Another handle of the same graph.
            10 => change(&Graph::open(&store, "code").unwrap(), one()),
            // With others in one commit: the general way.
            20 => change(&graph, one().link(super::edge(number, "calls", 1))),
            30 => {
                change(&graph, GraphChanges::new().delete(id(number)));
                expected[usize::from(number)] = 0;
                change(&graph, one())
            }
            40 => {
                store.flush().unwrap();
                store.compact(None).unwrap();
                change(&graph, one())
            }
            49 if round % 100 == 99 => {
                store.close().unwrap();
                drop((store, graph));
                (store, graph) = open(dir.path());
                change(&graph, one())
            }
            _ => change(&graph, one()),
        };
        expected[usize::from(number)] += 1;
        assert_eq!(changed.put, [(id(number), expected[usize::from(number)])], "round {round}");
        if round % 3 == 0 {
            assert_eq!(text(&graph, number).as_deref(), Some(&*content));
        }
    }
    let given = |version| NewBlock { version: Some(version), ..block(1, "given") };
    let error = graph.change(&GraphChanges::new().put(given(1)), Durability::Written).unwrap_err();
    assert!(error.to_string().contains("version 1 is older"), "{error}");
    let changed = change(&graph, GraphChanges::new().put(given(1_000)));
    assert_eq!(changed.put, [(id(1), 1_000)]);
    assert!(store.check().unwrap().findings.is_empty());
}
