use timestrata_engine::{Durability, ErrorKind};
use timestrata_graph::walk::Order;
use timestrata_graph::{Along, EdgeList, Graph, ImportedEdges, id_of_content};
use timestrata_ingest::rows::{ReadOptions, open_bytes};

use super::{graph, id, memory, text};

fn import(graph: &Graph, text: &str, list: &EdgeList) -> timestrata_engine::Result<ImportedEdges> {
    let options = ReadOptions { schema: Some(list.text_schema()), ..ReadOptions::default() };
    let source = open_bytes(text.as_bytes().to_vec(), "edges", &options)?;
    graph.import_edges(source, list, Durability::Written)
}

#[test]
fn a_list_of_ids_is_linked_with_all_that_it_says() {
    let store = memory();
    let graph = graph(&store);
    let [a, b] = [id(1), id(0x22)];
    let csv = format!(
        "source,kind,target,weight,valid_from,properties\n\
         {a},calls,{b},1.5,2024-05-01T12:00:00Z,\"{{\"\"n\"\": 1}}\"\n{b},calls,{a},,,\n"
    );
    let imported = import(&graph, &csv, &EdgeList::default()).unwrap();
    assert_eq!((imported.edges, imported.blocks_put), (2, 0));
    let view = graph.view().unwrap();
    let edges: Vec<_> = view.all_edges().unwrap().map(Result::unwrap).collect();
    let said = |place: usize| {
        let edge = &edges[place];
        (edge.weight, edge.valid_from_ns, edge.properties.as_deref())
    };
    assert_eq!(said(0), (Some(1.5), Some(1_714_564_800_000_000_000), Some("{\"n\": 1}")));
    assert_eq!(said(1), (None, None, None));
}

#[test]
fn a_list_of_names_puts_a_block_for_each_name_once() {
    let store = memory();
    let graph = graph(&store);
    let list = EdgeList {
        source: "src".into(),
        target: "dst".into(),
        kind_of_all: Some("imports".into()),
        are_names: true,
        ..EdgeList::default()
    };
    let lines = "{\"src\": \"os\", \"dst\": \"abc\"}\n{\"src\": \"abc\", \"dst\": \"7\"}\n";
    let imported = import(&graph, lines, &list).unwrap();
    assert_eq!((imported.edges, imported.blocks_put), (2, 3));
    let walk = graph
        .view()
        .unwrap()
        .walk(&[id_of_content(b"os")], &Along::default(), Order::Breadth, |_| true)
        .unwrap();
    let view = graph.view().unwrap();
    let content =
        |id| String::from_utf8(view.get(id).unwrap().unwrap().content().to_vec()).unwrap();
    let names: Vec<String> = walk.blocks.iter().map(|reached| content(reached.id)).collect();
    assert_eq!(names, ["os", "abc", "7"]);
    // Once more: edges are replaced by themselves, blocks stay as they are.
    assert_eq!(import(&graph, lines, &list).unwrap().blocks_put, 0);
    let view = graph.view().unwrap();
    assert_eq!((view.block_count().unwrap(), view.edge_count().unwrap()), (3, 2));
    assert_eq!(view.get(id_of_content(b"os")).unwrap().unwrap().version(), 1);
}

#[test]
fn lines_of_json_may_be_blank_and_a_bad_one_is_named_by_its_number() {
    let store = memory();
    let graph = graph(&store);
    let edge = format!("{{\"source\": \"{0}\", \"kind\": \"k\", \"target\": \"{0}\"}}", id(1));
    let lines = format!("\u{feff}\r\n \n{edge}\r\n\n{edge}");
    let import = |lines: &str| {
        graph.import_lines(lines.as_bytes(), &EdgeList::default(), Durability::Written)
    };
    assert_eq!(import(&lines).unwrap().edges, 2);
    assert_eq!(import(&format!("\u{feff}{edge}")).unwrap().edges, 1);
    let error = import(&format!("{lines}\n{edge},")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidData);
    assert!(error.message().starts_with("line 6: "), "{error}");
}

#[test]
fn a_list_that_is_none_is_refused_and_nothing_is_linked() {
    let store = memory();
    let graph = graph(&store);
    let a = id(1);
    for (csv, message) in [
        ("source,kind\nx,calls\n".to_owned(), "edges need a column 'target'"),
        (format!("source,target\n{a},{a}\n"), "edges need a column 'kind'"),
        (format!("source,kind,target,colour\n{a},x,{a},red\n"), "edges have no column 'colour'"),
        (format!("source,kind,target\n{a},x,{a}\n{a},x,short\n"), "'target', row 1"),
        (format!("source,kind,target\n{a},,{a}\n"), "'kind', row 0"),
        (format!("source,kind,target,weight\n{a},x,{a},heavy\n"), "weight"),
        (format!("source,kind,target,valid_from\n{a},x,{a},soon\n"), "'valid_from' holds times"),
        (format!("source,kind,target,properties\n{a},x,{a},[]\n"), "must be a JSON object"),
        (format!("source,kind,target\n{a},{},{a}\n", "k".repeat(256)), "not of 256"),
    ] {
        let error = import(&graph, &csv, &EdgeList::default()).unwrap_err();
        assert!(error.to_string().contains(message), "{error}");
        assert!(
            matches!(error.kind(), ErrorKind::InvalidData | ErrorKind::InvalidArgument),
            "{error}"
        );
    }
    let other = EdgeList { source: "from".into(), ..EdgeList::default() };
    let error = import(&graph, "from,source,kind,target\na,b,c,d\n", &other).unwrap_err();
    assert!(error.to_string().contains("a column 'source', and 'from' is to be it"), "{error}");
    assert_eq!(graph.view().unwrap().edge_count().unwrap(), 0);
    assert_eq!(text(&graph, 1), None);
}
