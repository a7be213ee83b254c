//! Code graphs: indexed, asked, exported.

use protobuf::{Message, MessageField};
use scip::types::{Document, Index, Metadata, Occurrence, SymbolRole};
use serde_json::Value;

use crate::runner::Runner;

const SHAPE: &str =
    "class Shape:\n    def area(self):\n        return self.side() ** 2\n    def side(self): ...\n";
const MAIN: &str = "import os\nfrom shape import Shape\n\ndef main():\n    s = Shape()\n    s.area()\n    os.getcwd()\n";

fn indexed() -> Runner {
    let runner = Runner::new();
    runner.dir("tree");
    runner.file("tree/shape.py", SHAPE);
    runner.file("tree/main.py", MAIN);
    runner.file("tree/.gitignore", "made.py\n");
    runner.file("tree/made.py", "def made(): ...\n");
    let told = runner.told(&["graph", "index", "store", "code", "tree"]);
    assert!(told.contains("code: 2 files, 2 read anew"), "{told}");
    runner
}

#[test]
fn callers_are_printed_with_file_line_and_column() {
    let runner = indexed();
    let callers = runner.ok(&["graph", "show", "store", "code", "callers", "Shape"]);
    assert_eq!(callers, "main.py:5:9: function main\n");
    let callees = runner.ok(&["graph", "show", "store", "code", "callees", "Shape.area"]);
    assert_eq!(callees, "shape.py:3:21: method Shape.side\n");
    let members = runner.ok(&["graph", "show", "store", "code", "members", "Shape"]);
    assert_eq!(members.lines().count(), 2, "{members}");
    let found = runner.ok(&["graph", "find", "store", "code", "side"]);
    assert_eq!(found, "shape.py:4: method Shape.side\n");
    let users = runner.ok(&["graph", "show", "store", "code", "callers", "os.getcwd"]);
    assert_eq!(users, "main.py:7:8: function main\n");
    let json =
        runner.ok(&["graph", "show", "store", "code", "callers", "Shape", "--format", "json"]);
    let line: Value = serde_json::from_str(&json).unwrap();
    assert_eq!((&line["name"], &line["sites"][0][0]), (&Value::from("main"), &Value::from(5)));
    let path = runner.ok(&["graph", "path", "store", "code", "main", "side"]);
    assert!(path.starts_with("main.py:4: function main\n"), "{path}");
    assert!(path.ends_with("shape.py:4: method Shape.side\n"), "{path}");
    runner.fails(&["graph", "find", "store", "code", "made"], 1, &["nothing is called 'made'"]);
    runner.fails(&["graph", "path", "store", "code", "side", "main"], 1, &["nothing leads"]);
    runner.fails(&["graph", "find", "store", "other", "f"], 1, &["no graph 'other'"]);
}

/// `members` of a file printed nothing and said that all was well, and what had the name of many was
/// mixed into one list.
#[test]
fn what_has_the_name_of_many_says_which_it_is_of_and_nothing_is_told() {
    let runner = indexed();
    let members = runner.ok(&["graph", "show", "store", "code", "members", "shape.py"]);
    assert_eq!(members, "shape.py:1:1: class Shape\n");
    runner.file(
        "tree/room.py",
        "class Room:\n    def side(self): ...\n    def all(self):\n        self.side()\n",
    );
    runner.ok(&["graph", "index", "store", "code", "tree"]);
    let callers = ["graph", "show", "store", "code", "callers", "side"];
    let ran = runner.run(&callers);
    assert_eq!(
        (ran.code, ran.out.as_str()),
        (
            0,
            "room.py:4:14: method Room.all, of method Room.side [room.py:2]\n\
             shape.py:3:21: method Shape.area, of method Shape.side [shape.py:4]\n"
        )
    );
    assert!(ran.err.contains("2 things are called 'side'"), "{}", ran.err);
    assert!(ran.err.contains("such as 'Room.side'"), "{}", ran.err);
    let json = runner.run(&[&callers[..], &["--format", "json"]].concat());
    let of: Vec<Value> = json
        .out
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["of"]["name"].clone())
        .collect();
    assert_eq!((of, json.err.as_str()), (vec!["Room.side".into(), "Shape.side".into()], ""));
    let one = runner.run(&["graph", "show", "store", "code", "callers", "Room.side"]);
    assert_eq!((one.out.as_str(), one.err.as_str()), ("room.py:4:14: method Room.all\n", ""));
    for (what, name, told) in [
        ("callers", "Room.all", "nothing calls 'Room.all'"),
        ("members", "Room.all", "nothing stands in 'Room.all'"),
        ("imports", "shape.py", "'shape.py' imports nothing"),
    ] {
        let none = runner.fails(&["graph", "show", "store", "code", what, name], 1, &[told]);
        assert_eq!(none.out, "");
    }
}

#[test]
fn indexing_again_reads_what_has_changed_and_writes_what_differs() {
    let runner = indexed();
    let again = runner.told(&["graph", "index", "store", "code", "tree"]);
    assert!(again.contains("2 files, 0 read anew; 0 blocks written, 0 deleted"), "{again}");
    runner.file("tree/main.py", MAIN.replace("os.getcwd()", "pass"));
    runner.file("tree/bad.py", "def (:\n");
    let edited = runner.told(&["graph", "index", "store", "code", "tree"]);
    assert!(edited.contains("2 files, 1 read anew; 3 blocks written, 1 deleted"), "{edited}");
    assert!(edited.contains("left out: bad.py: line 1"), "{edited}");
    runner.dir("other");
    let other = ["graph", "index", "store", "code", "other"];
    runner.fails(&other, 1, &["graph 'code' holds the tree"]);
    runner.ok(&[&other[..], &["--replace"]].concat());
    runner.fails(&["graph", "find", "store", "code", "main"], 1, &["nothing is called"]);
    runner.fails(&["graph", "index", "store", "code", "nowhere"], 1, &["nowhere"]);
}

#[test]
fn a_graph_is_counted_and_exported_whole() {
    let runner = indexed();
    let stats: Value =
        serde_json::from_str(&runner.ok(&["graph", "stats", "store", "code", "--json"])).unwrap();
    assert_eq!((&stats["blocks"]["file"], &stats["blocks"]["method"]), (&2.into(), &2.into()));
    let json = runner.ok(&["graph", "export", "store", "code"]);
    let lines: Vec<Value> = json.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let count = |what: &str| lines.iter().filter(|line| line.get(what).is_some()).count() as u64;
    let sum = |of: &Value| of.as_object().unwrap().values().filter_map(Value::as_u64).sum::<u64>();
    assert_eq!((count("block"), count("kind")), (sum(&stats["blocks"]), sum(&stats["edges"])));
    let text = runner.ok(&["graph", "export", "store", "code", "--format", "text"]);
    assert!(text.contains("main.py::main -calls-> shape.py::Shape\n"), "{text}");
    let dot = runner.ok(&["graph", "export", "store", "code", "--format", "dot"]);
    assert!(dot.starts_with("digraph {\n") && dot.ends_with("}\n"), "{dot}");
    assert!(dot.contains("\"main.py::main\" -> \"shape.py::Shape\" [label=\"calls\"]\n"), "{dot}");
}

#[test]
fn a_graph_that_was_exported_is_imported_as_it_was() {
    let runner = indexed();
    let bytes =
        format!("{{\"block\": \"{}\", \"content\": {{\"base64\": \"/wAK\"}}}}", "0c".repeat(16));
    let times = [
        ("0a", "\"2024-05-01T12:00:00Z\"", "{\"n\": 12345678901234567890123}"),
        ("0b", "1714564800000000001", "null"),
    ];
    let edge = |(target, from, properties): &(&str, &str, &str)| {
        format!(
            "{{\"source\": \"{}\", \"kind\": \"k\", \"target\": \"{}\", \"weight\": 0.1, \
             \"valid_from\": {from}, \"properties\": {properties}}}\n",
            "0c".repeat(16),
            target.repeat(16)
        )
    };
    runner.file("more.jsonl", format!("{bytes}\n{}", times.iter().map(edge).collect::<String>()));
    let told = runner.told(&["graph", "import", "store", "code", "more.jsonl"]);
    assert!(told.contains("code: 2 edges linked, 1 block written"), "{told}");
    let exported = runner.ok(&["graph", "export", "store", "code"]);
    for part in [
        "\"content\":{\"base64\":\"/wAK\"}",
        "\"valid_from\":1714564800000000000,\"properties\":{\"n\": 12345678901234567890123}",
        "\"valid_from\":1714564800000000001,\"properties\":null",
    ] {
        assert!(exported.contains(part), "{part}: {exported}");
    }
    runner.file("all.jsonl", &exported);
    runner.ok(&["graph", "import", "copy", "code", "all.jsonl"]);
    assert_eq!(runner.ok(&["graph", "export", "copy", "code"]), exported);
    runner.file(
        "odd.jsonl",
        format!("{exported}{{\"block\": \"{}\", \"content\": 1}}\n", "0d".repeat(16)),
    );
    let odd = ["graph", "import", "other", "code", "odd.jsonl"];
    runner.fails(&odd, 1, &["odd.jsonl: line", "'content' must be text"]);
    runner.file(
        "times.csv",
        format!("source,kind,target,valid_from\n{0},k,{0},17\n", "0a".repeat(16)),
    );
    runner.ok(&["graph", "import", "copy", "code", "times.csv"]);
    assert!(runner.ok(&["graph", "export", "copy", "code"]).contains("\"valid_from\":17,"));
}

/// An index of one file, whose function `run` calls `stop` of another tree.
fn scip_index(root: &str, path: &str) -> Vec<u8> {
    let run = Occurrence {
        range: vec![0, 4, 7],
        enclosing_range: vec![0, 0, 2, 1],
        symbol: "s java shop 1.0 Cart#run().".to_owned(),
        symbol_roles: SymbolRole::Definition as i32,
        ..Occurrence::default()
    };
    let stop = Occurrence {
        range: vec![1, 2, 6],
        symbol: "s java net 1.0 Net#stop().".to_owned(),
        ..Occurrence::default()
    };
    let document = Document {
        relative_path: path.to_owned(),
        occurrences: vec![run, stop],
        ..Document::default()
    };
    let metadata = Metadata { project_root: root.to_owned(), ..Metadata::default() };
    let metadata = MessageField::some(metadata);
    let index = Index { metadata, documents: vec![document], ..Index::default() };
    index.write_to_bytes().unwrap()
}

#[test]
fn an_index_of_another_program_is_imported_and_asked_as_a_tree_is() {
    let runner = Runner::new();
    runner.file("index.scip", scip_index("file:///nowhere/shop", "Cart.java"));
    let import = ["graph", "import", "store", "java", "index.scip"];
    let told = runner.told(&import);
    assert!(told.contains("java: 1 file, 1 symbol, 1 of other trees; 4 blocks written"), "{told}");
    assert!(runner.told(&import).contains("; 0 blocks written, 0 deleted, 0 edges linked"));
    let found = runner.ok(&["graph", "find", "store", "java", "run"]);
    assert_eq!(found, "Cart.java:1: method Cart.run\n");
    let callers = runner.ok(&["graph", "show", "store", "java", "callers", "Net.stop"]);
    assert_eq!(callers, "Cart.java:2:3: method Cart.run\n");
    let path = runner.ok(&["graph", "path", "store", "java", "run", "stop"]);
    assert_eq!(path, "Cart.java:1: method Cart.run\n-: external Net.stop\n");
    runner.file("other", scip_index("file:///nowhere/other", "../up.java"));
    let other = ["graph", "import", "store", "java", "other"];
    runner.fails(&other, 1, &["its name doesn't say what it is", "--format scip"]);
    let other = [&other[..], &["--format", "scip"]].concat();
    runner.fails(&other, 1, &["graph 'java' holds the tree file:///nowhere/shop"]);
    let replaced = runner.told(&[&other[..], &["--replace"]].concat());
    assert!(replaced.contains("left out: ../up.java: not a path below"), "{replaced}");
    assert!(replaced.contains("java: 0 files"), "{replaced}");
    runner.file("cut.scip", &scip_index("file:///nowhere/other", "a.java")[..40]);
    let cut = ["graph", "import", "store", "java", "cut.scip"];
    runner.fails(&cut, 1, &["cut.scip", "not all of one"]);
    runner.fails(&["graph", "import", "store", "java", "gone.scip"], 1, &["no such file"]);
}

#[test]
fn a_list_of_edges_is_imported_by_ids_and_by_names() {
    let runner = Runner::new();
    runner.file("edges.csv", "src,dst,kind\nos,abc,imports\nos,sys,imports\nabc,_abc,calls\n");
    let import = ["graph", "import", "store", "code", "edges.csv"];
    runner.fails(&import, 1, &["edges have no column 'src'"]);
    // Nothing is left of a graph that could not be filled.
    runner.fails(&["graph", "stats", "store", "code"], 1, &["code"]);
    let named = [&import[..], &["--names", "--source", "src", "--target", "dst"]].concat();
    let told = runner.told(&named);
    assert!(told.contains("code: 3 edges linked, 4 blocks written"), "{told}");
    assert!(runner.told(&named).contains("3 edges linked, 0 blocks written"));
    let stats = runner.ok(&["graph", "stats", "store", "code"]);
    assert!(stats.contains('4') && stats.contains('3'), "{stats}");
    let [a, b] = ["0a".repeat(16), "0b".repeat(16)];
    runner.file("edges.jsonl", format!("{{\"source\": \"{a}\", \"target\": \"{b}\"}}\n"));
    let import = ["graph", "import", "store", "ids", "edges.jsonl"];
    runner.fails(&import, 1, &["edges need a column 'kind'"]);
    let told = runner.told(&[&import[..], &["--all-are", "calls"]].concat());
    assert!(told.contains("ids: 1 edge linked, 0 blocks written"), "{told}");
    let exported = runner.ok(&["graph", "export", "store", "ids", "--format", "json"]);
    assert!(
        exported.contains(&a) && exported.contains(&b) && exported.contains("calls"),
        "{exported}"
    );
    runner.file("edges.bin", "?");
    let unknown = ["graph", "import", "store", "ids", "edges.bin"];
    runner.fails(&unknown, 1, &["its name doesn't say what it is"]);
}
