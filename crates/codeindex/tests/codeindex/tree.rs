use timestrata_codeindex::{IndexOptions, find, index, shown_edges};
use timestrata_engine::{ErrorKind, Io, Settings, Store};
use timestrata_graph::{Direction, Graph, GraphOptions};

use super::{Tree, contents, graph, indexed};

const SHAPE: &str =
    "class Shape:\n    def area(self):\n        return self.side() ** 2\n    def side(self): ...\n";
const MAIN: &str = "import os\nfrom shape import Shape\n\ndef main():\n    s = Shape()\n    os.getcwd()\n    os.getcwd()\n";

/// Who is at the other end, as `path:qualified` with the lines of the sites.
fn ends(graph: &Graph, name: &str, direction: Direction, kind: &str) -> Vec<String> {
    let view = graph.view().unwrap();
    let mut all = Vec::new();
    for shown in find(&view, name).unwrap() {
        for end in shown_edges(&view, shown.id, direction, kind).unwrap() {
            let lines: Vec<String> = end.sites.iter().map(|site| site.line.to_string()).collect();
            let path = end.path.as_deref().unwrap_or("-");
            all.push(format!("{path}:{} at {}", end.qualified, lines.join(",")));
        }
    }
    all
}

#[test]
fn callers_and_callees_are_found_with_file_and_line() {
    let tree = Tree::new(&[("shape.py", SHAPE), ("main.py", MAIN)]);
    let graph = graph();
    let done = indexed(&graph, &tree);
    assert_eq!((done.files, done.parsed, done.skipped.len()), (2, 2, 0));
    assert_eq!(ends(&graph, "Shape", Direction::In, "calls"), ["main.py:main at 5"]);
    assert_eq!(ends(&graph, "side", Direction::In, "calls"), ["shape.py:Shape.area at 3"]);
    assert_eq!(
        ends(&graph, "main", Direction::Out, "calls"),
        ["-:os.getcwd at 6,7", "shape.py:Shape at 5"]
    );
    assert_eq!(ends(&graph, "os.getcwd", Direction::In, "calls"), ["main.py:main at 6,7"]);
    assert_eq!(
        ends(&graph, "Shape", Direction::Out, "contains"),
        ["shape.py:Shape.area at 2", "shape.py:Shape.side at 4"]
    );
    let view = graph.view().unwrap();
    let shown = find(&view, "Shape.side").unwrap();
    let block = view.get(shown[0].id).unwrap().unwrap();
    assert_eq!(block.content(), b"def side(self): ...");
    assert!(find(&view, "nothing").unwrap().is_empty());
}

#[test]
fn a_tree_as_it_was_is_not_written_again() {
    let tree = Tree::new(&[("shape.py", SHAPE), ("main.py", MAIN)]);
    let graph = graph();
    let first = indexed(&graph, &tree);
    let before = contents(&graph);
    let again = indexed(&graph, &tree);
    assert_eq!((again.files, again.parsed, again.written.seq), (2, 0, None));
    assert!(first.written.seq.is_some() && contents(&graph) == before);
    tree.write("main.py", &MAIN.replace("s = Shape()", "return Shape()"));
    let edited = indexed(&graph, &tree);
    assert_eq!((edited.parsed, edited.written.blocks_deleted), (1, 0));
    // The file, its facts, and the function that was edited.
    assert_eq!(edited.written.blocks_put, 3);
    let version = |name: &str| {
        let view = graph.view().unwrap();
        view.get(find(&view, name).unwrap()[0].id).unwrap().unwrap().version()
    };
    assert_eq!((version("main"), version("Shape")), (2, 1));
}

#[test]
fn a_file_that_can_not_be_parsed_is_told_and_left_out_whole() {
    let tree =
        Tree::new(&[("good.py", "def f(): ...\n"), ("bad.py", "def g(:\n"), ("bin.py", "\0")]);
    let graph = graph();
    let done = indexed(&graph, &tree);
    let paths: Vec<&str> = done.skipped.iter().map(|skipped| skipped.path.as_str()).collect();
    assert_eq!((done.files, paths), (1, vec!["bad.py", "bin.py"]));
    assert!(done.skipped[0].why.contains("line 1"), "{:?}", done.skipped[0]);
    let view = graph.view().unwrap();
    assert_eq!(find(&view, "f").unwrap().len(), 1);
    assert!(find(&view, "g").unwrap().is_empty() && find(&view, "bad.py").unwrap().is_empty());
    tree.write("bad.py", "def g(): ...\n");
    assert_eq!(indexed(&graph, &tree).skipped.len(), 1);
    assert_eq!(find(&graph.view().unwrap(), "g").unwrap().len(), 1);
}

#[test]
fn two_trees_live_side_by_side_and_one_never_takes_the_others_place_unasked() {
    let (one, two) =
        (Tree::new(&[("a.py", "def a(): ...\n")]), Tree::new(&[("b.py", "def b(): ...\n")]));
    let dir = tempfile::tempdir().unwrap();
    {
        let store = Store::open(dir.path(), Settings::default()).unwrap();
        for (name, tree) in [("one", &one), ("two", &two)] {
            indexed(&Graph::create(&store, name, &GraphOptions::default()).unwrap(), tree);
        }
        store.close().unwrap();
    }
    let store = Store::open(dir.path(), Settings::default()).unwrap();
    let graph = Graph::open(&store, "one").unwrap();
    let error = index(&graph, &Io::os(), two.path(), IndexOptions::default(), &|_| {}).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::AlreadyExists);
    assert!(error.to_string().contains("graph 'one' holds the tree"), "{error}");
    assert_eq!(find(&graph.view().unwrap(), "a").unwrap().len(), 1);
    let replace = IndexOptions { replace: true, ..IndexOptions::default() };
    index(&graph, &Io::os(), two.path(), replace, &|_| {}).unwrap();
    let two = Graph::open(&store, "two").unwrap();
    assert_eq!(contents(&graph).1, contents(&two).1);
    let missing = index(&two, &Io::os(), &dir.path().join("nowhere"), replace, &|_| {});
    assert_eq!(missing.unwrap_err().kind(), ErrorKind::NotFound);
}
