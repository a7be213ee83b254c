use timestrata_engine::{Durability, ErrorKind};
use timestrata_graph::{Edge, Graph, GraphChanges, GraphOptions, KEEP_VERSIONS_MAX, NewBlock};

use super::{block, edge, graph, id, memory, text};

#[test]
fn what_can_not_be_is_refused_by_name_and_nothing_is_written() {
    let store = memory();
    let graph = graph(&store);
    let first = || GraphChanges::new().put(block(1, "first"));
    let bad: [(GraphChanges<'_>, &str); 8] = [
        (
            first().put(NewBlock { metadata: Some("[1]"), ..block(2, "") }),
            "block 02020202020202020202020202020202: its metadata must be a JSON object",
        ),
        (
            first().put(NewBlock { metadata: Some("{"), ..block(2, "") }),
            "its metadata must be a JSON object: EOF",
        ),
        (
            first().put(NewBlock { is_text: true, content: b"ab\xff", ..block(2, "") }),
            "is not UTF-8 at byte 2",
        ),
        (first().link(edge(1, "", 2)), "1 to 255 bytes, not of 0"),
        (first().link(edge(1, &"k".repeat(256), 2)), "not of 256"),
        (
            first().link(Edge { weight: Some(f64::NAN), ..edge(1, "calls", 2) }),
            "-calls-> 02020202020202020202020202020202: its weight is NaN",
        ),
        (
            first().link(Edge { properties: Some("7".into()), ..edge(1, "calls", 2) }),
            "its properties must be a JSON object",
        ),
        (first().unlink(super::key(1, "", 2)), "1 to 255 bytes"),
    ];
    for (changes, message) in bad {
        let error = graph.change(&changes, Durability::Written).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
        assert!(error.to_string().contains(message), "{error}");
        assert_eq!(text(&graph, 1), None);
    }
    assert_eq!(graph.change(&GraphChanges::new(), Durability::Synced).unwrap().seq, None);
}

#[test]
fn names_and_options_that_can_not_be_are_refused() {
    let store = memory();
    for name in ["", "a/b", "..", "__x", &"n".repeat(300), "new\nline"] {
        let error = Graph::create(&store, name, &GraphOptions::default()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{name}");
    }
    for keep_versions in [0, KEEP_VERSIONS_MAX + 1] {
        let error = Graph::create(&store, "g", &GraphOptions { keep_versions }).unwrap_err();
        assert!(error.to_string().contains("keep_versions"), "{error}");
    }
    assert!(store.streams().is_empty());
    timestrata_topic::Topic::create(&store, "t", &Default::default()).unwrap();
    for error in [
        Graph::open(&store, "t").unwrap_err(),
        Graph::create(&store, "t", &GraphOptions::default()).unwrap_err(),
        Graph::drop(&store, "t").unwrap_err(),
    ] {
        assert_eq!(error.to_string(), "'t' is not a graph");
    }
}

#[test]
fn content_of_a_hundred_megabytes_is_a_block_like_any_other() {
    let dir = tempfile::tempdir().unwrap();
    let store = timestrata_engine::Store::open(dir.path(), Default::default()).unwrap();
    let graph = graph(&store);
    let large = vec![7_u8; 100 << 20];
    let block = NewBlock { id: Some(id(1)), content: &large, ..NewBlock::default() };
    graph.change(&GraphChanges::new().put(block), Durability::Synced).unwrap();
    assert!(graph.view().unwrap().get(id(1)).unwrap().unwrap().content() == large);
    store.close().unwrap();
    let store = timestrata_engine::Store::open(dir.path(), Default::default()).unwrap();
    let graph = Graph::open(&store, "code").unwrap();
    assert!(graph.view().unwrap().get(id(1)).unwrap().unwrap().content() == large);
}

/// The story: 70,000 kinds were taken, and then most walks failed.
#[test]
fn more_kinds_than_can_be_walked_are_refused_when_they_are_written() {
    let store = memory();
    let graph = graph(&store);
    let of_kinds = |kinds: std::ops::Range<usize>| {
        kinds.map(|kind| Edge::new(id(1), format!("kind {kind}"), id(2))).collect()
    };
    let link =
        |kinds| graph.change(&GraphChanges::new().link_many(of_kinds(kinds)), Durability::Written);
    let error = link(0..70_000).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TooLarge);
    assert!(error.to_string().contains("70000 kinds"), "{error}");
    assert_eq!(graph.view().unwrap().edge_count().unwrap(), 0);
    link(0..65_535).unwrap();
    assert_eq!(link(65_535..65_536).unwrap_err().kind(), ErrorKind::TooLarge);
    // Those that are there go on being written, and one that went makes room.
    link(0..2).unwrap();
    assert!(graph.view().unwrap().adjacency().unwrap().is_some());
    let gone = Edge::new(id(1), "kind 7", id(2)).key;
    graph.change(&GraphChanges::new().unlink(gone), Durability::Written).unwrap();
    link(65_535..65_536).unwrap();
}
