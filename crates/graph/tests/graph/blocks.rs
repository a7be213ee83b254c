use timestrata_engine::{Durability, ErrorKind};
use timestrata_graph::{
    Edge, Find, Graph, GraphChanges, GraphOptions, NewBlock, block_line, edge_line, id_of_content,
    lines_between,
};

use super::{block, change, graph, id, memory, text};

#[test]
fn a_block_comes_back_with_all_its_parts() {
    let store = memory();
    let graph = graph(&store);
    let whole = NewBlock {
        id: Some(id(1)),
        version: Some(7),
        source_uri: Some("file:///a.py"),
        metadata: Some(r#"{"name":"f","lines":[1,2]}"#),
        is_text: true,
        content: "def f(): pass – ü".as_bytes(),
    };
    let empty = NewBlock { id: Some(id(2)), ..NewBlock::default() };
    change(&graph, GraphChanges::new().put(whole).put(empty));
    let view = graph.view().unwrap();
    let found = view.get(id(1)).unwrap().unwrap();
    assert_eq!((found.id(), found.version(), found.is_text()), (id(1), 7, true));
    assert_eq!(found.source_uri(), whole.source_uri);
    assert_eq!(found.metadata(), whole.metadata);
    assert_eq!(found.content(), whole.content);
    let found = view.get(id(2)).unwrap().unwrap();
    assert_eq!((found.version(), found.is_text(), found.content()), (1, false, &b""[..]));
    assert_eq!((found.source_uri(), found.metadata()), (None, None));
    assert!(view.get(id(3)).unwrap().is_none() && !view.contains(id(3)).unwrap());
    assert_eq!(view.block_count().unwrap(), 2);
}

#[test]
fn a_block_without_an_id_has_its_contents_hash_for_one() {
    let store = memory();
    let graph = graph(&store);
    let content = NewBlock { content: b"abc", ..NewBlock::default() };
    let changed = change(&graph, GraphChanges::new().put(content).put(content));
    // The first half of SHA-256 of "abc", as FIPS 180-2 has it.
    let expected = "ba7816bf8f01cfea414140de5dae2223";
    assert_eq!(id_of_content(b"abc").to_string(), expected);
    assert_eq!(changed.put, [(id_of_content(b"abc"), 1), (id_of_content(b"abc"), 2)]);
    assert_eq!(graph.view().unwrap().block_count().unwrap(), 1);
}

#[test]
fn versions_rise_by_one_and_an_older_one_is_refused() {
    let store = memory();
    let graph = graph(&store);
    change(&graph, GraphChanges::new().put(block(1, "a")));
    let changed = change(&graph, GraphChanges::new().put(block(1, "b")));
    assert_eq!(changed.put, [(id(1), 2)]);
    let given = NewBlock { version: Some(10), ..block(1, "c") };
    assert_eq!(change(&graph, GraphChanges::new().put(given)).put, [(id(1), 10)]);
    let older =
        GraphChanges::new().put(block(2, "x")).put(NewBlock { version: Some(9), ..block(1, "d") });
    let error = graph.change(&older, Durability::Written).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict);
    assert!(error.to_string().contains("has version 10; version 9 is older"), "{error}");
    // All or none: the other block of the same changes is not there.
    assert_eq!((text(&graph, 1).as_deref(), text(&graph, 2)), (Some("c"), None));
    // The same again is no older one.
    change(&graph, GraphChanges::new().put(given));
    let last = NewBlock { version: Some(u32::MAX), ..block(1, "e") };
    change(&graph, GraphChanges::new().put(last));
    let error = graph.change(&GraphChanges::new().put(block(1, "f")), Durability::Written);
    assert_eq!(error.unwrap_err().kind(), ErrorKind::InvalidArgument);
}

#[test]
fn a_view_and_a_pin_keep_what_was_there() {
    let store = memory();
    let graph = graph(&store);
    change(&graph, GraphChanges::new().put(block(1, "old")));
    let before = graph.view().unwrap();
    store.pin("release").unwrap();
    change(&graph, GraphChanges::new().put(block(1, "new")).put(block(2, "other")));
    change(&graph, GraphChanges::new().delete(id(2)));
    store.flush().unwrap();
    store.compact(None).unwrap();
    let pinned = graph.view_at(store.snapshot_at("release").unwrap());
    for view in [&before, &pinned] {
        assert_eq!(view.get(id(1)).unwrap().unwrap().content(), b"old");
        assert_eq!(view.block_count().unwrap(), 1);
    }
    assert_eq!((text(&graph, 1).as_deref(), text(&graph, 2)), (Some("new"), None));
}

#[test]
fn a_pin_of_an_earlier_life_keeps_the_edges_that_were_there() {
    let dir = tempfile::tempdir().unwrap();
    let open = || timestrata_engine::Store::open(dir.path(), Default::default()).unwrap();
    let edges = |view: &timestrata_graph::GraphView| {
        view.neighbors(&[id(1)], &Default::default()).unwrap()[0].len()
    };
    {
        let store = open();
        let graph = graph(&store);
        change(&graph, GraphChanges::new().link(super::edge(1, "calls", 2)));
        store.pin("release").unwrap();
        change(&graph, GraphChanges::new().link(super::edge(1, "calls", 3)));
        store.close().unwrap();
    }
    let store = open();
    let graph = Graph::open(&store, "code").unwrap();
    // The one that is read first stays in memory: it must not answer for the other.
    assert_eq!(edges(&graph.view().unwrap()), 2);
    assert_eq!(edges(&graph.view_at(store.snapshot_at("release").unwrap())), 1);
    assert_eq!(edges(&graph.view().unwrap()), 2);
}

#[test]
fn as_many_versions_stay_as_the_graph_was_made_to_keep() {
    let store = memory();
    let options = GraphOptions { keep_versions: 3 };
    let graph = Graph::create(&store, "code", &options).unwrap();
    let numbers = || -> Vec<u32> {
        let versions = graph.view().unwrap().versions(id(1)).unwrap();
        versions.iter().map(|block| block.version()).collect()
    };
    for text in ["a", "b"] {
        change(&graph, GraphChanges::new().put(block(1, text)));
    }
    assert_eq!(numbers(), [2, 1]);
    // Several at once are kept too.
    change(&graph, GraphChanges::new().put(block(1, "c")).put(block(1, "d")));
    assert_eq!(numbers(), [4, 3, 2]);
    store.flush().unwrap();
    let jump = NewBlock { version: Some(9), ..block(1, "e") };
    change(&graph, GraphChanges::new().put(jump));
    assert_eq!(numbers(), [9, 4, 3]);
    let contents = graph.view().unwrap().versions(id(1)).unwrap();
    let contents: Vec<&[u8]> = contents.iter().map(|block| block.content()).collect();
    assert_eq!(contents, [b"e", b"d", b"c"]);
    change(&graph, GraphChanges::new().delete(id(1)));
    assert!(numbers().is_empty());
    change(&graph, GraphChanges::new().put(block(1, "f")));
    assert_eq!(numbers(), [1]);
}

#[test]
fn blocks_are_found_by_where_they_came_from_and_by_what_is_said_of_them() {
    let store = memory();
    let graph = graph(&store);
    let of = |number, uri, metadata| NewBlock {
        source_uri: Some(uri),
        metadata: Some(metadata),
        ..block(number, "")
    };
    change(
        &graph,
        GraphChanges::new()
            .put(of(1, "a.py", r#"{"name":"f","size":1}"#))
            .put(of(2, "a.py", r#"{"name":"g"}"#))
            .put(of(3, "b.py", r#"{"name":"f","size":1.5}"#))
            .put(block(4, "bare")),
    );
    let find = |what: &Find| -> Vec<u8> {
        let found = graph.view().unwrap().find(what).unwrap();
        found.iter().map(|block| block.id().bytes()[0]).collect()
    };
    let named = |name: &str| {
        let serde_json::Value::Object(metadata) = serde_json::json!({ "name": name }) else {
            panic!("an object")
        };
        Find { metadata, ..Find::default() }
    };
    let from = |uri: &str| Find { source_uri: Some(uri.to_owned()), ..Find::default() };
    assert_eq!(find(&from("a.py")), [1, 2]);
    assert_eq!(find(&named("f")), [1, 3]);
    assert_eq!(find(&Find { limit: Some(1), ..named("f") }), [1]);
    assert_eq!(find(&Find { source_uri: Some("b.py".into()), ..named("f") }), [3]);
    assert_eq!(find(&Find::default()), [1, 2, 3, 4]);
    assert!(find(&named("h")).is_empty());
}

#[test]
fn two_handles_are_one_graph_and_a_dropped_one_is_gone_whole() {
    let store = memory();
    let graph = graph(&store);
    let again = Graph::open(&store, "code").unwrap();
    change(&graph, GraphChanges::new().put(block(1, "a")).link(super::edge(1, "calls", 1)));
    assert_eq!(text(&again, 1).as_deref(), Some("a"));
    let other = Graph::create(&store, "other", &GraphOptions::default()).unwrap();
    change(&other, GraphChanges::new().put(block(1, "b")));
    Graph::drop(&store, "code").unwrap();
    assert_eq!(Graph::open(&store, "code").unwrap_err().kind(), ErrorKind::NotFound);
    assert_eq!(store.streams().len(), 3, "the other graph's");
    let new = Graph::create(&store, "code", &GraphOptions { keep_versions: 2 }).unwrap();
    assert_eq!(new.view().unwrap().edge_count().unwrap(), 0);
    assert_eq!((text(&new, 1), text(&other, 1).as_deref()), (None, Some("b")));
    let error = Graph::create(&store, "code", &GraphOptions::default()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::AlreadyExists);
}

/// What became of a copy is done to the graph that it is of, unless somebody else has changed that.
#[test]
fn what_became_of_a_copy_is_done_to_another_one_whose_blocks_are_as_they_were() {
    let store = memory();
    let (one, other) = (
        Graph::create(&store, "one", &GraphOptions::default()).unwrap(),
        Graph::create(&store, "other", &GraphOptions::default()).unwrap(),
    );
    let named = |number: u8, text: &'static str| NewBlock {
        id: Some(id(number)),
        metadata: Some(r#"{"n":1}"#),
        is_text: true,
        content: text.as_bytes(),
        ..NewBlock::default()
    };
    let edge = |source, target| Edge::new(id(source), "calls \"it\"", id(target));
    let begun = || {
        let put = GraphChanges::new().put(named(1, "a")).put(named(2, "b")).put(named(3, "c"));
        put.link(edge(1, 2)).link(edge(2, 3)).link(edge(3, 1))
    };
    [&one, &other].into_iter().for_each(|graph| {
        change(graph, begun());
    });
    let before = one.view().unwrap();
    assert!(lines_between(&before, &before).unwrap().is_empty());
    let mut heavy = edge(1, 2);
    heavy.weight = Some(0.5);
    let more = GraphChanges::new().put(named(1, "a changed")).delete(id(3)).put(named(4, "d"));
    change(&one, more.link(heavy).link(edge(4, 1)));
    let lines = lines_between(&before, &one.view().unwrap()).unwrap();
    let all = |graph: &Graph| {
        let view = graph.view().unwrap();
        let blocks = view.all_blocks().unwrap().map(|block| block_line(&block.unwrap()));
        let blocks: Vec<_> = blocks.collect();
        let edges = view.all_edges().unwrap().map(|edge| edge_line(&edge.unwrap()));
        (blocks, edges.collect::<Vec<_>>())
    };
    // Refused whole where a block is another one by now.
    let third = Graph::create(&store, "third", &GraphOptions::default()).unwrap();
    change(&third, begun());
    change(&third, GraphChanges::new().put(named(3, "c changed")));
    let was = all(&third);
    let text = lines.join("\n");
    let refused = third.change_lines(text.as_bytes(), Durability::Written).unwrap_err();
    assert_eq!((refused.kind(), all(&third)), (ErrorKind::Conflict, was));

    other.change_lines(text.as_bytes(), Durability::Written).unwrap();
    assert_eq!(all(&other), all(&one));
    assert_eq!(all(&one).1.len(), 2);
}
