//! What was seen to fail in graph stores that people use.

use timestrata_engine::Durability;
use timestrata_graph::{Direction, Graph, GraphChanges, NewBlock};

use super::{block, change, edge, graph, id, open};

fn edges(graph: &Graph, number: u8, direction: Direction) -> usize {
    graph.view().unwrap().edges(id(number), direction, &[]).unwrap().len()
}

#[test]
fn edges_and_large_blocks_are_there_after_a_crash() {
    let dir = tempfile::tempdir().unwrap();
    let copy = tempfile::tempdir().unwrap();
    let large = vec![b'x'; 700 << 10];
    let (_store, graph) = open(dir.path());
    let whole = NewBlock { id: Some(id(3)), content: &large, ..NewBlock::default() };
    let changes = GraphChanges::new().put(whole).link(edge(1, "calls", 3));
    graph.change(&changes, Durability::Synced).unwrap();
    // The files as a crash leaves them: nothing was closed.
    copy_files(dir.path(), copy.path());
    let (_store, graph) = open(copy.path());
    assert_eq!(edges(&graph, 1, Direction::Out), 1);
    assert_eq!(edges(&graph, 3, Direction::In), 1);
    assert_eq!(graph.view().unwrap().get(id(3)).unwrap().unwrap().content().len(), large.len());
}

#[expect(clippy::disallowed_methods, reason = "a crash is a copy of the files")]
fn copy_files(from: &std::path::Path, to: &std::path::Path) {
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            std::fs::create_dir(&target).unwrap();
            copy_files(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
}

#[test]
fn a_deleted_block_stays_deleted_through_flush_compaction_and_reopening() {
    let dir = tempfile::tempdir().unwrap();
    let (store, graph) = open(dir.path());
    change(&graph, GraphChanges::new().put(block(1, "a")).link(edge(1, "calls", 2)));
    store.flush().unwrap();
    change(&graph, GraphChanges::new().delete(id(1)));
    store.flush().unwrap();
    store.compact(None).unwrap();
    store.close().unwrap();
    drop((store, graph));
    let (_store, graph) = open(dir.path());
    assert!(!graph.view().unwrap().contains(id(1)).unwrap());
    assert_eq!(edges(&graph, 1, Direction::Out) + edges(&graph, 2, Direction::In), 0);
}

#[test]
fn an_edge_of_any_kind_is_read_beside_all_others() {
    let store = super::memory();
    let graph = graph(&store);
    for kind in ["calls", "ünicode ☃", "\0", " ", &"k".repeat(255), "__deleted"] {
        change(&graph, GraphChanges::new().link(edge(1, kind, 2)));
        store.flush().unwrap();
    }
    assert_eq!(edges(&graph, 1, Direction::Out), 6);
    assert_eq!(edges(&graph, 2, Direction::In), 6);
}

#[test]
fn a_store_that_was_opened_and_flushed_often_takes_writes() {
    let dir = tempfile::tempdir().unwrap();
    for round in 0..40_u8 {
        let (store, graph) = open(dir.path());
        change(&graph, GraphChanges::new().put(block(round, "x")).link(edge(round, "calls", 99)));
        store.flush().unwrap();
        store.close().unwrap();
    }
    let (_store, graph) = open(dir.path());
    assert_eq!(edges(&graph, 99, Direction::In), 40);
    assert_eq!(graph.view().unwrap().block_count().unwrap(), 40);
}

#[test]
fn edges_in_memory_are_found_from_their_targets_too() {
    let store = super::memory();
    let graph = graph(&store);
    change(&graph, GraphChanges::new().link(edge(1, "calls", 2)));
    assert_eq!(edges(&graph, 2, Direction::In), 1);
    assert_eq!(edges(&graph, 3, Direction::In), 0);
}

#[test]
fn what_is_asked_behind_a_write_has_it() {
    let store = super::memory();
    let graph = graph(&store);
    for target in 2..30 {
        change(&graph, GraphChanges::new().link(edge(1, "calls", target)));
        assert_eq!(edges(&graph, 1, Direction::Out), usize::from(target) - 1);
        assert_eq!(edges(&graph, target, Direction::In), 1);
    }
}
