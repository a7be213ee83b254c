//! Indexes in the SCIP format: what they say is in the graph, and what isn't right does no harm.

use std::path::{Path, PathBuf};

use proptest::prelude::*;
use protobuf::{EnumOrUnknown, Message, MessageField};
use scip::types::occurrence::{Typed_enclosing_range, Typed_range};
use scip::types::symbol_information::Kind;
use scip::types::{
    Document, Index, Metadata, MultiLineRange, Occurrence, PositionEncoding, Relationship,
    SingleLineRange, SymbolInformation, SymbolRole, ToolInfo,
};
use timestrata_codeindex::{
    Imported, IndexOptions, Shown, external_id, find, import_scip, index, node_id, node_of,
    shown_edges, symbol_id,
};
use timestrata_engine::{Error, ErrorKind, Io};
use timestrata_graph::{Direction, Graph};

use super::{Tree, contents, graph};

const ROOT: &str = "file:///nowhere/shop";
const CART: &str = "scip-test npm shop 1.0 src/`cart.ts`/Cart#";
const ADD: &str = "scip-test npm shop 1.0 src/`cart.ts`/Cart#add().";
const BASE: &str = "scip-test npm shop 1.0 src/`cart.ts`/Base#";
const MAIN: &str = "scip-test npm shop 1.0 src/`main.ts`/main().";
const LIMIT: &str = "scip-test npm shop 1.0 src/`main.ts`/limit.";
const FETCH: &str = "scip-test npm net 2.0 http/fetch().";

/// Its second line has letters before what is called that are two bytes and one unit of UTF-16, and
/// four bytes and two units.
const CART_TEXT: &str = "class Base {}\nclass Cart extends Base {\n  add() { 'é😀'; fetch() }\n}\n";
const MAIN_TEXT: &str = "import { Cart } from './cart'\n/** Runs. */\nfunction main() {\n  new Cart().add(limit)\n  main()\n}\nconst limit = 1\n";

fn occurrence(symbol: &str, role: i32, range: &[i32], enclosing: &[i32]) -> Occurrence {
    Occurrence {
        range: range.to_vec(),
        enclosing_range: enclosing.to_vec(),
        symbol: symbol.to_owned(),
        symbol_roles: role,
        ..Occurrence::default()
    }
}

fn defined(symbol: &str, range: &[i32], enclosing: &[i32]) -> Occurrence {
    occurrence(symbol, SymbolRole::Definition as i32, range, enclosing)
}

fn referred(symbol: &str, range: &[i32]) -> Occurrence {
    occurrence(symbol, SymbolRole::ReadAccess as i32, range, &[])
}

fn described(symbol: &str, kind: Kind, bases: &[&str]) -> SymbolInformation {
    let implements = |base: &&str| Relationship {
        symbol: (*base).to_owned(),
        is_implementation: true,
        ..Relationship::default()
    };
    SymbolInformation {
        symbol: symbol.to_owned(),
        kind: EnumOrUnknown::new(kind),
        relationships: bases.iter().map(implements).collect(),
        ..SymbolInformation::default()
    }
}

fn document(path: &str, text: &str, occurrences: Vec<Occurrence>) -> Document {
    Document {
        language: "TypeScript".to_owned(),
        relative_path: path.to_owned(),
        occurrences,
        text: text.to_owned(),
        position_encoding: EnumOrUnknown::new(PositionEncoding::UTF16CodeUnitOffsetFromLineStart),
        ..Document::default()
    }
}

fn index_of(root: &str, documents: Vec<Document>) -> Index {
    let metadata = Metadata { project_root: root.to_owned(), ..Metadata::default() };
    Index { metadata: MessageField::some(metadata), documents, ..Index::default() }
}

/// A class with a method that calls out, and a function that uses both.
fn shop() -> Index {
    let mut cart = document(
        "src/cart.ts",
        CART_TEXT,
        vec![
            defined(BASE, &[0, 6, 10], &[0, 0, 13]),
            defined(CART, &[1, 6, 10], &[1, 0, 3, 1]),
            referred(BASE, &[1, 19, 23]),
            defined(ADD, &[2, 2, 5], &[2, 2, 26]),
            referred(FETCH, &[2, 17, 22]),
            referred("local 1", &[2, 10, 15]),
            Occurrence { range: vec![0, 0, 5], ..Occurrence::default() },
        ],
    );
    cart.symbols = vec![
        described(BASE, Kind::Class, &[]),
        described(CART, Kind::Class, &[BASE]),
        described(ADD, Kind::UnspecifiedKind, &[]),
    ];
    let import = SymbolRole::Import as i32;
    let mut main = document(
        "src/main.ts",
        MAIN_TEXT,
        vec![
            occurrence(CART, import, &[0, 9, 13], &[]),
            defined(MAIN, &[2, 9, 13], &[1, 0, 5, 1]),
            referred(CART, &[3, 6, 10]),
            referred(ADD, &[3, 13, 16]),
            referred(LIMIT, &[3, 17, 22]),
            referred(MAIN, &[4, 2, 6]),
            defined(LIMIT, &[6, 6, 11], &[]),
            defined("local 2", &[6, 6, 11], &[]),
        ],
    );
    main.symbols = vec![described(LIMIT, Kind::EnumMember, &[])];
    let mut index = index_of(ROOT, vec![main, cart]);
    index.external_symbols = vec![described(FETCH, Kind::Function, &[])];
    index
}

struct Files(tempfile::TempDir);

impl Files {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn write(&self, bytes: &[u8]) -> PathBuf {
        let path = self.0.path().join("index.scip");
        std::fs::write(&path, bytes).unwrap();
        path
    }
}

fn import_bytes(graph: &Graph, bytes: &[u8], replace: bool) -> Result<Imported, Error> {
    let options = IndexOptions { replace, ..IndexOptions::default() };
    import_scip(graph, &Io::os(), &Files::new().write(bytes), None, options, &|_| {})
}

fn imported(graph: &Graph, index: &Index) -> Imported {
    import_bytes(graph, &index.write_to_bytes().unwrap(), false).unwrap()
}

/// `kind qualified path:line:column`.
fn line(shown: &Shown) -> String {
    let start = shown.start.map_or(String::new(), |at| format!(":{}:{}", at.line, at.column));
    let path = shown.path.as_deref().unwrap_or("-");
    format!("{} {} {path}{start}", shown.kind, shown.qualified)
}

fn named(graph: &Graph, name: &str) -> Vec<String> {
    find(&graph.view().unwrap(), name).unwrap().iter().map(line).collect()
}

/// The other ends of the edges of what a name finds, with the places.
fn ends(graph: &Graph, name: &str, direction: Direction, kind: &str) -> Vec<String> {
    let view = graph.view().unwrap();
    let [only] = find(&view, name).unwrap().try_into().unwrap();
    let shown = shown_edges(&view, only.id, direction, kind).unwrap();
    let sites = |shown: &Shown| {
        let sites = shown.sites.iter().map(|site| format!(" {}:{}", site.line, site.column));
        sites.collect::<String>()
    };
    shown.iter().map(|shown| format!("{} at{}", shown.qualified, sites(shown))).collect()
}

fn text(graph: &Graph, name: &str) -> String {
    let view = graph.view().unwrap();
    let [only] = find(&view, name).unwrap().try_into().unwrap();
    String::from_utf8(view.get(only.id).unwrap().unwrap().content().to_vec()).unwrap()
}

#[test]
fn an_index_is_found_and_shown_as_a_tree_is() {
    let graph = graph();
    let done = imported(&graph, &shop());
    assert_eq!((done.files, done.symbols, done.externals, done.skipped), (2, 5, 1, vec![]));
    assert_eq!(named(&graph, "src/cart.ts"), ["file src/cart.ts src/cart.ts"]);
    assert_eq!(named(&graph, "Cart"), ["class src.cart.ts.Cart src/cart.ts:2:6"]);
    assert_eq!(named(&graph, "Cart.add"), ["method src.cart.ts.Cart.add src/cart.ts:3:2"]);
    assert_eq!(named(&graph, "main"), ["function src.main.ts.main src/main.ts:3:9"]);
    assert_eq!(named(&graph, "limit"), ["enum_member src.main.ts.limit src/main.ts:7:6"]);
    assert_eq!(named(&graph, "fetch"), ["external http.fetch -"]);
    // Two letters of six bytes and three units are before the call.
    assert_eq!(ends(&graph, "add", Direction::Out, "calls"), ["http.fetch at 3:20"]);
    let callees = ends(&graph, "main", Direction::Out, "calls");
    assert_eq!(callees, ["src.cart.ts.Cart.add at 4:13", "src.main.ts.main at 5:2"]);
    let used = ends(&graph, "main", Direction::Out, "references");
    assert_eq!(used, ["src.cart.ts.Cart at 4:6", "src.main.ts.limit at 4:17"]);
    assert_eq!(ends(&graph, "Cart", Direction::In, "imports"), ["src/main.ts at 1:9"]);
    assert_eq!(ends(&graph, "Base", Direction::In, "inherits"), ["src.cart.ts.Cart at 2:6"]);
    assert_eq!(ends(&graph, "Base", Direction::In, "references"), ["src.cart.ts.Cart at 2:19"]);
    assert_eq!(ends(&graph, "Cart", Direction::Out, "contains"), ["src.cart.ts.Cart.add at 3:2"]);
    let top = ends(&graph, "src/cart.ts", Direction::Out, "contains");
    assert_eq!(top, ["src.cart.ts.Base at 1:6", "src.cart.ts.Cart at 2:6"]);
    assert_eq!(text(&graph, "add"), "add() { 'é😀'; fetch() }");
    assert!(text(&graph, "main").starts_with("/** Runs. */\nfunction main"));
    assert_eq!(text(&graph, "src/main.ts"), MAIN_TEXT);
    let view = graph.view().unwrap();
    for id in [symbol_id("local 2"), symbol_id(""), external_id("fetch")] {
        assert_eq!(node_of(&view, id).unwrap(), None);
    }
    let block = view.get(symbol_id(ADD)).unwrap().unwrap();
    let said: serde_json::Value = serde_json::from_str(block.metadata().unwrap()).unwrap();
    assert_eq!((&said["language"], &said["name"]), (&"typescript".into(), &"add".into()));
    assert_eq!((&said["symbol"], &said["end"]), (&ADD.into(), &serde_json::json!([3, 29])));
}

#[test]
fn an_indexer_that_does_not_tell_what_it_counts_in_is_known_by_its_name() {
    let site = |tool: &str, encoding: PositionEncoding| {
        let mut call = document("a.ts", "'é'; f()", vec![referred(FETCH, &[0, 5, 6])]);
        call.position_encoding = encoding.into();
        let mut index = index_of(ROOT, vec![call]);
        let tool_info = ToolInfo { name: tool.to_owned(), ..ToolInfo::default() };
        index.metadata.as_mut().unwrap().tool_info = MessageField::some(tool_info);
        let graph = graph();
        imported(&graph, &index);
        ends(&graph, "fetch", Direction::In, "calls")
    };
    let untold = PositionEncoding::UnspecifiedPositionEncoding;
    assert_eq!(site("scip-typescript", untold), ["a.ts at 1:6"]);
    assert_eq!(site("scip-go", untold), ["a.ts at 1:5"]);
    let bytes = PositionEncoding::UTF8CodeUnitOffsetFromLineStart;
    assert_eq!(site("scip-typescript", bytes), ["a.ts at 1:5"]);
}

#[test]
fn a_language_that_is_not_told_is_that_of_the_path() {
    let language = |path: &str, told: &str| {
        let graph = graph();
        let document = Document { language: told.to_owned(), ..document(path, "", vec![]) };
        imported(&graph, &index_of(ROOT, vec![document]));
        let view = graph.view().unwrap();
        let block = view.get(node_id(path)).unwrap().unwrap();
        let said: serde_json::Value = serde_json::from_str(block.metadata().unwrap()).unwrap();
        said["language"].as_str().unwrap().to_owned()
    };
    assert_eq!(language("a.ts", ""), "typescript");
    assert_eq!(language("a.ts", "CSharp"), "csharp");
    assert_eq!(language("a.kt", ""), "");
}

#[test]
fn an_index_as_it_was_is_not_written_again_and_a_changed_one_only_where_it_differs() {
    let (graph, mut index) = (graph(), shop());
    assert!(imported(&graph, &index).written.seq.is_some());
    let before = contents(&graph);
    assert_eq!(imported(&graph, &index).written, Default::default());
    index.documents.reverse();
    assert_eq!(imported(&graph, &index).written, Default::default());
    // The call of `main` by itself goes, and `limit` is no more.
    index.documents[1].occurrences.drain(5..7);
    index.documents[1].symbols.clear();
    let written = imported(&graph, &index).written;
    let counts = (written.blocks_put, written.blocks_deleted);
    assert_eq!((counts, written.edges_linked, written.edges_unlinked), ((1, 0), 0, 2));
    assert_eq!(named(&graph, "limit"), ["external src.main.ts.limit -"]);
    let clean = super::graph();
    imported(&clean, &index);
    assert_eq!(contents(&graph), contents(&clean));
    imported(&graph, &shop());
    assert_eq!(contents(&graph), before);
}

#[test]
fn an_index_never_takes_another_trees_place_unasked() {
    let graph = graph();
    imported(&graph, &shop());
    let other = index_of("file:///nowhere/other", vec![document("a.ts", "", vec![])]);
    let bytes = other.write_to_bytes().unwrap();
    let error = import_bytes(&graph, &bytes, false).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::AlreadyExists);
    assert!(error.to_string().contains("holds the tree file:///nowhere/shop"), "{error}");
    assert_eq!(named(&graph, "Cart").len(), 1);
    import_bytes(&graph, &bytes, true).unwrap();
    assert!(named(&graph, "Cart").is_empty() && named(&graph, "fetch").is_empty());
    let tree = Tree::new(&[("a.py", "def a(): ...\n")]);
    let indexed = super::graph();
    index(&indexed, &Io::os(), tree.path(), IndexOptions::default(), &|_| {}).unwrap();
    assert_eq!(import_bytes(&indexed, &bytes, false).unwrap_err().kind(), ErrorKind::AlreadyExists);
}

#[test]
fn the_text_is_looked_up_where_the_caller_says_the_tree_is_and_nowhere_else() {
    let tree = Tree::new(&[("with space/é.py", "x = '😀'; f()\n")]);
    let root = format!("file://{}", tree.path().display());
    let call = referred(FETCH, &[0, 9, 10]);
    let mut told = document("with space/é.py", "", vec![call.clone()]);
    let site = |told: &Document| {
        let bytes = index_of(&root, vec![told.clone()]).write_to_bytes().unwrap();
        let with = |sources| {
            let graph = graph();
            let (file, options) = (Files::new(), IndexOptions::default());
            let file = file.write(&bytes);
            import_scip(&graph, &Io::os(), &file, sources, options, &|_| {}).unwrap();
            (contents(&graph).0, ends(&graph, "fetch", Direction::In, "calls"))
        };
        // An index is a stranger's: it has no say in which files are read here.
        let (blocks, _) = with(None);
        assert!(blocks.values().all(|(_, _, content)| content.is_empty()), "{blocks:?}");
        with(Some(tree.path())).1
    };
    told.position_encoding = PositionEncoding::UTF32CodeUnitOffsetFromLineStart.into();
    assert_eq!(site(&told), ["with space/é.py at 1:12"]);
    told.position_encoding = PositionEncoding::UTF16CodeUnitOffsetFromLineStart.into();
    assert_eq!(site(&told), ["with space/é.py at 1:11"]);
    told.position_encoding = PositionEncoding::UTF8CodeUnitOffsetFromLineStart.into();
    assert_eq!(site(&told), ["with space/é.py at 1:9"]);
    // Without a text, what can't be known is taken as it is.
    told.position_encoding = PositionEncoding::UTF32CodeUnitOffsetFromLineStart.into();
    told.relative_path = "gone.py".to_owned();
    assert_eq!(site(&told), ["gone.py at 1:9"]);
    // Long lines have their places marked.
    let long = "é".repeat(1_000);
    tree.write("long.py", &long);
    told.relative_path = "long.py".to_owned();
    told.occurrences =
        [0, 127, 128, 129, 999, 5_000].map(|column| referred(FETCH, &[0, column, column])).to_vec();
    assert_eq!(site(&told), ["long.py at 1:0 1:254 1:256 1:258 1:1998 1:2000"]);
}

#[test]
fn ranges_with_names_are_read_as_those_without() {
    let typed = |range: SingleLineRange, whole: MultiLineRange| Occurrence {
        symbol: MAIN.to_owned(),
        symbol_roles: SymbolRole::Definition as i32,
        typed_range: Some(Typed_range::SingleLineRange(range)),
        typed_enclosing_range: Some(Typed_enclosing_range::MultiLineEnclosingRange(whole)),
        ..Occurrence::default()
    };
    let range =
        SingleLineRange { line: 2, start_character: 9, end_character: 13, ..Default::default() };
    let whole =
        MultiLineRange { start_line: 1, end_line: 5, end_character: 1, ..Default::default() };
    let mut index = shop();
    index.documents[0].occurrences[1] = typed(range, whole);
    let (one, two) = (graph(), graph());
    imported(&one, &index);
    imported(&two, &shop());
    assert_eq!(contents(&one), contents(&two));
}

#[test]
fn what_stands_in_a_namespace_of_another_file_is_its_own_files() {
    let (space, one, two) = ("s m p 1 ns/", "s m p 1 ns/One#", "s m p 1 ns/Two#");
    let (field, part) = ("s m p 1 ns/One#field.", "s m p 1 ns/One#part().");
    let mut first = document(
        "a.kt",
        "",
        vec![
            defined(space, &[0, 0, 2], &[]),
            defined(one, &[1, 0, 3], &[]),
            defined(field, &[2, 0, 5], &[]),
        ],
    );
    first.symbols = vec![SymbolInformation {
        enclosing_symbol: space.to_owned(),
        ..described(field, Kind::Field, &[])
    }];
    let second = document(
        "b.kt",
        "",
        vec![
            defined(space, &[0, 0, 2], &[]),
            defined(two, &[1, 0, 3], &[]),
            defined(part, &[2, 0, 4], &[]),
        ],
    );
    let graph = graph();
    imported(&graph, &index_of(ROOT, vec![first, second]));
    let contained = |name: &str| ends(&graph, name, Direction::Out, "contains");
    assert_eq!(contained("a.kt"), ["ns at 1:0"]);
    assert_eq!(contained("b.kt"), ["ns at 1:0", "ns.Two at 2:0"]);
    assert_eq!(contained("ns"), ["ns.One at 2:0", "ns.One.field at 3:0"]);
    assert_eq!(contained("One"), ["ns.One.part at 3:0"]);
    assert_eq!(named(&graph, "ns"), ["module ns a.kt:1:0"]);
}

/// Why an index was refused; nothing is in the graph then.
fn refusal(bytes: &[u8]) -> (ErrorKind, String) {
    let graph = graph();
    let error = import_bytes(&graph, bytes, false).unwrap_err();
    assert_eq!(graph.view().unwrap().block_count().unwrap(), 0);
    assert!(error.to_string().contains("index.scip"), "{error}");
    (error.kind(), error.to_string())
}

#[test]
fn what_is_no_index_is_refused_with_its_name() {
    let file = |index: Index| index.write_to_bytes().unwrap();
    let without_root = file(index_of("", vec![]));
    let without_metadata = file(Index::default());
    // A group in an occurrence whose length leads out of it, which the decoder can't be given.
    let group =
        [&file(index_of(ROOT, vec![]))[..], b"\x12\x09\x0a\x01a\x12\x04\x7b\x0a\xff\x7f"].concat();
    let cases: [(&[u8], &str); 8] = [
        (b"", "doesn't say how it was made"),
        (b"source,kind,target\na,calls,b\n", "which the format hasn't"),
        (b"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", "more than ten bytes"),
        (b"\x12\xff\xff\xff\xff\x0f", "ends 0 bytes into a field of 4294967295"),
        (b"\x02\x00", "the number 0"),
        (&without_root, "names no project root"),
        (&without_metadata, "doesn't say how it was made"),
        (&group, "which the format hasn't"),
    ];
    for (bytes, why) in cases {
        let (kind, said) = refusal(bytes);
        assert_eq!(kind, ErrorKind::InvalidData, "{said}");
        assert!(said.contains(why) && said.contains("let the indexer write it again"), "{said}");
    }
    let nowhere = Path::new("/nowhere/index.scip");
    let error = import_scip(&graph(), &Io::os(), nowhere, None, IndexOptions::default(), &|_| {});
    assert_eq!(error.unwrap_err().kind(), ErrorKind::NotFound);
}

#[test]
fn a_piece_that_is_not_right_is_told_and_left_out() {
    let ranges: [&[i32]; 6] = [&[], &[1], &[1, 2], &[1, 2, 3, 4, 5], &[-1, 0, 1], &[3, 5, 2]];
    let mut occurrences: Vec<Occurrence> =
        ranges.iter().map(|range| referred(FETCH, range)).collect();
    occurrences.push(referred("no symbol", &[0, 0, 1]));
    occurrences.push(referred("no symbol", &[0, 0, 1]));
    occurrences.push(defined(&format!("s m p 1 {}#", "x".repeat(10_000)), &[0, 0, 1], &[]));
    occurrences.push(referred(FETCH, &[7, 1, 2]));
    let mut good = document("good.ts", "", occurrences);
    good.symbols = vec![SymbolInformation::default()];
    let outside = ["", "..", "../up.ts", "/etc/passwd", "a//b", "a/./b", "a\\b", "a/"];
    let mut documents: Vec<Document> =
        outside.iter().map(|path| document(path, "secret", vec![])).collect();
    documents.extend([good, document("good.ts", "another", vec![])]);
    let graph = graph();
    let done = imported(&graph, &index_of(ROOT, documents));
    assert_eq!((done.files, done.symbols, done.externals), (1, 0, 1));
    let paths: Vec<&str> = done.skipped.iter().map(|skipped| skipped.path.as_str()).collect();
    for path in outside {
        assert!(paths.contains(&path), "{path}");
    }
    let mut why: Vec<&str> = done.skipped.iter().map(|skipped| skipped.why.as_str()).collect();
    why.retain(|why| *why != "not a path below the project root");
    assert!(why[0].contains("a second document") && why[1].contains("without a name"), "{why:?}");
    assert!(why[2].contains("'no symbol' is no symbol") && why[3].contains("xxx"), "{why:?}");
    assert_eq!((why[4], why.len()), ("6 occurrences without a usable range", 5));
    assert_eq!(ends(&graph, "fetch", Direction::In, "calls"), ["good.ts at 8:1"]);
    assert!(find(&graph.view().unwrap(), "secret").unwrap().is_empty());
    assert!(graph.view().unwrap().get(node_id("/etc/passwd")).unwrap().is_none());
}

#[test]
fn definitions_that_all_hold_everything_take_bounded_room() {
    let text = "x".repeat(10_000);
    let symbols: Vec<String> = (0..1_000).map(|number| format!("s m p 1 f{number}().")).collect();
    let all = symbols.iter().map(|symbol| defined(symbol, &[0, 0, 1], &[0, 0, 10_000])).collect();
    let graph = graph();
    let done = imported(&graph, &index_of(ROOT, vec![document("a.ts", &text, all)]));
    assert_eq!(done.symbols, 1_000);
    let held: usize = contents(&graph).0.values().map(|(_, _, content)| content.len()).sum();
    assert!(held <= 65 * text.len(), "{held}");
}

/// Where the fields of an index end, at which a file that was cut off is whole again.
fn borders(index: &Index) -> Vec<usize> {
    let mut part = index.clone();
    part.external_symbols.clear();
    let mut borders =
        vec![index.write_to_bytes().unwrap().len(), part.write_to_bytes().unwrap().len()];
    while part.documents.pop().is_some() {
        borders.push(part.write_to_bytes().unwrap().len());
    }
    borders
}

#[test]
fn an_index_that_is_cut_off_is_refused() {
    let index = shop();
    let (bytes, borders) = (index.write_to_bytes().unwrap(), borders(&index));
    for length in (0..bytes.len()).filter(|length| !borders.contains(length)) {
        assert_eq!(refusal(&bytes[..length]).0, ErrorKind::InvalidData, "{length}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn random_bytes_give_an_index_or_an_error(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let _ = import_bytes(&graph(), &bytes, false);
    }

    #[test]
    fn a_damaged_index_gives_an_index_or_an_error(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
    ) {
        let mut bytes = shop().write_to_bytes().unwrap();
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        let graph = graph();
        if import_bytes(&graph, &bytes, false).is_ok() {
            // What was taken can be taken again, and asked.
            prop_assert_eq!(import_bytes(&graph, &bytes, false).unwrap().written, Default::default());
            find(&graph.view().unwrap(), "main").unwrap();
        }
    }
}
